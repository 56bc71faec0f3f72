"""TCP connections in a plan, in the background: ordinary applications that share the fabric with RDMA."""

from typing import Annotated, Final, Literal

from pydantic import Field

from fabricbench.plan._run_spec import TcpSpec
from fabricbench.plan.fields.base import Named, PlanModel
from fabricbench.plan.fields.hosts import Hosts
from fabricbench.plan.fields.quantities import (
    DscpValue,
    Duration,
    DurationValue,
    Priority,
    RateValue,
    Size,
    Time,
    limits_of,
    parse_duration,
    parse_rate,
)
from fabricbench.plan.jobs.collective_names import AlgorithmName, CollectiveName

UNLIMITED: Final = "unlimited"
"""The value of `rate` for applications that always have more to send."""
_UNTIL_OTHERS_END: Final = "until-others-end"


class Tcp(PlanModel):
    """TCP connections between some hosts, open from the start."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=80)] = Field(
        default="tcp", description="Name of the traffic, unique among jobs and TCP traffic."
    )
    hosts: Hosts = Field(
        default="all",
        alias="ranks",
        validate_default=True,
        description=(
            "The hosts in rank order, as for a job. A host may also have a rank of a job, but of no other "
            "TCP traffic."
        ),
    )
    collective: CollectiveName = Field(
        default="permutation",
        description=(
            "Each pair of sender and receiver of this collective has connections, such as of `permutation`, "
            "`all-to-all` or `incast`. Source: each host with one peer."
        ),
    )
    algorithm: AlgorithmName | None = Field(
        default=None, description="An algorithm of that collective. Default: the first that the engine lists."
    )
    root: int = Field(default=0, ge=0, description="Receiver of incast [rank].")
    connections: Annotated[int, limits_of("TcpSpec.connections")] = Field(
        default=1, description="Connections of each pair. Source: iperf3."
    )
    rate_bps: Annotated[RateValue | None, Named({UNLIMITED: None}, parse_rate)] = Field(
        alias="rate",
        description=(
            "Payload that each sending host offers, split evenly over its connections [rate], or "
            "`unlimited`: there is always more to send. An application that was held back catches up as far "
            "as its window allows."
        ),
    )
    write_bytes: Size = Field(
        default="128KB",
        alias="write_size",
        validate_default=True,
        description=(
            "The application writes so much at a time [size], rounded up to whole segments. Source: iperf3."
        ),
    )
    outstanding_writes: Annotated[int | None, limits_of("TcpSpec.outstanding_writes")] = Field(
        default=None,
        description=(
            "A closed loop: each connection has so many writes unacknowledged, and issues the next when one "
            "is acknowledged, as a storage client over TCP does; needs `rate: unlimited`. fio: `iodepth`. "
            "Default: writes wait for none before them."
        ),
    )
    start_ps: Time = Field(
        default="0s",
        alias="start",
        validate_default=True,
        description="When the traffic starts, from the start of the run [time].",
    )
    start_spread_ps: Time = Field(
        default="100us",
        alias="start_spread",
        validate_default=True,
        description=(
            "Each connection starts up to that much later, drawn at random [time]. Source: a few writes, so "
            "that those of hosts do not coincide."
        ),
    )
    duration_ps: Annotated[DurationValue | None, Named({_UNTIL_OTHERS_END: None}, parse_duration)] = Field(
        default=_UNTIL_OTHERS_END,
        alias="duration",
        validate_default=True,
        description=(
            "For how long applications write, from `start` [time]: the run goes on until all is "
            "acknowledged. `until-others-end`: until every job has ended."
        ),
    )
    priority: Priority = Field(
        default=0,
        description=(
            "Priority of its frames, data and acknowledgements; it must not be lossless. Source: best effort "
            "of IEEE 802.1Q."
        ),
    )
    dscp: DscpValue = Field(
        default=0,
        description=(
            "Differentiated services code point of its frames, data and acknowledgements [0 to 63]. Source: "
            "best effort (RFC 2474)."
        ),
    )
    mtu_bytes: Annotated[int, limits_of("TcpSpec.mtu_bytes")] = Field(
        default=1500,
        alias="mtu",
        description=(
            "Ethernet MTU: payload and 52 bytes of IP and TCP headers with timestamps [bytes]. Source: IEEE "
            "802.3."
        ),
    )
    congestion: Literal["cubic", "newreno", "dctcp"] = Field(
        default="cubic",
        description=(
            "Congestion control: `cubic` (RFC 9438), `newreno` (RFC 5681 and 6675) or `dctcp` (RFC 8257), "
            "whose priority must be among those of `ecn`. Source: Linux."
        ),
    )
    initial_window: Annotated[int, limits_of("TcpSpec.initial_window_segments")] = Field(
        default=10, description="First congestion window [segments]. Source: RFC 6928."
    )
    window_bytes: Size = Field(
        default="2MB",
        alias="window",
        validate_default=True,
        description=(
            "At most so much written and not acknowledged, the smaller of send buffer and receive window "
            "[size]; at most 2047 segments. Source: 20 Gb/s over 800 us, below Linux's largest buffers of 4 "
            "and 6 MB."
        ),
    )
    ack_every: Annotated[int, limits_of("TcpSpec.ack_every")] = Field(
        default=2,
        description="Segments in order that one acknowledgement covers. Source: RFC 5681, 4.2.",
    )
    delayed_ack_ps: Duration = Field(
        default="500us",
        alias="delayed_ack",
        validate_default=True,
        description=(
            "A segment is acknowledged after this time at the latest [time]. Source: assumed, a tenth of "
            "`rto_min`; RFC 5681 allows 500 ms, Linux takes 40 ms, longer than most trials."
        ),
    )
    rto_initial_ps: Duration = Field(
        default="1s",
        alias="rto_initial",
        validate_default=True,
        description="Retransmission timeout before a round-trip time is known [time]. Source: RFC 6298, 2.1.",
    )
    rto_min_ps: Duration = Field(
        default="5ms",
        alias="rto_min",
        validate_default=True,
        description=(
            "Smallest retransmission timeout [time]. Source: assumed for data centres, where 1 to 10 ms are "
            "usual (DCTCP, SIGCOMM 2010: 10 ms); Linux takes 200 ms, but finds most lost tails without it "
            "(RACK-TLP, not modelled)."
        ),
    )
    rto_max_ps: Duration = Field(
        default="60s",
        alias="rto_max",
        validate_default=True,
        description="Largest retransmission timeout [time]. Source: RFC 6298, 2.5.",
    )

    def run_spec(self, hosts: list[int], algorithm: str, stream: int) -> TcpSpec:
        """Return the traffic for the engine.

        Args:
            hosts: The host of each rank.
            algorithm: The algorithm, if the plan names none.
            stream: Number of its random draws, unique in the run.
        """
        spec: TcpSpec = self.to_spec(
            TcpSpec,
            hosts=hosts,
            algorithm=self.algorithm or algorithm,
            stream=stream,
            rate_bps=self.rate_bps,
            outstanding_writes=self.outstanding_writes,
            duration_ps=self.duration_ps,
            initial_window_segments=self.initial_window,
        )
        if self.dscp:  # omitted if 0, so that the ids of trials without it do not change
            spec["dscp"] = self.dscp
        return spec
