"""Whatever stands in a file of a device, it is read or refused with one clear error, and in seconds.

`FABRICBENCH_DEVICES=2000` damages as many files of each kind; without it there are fewer.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from tests.devices.sonic_files import SMALL, changed, with_pools

from fabricbench.cli.main import run
from fabricbench.plan.devices.read import ReadOptions, read_device
from fabricbench.plan.errors import PlanError
from fabricbench.plan.nccl import Question

SAMPLES = Path(__file__).parent / "samples"
SHIPPED = sorted((Path(__file__).parents[2] / "plans" / "sonic").glob("*.json"))
COUNT = int(os.environ.get("FABRICBENCH_DEVICES", "150"))
SECONDS_MAX = 5.0
VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        -1,
        1.5,
        10**30,
        1e308,
        "",
        " ",
        "0",
        "-1",
        "9" * 40,
        "NULL",
        "3-4",
        "4-3",
        "0-99",
    ),
    *(
        "[BUFFER_PROFILE|pg]",
        "pg",
        "[BUFFER_PROFILE|lost]",
        "lost",
        "egress_lossy_pool",
        "[|]",
        "|",
        "||",
        "[",
        "\u0000",
        "\u202e",
        "x" * 5000,
        [],
        ["3", "4"],
        [3],
        {},
    ),
    *(
        {"": ""},
        {"profile": "pg"},
        {"0": "0"},
        [[[[]]]],
        "Ethernet0",
        "Ethernet0,Ethernet8",
        "²",
        "٣",
        "true",
    ),
)
KEYS = (
    "",
    "|",
    "Ethernet0|3",
    "Ethernet0|3-4",
    "Ethernet0|²",
    "Ethernet99",
    "global",
    "GLOBAL",
    "x" * 300,
    "3",
)
PIECES = (
    b"\x00",
    b"\xff",
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b"<",
    b">",
    b"&",
    b":",
    b"\n",
    b"9" * 50,
    b"\xed\xa0\x80",
    b"- ",
)


def paths_of(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield (*path, key)
            yield from paths_of(value, (*path, key))


def damaged_tables(chance: random.Random) -> bytes:
    """Return the small configuration with some values and keys replaced, removed or added."""
    tables = deepcopy(
        chance.choice(
            (
                SMALL,
                with_pools(),
                changed(("DSCP_TO_TC_MAP/roce", {"26": "3"}), ("SCHEDULER/a", {"weight": "1"})),
            )
        )
    )
    for _ in range(chance.randint(1, 4)):
        paths = list(paths_of(tables))
        if not paths:
            break
        *around, name = chance.choice(paths)
        node = tables
        for part in around:
            node = node[part]
        kind = chance.randrange(4)
        if kind == 0:
            node[name] = deepcopy(chance.choice(VALUES))
        elif kind == 1:
            node[chance.choice(KEYS)] = node.pop(name)
        elif kind == 2:
            node.pop(name)
        else:
            node[chance.choice(KEYS)] = deepcopy(chance.choice(VALUES))
    return json.dumps(tables, indent=chance.choice((None, 1))).encode()


def damaged_bytes(path: Path) -> Callable[[random.Random], bytes]:
    """Return what damages the bytes of a file."""
    content = path.read_bytes()

    def damaged(chance: random.Random) -> bytes:
        data = bytearray(content)
        for _ in range(chance.randint(1, 3)):
            start = chance.randrange(len(data) + 1)
            end = min(len(data), start + chance.choice((0, 1, 8, 200)))
            data[start:end] = chance.choice(PIECES) if chance.random() < 0.7 else bytes(data[end : end + 30])
        return bytes(data) if chance.random() < 0.9 else bytes(data[: chance.randrange(len(data) + 1)])

    return damaged


def reads_or_refuses(path: Path) -> None:
    start = time.process_time()
    try:
        fragment = read_device(path.read_bytes(), "fuzzed", ReadOptions())
        json.dumps(fragment.content)
    except PlanError as error:
        told = str(error)
        assert told.startswith("error: fuzzed")
        assert ": found " in told
        assert told.isprintable() or all(line.isprintable() for line in told.split("\n"))
    assert time.process_time() - start < SECONDS_MAX


@pytest.mark.parametrize("seed", range(COUNT))
def test_damaged_tables_are_read_or_refused(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "fuzzed.json"
    path.write_bytes(damaged_tables(random.Random(seed)))
    reads_or_refuses(path)


@pytest.mark.parametrize(
    "sample", [SAMPLES / "clos.clab.yml", SAMPLES / "dgx.xml", SHIPPED[-1]], ids=lambda path: path.name
)
def test_damaged_bytes_are_read_or_refused(tmp_path: Path, sample: Path) -> None:
    path, damaged = tmp_path / sample.name, damaged_bytes(sample)
    for seed in range(COUNT):
        path.write_bytes(damaged(random.Random(seed)))
        reads_or_refuses(path)


ATTRIBUTES = (
    *(
        "",
        "0",
        "-1",
        "1",
        "7",
        "255",
        "9" * 9,
        "9" * 30,
        "0x1",
        "0xffffffffffffffff",
        "1.5",
        "nan",
        "inf",
        "²",
    ),
    *(
        "arm64",
        "GenuineIntel",
        "0x068000",
        "0x030200",
        "0x060400",
        "0000:07:00.0",
        "2.5 GT/s PCIe",
        "x" * 300,
    ),
)


def damaged_attributes(content: str, chance: random.Random) -> str:
    """Return a topology with some attributes replaced or removed."""
    for _ in range(chance.randint(1, 4)):
        attributes = list(re.finditer(r' (\w+)="([^"]*)"', content))
        match = chance.choice(attributes)
        new = f' {match[1]}="{chance.choice(ATTRIBUTES)}"' if chance.random() < 0.8 else ""
        content = content[: match.start()] + new + content[match.end() :]
    return content


@pytest.mark.parametrize("sample", ["dgx.xml", "cloud.xml"])
def test_damaged_topologies_have_graphs_or_are_refused(tmp_path: Path, sample: str) -> None:
    content, path = (SAMPLES / sample).read_text(), tmp_path / "fuzzed.xml"
    for seed in range(COUNT):
        chance = random.Random(seed)
        path.write_text(damaged_attributes(content, chance))
        server = "dgx-a100" if sample == "cloud.xml" else None
        start = time.process_time()
        with contextlib.suppress(PlanError):
            Question(server, path, chance.randint(1, 3), sizes="8,1GB").answer()
        assert time.process_time() - start < SECONDS_MAX


PLAN = """\
fabricbench: 1
name: fuzzed
fabric:
  topology: {kind: single-switch, hosts: 2}
  switch: {config: fuzzed.json}
