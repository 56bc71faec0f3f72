"""The trials of a campaign as a table: each with every field that differs among them.

Nothing is read but the file of the campaign and its plans, so that the same file finds the same trials.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from fabricbench.plan.fields.base import PlanModel
from fabricbench.plan.load import document_of
from fabricbench.runner.campaign.file import Campaign
from fabricbench.runner.loading import backend_of
from fabricbench.runner.trials import facts_of
from fabricbench.words import data_size, one_line, plan_value

if TYPE_CHECKING:
    import polars as pl

    from fabricbench.plan.loaded import LoadedPlan

_NO_FACTORS: Final = {
    "name",
    "title",
    "description",
    "tag",
    "seed",
    "iterations",
    "sweep",
    "quick",
    "published",
    "criteria",
}
"""Fields of a plan that say nothing of what is run, or which are told otherwise."""
_ABSENT: Final = "none"
_LABEL_MAX: Final = 60
COLUMNS: Final = ("trial", "iteration", "seed", "size_bytes")
"""What the table has beside its factors."""


@dataclass(frozen=True)
class Members:
    """The trials of a campaign.

    Attributes:
        frame: A row for each trial and plan that it is part of: `COLUMNS` and each factor, in words.
        factors: What differs among them: the levels of each by its name, in their order. The name is `plan`,
            `variant`, `data_size` or `message_size`, or the dotted path of a field.
        jobs: The run specs of the jobs of each plan and combination.
        alone: How many more there are in which one job of several runs alone.
    """

    frame: pl.DataFrame
    factors: Mapping[str, tuple[str, ...]]
    jobs: Sequence[Mapping[str, Any]]
    alone: int

    @property
    def job_names(self) -> list[str]:
        """The name of each job that a trial has."""
        return sorted({job["name"] for job in self.jobs})


@dataclass
class _Rows:
    """What is known of the trials so far; see `Members`."""

    table: list[tuple[Any, ...]] = field(default_factory=list)
    jobs: list[Mapping[str, Any]] = field(default_factory=list)
    alone: int = 0

    def add(self, loaded: LoadedPlan, name: str, fields: _Fields) -> None:
        """Add the trials of a plan, which the table calls so."""
        written = fields.written_in(loaded)
        known: dict[object, tuple[str, ...]] = {}
        for planned, facts in facts_of(loaded, backend_of(loaded)):
            if planned.is_solo:
                self.alone += 1
                continue
            if planned.case not in known:
                plan, swept = loaded.variant_of(planned).plan, dict(planned.case.axes)
                known[planned.case] = fields.labels(plan, written | swept)
                self.jobs += planned.run_spec["jobs"]
            fixed = (facts.id, planned.iteration, planned.run_spec["seed"], planned.data_size_bytes)
            size = f"{planned.size_kind}_size"
            self.table.append((*fixed, size, name, planned.variant, *known[planned.case]))


def members_of(campaign: Campaign) -> Members:
    """Return the trials of a campaign with what differs among them.

    A trial that several plans have in common is there once for each; trials in which a job runs alone are
    only counted.
    """
    import polars as pl

    plans = campaign.plans
    fields = _Fields(list(dict.fromkeys(name for loaded in plans for name in _fields_of(loaded))))
    rows = _Rows()
    for loaded, name in zip(plans, _plan_names(plans), strict=True):
        rows.add(loaded, name, fields)
    whole = dict.fromkeys(COLUMNS[1:], pl.Int64)
    texts = dict.fromkeys(("size", "plan", "variant", *fields.names), pl.String)
    frame = pl.DataFrame(rows.table, {"trial": pl.String, **whole, **texts}, orient="row")
    frame = frame.unique(["trial", *texts], keep="first", maintain_order=True)
    frame, size = _with_size(frame)
    levels = {name: frame[name].unique(maintain_order=True).to_list() for name in ("plan", "variant")}
    levels[size] = list(map(data_size, frame["size_bytes"].unique().sort()))
    levels |= {name: fields.ordered(name, frame[name].unique(maintain_order=True)) for name in fields.names}
    factors = {name: tuple(values) for name, values in levels.items() if len(values) > 1}
    return Members(frame.select(*COLUMNS, *factors), factors, rows.jobs, rows.alone)


def _with_size(frame: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """Return the table with sizes in words under the name of what they are, and that name."""
    import polars as pl

    kinds = frame["size"].unique()
    name = kinds[0] if len(kinds) == 1 else "size"
    words = {size: data_size(size) for size in frame["size_bytes"].unique()}
    named = pl.col("size_bytes").replace_strict(words, return_dtype=pl.String).alias(name)
    return frame.drop("size").with_columns(named), name


def _plan_names(plans: Sequence[LoadedPlan]) -> list[str]:
    """Return the name of each plan, with its file where files of one name differ."""
    sources: dict[str, set[str]] = {}
    for loaded in plans:
        sources.setdefault(loaded.plan.name, set()).add(loaded.source)
    return [
        name if len(sources[name := loaded.plan.name]) == 1 else f"{name} ({loaded.source})"
        for loaded in plans
    ]


def _fields_of(loaded: LoadedPlan) -> Iterator[str]:
    """Yield the fields that a plan of the campaign sets or sweeps."""
    for override in loaded.overrides:
        name = override.partition("=")[0].strip()
        if name.partition(".")[0] not in _NO_FACTORS:
            yield name
    for trial in loaded.trials[:1]:
        yield from (name for name, _ in trial.case.axes)


class _Fields:
    """Fields of plans and how their values are written: as in the first plan that writes them."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self._below = {
            name: [each.removeprefix(f"{name}.") for each in names if each.startswith(f"{name}.")]
            for name in names
        }
        self._labels: dict[tuple[str, str], str] = {}
        self._alike: Counter[tuple[str, str]] = Counter()
        self._values: dict[tuple[str, str], Any] = {}

    def written_in(self, loaded: LoadedPlan) -> dict[str, Any]:
        """Return the value of each field that a plan, or what the campaign sets in it, writes."""
        data = document_of(loaded).data
        found = {name: value_at(data, name) for name in self.names}
        return {name: value for name, value in found.items() if value is not None}

    def labels(self, plan: PlanModel, written: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the value of each field of a plan, in words.

        Args:
            plan: The plan.
            written: Its fields as they are written.
        """
        return tuple(self._label(name, value_at(plan, name), written.get(name)) for name in self.names)

    def _label(self, name: str, value: Any, written: Any) -> str:
        # What a field holds that is a factor of its own does not count twice.
        for path in self._below[name]:
            value, written = without(value, path), without(written, path)
        key = name, json.dumps(value, sort_keys=True)
        if key not in self._labels:
            text = one_line(_text(value if written is None else written), _LABEL_MAX)
            # Values that differ are told apart, whatever they are written as.
            self._alike[name, text] += 1
            number = self._alike[name, text]
            self._labels[key] = f"{text} #{number}" if number > 1 else text
            self._values[name, self._labels[key]] = value
        return self._labels[key]

    def ordered(self, name: str, labels: Iterable[str]) -> list[str]:
        """Return the values of a field by their size if all are numbers, or else in the order of plans."""
        found = [(self._values[name, label], label) for label in labels]
        if all(isinstance(value, int | float) and not isinstance(value, bool) for value, _ in found):
            found.sort(key=lambda each: each[0])
        return [label for _, label in found]


def _text(value: Any) -> str:
    """Write the value of a field; of a mapping what it says."""
    if isinstance(value, Mapping):
        value = {key: each for key, each in value.items() if each is not None}
    return _ABSENT if value is None else plan_value(value)


def without(value: Any, path: str) -> Any:
    """Return a value of a plan without the field at a dotted path in it."""
    first, _, rest = path.partition(".")
    if isinstance(value, Mapping) and first in value:
        inner = {first: without(value[first], rest)} if rest else {}
        return {key: each for key, each in value.items() if key != first} | inner
    if isinstance(value, list) and first.isdecimal() and int(first) < len(value) and rest:
        return [without(each, rest) if index == int(first) else each for index, each in enumerate(value)]
    return value


def value_at(plan: PlanModel | Mapping[str, Any], path: str) -> Any:
    """Return the value of a field of a plan by its dotted path, as JSON has it; none where it has none."""
    found: Any = plan
    for part in path.split("."):
        if isinstance(found, PlanModel):
            found = getattr(found, _names(found).get(part, part), None)
        elif isinstance(found, Mapping):
            found = found.get(part)
        elif isinstance(found, list | tuple) and part.isdecimal() and int(part) < len(found):
            found = found[int(part)]
        else:
            return None
    return _plain(found)


def _names(model: PlanModel) -> dict[str, str]:
    """Return the name that each field has in Python by its key in a plan."""
    return {field.alias or name: name for name, field in type(model).model_fields.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, PlanModel):
        return {key: _plain(getattr(value, name)) for key, name in _names(value).items()}
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, str | int | float) else str(value)
