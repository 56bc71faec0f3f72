"""Quantities with units: the one parser and formatter of "400Gbps", "16MB", "2us", "30m", "5ns/m", "50%".

Every quantity is a whole number of one base unit: rates in bit/s, sizes in bytes, times in picoseconds,
lengths in millimetres, propagation in picoseconds per metre, shares in parts per million. Sizes count in
powers of 1024, as nccl-tests does: 1 KB is 1024 bytes, and KiB means the same. Rates count in powers of 1000,
as every port speed does.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Final

QUANTITY_MAX: Final = 2**63 - 1
"""Largest quantity in its base unit: the largest value of a signed 64-bit column."""

_TEXT_LENGTH_MAX: Final = 64
_QUANTITY = re.compile(r"([+-]?)([0-9][0-9_]*)(?:\.([0-9]+))?\s*([A-Za-z\u00b5/%]*)", re.ASCII)
_LETTERS: Final = frozenset("kKMGT")
"""Prefixes that are valid in place of a unit, for rates and for sizes."""
_GREEK_MU, _MICRO_SIGN = "\u03bc", "\u00b5"


class UnitError(ValueError):
    """Text or a value that is not the quantity expected.

    Attributes:
        found: The actual text or value, in words.
        allowed: The allowed values, in words.
        hint: A correction, or an empty string.
    """

    def __init__(self, found: str, allowed: str, hint: str = "") -> None:
        super().__init__(f"found {found}; allowed: {allowed}")
        self.found = found
        self.allowed = allowed
        self.hint = hint


@dataclass(frozen=True)
class Dimension:
    """A kind of quantity.

    Attributes:
        name: Name of the quantity, with its article.
        base: Its base unit in the plural.
        units: Size of each unit in base units, ascending; the first of equal units is used for output.
        also: Other spellings of units, each with its size.
        example: A quantity as a user writes it.
        bare: Whether a number without a unit counts base units; if not, only 0 needs no unit.
    """

    name: str
    base: str
    units: dict[str, int]
    example: str
    bare: bool = False
    also: Mapping[str, int] = field(default_factory=dict)

    def size(self, unit: str) -> int | None:
        """Return the size of a unit in base units; none if there is no such unit."""
        return self.units.get(unit) or self.also.get(unit)

    @property
    def allowed(self) -> str:
        """The allowed text, in words."""
        distinct = [unit for unit, _ in reversed(_descending(self))]
        bare = f"a whole number of {self.base}, or " if self.bare else ""
        return f'{bare}{self.name} such as "{self.example}", in {", ".join(distinct)}'

    @property
    def pattern(self) -> str:
        """The regular expression of the text form, for a JSON Schema."""
        units = "|".join({**self.units, **self.also})
        return rf"^\s*\+?[0-9][0-9_]*(\.[0-9]+)?\s*({units}){'?' if self.bare else ''}\s*$"


RATE: Final = Dimension(
    "a rate",
    "bit/s",
    {"bps": 1, "kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9, "Tbps": 10**12},
    "400Gbps",
    also={"b/s": 1, "bit/s": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
    | {
        prefix + suffix: 10**power
        for power, prefixes in ((3, "kK"), (6, "mM"), (9, "gG"), (12, "tT"))
        for prefix in prefixes
        for suffix in ("bps", "b/s", "bit/s")
    }
    | {
        prefix + suffix: 8 * factor
        for prefix, factor in (
            *(("", 1), ("k", 10**3), ("K", 10**3), ("M", 10**6), ("G", 10**9), ("T", 10**12)),
            *(("Ki", 2**10), ("Mi", 2**20), ("Gi", 2**30), ("Ti", 2**40)),
        )
        for suffix in ("B/s", "Bps")
    },
)
"""GB/s are 8 Gbps, as nccl-tests and data sheets count; MB and GB of sizes are powers of two."""
SIZE: Final = Dimension(
    "a size",
    "bytes",
    {"B": 1}
    | {
        prefix + suffix: 2**power
        for power, prefix in ((10, "K"), (20, "M"), (30, "G"), (40, "T"))
        for suffix in ("B", "iB")
    },
    "16MB",
    bare=True,
    also={"kB": 2**10, "k": 2**10, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40},
)
TIME: Final = Dimension(
    "a time",
    "picoseconds",
    {"ps": 1, "ns": 10**3, "us": 10**6, _MICRO_SIGN + "s": 10**6, "ms": 10**9, "s": 10**12},
    "2us",
    also={"nsec": 10**3, "usec": 10**6, "msec": 10**9, "sec": 10**12},
)
LENGTH: Final = Dimension("a length", "millimetres", {"mm": 1, "cm": 10, "m": 10**3, "km": 10**6}, "30m")
PROPAGATION: Final = Dimension(
    "a propagation delay", "ps/m", {"ps/m": 1, "ns/m": 10**3, "us/km": 10**3}, "5ns/m"
)
SHARE: Final = Dimension("a share", "parts per million", {"ppm": 1, "%": 10**4}, "50%")

_DIMENSIONS: Final = (RATE, SIZE, TIME, LENGTH, PROPAGATION, SHARE)


def parse_rate(value: object) -> int:
    """Read a rate such as "400Gbps" into bit/s.

    Raises:
        UnitError: It is not a rate, or not a whole number of bit/s.
    """
    return parse(value, RATE)


def parse_size(value: object) -> int:
    """Read a size such as "16MB" (16 * 2^20 bytes), or a whole number of bytes, into bytes.

    Raises:
        UnitError: It is not a size, or not a whole number of bytes.
    """
    return parse(value, SIZE)


def parse_time(value: object) -> int:
    """Read a time such as "2us" into picoseconds.

    Raises:
        UnitError: It is not a time, or not a whole number of picoseconds.
    """
    return parse(value, TIME)


def parse_length(value: object) -> int:
    """Read a length such as "30m" into millimetres.

    Raises:
        UnitError: It is not a length, or not a whole number of millimetres.
    """
    return parse(value, LENGTH)


def parse_propagation(value: object) -> int:
    """Read a propagation delay such as "5ns/m" into picoseconds per metre.

    Raises:
        UnitError: It is not a propagation delay, or not a whole number of ps/m.
    """
    return parse(value, PROPAGATION)


def parse_share(value: object) -> int:
    """Read a share such as "50%" into parts per million.

    Raises:
        UnitError: It is not a share, or not a whole number of parts per million.
    """
    return parse(value, SHARE)


def parse(value: object, dimension: Dimension) -> int:
    """Read a quantity of a dimension into its base unit.

    Args:
        value: Text such as "16MB", or a number if the dimension allows one without unit.
        dimension: The expected dimension.

    Raises:
        UnitError: It is something else, is negative, is no whole number of the base unit, or is above
            `QUANTITY_MAX`.
    """
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise UnitError(describe(value), dimension.allowed)
    text = (
        _integer_text(value, dimension)
        if isinstance(value, int)
        else value.strip().replace(_GREEK_MU, _MICRO_SIGN)
    )
    match = _QUANTITY.fullmatch(text) if len(text) <= _TEXT_LENGTH_MAX else None
    if match is None:
        raise UnitError(describe(value), dimension.allowed)
    sign, whole, fraction, unit = match.groups(default="")
    digits = int(whole + fraction)
    if sign == "-" and digits:
        raise UnitError(f"{describe(value)}, which is negative", dimension.allowed)
    scale = _unit_scale(unit, value, dimension, is_zero=digits == 0)
    return _whole(digits * scale, 10 ** len(fraction), value, dimension)


def _integer_text(value: int, dimension: Dimension) -> str:
    """Format an integer in full, unless it is too large."""
    if abs(value) > QUANTITY_MAX:
        raise UnitError("a number above 2^63 - 1", dimension.allowed)
    return str(value)


def _unit_scale(unit: str, value: object, dimension: Dimension, *, is_zero: bool) -> int:
    """Return the size of `unit` in base units."""
    scale = dimension.size(unit)
    if scale is not None:
        return scale
    if not unit and (dimension.bare or is_zero):
        return 1
    if not unit:
        hint = f'write the unit, such as "{value}{dimension.example.lstrip("0123456789")}"'
        raise UnitError(f"{describe(value)}, which has no unit", dimension.allowed, hint)
    for other in _DIMENSIONS:
        if other.size(unit) is not None and unit not in _LETTERS:
            raise UnitError(f"{describe(value)}, which is {other.name}", dimension.allowed)
    actual = f'{describe(value)} with the unknown unit "{unit}"'
    raise UnitError(actual, dimension.allowed, _unit_hint(unit, dimension))


def _unit_hint(unit: str, dimension: Dimension) -> str:
    """Return a hint to the unit that was probably intended."""
    by_case = {name.lower(): name for name in reversed(dimension.units)}
    close = get_close_matches(unit.lower(), by_case, n=1)
    return f'did you mean "{by_case[close[0]]}"?' if close else ""


def _whole(numerator: int, denominator: int, value: object, dimension: Dimension) -> int:
    """Return the quotient, which must be a whole number of base units."""
    quotient, remainder = divmod(numerator, denominator)
    if remainder:
        actual = f"{describe(value)}, which is no whole number of {dimension.base}"
        raise UnitError(actual, dimension.allowed)
    if quotient > QUANTITY_MAX:
        raise UnitError(f"{describe(value)}, which is above 2^63 - 1 {dimension.base}", dimension.allowed)
    return quotient


def describe(value: object) -> str:
    """Return a value as text for an error, shortened, and in quotes if it is text."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping | list | tuple):
        return "a mapping" if isinstance(value, Mapping) else "a list"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= _TEXT_LENGTH_MAX else f"{text[: _TEXT_LENGTH_MAX - 3]}..."


