"""A job of a plan: ranks that run a collective, offer messages at random times (open loop) or do storage."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field, model_validator

from fabricbench.plan._run_spec import OpenLoopWork, PatternSpec
from fabricbench.plan.fields.base import Named, PlanModel
from fabricbench.plan.fields.hosts import Hosts
from fabricbench.plan.fields.quantities import (
    HOST_RANKS_MAX,
    PPM,
    ROUNDS_MAX,
    DscpValue,
    Duration,
    Name,
    Part,
    Priority,
    Rate,
    Time,
    limits_of,
    parse_rounds,
)
from fabricbench.plan.fields.sizes import Sizes
from fabricbench.plan.jobs.collective_names import AlgorithmName, CollectiveName
from fabricbench.plan.jobs.library import LibraryField, fill_job as fill_library
from fabricbench.plan.jobs.mpi import Rendezvous
from fabricbench.plan.jobs.software import fill_software
from fabricbench.plan.jobs.storage import Storage, fill_job


class Arrivals(PlanModel):
    """When the ranks of a job offer messages of its data size, whatever became of those before."""

    process: Literal["poisson", "constant"] = Field(
        default="poisson",
        description=(
            "Gaps between the messages of a rank: exponential (`poisson`), or equal after a random phase "
            "(`constant`). Source: the load sweeps of the literature."
        ),
    )
    load_ppm: Part | None = Field(
        default=None,
        alias="load",
        description=(
            "Payload offered by each sending rank, as a share of the line rate of its port [share]; this or "
            "`rate`."
        ),
    )
    rate_bps: Rate | None = Field(
        default=None,
        alias="rate",
        description="Payload offered by each sending rank [rate]; this or `load`.",
    )
    duration_ps: Duration = Field(
        alias="duration",
        description="For how long messages are offered, from the start of the job [time].",
    )

    def run_spec(self, pattern: PatternSpec, line_rate_bps: int) -> OpenLoopWork:
        """Return the work of the job for the engine; a load is a fraction of the line rate."""
        rate_bps = line_rate_bps * (self.load_ppm or 0) // PPM if self.rate_bps is None else self.rate_bps
        return self.to_spec(OpenLoopWork, kind="open-loop", pattern=pattern, rate_bps=rate_bps)


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
            'The hosts in rank order: `0,1,6,7` puts rank 2 on host 6. Ranges such as `"0-7"`, with a step '
            '`"0-28:4"`, a list, or `all`. Each host once (see `processes_per_host`); several jobs may have '
            "ranks on a host. On servers the GPUs: GPU g of server s is s * GPUs of a server + g."
        ),
    )
    collective: CollectiveName = Field(
        description=(
            "What the ranks do together, such as `all-reduce`; `storage` with the field of that name."
        )
    )
    algorithm: AlgorithmName | None = Field(
        default=None,
        description="How they do it. Default: the first that the engine lists for the collective.",
    )
    library: LibraryField = Field(
        default=None,
        description=(
            'How servers with GPUs run it: `nccl`, or `{nccl: {version: "2.30", env: {NCCL_ALGO: ring}}}`, '
            "as NCCL does, which chooses algorithm, protocol and channels; `none`, the algorithm among the "
            "ranks; `flat-ring`, a ring over all ranks without servers. Default: `nccl` for collectives that "
            "it has, with all GPUs of its servers; else `none`. Source: frameworks use NCCL."
        ),
    )
    data_bytes: Sizes | None = Field(
        default=None,
        alias="data_size",
        description=(
            "Data size of this job [size]. Default: that of the sweep. A list or `{start, factor, end}` are "
            "the sizes of its rounds: see `size_order`."
        ),
    )
    message_bytes: Sizes | None = Field(
        default=None,
        alias="message_size",
        description="The same as a message size [size] (docs/plan.md); this or `data_size`.",
    )
    size_order: Literal["in-order", "random"] = Field(
        default="in-order",
        description=(
            "Which of several sizes of `data_size` or `message_size` a round has: each in turn, once in each "
            "repetition of the job; or `random`, one drawn for each round. Source: a series of sizes, as "
            "nccl-tests run it."
        ),
    )
    processes_per_host: int = Field(
        default=1,
        ge=1,
        le=HOST_RANKS_MAX,
        description=(
            "Ranks on each host of `ranks`: with 4, ranks 0 to 3 are on the first. Source: one process for "
            "each accelerator or NIC."
        ),
    )
    mapping: Literal["by-host", "round-robin"] = Field(
        default="by-host",
        description=(
            "Order of several ranks per host or server: host by host, or dealt out in turn. Source: MPI "
            "launchers (Open MPI `--map-by slot`, Intel MPI `-ppn`)."
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
    software: Literal["none", "mpi", "spdk", "linux"] = Field(
        default="none",
        description=(
            "Software of the hosts, whose costs take the place of defaults (docs/plan.md): `mpi` of "
            "`send_overhead` and `receive_overhead`, `spdk` and `linux` of `storage.service_time`. Source: "
            "the network alone."
        ),
    )
    step_overhead_ps: Time = Field(
        default="0s",
        alias="step_overhead",
        validate_default=True,
        description=(
            "Software overhead before each transfer is posted, once what it waits for has arrived [time]. "
            "Source: the network alone."
        ),
    )
    send_overhead_ps: Time = Field(
        default="0s",
        alias="send_overhead",
        validate_default=True,
        description=(
            "Time that a rank is busy with each message it sends, one after the other [time]: o_s of LogGP "
            "(Alexandrov et al., SPAA 1995). Source: the network alone."
        ),
    )
    receive_overhead_ps: Time = Field(
        default="0s",
        alias="receive_overhead",
        validate_default=True,
        description=(
            "Time that a rank is busy with each message that has arrived, before it sends what waited for "
            "it [time]: o_r of LogGP. Source: the network alone."
        ),
    )
    rendezvous: Annotated[Rendezvous | None, Named({"off": None, "on": {}})] = Field(
        default=None,
        description=(
            "The handshake of MPI before large messages between hosts: `on`, `off` or a mapping; needs "
            "`qp_mode: per_pair`. Source: NCCL and traffic generators have none."
        ),
        json_schema_extra={"default": "off"},
    )
    copies_own_block: bool = Field(
        default=False,
        description=(
            "Each rank first copies the block that it keeps, at the rate of `fabric.shared_memory`, in each "
            "round, as MPI_Alltoall and MPI_Allgather do with separate buffers. Source: in place."
        ),
    )
    dscp: DscpValue | None = Field(
        default=None,
        description=(
            "Differentiated services code point of its data [0 to 63], in captures, port maps and on "
            "endpoints. Default: `transport.dscp.data`."
        ),
    )
    priority: Priority | None = Field(
        default=None,
        description=(
            "Priority (IEEE 802.1Q) of its data [0 to 7]: queue, PFC, ECN and DWRR of switches, and on "
            "endpoints the code point 8 x priority, unless `dscp` is given. Acknowledgements and CNPs keep "
            "theirs. Default: `transport.priorities.data`."
        ),
    )
    compute_ps: Time = Field(
        default="0s",
        alias="compute",
        validate_default=True,
        description=(
            "Time that each rank computes at the beginning of a round, before it posts anything [time]: part "
            "of the time of a round, and of no bandwidth. Source: the network alone."
        ),
    )
    repeat: Repeat = Field(
        default=1,
        description=(
            "Rounds of the job within a trial, back to back; `until-others-end`: until every job without "
            "that value has ended. With a list of sizes in order each repetition is a round of every size. "
            "Source: a trial is one run."
        ),
    )
    warm_up_rounds: Annotated[int, limits_of("CollectiveWork.warm_up_rounds")] = Field(
        default=0,
        description=(
            "Rounds before those of `repeat`, in none of their times [rounds]. Source: the first round is "
            "of interest; the Intel MPI Benchmarks 2021 warm up with a tenth of those that they measure "
            "(`WARMUP_PERCENT`), the OSU micro-benchmarks and nccl-tests with a fixed number."
        ),
    )
    root_shift: bool = Field(
        default=False,
        description=(
            "The root moves on from round to round, in gather, scatter, broadcast, reduce and incast: "
            "`-root_shift` of the Intel MPI Benchmarks. Source: their default since version 2017."
        ),
    )
    barrier: bool = Field(
        default=False,
        description=(
            "Ranks wait for each other between rounds, as in MPI_Barrier: by a dissemination of messages "
            "without payload, in no round. A job with several data sizes has it in any case. Source: "
            "nccl-tests, which has it between sizes; the Intel MPI Benchmarks have it since version 2017 "
            "(`-sync`)."
        ),
    )
    arrivals: Arrivals | None = Field(
        default=None,
        description=(
            "Open-loop traffic: ranks offer messages of the data size at given times to their peers of the "
            "pattern: `permutation` (one peer each), `incast` (the root) or `uniform-random` (a peer drawn "
            "for each message)."
        ),
    )
    storage: Storage | None = Field(
        default=None,
        description=(
            "Storage clients and targets, the ranks of `collective: storage`: a closed loop of operations "
            "over RDMA, as in NVMe over Fabrics."
        ),
    )

    @model_validator(mode="before")
    @classmethod
    def prepared(cls, data: Any) -> Any:
        """Return the job with the ranks of its storage, and fields that its library and software set."""
        return fill_job(fill_software(fill_library(data)))
