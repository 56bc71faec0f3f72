"""The rows of a run are handed over in batches of a row group, whatever the simulator collects them in."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from fabricbench import _core
from fabricbench.plan.load import load_plan
from fabricbench.store.record.identity import ROWS_PER_GROUP

PLAN = """
fabricbench: 1
name: pairs
fabric: {topology: {kind: leaf-spine, leaves: 8, hosts_per_leaf: 34, spines: 4}}
jobs: [{name: test, ranks: "0-271", collective: all-to-all}]
sweep: {data_size: [272KB]}
"""
CHUNKS = 272 * 271


def test_each_batch_but_the_last_of_a_table_is_a_row_group(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN)
    planned = load_plan(str(tmp_path / "plan.yaml")).trials[0]
    batches: defaultdict[str, list[pa.RecordBatch]] = defaultdict(list)

    told: Any = _core.run(
        planned.spec_json, on_progress=None, on_batch=lambda table, batch: batches[table].append(batch)
    )

    assert told["jobs"][0]["chunks_complete"] == CHUNKS
    assert [batch.num_rows for batch in batches["chunks"]] == [ROWS_PER_GROUP, CHUNKS - ROWS_PER_GROUP]
    rows = pa.Table.from_batches(batches["chunks"])
    assert rows["completed_ps"].to_pylist() == sorted(rows["completed_ps"].to_pylist())
    assert len(set(zip(rows["src_rank"].to_pylist(), rows["dst_rank"].to_pylist(), strict=True))) == CHUNKS
