"""Results as a benchmark printed them: `Row`, `Table`, `Reading` (a whole file); `UserFacts` from options.

`times_of_ranks` returns the times of the fastest and the slowest rank from the columns of a row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

SizeKind = Literal["data", "message"]
Value = float | int | str


@dataclass(frozen=True)
class Row:
    """One result: a size, in one buffer placement.

    Attributes:
        line: Number of its line, from 1; in JSON its index in the list of results.
        size_bytes: The printed size.
        time_us: Time of one operation, the mean; none where the benchmark measures a rate instead.
        time_us_min: Shortest operation, over the iterations; none where that is not printed.
        time_us_max: Longest operation, likewise.
        gb_per_s: Rate of each direction [1e9 bytes/s], of benchmarks that measure a rate.
        placement: `in-place` or `out-of-place`; empty if the benchmark does not distinguish them.
        iterations: Number of measured operations; none if the output has none.
        wrong: Number of wrong values by the benchmark's own check; none without a check.
        values: All other printed values, by the name of their column.
        rank_us_min: Smallest mean of a rank, where benchmarks print the spread over ranks.
        rank_us_max: Largest mean of a rank, likewise.
    """

    line: int
    size_bytes: int
    time_us: float | None = None
    time_us_min: float | None = None
    time_us_max: float | None = None
    gb_per_s: float | None = None
    placement: str = ""
    iterations: int | None = None
    wrong: int | None = None
    values: Mapping[str, Value] = field(default_factory=dict)
    rank_us_min: float | None = None
    rank_us_max: float | None = None


def times_of_ranks(
    values: Mapping[str, Value], columns: tuple[str, str]
) -> tuple[float | None, float | None]:
    """Return the least and the largest time of a rank [us]; none where the table has no such column."""
    least, most = (float(values[name]) if name in values else None for name in columns)
    return least, most


@dataclass(frozen=True)
class Table:
    """One table of results.

    Attributes:
        benchmark: Name of the benchmark, such as `alltoall_perf`.
        collective: The measured operation, by the name of a plan if plans have it.
        ranks: Number of processes or GPUs.
        size_kind: Kind of its sizes: `data`, or `message` (bytes from a rank to each other rank, or the
            block that each rank contributes).
        line: Number of the line where it begins.
        version: Version of the benchmark; empty if the output has none.
        command: The command line, if the file has it; otherwise empty.
        facts: Facts in the output about hosts, adapters and settings.
        rows: Its results, in their order.
        part: Key that separates it from tables of the same benchmark and ranks that are no repetition, such
            as its communicator; empty without one.
        settings: Settings of the measurement in the output, by name.
        differs: Those in which the file's tables of the same benchmark and ranks differ; empty if they are
            repetitions of each other.
        run: Name of the run among these; empty if no setting differs.
        is_judged: Whether the network is judged by results of its type and operation.
    """

    benchmark: str
    collective: str
    ranks: int
    size_kind: SizeKind
    line: int
    rows: Sequence[Row]
    version: str = ""
    command: str = ""
    facts: Mapping[str, Value] = field(default_factory=dict)
    part: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    differs: Mapping[str, str] = field(default_factory=dict)
    run: str = ""
    is_judged: bool = True


@dataclass(frozen=True)
class Reading:
    """Content of a file: tables and warnings.

    Attributes:
        format: Name of the format.
        tables: Its tables that have rows, in their order.
        warnings: Parts that were left out or are suspicious, with the line.
        text: The text of the file to store, without variables of the environment that may be secret.
    """

    format: str
    tables: Sequence[Table]
    warnings: Sequence[str]
    text: str


@dataclass(frozen=True)
class UserFacts:
    """Ranks and benchmark of a file, given by the user, as the output may lack them.

    Attributes:
        ranks: Number of ranks; none to use the number in the output.
        benchmark: Name of the benchmark; empty to use the name in the output.
    """

    ranks: int | None = None
    benchmark: str = ""
