"""The test plan: every field with its unit, default, meaning and source. Defaults live only here."""

from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from fabricbench.plan.criteria import Criterion
from fabricbench.plan.document.nodes import shorten
from fabricbench.plan.fabric.model import Fabric
from fabricbench.plan.fields.base import Named, PlanModel
from fabricbench.plan.fields.hosts import Hosts
from fabricbench.plan.fields.quantities import (
    HOST_RANKS_MAX,
    LABEL_LENGTH_MAX,
    ROUNDS_MAX,
    Duration,
    Name,
    OneLine,
    Size,
    Time,
    parse_rounds,
)
from fabricbench.plan.jobs.arrivals import Arrivals
from fabricbench.plan.jobs.mpi import Rendezvous
from fabricbench.plan.jobs.storage import Storage, fill_job
from fabricbench.plan.jobs.tcp import Tcp
from fabricbench.plan.sweep.variants import VARIANTS_MAX, Variant
from fabricbench.plan.transport.model import Transport
from fabricbench.units import QUANTITY_MAX, UnitError

PLAN_VERSION: Final = 1
"""Version of the plan format, the value of the field `fabricbench`."""
SIMULATOR: Final = "sim"
"""Name of the backend that carries plans out unless they say otherwise; estimates of cost are about it."""
UNTIL_OTHERS_END: Final = "until-others-end"
"""The value of `repeat` for a neighbour of the jobs under test."""
Repeat = Annotated[
    Annotated[int, Field(ge=1, le=ROUNDS_MAX)] | None, Named({UNTIL_OTHERS_END: None}, parse_rounds)
]
"""Rounds of a job; none until others end."""


class Job(PlanModel):
    """One tenant: ranks that run a collective together."""

    name: Name = Field(default="test", description="Name of the job, unique in the plan.")
    hosts: Hosts = Field(
        default="all",
        alias="ranks",
        validate_default=True,
        description=(
            "The hosts in rank order: `0,1,6,7` puts rank 2 on host 6. Ranges such as "
            '`"0-7"`, with a step `"0-28:4"`, a list, or `all`. Each host once: `processes_per_host` puts '
            "several ranks on each."
        ),
    )
    collective: str = Field(
        description="What the ranks do together, such as `all-reduce`; `storage` with the field of that name."
    )
    algorithm: str | None = Field(
        default=None,
        description=(
            "How they do it, such as `ring`. Default: the first that the engine lists for the collective."
        ),
    )
    data_bytes: Size | None = Field(
        default=None,
        alias="data_size",
        description=(
            "Data size of this job [size], for a job that the sweep leaves alone. Default: that of the sweep."
        ),
    )
    message_bytes: Size | None = Field(
        default=None,
        alias="message_size",
        description=(
            "The same as a message size [size]: what a rank gives to each other rank or puts in; see "
            "docs/plan.md. Either this or `data_size`."
        ),
    )
    processes_per_host: int = Field(
        default=1,
        ge=1,
        le=HOST_RANKS_MAX,
        description=(
            "Ranks on each host of `ranks`, which then lists hosts: with 4, ranks 0 to 3 are on the first. "
            "Source: one process for each accelerator or NIC."
        ),
    )
    mapping: Literal["by-host", "round-robin"] = Field(
        default="by-host",
        description=(
            "Order of several ranks per host: `by-host` fills one host after the other, `round-robin` deals "
            "ranks out to the hosts in turn. Source: the default of MPI launchers (Open MPI `--map-by slot`, "
            "Intel MPI `-ppn`)."
        ),
    )
    root: int = Field(
        default=0,
        ge=0,
        description="Root of gather, scatter, broadcast and reduce, receiver of incast [rank].",
    )
    start_ps: Time = Field(
        default="0s",
        alias="start",
        validate_default=True,
        description="When the job starts, from the start of the run [time].",
    )
    step_overhead_ps: Time = Field(
        default="0s",
        alias="step_overhead",
        validate_default=True,
        description=(
            "Software overhead before each transfer is posted, once what it waits for has "
            "arrived [time]. Source: 0 measures the network alone."
        ),
    )
    send_overhead_ps: Time = Field(
        default="0s",
        alias="send_overhead",
        validate_default=True,
        description=(
            "Time for which a rank is busy with each message that it sends, one after the other [time]: o_s "
            "of LogGP (Alexandrov et al., SPAA 1995). Source: 0 measures the network alone."
        ),
    )
    receive_overhead_ps: Time = Field(
        default="0s",
        alias="receive_overhead",
        validate_default=True,
        description=(
            "Time for which a rank is busy with each message that has arrived, before it sends what waited "
            "for it [time]: o_r of LogGP. Source: 0 measures the network alone."
        ),
    )
    rendezvous: Annotated[Rendezvous | None, Named({"off": None, "on": {}})] = Field(
        default=None,
        description=(
            "The handshake of MPI before large messages between hosts: `on`, `off` or a mapping; needs "
            "`qp_mode: per_pair`. Source: off, as NCCL and traffic generators have none."
        ),
        json_schema_extra={"default": "off"},
    )
    copies_own_block: bool = Field(
        default=False,
        description=(
            "Each rank copies the block that it keeps, at the rate of `fabric.shared_memory` and before it "
            "sends anything, in each round: what MPI_Alltoall and MPI_Allgather do with separate buffers. "
            "Source: false, as in place."
        ),
    )
    repeat: Repeat = Field(
        default=1,
        description=(
            "How often the job runs within a trial: a number of rounds back to back, or "
            "`until-others-end`: round after round until every job without that value has "
            "ended. Source: a trial is one run."
        ),
    )
    warm_up_rounds: int = Field(
        default=0,
        ge=0,
        le=ROUNDS_MAX,
        description=(
            "Rounds before those of `repeat`, like them but in none of their times [rounds]. Source: 0, as "
            "the first round is of interest; the Intel MPI Benchmarks 2021 have a tenth of those that they "
            "measure (`WARMUP_PERCENT`), the OSU micro-benchmarks and nccl-tests a fixed number."
        ),
    )
    root_shift: bool = Field(
        default=False,
        description=(
            "The root moves on to the next rank from round to round, in gather, scatter, broadcast, reduce "
            "and incast: `-root_shift` of the Intel MPI Benchmarks. Source: false, their default since "
            "version 2017."
        ),
    )
    barrier: bool = Field(
        default=False,
        description=(
            "Ranks wait for each other between rounds, as in MPI_Barrier: by a dissemination of messages "
            "without payload, which no round contains. Source: false, as in nccl-tests; the Intel MPI "
            "Benchmarks have it since version 2017 (`-sync`)."
        ),
    )
    arrivals: Arrivals | None = Field(
        default=None,
        description=(
            "Makes open-loop traffic of the job: instead of running a collective once, its ranks "
            "offer messages of the data size at given times to their peers of the pattern: "
            "`permutation` (one peer each), `incast` (the root) or `uniform-random` (a peer "
            "drawn for each message)."
        ),
    )
    storage: Storage | None = Field(
        default=None,
        description=(
            "Storage clients and targets in place of a collective: a closed loop of operations over RDMA, "
            "as NVMe "
            "over Fabrics does them. They are the ranks, and `collective` is `storage`."
        ),
    )

    @model_validator(mode="before")
    @classmethod
    def _storage_has_ranks(cls, value: Any) -> Any:
        return fill_job(value)


