"""NCCL's graphs, channels and choices on servers: inputs of users, and the answer of NCCL's rules.

The rules are data and code of crate `nccl`, by version. Times are estimates of NCCL's own tuner, by which it
chooses; they are no predictions of fabricbench.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabricbench import units
from fabricbench.plan import engine
from fabricbench.plan.devices.json_text import content_of, text_of
from fabricbench.plan.devices.nccl_hardware import hardware_of
from fabricbench.plan.errors import Place, PlanError, Problem
from fabricbench.plan.fabric.server import shipped_servers
from fabricbench.plan.jobs.library import NCCL_VERSION
from fabricbench.plan.jobs.nccl_run import COLLECTIVES
from fabricbench.plan.server import load_server
from fabricbench.units import UnitError
from fabricbench.words import close_match_hint, same_name

if TYPE_CHECKING:
    from fabricbench.plan.engine import NcclAnswer

SIZES: Final = "8B:16GB"
"""Sizes by default."""
RANKS_MAX: Final = 65_536
_SIZES_MAX: Final = 1_000
_SIZES_ALLOWED: Final = 'sizes such as "1MB", "1MB,16MB" or "8B:16GB", which doubles'


@dataclass(frozen=True)
class Question:
    """Servers, version and settings of NCCL, and operations.

    Attributes:
        server: A shipped server's name, or a file of one; none with a topology that has all values.
        topology: File with NCCL's topology of a host, in place of the server's; may be none.
        servers: Number of servers.
        version: Version of NCCL, such as "2.30" or "2.30.7".
        variables: Environment variables of NCCL.
        collective: A collective of `COLLECTIVES`.
        sizes: Data sizes, as `parse_sizes` reads them.
    """

    server: str | None = None
    topology: Path | None = None
    servers: int = 1
    version: str = NCCL_VERSION
    variables: Mapping[str, str] | None = None
    collective: str = "all-reduce"
    sizes: str = SIZES

    def answer(self) -> NcclAnswer:
        """Return NCCL's graphs, channels and choices.

        Raises:
            PlanError: An input is not allowed.
        """
        traffic = self._traffic()
        variables = dict(self.variables or {})
        hardware, gpus = self._hardware()
        servers_max = RANKS_MAX // gpus
        if not 1 <= self.servers <= servers_max:
            raise _problem("--servers", str(self.servers), f"1 to {servers_max}")
        query = {
            "hardware": hardware,
            "servers": self.servers,
            "version": self.version,
            "variables": list(variables.items()),
            "traffic": traffic,
            "sizes": parse_sizes(self.sizes),
        }
        try:
            answer = engine.nccl_choices(query)
        except engine.SpecError as error:
            if error.field == "version":
                raise _problem("--nccl", f'"{error.found}"', error.allowed) from None
            raise _problem(f"-x {error.field}", f'"{error.found}"', error.allowed) from None
        if answer["nodes"] > 1 and answer["ring_nics"][0][0] is None:
            hint = f"NCCL_IB_HCA is {variables['NCCL_IB_HCA']}" if "NCCL_IB_HCA" in variables else ""
            raise _problem("--servers", f"{self.servers} without an adapter", "1 server", hint)
        return answer

    @property
    def is_tuned(self) -> bool:
        """Whether NCCL's tuner chooses an algorithm: not for transfers.

        Raises:
            PlanError: There is no such collective.
        """
        return isinstance(self._traffic(), dict)

    def _traffic(self) -> Any:
        """Return the collective in the core's JSON."""
        collective = same_name(self.collective, COLLECTIVES)
        if collective is None:
            hint = close_match_hint(self.collective, COLLECTIVES)
            raise _problem("--collective", f'"{self.collective}"', ", ".join(COLLECTIVES), hint)
        return COLLECTIVES[collective]

    def _hardware(self) -> tuple[dict[str, Any], int]:
        """Return the hardware of a server in the core's JSON, and its number of GPUs."""
        if self.server is None and self.topology is None:
            shipped = ", ".join(shipped_servers())
            raise _problem("SERVER", "nothing", f"{shipped}, a file of a server, or --topo FILE")
        server = load_server(self.server) if self.server is not None else None
        if self.topology is not None:
            source = str(self.topology)
            parts = hardware_of(text_of(content_of(self.topology, source), source), source, server)
            return {"listed": parts}, len(parts["gpus"])
        assert server is not None
        return {"regular": server.hardware()}, server.gpus


