"""Plans that tests write to a file and load."""

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from fabricbench.plan.document.document import read_text
from fabricbench.plan.errors import PlanError
from fabricbench.plan.expand import PlannedTrial
from fabricbench.plan.load import load_plan, load_text, validate
from fabricbench.plan.model import Plan
from fabricbench.work import pattern_of

SMALL = """\
fabricbench: 1
name: small
fabric:
  topology:
    kind: leaf-spine
    leaves: 2
    hosts_per_leaf: 4
    spines: 4
    host_link: 400Gbps
transport: {mtu: 4096, ack_every: 2}
jobs:
  - name: test
    ranks: "0-7"
    collective: all-to-all
sweep:
  data_size: [16MB, 32MB]
"""
"""A plan of which each line can be replaced."""


def golden(name: str) -> Any:
    """Return the cases of a file of golden error messages."""
    path = Path(__file__).parent / "golden" / f"{name}.yaml"
    return YAML(typ="safe", pure=True).load(path)


def with_line(old: str, new: str) -> str:
    """Return the small plan with one piece of text replaced."""
    assert SMALL.count(old) == 1
    return SMALL.replace(old, new)


def plan_of(text: str) -> Plan:
    """Return the plan that a YAML text describes."""
    return validate(read_text(text, "plan.yaml"))


def errors_of(text: str) -> str:
    """Return what a user reads about a YAML text that is no plan."""
    try:
        load_text(text, "plan.yaml")
    except PlanError as error:
        return str(error)
    raise AssertionError("no error")


def write_plan(folder: Path, text: str = SMALL) -> str:
    """Write a plan file and return its name."""
    path = folder / "plan.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def assert_refused(folder: Path, text: str, expect: str) -> None:
    """Assert that the plan of a text is refused with a message, in which its file is `plan.yaml`."""
    name = write_plan(folder, text)
    with pytest.raises(PlanError) as caught:
        load_plan(name)
    assert str(caught.value).replace(str(name), "plan.yaml").rstrip() == expect


def first_bytes(trial: PlannedTrial) -> int:
    """Return the data size of the first job of a trial [bytes]."""
    return int(pattern_of(trial.run_spec["jobs"][0])["data_bytes"])
