"""`make test` says first what it is about to do and what is missing for it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

MAKEFILE = Path(__file__).parents[2] / "Makefile"
NEEDED = ("bash", "echo", "env", "find", "python3")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with nothing to build, and a folder for the only programs that there are."""
    shutil.copy(MAKEFILE, tmp_path)
    for folder in ("bin", "crates", "web"):
        (tmp_path / folder).mkdir()
    for program in NEEDED:
        install(tmp_path, program, shutil.which(program) or program)
    return tmp_path


def install(tree: Path, program: str, file: str = "/bin/true") -> None:
    (tree / "bin" / program).symlink_to(file)


def told(tree: Path) -> subprocess.CompletedProcess[str]:
    make = shutil.which("make")
    if make is None:
        pytest.skip("make is not installed")
    command = [make, "--no-print-directory", "test-needs"]
    environment = {"PATH": str(tree / "bin")}
    return subprocess.run(command, cwd=tree, env=environment, check=True, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("installed", "missing"),
    [
        ([], "tshark chromium"),
        (["tshark"], "chromium"),
        (["chromium"], "tshark"),
        (["tshark", "chromium-browser"], ""),
    ],
)
def test_missing_packages_are_named_with_the_command_that_brings_them(
    tree: Path, installed: list[str], missing: str
) -> None:
    for program in installed:
        install(tree, program)
    finished = told(tree)
    assert finished.stdout.startswith(
        "make test: the tests of the crates, of Python and of the web application"
    )
    warnings = [line for line in finished.stderr.splitlines() if line.startswith(("warning", "hint"))]
    assert warnings == (
        [
            f"warning: not installed: {missing}; the tests that need it are skipped",
            f"hint: sudo apt-get install --no-install-recommends {missing}",
        ]
        if missing
        else []
    )


def test_it_comes_before_anything_is_built() -> None:
    rule = re.search(r"^test: (.*) ##", MAKEFILE.read_text(encoding="utf-8"), re.MULTILINE)
    assert rule is not None
    assert rule[1].split()[0] == "test-needs"
    assert "\ntest-needs:\n" in MAKEFILE.read_text(encoding="utf-8"), "it waits for nothing"
