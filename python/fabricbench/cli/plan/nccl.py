"""The command `nccl`: graphs, channels and choices of NCCL on servers, by size."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from fabricbench.cli import completion
from fabricbench.cli.options import FormatOption
from fabricbench.cli.output import Format, has_colour, note, write
from fabricbench.plan.jobs.library import NCCL_VERSION
from fabricbench.plan.nccl import (
    SIZES,
    Question,
    answer_object,
    graph_rows,
    parse_variables,
    size_rows,
)
from fabricbench.report.documents.table import Column, Row, Table
from fabricbench.report.output.json_csv import rows_csv
from fabricbench.report.terminal.text_table import render
from fabricbench.words import counted, data_size

if TYPE_CHECKING:
    from fabricbench.plan.engine import NcclAnswer


_RINGS_SHOWN: Final = 2
_RANKS_SHOWN: Final = 24
_COLUMNS: Final = {
    "data_size_bytes": Column("size"),
    "algorithm": Column("algorithm", is_text=True),
    "protocol": Column("protocol", is_text=True),
    "channels": Column("channels"),
    "concurrent_peers": Column("peers", "at once"),
    "chunk_bytes": Column("chunk"),
    "messages": Column("steps"),
    "nccl_estimate_us": Column("NCCL's", "estimate us"),
}
_OF_TUNER: Final = ("algorithm", "nccl_estimate_us")
"""Columns that transfers do not have."""
_PEERS: Final = ("concurrent_peers",)
"""Column that only an all-to-all has."""
_ABOUT_COLLECTIVES: Final = (
    "Steps are the messages that a rank sends on a connection of the first channel. NCCL's estimate is the\n"
    "time by which NCCL compares algorithms; it is no prediction of fabricbench."
)
_ABOUT_TRANSFERS: Final = (
    "Channels are those of one transfer, to a rank of another node if there are several; steps are its\n"
    "messages on a channel."
)


def nccl_command(
    server: Annotated[
        str | None,
        typer.Argument(
            metavar="SERVER",
            autocompletion=completion.servers,
            help="A shipped server, such as dgx-h100, or a file of one.",
        ),
    ] = None,
    topology: Annotated[
        Path | None,
        typer.Option(
            "--topo",
            metavar="FILE",
            help="NCCL's topology of a host (NCCL_TOPO_DUMP_FILE, or a cloud's file) in place of SERVER's; "
            "with SERVER, that has what the file lacks.",
        ),
    ] = None,
    servers: Annotated[int, typer.Option(metavar="N", help="Number of servers.")] = 1,
    version: Annotated[
        str, typer.Option("--nccl", metavar="VERSION", help="Version of NCCL, such as 2.30 or 2.30.7.")
    ] = NCCL_VERSION,
    variables: Annotated[
        list[str] | None,
        typer.Option(
            "-x", metavar="NAME=VALUE", help="An environment variable of NCCL, such as NCCL_ALGO=ring."
        ),
    ] = None,
    collective: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            autocompletion=completion.nccl_collectives,
            help="all-reduce, all-gather, reduce-scatter, broadcast, reduce, all-to-all or send-receive.",
        ),
    ] = "all-reduce",
    sizes: Annotated[
        str, typer.Option(metavar="SIZES", help="Data sizes: one, several with commas, or a range.")
    ] = SIZES,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show what NCCL chooses on servers: graphs, channels, and by size algorithm, protocol and chunks.

    NCCL's rules are those of the version: graph search, channels and tuner. Its estimate of a time is the one
    by which it chooses, not a prediction of fabricbench. docs/nccl.md explains the output.
    """
    question = Question(
        server, topology, servers, version, parse_variables(variables or ()), collective, sizes
    )
    answer = question.answer()
    if output is Format.JSON:
        write(json.dumps(_inputs(question) | answer_object(answer), indent=2))
    elif output is Format.CSV:
        rows = size_rows(answer)
        write(rows_csv(list(rows[0]), rows))
    else:
        write("\n".join(_text(question, answer)))
    if answer["ignored"]:
        note(f"ignored, as they change neither graphs nor choices here: {', '.join(answer['ignored'])}")
    if any(operation["chosen"] is None for operation in answer["operations"]):
        note("no choice: one rank, or NCCL_ALGO and NCCL_PROTO allow none, which NCCL reports as an error")


def _inputs(question: Question) -> dict[str, Any]:
    topology = None if question.topology is None else str(question.topology)
    return {
        "server": question.server,
        "topology": topology,
        "servers": question.servers,
        "collective": question.collective,
        "variables": question.variables,
    }


def _text(question: Question, answer: NcclAnswer) -> Iterator[str]:
    servers = " with ".join(str(name) for name in (question.server, question.topology) if name is not None)
    nodes = counted(answer["nodes"], "node")
    ranks = counted(answer["ranks"], "rank")
    yield f"NCCL {answer['version']}, {question.servers} x {servers}: {ranks} on {nodes}"
    yield ""
    yield from (_graph_line(graph) for graph in graph_rows(answer))
    counts = answer["channels"]
    yield (
        f"channels: {counts['collective']} of collectives, {counts['nvls']} of NVLS, "
        f"{counts['point_to_point']} of send and receive, {counts['per_peer']} for a peer"
    )
    for index, (ring, nics) in enumerate(zip(answer["rings"], answer["ring_nics"], strict=False)):
        if index < _RINGS_SHOWN:
            more = " ..." if len(ring) > _RANKS_SHOWN else ""
            entry, leaving = nics
            by_nic = "" if entry is None else f" (NIC {entry} in, {leaving} out)"
            yield f"ring {index}: {' '.join(map(str, ring[:_RANKS_SHOWN]))}{more}{by_nic}"
    yield ""
    yield question.collective
    rows = size_rows(answer)
    is_tuned = question.is_tuned
    hidden = _PEERS if is_tuned else _OF_TUNER if rows[0]["concurrent_peers"] else (*_OF_TUNER, *_PEERS)
    columns = {name: column for name, column in _COLUMNS.items() if name not in hidden}
    cells = [Row([_cell(name, row[name]) for name in columns]) for row in rows]
    yield render(Table(list(columns.values()), cells), colour=has_colour())
    yield ""
    yield _ABOUT_COLLECTIVES if is_tuned else _ABOUT_TRANSFERS


def _graph_line(graph: dict[str, Any]) -> str:
    """Return a graph in the words of NCCL's log."""
    return (
        f"{graph['algorithm']}: Pattern {graph['pattern']}, crossNic {graph['cross_nic']}, "
        f"nChannels {graph['channels']}, bw {graph['intra_gb_per_s']:g}/{graph['inter_gb_per_s']:g}, "
        f"type {graph['type_intra']}/{graph['type_inter']}, sameChannels {int(graph['same_channels'])}"
    )


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if name.endswith("_bytes"):
        return data_size(value)
    return f"{value:.2f}" if isinstance(value, float) else str(value)
