"""File of Plotly's JavaScript library that draws our figures in reports and in the web application.

`make build` puts the part of it with the traces in use, a quarter of the whole, next to this module.
A tree without it uses the library of the Python package `plotly`.
"""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

_BUNDLE: Final = Path(__file__).with_name("plotly.min.js")


def plotly_script_file() -> Path:
    """Return the file of the JavaScript library."""
    if _BUNDLE.is_file():
        return _BUNDLE
    with as_file(files("plotly") / "package_data" / "plotly.min.js") as path:
        return path
