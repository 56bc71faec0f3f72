"""Result of drawing functions: a Plotly figure with its caption; converts it to JSON for HTML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fabricbench.figures.scales import TimeScale
from fabricbench.figures.theme import TEMPLATE

if TYPE_CHECKING:
    import plotly.graph_objects as go


@dataclass(frozen=True)
class Plot:
    """A figure with its caption.

    Attributes:
        figure: The figure; its layout has a height and no width.
        caption: Content of the figure and, for a reduced one, the omitted data and the rule of selection.
        reduced: Whether something was left out.
        time_scale: Unit of the horizontal axis, if it is the time of the run.
    """

    figure: go.Figure
    caption: str
    reduced: bool = False
    time_scale: TimeScale | None = None

    def __post_init__(self) -> None:
        self.figure.layout.template = TEMPLATE

    def json(self) -> str:
        """Return the figure as JSON for an HTML `script` element, without any `<`."""
        text: str = self.figure.to_json(validate=False)
        return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
