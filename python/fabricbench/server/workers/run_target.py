"""Determines where a requested run or check executes: on the plan's backend or the hosts of a file.

Checks the request, and locates errors in the plan or the request. A request may also ask for a prediction of
each trial by the simulator.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fabricbench.backend.protocol import BackendError, RefusedError
from fabricbench.backend.registry import BACKENDS
from fabricbench.plan.errors import FieldPath, Place, PlanError, Problem
from fabricbench.plan.load import document_of
from fabricbench.plan.loaded_plan import LoadedPlan

_HOSTS: Final = "hosts"
"""Name of the request field and of the backend setting that hold a file of hosts."""
_REQUEST: Final = "the request"
"""Source named in errors about request fields outside the plan."""


@dataclass(frozen=True)
class RunTarget:
    """Run target of a request: file of hosts and choice of predictions, the fields next to the plan.

    Attributes:
        hosts: Name of the file of hosts; none if it names none.
        files: Backend settings for the hosts of each file of the server, by the name of the file.
        twin: Whether each trial is to be predicted first.
    """

    hosts: str | None
    files: Mapping[str, Mapping[str, Any]]
    twin: bool

    def settings(self, loaded: LoadedPlan) -> Mapping[str, Any]:
        """Return the backend settings for a plan.

        Raises:
            PlanError: The file of hosts is unknown, or that backend uses none.
        """
        if self.hosts is None:
            return {}
        backend = loaded.plan.backend
        if not _takes_hosts(backend):
            suitable = next(name for name in sorted(BACKENDS) if _takes_hosts(name))
            mismatch = f'"{self.hosts}", and backend {backend}, which runs on no hosts'
            raise PlanError(
                [self._problem(mismatch, f"backend {suitable}", f'set `backend` to "{suitable}"')]
            )
        if self.hosts not in self.files:
            raise PlanError([self._problem(f'"{self.hosts}"', self._names, "GET /api/v1/hosts lists them")])
        return self.files[self.hosts]

    @property
    def _names(self) -> str:
        return ", ".join(sorted(self.files)) or "none: this server was given no file of hosts"

    def problems(self, error: Exception, loaded: LoadedPlan, source: str) -> Iterator[Problem]:
        """Yield the problems of an error, located in the plan called `source` or in the request."""
        document = document_of(loaded)
        if isinstance(error, PlanError):
            for problem in error.problems:
                yield problem if problem.place.source in (source, _REQUEST) else self._in_file(problem)
        elif isinstance(error, RefusedError):
            path = _path_of(error.field)
            hint = error.hint or "the simulator may run it: leave `backend` out"
            yield document.problem(path, self._named(error.found), self._named(error.allowed), hint)
        elif isinstance(error, BackendError):
            hint = self._named(error.hint)
            if self.hosts is None and _takes_hosts(loaded.plan.backend):
                hint = f"name them as `hosts`: {self._names}"
                if not self.files:
                    hint = "have the server know some: `fabricbench serve --hosts hosts.yaml`"
            yield document.problem(("backend",), self._named(error.found), self._named(error.allowed), hint)

    def _in_file(self, problem: Problem) -> Problem:
        """Return a problem in a file of hosts as a problem of the request field that names the file."""
        message = problem.text("error").removeprefix("error: ").partition("\nhint: ")[0]
        return self._problem(f"a mistake in {self._named(message)}", "", problem.hint)

    def _problem(self, actual: str, allowed: str, hint: str) -> Problem:
        return Problem(Place(_REQUEST), _HOSTS, actual, allowed, hint)

    def _named(self, text: str) -> str:
        """Return a text with the name of the file of hosts in place of its path."""
        if self.hosts is not None and self.hosts in self.files:
            text = text.replace(str(self.files[self.hosts][_HOSTS]), self.hosts)
        return text


def _takes_hosts(backend: str) -> bool:
    return _HOSTS in BACKENDS[backend].settings


def _path_of(field: str) -> FieldPath:
    """Return a field of a RunSpec, such as `jobs[0].storage`, as the path of a field of the plan."""
    return tuple(int(part) if part.isdecimal() else part for part in re.findall(r"\w+", field))