def answer_object(answer: NcclAnswer) -> dict[str, Any]:
    """Return an answer for JSON: speeds in GB/s, a row for each size with all estimates."""
    names = ("nodes", "ranks", "channels", "nvls", "rings", "ring_nics", "peer_chunk_bytes", "ignored")
    estimates = [
        {f"{time['algorithm']} {time['protocol']}": time["time_us"] for time in operation["times"]}
        for operation in answer["operations"]
    ]
    return {
        "nccl": answer["version"],
        **{name: answer[name] for name in names},  # type: ignore[literal-required]
        "graphs": graph_rows(answer),
        "sizes": [
            row | {"nccl_estimates_us": of_size}
            for row, of_size in zip(size_rows(answer), estimates, strict=True)
        ],
    }


def graph_rows(answer: NcclAnswer) -> list[dict[str, Any]]:
    """Return a row for each graph, with the properties that NCCL logs; speeds of a channel in GB/s."""
    return [
        {
            "algorithm": graph["algorithm"],
            "pattern": graph["pattern_number"],
            "cross_nic": graph["cross_nic"],
            "channels": graph["channels"],
            "intra_gb_per_s": graph["intra"] / 1000,
            "inter_gb_per_s": graph["inter"] / 1000,
            "type_intra": graph["type_intra"],
            "type_inter": graph["type_inter"],
            "same_channels": graph["same_channels"],
            "latency_inter_us": graph["latency_inter_us"],
        }
        for graph in answer["graphs"]
    ]


def size_rows(answer: NcclAnswer) -> list[dict[str, Any]]:
    """Return a row for each size: NCCL's choice, and the time by which it chooses.

    Values of the choice are none where the variables allow no algorithm and protocol, and where the traffic
    does not have them: transfers have no algorithm, threads and estimate, only all-to-all `concurrent_peers`.
    """
    names = (
        *("algorithm", "protocol", "channels", "threads", "concurrent_peers"),
        *("chunk_bytes", "slice_bytes", "messages"),
    )
    rows = []
    for operation in answer["operations"]:
        chosen: Mapping[str, Any] = operation["chosen"] or {}
        choice = {name: chosen.get(name) for name in names}
        estimate = {"nccl_estimate_us": chosen.get("time_us")}
        rows.append({"data_size_bytes": operation["bytes"], **choice, **estimate})
    return rows


def parse_sizes(text: str) -> list[int]:
    """Read data sizes [bytes]: one, several with commas, or a range that doubles.

    Raises:
        PlanError: It is something else.
    """
    try:
        sizes = [size for part in text.split(",") for size in _range(part)]
    except UnitError as error:
        raise _problem("--sizes", error.found, _SIZES_ALLOWED, error.hint) from None
    if len(sizes) > _SIZES_MAX:
        raise _problem("--sizes", f"{len(sizes)} sizes", f"at most {_SIZES_MAX}")
    return sizes


def _range(part: str) -> Iterator[int]:
    least_text, _, most_text = part.partition(":")
    least = units.parse_size(_plain(least_text))
    most = units.parse_size(_plain(most_text)) if most_text else least
    if least == 0 or most < least:
        raise UnitError(f'"{part}"', _SIZES_ALLOWED)
    while least <= most:
        yield least
        least *= 2


def _plain(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else text


def parse_variables(texts: Iterable[str]) -> dict[str, str]:
    """Read environment variables written as NAME=VALUE, as `mpirun -x` takes them.

    Raises:
        PlanError: One is something else.
    """
    variables: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise _problem(f"-x {text}", "no value", "NAME=VALUE, such as NCCL_ALGO=ring")
        variables.pop(name, None)
        variables[name] = value
    return variables


def _problem(source: str, actual: str, allowed: str, hint: str = "") -> PlanError:
    return PlanError([Problem(Place(source), "", actual, allowed, hint)])
