"""Resolves pins, which give some flows an explicit uplink, to queue pairs; checks their names and flows."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fabricbench.plan._run_spec import PinSpec
from fabricbench.plan.errors import FieldPath, FieldProblem
from fabricbench.plan.fabric.load_balancing import Pin, Pinned
from fabricbench.plan.fabric.traffic_filters import QueuePairIndex
from fabricbench.plan.jobs.nccl_run import qp_mode
from fabricbench.plan.model import Plan
from fabricbench.words import close_match_hint

if TYPE_CHECKING:
    from fabricbench.plan.engine import Description, QueuePairDescription

PINS: FieldPath = ("fabric", "load_balancing", "pins")


def resolve_pins(pins: Sequence[Pin], description: "Description") -> list[PinSpec]:
    """Return the uplink of each queue pair that is pinned, in the order of the plan."""
    index = QueuePairIndex(description["qps"])
    return [
        {"switch": pin.switch, "qp": pair["qp"], "uplink": pin.uplink}
        for pin in pins
        for flow in pin.flows
        for pair in index.find(flow)
    ]


def pin_problems(pins: Sequence[Pin], description: "Description") -> Iterator[FieldProblem]:
    """Yield the problems of each pin: of its switch, its uplink and its flows."""
    ports = _Ports(description)
    index = QueuePairIndex(description["qps"])
    pinned_pairs: dict[tuple[str, int], FieldPath] = {}
    for number, pin in enumerate(pins):
        path: FieldPath = (*PINS, number)
        if pin.switch not in ports.choices:
            names = [name for name, choices in ports.choices.items() if choices > 1]
            hint = close_match_hint(pin.switch, names)
            allowed = "a switch with several next hops: " + ", ".join(names[:20])
            yield FieldProblem((*path, "switch"), f'"{pin.switch}"', allowed, hint)
            continue
        choices = ports.choices[pin.switch]
        if pin.uplink >= choices:
            actual = f"uplink {pin.uplink} of {pin.switch}"
            yield FieldProblem((*path, "uplink"), actual, f"0 to {choices - 1}, as it has {choices}")
        for flow_index, flow in enumerate(pin.flows):
            flow_path: FieldPath = (*path, "flows", flow_index)
            pairs = list(index.find(flow))
            if not pairs:
                yield FieldProblem(flow_path, f'no queue pair for "{flow.text}"', "flows that the jobs have")
            for pair in pairs:
                problem = _pair_problem(pair, pin, ports, flow_path, pinned_pairs)
                if problem:
                    yield problem
                    break
                pinned_pairs[pin.switch, pair["qp"]] = flow_path


def check_pinned_steps(plan: "Plan") -> Iterator[FieldProblem]:
    """Check that steps are pinned only where each step has queue pairs of its own."""
    balancing = plan.fabric.load_balancing
    if not isinstance(balancing, Pinned) or qp_mode(plan) == "per_chunk":
        return
    for index, pin in enumerate(balancing.pins):
        for flow_index, flow in enumerate(pin.flows):
            if flow.steps is not None:
                path: FieldPath = (*PINS, index, "flows", flow_index)
                actual = f'"{flow.text}", which names steps while queue pairs serve several'
                yield FieldProblem(path, actual, "flows without `@`, or `qp_mode: per_chunk`")


def _pair_problem(
    pair: "QueuePairDescription",
    pin: Pin,
    ports: "_Ports",
    path: FieldPath,
    pinned_pairs: dict[tuple[str, int], FieldPath],
) -> FieldProblem | None:
    """Return the problem of one queue pair of a pin, if any."""
    name = f"rank {pair['src_rank']} to rank {pair['dst_rank']}"
    if (pin.switch, pair["qp"]) in pinned_pairs:
        actual = f"a queue pair of {name} that {pin.switch} already has on an uplink"
        return FieldProblem(path, actual, "each queue pair once for each switch")
    hosts = ports.hosts[pin.switch]
    if (
        hosts
        and pin.switch not in ports.passed
        and (pair["src_host"] not in hosts or pair["dst_host"] in hosts)
    ):
        route = f"host {pair['src_host']} to host {pair['dst_host']}"
        actual = f"{name}, {route}, which goes up no uplink of {pin.switch}"
        return FieldProblem(path, actual, f"flows that leave {pin.switch}")
    return None


class _Ports:
    """Next hops and hosts of the switches, derived without routes.

    Attributes:
        choices: For each switch, its largest number of next hops.
        hosts: For each switch, the hosts on it.
        passed: Switches with hosts that traffic between other switches may pass.
    """

    def __init__(self, description: "Description") -> None:
        # A switch chooses among its links upwards and to its own tier, or among parallel links to one below.
        upwards: dict[str, int] = {}
        parallel: dict[tuple[str, str], int] = {}
        node_index = {node["name"]: index for index, node in enumerate(description["nodes"])}
        tier = {node["name"]: node["tier"] for node in description["nodes"]}
        switches = [node["name"] for node in description["nodes"] if node["kind"] == "switch"]
        self.passed: set[str] = set()
        self.hosts: dict[str, set[int]] = {name: set() for name in switches}
        for link in description["links"]:
            lower, upper = link["from"], link["to"]
            if lower in self.hosts:
                level = tier[lower] == tier[upper]
                for name in (lower, upper) if level else (lower,):
                    upwards[name] = upwards.get(name, 0) + 1
                self.passed.update((lower, upper) if level else ())
                parallel[upper, lower] = parallel.get((upper, lower), 0) + 1
            else:
                # Hosts precede switches and are in order, so a host's index is its number.
                self.hosts[upper].add(node_index[lower])
        self.choices = {name: max(1, upwards.get(name, 0)) for name in switches}
        for (upper, _), count in parallel.items():
            self.choices[upper] = max(self.choices[upper], count)
