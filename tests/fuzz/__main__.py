"""Hands in damaged plans, overrides and run specs by the thousand: `python -m tests.fuzz plans --count 5000`.

Every case must be taken, or refused with clear errors, within seconds and within bounded memory. Of one that
is not the number is printed, which makes it again.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import random
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.fuzz.targets import TARGETS, Case

SECONDS_MAX = 5.0
"""Longest time of one case, on a processor: other programs may keep it waiting."""
HANG_SECONDS_MAX = 60
"""Longest time on the clock, after which the process shows where it is and ends."""
MEMORY_MAX_BYTES = 4 << 30
"""Address space of the process: more is an error of memory, or its end."""


def main(arguments: Sequence[str]) -> int:
    """Run the cases that the arguments ask for; the exit status is 1 when one is not as it must be."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument(
        "targets", nargs="*", default=list(TARGETS), help=f"which of {', '.join(TARGETS)}; all"
    )
    parser.add_argument("--count", type=int, default=1_000, help="cases of each")
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--keep", type=Path, default=None, help="folder for the cases that are not as they must be"
    )
    given = parser.parse_args(arguments)
    gc.set_threshold(200_000, 20, 100)  # as the program itself does
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX_BYTES, MEMORY_MAX_BYTES))
    wrong = 0
    for target in given.targets:
        wrong += fuzz(target, given.seed, range(given.first, given.first + given.count), given.keep)
    return 1 if wrong else 0


def fuzz(target: str, seed: int, numbers: range, keep: Path | None) -> int:
    """Run the cases with these numbers and return how many are not as they must be."""
    wrong, longest, of_number = 0, 0.0, 0
    for number in numbers:
        case = TARGETS[target].make(random.Random(f"{seed}/{target}/{number}"))
        faulthandler.dump_traceback_later(HANG_SECONDS_MAX, exit=True)
        found, seconds = _judged(target, case)
        faulthandler.cancel_dump_traceback_later()
        if seconds > longest:
            longest, of_number = seconds, number
        if seconds > SECONDS_MAX:
            found = f"{seconds:.1f} s. {found}"
        if found:
            wrong += 1
            _tell(f"{target} {seed}/{number}: {found}\n    {str(case.arguments)[:300]}")
            _keep(case, keep, f"{target}-{seed}-{number}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    times = f"the longest {longest:.2f} s (number {of_number})"
    _tell(f"{target}: {len(numbers)} cases, {wrong} wrong; {times}; {peak} MiB at most")
    return wrong


def _tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _judged(target: str, case: Case) -> tuple[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        try:
            found = TARGETS[target].judge(case, Path(folder))
        except BaseException as error:  # noqa: BLE001 -- a panic of the engine is one
            found = f"{type(error).__name__}: {error}"[:3_000]
        return found, time.process_time() - start


def _keep(case: Case, folder: Path | None, name: str) -> None:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(case.content)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
