"""What a drawing module returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from fabricbench.figures.scales import TimeScale


@dataclass(frozen=True)
class Plot:
    """A figure ready for the page.

    Attributes:
        figure: What is drawn; its layout has a height and no width.
        caption: What it shows and, where not everything is drawn, what was left out and how it was chosen.
        reduced: Whether something was left out.
        time_scale: The unit of the horizontal axis, if that is the time of the run.
    """

    figure: go.Figure
    caption: str
    reduced: bool = False
    time_scale: TimeScale | None = None

    def json(self) -> str:
        """Give the figure as JSON that may stand in an HTML `script` element: no `<` is left in it."""
        text: str = self.figure.to_json(validate=False)
        return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
