"""Outputs with a known cause: those of `diagnosed` and others of the same kinds.

The files of `diagnosed` have the form and the ratios of public outputs, with neutral names. Expected causes
were fixed before the rules ran on them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.measured.printed import flat, nccl, osu, perftest

from fabricbench.importing import (
    AS_EXPECTED,
    FileFacts,
    Hardware,
    MeasuredError,
    Source,
    Suspect,
    UserFacts,
    fabric_of,
    read_facts,
    suspects,
)
from fabricbench.measured.reading import read

CASES = Path(__file__).parent / "diagnosed"


def hardware(adapters: int | None = None, gbps: float | None = None) -> Hardware:
    return Hardware(adapters, gbps, "the test")


def looked(text: str | bytes, given: UserFacts | None = None) -> FileFacts:
    return read_facts(Source("file", text.encode() if isinstance(text, str) else text), user_facts=given)


def explained(text: str | bytes, known: Hardware, given: UserFacts | None = None) -> list[Suspect]:
    found = looked(text, given)
    fabric = fabric_of(found, known, None, None)
    return suspects(found.rule_input(fabric.hardware, fabric.ranges))


@dataclass(frozen=True)
class Known:
    """An output and its cause.

    Attributes:
        text: The output, or the name of a file of `diagnosed`.
        hardware: What hosts have.
        cause: The cause that is first.
        most: The most confidence that it may have; 3 is certain.
        never: Causes that the output rules out.
        words: What sentence, evidence or test of the cause say.
        given: What the output does not say.
    """

    text: str
    hardware: Hardware
    cause: str
    most: int = 2
    never: tuple[str, ...] = ()
    words: str = ""
    given: UserFacts = field(default_factory=UserFacts)

    @property
    def data(self) -> bytes:
        return self.text.encode() if "\n" in self.text else (CASES / self.text).read_bytes()


FILES = {
    "log with one adapter in use": Known(
        "nccl-one-adapter-log.txt", hardware(None, 400.0), "few-adapters", 2, (), "via NET/IB/0"
    ),
    "one of four by ratio": Known(
        "nccl-one-adapter-table.txt", hardware(4, 400.0), "few-adapters", 1, ("slower-port",), "1 of 4"
    ),
    "collapse": Known(
        "nccl-collapse.txt",
        hardware(8, 200.0),
        "congestion",
        1,
        ("sizes-too-small", "sockets", "few-adapters"),
    ),
    "TCP by ratio": Known(
        "nccl-tcp-by-ratio.txt", hardware(4, 200.0), "sockets", 1, ("sizes-too-small",), "50.6 us"
    ),
    "TCP by ratio, OSU": Known(
        "osu-bw.txt", hardware(None, 200.0), "sockets", 1, ("sizes-too-small",), "ucx"
    ),
    "spray and go-back-n": Known(
        "nccl-spray-go-back-n.txt", hardware(8, 400.0), "few-adapters", 1, ("placement", AS_EXPECTED)
    ),
    "mixed link layers": Known(
        "nccl-log-mixed-layers.log",
        hardware(),
        "mixed-adapters",
        2,
        ("bond-one-port",),
        "NCCL_IB_HCA=^mlx5_bond_0",
    ),
    "one line of sockets": Known("nccl-log-socket-line.log", hardware(), "sockets", 3),
    "port error": Known("nccl-log-port-error.log", hardware(), "link-errors", 2),
    "completion in a table": Known(
        "nccl-hex-in-table.txt", hardware(), "run-failed", 3, (), "may not read or write"
    ),
    "slot and MTU": Known(
        "perftest-mtu-and-slot.txt", hardware(None, 200.0), "pcie-slot", 1, ("slower-port",), "Gen5 x4"
    ),
    "GPU memory": Known("perftest-gpu-memory.txt", hardware(None, 400.0), "gpu-memory", 2, (), "host memory"),
}

IB = "node-a:{}:9 [0] NCCL INFO "
EIGHT = (
    "NET/IB : Using " + " ".join(f"[{n}]mlx5_{n}:1/RoCE" for n in range(8)) + " [RO]; OOB eth0:198.18.0.1<0>"
)
RISING = [(1 << exponent, 2.0 ** (exponent - 16), 2.0 ** (exponent - 16)) for exponent in range(13, 21)]
SMALL = [(8, 0.0002, 0.0002), (1024, 0.02, 0.02)]


def channels(*numbers: int, name: str = "IB", count: int = 8) -> str:
    """Return the channels of the 8 ranks of a host, each with a process of its own."""
    lines = [
        IB.format(1000 + rank)
        + f"Channel {rank:02}/0 : {rank}[{rank}] -> {rank + 8}[{rank}] [send] via "
        + f"NET/{name}/{numbers[rank % len(numbers)]}/GDRDMA"
        for rank in range(count)
    ]
    return "\n".join([IB.format(1000) + EIGHT, *lines])


def small(time_us: float, ranks: int = 16) -> list[tuple[int, float, float]]:
    bus = 2 * (ranks - 1) / ranks * 8192 / time_us / 1e3
    return [(8192 // 8, bus / 8, bus / 8)]


IMB = """# Benchmarking Allreduce
# #processes = 16
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
      1048576          640       200.00       220.00       210.00
      2097152          320       280.00       300.00       290.00
      4194304          160       420.00       440.00       430.00
