"""The Python parts may import each other only as the architecture's arrows say."""

import ast
import itertools
import subprocess
import sys
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

import pytest
from grimp import ImportGraph
from importlinter.api import read_configuration
from importlinter.contracts.layers import LayersContract
from importlinter.contracts.protected import ProtectedContract

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "python" / "fabricbench"

CONTRACTS = {"layers": LayersContract, "protected": ProtectedContract}

ALLOWED: dict[str, set[str]] = {
    "units": set(),
    "searched": set(),
    "plan": {"units"},
    "hosts": {"plan", "units"},
    "backend": {"plan", "hosts"},
    "store": {"plan"},
    "analysis": {"plan"},
    "measured": set(),
    "lab": {"plan"},
    "runner": {"plan", "backend", "searched", "store", "results"},
    "importing": {"plan", "measured", "store", "results"},
    "results": {"analysis", "store"},
    "figures": {"analysis", "results", "store"},
    "report": {"analysis", "figures", "results", "searched", "store"},
    "explaining": {"plan", "backend", "runner", "importing", "store", "results", "figures", "report"},
    "server": {
        "plan",
        "hosts",
        "backend",
        "runner",
        "explaining",
        "importing",
        "searched",
        "store",
        "results",
        "figures",
        "report",
    },
    "cli": {
        "plan",
        "hosts",
        "backend",
        "lab",
        "runner",
        "explaining",
        "importing",
        "searched",
        "store",
        "results",
        "report",
        "server",
    },
    "api": {
        "plan",
        "analysis",
        "backend",
        "runner",
        "explaining",
        "importing",
        "searched",
        "store",
        "results",
        "figures",
        "report",
    },
    "__main__": {"cli"},
    "counters": set(),
    "errors": set(),
    "inputs": set(),
    "metrics": set(),
    "words": set(),
    "work": {"metrics"},
}
BACKENDS = (
    "fabricbench.backend.auto",
    "fabricbench.backend.sim",
    "fabricbench.backend.capture",
    "fabricbench.backend.flow",
    "fabricbench.backend.hosts",
)
"""The modules of a backend, which only its registry names."""
FREE = {"counters", "errors", "inputs", "metrics", "words", "work"}
"""Parts that import nothing but each other and that every other one may import."""


def graph_of(*edges: tuple[str, str]) -> ImportGraph:
    """Build the graph of a package with every part, each with one module, and these imports between them."""
    graph = ImportGraph()
    graph.add_module("fabricbench")
    for part in ALLOWED:
        graph.add_module(f"fabricbench.{part}")
        graph.add_module(f"fabricbench.{part}.module")
    for module in (*BACKENDS, "fabricbench.backend.registry"):
        graph.add_module(module)
    graph.add_import(
        importer="fabricbench",
        imported="fabricbench.api",
        line_number=1,
        line_contents="from fabricbench import api",
    )
    for importer, imported in edges:
        graph.add_import(
            importer=f"fabricbench.{importer}.module",
            imported=f"fabricbench.{imported}.module",
            line_number=1,
            line_contents=f"from fabricbench.{imported} import module",
        )
    return graph


def broken_contracts(graph: ImportGraph) -> list[str]:
    """Check a graph against the contracts of pyproject.toml and name those it breaks."""
    configuration = read_configuration(str(REPOSITORY / "pyproject.toml"))
    checks = {
        options["name"]: CONTRACTS[options["type"]](
            name=options["name"],
            session_options=configuration["session_options"],
            contract_options=options,
        ).check(deepcopy(graph), verbose=False)  # a check takes ignored imports out
        for options in configuration["contracts_options"]
    }
    return [name for name, check in checks.items() if not check.kept]


def imported_modules(source: str) -> Iterator[str]:
    """Yield what a file imports, wherever in the file it does."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module or ''}.{alias.name}" for alias in node.names)


def imports_core(source: str) -> bool:
    return any("_core" in name.split(".") for name in imported_modules(source))


def test_the_package_keeps_its_contracts() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    finished = subprocess.run(
        [linter, "--no-logo", "--no-cache"], cwd=REPOSITORY, check=False, capture_output=True, text=True
    )
    assert finished.returncode == 0, finished.stdout


def test_the_contracts_allow_every_arrow() -> None:
    edges = [(part, target) for part in ALLOWED.keys() - FREE for target in ALLOWED[part] | FREE]
    assert broken_contracts(graph_of(*edges)) == []


@pytest.mark.parametrize(
    ("importer", "imported"),
    [pair for pair in itertools.permutations(ALLOWED, 2) if pair[1] not in ALLOWED[pair[0]] | FREE],
)
def test_the_contracts_forbid_every_other_import(importer: str, imported: str) -> None:
    broken = broken_contracts(graph_of((importer, imported)))
    assert [name for name in broken if name.endswith(f"may import {imported}")] != []


@pytest.mark.parametrize("importer", ["runner", "backend", "cli", "server"])
@pytest.mark.parametrize("module", BACKENDS)
def test_only_the_registry_names_a_backend(importer: str, module: str) -> None:
    graph = graph_of()

    def add(name: str) -> None:
        text = f"import {module}"
        graph.add_import(importer=f"fabricbench.{name}", imported=module, line_number=1, line_contents=text)

    add("backend.registry")
    assert broken_contracts(graph) == []
    add(f"{importer}.module")
    assert "Only the registry of backends names one" in broken_contracts(graph)


def test_a_new_part_needs_an_arrow() -> None:
    graph = graph_of()
    graph.add_module("fabricbench.gadget")
    assert broken_contracts(graph) == ["Parts are layered, and no part is unlisted"]


@pytest.mark.parametrize(
    "line",
    [
        "from fabricbench import _core",
        "from fabricbench._core import run",
        "import fabricbench._core as core",
        "def late():\n    from .. import _core",
    ],
)
def test_an_import_of_the_core_is_seen(line: str) -> None:
    assert imports_core(line)
    assert not imports_core(line.replace("_core", "_other"))


def test_only_the_backend_and_one_module_of_plan_and_of_the_agent_import_the_core() -> None:
    importers = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if imports_core(path.read_text(encoding="utf-8"))
    }
    outside_backend = {importer for importer in importers if not importer.startswith("backend/")}
    assert outside_backend == {"plan/engine.py", "hosts/agent/data_plane.py"}
