import math

import pytest

from fabricbench.figures import theme
from fabricbench.figures.scales import byte_count_text, significant, time_scale, time_text


@pytest.mark.parametrize(
    ("time_ps", "text"),
    [
        (0, "0 ps"),
        (999, "999.0 ps"),
        (1000, "1.000 ns"),
        (4_872_000_000, "4.872 ms"),
        (7_798_941_000_000, "7.799 s"),
        (12_345_678_000_000_000, "12,346 s"),
        (None, "–"),
    ],
)
def test_a_time_has_the_unit_that_suits_it(time_ps: int | None, text: str) -> None:
    assert time_text(time_ps) == text


def test_one_scale_serves_a_whole_axis() -> None:
    scale = time_scale(5_000_000_000)
    assert [scale.text(time_ps) for time_ps in (5_000_000_000, 1_000_000)] == ["5.000 ms", "0.001 ms"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.00012345, "0.0001234"), (12.3456, "12.35"), (123_456.7, "123,457"), (-3.5, "-3.500")],
)
def test_whole_digits_are_never_cut(value: float, text: str) -> None:
    assert significant(value) == text


def test_counted_bytes_are_decimal() -> None:
    assert [byte_count_text(count) for count in (999, 1000, 2_129_152)] == ["999 B", "1.000 kB", "2.129 MB"]


def test_a_colour_between_two_stops_is_mixed_and_ends_are_kept() -> None:
    scale = ((0.0, "#000000"), (1.0, "#ff8800"))
    assert [theme.colour_at(scale, at) for at in (-1, 0, 0.5, 1, 2)] == [
        "#000000", "#000000", "#804400", "#ff8800", "#ff8800",
    ]  # fmt: skip


@pytest.mark.parametrize("scale", [theme.USE_SCALE, theme.ORDER_SCALE])
def test_scales_grow_darker_steadily(scale: tuple[tuple[float, str], ...]) -> None:
    def lightness(colour: str) -> float:
        red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    steps = [lightness(theme.colour_at(scale, index / 50)) for index in range(51)]
    assert steps == sorted(steps, reverse=True)


def test_widely_spread_values_get_a_logarithmic_axis_with_all_of_them_in_sight() -> None:
    wide = theme.spread_axis("time (ms)", 0.3, 160)
    assert wide["type"] == "log"
    low, high = wide["range"]
    assert low < math.log10(0.3)
    assert high > math.log10(160)
    narrow = theme.spread_axis("time (ms)", 4.85, 4.86)
    assert "type" not in narrow
    low, high = narrow["range"]
    assert low < 4.85
    assert high > 4.86


def test_one_value_gets_an_axis_with_some_width() -> None:
    low, high = theme.spread_axis("time (ms)", 5, 5)["range"]
    assert low < 5 < high
