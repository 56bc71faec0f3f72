"""Checks the sweep and variants of a plan: sizes, their division among ranks, changes, number of trials."""

from collections.abc import Iterator, Sequence
from typing import Final

from fabricbench import units
from fabricbench.plan import engine
from fabricbench.plan.errors import FieldPath, FieldProblem
from fabricbench.plan.fields.sizes import SizeRange, size_list
from fabricbench.plan.jobs.model import Job
from fabricbench.plan.jobs.rounds import check_round_sizes
from fabricbench.plan.model import Plan
from fabricbench.plan.sweep.cases import combination_count
from fabricbench.plan.sweep.labels import RESERVED_NAMES
from fabricbench.plan.sweep.sizes import (
    MESSAGE,
    job_ranks,
    job_size,
    job_sizes,
    own_size,
    own_size_fields,
    size_kind,
    sweep_path,
    sweep_paths,
    sweep_sizes,
    zips_sizes,
)
from fabricbench.plan.sweep.variants import VARIANT_FIELDS, Variant
from fabricbench.words import close_match_hint, counted, plural


def check_variants(plan: "Plan") -> Iterator[FieldProblem]:
    """Check variants as far as possible before they are applied."""
    seen: dict[str, int] = {}
    reference: str | None = None
    for index, variant in enumerate(plan.variants):
        path: FieldPath = ("variants", index)
        if variant.name in seen:
            actual = f"`{variant.name}` again"
            yield FieldProblem((*path, "name"), actual, "a name no other variant has")
        if variant.name in RESERVED_NAMES:
            hint = "`base` is a plan without variants, `solo` a job alone; such as `baseline`"
            yield FieldProblem((*path, "name"), f"`{variant.name}`", "a name that has no meaning", hint)
        if variant.reference and reference is not None:
            actual = f"a second reference beside `{reference}`"
            yield FieldProblem((*path, "reference"), actual, "one reference at most")
        reference = variant.name if variant.reference else reference
        seen[variant.name] = index
        yield from _check_changes(variant, path)


_COMMON_HINTS: Final = {
    "criteria": "a criterion has a field `variant`",
    "name": "the name of a variant stands beside `set`",
    "sweep": "all variants have the same sizes; a job may have its own `data_size`",
    "seed": "all variants have the same seeds, so that their paths compare",
}


TRIALS_MAX: Final = 10_000
"""Most trials of one plan."""
RANKS_MAX: Final = 1 << 24
"""Most ranks of all trials of a plan together: each trial lists its own."""


def check_sizes(plan: Plan) -> Iterator[FieldProblem]:
    """Check that every job has a size, and that there are not too many."""
    problems = list(_check_size_fields(plan)) or list(_check_ranges(plan))
    yield from problems
    if problems:
        return
    swept = sweep_path(plan)
    for index, job in enumerate(plan.jobs):
        if swept is None and own_size(job) is None:
            hint = "add `sweep: {data_size: 16MB}`, or `data_size` to the job"
            yield FieldProblem(
                ("jobs", index, "data_size"), "nothing", "a data size, as there is no sweep of sizes", hint
            )
            return
    if swept is not None and all(own_size(job) is not None for job in plan.jobs):
        actual, hint = "a sweep that changes no job", "leave the sweep out, or the `data_size` of a job"
        yield FieldProblem(swept, actual, "a job without its own data_size", hint)
    for index, job in enumerate(plan.jobs):
        yield from check_round_sizes(job, ("jobs", index), len(own_size_fields(job, index)))
    yield from _check_trials(plan)


