"""Quantities with units: what is read, what is refused and how, and that reading inverts writing."""

import contextlib
import re
from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from fabricbench import units
from fabricbench.units import QUANTITY_MAX, Dimension, UnitError

Parse = Callable[[object], int]
Write = Callable[[int], str]
QUANTITIES = st.integers(min_value=0, max_value=QUANTITY_MAX)


@pytest.mark.parametrize(
    ("parse", "text", "expected"),
    [
        (units.parse_rate, "400Gbps", 400 * 10**9),
        (units.parse_rate, "1.6 Tbps", 1_600_000_000_000),
        (units.parse_size, "16MB", 16 * 2**20),
        (units.parse_size, "16MiB", 16 * 2**20),
        (units.parse_size, "1.5KB", 1536),
        (units.parse_size, 4096, 4096),
        (units.parse_size, "1_000", 1000),
        (units.parse_time, "2us", 2_000_000),
        (units.parse_time, "2 \u00b5s", 2_000_000),
        (units.parse_time, "2\u03bcs", 2_000_000),
        (units.parse_time, "67.108864ms", 67_108_864_000),
        (units.parse_time, 0, 0),
        (units.parse_time, "0", 0),
        (units.parse_length, "30m", 30_000),
        (units.parse_length, "0.5m", 500),
        (units.parse_propagation, "5ns/m", 5000),
        (units.parse_propagation, "4.9us/km", 4900),
    ],
)
def test_quantities_are_read_into_whole_base_units(parse: Parse, text: object, expected: int) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("parse", "value", "found", "hint"),
    [
        (units.parse_rate, "400GB", '"400GB", which is a size', ""),
        (units.parse_rate, "400gbs", '"400gbs" with the unknown unit "gbs"', 'did you mean "Gbps"?'),
        (units.parse_size, "16 Gb/s", '"16 Gb/s", which is a rate', ""),
        (units.parse_rate, 400, "400, which has no unit", 'write the unit, such as "400Gbps"'),
        (units.parse_size, "16Mb", '"16Mb" with the unknown unit "Mb"', 'did you mean "MB"?'),
        (units.parse_size, "0.3B", '"0.3B", which is no whole number of bytes', ""),
        (units.parse_size, "1.0001KB", '"1.0001KB", which is no whole number of bytes', ""),
        (units.parse_size, -1, "-1, which is negative", ""),
        (units.parse_size, "-16MB", '"-16MB", which is negative', ""),
        (units.parse_size, True, "true", ""),
        (units.parse_size, 1.5, "1.5", ""),
        (units.parse_size, None, "nothing", ""),
        (units.parse_size, {}, "a mapping", ""),
        (units.parse_size, [1], "a list", ""),
        (units.parse_size, "", '""', ""),
        (units.parse_size, "MB", '"MB"', ""),
        (units.parse_size, "1e9", '"1e9"', ""),
        (units.parse_size, "\u0661MB", '"\u0661MB"', ""),
        (units.parse_size, 2**63, "a number above 2^63 - 1", ""),
        (units.parse_size, "9999999999TB", '"9999999999TB", which is above 2^63 - 1 bytes', ""),
        (units.parse_size, "9" * 100, '"' + "9" * 60 + "...", ""),
        (units.parse_time, "30m", '"30m", which is a length', ""),
        (units.parse_time, "5", '"5", which has no unit', 'write the unit, such as "5us"'),
        (units.parse_length, "30s", '"30s", which is a time', ""),
        (units.parse_propagation, "5ns", '"5ns", which is a time', ""),
    ],
)
def test_what_is_no_such_quantity_is_named(parse: Parse, value: object, found: str, hint: str) -> None:
    with pytest.raises(UnitError) as caught:
        parse(value)
    assert (caught.value.found, caught.value.hint) == (found, hint)
    assert "such as" in caught.value.allowed


@pytest.mark.parametrize(
    ("parse", "write"),
    [
        (units.parse_rate, units.format_rate),
        (units.parse_size, units.format_size),
        (units.parse_time, units.format_time),
        (units.parse_length, units.format_length),
        (units.parse_propagation, units.format_propagation),
    ],
)
@given(value=QUANTITIES | st.integers(0, 63).map(lambda power: 2**power - 1))
def test_writing_is_exact(parse: Parse, write: Write, value: int) -> None:
    assert parse(write(value)) == value


@given(
    value=st.integers(0, 10**6), dimension=st.sampled_from([units.RATE, units.SIZE, units.TIME, units.LENGTH])
)
def test_the_pattern_of_the_schema_takes_what_the_parser_takes(value: int, dimension: Dimension) -> None:
    for unit, scale in dimension.units.items():
        text = f"{value}{unit}"
        assert re.search(dimension.pattern, text)
        assert units.parse(text, dimension) == value * scale


@given(text=st.text(max_size=80))
def test_any_text_is_a_quantity_or_a_unit_error(text: str) -> None:
    for dimension in (units.RATE, units.SIZE, units.TIME, units.LENGTH, units.PROPAGATION):
        with contextlib.suppress(UnitError):
            assert 0 <= units.parse(text, dimension) <= QUANTITY_MAX


@pytest.mark.parametrize(
    ("write", "value", "expected"),
    [
        (units.format_size, 214_748_364_800, "200GB"),
        (units.format_size, 1536, "1536B"),
        (units.format_time, 67_108_864_000, "67.108864ms"),
        (units.format_rate, 0, "0bps"),
        (units.human_size, 2_000_000, "1.91 MB"),
        (units.human_size, 1_048_500, "1 MB"),
        (units.human_size, 1020 * 2**20, "1020 MB"),
        (units.human_size, 0, "0 B"),
        (units.human_time, 155_325_000_000, "155.3 ms"),
        (units.human_time, 999_999_999, "1 ms"),
        (units.human_rate, 392_149_600_000, "392 Gbps"),
    ],
)
def test_quantities_are_written_for_people(write: Write, value: int, expected: str) -> None:
    assert write(value) == expected
