"""The command `tune`: what it refuses, writes and goes on with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.support.samples import call, call_program
from tests.support.small_disk import NoMountError, small_disk
from tests.support.tuning import INCAST, TRANSFER

KMIN = "fabric.switch.ecn.kmin"
MAIN = "from fabricbench.cli.main import main; main()"
TIME = ("--minimize", "completion_time_ms")
INCAST_SEARCH = (
    *("--search", f"{KMIN}=1KB..60KB", "--search", "transport.ack_every=1..16"),
    *("--minimize", "queue_max_bytes", "--confirm", "0", "--format", "csv"),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "transfer.yaml").write_text(TRANSFER)
    (tmp_path / "incast.yaml").write_text(INCAST)
    named = TRANSFER.replace("{mtu: 256, message_size: 16KB}", "{rate_control: dcqcn}")
    (tmp_path / "named.yaml").write_text(
        named.replace("400Gbps}", "400Gbps}\n  switch: {ecn: alibaba, pfc: on}")
    )
    return tmp_path


def begun(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "FABRICBENCH_WORKSPACE": ""}
    command = [sys.executable, "-c", MAIN, "tune", *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    )


def tuned(folder: Path, *arguments: str, status: int = 0) -> tuple[str, str]:
    ended = call_program("tune", *arguments, cwd=folder)
    assert ended.returncode == status, ended.stderr
    return ended.stdout, ended.stderr


@pytest.mark.parametrize(
    ("search", "told"),
    [
        ("transport.windw=1..2", "no such field"),
        ("transport.windw=1..2", "did you mean `transport.window`?"),
        ("seed=1..2", "a field that no search can change"),
        (f"{KMIN}=5us..400KB", '"5us", which is a time'),
        (f"{KMIN}=40KB..4KB", "40KB..4KB; allowed: the least value first"),
        (f"{KMIN}=4KB..40KB:1MB", "a step beyond the range"),
        ("transport.mtu=256..4096", "choices, as this field takes no numbers"),
        ("transport.mtu=256|9000", "a choice with which no plan is valid"),
        ("transport.mtu=256|9000", "256, 512, 1024, 2048 or 4096"),
        (f"{KMIN}=5MB..40MB", "a space that holds no valid plan"),
        (f"{KMIN}=5MB..40MB", "at most 80KB with this `kmax`"),
        (f"{KMIN}=20KB..20KB", "every point of the search space is the same run"),
        (KMIN, "no field and values"),
        ("jobs.nobody.ranks=0-3|0-4", "allowed: 0 to 0, or a name: test"),
    ],
)
def test_a_search_that_cannot_be_is_refused(folder: Path, search: str, told: str) -> None:
    said = call("tune", "incast.yaml", "--search", search, *TIME, cwd=folder)
    assert said.returncode == 2
    assert told in said.stderr
    assert not (folder / "fabricbench-workspace").exists()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--minimize", "p99_fct"), "did you mean `fct_ms_p99`?"),
        ((), "--minimize: found no metric; allowed: completion_time_ms,"),
        ((*TIME, "--maximize", "completion_time_ms"), "the metric twice"),
        ((*TIME, "--subject-to", "frames_lost"), "METRIC=VALUE, METRIC<=VALUE or METRIC>=VALUE"),
        ((*TIME, "--subject-to", "frames_lst=0"), "did you mean `frames_lost`?"),
        ((*TIME, "--confirm", "3"), "found 3; allowed: 0, or 5 or more"),
        ((*TIME, "--write-plan", "nowhere/plan.yaml"), "there is no folder nowhere"),
    ],
)
def test_an_aim_that_cannot_be_is_refused(folder: Path, options: tuple[str, ...], told: str) -> None:
    said = call("tune", "incast.yaml", "--search", f"{KMIN}=4KB..40KB", *options, cwd=folder)
    assert said.returncode == 2
    assert told in said.stderr


def test_a_search_of_days_has_to_be_asked_for(folder: Path) -> None:
    search = ("incast.yaml", "--search", f"{KMIN}=4KB..40KB", *TIME, "--trials", "100000", "--seeds", "200")
    _, error = tuned(folder, *search, status=2)
    assert "allowed: 24 hours\nhint: --force searches all the same" in error
    out, _ = tuned(folder, *search, "--dry-run")
    assert out.startswith("100,000 points of 1 field, up to ")
    assert not (folder / "fabricbench-workspace").exists()


def test_without_optuna_it_says_how_to_get_it(folder: Path) -> None:
    (folder / "optuna.py").write_text("raise ImportError")
    arguments = ("incast.yaml", "--search", f"{KMIN}=4KB..40KB", *TIME)
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, ''); {MAIN}", "tune", *arguments]
    said = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert said.returncode == 2
    assert f"hint: {sys.executable} -m pip install 'optuna>=5'" in said.stderr


@pytest.mark.slow
def test_it_writes_what_plans_and_switches_take(folder: Path) -> None:
    searches = (f"{KMIN}=20KB..80KB", "fabric.switch.pfc.xoff.alpha=1/8|1/2", "transport.window=16..1024")
    options = [each for search in searches for each in ("--search", search)]
    files = ("--write-plan", "best.yaml", "--write-sonic", "best.json", "--format", "json")
    out, error = tuned(folder, "named.yaml", *options, *TIME, "--trials", "8", "--confirm", "5", *files)
    told: dict[str, Any] = json.loads(out)
    best = told["best"]["point"]
    plan = YAML(typ="safe").load(folder / "best.yaml")
    assert plan["fabric"]["switch"]["ecn"] == {"preset": "alibaba", "kmin": best[KMIN]}
    assert plan["fabric"]["switch"]["pfc"] == {"xoff": {"alpha": best["fabric.switch.pfc.xoff.alpha"]}}
    assert plan["transport"] == {"window": int(best["transport.window"])}
    assert told["plan"] == plan
    sonic = json.loads((folder / "best.json").read_text())
    profile = sonic["WRED_PROFILE"]["fabricbench_ecn_400g"]
    assert profile["green_min_threshold"] == str(16 * sized(best[KMIN]))  # of a port 16 times as fast
    assert sonic["BUFFER_PROFILE"]["fabricbench_pfc_400g"]["dynamic_th"] in {"-3", "-1"}
    assert told["evidence"]["ratios"][0]["seeds"] == 5
    assert "dcqcn is set at the adapters of hosts" in error


def sized(text: str) -> int:
    return int(text[:-2]) << 10 if text.endswith("KB") else int(text[:-1])


@pytest.mark.slow
def test_limits_that_no_point_keeps_are_told(folder: Path) -> None:
    search = ("--search", "transport.window=64..512")
    out, _ = tuned(
        folder, "incast.yaml", *search, *TIME, "--subject-to", "fct_ms_max<=0.001", "--trials", "4", status=3
    )
    assert "no point keeps every limit" in out
    assert "misses fct_ms_max<=0.001 by" in out


@pytest.mark.soak
def test_a_full_disk_stops_it_and_loses_nothing(folder: Path) -> None:
    arguments = ("incast.yaml", *INCAST_SEARCH, "--trials", "32")
    try:
        with small_disk(folder / "disk", 1_500_000) as disk:
            _, error = tuned(folder, *arguments, "--workspace", "disk", status=2)
            assert "the disk is full" in error
            subprocess.run(["mount", "-o", "remount,size=30m", str(disk)], check=True)
            again, _ = tuned(folder, *arguments, "--workspace", "disk")
    except NoMountError as error:
        pytest.skip(f"no file system can be mounted: {error}")
    assert again == tuned(folder, *arguments, "--workspace", "whole")[0]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a search of 16 points prints that nothing stops."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "incast.yaml").write_text(INCAST)
    return tuned(folder, "incast.yaml", *INCAST_SEARCH, "--trials", "16")[0]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The reported value is ignored")  # of the point at which it was killed
@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.soak), signal.SIGKILL]
)
def test_it_goes_on_after_it_was_stopped(folder: Path, whole: str, number: signal.Signals) -> None:
    arguments = ("incast.yaml", *INCAST_SEARCH, "--trials", "16", "--workspace", "parts")
    with begun(folder, *arguments) as process:
        wait_for_points(folder / "parts", 5)
        process.send_signal(number)
        _, error = process.communicate(timeout=60)
    assert process.returncode == (-number if number is signal.SIGKILL else 128 + number)
    assert ("the same command goes on" in error) == (number is not signal.SIGKILL)
    again, _ = tuned(folder, *arguments)
    assert again == whole


def wait_for_points(root: Path, points: int) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        journals = list((root / "tuning").glob("*.journal"))
        if journals and journals[0].read_text().count('"op_code":6') >= points:
            return
        time.sleep(0.02)
    pytest.fail("no point comes")


@pytest.mark.slow
def test_a_second_process_does_not_carry_out_the_same_search(folder: Path) -> None:
    arguments = ("incast.yaml", *INCAST_SEARCH, "--trials", "400")
    with begun(folder, *arguments) as process:
        wait_for_points(folder / "fabricbench-workspace", 1)
        _, error = tuned(folder, *arguments, status=2)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert "the same search runs already in this workspace" in error
