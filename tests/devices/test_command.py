"""The commands `convert` and `counters`, and what a report says of a configuration."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from tests.devices.sonic_files import changed, write

from fabricbench.cli.main import run

SAMPLES = Path(__file__).parent / "samples"
SONIC = Path(__file__).parents[2] / "plans" / "sonic"


def told(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> tuple[str, str]:
    assert run(list(arguments)) == status
    found = capsys.readouterr()
    return found.out, found.err


@pytest.mark.parametrize("name", ["broadcom-kind", "mellanox-kind", "marvell-kind"])
def test_convert_says_what_was_read_what_comes_of_it_and_what_does_not(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = told(capsys, "convert", str(SONIC / f"{name}.json"))
    assert out.startswith("SONiC config_db.json: ")
    assert "fields of a plan\n" in out
    assert "from BUFFER_PROFILE|" in out
    assert "\nnot modelled\n" in out
    assert err == ""


def test_yaml_is_a_part_of_a_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = told(capsys, "convert", str(SAMPLES / "clos.clab.yml"), "--format", "yaml")
    assert "not modelled: " in err
    plan = {"fabricbench": 1, "name": "lab", **YAML(typ="safe", pure=True).load(out)}
    plan |= {"jobs": [{"collective": "all-to-all"}], "sweep": {"data_size": "64KB"}}
    (tmp_path / "plan.yaml").write_text(json.dumps(plan))
    out, _ = told(capsys, "plan", "check", str(tmp_path / "plan.yaml"))
    assert "4 ranks on 4 hosts" in out


def test_json_has_all_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--data-dscp", "26", "--cnp-dscp", "48", "--format", "json")
    out, _ = told(capsys, "convert", str(SONIC / "mellanox-kind.json"), *arguments)
    found = json.loads(out)
    assert found["plan"]["transport"]["priorities"] == {"cnp": 6, "data": 3}
    assert {each["field"] for each in found["values"]} >= {"fabric.switch.pfc.headroom"}
    assert found["warnings"]
    assert found["not_modelled"]


def test_a_file_may_come_from_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    content = io.TextIOWrapper(io.BytesIO((SAMPLES / "dgx.xml").read_bytes()))
    monkeypatch.setattr("sys.stdin", content)
    out, _ = told(capsys, "convert", "-", "--servers", "4")
    assert out.startswith("NCCL topology: <stdin>\n")


def test_a_wrong_file_ends_with_status_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, changed(("BUFFER_PROFILE/pg/xoff", "lots")))
    out, err = told(capsys, "convert", str(path), status=2)
    assert out == ""
    assert "BUFFER_PROFILE|pg: xoff: found " in err
    assert "a whole number from 0 to" in err
    told(capsys, "convert", str(tmp_path / "nothing"), status=2)
    told(capsys, "convert", str(path), "--from", "nccl", status=2)
    told(capsys, "convert", str(path), "--from", "containerlab", status=2)
    told(capsys, "convert", str(path), "--priority", "3", "--data-dscp", "3", status=2)


def test_a_report_lists_what_a_configuration_gave_and_what_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = ("--workspace", str(tmp_path / "workspace"))
    told(capsys, "run", "sonic-switches", "--quick", "--variant", "mellanox", *workspace)
    told(capsys, "report", *workspace, "-o", str(tmp_path / "report.html"))
    page = (tmp_path / "report.html").read_text()
    assert "Switches of variant mellanox set up by mellanox-kind.json" in page
    assert "not modelled: BUFFER_PORT_INGRESS_PROFILE_LIST (32 entries): limits of a whole port" in page
    assert "fabric.switch.buffer.pools: {ingress: [{name: ingress_lossless_pool" in page
    assert "differs: fabric.switch.pfc.headroom" in page
    assert "Changed on the command line" in page  # --quick
    out, _ = told(capsys, "explain", "--try", *workspace)
    assert "remedies tried" in out


def test_counters_are_looked_up_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = told(capsys, "counters", "rx_prio3_pause", "--format", "json")
    (found,) = json.loads(out)["counters"]
    assert (found["name"], found["counts"], found["metric"]) == ("pfc_rx_priority_3", "frames", "pfc_rx")
    _, err = told(capsys, "counters", "rx_prio3_paus", status=2)
    assert "found no counter of that name" in err
    out, _ = told(capsys, "counters", "--format", "csv")
    assert len(out.splitlines()) > 150


def test_json_below_the_prompt_of_a_shell_is_told_where_it_is_no_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "leaf.txt"
    path.write_text("admin@leaf:~$ show runningconfiguration all\n" + json.dumps(changed(), indent=1))
    _, err = told(capsys, "convert", str(path), status=2)
    assert "leaf.txt:1: found text that is no JSON" in err
