"""A job of a plan: ranks that run a collective together, offer messages or do storage."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field, model_validator

from fabricbench.plan.fields.base import Named, PlanModel
from fabricbench.plan.fields.hosts import Hosts
from fabricbench.plan.fields.quantities import HOST_RANKS_MAX, ROUNDS_MAX, Name, Size, Time, parse_rounds
from fabricbench.plan.jobs.arrivals import Arrivals
from fabricbench.plan.jobs.mpi import Rendezvous
from fabricbench.plan.jobs.storage import Storage, fill_job

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
