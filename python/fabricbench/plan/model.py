"""The test plan: top-level fields with units, defaults, meanings and sources. Only models have defaults."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field, model_validator

from fabricbench.plan._run_spec import ObserveSpec
from fabricbench.plan.criteria import Criterion
from fabricbench.plan.engine import SIMULATOR
from fabricbench.plan.fabric.model import Fabric
from fabricbench.plan.fields.base import PlanModel
from fabricbench.plan.fields.quantities import LABEL_LENGTH_MAX, Duration, Name, OneLine
from fabricbench.plan.jobs.library import fill_plan
from fabricbench.plan.jobs.model import Job
from fabricbench.plan.jobs.tcp import Tcp
from fabricbench.plan.sweep.model import Search, Sweep
from fabricbench.plan.sweep.variants import VARIANTS_MAX, Variant
from fabricbench.plan.transport.model import Transport
from fabricbench.units import QUANTITY_MAX

PLAN_VERSION: Final = 1
"""Version of the plan format, the value of the field `fabricbench`."""


class Observe(PlanModel):
    """Samples taken while a trial runs."""

    series_points: int = Field(
        default=1000,
        ge=0,
        le=100_000,
        description=(
            "Points of one sampled series; when it is full, every second point goes and the interval "
            "doubles. 0 samples nothing. Source: what a plot can show."
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
            "Sampled ports: all of switches and then of hosts, or, where switches have more, half of them to "
            "other switches and half to hosts, those with most queue pairs. Source: 64,000 rows for each "
            "metric."
        ),
    )
    series_qps: int = Field(
        default=64,
        ge=0,
        le=65_536,
        description=(
            "Queue pairs whose rate is sampled, where congestion control sets one, and TCP connections whose "
            "deliveries are: every k-th of the run. Source: 64,000 rows of each."
        ),
    )
    path_rows: int = Field(
        default=65_536,
        ge=0,
        le=10_000_000,
        description=(
            "Rows of the table `paths`, one for each link between switches on the path of a queue pair; "
            "beyond it those of every k-th queue pair. Source: one row group; every path of 32,768 queue "
            "pairs on two tiers."
        ),
    )
    chunks: Literal["all", "sample", "summary"] = Field(
        default="all",
        description=(
            "Which chunks have a row in the table `chunks`: each; one in k, drawn by the seed; or none. With "
            "`sample` and `summary` the tables `chunk_steps` and `chunk_times` count every chunk, and each "
            "metric is what it is with `all` but those that need a row of each: `sender_share_percent_*`, "
            "`convergence_us` and `out_of_service_us` are not measured then. With NCCL `sample` unless given."
        ),
    )
    chunk_rows: int = Field(
        default=100_000,
        ge=1,
        le=100_000_000,
        description=(
            "About how many rows of chunks `sample` keeps: those of one chunk in k, with the smallest k that "
            "fits what is expected. Source: what figures draw well."
        ),
    )

    def run_spec(self) -> ObserveSpec:
        """Return its fields for the engine."""
        return self.to_spec(ObserveSpec)


class HostChoice(PlanModel):
    """Type of the hosts, which sets defaults of other fields."""

    nic: str = Field(
        default="ideal",
        max_length=100,
        description=(
            "Their adapter: `ideal`, or a shipped host profile such as `connectx-5-100g`, whose values take "
            "the place of defaults as those of `profile` do; what the plan, a variant, an override or a "
            "`profile` writes wins. Source: the network alone."
        ),
    )


class Plan(PlanModel):
    """A test plan: a fabric, jobs on it, and swept fields."""

    fabricbench: Literal[1] = Field(description="Version of the plan format.")
    name: Name = Field(description="Name of the plan; letters, digits, `.`, `_` and `-`.")
    title: OneLine = Field(default="", max_length=200, description="One line for tables and reports.")
    description: str = Field(default="", max_length=20_000, description="What is tested and why.")
    seed: int = Field(
        default=1,
        ge=0,
        le=QUANTITY_MAX,
        description=(
            "Seed of every random draw: hashing, UDP source ports, patterns. Iteration i uses one derived "
            "from it, iteration 0 itself."
        ),
    )
    backend: Name = Field(
        default=SIMULATOR,
        description=(
            "What runs the plan: `sim`, the packet-level simulator, or another backend; `run --backend "
            "NAME` chooses one for a single run."
        ),
    )
    host: HostChoice = Field(
        default_factory=HostChoice, description="What the hosts are, as far as that sets defaults."
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
            "TCP traffic beside the jobs, in a lossy priority. With `solo`, jobs run alone without it."
        ),
    )
    sweep: Sweep | None = Field(default=None, description="What changes from trial to trial.")
    variants: Annotated[tuple[Variant, ...], Field(strict=False, max_length=VARIANTS_MAX)] = Field(
        default=(),
        description=(
            "Each variant is the plan with some fields changed, and runs with every size, iteration and "
            "seed. Without variants the plan runs as it stands."
        ),
    )
    quick: dict[str, Any] = Field(
        default={},
        description=(
            "Fields and values that `run --quick` changes for a look that takes seconds, as with `-s "
            "FIELD=VALUE`. Criteria of the plan are not judged then, unless it has `criteria` of its own."
        ),
    )
    scale: int = Field(
        default=1,
        ge=1,
        le=1_000_000,
        description=(
            "Divides every rate: of links, adapters, rate controls and offered traffic; timers, timeouts and "
            "times of events are multiplied by it. Sizes, thresholds in bytes and delays stay, and headroom "
            "that is `auto` is computed from the scaled rate. For labs whose links are slower than those of "
            "the plan. Source: the rates as written."
        ),
    )
    profile: str | None = Field(
        default=None,
        min_length=1,
        max_length=4096,
        description=(
            "Host profile of `fabricbench calibrate`, a file next to the plan: its latency, rate, window and "
            "overheads take the place of the defaults of `fabric.nic.latency`, "
            "`fabric.topology.host_link.rate`, `transport.window` and the overheads of the jobs. What the "
            "plan, a variant or an override writes wins."
        ),
    )
    iterations: int = Field(
        default=1, ge=1, le=10_000, description="Runs of each trial, each with another seed."
    )
    solo: bool = Field(
        default=False,
        description=(
            "Also run each job without the others, with the same fabric, paths, seed and size, to measure "
            "the percentage of its bandwidth that it keeps next to them. Needs several jobs."
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
        description="CSV file of published results: a file next to the plan, or a shipped one.",
    )
    published_note: str = Field(
        default="",
        max_length=2000,
        description="What to know about the published results, such as why ours differ.",
    )
    criteria: Annotated[tuple[Criterion, ...], Field(strict=False)] = Field(
        default=(),
        description=(
            "Limits on metrics of each trial with all jobs; if one is not met, `run` ends with exit status 3."
        ),
    )
    search: Search | None = Field(
        default=None,
        description=(
            "Search for the highest, or lowest, value of a field for which the criteria hold. `run` searches "
            "at each size, combination and variant; other commands refuse such a plan."
        ),
    )
    observe: Observe = Field(default_factory=Observe, description="What is sampled while a trial runs.")

    @model_validator(mode="before")
    @classmethod
    def prepared(cls, data: Any) -> Any:
        """Return the plan with fields of the transport and the fabric that libraries of jobs set."""
        return fill_plan(data)

    @property
    def data_priorities(self) -> frozenset[int]:
        """Priorities of the data of all jobs."""
        common = self.transport.priorities.data
        return frozenset(common if job.priority is None else job.priority for job in self.jobs)
