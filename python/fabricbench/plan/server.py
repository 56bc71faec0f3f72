"""Reads servers with GPUs that users name: shipped ones, and files; see `fabricbench.plan.fabric.server`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from fabricbench.plan.document.document import Document, read_file
from fabricbench.plan.document.overrides import Written, put
from fabricbench.plan.document.shipped import NO_FILE, find_named
from fabricbench.plan.document.validate import read_model
from fabricbench.plan.errors import PlanError
from fabricbench.plan.fabric.server import Server, server_problems, shipped_servers
from fabricbench.words import one_line

_FIELD: Final = ("fabric", "server")
_SUFFIXES: Final = (".yaml", ".yml")


def load_server(name: str) -> Server:
    """Return the server that a user names: a shipped one, or a file.

    Raises:
        PlanError: There is no such server, or its file has errors.
    """
    shipped = shipped_servers()
    path, source = find_named(name, shipped, "server", f"shipped are: {', '.join(shipped)}")
    document = read_file(path, source)
    server = read_model(document, Server)
    _check(server, document)
    return server


def _check(server: Server, document: Document) -> None:
    problems = list(server_problems(server))
    if problems:
        raise PlanError(document.problems(problems))


def with_server(document: Document, plan_path: Path) -> Document:
    """Return a plan, or a variant of one, with the server of the file that it names in place of the name.

    Raises:
        PlanError: The file is not next to the plan, or has errors.
    """
    name = document.value(_FIELD)
    if not isinstance(name, str) or not name.endswith(_SUFFIXES):
        return document  # shipped ones are read with the fields
    actual = f'"{one_line(name, 200)}"'
    if plan_path == NO_FILE or "\0" in name:
        hint = "write its values into the plan, or run the plan from a file"
        raise PlanError([document.problem(_FIELD, f"{actual} of a plan that is no file", "a file", hint)])
    path = plan_path.parent / name
    if not path.is_file():
        allowed = f"a file next to the plan, or {', '.join(shipped_servers())}"
        raise PlanError([document.problem(_FIELD, f"no file {actual}", allowed)])
    load_server(str(path))
    written = Written(read_file(path, str(path)).data, document.place(_FIELD), "{} {}")
    return put(document, list(_FIELD), written)