def format_rate(rate_bps: int) -> str:
    """Format a rate exactly, such as "400Gbps"; `parse_rate` reads it back."""
    return _format_decimal(rate_bps, RATE)


def format_size(size_bytes: int) -> str:
    """Format a size exactly in the largest unit that divides it, such as "16MB"; `parse_size` reads it."""
    unit, scale = next((unit, scale) for unit, scale in _descending(SIZE) if size_bytes % scale == 0)
    return f"{size_bytes // scale}{unit}" if size_bytes else "0B"


def format_time(time_ps: int) -> str:
    """Format a time exactly, such as "67.108864ms"; `parse_time` reads it back."""
    return _format_decimal(time_ps, TIME)


def format_length(length_mm: int) -> str:
    """Format a length exactly, such as "30m"; `parse_length` reads it back."""
    return _format_decimal(length_mm, LENGTH)


def format_propagation(propagation_ps_per_m: int) -> str:
    """Format a propagation delay exactly, such as "5ns/m"; `parse_propagation` reads it back."""
    return _format_decimal(propagation_ps_per_m, PROPAGATION)


def format_share(share_ppm: int) -> str:
    """Format a share exactly, such as "50%"; `parse_share` reads it back."""
    return _format_decimal(share_ppm, SHARE)


def human_size(size_bytes: int, digits: int = 3) -> str:
    """Format a size for a table, such as "16 MB" or "1.91 MB" (powers of 1024), to `digits` digits."""
    return _human(size_bytes, SIZE, digits)


