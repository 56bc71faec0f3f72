"""The command `convert`: configuration of real devices as fields of a plan."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from fabricbench.cli.output import note, write
from fabricbench.plan.devices.fragment import Fragment, value_text
from fabricbench.plan.devices.json_text import FILE_BYTES_MAX, content_of
from fabricbench.plan.devices.read import ReadOptions, read_device
from fabricbench.plan.devices.whole_plan import assumed_text, whole_plan
from fabricbench.plan.document.yaml_text import yaml_text
from fabricbench.words import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator


_LINE_LENGTH_MAX: Final = 2_000


class DeviceFormat(StrEnum):
    """Format of a device's configuration."""

    SONIC = "sonic"
    CONTAINERLAB = "containerlab"
    NCCL = "nccl"


class Shown(StrEnum):
    """Output format of the converted fields."""

    TABLE = "table"
    YAML = "yaml"
    JSON = "json"
    PLAN = "plan"


def convert_command(
    file: Annotated[
        Path,
        typer.Argument(
            help="SONiC's config_db.json, containerlab's topology, or NCCL's topology or graphs; `-` is "
            "standard input."
        ),
    ],
    source_format: Annotated[
        DeviceFormat | None, typer.Option("--from", help="What the file is; detected by default.")
    ] = None,
    data_dscp: Annotated[
        int | None, typer.Option(min=0, max=63, help="DSCP of RDMA data, to find its class in SONiC's maps.")
    ] = None,
    cnp_dscp: Annotated[int | None, typer.Option(min=0, max=63, help="DSCP of CNPs.")] = None,
    priority: Annotated[
        int | None, typer.Option(min=0, max=7, help="Priority of RDMA data, where no DSCP says it.")
    ] = None,
    servers: Annotated[
        int | None, typer.Option(min=2, max=4096, help="How many hosts there are as that of NCCL's file.")
    ] = None,
    output: Annotated[Shown, typer.Option("--format", help="How to write it.")] = Shown.TABLE,
) -> None:
    """Read the configuration of real devices as fields of a plan, and list what is not modelled.

    `--format yaml` writes the fields for a plan, what is not modelled on standard error; `--format plan`
    writes a plan that runs, what is assumed on standard error. A plan can also name SONiC's file itself, as
    `fabric.switch.config`. docs/devices.md lists the fields.
    """
    if priority is not None and data_dscp is not None:
        raise typer.BadParameter("--priority and --data-dscp both say which priority carries data: give one")
    kind = None if source_format is None else source_format.value
    read_options = ReadOptions(kind, data_dscp, cnp_dscp, priority, servers)
    is_input = str(file) == "-"
    content = sys.stdin.buffer.read(FILE_BYTES_MAX) if is_input else content_of(file, str(file))
    fragment = read_device(content, "<stdin>" if is_input else str(file), read_options)
    if output is Shown.JSON:
        write(json.dumps(fragment.content, indent=2))
        return
    if output in (Shown.YAML, Shown.PLAN):
        plan = whole_plan(fragment) if output is Shown.PLAN else None
        heading = f"# {fragment.format}, read from {json.dumps(fragment.source)}"
        write(f"{heading}\n{(plan.text if plan else yaml_text(fragment.plan)).rstrip()}")
        for value in plan.assumed if plan else ():
            note(f"assumed: {assumed_text(value)}")
        for text in fragment.warnings:
            note(f"warning: {text}")
        for text in fragment.left_out:
            note(f"not modelled: {text}")
        return
    write("\n".join(one_line(text, _LINE_LENGTH_MAX) for text in _table(fragment)))


def _table(fragment: Fragment) -> Iterator[str]:
    yield f"{fragment.format}: {fragment.source}"
    yield from (f"  {sentence}" for sentence in fragment.read)
    yield ""
    rows = [(sentence.field, value_text(sentence.value), sentence.origin) for sentence in fragment.values]
    widths = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
    yield f"{counted(len(rows), 'field')} of a plan"
    for field, value, origin in rows:
        yield f"  {field:{widths[0]}}  {value:{min(widths[1], 40)}}  from {origin}"
    for title, sentences in (
        ("in another way than in the file", fragment.warnings),
        ("not modelled", fragment.left_out),
    ):
        if sentences:
            yield ""
            yield title
            yield from (f"  {sentence}" for sentence in sentences)