jobs: [{collective: all-to-all}]
sweep: {data_size: 1KB}
"""


@pytest.mark.parametrize("seed", range(COUNT // 5))
def test_a_plan_with_a_damaged_file_for_some_switches_is_checked_or_refused(
    tmp_path: Path, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    topology = "{kind: leaf-spine, leaves: 2, hosts_per_leaf: 1, spines: 2}"
    text = PLAN.replace("{kind: single-switch, hosts: 2}", topology)
    files = "{file: {'leaf*': fuzzed.json, 'spine*': other.json}}"
    (tmp_path / "plan.yaml").write_text(text.replace("config: fuzzed.json", f"config: {files}"))
    (tmp_path / "fuzzed.json").write_bytes(damaged_tables(random.Random(seed)))
    (tmp_path / "other.json").write_text(json.dumps(with_pools()))
    status = run(["plan", "check", str(tmp_path / "plan.yaml")])
    told = capsys.readouterr()
    assert status in (0, 2), told.err
    assert "Traceback" not in told.err
    assert (status == 2) == ("error: " in told.err)


@pytest.mark.parametrize("seed", range(COUNT // 5))
def test_a_plan_with_a_damaged_file_is_checked_or_refused(
    tmp_path: Path, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN)
    (tmp_path / "fuzzed.json").write_bytes(damaged_tables(random.Random(seed)))
    status = run(["plan", "check", str(tmp_path / "plan.yaml")])
    told = capsys.readouterr()
    assert status in (0, 2), told.err
    assert "Traceback" not in told.err
    assert (status == 2) == ("error: " in told.err)


@pytest.mark.parametrize(
    "content",
    [
        b'{"PORT": {"' + b",".join(b"Ethernet%d" % each for each in range(100_000)) + b'|3": {}}}',
        json.dumps({"BUFFER_PG": {f"{','.join(map(str, range(90_000)))}|0-7": {}}}).encode(),
        json.dumps({"PORT": {str(each): {"speed": "x"} for each in range(60_000)}}).encode(),
        b'{"PORT": {"a": {"speed": ' + b"[" * 100_000,
        b"<system>" * 100_000,
        b"a: &a [b]\nc: &c [*a, *a]\n" * 2_000,
        b"{" * 1_000_000,
    ],
    ids=range(7),
)
def test_what_is_made_to_be_slow_is_not(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "fuzzed"
    path.write_bytes(content)
    reads_or_refuses(path)
