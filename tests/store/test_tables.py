"""Parquet tables: the same bytes for the same rows, written while running, and checked columns."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.fake_backend import FakeBackend, batch, chunk_row, port_row
from tests.support.samples import run_spec, run_trial, trial_facts

from fabricbench.store import StoreError, Workspace
from fabricbench.store.record.earlier_versions import LATER_COLUMNS, OF_THE_SIMULATOR
from fabricbench.store.record.identity import ROWS_PER_GROUP
from fabricbench.store.record.schema import RECORD_TABLES, TABLES, RecordSchemaError, conform, schema_of
from fabricbench.store.record.tables import RecordWriter, TableFolder

IN_ANOTHER_PROCESS = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from tests.support.fake_backend import FakeBackend
from tests.support.samples import run_trial, trial_facts
from fabricbench.store import Workspace
run_trial(Workspace.open(Path(sys.argv[2]), create=True), trial_facts(), FakeBackend(copies=200))
"""


def bytes_of_tables(root: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in root.glob("trials/*/*")}


def test_the_same_trial_gives_the_same_bytes_twice_and_in_another_process(tmp_path: Path) -> None:
    for name in ("one", "two"):
        run_trial(Workspace.open(tmp_path / name, create=True), trial_facts(), FakeBackend(copies=200))
    root_folder = Path(__file__).parents[2]
    command = [sys.executable, "-c", IN_ANOTHER_PROCESS, str(root_folder), str(tmp_path / "three")]
    subprocess.run(command, check=True, env=os.environ | {"PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo"})
    first = bytes_of_tables(tmp_path / "one")
    assert sorted(first) == sorted(f"{table}.parquet" for table in TABLES)
    assert bytes_of_tables(tmp_path / "two") == first
    assert bytes_of_tables(tmp_path / "three") == first


def test_another_seed_gives_other_bytes(tmp_path: Path) -> None:
    run_trial(Workspace.open(tmp_path / "one", create=True), trial_facts(), FakeBackend())
    other = trial_facts(run_spec=run_spec(seed=2))
    run_trial(Workspace.open(tmp_path / "two", create=True), other, FakeBackend())
    assert bytes_of_tables(tmp_path / "one") != bytes_of_tables(tmp_path / "two")


def test_the_bytes_do_not_depend_on_how_rows_are_batched(tmp_path: Path) -> None:
    for name, rows in (("one", 7), ("two", 1000)):
        backend = FakeBackend(copies=100, batch_rows=rows)
        run_trial(Workspace.open(tmp_path / name, create=True), trial_facts(), backend)
    assert bytes_of_tables(tmp_path / "one") == bytes_of_tables(tmp_path / "two")


def test_full_row_groups_are_on_their_way_to_the_disk_while_running(tmp_path: Path) -> None:
    writer = RecordWriter(tmp_path / "record", {}, OF_THE_SIMULATOR)
    rows = batch([chunk_row()] * 10_000)
    sizes = []
    for _ in range(14):
        writer.write("chunks", rows)
        writer._thread.finish()
        sizes.append((tmp_path / "record/chunks.parquet").stat().st_size)
    assert sizes[5] == sizes[0]
    assert sizes[6] > sizes[0]
    assert sizes[13] > sizes[6]
    writer.close()
    file = pq.ParquetFile(tmp_path / "record/chunks.parquet")
    groups = [file.metadata.row_group(index).num_rows for index in range(file.num_row_groups)]
    assert groups == [ROWS_PER_GROUP, ROWS_PER_GROUP, 140_000 - 2 * ROWS_PER_GROUP]


def test_a_record_says_what_it_is(tmp_path: Path) -> None:
    workspace = Workspace.open(tmp_path, create=True)
    run_trial(workspace, trial_facts(), FakeBackend())
    for table in TABLES:
        metadata = workspace.find("latest").tables.schema(table).metadata
        assert metadata[b"fabricbench.trial"] == b"0123456789ab"
        assert metadata[b"fabricbench.table"] == table.encode()
        assert b'"seed":1' in metadata[b"fabricbench.run_spec"]


def test_rows_are_put_into_the_order_and_types_of_the_table() -> None:
    row = dict(reversed(port_row("host0", 0, pfc_rx=3).items()))
    rows = pa.RecordBatch.from_pylist([row], schema=None)
    narrow = rows.set_column(
        rows.schema.get_field_index("pfc_rx"), "pfc_rx", rows.column("pfc_rx").cast(pa.uint32())
    )
    assert conform("ports", narrow).schema == schema_of("ports")
    assert conform("ports", narrow).column("pfc_rx").to_pylist() == [3]


