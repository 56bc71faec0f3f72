"""Route for Plotly's JavaScript library, from the Python package plotly that makes the figures."""

from __future__ import annotations

from importlib.resources import as_file, files

from fastapi import APIRouter, Response
from fastapi.responses import FileResponse

router = APIRouter(include_in_schema=False)


@router.get("/vendor/plotly.min.js")
def plotly_script() -> Response:
    """Serve the script; a browser keeps it for a day."""
    with as_file(files("plotly") / "package_data" / "plotly.min.js") as path:
        return FileResponse(
            path, media_type="text/javascript", headers={"Cache-Control": "public, max-age=86400"}
        )
