"""The wheel, installed where there are no sources: it brings its plans and the web application.

The dependencies are those of this environment; only fabricbench itself comes from the wheel.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import urllib.request
import venv
import zipfile
from dataclasses import dataclass
from http.client import HTTPResponse
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2]
SAMPLE = SOURCES / "tests/measured/samples/nccl_alltoall.txt"
TAG = re.compile(r"fabricbench-[\d.]+-cp311-abi3-(manylinux_2_(\d+)|linux)_\w+\.whl")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel; quick to build where the extension is."""
    out = tmp_path_factory.mktemp("wheel")
    maturin = str(Path(sys.executable).with_name("maturin"))
    command = [maturin, "build", "--quiet", "--release", "--out", str(out)]
    subprocess.run(command, cwd=SOURCES, env=os.environ | {"PYO3_PYTHON": sys.executable}, check=True)
    (found,) = out.iterdir()
    return found


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel, and a folder to work in."""

    programs: Path
    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """No program but the system's, and the libraries of this environment without fabricbench itself."""
        return {
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": sysconfig.get_path("purelib"),
            "HOME": str(self.folder),
        }

    def __call__(self, program: str, *arguments: str | Path) -> str:
        done = subprocess.run(
            [self.programs / program, *arguments],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """A new environment with the wheel and nothing else of its own."""
    root = tmp_path_factory.mktemp("installed")
    venv.create(root / "venv", with_pip=False, symlinks=True)
    python = root / "venv/bin/python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--quiet", "--no-index", "--no-deps", str(wheel)], check=True)
    (root / "work").mkdir()
    return Installed(root / "venv/bin", root / "work")


def test_it_is_for_every_python_and_carries_what_is_no_code(wheel: Path) -> None:
    tag = TAG.fullmatch(wheel.name)
    assert tag is not None, wheel.name
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    plans = {path.relative_to(SOURCES) for path in (SOURCES / "plans").rglob("*.yaml")}
    assert plans
    assert {f"fabricbench/{path}" for path in plans} <= names
    assert "fabricbench/plans/published/keysight_jct2_alltoall.csv" in names
    assert "fabricbench/server/static/index.html" in names
    assert "fabricbench/py.typed" in names
    assert not [name for name in names if "__pycache__" in name or "node_modules" in name]


def test_it_runs_reports_and_imports_without_sources(installed: Installed) -> None:
    where = installed("python", "-c", "import fabricbench; print(fabricbench.__file__)")
    assert Path(where).is_relative_to(installed.programs.parent)
    table = installed("fabricbench", "run", "jct-alltoall", "-s", "sweep.data_size=[16MB]")
    assert "47.64" in table
    installed("fabricbench", "report", "latest", "-o", "report.html")
    assert "</html>" in (installed.folder / "report.html").read_text()
    installed("fabricbench", "import", SAMPLE)
    assert "alltoall_perf" in installed("fabricbench", "trials")


def test_it_serves_the_web_application_without_node(installed: Installed) -> None:
    command = [str(installed.programs / "fabricbench"), "serve", "--port", "0"]
    with subprocess.Popen(
        command, cwd=installed.folder, env=installed.environment, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            address = next(line.strip() for line in process.stderr if "http://" in line)
            page = fetched(address)
            (script,) = re.findall(r'src="(/assets/[^"]+\.js)"', page)
            assert (SOURCES / f"python/fabricbench/server/static{script}").read_text() == fetched(
                address.partition("/?")[0] + script
            )
        finally:
            process.kill()


def fetched(url: str) -> str:
    """Return what is at a URL; cookies are kept across its redirection."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    answer: HTTPResponse
    with opener.open(url, timeout=60) as answer:
        assert answer.status == 200
        return answer.read().decode()
