"""Suggests the name of the link or switch that is nearest to an unknown one in a plan."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fabricbench.plan import engine
from fabricbench.plan.errors import FieldPath
from fabricbench.plan.expand import first_spec
from fabricbench.plan.jobs.model import Job
from fabricbench.plan.model import Plan
from fabricbench.words import close_match_hint

if TYPE_CHECKING:
    from fabricbench.plan.engine import Description


def near_name_hint(plan: Plan, path: FieldPath, name: str) -> str:
    """Suggest the link or switch nearest to the one that a field names.

    Returns:
        Empty if the field names neither, or no name is near.
    """
    is_of_chip = path[:2] == ("fabric", "chips") and path[-2] == "switches"
    is_of_settings = path[:2] == ("fabric", "switch_settings") and path[-2] == "switches"
    if path[:1] != ("fabric",) or not (is_of_chip or is_of_settings or path[-1] in ("link", "switch")):
        return ""
    if " " in name:
        return ""  # a sentence: the name is right, and something else is not
    if path[-1] == "link" and "-" not in name:
        return ""  # one node has many links
    description = _described(plan)
    if description is None:
        return ""
    names = _links(description) if path[-1] == "link" else _switches(description)
    return close_match_hint(name, dict.fromkeys(names))


def _described(plan: Plan) -> "Description | None":
    """Return the plan's fabric without failures; none if the engine refuses that, too."""
    # Two ranks replace all jobs, whose queue pairs may be a million.
    job = Job.model_validate({"name": "names", "ranks": [0, 1], "collective": "send-receive"})
    fabric = plan.fabric.model_copy(
        update={"failures": [], "extra_delays": [], "chips": [], "switch_settings": []}
    )
    healthy_plan = plan.model_copy(update={"fabric": fabric, "jobs": [job], "tcp": []})
    spec_json = json.dumps(first_spec(healthy_plan))
    return None if engine.check(spec_json) else engine.describe(spec_json)


def _links(description: "Description") -> Iterator[str]:
    """Yield the names of each link: its nodes in either order, and the cable of several."""
    count_by_name: dict[str, int] = {}
    for link in description["links"]:
        first, second = link["from"], link["to"]
        cable = count_by_name.get(f"{first}-{second}", 0)
        count_by_name |= {f"{first}-{second}": cable + 1, f"{second}-{first}": cable + 1}
        for name in (f"{first}-{second}", f"{second}-{first}"):
            yield name
            yield f"{name}:{cable}"


def _switches(description: "Description") -> Iterator[str]:
    return (node["name"] for node in description["nodes"] if node["kind"] == "switch")