def _check_size_fields(plan: Plan) -> Iterator[FieldProblem]:
    """Check that sizes are given once, as data sizes or as message sizes."""
    size_paths = sweep_paths(plan)
    if plan.sweep is not None and not size_paths and not plan.sweep.names:
        allowed = "data_size or message_size, or the path of a field with its values"
        yield FieldProblem(("sweep",), "no sizes and no fields", allowed)
    if len(size_paths) > 1:
        actual, hint = "sizes that `sweep` has beside `zip`", ""
        if size_paths[0][-1] != size_paths[1][-1]:
            actual = "message sizes with data sizes"
            hint = "an override of `sweep` as a whole has one of them: sweep={data_size: 16MB}"
        yield FieldProblem(size_paths[1], actual, "one of them", hint)
    for index, job in enumerate(plan.jobs):
        if job.data_bytes is not None and job.message_bytes is not None:
            path: FieldPath = ("jobs", index, "message_size")
            yield FieldProblem(path, "a message size beside a data size", "one of them")


def _check_ranges(plan: Plan) -> Iterator[FieldProblem]:
    """Check that no range of sizes is empty."""
    for path, sizes in _size_fields(plan):
        if isinstance(sizes, SizeRange) and sizes.end_bytes < sizes.start_bytes:
            actual = f"{units.format_size(sizes.end_bytes)}, below the start"
            allowed = f"{units.format_size(sizes.start_bytes)} or more"
            yield FieldProblem((*path, "end"), actual, allowed)


def _size_fields(plan: Plan) -> Iterator[tuple[FieldPath, int | tuple[int, ...] | SizeRange | None]]:
    """Yield the fields of sizes of each job and of the sweep."""
    for index, job in enumerate(plan.jobs):
        yield ("jobs", index, "data_size"), job.data_bytes
        yield ("jobs", index, "message_size"), job.message_bytes
    if plan.sweep is not None:
        yield ("sweep", "data_size"), plan.sweep.data_size
        yield ("sweep", "message_size"), plan.sweep.message_size


def _check_trials(plan: Plan) -> Iterator[FieldProblem]:
    """Check the number of trials, and that no two are the same."""
    sizes, path = (sweep_sizes(plan), sweep_path(plan)) if not zips_sizes(plan) else ([], None)
    combinations = combination_count(plan.sweep)
    casts = (1 + len(plan.jobs) if plan.solo else 1) * max(1, len(plan.variants))
    trials = max(1, len(sizes)) * plan.iterations * casts * combinations
    if trials > TRIALS_MAX:
        counts: dict[int, FieldPath] = {len(sizes): path or ("sweep",), combinations: ("sweep",)}
        most = max(counts)
        field_path = counts[most] if most > plan.iterations else ("iterations",)
        factors = "sizes times iterations" + (" times combinations" if combinations > 1 else "")
        yield FieldProblem(field_path, f"{trials} trials", f"at most {TRIALS_MAX}: {factors}")
        return
    ranks = trials * sum(job_ranks(plan, job) for job in plan.jobs)
    if ranks > RANKS_MAX:
        field_path = ("iterations",) if plan.iterations > 1 else ("jobs",)
        yield FieldProblem(field_path, f"{ranks} ranks in {trials} trials", f"at most {RANKS_MAX}")
        return
    seen: set[int] = set()
    for size, field_path in sizes:
        if size in seen:
            actual = f"{units.format_size(size)} again"
            yield FieldProblem(field_path, actual, "each size once", "`iterations` repeats trials")
        seen.add(size)


def check_shares(plan: Plan) -> Iterator[FieldProblem]:
    """Check that every data size has equal shares for all ranks, if the collective has such shares."""
    if zips_sizes(plan):
        return  # each size is of one combination, and is checked with it
    for index, job in enumerate(plan.jobs):
        shares = engine.shares(job.collective, job_ranks(plan, job))
        sizes = _run_sizes(plan, index)
        # Of a range only its start can fail to divide: each other size is a multiple of it.
        for path, size in {path: size for size, path in reversed(sizes)}.items():
            if size % shares:
                yield FieldProblem(path, *_unequal(job, size, shares))
        size, path = max(sizes)
        if size > units.QUANTITY_MAX:
            actual = f"a data size of {size} bytes for the {job.collective} of job `{job.name}`"
            yield FieldProblem(path, actual, f"at most {units.QUANTITY_MAX} bytes")
    yield from _check_rounded(plan)


