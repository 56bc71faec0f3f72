"""Further inputs of the kinds that were missed in `unseen`: other numbers, versions, ports and tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.measured.pasted.forms import IB, SIZES, Pasted
from tests.measured.printed import flat, nccl
from tests.support.samples import call

from fabricbench.measured.errors import MeasuredError
from fabricbench.measured.switches.model import SwitchCounters, compared
from fabricbench.measured.switches.reading import read

PFC_HEAD = (
    "  Port Rx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7\n"
    "---------  ------  ------  ------  ------  ------  ------  ------  ------\n"
)


def direct(version: str, *lines: str, level: str = "") -> str:
    logged = [f"NCCL version {version}+cuda12.2"] if version else []
    logged += [IB.format(1000, 0) + f"NCCL_NET_GDR_LEVEL set by environment to {level}"] if level else []
    logged += [IB.format(1000, 0) + f"GPU Direct RDMA Enabled for {line}" for line in lines]
    logged.append(IB.format(1000, 0) + "Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0/GDRDMA")
    return nccl(flat(7.0, SIZES), ranks=2, log="\n".join(logged), benchmark="sendrecv_perf", version="2.13.9")


def far(text: str) -> int | None:
    """Return the confidence of `far-adapter`, which is before all guesses; none if it is not named."""
    found = Pasted(text, 1, 200.0, ["far-adapter"]).causes()
    if found[0].cause == "far-adapter":
        return found[0].confidence
    assert "far-adapter" not in [each.cause for each in found]
    return None


@pytest.mark.parametrize(
    ("version", "line", "level", "confidence"),
    [
        ("2.19.4", "GPU 0 / HCA 0 (distance 7 <= 7), read 0", "SYS", 2),
        ("2.19.4", "GPU 0 / HCA 0 (distance 7 <= 7), read 1", "", 2),
        ("2.10.3", "GPU 17000 / HCA 0 (distance 6 <= 6), read 0", "", 2),
        ("2.7.8", "GPU 3b000 / HCA 1 (distance 5 <= 5), read 0", "", 2),
        ("2.28.3", "GPU 0/0-17000 / HCA 0 (distance 9 <= 9), read 1 mode Default", "SYS", 2),
        ("", "GPU 0 / HCA 0 (distance 8 <= 8), read 0", "4", 2),
        ("2.19.4", "GPU 0 / HCA 0 (distance 6 <= 6), read 0", "PHB", 1),
        ("2.28.3", "GPU 0 / HCA 0 (distance 8 <= 9), read 0", "SYS", 1),
        ("", "GPU 0 / HCA 0 (distance 7 <= 7), read 0", "", 1),
        ("2.28.3", "GPU 0 / HCA 0 (distance 8 <= 8), read 0", "", 1),
        ("2.19.4", "GPU 0 / HCA 0 (distance 4 <= 7), read 0", "SYS", None),
        ("2.28.3", "GPU 0 / HCA 0 (distance 7 <= 7), read 1", "", None),
        ("2.28.3", "GPU 0 / HCA 0 (distance 5 <= 5), read 1", "", None),
        ("", "GPU 0 / HCA 0 (distance 4 <= 4), read 0", "", None),
    ],
)
def test_the_number_of_a_path_is_one_of_its_version(
    version: str, line: str, level: str, confidence: int | None
) -> None:
    assert far(direct(version, line, level=level)) == confidence


def test_the_nearest_adapter_of_each_gpu_counts() -> None:
    near = "GPU 0 / HCA 0 (distance 3 <= 7), read 0"
    assert far(direct("2.19.4", "GPU 0 / HCA 1 (distance 7 <= 7), read 0", near)) is None
    assert far(direct("2.19.4", near, "GPU 1 / HCA 0 (distance 7 <= 7), read 0")) == 2


QUEUES = (
    "     Port    TxQ    Counter/pkts    Counter/bytes    Drop/pkts    Drop/bytes\n"
    "---------  -----  --------------  ---------------  -----------  ------------\n"
    "Ethernet0    UC2             100           40,000            0             0\n"
    "{}\n"
    "Ethernet4    UC4             300           80,000            0             0\n"
)


def counters(after: str, before: str | None = None) -> SwitchCounters:
    former = None if before is None else read("before", before.encode())
    return compared(read("after", after.encode()), former)


def values(text: str) -> dict[tuple[str, str], int | float | None]:
    return {(each.place, each.vendor_name): each.value for each in counters(text).changes}


@pytest.mark.parametrize(
    "row",
    [
        "Ethernet0    UC3     889,100,000  3,696,877,800            7            11",
        "Ethernet0    UC3     889,100,000   3,696,877,800            7            11",
        "Ethernet0    UC3     889,100,000  12,003,696,877,800            7            11",
        "Ethernet0    UC3     889,100,000 12,003,696,877,800            7            11",
        "Ethernet100    UC3     889,100,000    3,696,877,800            7            11",
    ],
)
def test_a_cell_may_be_wider_than_its_column(row: str) -> None:
    port, _, packets, size, *_ = row.split()
    found = values(QUEUES.format(row))
    assert found[f"{port}:3", "SAI_QUEUE_STAT_PACKETS"] == int(packets.replace(",", ""))
    assert found[f"{port}:3", "SAI_QUEUE_STAT_BYTES"] == int(size.replace(",", ""))
    assert found[f"{port}:3", "SAI_QUEUE_STAT_DROPPED_PACKETS"] == 7


@pytest.mark.parametrize(
    "row",
    [
        "Ethernet0    UC3     889,100,00012,003,696,877,800            7            11",
        "Ethernet0    UC3     889,100,000  12,003,696,877,800            7",
        "Ethernet0    UC3     889,100,000  12,003,696,877 KB            7",
        "Ethernet0 UC3 889,100,000 12,003,696,877,800 7 11",
        "Ethernet0    UC3     889,100,000  12,003,696,877,800            7            11            9",
    ],
)
def test_a_row_whose_words_may_be_of_another_column_is_refused(row: str) -> None:
    with pytest.raises(MeasuredError, match="in a table of 6 columns"):
        values(QUEUES.format(row))


def queue(name: str, drops: int) -> str:
    return QUEUES.format(f"Ethernet0  {name:>5}  {100:14}  {40_000:15}  {drops:11}  {2000:12}")


PFC_ZERO = PFC_HEAD + "Ethernet0       0       0       0       0       0       0       0       0\n"
GROUPS = (
    "Ingress PG dropped packets:\n     Port    PG0    PG3    PG4\n---------  -----  -----  -----\n"
    "Ethernet0      0      0  {:5}\n"
)


@pytest.mark.parametrize(
    ("after", "before"),
    [
        (queue("UC3", 19_000), queue("UC3", 7)),
        (queue("UC4", 19_000), queue("UC4", 7)),
        (queue("UC4", 900) + PFC_ZERO, queue("UC4", 7) + PFC_ZERO),
        (GROUPS.format(800), GROUPS.format(0)),
    ],
)
def test_drops_of_queues_that_are_lossless_by_default_come_before_congestion(after: str, before: str) -> None:
    case = Pasted(nccl(flat(12.0, SIZES)), 4, 100.0, [], counters=(after, before))
    first, second, *_ = case.causes()
    assert (first.cause, first.confidence) == ("lossless-drops", 1)
    assert "3 and 4 are lossless in SONiC's defaults" in first.evidence[-1]
    assert second.cause == "congestion"


@pytest.mark.parametrize("row", ["UC1", "UC3 and frames of priority 5"])
def test_drops_of_other_queues_are_congestion(row: str) -> None:
    paused = PFC_ZERO.replace("0       0       0\n", "9       0       0\n") if " " in row else ""
    name = row.split(maxsplit=1)[0]
    case = Pasted(
        nccl(flat(12.0, SIZES)), 4, 100.0, [], counters=(queue(name, 900) + paused, queue(name, 7) + PFC_ZERO)
    )
    assert "lossless-drops" not in [each.cause for each in case.causes()]


FEC = (
    "    IFACE    STATE    FEC_CORR    FEC_UNCORR    FEC_SYMBOL_ERR\n"
    "---------  -------  ----------  ------------  ----------------\n"
    "Ethernet0        U         400          {:5}                 0\n"
)


@pytest.mark.parametrize(
    ("text", "cause"),
    [(FEC.format(8000), "link-errors"), (queue("UC3", 900), "lossless-drops"), (PFC_ZERO, "")],
)
@pytest.mark.parametrize("ports", ["Ethernet0", "Ethernet?", "Ethernet{0,4}"])
def test_uplinks_without_bytes_are_a_warning(text: str, cause: str, ports: str, tmp_path: Path) -> None:
    (tmp_path / "run.txt").write_text(nccl(flat(60.0, SIZES)))
    (tmp_path / "after.txt").write_text(text)
    given = ("explain", "run.txt", "--counters", "after.txt", "--uplinks", ports)
    done = call(*given, cwd=tmp_path)
    assert done.returncode == 0
    assert f"--uplinks {ports}: no bytes or packets sent" in done.stdout
    assert cause in done.stdout
    told = json.loads(call(*given, "--format", "json", cwd=tmp_path).stdout)
    assert any(each.startswith(f"--uplinks {ports}: ") for each in told["warnings"])


def test_uplinks_that_no_file_has_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "run.txt").write_text(nccl(flat(60.0, SIZES)))
    (tmp_path / "after.txt").write_text(FEC.format(8000))
    done = call("explain", "run.txt", "--counters", "after.txt", "--uplinks", "Ethernet8", cwd=tmp_path)
    assert done.returncode == 2
    assert "found Ethernet8, and no port of that name" in done.stderr


def rows(out: float, inside: float) -> Sequence[tuple[int, float, float]]:
    return [(size, out, inside) for size in SIZES]


@pytest.mark.parametrize(
    ("out", "inside", "confidence"),
    [(188.0, 341.0, 2), (341.0, 188.0, 2), (90.0, 300.0, 2), (250.0, 340.0, 2), (100.0, 130.0, 1)],
)
def test_a_placement_that_lacks_most_is_likely_and_first(out: float, inside: float, confidence: int) -> None:
    found = Pasted(nccl(rows(out, inside), ranks=32, benchmark="all_gather_perf"), 8, 400.0, []).causes()
    place = next(at for at, each in enumerate(found) if each.cause == "placement")
    assert found[place].confidence == confidence
    assert (place == 0) == (confidence == 2)
