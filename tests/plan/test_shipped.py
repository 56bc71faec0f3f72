"""Every shipped plan loads, and every shipped table of published results can be read."""

import csv
from pathlib import Path

import pytest

from fabricbench.plan.document.published import PublishedTable, read_published
from fabricbench.plan.document.shipped import find_plan, find_published, published_tables, shipped_plans
from fabricbench.plan.errors import PlanError
from fabricbench.plan.load import load_plan
from fabricbench.work import collective_of, pattern_of

GB = 2**30
KEYS = "columns with data_size_bytes or message_size_bytes"


@pytest.mark.parametrize("name", shipped_plans())
def test_every_shipped_plan_can_be_carried_out_and_has_a_quick_form(name: str) -> None:
    loaded = load_plan(name)
    assert loaded.plan.name == name
    assert loaded.plan.title
    assert loaded.plan.description
    assert len({trial.spec_json for trial in loaded.trials}) == len(loaded.trials) > 0
    quick = load_plan(name, quick=True)
    hops = [[each["packet_hops"] for each in one.estimates if each is not None] for one in (quick, loaded)]
    assert sum(hops[0]) <= sum(hops[1])
    # Criteria are not judged at quick sizes.
    changed = [each for each in quick.overrides if each != "criteria=[]"]
    assert changed == [] if name == "imb-link-failure" else changed != []


@pytest.mark.parametrize(
    ("name", "hosts", "algorithm", "sizes"),
    [
        ("jct-allreduce-ring", [0, 1, 6, 7], "ring", [16 * 2**20 << step for step in range(10)]),
        ("jct-alltoall", list(range(8)), "parallel", [16 * 2**20 << step for step in range(10)]),
        ("jct-allreduce-200gb", list(range(8)), "ring", [200 * GB]),
    ],
)
def test_the_completion_time_plans_test_what_was_published(
    name: str, hosts: list[int], algorithm: str, sizes: list[int]
) -> None:
    loaded = load_plan(name)
    assert [trial.data_size_bytes for trial in loaded.trials] == sizes
    assert loaded.variants[0].published is not None
    assert sorted(loaded.variants[0].published.rows) == sizes
    for trial in loaded.trials:
        (job,) = trial.run_spec["jobs"]
        assert (job["hosts"], pattern_of(job)["algorithm"], collective_of(job)["step_overhead_ps"]) == (
            hosts,
            algorithm,
            0,
        )
        assert trial.run_spec["transport"]["ack_every"] == 2


@pytest.mark.parametrize("name", published_tables())
def test_every_published_table_is_whole(name: str) -> None:
    path = published_tables()[name]
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    expected = list(csv.DictReader(lines))
    variants = {row.get("variant", ""): read_published(path, row.get("variant", "")) for row in expected}
    sources = ("Keysight", "University of Trento", "openfabric-systems", "Juniper")
    assert all(table.source.startswith(sources) for table in variants.values())
    assert sum(len(table.rows) for table in variants.values()) == len(expected) > 0
    for row in expected:
        table = variants[row.pop("variant", "")]
        size = int(row.pop(next(iter(row))))
        assert table.rows[size] == {column: float(cell) for column, cell in row.items()}


def test_published_values_are_found_by_size_and_column() -> None:
    table = read_published(published_tables()["keysight_jct2_alltoall.csv"])
    assert table.value(8 * GB, "ideal_percent") == 98.72
    assert table.value(8 * GB, "max_fct_ms") is None
    assert table.value(7 * GB, "ideal_percent") is None


def test_an_empty_cell_was_not_published(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("# one\n#two\n\ndata_size_bytes,a,b\n1,,2\n", encoding="utf-8")
    assert read_published(path) == PublishedTable("t.csv", "one\ntwo", "data", {1: {"b": 2.0}})


def test_rows_of_a_variant_stand_beside_it_alone(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("variant,data_size_bytes,goodput_gbps\nfast,1024,5\n", encoding="utf-8")
    plan = (
        "fabricbench: 1\nname: p\nfabric: {topology: {kind: single-switch, hosts: 2}}\n"
        "jobs: [{collective: all-to-all}]\nsweep: {data_size: 1KB}\npublished: t.csv\n"
        "variants: [{name: slow}, {name: FAST, set: {transport.mtu: 1024}}]\n"
    )
    (tmp_path / "p.yaml").write_text(plan.replace("FAST", "fast"), encoding="utf-8")
    slow, fast = load_plan(str(tmp_path / "p.yaml")).variants
    assert slow.published is None
    assert fast.published is not None
    assert fast.published.rows == {1024: {"goodput_gbps": 5.0}}
    (tmp_path / "p.yaml").write_text(plan.replace("FAST", "fsat"), encoding="utf-8")
    with pytest.raises(PlanError, match='with rows of variant "fast"; allowed: rows of slow, fsat'):
        load_plan(str(tmp_path / "p.yaml"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", f":1: found the columns none; allowed: {KEYS}"),
        ("# x\nsize,a\n1,2\n", f":2: found the columns size, a; allowed: {KEYS}"),
        ("data_size_bytes,a\n1,2\n1\n", ':3: found "1"; allowed: 2 finite numbers'),
        ("data_size_bytes,a\n1,x\n", ':2: found "1,x"; allowed: 2 finite numbers'),
        ("data_size_bytes,a\n,2\n", ':2: found ",2"; allowed: 2 finite numbers'),
        ("data_size_bytes,a\ninf,2\n", ':2: found "inf,2"; allowed: 2 finite numbers'),
        ("data_size_bytes,a\n1,nan\n", ':2: found "1,nan"; allowed: 2 finite numbers'),
        ("data_size_bytes,a\n-1,2\n", ':2: found "-1,2"; allowed: 2 finite numbers'),
        ("# s\ndata_size_bytes,a,a\n1,2,3\n", ':2: found the column "a" again; allowed: each column once'),
        ("data_size_bytes,a\n1.5,2\n", ':2: found "1.5,2"; allowed: 2 finite numbers'),
        ("data_size_bytes,a\n1,2\n1,3\n", ':3: found the size 1 again; allowed: each size once'),
    ],
)  # fmt: skip
def test_a_broken_table_is_named_with_its_line(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PlanError) as caught:
        read_published(path)
    assert str(caught.value) == f"error: {path}{expected}"


def test_a_table_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xff")
    for unreadable in (path, tmp_path):
        with pytest.raises(PlanError, match="found a table that cannot be read: "):
            read_published(unreadable)


def test_a_shipped_name_comes_before_a_file_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jct-alltoall").write_text("not this one", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert find_plan("jct-alltoall") == (shipped_plans()["jct-alltoall"], "jct-alltoall")
    assert find_plan("./jct-alltoall") == (Path("jct-alltoall"), "./jct-alltoall")


def test_a_table_next_to_the_plan_comes_before_a_shipped_one(tmp_path: Path) -> None:
    name = "keysight_jct2_alltoall.csv"
    assert find_published(name, tmp_path / "plan.yaml") == published_tables()[name]
    (tmp_path / name).write_text("", encoding="utf-8")
    assert find_published(name, tmp_path / "plan.yaml") == tmp_path / name
    assert find_published("absent.csv", tmp_path / "plan.yaml") is None