def _check_rounded(plan: Plan) -> Iterator[FieldProblem]:
    """Check that no two sizes of the sweep are the same once they are rounded."""
    seen: dict[tuple[int, ...], int] = {}
    for size, path in sweep_sizes(plan):
        run = tuple(job_size(plan, job, size) for job in plan.jobs)
        if run in seen and seen[run] != size:
            actual = f"{units.format_size(size)}, which is rounded to what {units.format_size(seen[run])} is"
            yield FieldProblem(path, actual, "sizes that differ once they are rounded")
        seen.setdefault(run, size)


def _run_sizes(plan: Plan, index: int) -> list[tuple[int, FieldPath]]:
    """Return the data sizes that job `index` runs with [bytes], each with its field."""
    job = plan.jobs[index]
    if own_size(job) is None:
        return [(job_size(plan, job, size), path) for size, path in sweep_sizes(plan)]
    paths = [path for _, path in own_size_fields(job, index)]
    return list(zip(job_sizes(plan, job, 0), paths, strict=True))


def size_warnings(plan: Plan) -> Iterator[FieldProblem]:
    """Yield the data sizes that are rounded, once for each job."""
    for index, job in enumerate(plan.jobs):
        written_sizes = own_size_fields(job, index) or sweep_sizes(plan)
        if job.message_bytes is not None or size_kind(plan) == MESSAGE:
            continue
        pairs = zip(written_sizes, _run_sizes(plan, index), strict=True)
        rounded = [(size, run, path) for (size, path), (run, _) in pairs if size != run]
        if rounded:
            size, run, path = rounded[0]
            more = f" ({counted(len(rounded), 'size')} of it)" if len(rounded) > 1 else ""
            yield FieldProblem(path, _rounding(plan, job, size, run) + more)


def rounding_notes(plan: Plan, trial_size_bytes: int, jobs: Sequence[int]) -> tuple[str, ...]:
    """Return a sentence for each data size of a trial that differs from the size in the plan."""
    notes = []
    for job in (plan.jobs[index] for index in jobs):
        if job.message_bytes is not None or (job.data_bytes is None and size_kind(plan) == MESSAGE):
            continue
        written_sizes = [trial_size_bytes] if job.data_bytes is None else size_list(job.data_bytes)
        for size, run in zip(written_sizes, job_sizes(plan, job, trial_size_bytes), strict=True):
            if size != run:
                notes.append(f"Data size: {_rounding(plan, job, size, run)}.")
    return tuple(notes)


def _rounding(plan: Plan, job: Job, size: int, run: int) -> str:
    shares = engine.shares(job.collective, job_ranks(plan, job))
    return (
        f"{units.format_size(size)}, which the {job.collective} of job `{job.name}` rounds as nccl-tests do: "
        f"to {run:,} bytes, {shares} shares of {run // shares:,}"
    )


def _unequal(job: Job, size: int, shares: int) -> tuple[str, str, str]:
    """Describe a data size that is not one equal share for each rank: found, allowed and hint."""
    actual = f"{size} {plural(size, 'byte')}, which {'is' if size == 1 else 'are'} not {shares} equal shares"
    allowed = f"multiples of {shares} bytes for the {job.collective} of job `{job.name}`"
    below = size // shares * shares
    near = " and ".join(str(value) for value in (below, below + shares) if value)
    return (
        actual,
        allowed,
        f"the nearest that are: {near} bytes; or give the `message_size`, that of one share",
    )


def _check_changes(variant: Variant, path: FieldPath) -> Iterator[FieldProblem]:
    """Check that each field that a variant changes is one that may differ between variants."""
    for name in variant.changes:
        root = name.partition(".")[0]
        if root not in VARIANT_FIELDS or not all(name.split(".")):
            hint = _COMMON_HINTS.get(root, "") or close_match_hint(root, VARIANT_FIELDS)
            yield FieldProblem(
                (*path, "set", name), "a field that no variant can change", ", ".join(VARIANT_FIELDS), hint
            )
