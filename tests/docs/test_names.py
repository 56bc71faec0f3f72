"""Names that pages list are those that a plan takes."""

from __future__ import annotations

import re
from pathlib import Path

from tools.generate_docs import pages

from fabricbench.plan.document.validate import field_paths
from fabricbench.plan.fabric.model import Fabric

DOCS = Path(__file__).parents[2] / "docs"


def test_the_topologies_of_the_page_are_those_of_a_plan() -> None:
    table = (DOCS / "own-fabric.md").read_text().split("| `kind` | is |", 1)[1].split("\n\n", 1)[0]
    listed = re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE)
    topologies = Fabric.model_json_schema()["properties"]["topology"]["discriminator"]["mapping"]
    assert sorted(listed) == sorted(topologies)


def test_every_dotted_field_of_a_page_is_one_of_a_plan() -> None:
    known = {".".join(map(str, path)) for path in field_paths()}
    tops = "fabric|transport|sweep|observe"
    written = {path.name: path.read_text() for path in DOCS.rglob("*.md") if path.parent.name != "adr"}
    for name, text in [*written.items(), *pages().items()]:
        named = set(re.findall(rf"`((?:{tops})\.[a-z_.]+[a-z])[`:=]", text))
        assert named <= known, name
