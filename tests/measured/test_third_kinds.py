"""Further inputs of the kinds missed in `third`: other makes, memories, variables, ports and launches."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.measured.pasted.forms import SIZES, Pasted
from tests.measured.printed import flat, nccl, osu
from tests.support.samples import call

from fabricbench.importing import Hardware, Source, Suspect, fabric_of, read_facts, suspects, switch_counters


def logged(host: str, *lines: str, pid: int = 4100) -> str:
    return "\n".join(f"{host}:{pid}:{pid} [0] NCCL INFO {line}" for line in lines)


def using(names: Sequence[str], kind: str = "RoCE") -> str:
    listed = " ".join(f"[{at}]{name}:1/{kind}" for at, name in enumerate(names))
    return f"NET/IB : Using {listed} [RO]; OOB eno1:198.18.0.1<0>"


def channel(number: int, adapter: int, direct: str = "/GDRDMA") -> str:
    return f"Channel {number:02}/0 : 7[7] -> 8[0] [send] via NET/IB/{adapter}{direct}"


def named(text: str, adapters: int | None, gbps: float | None) -> dict[str, int]:
    """Return the causes with their confidence, the likeliest first."""
    return {each.cause: each.confidence for each in reversed(Pasted(text, adapters, gbps, []).causes())}


def first(text: str, adapters: int | None, gbps: float | None) -> Suspect:
    return Pasted(text, adapters, gbps, []).causes()[0]


MIXED = {
    "ionic": ["mlx5_0", "mlx5_1", "ionic_0"],
    "irdma": ["mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3", "irdma0"],
    "efa": ["mlx5_0", "mlx5_1", "efa_0"],
    "one of each": ["mlx5_0", "bnxt_re0"],
    "the first is the odd one": ["bnxt_re0", "mlx5_0", "mlx5_1"],
}


@pytest.mark.parametrize("names", MIXED.values(), ids=MIXED)
@pytest.mark.parametrize("has_table", [False, True])
def test_adapters_of_several_makes_are_mixed(names: Sequence[str], has_table: bool) -> None:
    lines = [using(names), *(channel(at, at, "" if at else "/GDRDMA") for at in range(len(names)))]
    log = "\n".join(logged(host, *lines) for host in ("node-a", "node-b"))
    text = nccl(flat(6.0, SIZES), ranks=16, log=log) if has_table else log
    found = first(text, len(names), 100.0)
    assert (found.cause, found.confidence) == ("mixed-adapters", 2)


@pytest.mark.parametrize(
    "names",
    [["mlx5_0", "mlx5_bond_0"], ["rocep65s0f0", "mlx5_1"], ["bnxt_re0", "bnxt_re1"], ["mlx4_0", "mlx5_0"]],
)
def test_adapters_of_one_make_are_not_mixed(names: Sequence[str]) -> None:
    log = logged("node-a", using(names), channel(0, 0), channel(1, 1))
    assert "mixed-adapters" not in named(log, 2, 100.0)


def test_an_adapter_of_another_make_that_no_channel_uses_is_possible() -> None:
    log = logged("node-a", using(["mlx5_0", "mlx5_1", "bnxt_re0"]), channel(0, 0), channel(1, 1))
    assert named(log, 2, 100.0)["mixed-adapters"] == 1


HOST, DEVICE = [(1 << e, 24000.0) for e in range(18, 23)], [(1 << e, 9000.0) for e in range(18, 23)]


@pytest.mark.parametrize(
    ("slow", "fast"),
    [
        ("$ mpirun -np 2 ./osu_bw -d cuda D D", "$ mpirun -np 2 ./osu_bw -d cuda H H"),
        ("$ srun -N2 -n2 /opt/osu/osu_bw -d rocm D D", "$ srun -N2 -n2 /opt/osu/osu_bw H H"),
        ("$ mpirun -np 2 osu_bw D D | tee d.txt", "$ mpirun -np 2 osu_bw H H | tee h.txt"),
        ("$ mpirun -np 2 osu_bw -m 1024:4194304 D H", "$ mpirun -np 2 osu_bw -m 1024:4194304 H H"),
    ],
)
@pytest.mark.parametrize("is_reversed", [False, True])
def test_buffers_of_gpus_against_those_of_hosts(slow: str, fast: str, is_reversed: bool) -> None:
    tests = [osu(DEVICE, slow, "MPI-CUDA"), osu(HOST, fast, "MPI-CUDA")]
    text = "\n".join(reversed(tests) if is_reversed else tests)
    found = Pasted(text, None, 200.0, []).causes()
    assert [each.cause for each in found[:2]] == ["gpu-memory", "different-settings"]
    assert (found[0].confidence, found[1].confidence) == (2, 1)


def test_buffers_of_hosts_alone_are_not_those_of_gpus() -> None:
    text = osu(DEVICE, "$ mpirun -np 2 osu_bw -d cuda H H", "MPI-CUDA")
    assert "gpu-memory" not in named(text, None, 200.0)


HOSTS = ("node-a", "node-b", "node-c", "node-d")
IB4 = using([f"mlx5_{n}" for n in range(4)])


def variables(*by_host: Sequence[str], prefix: str = "") -> str:
    lines = []
    for host, values in zip(HOSTS, by_host, strict=False):
        texts = [each.replace("=", " set by environment to ") + "." for each in values]
        lines.append(logged(f"{prefix}{host}", IB4, *texts))
    return "\n".join(lines)


DIFFERING = {
    "one without": (["NCCL_IB_TC=106"], ["NCCL_IB_TC=106"], [], ["NCCL_IB_TC=106"]),
    "another value": (
        ["NCCL_IB_GID_INDEX=3"],
        ["NCCL_IB_GID_INDEX=3"],
        ["NCCL_IB_GID_INDEX=1"],
        ["NCCL_IB_GID_INDEX=3"],
    ),
    "one that alone sets it": (
        ["NCCL_IB_GID_INDEX=3"],
        ["NCCL_IB_GID_INDEX=3"],
        ["NCCL_IB_GID_INDEX=3", "NCCL_IB_TC=106"],
        ["NCCL_IB_GID_INDEX=3"],
    ),
    "fewer adapters": tuple([f"NCCL_IB_HCA={'mlx5_0' if at == 2 else 'mlx5_0,mlx5_1'}"] for at in range(4)),
}


@pytest.mark.parametrize("prefix", ["", "[1,0]<stdout>:"])
@pytest.mark.parametrize("by_host", DIFFERING.values(), ids=DIFFERING)
@pytest.mark.parametrize("has_table", [False, True])
def test_a_host_with_other_variables_is_named(
    by_host: Sequence[Sequence[str]], prefix: str, has_table: bool
) -> None:
    log = variables(*by_host, prefix=prefix)
    text = nccl(flat(50.0, SIZES), ranks=32, hosts=HOSTS, log=log) if has_table else log
    found = Pasted(text, 4, 200.0, []).causes()
    said = next(each for each in found if each.cause == "different-settings")
    assert said.confidence == 2
    assert said.sentence.startswith("node-c ran with another NCCL_IB_")
    assert "node-c" in said.evidence[0]


def test_variables_that_hosts_print_by_pdsh() -> None:
    printed = "\n".join(f"{host}: NCCL_IB_TC={0 if host == 'node-b' else 106}" for host in HOSTS)
    text = nccl(flat(50.0, SIZES), ranks=32, hosts=HOSTS, before=printed)
    found = first(text, 4, 200.0)
    assert (found.cause, found.confidence) == ("different-settings", 2)
    assert found.sentence.startswith("node-b ran with another NCCL_IB_TC")


SAME = {
    "all alike": [["NCCL_IB_TC=106"]] * 4,
    "the log of one host alone": [["NCCL_IB_TC=106"], [], [], []],
    "interfaces and files": [
        [f"NCCL_SOCKET_IFNAME=eth{at}", f"NCCL_DEBUG_FILE=/tmp/{at}"] for at in range(4)
    ],
    "as many adapters": [[f"NCCL_IB_HCA=mlx5_{at},mlx5_{at + 1}"] for at in range(4)],
}


@pytest.mark.parametrize("by_host", SAME.values(), ids=SAME)
def test_hosts_with_the_same_variables_are_not_named(by_host: Sequence[Sequence[str]]) -> None:
    text = nccl(flat(50.0, SIZES), ranks=32, hosts=HOSTS, log=variables(*by_host))
    assert "different-settings" not in named(text, 4, 200.0)


def pfc(received: Sequence[int], priority: int = 3) -> str:
    """Return the tables of `show pfc counters` with the frames that each port received."""
    lines = []
    for direction in ("Rx", "Tx"):
        lines += [f"       Port {direction}    " + "    ".join(f"{f'PFC{each}':>12}" for each in range(8))]
        lines += ["-" * 14 + "".join("  " + "-" * 14 for _ in range(8))]
        for at, frames in enumerate(received):
            counts = [0] * 8
            counts[priority] = frames if direction == "Rx" else 7 * at
            cells = "  ".join(f"{f'{count:,}':>14}" for count in counts)
            lines.append(f"{f'Ethernet{8 * at}':>14}  {cells}")
        lines.append("")
    return "\n".join(lines)


def by_counters(tmp_path: Path, after: str, before: str = "", uplinks: Sequence[str] = ()) -> list[Suspect]:
    (tmp_path / "after.txt").write_text(after)
    (tmp_path / "before.txt").write_text(before)
    earlier = [tmp_path / "before.txt"] if before else []
    switches = switch_counters([tmp_path / "after.txt"], earlier)
    look = read_facts(Source("run.txt", nccl(flat(30.0, SIZES)).encode()))
    fabric = fabric_of(look, Hardware(8, 200.0, "the test"), None, None)
    return suspects(look.rule_input(fabric.hardware, fabric.ranges, switches, uplinks))


@pytest.mark.parametrize("has_before", [False, True])
@pytest.mark.parametrize(
    ("received", "priority", "uplinks"),
    [
        ((0, 88_000_000, 0, 12, 0, 0), 3, ()),
        ((0, 0, 0, 0, 410_000), 4, ()),
        ((950_000, 20_000, 10_000, 0), 3, ("Ethernet24",)),
    ],
)
def test_the_port_that_alone_receives_pauses_has_a_slow_host(
    received: Sequence[int], priority: int, uplinks: Sequence[str], has_before: bool, tmp_path: Path
) -> None:
    before = pfc([0] * len(received), priority) if has_before else ""
    found = by_counters(tmp_path, pfc(received, priority), before, uplinks)
    assert [each.cause for each in found[:2]] == ["slow-receiver", "congestion"]
    assert found[0].confidence == 2
    assert f"Ethernet{8 * received.index(max(received))} received" in found[0].evidence[0]


@pytest.mark.parametrize(
    ("received", "uplinks"),
    [
        ((810_000, 790_000, 805_000, 820_000), ()),
        ((810_000, 0, 805_000, 0), ()),
        ((0, 88_000_000, 0, 0), ("Ethernet8",)),
        ((0, 0, 0, 30), ()),
        ((88_000_000, 0), ()),
    ],
)
def test_pauses_of_several_ports_or_of_an_uplink_are_congestion(
    received: Sequence[int], uplinks: Sequence[str], tmp_path: Path
) -> None:
    found = [each.cause for each in by_counters(tmp_path, pfc(received), uplinks=uplinks)]
    assert found[0] == "congestion"
    assert "slow-receiver" not in found


def imb(command: str, rate: float, ranks: int, benchmark: str = "Sendrecv") -> str:
    lines = [f"$ {command}", "#    Intel(R) MPI Benchmarks 2021.7, MPI-1 part", ""]
    lines += [f"# Benchmarking {benchmark}", f"# #processes = {ranks}"]
    lines.append("       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec")
    for exponent in range(18, 23):
        time = (1 << exponent) / rate / 1e3
        both = 2 * (1 << exponent) / float(f"{time:.2f}")
        lines.append(f"{1 << exponent:13} 100 {time:.2f} {time:.2f} {time:.2f} {both:.2f}")
    return "\n".join(lines) + "\n\n# All processes entering MPI_Finalize\n"


FULL = {
    "slots of hosts": ("mpirun -np 64 --host a:32,b:32 --map-by node IMB-MPI1 Sendrecv", 64, 32),
    "ranks of a host": ("mpirun -np 48 -ppn 12 IMB-MPI1 Sendrecv", 48, 12),
    "nodes": ("srun -N 2 -n 32 -m cyclic IMB-MPI1 Sendrecv", 32, 16),
    "nothing": ("mpirun -np 16 --map-by node IMB-MPI1 Sendrecv", 16, 8),
}


@pytest.mark.parametrize(("command", "ranks", "local"), FULL.values(), ids=FULL)
def test_a_port_that_ranks_of_a_host_share_may_be_full(command: str, ranks: int, local: int) -> None:
    found = first(imb(command, 12.0 / local, ranks), 1, 100.0)
    assert (found.cause, found.confidence) == ("as-expected", 1)
    assert f"its {local} ranks share them" in found.sentence
    assert len(Pasted(imb(command, 12.0 / local, ranks), 1, 100.0, []).causes()) == 1


def test_the_hosts_of_a_launch_rule_other_shares_out() -> None:
    found = first(imb("mpirun -np 64 -H a:16,b:16,c:16,d:16 IMB-MPI1 Sendrecv", 12.0 / 32, 64), 1, 100.0)
    assert found.cause == "unexplained"


def test_a_mapping_by_node_is_named() -> None:
    found = first(imb(FULL["slots of hosts"][0], 12.0 / 32, 64), 1, 100.0)
    assert found.evidence[1] == "neighbours are on different hosts by --map-by node"


def test_pairs_of_osu_that_share_a_port() -> None:
    rows = "\n".join(f"{1 << e:<10} {11900.0:12.2f} {11900e6 / (1 << e):14.2f}" for e in range(18, 23))
    text = (
        "$ mpirun -np 16 -H a:8,b:8 osu_mbw_mr\n"
        "# OSU MPI Multiple Bandwidth / Message Rate Test v7.3\n"
        "# [ pairs: 8 ] [ window size: 64 ]\n"
        f"# Size                  MB/s        Messages/s\n{rows}\n"
    )
    found = first(text, 1, 100.0)
    assert (found.cause, found.confidence) == ("as-expected", 1)


@pytest.mark.parametrize("rate", [0.1, 5.0])
def test_without_the_ranks_of_a_host_it_says_what_is_missing(rate: float, tmp_path: Path) -> None:
    (tmp_path / "run.txt").write_text(
        imb("mpirun -np 64 --host a:32,b:32 --map-by core IMB-MPI1 Sendrecv", rate, 64)
    )
    given = ("explain", "run.txt", "--rate", "100Gbps", "--adapters", "1")
    done = call(*given, cwd=tmp_path)
    assert done.returncode == 0
    assert "1. unexplained (possible): what to expect is not known" in done.stdout
    told = json.loads(call(*given, "--format", "json", cwd=tmp_path).stdout)
    assert told["causes"][0]["cause"] == "unexplained"
