"""Host profiles: reads measured or published parameters of hosts and sets fields of a plan to them.

A plan names a profile written by `fabricbench calibrate` as a file next to it, like a published table, and a
shipped one, which has published measurements, by its adapter. The values of a profile replace defaults: a
field that the plan writes, or that a variant or an override changes, has its own value. The values are then
fields of the plan like others, so the run spec and the stored trial have them.

A profile describes hosts at scale 1. `scale` divides rates, not delays and overheads; the rate of a profile
is therefore multiplied by the plan's scale first, so that the engine gets the measured rate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from fabricbench import units
from fabricbench.plan.document.document import Document, read_file
from fabricbench.plan.document.overrides import Written, put
from fabricbench.plan.document.shipped import NO_FILE
from fabricbench.plan.document.validate import read_model
from fabricbench.plan.errors import FieldPath, FieldProblem, PlanError
from fabricbench.plan.fields.base import PlanModel
from fabricbench.plan.fields.quantities import LABEL_LENGTH_MAX, Rate, Time, limits_of
from fabricbench.words import close_match_hint, one_line

HOSTS_MAX: Final = 4096
_SWEEPS_MAX: Final = 20_000
_FIELDS_MAX: Final = 100
IDEAL: Final = "ideal"
"""The adapter without overheads: the defaults of a plan."""
_SHIPPED: Final = Path(__file__).parent / "nics"

Text = Annotated[str, Field(max_length=400)]
Cell = str | int | float | bool | None


class Parameter(PlanModel):
    """Statistics of a measured parameter."""

    residual_median: float = Field(
        ge=0, description="Median of |measured / fitted - 1| over the samples [%]."
    )
    residual_max: float = Field(ge=0, description="Largest of them [%].")
    samples: int = Field(ge=1, description="Medians over iterations that were fitted.")
    basis: Text = Field(description="What it was measured by.")


class TimeParameter(Parameter):
    """A measured time."""

    value_ps: Time = Field(alias="value", description="The time [time].")


class RateParameter(Parameter):
    """A measured rate."""

    value_bps: Rate = Field(alias="value", description="The rate [bit/s].")


class WindowParameter(Parameter):
    """A measured window."""

    value: Annotated[int, limits_of("TransportSpec.window_packets")] = Field(description="[packets].")


class Parameters(PlanModel):
    """Measured parameters; those that could not be separated from others are absent."""

    send_overhead: TimeParameter | None = Field(default=None, description="`send_overhead` of every job.")
    receive_overhead: TimeParameter | None = Field(
        default=None, description="`receive_overhead` of every job."
    )
    latency: TimeParameter | None = Field(default=None, description="`fabric.nic.latency`.")
    rate: RateParameter | None = Field(default=None, description="`fabric.topology.host_link.rate`.")
    window: WindowParameter | None = Field(default=None, description="`transport.window`.")


class Made(PlanModel):
    """Origin of a profile."""

    date: Text = Field(description="When, ISO 8601 in UTC.")
    fabricbench: Text = Field(description="Version of the program.")
    backend: Text = Field(description="What carried the sweeps out.")
    plan: Text = Field(description="The plan whose fabric is between the hosts.")
    scale: int = Field(ge=1, description="Its scale.")
    iterations: int = Field(ge=1, description="Trials of each point of a sweep.")
    clock_error_ns: int | None = Field(
        default=None, ge=0, description="Largest error of a host's clock [ns]; none where it has one clock."
    )


class SourcedField(PlanModel):
    """A field of plans, with the value that a source gives for it."""

    field: Text = Field(description="Its dotted path.")
    value: Any = Field(description="Its value, as a plan has it.")
    source: Annotated[str, Field(min_length=1, max_length=1000)] = Field(description="Where it comes from.")


class Profile(PlanModel):
    """A host profile: of hosts that were measured here, or of published measurements."""

    fabricbench_profile: Literal[1] = Field(description="Version of the format.")
    made: Made | None = Field(default=None, description="How it came about, if it was measured here.")
    source: Annotated[str, Field(max_length=2000)] = Field(
        default="", description="Where it comes from, if it was not."
    )
    hosts: Annotated[list[dict[str, Cell]], Field(max_length=HOSTS_MAX)] = Field(
        default=[], description="The hosts that were measured: name, kernel, adapter, driver and settings."
    )
    parameters: Parameters = Field(
        default_factory=Parameters, description="What plans take on of what was measured."
    )
    fields: Annotated[list[SourcedField], Field(max_length=_FIELDS_MAX)] = Field(
        default=[], description="What plans take on of what is published."
    )
    sweeps: Annotated[list[dict[str, Cell]], Field(max_length=_SWEEPS_MAX)] = Field(
        default=[], description="Medians of every point of the sweeps."
    )


@dataclass(frozen=True)
class HostProfile:
    """A profile that a plan names.

    Attributes:
        profile: Its content.
        document: Its document, for the locations of its fields.
    """

    profile: Profile
    document: Document

    def applied(self, document: Document) -> Document:
        """Return a plan, or a variant of one, with the profile's values where it has none of its own."""
        scale = document.value(("scale",))
        for source_path, path, value in self._values(
            document, scale if type(scale) is int and scale > 0 else 1
        ):
            if _is_open(document, path):
                location = self.document.place((*source_path, "value"))
                document = put(document, [str(part) for part in path], Written(value, location, "{} {}"))
        return document

    def _values(self, document: Document, scale: int) -> Iterator[tuple[FieldPath, FieldPath, Any]]:
        """Yield each value: its path in the profile, the field of the plan, and its form in a plan."""
        for index, sourced_field in enumerate(self.profile.fields):
            yield ("fields", index), tuple(sourced_field.field.split(".")), sourced_field.value
        for name, path, value in self._measured(document, scale):
            yield ("parameters", name), path, value

    def _measured(self, document: Document, scale: int) -> Iterator[tuple[str, FieldPath, Any]]:
        parameters = self.profile.parameters
        if parameters.latency is not None:
            yield "latency", ("fabric", "nic", "latency"), units.format_time(parameters.latency.value_ps)
        if parameters.rate is not None:
            rate = units.format_rate(parameters.rate.value_bps * scale)
            yield "rate", ("fabric", "topology", "host_link", "rate"), rate
        if parameters.window is not None:
            yield "window", ("transport", "window"), parameters.window.value
        jobs = document.value(("jobs",))
        for index, job in enumerate(jobs if isinstance(jobs, list) else ()):
            # Storage and open-loop traffic have no busy times of ranks.
            if isinstance(job, dict) and not {"storage", "arrivals"} & set(job):
                for name in ("send_overhead", "receive_overhead"):
                    parameter = getattr(parameters, name)
                    if parameter is not None:
                        yield name, ("jobs", index, name), units.format_time(parameter.value_ps)


