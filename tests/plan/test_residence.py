"""When frames leave the buffer of a switch, and response times of PFC, from plan to run spec."""

from pathlib import Path
from typing import Any

import pytest
from tests.plan.examples import write_plan
from tests.plan.test_congestion import fabric_of, plan_text, switch_of

from fabricbench.plan.errors import PlanError
from fabricbench.plan.load import load_plan


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("release: end", {"release": {"kind": "end"}}),
        ("release: cells", {"release": {"kind": "cells", "bytes": 256}}),
        ("release: cells, cell: 208", {"release": {"kind": "cells", "bytes": 208}}),
        ("cell: 208", {"release": {"kind": "cells", "bytes": 208}}),
        ("release: start, pipeline: 200ns", {"pipeline_ps": 200_000}),
    ],
)
def test_the_release_of_a_buffer_is_written_out(fields: str, expected: dict[str, Any]) -> None:
    assert expected.items() <= switch_of(f"buffer: {{{fields}}}")["buffer"].items()


def test_buffers_are_released_cell_by_cell_unless_the_plan_says_otherwise() -> None:
    assert switch_of("buffer: {release: cells, pipeline: 0}") == switch_of("")


@pytest.mark.parametrize(
    "lines", ["switch: {buffer: {release: start}}", "switch: {scheduled: on}", "link_layer: infiniband"]
)
def test_a_trial_without_this_choice_is_identified_as_before_there_was_one(lines: str) -> None:
    assert "release" not in fabric_of(lines)["switch"]["buffer"]


def test_response_times_of_pfc_are_written_out() -> None:
    pfc = switch_of("pfc: {response: 80ns, reaction: 1us}")["pfc"]
    assert (pfc["response_ps"], pfc["reaction_ps"]) == (80_000, 1_000_000)
    assert "ends_by_time" not in pfc
    assert switch_of("pfc: {xon: off}")["pfc"]["ends_by_time"] is True
    nic = fabric_of("nic: {pause_response: 300ns, pause_reaction: 400ns}")["nic"]
    assert (nic["pause_response_ps"], nic["pause_reaction_ps"]) == (300_000, 400_000)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("switch: {buffer: {release: cell}}", "fabric.switch.buffer.release: found"),
        ("switch: {buffer: {pipeline: 501ns}}", 'fabric.switch.buffer.pipeline: found "501ns"'),
        ("switch: {pfc: {reaction: 499ns}}", 'fabric.switch.pfc.reaction: found "499ns"'),
        ("switch: {pfc: {xon: never}}", "fabric.switch.pfc.xon: found"),
        ("nic: {pause_reaction: 399ns}", 'fabric.nic.pause_reaction: found "399ns"'),
        ("nic: {pause_response: 2ms}", 'fabric.nic.pause_response: found "2ms"'),
        (
            "switch: {scheduled: on, buffer: {release: cells}}",
            "fabric.switch.buffer.release: found `release` with scheduled switches",
        ),
        (
            "switch: {scheduled: on, pfc: {reaction: 1us}}",
            "fabric.switch.pfc.reaction: found a reaction time with scheduled switches",
        ),
        (
            "link_layer: infiniband\n  switch: {buffer: {release: end}}",
            "fabric.switch.buffer.release: found `release` with `link_layer: infiniband`",
        ),
    ],
)
def test_what_cannot_be_is_refused_by_its_field(lines: str, expected: str, tmp_path: Path) -> None:
    name = write_plan(tmp_path, plan_text("fabric", lines))
    with pytest.raises(PlanError) as caught:
        load_plan(name)
    assert expected in str(caught.value)
