"""Measured results as the output of a benchmark has them."""

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
        line: Number of its line, from 1; in JSON, of its place in the list of results.
        size_bytes: The size as it is printed.
        time_us: Time of one operation, the mean; none where the benchmark measures a rate instead.
        time_us_min: Shortest operation, over the iterations; none where that is not printed.
        time_us_max: Longest operation, likewise.
        gb_per_s: Rate of each direction [1e9 bytes/s], of benchmarks that measure a rate.
        placement: `in-place` or `out-of-place`; empty where the benchmark does not tell them apart.
        iterations: How often the operation was measured; none where that is not said.
        wrong: Wrong values that the benchmark's own check found; none where it did not check.
        values: Everything else that is printed, by the name of its column.
        rank_us_min: Of the ranks' own means the smallest, where benchmarks print the spread over ranks.
        rank_us_max: The largest.
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
        collective: What it measures, in the words of a plan where there is one.
        ranks: How many processes or GPUs took part.
        size_kind: What its sizes are: `data`, or `message` (what a rank gives to each other or puts in).
        line: Number of the line where it begins.
        version: Version of the benchmark; empty if it does not say.
        command: The command line, if the file has it; otherwise empty.
        facts: What the output says about hosts, adapters and settings.
        rows: Its results, in their order.
        part: What tells it from others of the same benchmark and ranks that are no repetition of it, such as
            its communicator; empty where there is no such thing.
        settings: How it was measured, as far as its output says, by the name of the setting.
        differs: Of these the ones in which the file's tables of the same benchmark and ranks differ; empty
            where they are repetitions of each other.
        run: A name of the run among these; empty where it differs from none.
        is_judged: Whether its type and operation are those by which the network is judged.
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
    """What a file holds.

    Attributes:
        format: Name of the format.
        tables: Its tables that have rows, in their order.
        warnings: What was left out, or looks odd, with the line.
        text: The text of the file, without what is not to be kept.
    """

    format: str
    tables: Sequence[Table]
    warnings: Sequence[str]
    text: str


@dataclass(frozen=True)
class Given:
    """What the user says about a file, as its output may not.

    Attributes:
        ranks: Number of ranks; none to take what the output says.
        benchmark: Name of the benchmark; empty to take what the output says.
    """

    ranks: int | None = None
    benchmark: str = ""
