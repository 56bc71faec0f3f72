"""Data sizes of the rounds of a job with a list of sizes: in order, or drawn at random."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from fabricbench.plan.errors import FieldPath, FieldProblem
from fabricbench.plan.jobs.model import Job

DRAWN_ROUNDS: Final = 64
"""Rounds for which a job that others end draws sizes; then the sizes repeat."""
CYCLE_MAX: Final = 4096
"""Most data sizes of a cycle of rounds: the engine has a schedule for each of them."""
_DRAW_BYTES: Final = 8


@dataclass(frozen=True)
class RoundSizes:
    """Rounds of a job and their sizes.

    Attributes:
        cycle: Data size of each round until the sizes repeat [bytes]; one if all rounds have the same.
        rounds: Rounds of the job; none if others end it.
    """

    cycle: list[int]
    rounds: int | None


def round_sizes(job: Job, sizes: Sequence[int], seed: int, stream: int, *, is_alone: bool) -> RoundSizes:
    """Return the rounds of a job in a run.

    Args:
        job: The job.
        sizes: Its data sizes in this run, in the order of the plan [bytes].
        seed: Seed of the run.
        stream: Number of the job's random draws.
        is_alone: The job has neighbours in the plan and runs without them: if it repeats there until they
            end, it runs once with each size here.
    """
    cycle = list(sizes)
    if job.size_order == "random":
        cycle = [_drawn(sizes, seed, stream, number) for number in range(job.repeat or DRAWN_ROUNDS)]
    if job.repeat is None and is_alone:
        cycle = [size for size in dict.fromkeys(sizes) if size in cycle]
        return RoundSizes(cycle, len(cycle))
    rounds = job.repeat
    if rounds is not None:
        rounds = len(cycle) if job.size_order == "random" else rounds * len(cycle)
    return RoundSizes(cycle[:1] if len(set(cycle)) == 1 else cycle, rounds)


def _drawn(sizes: Sequence[int], seed: int, stream: int, number: int) -> int:
    """Return the size of a round of a job, each as likely.

    The draw is the first 8 bytes, big-endian, of SHA-256 over the text "seed/jobs.round_bytes/stream/number",
    modulo the number of sizes: it does not depend on other draws of a run.
    """
    digest = hashlib.sha256(f"{seed}/jobs.round_bytes/{stream}/{number}".encode()).digest()
    return sizes[int.from_bytes(digest[:_DRAW_BYTES], "big") % len(sizes)]


def check_round_sizes(job: Job, path: FieldPath, sizes: int) -> Iterator[FieldProblem]:
    """Check that a job with several sizes has no fields that they exclude, and that an order has several.

    Args:
        job: The job.
        path: Its path in the plan.
        sizes: Number of its own sizes.
    """
    name = "data_size" if job.message_bytes is None else "message_size"
    if sizes < 2:
        if job.size_order == "random":
            yield FieldProblem((*path, "size_order"), "an order of one size", f"it with a list in `{name}`")
        return
    rounds = (job.repeat or DRAWN_ROUNDS) if job.size_order == "random" else sizes
    if rounds > CYCLE_MAX:
        field_name = "repeat" if job.size_order == "random" else name
        yield FieldProblem((*path, field_name), f"{rounds} rounds with a size each", f"at most {CYCLE_MAX}")
    excluded = {
        "warm_up_rounds": job.warm_up_rounds > 0,
        "root_shift": job.root_shift,
        "copies_own_block": job.copies_own_block,
        "arrivals": job.arrivals is not None,
        "storage": job.storage is not None,
    }
    for field, is_set in excluded.items():
        if is_set:
            actual = f"several sizes with `{field}`"
            yield FieldProblem((*path, name), actual, "one size", "or leave the other out")
