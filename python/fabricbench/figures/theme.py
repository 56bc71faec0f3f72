"""Colours, axes and the common layout of every plot.

People with colour vision deficiency can distinguish the colours: categories are those of Okabe and Ito
(2008), with the lightest three darkened; scales darken monotonically, so they also work in black and white. A
line has a contrast of at least 3 to its background (WCAG 2.2, 1.4.11), also if a dark page inverts it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import Any, Final

from fabricbench.words import data_size

_PALETTE: Final = json.loads((files("fabricbench.figures") / "palette.json").read_text(encoding="utf-8"))
"""The colours that the web application uses as well."""
INK: Final[str] = _PALETTE["ink"]
MUTED: Final[str] = _PALETTE["muted"]
GRID: Final[str] = _PALETTE["grid"]
LINE = "#aab4bf"
IDEAL = MUTED

CATEGORIES: Final[tuple[str, ...]] = tuple(_PALETTE["categories"])
"""Category colours; after the last they repeat darker, then darker still."""
FAILED = CATEGORIES[1]
PUBLISHED_MARK = {"symbol": "x-thin", "size": 9, "line": {"width": 2, "color": CATEGORIES[1]}}
"""Cross of a published value, as a Plotly marker."""

_SHADES = (0.0, 0.4, 0.7)
"""Fraction of ink mixed into the colours at each repetition of a list."""
_CURVES = (0, 2, 4, 6, 3, 5, 7)

USE_SCALE = ((0.0, "#dbe4ec"), (0.25, "#a6bddb"), (0.5, "#5f8fc6"), (0.75, "#5d3fa0"), (1.0, "#3b0050"))
"""Link use from idle to busy, as (position, colour)."""

ORDER_SCALE = ((0.0, "#6aa05a"), (0.33, "#2f8a86"), (0.66, "#2a6a9e"), (1.0, "#371f5e"))
"""Scale for ordered things (sizes, steps, ranks), first to last."""

_LOGARITHMIC_FROM = 4
_MAX_DECADES_IN_FULL = 6
_MARGIN = 0.03
_SPACE_BELOW = "<br><span style='font-size:5px'>\u00a0</span>"

_AXIS: Final = {"automargin": True, "ticks": "", "title": {"standoff": 15}, "zerolinewidth": 2}
TEMPLATE: Final[dict[str, Any]] = {
    "layout": {
        "autotypenumbers": "strict",
        "hovermode": "closest",
        "hoverlabel": {"align": "left"},
        "annotationdefaults": {"arrowhead": 0, "arrowwidth": 1},
        "coloraxis": {"colorbar": {"outlinewidth": 0, "ticks": ""}},
        "xaxis": _AXIS,
        "yaxis": _AXIS,
    }
}
"""Defaults of every figure. Those of Plotly's own template are 7 KB, in each figure again."""

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def category(index: int) -> str:
    """Return the colour of the category numbered `index`."""
    return _shade(CATEGORIES[index % len(CATEGORIES)], index // len(CATEGORIES))


def curve(index: int) -> str:
    """Return the colour of the curve numbered `index`, never that of published values, `CATEGORIES[1]`."""
    return _shade(CATEGORIES[_CURVES[index % len(_CURVES)]], index // len(_CURVES))


def _shade(colour: str, turn: int) -> str:
    """Return a colour darkened by how often its list was repeated: unchanged, darker, darker still."""
    share = _SHADES[turn % len(_SHADES)]
    return colour_at(((0.0, colour), (1.0, INK)), share) if share else colour


def job_colours(jobs: Sequence[str]) -> dict[str, str]:
    """Return the colour of each job of a plan: the same in every figure, in any drawing order."""
    return {job: category(index) for index, job in enumerate(jobs)}


def order_colours(count: int) -> list[str]:
    """Return `count` colours along `ORDER_SCALE`, first to last; a single one is a clearly visible colour."""
    if count == 1:
        return [category(0)]
    return [colour_at(ORDER_SCALE, index / max(1, count - 1)) for index in range(count)]


def colour_at(scale: tuple[tuple[float, str], ...], position: float) -> str:
    """Return the colour at `position` (0 to 1) of a scale, by linear interpolation of its stops."""
    position = min(1.0, max(0.0, position))
    upper = next(index for index, stop in enumerate(scale) if stop[0] >= position)
    if upper == 0:
        return scale[0][1]
    (low, low_colour), (high, high_colour) = scale[upper - 1], scale[upper]
    share = (position - low) / (high - low)
    mixed = [
        round(a + (b - a) * share) for a, b in zip(_channels(low_colour), _channels(high_colour), strict=True)
    ]
    return "#" + "".join(f"{value:02x}" for value in mixed)


def transparent(colour: str, opacity: float) -> str:
    """Return a colour with an opacity of 0 to 1, for areas."""
    return f"rgba({', '.join(map(str, _channels(colour)))}, {opacity})"


def axis(title: str, **more: Any) -> dict[str, Any]:
    """Return the settings of an axis; `title` names the quantity and its unit."""
    return {
        "title": {"text": title, "standoff": 8, "font": {"size": 12.5, "color": MUTED}},
        "gridcolor": GRID,
        "zeroline": False,
        "linecolor": LINE,
        "ticks": "outside",
        "tickcolor": LINE,
        "ticklen": 4,
        "automargin": True,
        **more,
    }


def time_axis(unit: str, **more: Any) -> dict[str, Any]:
    """Return the settings of an axis of the time since the start of the run."""
    return axis(f"time since the start of the run ({unit})", **more)


_MAX_STRAIGHT: Final = 6
"""Maximum size labels that fit horizontally on the narrowest plot."""


def size_axis(title: str, sizes_bytes: Iterable[int], **more: Any) -> dict[str, Any]:
    """Return the settings of a logarithmic axis with a label for each size."""
    sizes = sorted(set(sizes_bytes))
    return axis(title, type="log", **size_ticks(sizes), **more)


def size_ticks(sizes_bytes: Sequence[int]) -> dict[str, Any]:
    """Return the ticks of an axis with a label for each size; long lists of labels are slanted."""
    names = [data_size(size) for size in sizes_bytes]
    return {"tickvals": sizes_bytes, "ticktext": names, "tickangle": -45 if len(names) > _MAX_STRAIGHT else 0}


def spread_axis(title: str, low: float, high: float) -> dict[str, Any]:
    """Return the settings of an axis from `low` to `high`: logarithmic if the range is wide."""
    if low <= 0 or high < _LOGARITHMIC_FROM * low:
        margin = _MARGIN * (high - low or high)
        return axis(title, range=[low - margin, high + margin])
    first, last = math.log10(low), math.log10(high)
    decades = range(math.floor(first), math.ceil(last) + 1)
    factors = (1, 2, 5) if len(decades) <= _MAX_DECADES_IN_FULL else (1,)
    ticks = [float(f"{factor}e{decade}") for decade in decades for factor in factors]
    labels = [f"{tick:,.10g}" for tick in ticks]
    margin = _MARGIN * (last - first)
    edges = [first - margin, last + margin]
    return axis(f"{title}, logarithmic", type="log", tickvals=ticks, ticktext=labels, range=edges)


def layout(*, height: int, **more: Any) -> dict[str, Any]:
    """Return the common layout of a plot of `height` [px]; its width is that of the page."""
    return {
        "height": height,
        "autosize": True,
        "margin": margin(),
        "font": {"family": FONT, "size": 12.5, "color": INK},
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "colorway": list(CATEGORIES),
        "hoverlabel": {"bgcolor": "white", "bordercolor": LINE, "font": {"color": INK, "size": 12.5}},
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": LINE, "activecolor": INK},
        "legend": {"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0, "font": {"size": 12}},
        **more,
    }


def margin(*, l: int = 64, r: int = 16, t: int = 32, b: int = 52) -> dict[str, int]:  # noqa: E741
    """Return the margins of a plot [px], with Plotly's names; a legend needs more space at the top."""
    return {"l": l, "r": r, "t": t, "b": b}


def colour_bar(title: str, **more: Any) -> dict[str, Any]:
    """Return the settings of a colour bar to the right of a plot; `<br>` breaks the title above it."""
    return {
        "title": {"text": f"{title}{_SPACE_BELOW}", "side": "top", "font": {"size": 12, "color": MUTED}},
        "thickness": 12,
        "outlinewidth": 0,
        "tickfont": {"size": 11.5},
        "x": 1.01,
        "xpad": 4,
        **more,
    }


def use_colours(**bar: Any) -> dict[str, Any]:
    """Return a colour scale for link use [%] with its bar, for a colour axis or a marker."""
    return {
        "cmin": 0,
        "cmax": 100,
        "colorscale": plotly_scale(USE_SCALE),
        "colorbar": colour_bar("link<br>use (%)", **bar),
    }


def plotly_scale(scale: tuple[tuple[float, str], ...]) -> list[list[float | str]]:
    """Return a scale in Plotly's format."""
    return [[position, colour] for position, colour in scale]


def _channels(colour: str) -> tuple[int, int, int]:
    """Return red, green and blue (0 to 255) of a colour `#rrggbb`."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
