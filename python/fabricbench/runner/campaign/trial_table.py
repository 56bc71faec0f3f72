"""The trials of a campaign as a table, with a column for each field that differs among them.

Only the campaign file and its plans are read, so the same file always gives the same trials. Also reads
fields of a plan by their dotted paths, and removes them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from fabricbench.plan.fields.base import PlanModel
from fabricbench.plan.load import document_of
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.runner.campaign.campaign_file import Campaign
from fabricbench.runner.loading import backend_of
from fabricbench.runner.trial_facts import facts_of
from fabricbench.words import data_size, one_line, plan_value

if TYPE_CHECKING:
    import polars as pl


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
"""Fields of a plan that do not affect the run, or that the table has in another form."""
_ABSENT: Final = "none"
_LABEL_MAX: Final = 60
COLUMNS: Final = ("trial", "iteration", "seed", "size_bytes")
"""Columns of the table other than its factors."""


@dataclass(frozen=True)
class Members:
    """The trials of a campaign.

    Attributes:
        frame: A row for each pair of trial and plan: `COLUMNS`, and the value of each factor as text.
        factors: Levels of each factor, in order, by its name: `plan`, `variant`, `data_size`, `message_size`,
            or the dotted path of a field.
        jobs: The run specs of the jobs of each plan and combination.
        alone: Number of additional trials in which one of several jobs runs alone.
    """

    frame: pl.DataFrame
    factors: Mapping[str, tuple[str, ...]]
    jobs: Sequence[Mapping[str, Any]]
    alone: int

    @property
    def job_names(self) -> list[str]:
        """Names of the jobs in all trials, sorted."""
        return sorted({job["name"] for job in self.jobs})


@dataclass
class _Rows:
    """Accumulates the trials of a campaign; see `Members`."""

    table: list[tuple[Any, ...]] = field(default_factory=list)
    jobs: list[Mapping[str, Any]] = field(default_factory=list)
    alone: int = 0

    def add(self, loaded: LoadedPlan, name: str, fields: _Fields) -> None:
        """Add the trials of a plan under a name."""
        explicit_fields = fields.written_in(loaded)
        labels_by_case: dict[object, tuple[str, ...]] = {}
        for planned, facts in facts_of(loaded, backend_of(loaded)):
            if planned.is_solo:
                self.alone += 1
                continue
            if planned.case not in labels_by_case:
                plan, swept = loaded.variant_of(planned).plan, dict(planned.case.axes)
                labels_by_case[planned.case] = fields.labels(plan, explicit_fields | swept)
                self.jobs += planned.run_spec["jobs"]
            fixed = (facts.id, planned.iteration, planned.run_spec["seed"], planned.data_size_bytes)
            size = f"{planned.size_kind}_size"
            self.table.append((*fixed, size, name, planned.variant, *labels_by_case[planned.case]))


def members_of(campaign: Campaign) -> Members:
    """Return the trials of a campaign with the fields that differ among them.

    A trial that belongs to several plans has a row for each; trials in which a job runs alone are only
    counted.
    """
    import polars as pl

    plans = campaign.plans
    fields = _Fields(list(dict.fromkeys(name for loaded in plans for name in _fields_of(loaded))))
    rows = _Rows()
    for loaded, name in zip(plans, _plan_names(plans), strict=True):
        rows.add(loaded, name, fields)
    integer_columns = dict.fromkeys(COLUMNS[1:], pl.Int64)
    text_columns = dict.fromkeys(("size", "plan", "variant", *fields.names), pl.String)
    frame = pl.DataFrame(rows.table, {"trial": pl.String, **integer_columns, **text_columns}, orient="row")
    frame = frame.unique(["trial", *text_columns], keep="first", maintain_order=True)
    frame, size = _with_size(frame)
    levels = {name: frame[name].unique(maintain_order=True).to_list() for name in ("plan", "variant")}
    levels[size] = list(map(data_size, frame["size_bytes"].unique().sort()))
    levels |= {name: fields.ordered(name, frame[name].unique(maintain_order=True)) for name in fields.names}
    factors = {name: tuple(values) for name, values in levels.items() if len(values) > 1}
    return Members(frame.select(*COLUMNS, *factors), factors, rows.jobs, rows.alone)


def _with_size(frame: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """Return the table with sizes as text in a column named after their kind, and the name of that column."""
    import polars as pl

    kinds = frame["size"].unique()
    name = kinds[0] if len(kinds) == 1 else "size"
    size_texts = {size: data_size(size) for size in frame["size_bytes"].unique()}
    size_column = pl.col("size_bytes").replace_strict(size_texts, return_dtype=pl.String).alias(name)
    return frame.drop("size").with_columns(size_column), name


def _plan_names(plans: Sequence[LoadedPlan]) -> list[str]:
    """Return the name of each plan, with its file if files with the same name differ."""
    sources: dict[str, set[str]] = {}
    for loaded in plans:
        sources.setdefault(loaded.plan.name, set()).add(loaded.source)
    return [
        name if len(sources[name := loaded.plan.name]) == 1 else f"{name} ({loaded.source})"
        for loaded in plans
    ]


def _fields_of(loaded: LoadedPlan) -> Iterator[str]:
    """Yield the fields that the campaign sets or sweeps in a plan."""
    for override in loaded.overrides:
        name = override.partition("=")[0].strip()
        if name.partition(".")[0] not in _NO_FACTORS:
            yield name
    for trial in loaded.trials[:1]:
        yield from (name for name, _ in trial.case.axes)


class _Fields:
    """Fields of plans and the text of their values: as in the first plan that has the value."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self._below = {
            name: [other.removeprefix(f"{name}.") for other in names if other.startswith(f"{name}.")]
            for name in names
        }
        self._labels: dict[tuple[str, str], str] = {}
        self._text_counts: Counter[tuple[str, str]] = Counter()
        self._values: dict[tuple[str, str], Any] = {}

    def written_in(self, loaded: LoadedPlan) -> dict[str, Any]:
        """Return the fields that a plan, or the campaign in it, sets explicitly, with their values."""
        fields = document_of(loaded).data
        values_by_name = {name: value_at(fields, name) for name in self.names}
        return {name: value for name, value in values_by_name.items() if value is not None}

    def labels(self, plan: PlanModel, written: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the text of the value of each field in a plan.

        Args:
            plan: The plan.
            written: Its fields as written in the file.
        """
        return tuple(self._label(name, value_at(plan, name), written.get(name)) for name in self.names)

    def _label(self, name: str, value: Any, written: Any) -> str:
        # A nested field that is a factor itself is removed, so that it does not count twice.
        for path in self._below[name]:
            value, written = without(value, path), without(written, path)
        key = name, json.dumps(value, sort_keys=True)
        if key not in self._labels:
            text = one_line(_text(value if written is None else written), _LABEL_MAX)
            # Number values that differ but have the same text.
            self._text_counts[name, text] += 1
            number = self._text_counts[name, text]
            self._labels[key] = f"{text} #{number}" if number > 1 else text
            self._values[name, self._labels[key]] = value
        return self._labels[key]

    def ordered(self, name: str, labels: Iterable[str]) -> list[str]:
        """Return the values of a field sorted by number if all are numbers, or else in the order of plans."""
        labelled_values = [(self._values[name, label], label) for label in labels]
        if all(
            isinstance(value, int | float) and not isinstance(value, bool) for value, _ in labelled_values
        ):
            labelled_values.sort(key=lambda pair: pair[0])
        return [label for _, label in labelled_values]


def _text(value: Any) -> str:
    """Return the text of a field's value; of a mapping, only the keys with a value."""
    if isinstance(value, Mapping):
        value = {key: field_value for key, field_value in value.items() if field_value is not None}
    return _ABSENT if value is None else plan_value(value)


def without(value: Any, path: str) -> Any:
    """Return a copy of a value without the nested field at a dotted path."""
    outer_key, _, inner_path = path.partition(".")
    if isinstance(value, Mapping) and outer_key in value:
        inner_remainder = {outer_key: without(value[outer_key], inner_path)} if inner_path else {}
        return {key: inner_value for key, inner_value in value.items() if key != outer_key} | inner_remainder
    if isinstance(value, list) and outer_key.isdecimal() and int(outer_key) < len(value) and inner_path:
        return [
            without(inner_value, inner_path) if index == int(outer_key) else inner_value
            for index, inner_value in enumerate(value)
        ]
    return value


def value_at(plan: PlanModel | Mapping[str, Any], path: str) -> Any:
    """Return the value of a field of a plan by its dotted path, as JSON data; None if it has none."""
    node: Any = plan
    for part in path.split("."):
        if isinstance(node, PlanModel):
            node = getattr(node, _names(node).get(part, part), None)
        elif isinstance(node, Mapping):
            node = node.get(part)
        elif isinstance(node, list | tuple) and part.isdecimal() and int(part) < len(node):
            node = node[int(part)]
        else:
            return None
    return _plain(node)


def _names(model: PlanModel) -> dict[str, str]:
    """Return the Python name of each field of a model by its key in a plan."""
    return {field.alias or name: name for name, field in type(model).model_fields.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, PlanModel):
        return {key: _plain(getattr(value, name)) for key, name in _names(value).items()}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, str | int | float) else str(value)