def human_rate(rate_bps: int, digits: int = 3) -> str:
    """Format a rate for a table, such as "400 Gbps", rounded to `digits` significant digits."""
    return _human(rate_bps, RATE, digits)


def human_time(time_ps: int, digits: int = 4) -> str:
    """Format a time for a table, such as "155.3 ms", rounded to `digits` significant digits."""
    return _human(time_ps, TIME, digits)


def _descending(dimension: Dimension) -> list[tuple[str, int]]:
    """Return the units from the largest down, one name for each size."""
    first_names = {scale: unit for unit, scale in reversed(dimension.units.items())}
    return [(unit, scale) for scale, unit in sorted(first_names.items(), reverse=True)]


def _largest_unit(value: int, dimension: Dimension) -> tuple[str, int]:
    """Return the largest unit that is at most `value`."""
    units = _descending(dimension)
    return next(((unit, scale) for unit, scale in units if value >= scale), units[-1])


def _format_decimal(value: int, dimension: Dimension) -> str:
    """Format a quantity exactly in the largest unit that is at most its value."""
    unit, scale = _largest_unit(value, dimension)
    whole, rest = divmod(value, scale)
    # Decimal units are powers of ten, so the fraction ends after as many digits as the unit has zeros.
    fraction = str(rest).zfill(len(str(scale)) - 1).rstrip("0") if rest else ""
    return f"{whole}.{fraction}{unit}" if fraction else f"{whole}{unit}"


def _human(value: int, dimension: Dimension, digits: int) -> str:
    """Round to significant digits, but not below whole units, in the most readable unit."""
    units = _descending(dimension)
    unit, scale = _largest_unit(value, dimension)
    unit_index = units.index((unit, scale))
    # Rounding may reach the next unit: 1023.9 KB is 1 MB, not 1024 KB.
    if unit_index and _significant(value / scale, digits) * scale >= units[unit_index - 1][1]:
        unit, scale = units[unit_index - 1]
    return f"{_significant(value / scale, digits):.{digits}f}".rstrip("0").rstrip(".") + f" {unit}"


def _significant(value: float, digits: int) -> float:
    """Round to `digits` digits, but never before the decimal point."""
    return round(value, max(0, digits - len(str(int(value)))))
