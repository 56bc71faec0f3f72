"""Plans in Python: load, change fields, read run specs and the estimated time and memory of a run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabricbench.plan.document.shipped import shipped_plans, shipped_titles
from fabricbench.plan.errors import UNKNOWN_KEY, Place, PlanError, Problem, named_as_written
from fabricbench.plan.load import document_of
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.report.output.notebook_cell import plan_cell
from fabricbench.runner import loading
from fabricbench.words import close_match_hint

if TYPE_CHECKING:
    import polars as pl

_SHORT_NAMES = {"data_size": "sweep.data_size"}
"""Field paths of the keywords of `Plan.with_` that are no top-level fields of a plan."""


class Plan:
    """A checked test plan that can be run. It is immutable; `with_` returns a changed copy.

    Attributes:
        name: Its name.
        title: Its title.
        text: Its YAML as it was written.
        overrides: Changes since then, each `FIELD=VALUE` in the form of the command-line option `-s`.
        warnings: Warnings about valid but probably unintended fields.

    Example:
        >>> import fabricbench as fb
        >>> fb.load("jct-alltoall")
        <Plan jct-alltoall: 10 trials, 8 ranks on 8 hosts, data size 16 MB to 8 GB>
    """

    def __init__(self, loaded: LoadedPlan) -> None:
        """Take a loaded plan; `fabricbench.load` returns a `Plan`."""
        self._loaded = loaded
        self.name: str = loaded.plan.name
        self.title: str = loaded.plan.title
        self.text: str = loaded.text
        self.overrides: tuple[str, ...] = loaded.overrides
        self.warnings: tuple[str, ...] = tuple(warning.text("warning") for warning in loaded.warnings)

    def with_(self, changes: Mapping[str, Any] | None = None, /, **fields: Any) -> Plan:
        """Return the plan with some fields changed.

        Args:
            changes: New values by the dotted path of their field, list items by number:
                `{"fabric.topology.spines": 2, "jobs.0.ranks": "0-3"}`.
            **fields: The same for fields at the top of a plan (`seed=7`, `iterations=5`, `tag="lab"`), and
                `data_size` for `sweep.data_size`.

        Values have the types of YAML: numbers, texts such as `"16MB"`, booleans, lists, mappings.

        Raises:
            PlanError: The changed plan cannot be run; the text has the field, its value and the allowed
                values.

        Example:
            >>> import fabricbench as fb
            >>> fb.load("jct-alltoall").with_({"fabric.topology.spines": 4}, data_size=["16MB", "1GB"])
            <Plan jct-alltoall: 2 trials, 8 ranks on 8 hosts, data size 16 MB to 1 GB>
        """
        new_values = {**(changes or {}), **fields}
        texts = {
            name: f"{_SHORT_NAMES.get(name, name)}={_yaml(name, value)}" for name, value in new_values.items()
        }
        try:
            with named_as_written(texts):
                return Plan(loading.reload(self._loaded, list(texts.values())))
        except PlanError as error:
            raise PlanError(_with_short_names(problem) for problem in error.problems) from None

    def sweep(self, fields: Mapping[str, Sequence[Any]]) -> Plan:
        """Return the plan with fields swept: it has a trial for each combination of their values.

        Args:
            fields: Values by the dotted path of their field, or by `data_size`; fields that the plan sweeps
                already keep their values unless they are among these.

        Raises:
            PlanError: The plan cannot be run with one of the values.

        Example:
            >>> import fabricbench as fb
            >>> plan = fb.load("jct-alltoall").with_(data_size="16MB")
            >>> plan.sweep({"fabric.topology.spines": [2, 4], "transport.mtu": [1024, 4096]})
            <Plan jct-alltoall: 4 trials at 4 combinations, 8 ranks on 8 hosts, data size 16 MB>
        """
        swept = dict(document_of(self._loaded).data.get("sweep") or {})
        return self.with_(sweep=swept | {name: list(values) for name, values in fields.items()})

    @property
    def run_specs(self) -> list[dict[str, Any]]:
        """The complete specification of each trial, every default filled in, in the order of the run.

        Example:
            >>> import fabricbench as fb
            >>> fb.load("jct-alltoall").run_specs[0]["transport"]["mtu_bytes"]
            4096
        """
        return [dict(trial.run_spec) for trial in self._loaded.trials]

    @property
    def cost(self) -> str:
        """Estimated cost of all trials, as text: packet-hops, memory, time of one core.

        Example:
            >>> import fabricbench as fb
            >>> fb.load("jct-alltoall").cost.startswith("estimate: ")
            True
        """
        return self._loaded.cost

    @property
    def loaded(self) -> LoadedPlan:
        """The loaded plan, the argument of the runner.

        Example:
            >>> import fabricbench as fb
            >>> fb.load("jct-alltoall").loaded.path.name
            'jct-alltoall.yaml'
        """
        return self._loaded

    def __repr__(self) -> str:
        return f"<Plan {self.name}: {self._loaded.extent}>"

    def _repr_html_(self) -> str:
        """Return the plan as HTML for the cell of a notebook."""
        return plan_cell(self.name, (self.title, self._loaded.extent), self.overrides, self.warnings)


def _yaml(name: str, value: object) -> str:
    """Return the new value of a field as JSON, which is also YAML."""
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        mismatch = f"a value of type {type(value).__name__}: {error}"
        allowed = "numbers, texts, booleans, lists and mappings"
        raise PlanError([Problem(Place(name), "", mismatch, allowed)]) from error


def _with_short_names(problem: Problem) -> Problem:
    """Add a hint at a keyword of `with_` to an unknown field that resembles no field of the plan."""
    if problem.hint or problem.found != UNKNOWN_KEY:
        return problem
    return replace(problem, hint=close_match_hint(problem.place.source, _SHORT_NAMES))


def plans() -> pl.DataFrame:
    """Return the shipped plans: `name`, by which `load` takes it, `title` and `file`.

    Example:
        >>> import fabricbench as fb
        >>> dict(fb.plans().select("name", "title").rows())["jct-alltoall"]
        'All-to-all completion time, 8 ranks, no congestion'
    """
    import polars as pl

    titles = shipped_titles()
    files = [str(path) for path in shipped_plans().values()]
    return pl.DataFrame({"name": list(titles), "title": list(titles.values()), "file": files})


def load(plan: str | Path | Mapping[str, Any]) -> Plan:
    """Load a plan and check it.

    Args:
        plan: A shipped plan's name, a file, or the fields of a plan as a mapping.

    Raises:
        PlanError: The plan cannot be run; the text names every wrong field.

    Example:
        >>> import fabricbench as fb
        >>> fb.load({
        ...     "fabricbench": 1,
        ...     "name": "mine",
        ...     "fabric": {"topology": {"kind": "single-switch", "hosts": 4}},
        ...     "jobs": [{"collective": "all-reduce"}],
        ...     "sweep": {"data_size": "1MB"},
        ... })
        <Plan mine: 1 trial, 4 ranks on 4 hosts, data size 1 MB>
    """
    if isinstance(plan, Mapping):
        return Plan(loading.load_fields(plan))
    return Plan(loading.load(str(plan)))
