"""Checks of InfiniBand links: their buffers, and what has no meaning on them."""

from collections.abc import Iterator

from fabricbench import units
from fabricbench.plan.document.document import Document
from fabricbench.plan.errors import FieldPath, Problem
from fabricbench.plan.fabric.link_layer import BLOCK_BYTES, HEADER_BYTES, VL_BUFFER_BYTES_MAX
from fabricbench.plan.model import Plan

_CREDIT_INTERVAL_PS_MAX = 10**12
_HOSTS_MAX = 0xBFFF
_INFINIBAND: FieldPath = ("fabric", "link_layer", "infiniband")


def check_link_layer(plan: Plan, document: Document) -> Iterator[Problem]:
    """Yield what is wrong with InfiniBand links, and what a plan gives that only Ethernet has."""
    if plan.fabric.link_layer is None:
        return
    infiniband = plan.fabric.link_layer.infiniband
    least = -(-(plan.transport.mtu_bytes + HEADER_BYTES) // BLOCK_BYTES) * BLOCK_BYTES
    size = infiniband.vl_buffer_bytes
    if size % BLOCK_BYTES or not least <= size <= VL_BUFFER_BYTES_MAX:
        allowed = (
            f"whole blocks of {BLOCK_BYTES} B, from {least} B to {units.format_size(VL_BUFFER_BYTES_MAX)}"
        )
        hint = f"a full packet takes {least} B, and credits count to {units.format_size(VL_BUFFER_BYTES_MAX)}"
        yield document.problem((*_INFINIBAND, "vl_buffer"), units.format_size(size), allowed, hint)
    if infiniband.credit_interval_ps > _CREDIT_INTERVAL_PS_MAX:
        found = units.format_time(infiniband.credit_interval_ps)
        yield document.problem((*_INFINIBAND, "credit_interval"), found, "at most 1s")
    hosts = plan.fabric.topology.host_count
    if hosts > _HOSTS_MAX:
        hint = "a subnet has no more local identifiers"
        yield document.problem(("fabric", "topology"), f"{hosts} hosts", f"at most {_HOSTS_MAX}", hint)
    yield from _check_absent(plan, document)


def _check_absent(plan: Plan, document: Document) -> Iterator[Problem]:
    """Yield what Ethernet has and InfiniBand has not, or not in the model."""
    switch, fabric = plan.fabric.switch, plan.fabric
    given: dict[FieldPath, tuple[bool, str, str]] = {
        ("fabric", "switch", "pfc"): (switch.pfc is not None, "PFC", "credits keep InfiniBand lossless"),
        ("fabric", "switch", "ecn"): (
            switch.ecn is not None,
            "ECN",
            "InfiniBand has no marks in an IP header",
        ),
        ("fabric", "switch", "scheduled"): (
            switch.scheduled is not None,
            "scheduled switches",
            "their cells and credits are not those of InfiniBand",
        ),
        ("jobs",): (
            any(job.storage is not None for job in plan.jobs),
            "storage",
            "its frames have the sizes of RoCEv2",
        ),
        ("fabric", "failures"): (
            bool(fabric.failures),
            "failures",
            "InfiniBand links do not fail in this model",
        ),
        ("transport", "rate_control"): (
            plan.transport.rate_control is not None,
            "rate control",
            "rate control is modelled for RoCEv2 alone",
        ),
    }
    for path, (is_given, name, hint) in given.items():
        if is_given:
            yield document.problem(
                path, f"{name} with `link_layer: infiniband`", "none, or `link_layer: ethernet`", hint
            )
