"""The modules of the simulator may import each other only downwards: no two of them need each other."""

import re
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "crates/sim/src"

NODES = {"packet", "record", "link", "switch", "nic"}
ALLOWED: dict[str, set[str]] = {
    "packet": set(),
    "record": set(),
    "progress": set(),
    "link": {"packet"},
    "switch": {"packet", "record", "link"},
    "nic": {"packet", "record", "link"},
    "setup": NODES,
    "report": NODES | {"progress", "setup"},
    "fast_forward": {"record", "switch", "setup", "report"},
    "estimate": {"setup", "fast_forward"},
    "patience": {"setup", "estimate"},
    "run": {"progress", "record", "switch", "setup", "report", "fast_forward", "estimate", "patience"},
}

COMMENT = re.compile(r"\s*//")
IMPORT = re.compile(r"\bcrate::(\w+|\{)")


def imports(module: str) -> set[str]:
    """Return what the files of a module name of the crate's other modules, comments apart."""
    files = [SOURCES / f"{module}.rs", *SOURCES.glob(f"{module}/**/*.rs")]
    lines = [line for file in files if file.exists() for line in file.read_text("utf-8").splitlines()]
    return {name for line in lines if not COMMENT.match(line) for name in IMPORT.findall(line)} - {module}


def test_every_module_has_arrows() -> None:
    assert {path.stem for path in SOURCES.iterdir()} - {"lib"} == ALLOWED.keys()


@pytest.mark.parametrize("module", ALLOWED)
def test_a_module_keeps_to_its_arrows(module: str) -> None:
    assert imports(module) <= ALLOWED[module]


def test_no_arrows_make_a_circle() -> None:
    below: set[str] = set()
    for module, allowed in ALLOWED.items():
        assert allowed <= below, f"{module} imports what comes after it"
        below.add(module)
