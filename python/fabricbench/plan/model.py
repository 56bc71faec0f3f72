"""The test plan: every field with its unit, default, meaning and source. Defaults live only here."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from fabricbench.plan._run_spec import ObserveSpec
from fabricbench.plan.criteria import Criterion
from fabricbench.plan.fabric.model import Fabric
from fabricbench.plan.fields.base import PlanModel
from fabricbench.plan.fields.quantities import LABEL_LENGTH_MAX, Duration, Name, OneLine
from fabricbench.plan.jobs.model import Job
from fabricbench.plan.jobs.tcp import Tcp
from fabricbench.plan.sweep.model import Sweep
from fabricbench.plan.sweep.variants import VARIANTS_MAX, Variant
from fabricbench.plan.transport.model import Transport
from fabricbench.units import QUANTITY_MAX

PLAN_VERSION: Final = 1
"""Version of the plan format, the value of the field `fabricbench`."""
SIMULATOR: Final = "sim"
"""Name of the backend that carries plans out unless they say otherwise; estimates of cost are about it."""


class Observe(PlanModel):
    """What is sampled while a trial runs."""

    series_points: int = Field(
        default=1000,
        ge=0,
        le=100_000,
        description=(
            "At most this many points in one sampled series; when it is full, every second "
            "point goes and the interval doubles. 0 samples nothing. Source: what a plot can "
            "show."
        ),
    )
    series_interval_ps: Duration = Field(
        default="1us",
        alias="series_interval",
        validate_default=True,
        description="First sampling interval [time]. Source: a few packets at 400 Gb/s.",
    )
    series_ports: int = Field(
        default=64,
        ge=0,
        le=65_536,
        description=(
            "At most this many sampled ports; the rest are left out, hosts first. Source: it "
            "bounds the table to 64,000 rows for each metric."
        ),
    )
    series_qps: int = Field(
        default=64,
        ge=0,
        le=65_536,
        description=(
            "At most this many queue pairs whose rate is sampled, where congestion control sets one: every "
            "k-th of the run. Source: it bounds their rows to 64,000."
        ),
    )
    path_rows: int = Field(
        default=65_536,
        ge=0,
        le=10_000_000,
        description=(
            "At most this many rows of the table `paths`, one for each link between switches on the way of a "
            "queue pair. Where there would be more, it has those of every k-th queue pair. Source: one row "
            "group; every path of 32,768 queue pairs on two tiers."
        ),
    )

    def run_spec(self) -> ObserveSpec:
        """Write it out for the engine."""
        return {
            "series_points": self.series_points,
            "series_interval_ps": self.series_interval_ps,
            "series_ports": self.series_ports,
            "series_qps": self.series_qps,
            "path_rows": self.path_rows,
        }


class Plan(PlanModel):
    """One test plan: a fabric, jobs on it, and what to sweep."""

    fabricbench: Literal[1] = Field(description="Version of the plan format.")
    name: Name = Field(description="Name of the plan; letters, digits, `.`, `_` and `-`.")
    title: OneLine = Field(default="", max_length=200, description="One line for tables and reports.")
    description: str = Field(default="", max_length=20_000, description="What is tested and why.")
    seed: int = Field(
        default=1,
        ge=0,
        le=QUANTITY_MAX,
        description=(
            "Seed of every random draw: hashing, UDP source ports, patterns. Iteration 0 of "
            "each trial uses it, iteration i one derived from it."
        ),
    )
    backend: Name = Field(
        default=SIMULATOR,
        description=(
            "What carries the plan out: `sim`, the packet-level simulator, or another backend by its name. "
            "`run --backend NAME` chooses one for a single run."
        ),
    )
    fabric: Fabric = Field(description="The network under test.")
    transport: Transport = Field(
        default_factory=Transport, description="The RoCEv2 reliable connections of every host."
    )
    jobs: Annotated[tuple[Job, ...], Field(strict=False, min_length=1)] = Field(
        description="What the hosts do: one or more jobs at once."
    )
    tcp: Annotated[tuple[Tcp, ...], Field(strict=False)] = Field(
        default=(),
        description=(
            "TCP traffic beside the jobs, in a lossy priority: the load of ordinary applications. With "
            "`solo`, jobs run alone without it."
        ),
    )
    sweep: Sweep | None = Field(default=None, description="What changes from trial to trial.")
    variants: Annotated[tuple[Variant, ...], Field(strict=False, max_length=VARIANTS_MAX)] = Field(
        default=(),
        description=(
            "What is compared: each variant is the plan with some fields changed, and runs with every size, "
            "iteration and seed. Without variants the plan runs as it stands."
        ),
    )
    quick: dict[str, Any] = Field(
        default={},
        description=(
            "What `run --quick` changes for a look that takes seconds: fields and their values, as "
            "`-s FIELD=VALUE` has them. Criteria need not hold then."
        ),
    )
    iterations: int = Field(
        default=1, ge=1, le=10_000, description="Times that each trial runs, each time with another seed."
    )
    solo: bool = Field(
        default=False,
        description=(
            "Run each job alone as well, with the same fabric, paths, seed and size, as trials of their own: "
            "what each job keeps of its bandwidth beside the others. Needs several jobs."
        ),
    )
    tag: OneLine = Field(
        default="",
        max_length=LABEL_LENGTH_MAX,
        description="A label stored with each trial, to find it again.",
    )
    published: str | None = Field(
        default=None,
        min_length=1,
        max_length=400,
        description=(
            "CSV file of published results to stand beside ours: a file next to the plan, or a shipped one."
        ),
    )
    published_note: str = Field(
        default="",
        max_length=2000,
        description="What to know about the published results, such as why ours differ; stands beside them.",
    )
    criteria: Annotated[tuple[Criterion, ...], Field(strict=False)] = Field(
        default=(),
        description=(
            "Limits that metrics have to keep for the test to pass: they are judged for each trial with all "
            "jobs, and `run` ends with exit status 3 when one is not met."
        ),
    )
    observe: Observe = Field(default_factory=Observe, description="What is sampled while a trial runs.")
