"""Addresses of host ports: IPv4 subnets or a list, gateways, MAC addresses, VLAN."""

import re
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from fabricbench.plan._run_spec import LIMITS, AddressSpec, Ipv4Spec
from fabricbench.plan.fields.base import PlanModel, shown
from fabricbench.plan.fields.quantities import limits_of
from fabricbench.units import UnitError, describe

_OCTET: Final = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4: Final = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_MAC: Final = r"[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}"
_PREFIX_LIMITS: Final = LIMITS["SubnetsIpv4Spec.prefix"]


def parse_ipv4(value: object) -> str:
    """Read an IPv4 address.

    Raises:
        UnitError: It is something else.
    """
    if isinstance(value, str) and re.fullmatch(_IPV4, value):
        return value
    actual = shown(value) if isinstance(value, str) else describe(value)
    raise UnitError(actual, "an IPv4 address such as 192.168.0.1")


def parse_subnet(value: object) -> str:
    """Read an IPv4 subnet: the address of a network and the length of its prefix.

    Raises:
        UnitError: It is something else, or its address has bits beyond the prefix.
    """
    least, most = _PREFIX_LIMITS
    allowed = f"an IPv4 subnet such as 192.168.0.0/16, with a prefix of {least} to {most}"
    match = re.fullmatch(rf"({_IPV4})/([0-9]{{1,2}})", value) if isinstance(value, str) else None
    if match is None:
        raise UnitError(shown(value) if isinstance(value, str) else describe(value), allowed)
    prefix = int(match[2])
    if not least <= prefix <= most:
        raise UnitError(shown(value), allowed)
    size, number = 1 << (32 - prefix), int.from_bytes(map(int, match[1].split(".")))
    if number % size:
        network = ".".join(map(str, (number - number % size).to_bytes(4)))
        raise UnitError(shown(value), allowed, f"the network of this address is {network}/{prefix}")
    return f"{match[1]}/{prefix}"


def parse_mac(value: object) -> int:
    """Read a MAC address as a number.

    Raises:
        UnitError: It is something else, or all zeros.
    """
    if isinstance(value, str) and re.fullmatch(_MAC, value) and (number := int(value.replace(":", ""), 16)):
        return number
    actual = shown(value) if isinstance(value, str) else describe(value)
    hint = "" if isinstance(value, str) else "put it between quotation marks: YAML reads colons otherwise"
    raise UnitError(actual, "a MAC address such as 02:00:00:00:00:01", hint)


Ipv4 = Annotated[
    str, BeforeValidator(parse_ipv4), WithJsonSchema({"type": "string", "pattern": f"^{_IPV4}$"})
]
"""An IPv4 address."""
Subnet = Annotated[
    str,
    BeforeValidator(parse_subnet),
    WithJsonSchema({"type": "string", "pattern": f"^{_IPV4}/[0-9]{{1,2}}$", "examples": ["192.168.0.0/16"]}),
]
"""An IPv4 subnet."""
Mac = Annotated[
    int,
    BeforeValidator(parse_mac),
    WithJsonSchema({"type": "string", "pattern": f"^{_MAC}$", "examples": ["02:00:00:00:00:01"]}),
]
"""A MAC address, as a number."""


class Addresses(PlanModel):
    """Addresses of host ports, in captures, port maps, labs and the hash of ECMP."""

    subnet: Subnet | None = Field(
        default=None,
        description=(
            "IPv4 subnet of the host ports, such as `192.168.0.0/24`, or the first of several; the others "
            "follow it. Hosts count up from its first address. Default: `10.P.x.y` for port P, in "
            "10.P.0.0/16 (docs/plan.md)."
        ),
    )
    subnet_per: Literal["port", "switch", "link"] | None = Field(
        default=None,
        description=(
            "Host ports that share a subnet: those of one port number, which is a plane of hosts with "
            "several (`port`); those on one switch, a leaf or a rail (`switch`); or each alone with its "
            "gateway (`link`), for which /31 is enough (RFC 3021). Default: `port`."
        ),
    )
    ips: Annotated[tuple[Ipv4, ...], Field(strict=False, min_length=1)] | None = Field(
        default=None,
        description=(
            "IPv4 address of each host port, by port number and host, in place of `subnet`. Default: none."
        ),
    )
    prefix: Annotated[int, limits_of("ListedIpv4Spec.prefix")] | None = Field(
        default=None, description="Prefix length of the subnets of `ips` [bits]. Default: 24."
    )
    gateway: Literal["none", "first", "last"] | None = Field(
        default=None,
        description=(
            "Address of the gateway in each subnet: the first or the last that hosts can have. Frames to "
            "other subnets have the MAC address of the switch port. Default: `first` with `subnet_per: "
            "switch` or `link`, else `none`."
        ),
    )
    mac: Mac | None = Field(
        default=None,
        description=(
            'MAC address of the first host port, such as `"02:00:00:00:00:01"`; the others count up. '
            "Default: 02:00 and the number of the port (IEEE 802-2014, 8.2)."
        ),
    )
    vlan: Annotated[int, limits_of("AddressSpec.vlan")] | None = Field(
        default=None,
        description=(
            "VLAN whose tag frames have on every link, with the priority of the packet [1 to 4094] (IEEE "
            "802.1Q). Its 4 bytes take time on links and are in no count of frame bytes. Default: no tag."
        ),
    )

    def run_spec(self) -> AddressSpec:
        """Return the addresses for the engine."""
        spec: AddressSpec = {}
        if ipv4 := self._ipv4():
            spec["ipv4"] = ipv4
        if self.mac is not None:
            spec["mac_first"] = self.mac
        if self.vlan is not None:
            spec["vlan"] = self.vlan
        return spec

    def _ipv4(self) -> Ipv4Spec | None:
        each = self.subnet_per or "port"
        has_one = self.gateway or ("none" if each == "port" else "first")
        gateway = None if has_one == "none" else has_one
        if self.ips is not None:
            prefix = 24 if self.prefix is None else self.prefix
            return {"kind": "listed", "addresses": list(self.ips), "prefix": prefix, "gateway": gateway}
        if self.subnet is None:
            return None
        network, _, bits = self.subnet.partition("/")
        return {
            "kind": "subnets",
            "network": network,
            "prefix": int(bits),
            "each": each,
            "gateway": gateway,
        }
