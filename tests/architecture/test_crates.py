"""The crates may depend on each other only as the architecture's arrows say."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]

PARTS = {"units", "engine", "wire", "transport", "topology", "workload", "record", "spec", "jobs", "paths"}
ALLOWED: dict[str, set[str]] = {
    "state-derive": set(),
    "units": {"state-derive"},
    "engine": {"units"},
    "wire": {"units"},
    "transport": {"units", "wire"},
    "topology": {"units"},
    "workload": {"units"},
    "nccl": set(),
    "record": set(),
    "spec": {"units", "wire", "transport", "topology", "workload"},
    "endpoint": {"units", "wire", "transport", "workload", "record", "spec", "jobs"},
    "jobs": {"units", "engine", "wire", "transport", "workload", "record", "spec"},
    "paths": {"units", "wire", "topology", "spec"},
    "flow": {"units", "wire", "topology", "workload", "record", "spec", "jobs", "paths"},
    "sim": PARTS,
    "python": {"record", "spec", "endpoint", "sim", "flow", "paths", "nccl"},
}

# A crate of the workspace and the parts it depends on, tests apart.
Dependencies = dict[str, set[str]]


def workspace_metadata() -> dict[str, Any]:
    """Read what cargo says about the workspace, without its network or lock."""
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--offline"]
    finished = subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, text=True)
    metadata: dict[str, Any] = json.loads(finished.stdout)
    return metadata


def part(package_name: str) -> str:
    return package_name.removeprefix("fabricbench-")


def dependencies(metadata: dict[str, Any]) -> Dependencies:
    """Reduce metadata to the normal and build dependencies between the crates of the workspace."""
    names = {package["name"] for package in metadata["packages"]}
    return {
        part(package["name"]): {
            part(dependency["name"])
            for dependency in package["dependencies"]
            if dependency["name"] in names and dependency["kind"] != "dev"
        }
        for package in metadata["packages"]
    }


def violations(found: Dependencies) -> list[str]:
    """List each dependency that no arrow allows, and each crate that no arrow names."""
    unknown = [f"{crate} is not in the architecture" for crate in found if crate not in ALLOWED]
    forbidden = [
        f"{crate} -> {target}"
        for crate, targets in found.items()
        for target in targets - ALLOWED.get(crate, targets)
    ]
    return sorted(unknown + forbidden)


def test_the_workspace_keeps_to_the_arrows() -> None:
    found = dependencies(workspace_metadata())
    assert found.keys() == ALLOWED.keys()
    assert violations(found) == []


@pytest.mark.parametrize(
    ("crate", "target"),
    [(crate, target) for crate in ALLOWED for target in ALLOWED if target not in ALLOWED[crate] | {crate}],
)
def test_every_other_dependency_is_a_violation(crate: str, target: str) -> None:
    assert violations({crate: ALLOWED[crate] | {target}}) == [f"{crate} -> {target}"]


def test_a_new_crate_needs_an_arrow() -> None:
    assert violations({"gadget": set()}) == ["gadget is not in the architecture"]


def test_only_dependencies_of_tests_are_free() -> None:
    def package(name: str, *dependencies: tuple[str, str | None]) -> dict[str, Any]:
        return {"name": name, "dependencies": [{"name": on, "kind": kind} for on, kind in dependencies]}

    metadata = {
        "packages": [
            package("fabricbench-units", ("proptest", "dev"), ("fabricbench-sim", "dev")),
            package("fabricbench-spec", ("serde", None), ("fabricbench-units", None)),
            package("fabricbench-sim", ("fabricbench-spec", "build")),
        ]
    }
    assert dependencies(metadata) == {"units": set(), "spec": {"units"}, "sim": {"spec"}}


@pytest.mark.parametrize(
    "main", sorted(REPOSITORY.glob("crates/*/tests/main.rs")), ids=lambda path: path.parts[-3]
)
def test_every_file_of_tests_is_compiled(main: Path) -> None:
    files = {file.stem for file in main.parent.glob("*.rs")} - {"main"}
    modules = set(re.findall(r"^mod (\w+);", main.read_text(encoding="utf-8"), re.MULTILINE))
    assert files == modules - {"common"}
