"""Sound records of NCCL on servers break no law, and wrong ones break the law about them."""

from __future__ import annotations

import dataclasses
from typing import Any

import pyarrow as pa
import pytest
from tools.swarm.record import Record, run_trial
from tools.swarm.record_laws import registry

from fabricbench.runner import loading
from fabricbench.store.record.schema import schema_of

Changes = dict[str, int]


def record_of(collective: str, algorithm: str = "ring", **job: Any) -> Record:
    """Return the record of a collective that NCCL runs on three servers of two GPUs."""
    plan = {
        "fabricbench": 1,
        "name": "servers",
        "fabric": {"topology": {"kind": "rail-optimised", "servers": 3, "rails": 2, "spines": 1}},
        "jobs": [
            {
                "name": "test",
                "collective": collective,
                "data_size": 600_000,
                "library": {"nccl": {"env": {"NCCL_ALGO": algorithm, "NCCL_PROTO": "Simple"}}},
                **job,
            }
        ],
        "observe": {"chunks": "all"},
    }
    return run_trial(loading.load_fields(plan).trials[0])


def changed(record: Record, **changes: Any) -> Record:
    """Return a record whose last chunk between servers has other values."""
    rows = record.rows("chunks")
    row = next(row for row in reversed(rows) if row["src_host"] != row["dst_host"])
    row.update({name: change(row[name]) for name, change in changes.items()})
    arrow = {**record.arrow, "chunks": pa.Table.from_pylist(rows, schema_of("chunks"))}
    return dataclasses.replace(record, arrow=arrow)


def broken(record: Record) -> set[str]:
    return {violation.rule for violation in registry.violations(record)}


@pytest.mark.parametrize(
    ("collective", "algorithm", "kind"),
    [
        ("all-reduce", "ring", "ring"),
        ("all-reduce", "tree", "tree"),
        ("all-gather", "ring", "ring"),
        ("broadcast", "ring", "ring"),
        ("reduce", "ring", "ring"),
        ("all-to-all", "ring", "peers"),
        ("send-receive", "ring", "peers"),
    ],
)
def test_bytes_between_servers_are_those_of_the_closed_form(
    collective: str, algorithm: str, kind: str
) -> None:
    record = record_of(collective, algorithm, repeat=2, mapping="round-robin")
    assert record.spec["jobs"][0]["work"]["nccl"]["kind"] == kind
    assert broken(record) == set()
    rule = f"bytes between servers = closed form of NCCL's {kind}"
    assert rule in broken(changed(record, payload_bytes=lambda before: before + 10_000))


@pytest.mark.parametrize(
    ("collective", "algorithm"),
    [
        ("all-reduce", "ring"),
        ("all-reduce", "tree"),
        ("all-reduce", "nvls"),
        ("reduce-scatter", "ring"),
        ("reduce-scatter", "nvls"),
        ("broadcast", "ring"),
    ],
)
def test_bytes_of_one_server_are_those_of_the_closed_form(collective: str, algorithm: str) -> None:
    record = record_of(collective, algorithm, ranks="0-1", repeat=2)
    nccl = record.spec["jobs"][0]["work"]["nccl"]
    assert (nccl["kind"], nccl["algorithm"]) == ("one-server", algorithm)
    assert broken(record) == set()
    rows = [row | {"payload_bytes": row["payload_bytes"] + 10_000} for row in record.rows("chunks")]
    arrow = {**record.arrow, "chunks": pa.Table.from_pylist(rows, schema_of("chunks"))}
    rule = f"bytes of one server = closed form of NCCL's {algorithm}"
    assert rule in broken(dataclasses.replace(record, arrow=arrow))


def test_an_adapter_sends_the_data_of_its_channels() -> None:
    record = record_of("all-reduce")
    assert "an adapter sends the data of its channels" in broken(
        changed(record, channel=lambda before: 1 - before)
    )


def test_data_stay_on_their_rail_with_pxn() -> None:
    record = record_of("all-to-all")
    wrong = changed(record, dst_rank=lambda before: before ^ 1)
    assert "with PXN data stay on their rail" in broken(wrong)


@pytest.mark.parametrize("barrier", [False, True])
def test_blocks_pass_the_gpus_of_a_server(barrier: bool) -> None:
    record = record_of("all-reduce", barrier=barrier)
    assert broken(record) == set()
    rule = "a server passes a block on when it has arrived and passed the GPUs"
    assert rule in broken(changed(record, start_ps=lambda _: 0))
