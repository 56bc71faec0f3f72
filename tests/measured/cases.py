"""Cases of `explain FILE` in a folder: commands with the causes that are expected of them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from fabricbench.importing import (
    Hardware,
    Source,
    Suspect,
    UserFacts,
    fabric_of,
    read_facts,
    suspects,
    switch_counters,
)


@dataclass(frozen=True)
class Case:
    """A command with its expected causes.

    Attributes:
        folder: Where its files are.
        command: The command.
        first: Causes of which one is first.
        in_three: Causes that are all among the first three.
        never: Causes that are never certain.
    """

    folder: Path
    command: str
    first: Sequence[str]
    in_three: Sequence[str]
    never: Sequence[str]

    @property
    def name(self) -> str:
        return self.command.split()[1]

    def causes(self) -> list[Suspect]:
        """Return the causes that the command names."""
        file, *words = shlex.split(self.command)[1:]
        given: dict[str, list[str]] = {}
        for name, value in zip(words[::2], words[1::2], strict=True):
            given.setdefault(name, []).append(value)
        rates = [float(re.sub(r"[A-Za-z]+$", "", each)) for each in given.get("--rate", [])]
        adapters = [int(each) for each in given.get("--adapters", [])]
        ranks = [int(each) for each in given.get("--ranks", [])]
        hardware = Hardware(next(iter(adapters), None), next(iter(rates), None), "the test")
        paths = {
            name: [self.folder / each for each in given.get(name, [])] for name in ("--counters", "--before")
        }
        switches = switch_counters(paths["--counters"], paths["--before"]) if paths["--counters"] else []
        said = UserFacts(next(iter(ranks), None), next(iter(given.get("--benchmark", [])), ""))
        look = read_facts(Source(file, (self.folder / file).read_bytes()), user_facts=said)
        fabric = fabric_of(look, hardware, None, None)
        return suspects(look.rule_input(fabric.hardware, fabric.ranges, switches, given.get("--uplinks", [])))


def cases(folder: Path) -> list[Case]:
    """Return the cases of a folder, which its `expected.yaml` lists."""
    listed: list[dict[str, Any]] = YAML(typ="safe").load(folder / "expected.yaml")
    return [
        Case(folder, each["command"], each["first"], each.get("in_three", []), each.get("never", []))
        for each in listed
    ]
