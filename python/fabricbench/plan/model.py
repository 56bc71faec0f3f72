"""The test plan: every field with its unit, default, meaning and source. Defaults live only here."""

from typing import Annotated, Any, Final, Literal

from pydantic import Discriminator, Field, Tag

from fabricbench.plan.base import PlanModel
from fabricbench.plan.fields import Duration, Hosts, MessageSize, Propagation, Size, Time
from fabricbench.plan.topology import Topology
from fabricbench.units import QUANTITY_MAX

PLAN_VERSION: Final = 1
"""Version of the plan format, the value of the field `fabricbench`."""
WINDOW_PACKETS_MAX: Final = 1 << 23
"""Half of the 24-bit PSN space: more in flight could not be told from duplicates (IBTA 1.7, 9.7.2)."""
_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
Name = Annotated[str, Field(pattern=_NAME, max_length=80)]
"""A name that can also be a file name: letters, digits, ".", "_" and "-"."""


class Switch(PlanModel):
    """Every switch of the fabric."""

    pipeline_latency_ps: Time = Field(
        default="500ns",
        alias="pipeline_latency",
        validate_default=True,
        description=(
            "From the last bit of a frame in to its earliest first bit out [time]. Source: "
            "with it, a full frame at 400 Gb/s takes 0.7 us through one leaf and 2.2 us "
            "through leaf, spine and leaf; published are about 0.8 and 2.1 us."
        ),
    )
    buffer_bytes: Size = Field(
        default="64MB",
        alias="buffer",
        validate_default=True,
        description=(
            "Packet buffer shared by all ports [size, in frame bytes]. Source: the buffer of "
            "12.8 Tb/s switch chips."
        ),
    )


class Nic(PlanModel):
    """Every NIC."""

    latency_ps: Time = Field(
        default="400ns",
        alias="latency",
        validate_default=True,
        description=(
            "Fixed latency on each side, sending and receiving [time]. Source: an estimate; "
            "adapters are quoted below 1 us from end to end."
        ),
    )


class Fabric(PlanModel):
    """The network under test."""

    topology: Topology = Field(description="The graph of hosts, switches and cables.")
    load_balancing: Literal["ecmp"] = Field(
        default="ecmp",
        description=(
            "How a switch chooses among equal next hops. `ecmp`: by a hash of the 5-tuple "
            "with a seed of the switch, so that a queue pair keeps one path. Source: what "
            "switches do by default; RFC 2992 analyses it."
        ),
    )
    switch: Switch = Field(default_factory=Switch, description="Every switch.")
    nic: Nic = Field(default_factory=Nic, description="Every NIC.")
    propagation_ps_per_m: Propagation = Field(
        default="5ns/m",
        alias="propagation",
        validate_default=True,
        description=(
            "Propagation delay of every cable [time per length]; a cable's delay is rounded "
            "to 1 ps. Source: a refractive index of 1.5 in optical fibre."
        ),
    )