"""
OSU_ALLREDUCE = """$ mpirun -np 16 {} osu_allreduce
# OSU MPI Allreduce Latency Test v7.3
# Size       Avg Latency(us)
262144                  {:.2f}
1048576                 {:.2f}
4194304                 {:.2f}
"""
REPEATED = [(1 << 30, rate, rate) for rate in (300.0, 150.0, 290.0, 155.0, 310.0)]
FALLING = [(1 << 20, 50.0, 50.0), (1 << 26, 180.0, 181.0), (1 << 28, 60.0, 62.0), (1 << 30, 31.0, 30.0)]
SCATTER = [
    (4 << 20, 20.0, 60.0),
    (16 << 20, 120.0, 30.0),
    (64 << 20, 150.0, 60.0),
    (1 << 30, 188.0, 186.0),
    (1 << 32, 190.0, 190.0),
]
WRONG = nccl(flat(385.0)).replace(" 0\n#", " 12\n#")
TORN = nccl(flat(150.0), log=IB.format(1000) + "Channel 00/0 : 1[1] -> 8[0] [receive] via NET/Socket/0")

OWN = {
    # Adapters, by the log and by ratio
    "log, one of eight": Known(
        nccl(flat(48.5), log=channels(0)), hardware(8, 400.0), "few-adapters", 2, (), "1 of 8"
    ),
    "log, two of eight of a plug-in": Known(
        nccl(flat(96.0), log=channels(1, 3, name="AWS Libfabric")),
        hardware(8, 400.0),
        "few-adapters",
        2,
        (),
        "2 of 8",
    ),
    "log, one process of a host": Known(
        nccl(flat(48.5), log=channels(0, count=1)), hardware(8, 400.0), "few-adapters", 1
    ),
    "ratio, one of two": Known(nccl(flat(24.0), ranks=4), hardware(2, 200.0), "few-adapters", 1),
    "ratio, two of eight": Known(nccl(flat(97.0)), hardware(8, 400.0), "few-adapters", 1),
    "ratio, seven of eight": Known(nccl(flat(170.0)), hardware(8, 200.0), "few-adapters", 1, (AS_EXPECTED,)),
    "two rates": Known(
        nccl(
            flat(110.0),
            log=IB.format(1)
            + "NET/IB : Using "
            + " ".join(
                f"[{n}]mlx5_{n}:1/RoCE provider=Mlx5 speed={100000 if n == 4 else 400000} pciPath=/sys"
                for n in range(5)
            )
            + " [RO]; OOB eth0:198.18.0.1<0>",
        ),
        hardware(None, 400.0),
        "mixed-adapters",
        2,
        (),
        "NCCL_IB_HCA=^mlx5_4",
    ),
    "InfiniBand among RoCE": Known(
        IB.format(1)
        + "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_2:1/RoCE [2]mlx5_3:1/RoCE [RO]; OOB e0:198.18.0.1<0>\n",
        hardware(),
        "mixed-adapters",
        2,
        (),
        "NCCL_IB_HCA=^mlx5_0",
    ),
    "bond": Known(
        nccl(
            flat(95.0),
            log=IB.format(1)
            + "NET/IB : Using "
            + " ".join(f"[{n}]mlx5_bond_{n}:1/RoCE" for n in range(4))
            + " [RO]; OOB e0:198.18.0.1<0>",
        ),
        hardware(4, 400.0),
        "bond-one-port",
    ),
    "port of 100 of 200": Known(
        perftest([(65536, 97.6)], queue_pairs=4), hardware(None, 200.0), "slower-port", 1
    ),
    "port of 100 of 200, OSU": Known(
        osu([(65536, 11900.0), (1 << 20, 12100.0), (4 << 20, 12150.0)]),
        hardware(None, 200.0),
        "slower-port",
        1,
        ("sockets", "sizes-too-small"),
    ),
    # TCP
    "TCP, 8 x 200": Known(
        nccl([*small(70.0), *flat(3.0)]), hardware(8, 200.0), "sockets", 1, ("sizes-too-small",)
    ),
    "TCP by Open MPI": Known(
        OSU_ALLREDUCE.format("--mca btl tcp,self", 900.0, 3000.0, 11000.0),
        hardware(1, 200.0),
        "sockets",
        3,
        (),
        "btl",
    ),
    "TCP by UCX": Known(
        osu([(1 << 20, 2900.0), (4 << 20, 2950.0)], before="$ mpirun -np 2 -x UCX_TLS=tcp,self osu_bw"),
        hardware(None, 100.0),
        "sockets",
        3,
        (),
        "UCX_TLS",
    ),
    "TCP, no device": Known(
        nccl(
            flat(6.0),
            log=IB.format(1)
            + "NET/IB : No device found.\n"
            + IB.format(1)
            + "NET/Socket : Using [0]eth0:198.18.0.1<0>",
        ),
        hardware(8, 400.0),
        "sockets",
        3,
    ),
    # Host
    "slot Gen3 x16": Known(
        perftest([(1 << 20, 108.0)], queue_pairs=4), hardware(None, 200.0), "pcie-slot", 1, ("slower-port",)
    ),
    "slot, MTU 1024 rules out a port": Known(
        perftest([(65536, 189.0)], mtu=1024, queue_pairs=4),
        hardware(None, 400.0),
        "pcie-slot",
        1,
        ("slower-port",),
        "Gen4 x16",
    ),
    "MTU 512": Known(
        perftest([(65536, 171.0)], mtu=512, queue_pairs=4), hardware(None, 200.0), "small-mtu", 2
    ),
    "GPU memory of ROCm": Known(
        perftest(
            [(16384, 60.0), (65536, 61.0), (1 << 20, 61.0)],
            before="$ ib_write_bw -d mlx5_0 --use_rocm=0 10.0.0.1",
        ),
        hardware(None, 200.0),
        "gpu-memory",
        2,
    ),
    "GPU memory of CUDA": Known(
        perftest(
            [(65536, 140.0), (1 << 20, 141.0)],
            before="initializing CUDA\nallocated GPU buffer of a 131072 address at 0x7",
        ),
        hardware(None, 400.0),
        "gpu-memory",
        2,
    ),
    "path over processors": Known(
        nccl(
            flat(110.0),
            log=IB.format(1)
            + "Pattern 4, crossNic 0, nChannels 8, bw 12.0/12.0, type NVL/SYS, sameChannels 1",
        ),
        hardware(8, 400.0),
        "far-adapter",
    ),
    "ACS": Known(
        nccl(
            flat(150.0),
            before="\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl-",
        ),
        hardware(8, 400.0),
        "acs",
    ),
    "GPU Direct RDMA off": Known(
        nccl(flat(110.0), log=IB.format(1) + "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'"),
        hardware(8, 400.0),
        "gpu-direct-off",
        3,
    ),
    "a protocol for latency": Known(
        nccl(flat(60.0), before="$ mpirun -np 16 -x NCCL_PROTO=LL ./all_reduce_perf -b 256M -e 1G"),
        hardware(8, 200.0),
        "forced-choice",
        2,
        (),
        "NCCL_PROTO=LL",
    ),
    # Curves
    "sizes end at 1 MB": Known(nccl(RISING), hardware(8, 400.0), "sizes-too-small", 2, (), "-e 8G"),
    "sizes end at 4 MB, IMB": Known(IMB, hardware(8, 400.0), "sizes-too-small", 2, (), "-msglog"),
    "sizes end at 4 MB, OSU": Known(
        OSU_ALLREDUCE.format("", 60.0, 110.0, 200.0),
        hardware(8, 400.0),
        "sizes-too-small",
        2,
        (),
        "-m 67108864",
    ),
    "fall": Known(
        nccl(FALLING), hardware(8, 200.0), "congestion", 1, ("sizes-too-small", "pcie-slot", "few-adapters")
    ),
    "fall, perftest": Known(
        perftest([(4096, 90.0), (65536, 190.0), (1 << 20, 191.0), (8 << 20, 60.0)], queue_pairs=4),
        hardware(None, 200.0),
        "congestion",
        1,
        (AS_EXPECTED, "slower-port"),
    ),
    "fast and slow in turn": Known(nccl(REPEATED), hardware(8, 400.0), "collisions", 2, (AS_EXPECTED,)),
    "scatter with adaptive routing": Known(
        nccl(
            SCATTER,
            before="$ mpirun -np 16 -x NCCL_IB_ADAPTIVE_ROUTING=1 -x NCCL_IB_OOO_RQ=0 ./all_reduce_perf",
        ),
        hardware(8, 200.0),
        "reordering",
        2,
        ("placement", AS_EXPECTED),
    ),
    "scatter without adaptive routing": Known(
        nccl(SCATTER), hardware(8, 200.0), "collisions", 1, ("placement", AS_EXPECTED)
    ),
    "two settings": Known(
        nccl(flat(190.0), before="$ mpirun -np 16 -x NCCL_IB_QPS_PER_CONNECTION=1 ./all_reduce_perf")
        + nccl(flat(385.0), before="$ mpirun -np 16 -x NCCL_IB_QPS_PER_CONNECTION=8 ./all_reduce_perf"),
        hardware(8, 400.0),
        "different-settings",
        2,
        ("collisions",),
    ),
    # Logs
    "a link that flaps": Known(
        nccl(flat(230.0), log="node-a:1:1 [3] NCCL WARN NET/IB : mlx5_3:1 Got async event : port error"),
        hardware(8, 400.0),
        "link-errors",
        2,
    ),
    "retries over": Known(
        "2025-11-03 10:00:00 node-b:77:99 [2] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion "
        "from peer 198.18.0.9<4321> with status=12 opcode=0 len=0 vendor err 129 (Recv)\n",
        hardware(),
        "run-failed",
        3,
        (),
        "acknowledged nothing",
    ),
    "a row that is torn, and sockets in the log": Known(
        TORN[: TORN.rindex("1073741824") + 40], hardware(8, 400.0), "sockets", 3
    ),
    "wrong values": Known(WRONG, hardware(8, 400.0), "wrong-values", 3, (AS_EXPECTED,)),
    "several processes alone": Known(
        "# nThread 1 nGpus 1\n#  Rank  0 Pid  1 on node-a device  0 [0x0f] GPU\n# nThread 1 nGpus 1\n"
        "#  Rank  0 Pid  2 on node-b device  0 [0x0f] GPU\n# size count type redop root time algbw busbw "
        "#wrong time algbw busbw #wrong\n1048576 262144 float sum -1 12.0 87.38 0.00 0 12.0 87.38 0.00 0\n",
        hardware(8, 400.0),
        "separate-processes",
        3,
    ),
    "at the line rate": Known(nccl(flat(194.0)), hardware(8, 200.0), AS_EXPECTED, 3),
    "a tree of two hosts": Known(nccl(flat(370.0)), hardware(8, 200.0), "above-line-rate", 2),
}


@pytest.mark.parametrize("name", [*FILES, *OWN])
def test_the_known_cause_is_named_first(name: str) -> None:
    known = (FILES | OWN)[name]
    found = explained(known.data, known.hardware, known.given)
    assert found[0].cause == known.cause
    assert found[0].confidence <= known.most
    assert not {each.cause for each in found} & set(known.never)
    texts = [found[0].sentence, *found[0].evidence, found[0].test]
    assert known.words in " ".join(texts)


def test_no_wrong_cause_is_certain_in_any_of_them() -> None:
    for name, known in (FILES | OWN).items():
        found = explained(known.data, known.hardware, known.given)
        certain = {each.cause for each in found if each.confidence == 3}
        assert certain <= {known.cause}, name


def test_a_variable_that_differs_by_run_counts_for_its_run_alone() -> None:
    slow = nccl(
        SCATTER, before="$ mpirun -np 16 -x NCCL_IB_ADAPTIVE_ROUTING=1 -x NCCL_IB_OOO_RQ=0 ./all_reduce_perf"
    )
    command = "$ mpirun -np 16 -x NCCL_IB_ADAPTIVE_ROUTING=0 ./all_reduce_perf"
    fast = nccl(flat(194.0, [size for size, *_ in SCATTER]), before=command)
    for text in (slow + fast, fast + slow):
        found = {each.cause: each for each in explained(text, hardware(8, 200.0))}
        assert "reordering" in found
        assert "different-settings" in found
        assert "collisions" not in found


def test_several_runs_are_no_processes_that_measured_alone() -> None:
    log = "node-a:{0}:{0} [0] NCCL INFO comm 0x{0} rank 0 nranks 16 cudaDev 0 busId 3000 - Init COMPLETE"
    foot = "# Avg bus bandwidth    : 190.0\n"
    pids = [nccl(flat(190.0), log=log.format(pid)).replace("Pid 1000", f"Pid {pid}") + foot for pid in (7, 8)]
    others = nccl(flat(190.0), hosts=("node-c", "node-d")).replace("Pid 1000", "Pid 9") + foot
    for text in ("".join(pids), pids[0] + others):
        found = explained(text, hardware(8, 400.0))
        assert "separate-processes" not in {each.cause for each in found}
        case = looked(text).rule_input(hardware(8, 400.0), {})
        assert (case.nodes, case.local_ranks) == (2, 8)


def test_the_log_of_another_run_says_nothing_of_the_judged_one() -> None:
    by_sockets = IB.format(1000) + "Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0"
    by_rdma = IB.format(1000) + "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA"
    command = "$ mpirun -np 16 -x NCCL_IB_DISABLE={} ./all_reduce_perf"
    slow = nccl(flat(4.0), before=command.format(1), log=by_sockets)
    fast = nccl(flat(190.0), before=command.format(0), log=by_rdma)
    for text in (slow + fast, fast + slow):
        found = explained(text, hardware(8, 400.0))
        assert (found[0].cause, found[0].confidence) == ("sockets", 3)
        assert "different-settings" in {each.cause for each in found}
    # The run by sockets is the faster one here, so its log is not that of the run that is judged.
    odd = nccl(flat(96.0), before=command.format(1), log=by_sockets)
    odd += nccl(flat(50.0), before=command.format(0))
    assert "sockets" not in {each.cause for each in explained(odd, hardware(8, 400.0))}


def test_small_messages_are_no_slower_port() -> None:
    found = explained(perftest([(8, 0.1), (64, 0.9), (512, 7.0)]), hardware(None, 100.0))
    assert [each.cause for each in found] == ["sizes-too-small", "one-queue-pair"]


def test_sockets_are_not_named_where_the_log_has_rdma() -> None:
    log = IB.format(1) + "NET/Socket : Using [0]eth0:198.18.0.1<0>\n" + IB.format(1) + EIGHT
    assert "sockets" not in {each.cause for each in explained(nccl(flat(6.0), log=log), hardware(8, 400.0))}
    other = (
        IB.format(1)
        + "NET/Socket : Using [0]eth0:198.18.0.1<0>\n"
        + IB.format(1)
        + "Using network AWS Libfabric"
    )
    assert "sockets" not in {each.cause for each in explained(nccl(flat(6.0), log=other), hardware(8, 400.0))}


# Part of what is missing: 24.5 - 22.69 of 24.5 - 12.16 GB/s, with 1024 / 1106 of the line rate.
def test_a_cause_says_which_part_it_explains() -> None:
    found = {each.cause: each for each in explained(FILES["slot and MTU"].data, hardware(None, 200.0))}
    assert found["small-mtu"].explains == pytest.approx(
        (24.5 - 24.5 * 1024 / 1106 / 0.98) / (24.5 - 12.16), rel=1e-3
    )
    assert found["small-mtu"].confidence == 1


@pytest.mark.parametrize(
    ("gbps", "mtu", "link", "fitting"),
    [
        (97.3, 1024, "Ethernet", False),  # 100 * 1024 / 1106 = 92.6
        (92.4, 1024, "Ethernet", True),
        (97.3, 4096, "Ethernet", True),
        (97.0, 1024, "IB", True),  # InfiniBand has 30 B of headers: 97.2
        (185.0, 1024, "Ethernet", True),  # of 200
        (189.0, 1024, "Ethernet", False),
        (45.9, 1024, "Ethernet", True),  # of 50
    ],
)
def test_a_port_that_cannot_carry_what_was_measured_is_not_named(
    gbps: float, mtu: int, link: str, fitting: bool
) -> None:
    text = perftest([(65536, gbps)], mtu=mtu, link=link, queue_pairs=4)
    found = {each.cause for each in explained(text, hardware(None, 400.0))}
    assert ("slower-port" in found) == fitting


def test_a_limit_below_the_best_of_any_size_is_not_named() -> None:
    rows = [(1 << 20, 150.0, 150.0), (1 << 28, 97.0, 97.0), (1 << 30, 130.0, 130.0)]
    found = {each.cause for each in explained(nccl(rows), hardware(8, 200.0))}
    assert not {"few-adapters", "slower-port"} & found


@pytest.mark.parametrize(
    "line",
    [
        "node-a:1:1 [0] NCCL INFO Bootstrap: Using eth0:198.18.0.1<0>",
        "[2025-11-03 10:00:00] node-a:1:1 [0] misc/socket.cc:9 NCCL WARN socketProgress: Connection closed",
        "node-a: NCCL INFO cudaDriverVersion 12080",
        "node-a:1:1 [0] RCCL INFO RCCL version : 2.22.3",
    ],
)
def test_any_line_of_the_log_makes_a_log(line: str) -> None:
    found = looked(line + "\n")
    assert (found.format, found.points) == ("nccl-debug", [])


def test_what_is_neither_table_nor_log_is_refused() -> None:
    with pytest.raises(MeasuredError):
        looked("We run NCCL here.\nIt is slow.\n")


BROKEN = {
    "a row that is cut off": nccl(flat(150.0))[:-60] + "\n# Out of bounds values : 0 OK\n",
    "a word in a row": nccl(flat(150.0)).replace("536870912 134217728 float", "536870912 x134217728 float"),
    "bandwidth of others": nccl(flat(150.0)).replace("150.00 0", "90.00 0"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_table_that_cannot_be_read_does_not_silence_the_log(name: str) -> None:
    log = IB.format(1) + "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'\n"
    found = looked(log + BROKEN[name])
    assert any("no table that can be read" in each for each in found.warnings)
    assert suspects(found.rule_input(hardware(), {}))[0].cause == "gpu-direct-off"
    with pytest.raises(MeasuredError):
        looked(BROKEN[name])
    with pytest.raises(MeasuredError):
        read("file", (log + BROKEN[name]).encode())


def test_a_dump_of_a_completion_ends_a_table_of_perftest() -> None:
    dump = " mlx5: node-b: got completion with error:\n00000000 00000000 00000000 00000000\n"
    whole = perftest([(65536, 97.0)]).rstrip("-\n") + "\n"
    found = looked(whole + dump + dump)
    assert len(found.points) == 1
    assert suspects(found.rule_input(hardware(None, 100.0), {}))[0].cause == "run-failed"


DOTS = ["...", "[...]", "…", "  ...     ...     ...", "....", ". . .", ":", "<snip>", "[ ... ]", "# ..."]


@pytest.mark.parametrize("dots", DOTS)
def test_rows_that_dots_stand_for_are_left_out_with_a_warning(dots: str) -> None:
    texts = {
        "nccl": (CASES / "nccl-elided-rows.txt").read_text().replace("\n...\n", f"\n{dots}\n"),
        "osu": osu([(65536, 9000.0), (1 << 20, 12000.0)]).replace("9000.00\n", f"9000.00\n{dots}\n"),
        "perftest": perftest([(2, 1.0), (65536, 97.0)]).replace("62.500000\n", f"62.500000\n{dots}\n"),
        "imb": IMB.replace("210.00\n", f"210.00\n{dots}\n"),
    }
    for name, text in texts.items():
        reading = read("file", text.encode())
        assert sum(len(table.rows) for table in reading.tables) == {"nccl": 4, "imb": 3}.get(name, 2), name
        assert sum("left out" in each for each in reading.warnings) == 1, name


def test_whole_tables_have_no_warning_of_rows_left_out() -> None:
    for text in (nccl(flat(300.0)), osu([(65536, 9000.0)]), perftest([(65536, 97.0)]), IMB):
        assert not any("left out" in each for each in read("file", text.encode()).warnings)
