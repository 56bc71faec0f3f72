"""Unreliable connections in a plan: what the engine is told, and what they do not have."""

from typing import Any

import pytest
from tests.plan.examples import SMALL, plan_of

from fabricbench.plan.endpoints import unsupported
from fabricbench.plan.errors import PlanError
from fabricbench.plan.expand import expand
from fabricbench.plan.load import load_text


def text_of(transport: str, fabric: str = "") -> str:
    text = SMALL.replace("transport: {mtu: 4096, ack_every: 2}", f"transport: {{{transport}}}")
    return text.replace("host_link: 400Gbps\n", f"host_link: 400Gbps\n{fabric}")


def transport_of(transport: str) -> Any:
    return expand(plan_of(text_of(transport)))[0].run_spec["transport"]


def test_an_unreliable_connection_recovers_nothing() -> None:
    spec = transport_of("connection: uc, mtu: 4096")
    assert (spec["connection"], spec["recovery"]) == ("uc", "none")
    assert transport_of("connection: uc, recovery: none, timeout: 67.108864ms, mtu: 4096") == spec


def test_a_reliable_connection_is_what_it_was() -> None:
    spec = transport_of("connection: rc, mtu: 4096")
    assert "connection" not in spec
    assert spec == transport_of("mtu: 4096")


def test_an_unreliable_connection_may_have_a_fixed_rate() -> None:
    spec = transport_of("connection: uc, rate_control: {fixed: {rate: 10Gbps}}")
    assert spec["rate_control"] == {"kind": "fixed", "rate_bps": 10**10}


def test_endpoints_have_unreliable_connections() -> None:
    (trial,) = expand(plan_of(text_of("connection: uc")))[:1]
    assert not list(unsupported(trial.run_spec))


@pytest.mark.parametrize(
    ("field", "found"),
    [
        (
            "timeout: 1ms",
            r"transport.timeout: found 1ms with `connection: uc`; allowed: nothing\nhint: leave it out",
        ),
        ("ack_every: 4", "transport.ack_every: found 4 with `connection: uc`"),
        ("window: 64", "transport.window: found 64 with"),
        ("ooo_window: 64", "transport.ooo_window: found 64 with"),
        ("retry_count: 3", "transport.retry_count: found 3 with"),
        ("recovery: selective", "transport.recovery: found selective with"),
        ("rate_control: timely", "found `timely` with `connection: uc`; allowed: `line-rate` or `fixed`"),
        ("rate_control: swift", "found `swift` with"),
        ("rate_control: {dcqcn: {reaction: off}}", "found `dcqcn` with"),
    ],
)
def test_what_needs_acknowledgements_is_refused(field: str, found: str) -> None:
    with pytest.raises(PlanError, match=found):
        load_text(text_of(f"connection: uc, {field}"), "plan.yaml")


def test_infiniband_and_storage_need_reliable_connections() -> None:
    with pytest.raises(PlanError, match=r"transport\.connection: found uc on InfiniBand; allowed: rc"):
        load_text(text_of("connection: uc", "  link_layer: infiniband\n"), "plan.yaml")
    storage = SMALL.replace("transport: {mtu: 4096, ack_every: 2}", "transport: {connection: uc}")
    jobs = storage[: storage.index("jobs:")]
    fields = 'storage: {clients: "0-3", targets: "4-7", duration: 1ms}, data_size: 64KB'
    jobs += f"jobs: [{{name: s, collective: storage, {fields}}}]\n"
    with pytest.raises(PlanError, match=r"transport\.connection: found uc with a storage job; allowed: rc"):
        load_text(jobs, "plan.yaml")
