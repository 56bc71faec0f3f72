"""Renders a page with the template to one self-contained HTML text, and writes it to a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fabricbench.figures import theme
from fabricbench.figures.plotly_script import plotly_script_file
from fabricbench.report.html.page_parts import Page
from fabricbench.report.output.atomic_files import atomic_file

if TYPE_CHECKING:
    from jinja2 import Environment


def render_page(page: Page) -> str:
    """Render a page as HTML.

    All text is escaped; the figures are JSON without `<`; the style sheet, the script and Plotly are embedded
    once. A content security policy in the page prevents the browser from fetching anything.
    """
    plotly_js = plotly_script_file().read_text(encoding="utf-8").replace("</script", "<\\/script")
    return _environment().get_template("report.html.j2").render(page=page, plotly_js=plotly_js, theme=theme)


def write_page(page: Page, path: Path) -> int:
    """Write a page as an HTML file atomically.

    Returns:
        Size of the file [bytes].

    Raises:
        OutputFileError: The file cannot be written.
    """
    text = render_page(page).encode()
    with atomic_file(path) as stream:
        stream.write(text)
    return len(text)


def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("fabricbench.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
