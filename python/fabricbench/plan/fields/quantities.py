"""The types of plan fields: quantities with units, ratios, names and lines of text."""

import re
from fractions import Fraction
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from fabricbench import units
from fabricbench.plan._run_spec import LIMITS
from fabricbench.plan.fields.base import shown
from fabricbench.plan.fields.hosts import HOSTS_MAX
from fabricbench.units import (
    Dimension,
    UnitError as UnitError,  # noqa: PLC0414 -- importing catches it
)

MESSAGE_BYTES_MAX: Final = LIMITS["TransportSpec.message_bytes"][1]
"""Largest RDMA message [bytes] (IBTA 1.7, 9.7.1.1)."""

PRIORITIES: Final = 8
"""Priorities of a port (IEEE 802.1Q)."""
QUANTUM_BYTES: Final = 8 << 10
"""Quantum of a priority for which none is given [bytes]."""
QUANTUM_BYTES_MAX: Final = LIMITS["DwrrSchedulingSpec.quantum_bytes"][1]
"""Largest quantum of a priority [bytes]."""
PPM: Final = 1_000_000
"""The whole, in parts per million."""
BIT_ERROR_SCALE: Final = 10**18
"""Number of bits to which the numerator of a bit error rate refers."""
RATIO_MAX: Final = (1 << 32) - 1
"""Largest numerator and denominator of a ratio."""

HOST_RANKS_MAX: Final = 1024
"""Most ranks of a host."""
ROUNDS_MAX: Final = 1_000_000
"""Most rounds of a job."""

_RATIO = re.compile(r"([+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,2})?)(?:\s*/\s*([0-9]+))?", re.ASCII)
_DECIMAL = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,2})?", re.ASCII)
_RATIO_LENGTH_MAX: Final = 40
_RATIO_ALLOWED: Final = 'a ratio above 0, such as 2, 0.25 or "1/8", of terms below 2^32'


def limits_of(field: str) -> Any:
    """Return the range that the engine has for a whole number, to annotate a field of a plan with.

    Args:
        field: Class and field of the run spec, such as `TransportSpec.window_packets`.
    """
    least, most = LIMITS[field]
    return Field(ge=least, le=most)


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


def parse_rate(value: object) -> int:
    """Read text such as "400Gbps" as bit/s; more than 0."""
    return _positive(value, units.RATE)


def _positive_size(value: object) -> int:
    return _positive(value, units.SIZE)


def parse_duration(value: object) -> int:
    """Read text such as "2us" as picoseconds; more than 0."""
    return _positive(value, units.TIME)


def _part(value: object) -> int:
    share = _positive(value, units.SHARE)
    if share > PPM:
        raise UnitError(shown(value), "more than 0 and at most 100%")
    return share


def parse_line(text: str) -> str:
    """Return text without space around it.

    Raises:
        UnitError: It would break the line of a table.
    """
    text = text.strip()
    if not text.isprintable():
        broken = next(character for character in text if not character.isprintable())
        raise UnitError(f"the character U+{ord(broken):04X}", "one line of text")
    return text


def parse_ratio(value: object) -> Fraction:
    """Read a positive ratio: 2, 0.25 or "5/1024".

    Raises:
        UnitError: It is something else, or its numerator or denominator is above `RATIO_MAX`.
    """
    if isinstance(value, Fraction):
        return value
    text = str(value).strip() if isinstance(value, int | float | str) and not isinstance(value, bool) else ""
    match = _RATIO.fullmatch(text) if len(text) <= _RATIO_LENGTH_MAX else None
    if match is None or int(match[2] or 1) == 0:
        raise UnitError(units.describe(value), _RATIO_ALLOWED)
    ratio = Fraction(match[1]) / int(match[2] or 1)
    if ratio <= 0 or max(ratio.numerator, ratio.denominator) > RATIO_MAX:
        raise UnitError(shown(value), _RATIO_ALLOWED)
    return ratio


