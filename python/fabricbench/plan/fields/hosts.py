"""Types and parsers of plan fields that name hosts."""

import re
from typing import Annotated, Final

from pydantic import BeforeValidator, WithJsonSchema

from fabricbench.plan.fields.base import shown
from fabricbench.units import UnitError

HOSTS_MAX: Final = 1 << 20
"""Most hosts in a fabric."""

_HOSTS = re.compile(r"\s*([0-9]{1,9})\s*(?:-\s*([0-9]{1,9})\s*(?::\s*([0-9]{1,9})\s*)?)?", re.ASCII)
_HOSTS_PART: Final = r"\s*\d+\s*(-\s*\d+\s*(:\s*\d+\s*)?)?"
_HOSTS_ALLOWED: Final = 'all, hosts such as "0-7" or "0,1,6,7", or a list of host numbers'


def parse_hosts(value: object) -> tuple[int, ...] | None:
    """Read the hosts of a job's ranks, in rank order.

    Args:
        value: "all", ranges such as "0-7", "0,1,4-7" or "0-28:4" (every fourth), or a list of numbers.

    Returns:
        The host of each rank; none for all hosts of the fabric in their order.

    Raises:
        UnitError: It is something else.
    """
    if value == "all":
        return None
    if isinstance(value, list):
        return tuple(_host(item) for item in value)
    if not isinstance(value, str):
        hint = f'one host is not a job; write "0-{value}" or a list' if type(value) is int else ""
        raise UnitError(shown(value), _HOSTS_ALLOWED, hint)
    hosts: list[int] = []
    for part in value.split(","):
        hosts.extend(_host_range(part, value))
        if len(hosts) > HOSTS_MAX:
            raise UnitError(f'more than {HOSTS_MAX} hosts in "{value[:40]}"', _HOSTS_ALLOWED)
    return tuple(hosts)


def parse_impaired_hosts(value: object) -> tuple[int, ...]:
    """Read one host, or hosts as `parse_hosts` does.

    Raises:
        UnitError: It is something else, or "all".
    """
    hosts = (_host(value),) if type(value) is int else parse_hosts(value)
    if hosts is None:
        raise UnitError('"all"', 'a host such as 3, or hosts such as "0-7" or "0-28:4"')
    return hosts


def _host(item: object) -> int:
    """Check one host of a list."""
    if type(item) is not int or not 0 <= item < HOSTS_MAX:
        raise UnitError(f"{shown(item)} in the list", f"host numbers, 0 to {HOSTS_MAX - 1}")
    return item


def _host_range(part: str, whole: str) -> range:
    """Read "3", "0-7" or, for every fourth, "0-28:4"."""
    match = _HOSTS.fullmatch(part)
    if match is None:
        raise UnitError(f"{shown(part.strip())} in {shown(whole)}", _HOSTS_ALLOWED)
    first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
    if last < first:
        hint = 'ranks in another order than the hosts\' are listed one by one, such as "3,2,1,0"'
        raise UnitError(f'"{part.strip()}", which runs backwards', "ranges from low to high", hint)
    if last >= HOSTS_MAX:
        raise UnitError(f"host {last}", f"host numbers, 0 to {HOSTS_MAX - 1}")
    if step == 0:
        raise UnitError(f'"{part.strip()}", which takes no steps', "steps of 1 or more")
    return range(first, last + 1, step)


Hosts = Annotated[
    tuple[int, ...] | None,
    BeforeValidator(parse_hosts),
    WithJsonSchema(
        {
            "anyOf": [
                {"const": "all"},
                {"type": "string", "pattern": rf"^{_HOSTS_PART}(,{_HOSTS_PART})*$"},
                {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 2},
            ],
            "examples": ["0-7", "0,1,6,7", "0-28:4", [3, 2, 1, 0]],
        }
    ),
]
"""Hosts in rank order, or none for all of them."""

ImpairedHosts = Annotated[
    tuple[int, ...],
    BeforeValidator(parse_impaired_hosts),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0},
                {"type": "string", "pattern": rf"^{_HOSTS_PART}(,{_HOSTS_PART})*$"},
                {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1},
            ],
            "examples": [3, "0-28:4"],
        }
    ),
]
"""One host or more."""
