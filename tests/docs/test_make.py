"""`make` has a dozen targets; `make test` names the programs that are missing for it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tools" / "checks" / "missing_programs.sh"
TARGETS_MAX = 12


def test_there_are_few_targets_and_each_is_listed() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z][a-z-]*):(?!=)(.*)", makefile, re.MULTILINE)
    assert len(targets) <= TARGETS_MAX
    assert all("## " in rest for _, rest in targets), "`make help` lists those with a text"


def test_the_tests_begin_and_end_with_the_programs_that_are_missing() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    rule = re.search(r"^test:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    assert rule is not None
    lines = [line.lstrip("\t@") for line in rule[1].splitlines()]
    assert lines[0] == lines[-1] == str(SCRIPT.relative_to(ROOT))


@pytest.mark.parametrize(
    "installed", [("tshark",), ("chromium-browser",), ("tshark", "chromium", "postgres")]
)
def test_missing_programs_are_named_with_the_command_that_installs_them(
    tmp_path: Path, installed: tuple[str, ...]
) -> None:
    bash = shutil.which("bash")
    assert bash is not None
    for program in installed:
        (tmp_path / program).symlink_to("/bin/true")
    finished = subprocess.run(
        [bash, SCRIPT], env={"PATH": str(tmp_path)}, check=True, capture_output=True, text=True
    )
    assert not finished.stdout
    warning, hint = finished.stderr.splitlines() if finished.stderr else ("", "")
    for program in ("tshark", "chromium"):
        is_installed = any(name.startswith(program) for name in installed)
        assert (f" {program}" in warning) != is_installed
    assert hint.partition("recommends ")[2] == warning.partition("installed: ")[2].partition(";")[0]
