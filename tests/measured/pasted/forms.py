"""Forms of outputs that users paste: a case with its expected causes, and parts of logs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.measured.printed import flat, nccl

from fabricbench.importing import Hardware, Source, Suspect, UserFacts, fabric_of, read_facts, suspects
from fabricbench.measured.switches.model import compared
from fabricbench.measured.switches.reading import read


@dataclass(frozen=True)
class Pasted:
    """A text that a user pastes, with the causes that are expected.

    Attributes:
        text: The text.
        adapters: Adapters of a host.
        gbps: Rate of an adapter [Gb/s].
        first: Causes of which one is first.
        in_three: Causes that are all among the first three.
        absent: Causes that the text rules out.
        certain: Causes that may be certain; all others never are.
        counters: Counters after and before the run.
        benchmark: The benchmark, where the text does not say it.
    """

    text: str
    adapters: int | None
    gbps: float | None
    first: Sequence[str]
    in_three: Sequence[str] = ()
    absent: Sequence[str] = ()
    certain: Sequence[str] = ()
    counters: tuple[str, str] = ("", "")
    benchmark: str = ""

    def causes(self) -> list[Suspect]:
        """Return the causes that are named."""
        after, before = self.counters
        switches = [compared(read("after", after.encode()), read("before", before.encode()))] if after else []
        look = read_facts(Source("file", self.text.encode()), user_facts=UserFacts(None, self.benchmark))
        fabric = fabric_of(look, Hardware(self.adapters, self.gbps, "the test"), None, None)
        return suspects(look.rule_input(fabric.hardware, fabric.ranges, switches))


SIZES = tuple(1 << exponent for exponent in range(26, 34))


HEAD = (
    "=== RAS ===\nNCCL version 2.28.3 compiled with CUDA 12.9\n\nJob "
    "summary\n===========\n\nWarnings\n========\n\n"
)


GROUP = "#0-0 (b2d9017ce4f83a60) MISMATCH\n"


def ras(*counts: str) -> str:
    return HEAD + GROUP + "".join(f"  {each}\n" for each in counts)


def rank(number: int, host: int, launched: int | None = None) -> str:
    has = "" if launched is None else f" has launched up to operation {launched}"
    return f"Rank {number}{has} -- GPU {number % 8} managed by process {500 + number} on node 10.0.0.{host}"


def counts(operation: str, *groups: tuple[int, int]) -> list[str]:
    head = f"Communicator ranks have different {operation} operation counts"
    return [head, *(f"{many} ranks have launched up to operation {launched}" for many, launched in groups)]


IB = "node-a:{0}:{0} [{1}] NCCL INFO "


OF_B = "node-b:{0}:{0} [{1}] NCCL INFO "


def using(count: int, kind: str = "IB") -> str:
    ports = " ".join(f"[{n}]mlx5_{n}:1/{kind}" for n in range(count))
    return IB.format(1000, 0) + f"NET/IB : Using {ports} [RO]; OOB eth0:198.18.0.1<0>"


def channels(count: int, sends: str = "/GDRDMA", receives: str = "/GDRDMA", shift: int = 0) -> str:
    lines = [using(count)]
    for number in range(count):
        to = (number + shift) % count
        pair = f"Channel {number:02}/0 : {number}[{number}] -> {8 + to}[{to}]"
        lines.append(IB.format(1000 + number, number) + f"{pair} [send] via NET/IB/{number}{sends}")
        lines.append(OF_B.format(2000 + to, to) + f"{pair} [receive] via NET/IB/{to}{receives}")
    return "\n".join(lines)


IBSTAT = """$ ibstat
CA 'mlx5_0'
\tCA type: MT4123
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 200
CA 'mlx5_1'
\tCA type: MT4123
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 100
"""


MPIRUN = "$ mpirun -np 16 -H node-a:8,node-b:8 {} ./build/all_reduce_perf -b 64M -e 8G -f 2 -g 1"


def both(slow: float, fast: float, first: str, second: str) -> str:
    """Return two runs of nccl-tests with the options of each."""
    return nccl(flat(slow, SIZES), before=MPIRUN.format(first)) + nccl(
        flat(fast, SIZES), before=MPIRUN.format(second)
    )


GUESSES = ("few-adapters", "slower-port", "pcie-slot", "acs")
