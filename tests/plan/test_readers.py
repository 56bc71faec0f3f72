"""What reads plans takes what pydantic takes of the same declarations, and reads the same out of it."""

import math
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel, ValidationError
from tests.plan.examples import SMALL

from fabricbench.hosts.control.hosts_file import HostsFile
from fabricbench.plan.document.document import read_file, read_text
from fabricbench.plan.document.shipped import shipped_plans
from fabricbench.plan.fields.base import PlanModel, UnreadableError
from fabricbench.plan.fields.judge import twin_of
from fabricbench.plan.model import Plan
from fabricbench.plan.profile import Profile

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, 2, -1, 7, 8, 256, 65_536, 1 << 63, 1 << 80),
    *(0.25, 1.0, 256.0, -0.5, 1e300, math.inf, -math.inf, math.nan),
    *("", " ", "a", "on", "off", "auto", "none", "all", "1", "2us", "400Gbps", "16MB", "20%", "1/4", "0-7"),
    *("a\n", "x" * 81, "x" * 25_000, "two\nlines", "  spaced  ", "  " + "x" * 80, "ecmp", "\u0661", "0>1"),
    *("leaf0", "leaf0-spine1", "[::1]:7000", "127.0.0.1", "write", "dcqcn", "poisson", "ctest"),
    *([], [0], [1, 2], [True], ["1MB"], ["a", "b"], [None], [{}], [[]], (), (1, 2)),
    *({}, {"a": 1}, {1: 2}, {"kind": "ecmp"}, {"kind": []}, {"kind": "none"}, {"kind": 1}),
    *({"start": "1MB", "end": "8MB"}, {"infiniband": {}}, {"dwrr": {"quantum": {"3": "32KB"}}}),
    *({"kind": "single-switch", "hosts": 8}, {"kind": "weighted", "weights": [1, 0]}, {"rate": "1Gbps"}),
    *({"alpha": "1/4"}, {"bytes": "1KB"}, {"preset": "nvidia"}, {"dcqcn": {}}, {"swift": "on"}),
    *({"fabric.nic.latency": ["1us", "2us"]}, {"fabric.nic.latency": {}}, {"zip": {"a.b": [1]}}),
    [{"kind": "link-down", "at": "1us", "link": "a-b"}],
)
"""What may be written for any field."""


def content(value: Any) -> Any:
    """Return what a model holds, whoever made it."""
    if isinstance(value, BaseModel):
        others = value.__pydantic_extra__
        return content(vars(value) | ({} if others is None else {"others": others}))
    if isinstance(value, PlanModel):
        return content(vars(value))
    if isinstance(value, dict):
        return {key: content(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return (type(value), *map(content, value))
    return repr(value)  # tells 1 from 1.0, and knows NaN


def taken(model: type[Any], data: Any) -> Any:
    """Return what a model reads out of data; none if it refuses it."""
    try:
        return content(model.model_validate(deepcopy(data)))
    except (UnreadableError, ValidationError):
        return None


def models_within(annotation: Any) -> Iterator[type[PlanModel]]:
    """Yield the models that a type mentions, and those within them."""
    if isinstance(annotation, type) and issubclass(annotation, PlanModel):
        yield annotation
        for field in annotation.model_fields.values():
            yield from models_within(field.annotation)
    for argument in get_args(annotation):
        yield from models_within(argument)


MODELS = {model.__name__: model for root in (Plan, Profile, HostsFile) for model in models_within(root)}


def of_one_field(model: type[PlanModel], name: str) -> type[PlanModel]:
    """Return a model that has one field of another, and nothing else."""
    field = model.model_fields[name]
    declared = {"__annotations__": {name: field.annotation}, "__module__": __name__, name: field}
    return type("OneField", (PlanModel,), declared)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_every_value_of_every_field_is_judged_in_one_way(model: type[PlanModel]) -> None:
    for name, field in model.model_fields.items():
        one = of_one_field(model, name)
        for value in VALUES:
            data = {field.alias or name: value}
            assert taken(one, data) == taken(twin_of(one), data), data


def test_most_fields_take_one_of_the_values() -> None:
    fields = [(model, name) for model in MODELS.values() for name in model.model_fields]
    untouched = [
        f"{model.__name__}.{name}"
        for model, name in fields
        if not any(
            taken(of_one_field(model, name), {model.model_fields[name].alias or name: value})
            for value in VALUES
        )
    ]
    assert len(fields) > 200
    assert len(untouched) < len(fields) / 5, untouched


@pytest.mark.parametrize("path", shipped_plans().values(), ids=lambda path: path.stem)
def test_shipped_plans_are_read_alike(path: Path) -> None:
    data = read_file(path, path.stem).data
    assert taken(Plan, data) == taken(twin_of(Plan), data) is not None


@pytest.mark.parametrize("change", [{"name": None}, {"seeds": 1}, {1: 2}, {"fabric": {}}, {"jobs": [{}]}])
def test_keys_that_are_missing_or_unknown_are_refused_by_both(change: dict[Any, Any]) -> None:
    data = read_text(SMALL, "small").data
    assert taken(Plan, data) == taken(twin_of(Plan), data) is not None
    wrong = {key: value for key, value in (data | change).items() if value is not None}
    assert taken(Plan, wrong) is taken(twin_of(Plan), wrong) is None
    assert UnreadableError(Plan, wrong).errors()


def test_what_was_read_does_not_change() -> None:
    plan = Plan.model_validate(read_text(SMALL, "small").data)
    with pytest.raises(AttributeError, match="Plan does not change"):
        plan.seed = 2  # type: ignore[misc]
    assert plan.model_copy(update={"seed": 2}).seed == 2
    assert plan.seed == 1
    assert plan == Plan.model_validate(read_text(SMALL, "small").data)
