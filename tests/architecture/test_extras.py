"""What is imported is installed: each extra of the package has the libraries of its part."""

import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import distribution

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

IMPORT_WITH = """
import importlib, sys
from importlib.metadata import packages_distributions
from packaging.utils import canonicalize_name

names, modules = sys.argv[1].split(","), sys.argv[2:]
missing = {
    module
    for module, distributions in packages_distributions().items()
    if not {canonicalize_name(each) for each in distributions} & set(names)
}

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in missing:
            raise ModuleNotFoundError(name, name=name)

for name in set(sys.modules):
    if name.partition(".")[0] in missing:
        del sys.modules[name]
sys.meta_path.insert(0, Finder())
for module in modules:
    importlib.import_module(module)
"""


def required(name: str, extras: set[str]) -> Iterator[str]:
    """Yield the distributions that installing one with extras brings, itself included."""
    seen = set[tuple[str, str]]()
    pending = [(canonicalize_name(name), extra) for extra in ("", *extras)]
    while pending:
        each, extra = pending.pop()
        if (each, extra) in seen:
            continue
        seen.add((each, extra))
        yield each
        for text in distribution(each).requires or ():
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                child = canonicalize_name(requirement.name)
                pending += [(child, inner) for inner in ("", *requirement.extras)]


@pytest.mark.parametrize(
    ("extra", "modules"),
    [
        ("", ["fabricbench", "fabricbench.cli.main", "fabricbench.report.html.rendering"]),
        ("server", ["fabricbench.server.serve", "fabricbench.server.app"]),
        ("hosts", ["fabricbench.hosts.agent.service", "fabricbench.hosts.control.survey"]),
        ("lab", ["fabricbench.lab.build"]),
    ],
)
def test_an_extra_has_what_its_part_imports(extra: str, modules: list[str]) -> None:
    names = ",".join({*required("fabricbench", {extra} - {""})})
    command = [sys.executable, "-c", IMPORT_WITH, names, *modules]
    finished = subprocess.run(command, check=False, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