class SizeRange(PlanModel):
    """Data sizes from `start`, each `factor` times the one before, up to and including `end`."""

    start_bytes: Size = Field(alias="start", description="First data size [size].")
    factor: int = Field(
        default=2,
        ge=2,
        le=1 << 20,
        description="Each size is this many times the one before. Source: nccl-tests.",
    )
    end_bytes: Size = Field(alias="end", description="No data size is above this one [size].")


def _form_of_sizes(value: Any) -> str:
    """Tell the three ways of writing data sizes apart."""
    if isinstance(value, dict | SizeRange):
        return "range"
    return "list" if isinstance(value, list | tuple) else "one"


def _not_several(value: object) -> object:
    """Refuse several sizes that are written as one text: as an override, that looks like a list."""
    if isinstance(value, str) and "," in value:
        sizes = ", ".join(part.strip() for part in value.split(","))
        allowed = 'one size such as "16MB", a list or a range'
        raise UnitError(shorten(value), allowed, f"write a list: [{sizes}]")
    return value


Sizes = Annotated[
    Annotated[Size, BeforeValidator(_not_several), Tag("one")]
    | Annotated[tuple[Size, ...], Field(strict=False, min_length=1), Tag("list")]
    | Annotated[SizeRange, Tag("range")],
    Discriminator(_form_of_sizes),
]
"""Sizes of a sweep: one, a list or a range."""


class Sweep(PlanModel):
    """What changes from trial to trial: `data_size` or `message_size`."""

    data_size: Sizes | None = Field(
        default=None,
        description=(
            "Data sizes of the collectives, one trial each [size]: one size, a list, or a "
            "mapping `{start, factor, end}`. What the size means for each collective stands "
            "in docs/plan.md."
        ),
    )
    message_size: Sizes | None = Field(
        default=None,
        description=(
            "The same as message sizes [size], as MPI benchmarks sweep them: what a rank gives to each other "
            "rank (all-to-all, scatter) or puts in (all-gather, gather), which makes a data size of so much "
            "times the ranks; of all other collectives the data size. Source: Intel MPI Benchmarks, OSU "
            "micro-benchmarks."
        ),
    )


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