@pytest.mark.parametrize(
    ("table", "row", "found"),
    [
        ("nonsense", {}, "none of chunks, chunk_steps"),
        ("events", {"time_ps": 1, "kind": "stalled", "node": "leaf0"}, "missing columns"),
        ("events", {"time_ps": 1, "kind": "x", "node": "y", "detail": "", "why": ""}, "unknown"),
        ("events", {"time_ps": "x", "kind": "x", "node": "y", "detail": ""}, "Failed to parse"),
    ],
)
def test_rows_of_another_shape_are_a_fault_of_the_backend(
    table: str, row: dict[str, object], found: str
) -> None:
    with pytest.raises(RecordSchemaError, match=found):
        conform(table, pa.RecordBatch.from_pylist([row]))


def test_a_counter_beyond_a_signed_64_bit_column_is_refused() -> None:
    rows = batch([port_row("host0", 0)])
    index = rows.schema.get_field_index("tx_bytes")
    huge = rows.set_column(index, "tx_bytes", pa.array([2**63], pa.uint64()))
    with pytest.raises(RecordSchemaError, match="not in range"):
        conform("ports", huge)


def test_columns_are_read_alone_even_from_an_empty_table(tmp_path: Path) -> None:
    writer = RecordWriter(tmp_path / "record", {}, OF_THE_SIMULATOR)
    writer.write("ports", batch([port_row("host0", 0), port_row("leaf0", 1)]))
    writer.close()
    tables = TableFolder(tmp_path / "record")
    assert tables.table("ports", ["tier", "node"]).to_pydict() == {"tier": [0, 1], "node": ["host0", "leaf0"]}
    assert tables.table("events", ["kind"]).column_names == ["kind"]
    assert tables.missing(TABLES) == ["trials"]
    assert tables.missing(RECORD_TABLES) == []


@pytest.mark.parametrize("damage", ["missing", "cut off", "empty", "overwritten"])
def test_a_half_written_record_is_named(tmp_path: Path, damage: str) -> None:
    workspace = Workspace.open(tmp_path, create=True)
    run_trial(workspace, trial_facts(), FakeBackend())
    trial = workspace.find("latest")
    path = trial.tables.path("chunks")
    content = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes({"cut off": content[:-20], "empty": b"", "overwritten": b"x" * 5000}[damage])
    with pytest.raises(StoreError, match=r"this trial's record is (incomplete|damaged)") as caught:
        trial.tables.table("chunks")
    assert caught.value.path == path
    assert "--resume" in caught.value.hint


def test_what_was_not_measured_is_null_and_nothing_else_is(tmp_path: Path) -> None:
    observed = {"chunks": {"at": "endpoint", "unmeasured": ["ecn_ce_rx"]}}
    writer = RecordWriter(tmp_path / "record", {}, observed)
    unmarked = batch([chunk_row(ecn_ce_rx=None)])
    writer.write("chunks", unmarked)
    with pytest.raises(RecordSchemaError, match="a value in column 'ecn_ce_rx', which was not measured"):
        writer.write("chunks", batch([chunk_row(ecn_ce_rx=1)]))
    with pytest.raises(RecordSchemaError, match="null in column 'cnp_tx', which was measured"):
        writer.write("chunks", batch([chunk_row(ecn_ce_rx=None, cnp_tx=None)]))
    with pytest.raises(RecordSchemaError, match="'ports' has rows and is none of those"):
        writer.write("ports", batch([port_row("host0", 0)]))
    writer.close()
    schema = TableFolder(tmp_path / "record").schema("chunks")
    assert [
        field.name
        for field in schema
        if field.nullable and not schema_of("chunks").field(field.name).nullable
    ] == ["ecn_ce_rx"]


@pytest.mark.parametrize("is_counted", [True, False])
def test_columns_that_came_later_are_0_in_earlier_records(tmp_path: Path, *, is_counted: bool) -> None:
    rows = conform("ports", batch([port_row("leaf0", 1), port_row("leaf0", 1)]))
    nullable = pa.schema([field.with_nullable(field.nullable or not is_counted) for field in rows.schema])
    earlier = pa.table(rows.columns, schema=nullable).drop_columns(list(LATER_COLUMNS["ports"]))
    pq.write_table(earlier, tmp_path / "ports.parquet")
    tables = TableFolder(tmp_path)
    assert set(tables.schema("ports").names) == {each.name for each in schema_of("ports")}
    whole = tables.table("ports")
    expected = [0 if is_counted else None] * 2
    assert all(whole[name].to_pylist() == expected for name in LATER_COLUMNS["ports"])
    assert whole["tx_bytes"].to_pylist() == rows["tx_bytes"].to_pylist()
    some = ["dropped_wred_frames", "node"]
    assert (
        tables.table("ports", some).to_pylist()
        == [{some[0]: expected[0], some[1]: rows["node"][0].as_py()}] * 2
    )
    assert tables.table("ports", some[:1]).to_pylist() == [{some[0]: expected[0]}] * 2