class Transport(PlanModel):
    """The RoCEv2 reliable connections of every host."""

    mtu_bytes: Literal[256, 512, 1024, 2048, 4096] = Field(
        default=4096,
        alias="mtu",
        description=(
            "RoCE MTU: the payload of a full packet [bytes]. Source: the largest there is, as"
            " jumbo frames allow it."
        ),
    )
    message_bytes: MessageSize = Field(
        default="128KB",
        alias="message_size",
        validate_default=True,
        description=(
            "Size of one RDMA message [size]; a data chunk is cut into messages. At most 2 GB"
            " (IBTA 1.7, 9.7.1.1). Source: the message size of the published tables."
        ),
    )
    qp_mode: Literal["per_chunk", "per_pair"] = Field(
        default="per_chunk",
        description=(
            "Which transfers share a queue pair. `per_chunk`: each data chunk has its own "
            "queue pair and UDP source port. `per_pair`: one for each ordered rank pair and "
            "channel, reused. Source: traffic generators take one per chunk; communication "
            "libraries one per pair."
        ),
    )
    qps_per_rank_pair: int = Field(
        default=1,
        ge=1,
        le=1024,
        description="Queue pairs over which each data chunk is split evenly. Source: the published tables.",
    )
    ack_every: int = Field(
        default=2,
        ge=1,
        description=(
            "The responder acknowledges at least every so many packets, and at the end of a "
            "message [packets]; at most `window`. Source: of whole numbers 2 fits the "
            "published all-to-all table best: its 98.72 % of ideal leave 54 bytes of reverse "
            "traffic for each data packet, and an acknowledgement takes 86."
        ),
    )
    window_packets: int = Field(
        default=WINDOW_PACKETS_MAX,
        alias="window",
        ge=1,
        le=WINDOW_PACKETS_MAX,
        description=(
            "At most this many packets unacknowledged on a queue pair [packets]. Source: the "
            "limit that the 24-bit PSN sets (IBTA 1.7, 9.7.2)."
        ),
    )
    recovery: Literal["go_back_n"] = Field(
        default="go_back_n",
        description=(
            "What the requester does about loss. `go_back_n`: resend everything from the "
            "first missing packet. Source: the default of RoCE NICs."
        ),
    )
    timeout_ps: Duration = Field(
        default="67.108864ms",
        alias="timeout",
        validate_default=True,
        description=(
            "Time without progress after which the requester resends [time]. Source: 4.096 us"
            " * 2^14 (IBTA 1.7, 9.7.6.1.3), the usual local ACK timeout 14."
        ),
    )
    retry_count: int = Field(
        default=7,
        ge=0,
        le=7,
        description=(
            "Timeouts in a row before the queue pair fails. Source: the largest value of the 3-bit field."
        ),
    )
    rate_control: Literal["line-rate"] = Field(
        default="line-rate",
        description=(
            "How the requester paces itself. `line-rate`: as fast as the port takes it. "
            "Source: the published tables were taken without congestion control."
        ),
    )


class Job(PlanModel):
    """One tenant: ranks that run a collective together."""

    name: Name = Field(default="test", description="Name of the job, unique in the plan.")
    hosts: Hosts = Field(
        default="all",
        alias="ranks",
        validate_default=True,
        description=(
            "The hosts in rank order: `0,1,6,7` puts rank 2 on host 6. Ranges such as "
            '`"0-7"`, a list, or `all`. A host has at most one rank.'
        ),
    )
    collective: str = Field(description="What the ranks do together, such as `all-reduce`.")
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
            "Data size of this job [size], for a job that the sweep leaves alone. Default: "
            "that of `sweep.data_size`."
        ),
    )
    root: int = Field(default=0, ge=0, description="Root of gather and broadcast, receiver of incast [rank].")
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


class Sweep(PlanModel):
    """What changes from trial to trial."""

    data_size: Annotated[
        Annotated[Size, Tag("one")]
        | Annotated[tuple[Size, ...], Field(strict=False, min_length=1), Tag("list")]
        | Annotated[SizeRange, Tag("range")],
        Discriminator(_form_of_sizes),
    ] = Field(
        description=(
            "Data sizes of the collectives, one trial each [size]: one size, a list, or a "
            "mapping `{start, factor, end}`. What the size means for each collective stands "
            "in docs/plan.md."
        )
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


class Plan(PlanModel):
    """One test plan: a fabric, jobs on it, and what to sweep."""

    fabricbench: Literal[1] = Field(description="Version of the plan format.")
    name: Name = Field(description="Name of the plan; letters, digits, `.`, `_` and `-`.")
    title: str = Field(default="", max_length=200, description="One line for tables and reports.")
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
    fabric: Fabric = Field(description="The network under test.")
    transport: Transport = Field(
        default_factory=Transport, description="The RoCEv2 reliable connections of every host."
    )
    jobs: Annotated[tuple[Job, ...], Field(strict=False, min_length=1)] = Field(
        description="What the hosts do: one or more jobs at once."
    )
    sweep: Sweep | None = Field(default=None, description="What changes from trial to trial.")
    iterations: int = Field(
        default=1, ge=1, le=10_000, description="Times that each trial runs, each time with another seed."
    )
    tag: str = Field(
        default="", max_length=80, description="A label stored with each trial, to find it again."
    )
    published: str | None = Field(
        default=None,
        min_length=1,
        max_length=400,
        description=(
            "CSV file of published results to stand beside ours: a file next to the plan, or a shipped one."
        ),
    )
    observe: Observe = Field(default_factory=Observe, description="What is sampled while a trial runs.")