def parse_ratio_or_zero(value: object) -> Fraction:
    """Read a ratio from 0: 0, 2, 0.25 or "5/1024".

    Raises:
        UnitError: It is something else, or its numerator or denominator is above `RATIO_MAX`.
    """
    if not isinstance(value, bool) and value in (0, "0"):
        return Fraction(0)
    try:
        return parse_ratio(value)
    except UnitError as error:
        raise UnitError(error.found, f"0, or {error.allowed}", error.hint) from error


def parse_quanta(value: object) -> tuple[int, ...]:
    """Read the quantum of each priority [bytes].

    Args:
        value: A list of 8 sizes, or a mapping from a priority to a size that leaves the others at
            `QUANTUM_BYTES`.

    Raises:
        UnitError: It is something else.
    """
    if isinstance(value, tuple):
        return value
    if isinstance(value, list) and len(value) == PRIORITIES:
        return tuple(_quantum(item) for item in value)
    priority_by_key = {str(priority): priority for priority in range(PRIORITIES)}
    if not isinstance(value, dict) or not value or set(value) - set(priority_by_key):
        actual = f"a list of {len(value)}" if isinstance(value, list) else _show_keys(value)
        allowed = "a list of 8 sizes, or a mapping from priorities 0 to 7 to sizes"
        raise UnitError(actual, allowed)
    quantum_by_priority = {priority_by_key[key]: _quantum(item) for key, item in value.items()}
    return tuple(quantum_by_priority.get(priority, QUANTUM_BYTES) for priority in range(PRIORITIES))


def _show_keys(value: object) -> str:
    """Return a value as text, and a mapping by its keys."""
    return (
        f"the priorities {', '.join(map(str, value))}" if isinstance(value, dict) else units.describe(value)
    )


def _quantum(value: object) -> int:
    size = _positive(value, units.SIZE)
    if size > QUANTUM_BYTES_MAX:
        raise UnitError(shown(value), f"at most {units.format_size(QUANTUM_BYTES_MAX)}")
    return size


def _message_size(value: object) -> int:
    size = _positive(value, units.SIZE)
    if size > MESSAGE_BYTES_MAX:
        raise UnitError(shown(value), f"at most {units.format_size(MESSAGE_BYTES_MAX)}")
    return size


LABEL_LENGTH_MAX = 80
"""Characters of a name or a tag."""
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=LABEL_LENGTH_MAX)]
"""A name that can also be a file name: letters, digits, ".", "_" and "-"."""
Names = Annotated[
    str, Field(pattern=r"^([A-Za-z0-9][A-Za-z0-9._-]*)?\*?$", min_length=1, max_length=LABEL_LENGTH_MAX)
]
"""A name, or the beginning of names and `*`."""
OneLine = Annotated[str, AfterValidator(parse_line)]
"""Text for a cell of a table: one line, without surrounding space."""
Count = Annotated[int, Field(ge=1, le=HOSTS_MAX)]
"""A number of things, at least one."""
Rate = Annotated[int, BeforeValidator(parse_rate), _quantity_schema(units.RATE, 1)]
"""Text such as "400Gbps", as bit/s; more than 0."""
Size = Annotated[int, BeforeValidator(_positive_size), _quantity_schema(units.SIZE, 1)]
"""Text such as "16MB", or a number of bytes, as bytes; more than 0."""
MessageSize = Annotated[int, BeforeValidator(_message_size), _quantity_schema(units.SIZE, 1)]
"""A size of at most `MESSAGE_BYTES_MAX`."""
AnySize = Annotated[int, BeforeValidator(units.parse_size), _quantity_schema(units.SIZE)]
"""Text such as "16MB", or a number of bytes, as bytes; it may be 0."""
Time = Annotated[int, BeforeValidator(units.parse_time), _quantity_schema(units.TIME)]
"""Text such as "2us", as picoseconds."""
Duration = Annotated[int, BeforeValidator(parse_duration), _quantity_schema(units.TIME, 1)]
"""Text such as "2us", as picoseconds; more than 0."""
RateValue = Annotated[int, _quantity_schema(units.RATE, 1)]
"""A rate that `parse_rate` has read, for fields that may also be a name."""
DurationValue = Annotated[int, _quantity_schema(units.TIME, 1)]
"""A time that `parse_duration` has read, for fields that may also be a name."""
Length = Annotated[int, BeforeValidator(units.parse_length), _quantity_schema(units.LENGTH)]
"""Text such as "30m", as millimetres."""
Propagation = Annotated[int, BeforeValidator(units.parse_propagation), _quantity_schema(units.PROPAGATION)]
"""Text such as "5ns/m", as picoseconds per metre."""


