"""The command `counters`: explains counters of adapters and switches by name, or those in a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from fabricbench.cli.options import BeforeOption, FormatOption
from fabricbench.cli.output import Format, note, write
from fabricbench.cli.results.counters_file import counters_text
from fabricbench.counters import Counter, counters, find
from fabricbench.importing import switch_counters
from fabricbench.report.output.json_csv import rows_csv
from fabricbench.words import close_match_hint, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence


_COLUMNS: Final = (
    *("vendor_name", "family", "source", "name", "metric", "counts", "unit", "scale", "meaning", "reference"),
)
_SHOWN_MAX: Final = 200
_SUFFIXES: Final = (".txt", ".log", ".json", ".out", ".gz")


def counters_command(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME|FILE]...",
            help="Names as a device tells them; all that are known by default. Or files with counters of "
            "switches or hosts: tables of SONiC, dumps of its COUNTERS_DB, OpenConfig, `ethtool -S`, "
            "`rdma statistic`.",
        ),
    ] = None,
    before: BeforeOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Explain counters of adapters and switches by their vendor's name, and read files with counters.

    Of a FILE each counter is shown with its value, or its growth since the file of `--before`, with what it
    counts by its vendor's definition, and the metric of ours that counts the same.

    Names are those of mlx5, bnxt, ice, irdma, rxe, SONiC (SAI) and OpenConfig, with their priority, such as
    `rx_prio3_pause`. Exit status 2 if one is not known. docs/counters.md lists the files that can be read.
    """
    if _are_files(names or (), before):
        write(counters_text(switch_counters([Path(name) for name in names or ()], before or ()), output))
        return

    matches: list[Counter] = [] if names else list(counters())
    unknown = []
    for name in names or ():
        counters_of_name = list(find(name))
        matches += counters_of_name
        if not counters_of_name:
            unknown.append(name)
    if matches or not unknown:
        write(_text(matches, output))
    for name in unknown:
        hint = close_match_hint(name, (counter.vendor_name for counter in counters()))
        note(f'error: "{one_line(name, _SHOWN_MAX)}": found no counter of that name that is known')
        note(f"hint: {hint or '`fabricbench counters` lists all'}")
    if unknown:
        raise typer.Exit(2)


def _are_files(names: Sequence[str], before: Sequence[Path] | None) -> bool:
    """Return whether the names are files: one exists or ends like a file, or `--before` is set."""
    if before and not names:
        raise typer.BadParameter(
            "found no FILE beside it; name the file of the later moment", param_hint="--before"
        )
    return bool(before) or any(
        (path.exists() and not path.is_dir()) or path.suffix in _SUFFIXES for path in map(Path, names)
    )


def _text(selected: list[Counter], output: Format) -> str:
    rows = [{column: getattr(counter, column) for column in _COLUMNS} for counter in selected]
    if output is Format.JSON:
        return json.dumps({"counters": rows}, indent=2)
    if output is Format.CSV:
        return rows_csv(list(_COLUMNS), rows)
    lines = []
    for counter in selected:
        unit = f" [{counter.unit}]" if counter.unit else ""
        lines.append(
            f"{counter.vendor_name} ({counter.family}, {counter.source}): "
            f"{counter.name}, {counter.counts}{unit}"
        )
        lines.append(f"  {counter.meaning}")
    return "\n".join(lines)
