"""Addresses of host ports, DSCP, and the RoCE MTU from the port's MTU."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from tests.plan.examples import SMALL, errors_of, plan_of

from fabricbench.plan import engine
from fabricbench.plan.expand import expand

TWO_PLANES = "{kind: multi-plane, planes: 2, leaves: 2, hosts_per_leaf: 2, spines: 1}"


def with_addresses(text: str, topology: str = "") -> str:
    plan = SMALL.replace("fabric:\n", f"fabric:\n  addresses: {text}\n")
    if topology:
        first, last = plan.index("  topology:"), plan.index("transport:")
        plan = f"{plan[:first]}  topology: {topology}\n{plan[last:]}".replace("0-7", "0-3")
    return plan


def rows_of(text: str) -> Sequence[Any]:
    spec = expand(plan_of(text))[0].run_spec
    rows = engine.port_map(json.dumps(spec))
    assert rows is not None
    return rows


def addresses_of(text: str) -> list[str]:
    return [f"{row['ip']}/{row['prefix']} {row['gateway']}" for row in rows_of(text)]


def test_a_plan_that_says_nothing_of_it_has_the_run_spec_that_it_had() -> None:
    spec = expand(plan_of(SMALL))[0].run_spec
    assert "addresses" not in spec["fabric"]
    assert "dscp" not in spec["transport"]
    assert "dscp" not in spec["jobs"][0]
    # Defaults of the plan, written out, are those that the engine has where nothing is said.
    written = SMALL.replace("ack_every: 2", "ack_every: 2, dscp: {data: 26, ack: 48, cnp: 48}")
    assert expand(plan_of(written))[0].run_spec == spec
    assert {tuple(row["dscp"].values()) for row in rows_of(SMALL)} == {(26, 48, 48)}


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("{mac: '02:aa:00:00:00:01'}", "10.0.0.1/16 None", "10.0.0.8/16 None"),
        ("{subnet: 192.168.0.0/24}", "192.168.0.1/24 None", "192.168.0.8/24 None"),
        ("{subnet: 192.168.0.0/24, gateway: first}", "192.168.0.2/24 192.168.0.1",
         "192.168.0.9/24 192.168.0.1"),
        ("{subnet: 10.5.0.0/29, subnet_per: switch}", "10.5.0.2/29 10.5.0.1", "10.5.0.13/29 10.5.0.9"),
        ("{subnet: 10.5.0.0/24, subnet_per: switch, gateway: last}", "10.5.0.1/24 10.5.0.254",
         "10.5.1.4/24 10.5.1.254"),
        ("{subnet: 10.5.0.0/31, subnet_per: link}", "10.5.0.1/31 10.5.0.0", "10.5.0.15/31 10.5.0.14"),
        ("{ips: [10.1.0.1,10.1.0.2,10.1.0.3,10.1.0.4,10.1.0.5,10.1.0.6,10.1.0.7,10.1.0.9], prefix: 28}",
         "10.1.0.1/28 None", "10.1.0.9/28 None"),
    ],
)  # fmt: skip
def test_host_ports_count_up_in_their_subnets(text: str, first: str, last: str) -> None:
    found = addresses_of(with_addresses(text))
    assert (len(found), found[0], found[-1]) == (8, first, last)
    assert len(set(found)) == 8


def test_each_plane_has_a_subnet_of_its_own() -> None:
    found = addresses_of(with_addresses("{subnet: 172.16.0.0/24}", TWO_PLANES))
    assert found[:4] == [f"172.16.{port}.{host}/24 None" for host in (1, 2) for port in (0, 1)]


def test_mac_addresses_count_up_by_port_and_host() -> None:
    rows = rows_of(with_addresses('{mac: "02:aa:00:00:00:fe"}', TWO_PLANES))
    found = {(row["host_number"], row["host_port"]): row["mac"] for row in rows}
    assert found[0, 0] == "02:aa:00:00:00:fe"
    assert found[2, 0] == "02:aa:00:00:01:00"
    assert found[0, 1] == "02:aa:00:00:01:02"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{subnet: 10.0.0.0}", 'subnet: found "10.0.0.0"; allowed: an IPv4 subnet such as 192.168.0.0/16'),
        ("{subnet: 10.0.0.1/24}", "hint: the network of this address is 10.0.0.0/24"),
        ("{subnet: 10.0.0.0/7}", "with a prefix of 8 to 31"),
        ("{subnet: 10.0.0.0/29}", "allowed: subnets with room for 8 host ports: this one has 6"),
        ("{subnet: 223.255.255.0/24, subnet_per: switch}", "223.255.255.0/24 and 1 more; allowed: unicast"),
        ("{subnet: 127.0.0.0/8}", "none of 0.0.0.0/8, 127.0.0.0/8 and 169.254.0.0/16"),
        ("{subnet: 10.0.0.0/24, subnet_per: switch, gateway: none}", "gateway: found none, with 10.0.0.0/24"),
        ("{subnet_per: switch}", "`subnet_per` without `subnet`"),
        ("{gateway: first}", "`gateway` without `subnet` or `ips`"),
        ("{prefix: 24}", "`prefix` without `ips`"),
        ("{subnet: 10.0.0.0/24, ips: [10.0.0.1]}", "found `ips` and `subnet`; allowed: one of the two"),
        ("{ips: [10.0.0.1, 10.0.0.2]}", "ips: found 2 addresses; allowed: 8: one for each host port"),
        ("{ips: [10.0.0.1, 10.0.0.x]}", 'found "10.0.0.x"; allowed: an IPv4 address such as 192.168.0.1'),
        ("{ips: [10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4,10.0.0.5,10.0.0.6,10.0.0.7,10.0.0.1]}",
         "ips.7: found 10.0.0.1; allowed: an address that no other host port has"),
        ("{ips: [10.0.0.0,10.0.0.2,10.0.0.3,10.0.0.4,10.0.0.5,10.0.0.6,10.0.0.7,10.0.0.1]}",
         "ips.0: found 10.0.0.0; allowed: no address of a network or broadcast of prefix 24"),
        ("{ips: [10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4,10.0.0.5,10.0.0.6,10.0.0.7,10.0.0.8], gateway: first}",
         "ips.0: found 10.0.0.1; allowed: another one: it is the gateway of its subnet"),
        ("{mac: 03:00:00:00:00:01}", "mac: found 03:00:00:00:00:01, and 7 more; allowed: unicast addresses"),
        ("{mac: '02:01:00:00:00:01'}", "other than 02:01:xx:xx:xx:xx, which switch ports have"),
        ("{mac: 17}", "hint: put it between quotation marks"),
        ("{vlan: 4095}", "vlan: found 4095; allowed: 4094 or less"),
    ],
)  # fmt: skip
def test_addresses_that_cannot_be_are_refused_with_line_and_field(text: str, message: str) -> None:
    told = errors_of(with_addresses(text))
    assert "plan.yaml:4" in told
    assert message in told


@pytest.mark.parametrize(
    ("port_mtu", "mtu"),
    [(320, 256), (575, 256), (576, 512), (1500, 1024), (2200, 2048), (4159, 2048), (4160, 4096), (4200, 4096),
     (8192, 4096), (9216, 4096)],
)  # fmt: skip
def test_the_roce_mtu_is_the_largest_that_fits_the_ports(port_mtu: int, mtu: int) -> None:
    plan = plan_of(SMALL.replace("mtu: 4096", f"port_mtu: {port_mtu}"))
    assert plan.transport.mtu_bytes == mtu
    assert expand(plan)[0].run_spec["transport"]["mtu_bytes"] == mtu


def test_a_roce_mtu_that_does_not_fit_the_ports_is_refused() -> None:
    told = errors_of(SMALL.replace("mtu: 4096", "mtu: 4096, port_mtu: 1500"))
    assert "plan.yaml:10: transport.mtu: found 4096; allowed: at most 1024 with `port_mtu: 1500`" in told
    assert "hint: leave `transport.mtu` out, and it is what fits" in told
    fits = SMALL.replace("mtu: 4096", "mtu: 512, port_mtu: 1500")
    assert plan_of(fits).transport.mtu_bytes == 512
    assert "found 319; allowed: 320 or more" in errors_of(SMALL.replace("mtu: 4096", "port_mtu: 319"))
    tcp = (
        SMALL.replace("mtu: 4096", "port_mtu: 1499")
        + "tcp: [{ranks: '0,1', collective: incast, rate: 1Gbps}]\n"
    )
    assert "tcp.0.mtu: found 1500; allowed: at most 1499, the `transport.port_mtu`" in errors_of(tcp)


def test_infiniband_has_none_of_them() -> None:
    plan = with_addresses("{vlan: 7}").replace("fabric:\n", "fabric:\n  link_layer: infiniband\n")
    told = errors_of(plan.replace("ack_every: 2", "dscp: {data: 10}, port_mtu: 4200"))
    for field in ("fabric.addresses", "transport.dscp", "transport.port_mtu"):
        assert f"{field}: found" in told


def test_a_job_has_the_code_point_of_the_transport_or_its_own() -> None:
    jobs = "  - {name: other, ranks: '4-7', collective: incast, dscp: 10, data_size: 1MB}\nsweep:"
    tcp = "tcp: [{ranks: '4,5', collective: incast, rate: 1Gbps, dscp: 8}]\n"
    text = (
        SMALL.replace("sweep:", jobs)
        .replace('"0-7"', '"0-3"')
        .replace("mtu: 4096", "mtu: 4096, dscp: {data: 24}")
        + tcp
    )
    found = {row["job"]: row["dscp"] for row in rows_of(text)}
    assert found["test"] == {"data": 24, "ack": 48, "cnp": 48}
    assert found["other"] == {"data": 10, "ack": 48, "cnp": 48}
    assert found["tcp"] == {"data": 8, "ack": 8, "cnp": 8}
