"""The types of plan fields: quantities with units, and lists of hosts."""

import re
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, WithJsonSchema

from fabricbench import units
from fabricbench.units import Dimension, UnitError

HOSTS_MAX: Final = 1 << 20
"""Most hosts in a fabric."""
MESSAGE_BYTES_MAX: Final = 1 << 31
"""Largest RDMA message [bytes] (IBTA 1.7, 9.7.1.1)."""

_HOSTS = re.compile(r"\s*([0-9]{1,9})\s*(?:-\s*([0-9]{1,9})\s*)?", re.ASCII)
_HOSTS_ALLOWED: Final = 'all, hosts such as "0-7" or "0,1,6,7", or a list of host numbers'


def _quantity_schema(dimension: Dimension, least: int = 0) -> WithJsonSchema:
    """Describe a quantity in the JSON Schema of the plan."""
    forms: list[dict[str, Any]] = [
        {
            "type": "string",
            "format": dimension.name.removeprefix("a "),
            "pattern": dimension.pattern,
            "examples": [dimension.example],
        }
    ]
    if dimension.bare:
        forms.append({"type": "integer", "minimum": least, "maximum": units.QUANTITY_MAX})
    elif least == 0:
        forms.append({"type": "integer", "const": 0})
    return WithJsonSchema({"anyOf": forms} if len(forms) > 1 else forms[0])


def _positive(value: object, dimension: Dimension) -> int:
    """Read a quantity that must not be 0."""
    quantity = units.parse(value, dimension)
    if quantity == 0:
        raise UnitError("0", f"more than 0: {dimension.allowed}")
    return quantity


def _positive_rate(value: object) -> int:
    return _positive(value, units.RATE)


def _positive_size(value: object) -> int:
    return _positive(value, units.SIZE)


def _positive_time(value: object) -> int:
    return _positive(value, units.TIME)


def _message_size(value: object) -> int:
    size = _positive(value, units.SIZE)
    if size > MESSAGE_BYTES_MAX:
        raise UnitError(_show(value), f"at most {units.format_size(MESSAGE_BYTES_MAX)}")
    return size


Rate = Annotated[int, BeforeValidator(_positive_rate), _quantity_schema(units.RATE, 1)]
"""Text such as "400Gbps", as bit/s; more than 0."""
Size = Annotated[int, BeforeValidator(_positive_size), _quantity_schema(units.SIZE, 1)]
"""Text such as "16MB", or a number of bytes, as bytes; more than 0."""
MessageSize = Annotated[int, BeforeValidator(_message_size), _quantity_schema(units.SIZE, 1)]
"""A size of at most `MESSAGE_BYTES_MAX`."""
Time = Annotated[int, BeforeValidator(units.parse_time), _quantity_schema(units.TIME)]
"""Text such as "2us", as picoseconds."""
Duration = Annotated[int, BeforeValidator(_positive_time), _quantity_schema(units.TIME, 1)]
"""Text such as "2us", as picoseconds; more than 0."""
Length = Annotated[int, BeforeValidator(units.parse_length), _quantity_schema(units.LENGTH)]
"""Text such as "30m", as millimetres."""
Propagation = Annotated[int, BeforeValidator(units.parse_propagation), _quantity_schema(units.PROPAGATION)]
"""Text such as "5ns/m", as picoseconds per metre."""


def parse_hosts(value: object) -> tuple[int, ...] | None:
    """Read the hosts of a job's ranks, in rank order.

    Args:
        value: "all", ranges such as "0-7" or "0,1,4-7", or a list of numbers.

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
        raise UnitError(_show(value), _HOSTS_ALLOWED, hint)
    hosts: list[int] = []
    for part in value.split(","):
        hosts.extend(_host_range(part, value))
        if len(hosts) > HOSTS_MAX:
            raise UnitError(f'more than {HOSTS_MAX} hosts in "{value[:40]}"', _HOSTS_ALLOWED)
    return tuple(hosts)


def _host(item: object) -> int:
    """Check one host of a list."""
    if type(item) is not int or not 0 <= item < HOSTS_MAX:
        raise UnitError(f"{_show(item)} in the list", f"host numbers, 0 to {HOSTS_MAX - 1}")
    return item


def _host_range(part: str, whole: str) -> range:
    """Read "3" or "0-7"."""
    match = _HOSTS.fullmatch(part)
    if match is None:
        raise UnitError(f"{_show(part.strip())} in {_show(whole)}", _HOSTS_ALLOWED)
    first, last = int(match[1]), int(match[2] or match[1])
    if last < first:
        hint = 'ranks in another order than the hosts\' are listed one by one, such as "3,2,1,0"'
        raise UnitError(f'"{part.strip()}", which runs backwards', "ranges from low to high", hint)
    if last >= HOSTS_MAX:
        raise UnitError(f"host {last}", f"host numbers, 0 to {HOSTS_MAX - 1}")
    return range(first, last + 1)


def _show(value: Any) -> str:
    """Quote text and shorten everything in an error."""
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


Hosts = Annotated[
    tuple[int, ...] | None,
    BeforeValidator(parse_hosts),
    WithJsonSchema(
        {
            "anyOf": [
                {"const": "all"},
                {"type": "string", "pattern": r"^\s*\d+\s*(-\s*\d+\s*)?(,\s*\d+\s*(-\s*\d+\s*)?)*$"},
                {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 2},
            ],
            "examples": ["0-7", "0,1,6,7", [3, 2, 1, 0]],
        }
    ),
]
"""Hosts in rank order, or none for all of them."""