def _is_open(document: Document, path: FieldPath) -> bool:
    """Whether a field is not written, and each of its parents is a mapping, a list or not written."""
    ancestors = [document.value(path[:end]) for end in range(1, len(path))]
    return document.value(path) is None and all(
        ancestor is None or isinstance(ancestor, dict | list) for ancestor in ancestors
    )


def profile_of(document: Document, plan_path: Path) -> HostProfile | None:
    """Return the profile that a plan names; none if it names none.

    Raises:
        PlanError: It cannot be read, or something in it cannot be.
    """
    name = document.value(("profile",))
    if not isinstance(name, str) or not name:
        return None  # the check of the fields reports any other value
    if plan_path == NO_FILE or "\0" in name:
        hint = "write its values into the plan, or run the plan from a file"
        actual = f'"{one_line(name, 200)}" of a plan that is no file'
        raise PlanError([document.problem(("profile",), actual, "a file next to the plan", hint)])
    path = plan_path.parent / name
    if not path.is_file():
        hint = "`fabricbench calibrate` writes one"
        actual = f'no file "{one_line(name, 200)}"'
        raise PlanError([document.problem(("profile",), actual, "a file next to the plan", hint)])
    return read_profile(path)


def read_profile(path: Path) -> HostProfile:
    """Read a host profile.

    Raises:
        PlanError: It cannot be read, or something in it cannot be.
    """
    document = read_file(path, str(path))
    profile = read_model(document, Profile)
    if not profile.source and (problem := _check_made(profile.made)):
        raise PlanError(document.problems([problem]))
    return HostProfile(profile, document)


def _check_made(made: Made | None) -> FieldProblem | None:
    """Check that a profile has the date of its measurement."""
    if made is None:
        return FieldProblem(("made",), "missing", "how it came about, or a `source`")
    try:
        datetime.fromisoformat(made.date)
    except ValueError:
        actual = f'"{one_line(made.date, LABEL_LENGTH_MAX)}"'
        return FieldProblem(("made", "date"), actual, "a date as ISO 8601 has it")
    return None


def shipped_nics() -> dict[str, Path]:
    """Return the shipped host profiles by the name of their adapter."""
    return {path.stem: path for path in sorted(_SHIPPED.glob("*.yaml"))}


def with_nic(document: Document) -> Document:
    """Return a plan, or a variant of one, with the values of its adapter where it has none of its own.

    Raises:
        PlanError: There is no such adapter.
    """
    name = document.value(("host", "nic"))
    if not isinstance(name, str) or name == IDEAL:
        return document  # the check of the fields reports any other value
    shipped = shipped_nics()
    if name not in shipped:
        allowed = ", ".join([IDEAL, *shipped])
        hint = close_match_hint(name, shipped) or "`profile` takes what `fabricbench calibrate` writes"
        actual = f'"{one_line(name, LABEL_LENGTH_MAX)}"'
        raise PlanError([document.problem(("host", "nic"), actual, allowed, hint)])
    return read_profile(shipped[name]).applied(document)


def time_text(time_ps: int) -> str:
    """Return a time as exact text for a profile."""
    return units.format_time(time_ps)


def rate_text(rate_bps: int) -> str:
    """Return a rate as exact text for a profile."""
    return units.format_rate(rate_bps)
