"""Models of plans: values are not converted to other types, unknown keys are refused, nothing changes."""

from typing import Any

import pytest
from pydantic import ValidationError
from tests.plan.examples import SMALL

from fabricbench.plan.document.document import read_text
from fabricbench.plan.fabric.cables import HostLink
from fabricbench.plan.fields.sizes import SizeRange
from fabricbench.plan.model import Observe, Plan
from fabricbench.plan.sweep.model import Sweep


def small() -> dict[str, Any]:
    """Return the fields of the small plan."""
    return read_text(SMALL, "small").data


@pytest.mark.parametrize("points", [True, 8.0, "8", None, [8]])
def test_a_whole_number_is_nothing_else(points: object) -> None:
    with pytest.raises(ValidationError):
        Observe.model_validate({"series_points": points})


@pytest.mark.parametrize("value", [1, 0, "true", "on", None])
def test_true_and_false_are_nothing_else(value: object) -> None:
    with pytest.raises(ValidationError):
        Plan.model_validate(small() | {"solo": value})


@pytest.mark.parametrize("value", [1, True, None, ["a"]])
def test_text_is_nothing_else(value: object) -> None:
    with pytest.raises(ValidationError):
        Plan.model_validate(small() | {"description": value})


@pytest.mark.parametrize("change", [{"name": None}, {"seeds": 1}, {1: 2}, {"fabric": {}}, {"jobs": [{}]}])
def test_keys_that_are_missing_or_unknown_are_refused(change: dict[Any, Any]) -> None:
    fields = {key: value for key, value in (small() | change).items() if value is not None}
    with pytest.raises(ValidationError):
        Plan.model_validate(fields)


def test_a_field_is_named_as_in_a_plan_only() -> None:
    assert SizeRange.model_validate({"start": "1MB", "end": "2MB"}).start_bytes == 1 << 20
    with pytest.raises(ValidationError):
        SizeRange.model_validate({"start_bytes": "1MB", "end": "2MB"})


def test_the_main_field_may_be_written_in_place_of_the_mapping() -> None:
    link = HostLink.model_validate({"rate": "400Gbps"})
    assert HostLink.model_validate("400Gbps") == HostLink.model_validate(link) == link


def test_keys_of_a_sweep_are_fields_with_one_value_or_a_list() -> None:
    sweep = Sweep.model_validate({"data_size": "1MB", "transport.mtu": [1024, 4096], "seed": 2})
    assert sweep.fields == {"transport.mtu": (1024, 4096), "seed": (2,)}


def test_a_plan_does_not_change_after_it_is_read() -> None:
    plan = Plan.model_validate(small())
    with pytest.raises(ValidationError, match="frozen"):
        plan.seed = 2
    assert plan.model_copy(update={"seed": 2}).seed == 2
    assert plan.seed == 1
    assert plan == Plan.model_validate(small())
