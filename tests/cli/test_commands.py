"""The commands, run as a user does: output, formats, exit status."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.support.fake_backend import FakeBackend
from tests.support.samples import PLAN, call

JSON_NAMES = """
    plan variant job collective algorithm ranks data_size_bytes iteration status completion_time_ms
    algbw_gb_per_s busbw_gb_per_s ideal_percent fct_ms pfc_rx ecn_ce_rx cnp_tx retransmits frames_lost
    id tag published
"""

VARIANTS = """
variants:
  - {name: a}
  - {name: b, set: {transport.ack_every: 4}}
"""


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a plan, a published table and a workspace in which the plan has run."""
    folder = tmp_path_factory.mktemp("used")
    (folder / "table.csv").write_text("# A lab\ndata_size_bytes,busbw_gb_per_s,min_fct_ms\n2097152,40,0.05\n")
    (folder / "small.yaml").write_text(PLAN + "published: table.csv\n")
    finished = call("run", "small.yaml", "--tag", "first", cwd=folder)
    assert finished.returncode == 0, finished.stderr
    return folder


def output_of(folder: Path, *arguments: str) -> str:
    finished = call(*arguments, cwd=folder)
    assert (finished.returncode, finished.stderr) == (0, "")
    return finished.stdout


def test_run_prints_an_aligned_table_without_colour(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(PLAN)
    finished = call("run", "small.yaml", cwd=tmp_path)
    assert (finished.returncode, finished.stderr) == (0, "")
    lines = finished.stdout.splitlines()
    assert lines[0] == "small, job test: all-to-all parallel, 4 ranks, fake"
    assert lines[1].split() == [
        "data",
        "time",
        "algbw",
        "busbw",
        "ideal",
        "FCT",
        "min",
        "P50",
        "P95",
        "max",
        "PFC",
        "ECN-CE",
        "CNP",
        "retx",
        "lost",
    ]
    assert [line.split()[:2] for line in lines[3:]] == [["1", "MB"], ["2", "MB"]]
    assert "\x1b" not in finished.stdout
    assert (tmp_path / "fabricbench-workspace/catalog.sqlite").is_file()


def test_published_values_stand_below_ours_with_the_deviation(used: Path) -> None:
    lines = output_of(used, "run", "small.yaml", "--resume", "--tag", "first").splitlines()
    table = {line.split("  ")[0]: line.split() for line in lines}
    assert table["published"] == ["published", "40", "50"]
    assert len(table["deviation"]) == 3
    assert all(value.endswith("%") for value in table["deviation"][1:])
    assert lines[-1] == "published: table.csv"


def test_run_as_json_has_the_names_that_stay(used: Path) -> None:
    content = json.loads(
        output_of(used, "run", "small.yaml", "--resume", "--tag", "first", "--format", "json")
    )
    assert list(content) == ["trials", "engine"]
    first, second = content["trials"]
    assert set(JSON_NAMES.split()) <= set(first)
    assert list(first["fct_ms"]) == ["min", "p50", "p95", "p99", "p999", "max"]
    assert (first["plan"], first["data_size_bytes"], first["tag"]) == ("small", 1 << 20, "first")
    assert first["published"] is None
    assert second["published"]["busbw_gb_per_s"]["value"] == 40
    expected = 100 * (second["busbw_gb_per_s"] / 40 - 1)
    assert second["published"]["busbw_gb_per_s"]["deviation_percent"] == pytest.approx(expected)
    names = {"packet_hops", "events", "wall_s", "cpu_s", "peak_rss_bytes", "threads", "seed", "version"}
    assert names <= set(content["engine"])
    assert content["engine"]["packet_hops"] == 800
    assert content["engine"]["peak_rss_bytes"] == 1 << 20


def test_run_as_csv_is_flat_and_agrees_with_json(used: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(output_of(used, "show", "latest", "--format", "csv"))))
    trial = json.loads(output_of(used, "show", "latest", "--format", "json"))["trials"][0]
    assert len(rows) == 1
    assert float(rows[0]["fct_ms_p50"]) == trial["fct_ms"]["p50"]
    assert float(rows[0]["published_busbw_gb_per_s"]) == 40
    assert rows[0]["published_ideal_percent"] == ""
    assert int(rows[0]["retransmits"]) == trial["retransmits"]


