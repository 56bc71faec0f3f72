"""Rule `shared_adapters`: MPI ranks may share full adapters, if the number of ranks per host is unknown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from fabricbench.measured.causes.evidence import AS_EXPECTED, POSSIBLE, Suspect, is_mpi
from fabricbench.measured.rule_input import Point, RuleInput

_FULL: Final = 0.85
"""Fraction of the payload rate at which adapters are full: MPI has headers, and rates use the mean time."""
_ABOVE: Final = 1.02
_NODES: Final = re.compile(r"\bsrun\b.*?\s(?:-N ?|--nodes[ =])(\d{1,4})\b")
_HOSTS: Final = re.compile(r"(?:^|\s)(?:-H|--host|-host|-hosts)[ =](\S+)")
_EACH: Final = re.compile(
    r"(?:^|\s)(?:-N|--?npernode|-ppn|-perhost|--ntasks-per-node|--map-by ppr:)[ =:]?(\d{1,4})(?::node)?\b"
)
_BY_NODE: Final = re.compile(
    r"--map-by node|-bynode|--rank-by node|--distribution[ =]cyclic|\s-m[ =]cyclic|\s-rr\b"
)


def shared_adapters(case: RuleInput) -> Iterator[Suspect]:
    """Adapters that are full if all ranks of a host send to other hosts; else no expected rate is known."""
    best, plateau, rate = case.best, case.plateau, case.line_rate
    if not _is_unknown(case) or best is None or plateau is None or rate is None:
        return
    yield _full_port(case, best, plateau, rate) or _unknown_share(best, plateau, rate)


def _full_port(case: RuleInput, best: Point, plateau: float, rate: float) -> Suspect | None:
    for local in _ranks_of_hosts(case):
        fraction = (best.ranks - local) / (best.ranks - 1) if best.kind == "alltoall" else 1.0
        carried = local * fraction * plateau
        if _FULL * rate * case.payload_share <= carried <= _ABOVE * rate:
            by_node = _BY_NODE.search(_launch(case))
            return Suspect(
                AS_EXPECTED,
                f"the adapters of a host are full if its {local} ranks share them and all send beyond it",
                POSSIBLE,
                [
                    f"{local} ranks x {fraction * plateau:.4g} GB/s = {carried:.4g} GB/s of {rate:.4g} GB/s",
                    *([f"neighbours are on different hosts by {by_node[0].strip()}"] if by_node else []),
                ],
                "tx bytes of the port over the time; ranks of neighbours on one host (`--map-by core`, srun "
                "`-m block`) send less beyond it, and a rank then gets more",
            )
    return None


def _unknown_share(best: Point, plateau: float, rate: float) -> Suspect:
    return Suspect(
        "unexplained",
        "what to expect is not known: the file does not say how many ranks of a host send beyond it",
        POSSIBLE,
        [f"{best.ranks} ranks, {plateau:.4g} GB/s of each; line rate of a host {rate:.4g} GB/s"],
        "the hosts and the mapping of ranks (`mpirun --display-map`, srun `-l hostname`) and tx bytes of the "
        "ports over the time; the same with one rank on each of two hosts measures the port alone",
    )


def _is_unknown(case: RuleInput) -> bool:
    """Return whether more than two ranks of MPI measured a rate whose load of adapters is unknown."""
    best = case.best
    return best is not None and is_mpi(case) and not case.is_latency and best.ranks > 2 and case.bound is None


def _launch(case: RuleInput) -> str:
    """Return the last command line that starts ranks before the result; empty if there is none."""
    line = case.best.line if case.best else 0
    return next((text for number, text in reversed(case.facts.launches) if number < line), "")


def _ranks_of_hosts(case: RuleInput) -> list[int]:
    """Return the ranks of a host by the command, else each equal split of the ranks on two hosts or more."""
    ranks, options = case.best.ranks if case.best else 0, _launch(case)
    if nodes := _NODES.search(options):
        ranks_per_host = ranks // int(nodes[1]) if int(nodes[1]) and ranks % int(nodes[1]) == 0 else 0
    elif per_node := _EACH.search(options):
        ranks_per_host = int(per_node[1])
    elif hosts := _HOSTS.search(options):
        count = len({host.split(":")[0] for host in hosts[1].split(",")})
        ranks_per_host = ranks // count if ranks % count == 0 else 0
    else:
        return [ranks // count for count in range(2, ranks // 2 + 1) if ranks % count == 0]
    return [ranks_per_host] if 1 < ranks_per_host < ranks else []