Part = Annotated[int, BeforeValidator(_part), _quantity_schema(units.SHARE, 1)]
"""Text such as "20%", as parts per million; more than 0 and at most 100 %."""


def _loss_share(value: object) -> int:
    share = units.parse(value, units.SHARE)
    if share > LIMITS["FrameLossFailureSpec.lost_ppm"][1]:
        hint = "a link that loses more is as good as down"
        raise UnitError(shown(value), "0 to 50%", hint)
    return share


LossShare = Annotated[int, BeforeValidator(_loss_share), _quantity_schema(units.SHARE)]
"""Text such as "0.1%", as parts per million; from 0 to 50 %."""


def parse_bit_error_rate(value: object) -> int:
    """Read a bit error rate such as 1e-12 into wrong bits of 10^18.

    Raises:
        UnitError: It is something else, above 1e-3, or no whole number of 1e-18.
    """
    allowed = "a bit error rate such as 1e-12, from 1e-18 to 1e-3, or 0"
    text = str(value).strip() if isinstance(value, int | float | str) and not isinstance(value, bool) else ""
    if len(text) > _RATIO_LENGTH_MAX or not _DECIMAL.fullmatch(text):
        raise UnitError(units.describe(value), allowed)
    rate = Fraction(text) * BIT_ERROR_SCALE
    if rate > LIMITS["BitErrorsFailureSpec.errors_1e18"][1]:
        raise UnitError(shown(value), allowed, "a link with more errors is as good as down")
    if rate.denominator != 1:
        raise UnitError(f"{shown(value)}, which is no whole number of 1e-18", allowed)
    return int(rate)


BitErrorRate = Annotated[
    int,
    BeforeValidator(parse_bit_error_rate),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": 0, "maximum": 0.001},
                {"type": "string", "pattern": r"^\s*[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?\s*$"},
            ],
            "examples": ["1e-12"],
        }
    ),
]
"""A bit error rate, as wrong bits of 10^18; from 0 to 1e-3."""


def _ratio_schema(least: str, examples: list[Any]) -> WithJsonSchema:
    """Return the schema of a ratio; 0 is allowed with `minimum`, and not with `exclusiveMinimum`."""
    pattern = r"^\s*[0-9]+(\.[0-9]+)?\s*(/\s*[0-9]+)?\s*$"
    number = {"type": "number", "format": "ratio", least: 0}
    text = {"type": "string", "format": "ratio", "pattern": pattern}
    return WithJsonSchema({"anyOf": [number, text], "examples": examples})


Ratio = Annotated[
    Fraction,
    BeforeValidator(parse_ratio),
    _ratio_schema("exclusiveMinimum", [2, 0.25, "5/1024"]),
]
"""A ratio above 0: a number, or text such as "5/1024"."""
RatioOrZero = Annotated[
    Fraction,
    BeforeValidator(parse_ratio_or_zero),
    _ratio_schema("minimum", [0, 0.25, "1023/1024"]),
]
"""A ratio from 0: a number, or text such as "1023/1024"."""
Priority = Annotated[int, limits_of("PrioritySpec.data")]
"""A priority of IEEE 802.1Q."""
DscpValue = Annotated[int, limits_of("DscpSpec.data")]
"""A differentiated services code point (RFC 2474)."""
Priorities = Annotated[tuple[Priority, ...], Field(strict=False, min_length=1)]
"""Priorities to which a setting applies."""


def parse_rounds(value: object) -> int:
    """Read how many rounds a job runs.

    Raises:
        UnitError: It is no whole number from 1 to `ROUNDS_MAX`.
    """
    if type(value) is not int or not 1 <= value <= ROUNDS_MAX:
        actual = shown(value) if type(value) is int else units.describe(value)
        raise UnitError(actual, f"a whole number from 1 to {ROUNDS_MAX}")
    return value