def test_seed_and_tag_are_fields_of_the_plan(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(PLAN)
    arguments = ("run", "small.yaml", "--seed", "77", "--tag", "007", "--threads", "2", "--format", "json")
    content = json.loads(output_of(tmp_path, *arguments))
    assert content["engine"]["seed"] == 77
    assert content["engine"]["threads"] == 2
    assert {trial["tag"] for trial in content["trials"]} == {"007"}


def test_an_incomplete_trial_is_a_result(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(PLAN)
    table = call("run", "small.yaml", cwd=tmp_path, backend=FakeBackend(unfinished=2))
    assert table.returncode == 0
    assert "1 MB is incomplete: 2 chunks never completed, first transfer 3" in table.stdout
    trial = json.loads(output_of(tmp_path, "show", "--format", "json"))["trials"][0]
    assert (trial["status"], trial["busbw_gb_per_s"], trial["completion_time_ms"]) == (
        "incomplete",
        None,
        None,
    )
    assert trial["reason"] == "2 chunks never completed, first transfer 3"
    assert "incomplete" in output_of(tmp_path, "trials")


def test_trials_lists_and_filters(used: Path) -> None:
    lines = output_of(used, "trials").splitlines()
    assert [line.split()[1] for line in lines[1:]] == ["plan", "small", "small"]
    assert len(output_of(used, "trials", "--tag", "first", "--plan", "small").splitlines()) == 4
    content = json.loads(output_of(used, "trials", "--format", "json"))
    assert [trial["status"] for trial in content["trials"]] == ["complete", "complete"]
    assert content["trials"][0]["jobs"][0]["job"] == "test"
    rows = list(csv.DictReader(io.StringIO(output_of(used, "trials", "--format", "csv"))))
    assert [row["data_size_bytes"] for row in rows] == ["1048576", "2097152"]
    nothing = call("trials", "--tag", "other", cwd=used)
    assert (nothing.returncode, nothing.stdout) == (0, "")
    assert "no such trials" in nothing.stderr


def test_trials_of_a_plan_without_any_are_none_and_of_an_unknown_one_an_error(used: Path) -> None:
    for output in ("table", "json"):
        nothing = call("trials", "--plan", "jct-alltoall", "--format", output, cwd=used)
        assert (nothing.returncode, "no such trials" in nothing.stderr) == (0, True)
    for name, hint in ("smal", "did you mean `small`?"), ("jct-alltoal", "did you mean `jct-alltoall`?"):
        typo = call("trials", "--plan", name, cwd=used)
        assert (typo.returncode, typo.stdout) == (2, "")
        assert f'no trial of a plan "{name}"\nhint: {hint}' in typo.stderr


@pytest.mark.parametrize(
    ("arguments", "begin"),
    [
        (("-o", "c.parquet"), b"PAR1"),
        (("-o", "c.json"), b"["),
        (("-o", "c.txt"), b"job,"),
        (("-o", "c.parquet", "--format", "csv"), b"job,"),
    ],
)
def test_a_table_is_written_as_its_file_is_called(
    used: Path, arguments: tuple[str, ...], begin: bytes
) -> None:
    output_of(used, "export", *arguments)
    assert (used / arguments[1]).read_bytes().startswith(begin)


def test_all_tags_of_a_trial_are_listed_and_shown(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(PLAN)
    for tag in ("monday", "tuesday"):
        assert call("run", "small.yaml", "--tag", tag, cwd=tmp_path).returncode == 0
    assert "tuesday, monday" in output_of(tmp_path, "show")
    assert output_of(tmp_path, "trials").count("tuesday, monday") == 2
    for command in ("show", "trials"):
        (*_, trial) = json.loads(output_of(tmp_path, command, "--format", "json"))["trials"]
        assert (trial["tag"], trial["tags"]) == ("tuesday", ["tuesday", "monday"])


def test_plans_that_have_trials_in_common_both_keep_them(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(PLAN + VARIANTS)
    (tmp_path / "other.yaml").write_text((PLAN + VARIANTS).replace("name: small", "name: other"))
    for plan in ("small.yaml", "other.yaml"):
        assert call("run", plan, cwd=tmp_path).returncode == 0
    both = [output_of(tmp_path, "trials", "--plan", name, "--format", "json") for name in ("small", "other")]
    small, other = (json.loads(text)["trials"] for text in both)
    assert [trial["id"] for trial in small] == [trial["id"] for trial in other]
    assert [{trial["plan"] for trial in trials} for trials in (small, other)] == [{"small"}, {"other"}]
    assert [trial["jobs"][0]["reference"] is not None for trial in small] == [True] * 4
    assert "small" in output_of(tmp_path, "compare", "--by", "variant", "small")
    written = call("report", "small", "-o", "small.html", cwd=tmp_path)
    assert (written.returncode, "small.html: 4 trials" in written.stderr) == (0, True)
    assert len(output_of(tmp_path, "trials").splitlines()) == 6
    nothing = call("trials", "--plan", "small", "--tag", "none", cwd=tmp_path)
    assert (nothing.returncode, "no such trials" in nothing.stderr) == (0, True)


def test_show_gives_every_metric(used: Path) -> None:
    text = output_of(used, "show")
    assert "Jain's fairness index" in text
    assert "12 of 12 chunks complete" in text
    assert "published" in text


def test_compare_tells_better_from_worse(used: Path) -> None:
    text = output_of(used, "compare", "latest~1", "latest")
    assert any(line.startswith("Completion time") and line.endswith("worse") for line in text.splitlines())
    content = json.loads(output_of(used, "compare", "latest~1", "latest", "--format", "json"))
    change = content["jobs"][0]["metrics"]["completion_time_ms"]
    assert change["verdict"] == "worse"
    assert change["ratio"] == pytest.approx(change["second"] / change["first"])
    rows = list(
        csv.DictReader(io.StringIO(output_of(used, "compare", "latest~1", "latest", "--format", "csv")))
    )
    assert rows[0]["metric"] == "completion_time_ms"


@pytest.mark.parametrize("table", ["chunks", "ports", "links", "series", "events", "trials"])
def test_export_gives_the_same_rows_in_every_format(used: Path, tmp_path: Path, table: str) -> None:
    target = tmp_path / f"{table}.parquet"
    output_of(used, "export", "latest", "--table", table, "--format", "parquet", "-o", str(target))
    rows = pq.read_table(target).to_pylist()
    assert json.loads(output_of(used, "export", "latest", "--table", table, "--format", "json")) == rows
    text = output_of(used, "export", "latest", "--table", table)
    read = list(csv.DictReader(io.StringIO(text)))
    assert text.splitlines()[0] == ",".join(pq.read_schema(target).names)
    assert [
        list(map(_value, row.values(), first.values())) for row, first in zip(read, rows, strict=True)
    ] == [list(row.values()) for row in rows]


def _value(cell: str, like: object) -> object:
    """Read a cell as the type of the value that it should hold."""
    return None if cell == "" and like is None else type(like)(cell)  # type: ignore[call-arg]


def test_export_to_a_file_gives_what_goes_to_the_terminal(used: Path, tmp_path: Path) -> None:
    output_of(used, "export", "latest", "--table", "ports", "-o", str(tmp_path / "ports.csv"))
    assert (tmp_path / "ports.csv").read_text() == output_of(used, "export", "latest", "--table", "ports")


def test_version_and_help(tmp_path: Path) -> None:
    assert output_of(tmp_path, "--version").startswith("fabricbench 0.")
    text = output_of(tmp_path, "--help")
    commands = "run plans trials show compare report notebook export capture plan doctor"
    assert all(f" {command} " in text for command in commands.split())


def test_doctor_finds_what_is_needed(used: Path) -> None:
    lines = output_of(used, "doctor").splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["Python", "engine", "workspace"]
    checks = json.loads(output_of(used, "doctor", "--format", "json"))["checks"]
    assert all(check["ok"] for check in checks if check["needed"])


def test_doctor_fails_where_something_needed_is_missing(used: Path) -> None:
    finished = call("doctor", "--workspace", "small.yaml", cwd=used)
    assert finished.returncode == 1
    assert "this is a file" in finished.stdout


@pytest.mark.parametrize("folder", ["/proc/x", "small.yaml/x"])
def test_doctor_tells_that_a_workspace_cannot_be_made(used: Path, folder: str) -> None:
    finished = call("doctor", "--workspace", folder, cwd=used)
    assert finished.returncode == 1
    assert f"{folder} cannot be made: " in finished.stdout


def test_doctor_makes_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/file").write_text("")
    for folder in ("empty", "none", "mine"):
        finished = call("doctor", "--workspace", folder, cwd=tmp_path)
        assert finished.returncode == 0
        assert f"{folder} is made by the first run" in finished.stdout
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["empty", "file", "mine"]


def test_a_table_without_rows_and_a_file_with_another_ending_can_be_exported(used: Path) -> None:
    assert output_of(used, "export", "latest", "--table", "connections").startswith("tcp,")
    assert call("export", "latest", "-o", "table.xls", "--format", "csv", cwd=used).returncode == 0


def test_the_package_is_the_program_as_a_module_too(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "fabricbench"]
    for arguments, status in (["--version"], 0), (["trials"], 2), (["runs"], 2):
        finished = subprocess.run(
            [*program, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        direct = call(*arguments, cwd=tmp_path)
        assert (finished.returncode, finished.stdout, finished.stderr) == (
            status,
            direct.stdout,
            direct.stderr,
        )


def test_a_list_is_kept_as_a_view_and_shown_again(used: Path) -> None:
    kept = call("trials", "--plan", "small", "--sort", "ideal_percent", "--save-view", "mine", cwd=used)
    assert kept.returncode == 0, kept.stderr
    shown = call("trials", "--view", "mine", cwd=used)
    assert shown.stdout == kept.stdout
    listed = call("views", cwd=used).stdout.splitlines()
    assert [line.split(maxsplit=1) for line in listed] == [
        ["view", "trials"],
        ["mine", "plan small; by ideal_percent"],
    ]
    unknown = call("trials", "--view", "min", cwd=used)
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert "did you mean `mine`?" in unknown.stderr
    assert json.loads(call("views", "--format", "json", cwd=used).stdout)[0]["name"] == "mine"
    assert call("views", "delete", "mine", cwd=used).returncode == 0
    none = call("views", cwd=used)
    assert (none.returncode, none.stdout) == (0, "")
