"""The compiled core: runs one RunSpec and returns what was measured.

Every `spec_json` is the JSON text of a complete RunSpec, whose schema `run_spec_schema` gives.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypedDict

import pyarrow as pa

__version__: str

class SpecError(ValueError):
    """A RunSpec that cannot be run: `field` is its dotted path, such as `jobs[0].hosts[3]`.

    Of a number out of its range `limits` are the least and the most, and `limited_by` is the path of the
    field that sets them, if they are not always these.
    """

    field: str
    found: str
    allowed: str
    limits: tuple[int, int] | None
    limited_by: str | None

class NodeDescription(TypedDict):
    name: str
    kind: Literal["host", "switch"]
    tier: int

# "from" is a keyword, hence the functional form.
LinkDescription = TypedDict(
    "LinkDescription",
    {
        "from": str,
        "from_port": int,
        "from_ip": str | None,
        "from_mac": str | None,
        "to_mac": str | None,
        "to": str,
        "to_port": int,
        "tier": int,
        "rate_bps": int,
        "delay_ps": int,
    },
)

class QueuePairDescription(TypedDict):
    qp: int
    job: str
    part: int
    src_rank: int
    dst_rank: int
    src_host: int
    dst_host: int
    src_ip: str
    dst_ip: str
    src_lid: int
    dst_lid: int
    udp_source_port: int
    dst_qpn: int
    dscp: int
    channel: int
    step: int

class ConnectionDescription(TypedDict):
    qp: int
    job: str
    src_rank: int
    dst_rank: int
    src_host: int
    dst_host: int
    src_ip: str
    dst_ip: str
    source_port: int
    dscp: int

class Description(TypedDict):
    nodes: list[NodeDescription]
    links: list[LinkDescription]
    qps: list[QueuePairDescription]
    connections: list[ConnectionDescription]

class NumbersDescription(TypedDict):
    count: int
    least: int
    largest: int
    first: list[int]

class DscpDescription(TypedDict):
    data: int
    ack: int
    cnp: int

class PortDescription(TypedDict):
    job: str
    protocol: Literal["roce", "tcp"]
    rank: int
    host: str
    host_number: int
    host_port: int
    switch: str
    switch_port: int
    rate_bps: int
    lid: int
    ip: str
    prefix: int
    gateway: str | None
    mac: str
    vlan: int | None
    source_ports: NumbersDescription
    destination_qps: NumbersDescription
    priority: int
    dscp: DscpDescription

class PathChoice(TypedDict):
    qp: int
    switch: str
    port: int

class BusiestLink(TypedDict):
    switch: str
    peer: str
    rate_bps: int
    step: int
    queue_pairs: int
    queue_pairs_of_switch: int
    links: int

class LinkEnd(TypedDict):
    node: str
    tier: int
    is_ideal: bool

class DirectionLoad(TypedDict):
    queue_pairs: int
    bytes: int
    acknowledged_queue_pairs: int

class JobLoad(TypedDict):
    job: int
    directions: list[DirectionLoad]

class LoadedLink(TypedDict):
    name: str
    ends: list[LinkEnd]
    rate_bps: int
    loads: list[JobLoad]

class Estimate(TypedDict):
    hosts: int
    ports: int
    chunks: int
    chunk_rows: int
    queue_pairs: int
    payload_bytes: int
    packet_hops: int
    memory_bytes: int
    time_ms: int

class Sample(TypedDict):
    sim_ps: int
    span_ps: int
    delivered_bytes: int
    queue_max_bytes: int | None
    marked_frames: int | None
    paused_ps: int | None

class Progress(TypedDict):
    delivered_bytes: int
    total_bytes: int
    sim_ps: int
    packet_hops: int
    wall_s: float
    waiting_ps: int
    patience_ps: int
    open_chunks: int
    samples: list[Sample]

class FlowProgress(TypedDict):
    delivered_bytes: int
    total_bytes: int
    sim_ps: int
    wall_s: float
    samples: list[Sample]

class NcclGraph(TypedDict):
    algorithm: str
    pattern: str
    pattern_number: int
    channels: int
    same_channels: bool
    intra: int
    inter: int
    latency_inter_us: float
    type_intra: str
    type_inter: str
    cross_nic: int

class NcclChannels(TypedDict):
    collective: int
    nvls: int
    point_to_point: int
    per_peer: int

class NcclTime(TypedDict):
    algorithm: str
    protocol: str
    time_us: float

class NcclChosen(TypedDict):
    algorithm: str | None
    protocol: str
    time_us: float | None
    channels: int
    threads: int | None
    concurrent_peers: int | None
    chunk_bytes: int
    slice_bytes: int
    messages: int

class NcclOperation(TypedDict):
    bytes: int
    chosen: NcclChosen | None
    times: list[NcclTime]

class NcclAnswer(TypedDict):
    version: str
    nodes: int
    ranks: int
    graphs: list[NcclGraph]
    channels: NcclChannels
    nvls: dict[str, int]
    rings: list[list[int]]
    ring_nics: list[tuple[int | None, int | None]]
    tree_nics: list[tuple[int | None, int | None]]
    nvls_nics: list[tuple[int | None, int | None]]
    nvlink_of_gpu: int | None
    nvls_efficiency: float
    pxn: bool
    peer_chunk_bytes: int
    ignored: list[str]
    operations: list[NcclOperation]

def run_spec_schema() -> str:
    """Return the JSON Schema of RunSpec."""

def record_tables() -> list[
    tuple[str, Literal["endpoint", "fabric", "device"], list[tuple[str, str, bool, str | None, str]]]
]:
    """Return each record table: its name, where a simulation observes it, and its columns.

    A column is name, type, nullability, unit and meaning.
    """

def patterns() -> list[tuple[str, str]]:
    """Return every (collective, algorithm) that can be run."""

def shares(collective: str, ranks: int) -> int:
    """Return how many messages the data size of a collective is, a multiple of it: 1 or the ranks."""

def supports(collective: str, algorithm: str, ranks: int) -> None:
    """Check that so many ranks can carry out a collective by an algorithm.

    Raises:
        SpecError: There is no such algorithm, or it is not for so many ranks.
    """

def check(spec_json: str) -> list[SpecError]:
    """Return why a RunSpec cannot be run: every number out of its range, or what is found first."""

def describe(spec_json: str) -> Description:
    """Return the nodes, links and queue pairs that a RunSpec builds, without running it."""

def port_map(spec_json: str) -> list[PortDescription]:
    """Return each rank of a RunSpec at each port that it uses, by job, rank and port, without running it.

    Raises:
        SpecError: The spec cannot be run.
    """

def roce_mtu(port_mtu_bytes: int) -> int | None:
    """Return the largest RoCE MTU that fits a port's Ethernet MTU [bytes]; none below 320."""

def path_choices(spec_json: str) -> list[PathChoice]:
    """Return the port by which the data of each queue pair leaves each switch with several equal next hops.

    Empty where load balancing sends packets of a queue pair several ways.

    Raises:
        SpecError: The RunSpec cannot be carried out.
    """

def oversubscription(spec_json: str) -> list[tuple[int, int]]:
    """Return the capacity of each tier of switches but the highest [bit/s]: to the hosts and away from them.

    Raises:
        SpecError: There is no such network.
    """

def estimate(spec_json: str) -> Estimate:
    """Return what a run of a RunSpec will cost, without making its chunks.

    Memory is that of the whole program, time that of one core if every packet is simulated.

    Raises:
        SpecError: The spec cannot be run. Not everything that makes it so is looked at.
    """

def run(
    spec_json: str,
    *,
    threads: int | None = None,
    cores: int | None = None,
    path: Literal["auto", "exact"] = "auto",
    fast_forward: bool = True,
    on_progress: Callable[[Progress], None] | None,
    on_batch: Callable[[str, pa.RecordBatch], None],
) -> dict[str, object]:
    """Run a RunSpec and return its RunSummary with `cpu_s`, `wall_s`, `peak_rss_bytes` and `threads`.

    Args:
        spec_json: The RunSpec.
        threads: Worker threads, as many as help without it; the result does not depend on it.
        cores: How many threads may help at most; without it as many as the machine has cores.
        path: `exact` keeps to the slower reference path; the result is the same.
        fast_forward: On one thread, skip what repeats; the result is the same.
        on_progress: Called about ten times a second and at the end. What it raises stops the run and comes
            out of it.
        on_batch: Called with a table's name and its rows, while running and at the end.

    Raises:
        SpecError: The spec cannot be run.
        KeyboardInterrupt: The user stopped the run.
    """

def check_flow(spec_json: str) -> list[SpecError]:
    """Return why the flow model cannot carry a RunSpec out; see `check`."""

def estimate_flow(spec_json: str) -> Estimate:
    """Return what a run of a RunSpec with fluid flows will cost; no packet hops.

    Raises:
        SpecError: The RunSpec cannot be carried out.
    """

def busiest_link(spec_json: str) -> BusiestLink | None:
    """Return the link between switches on which the hash puts most queue pairs of one step.

    None where no data cross between switches, or where load balancing sends packets of a queue pair several
    ways.

    Raises:
        SpecError: The RunSpec cannot be carried out, or the flow model does not cover it.
    """

def link_loads(spec_json: str) -> list[LoadedLink]:
    """Return all cables, each with the loads of both directions by the jobs that use it.

    The first direction is that from the first end, which is of the lower tier.

    Raises:
        SpecError: The RunSpec cannot be run, or the flow model does not cover it.
    """

def run_flow(
    spec_json: str,
    *,
    on_progress: Callable[[FlowProgress], None] | None,
    on_batch: Callable[[str, pa.RecordBatch], None],
) -> dict[str, object]:
    """Run a RunSpec with fluid flows; return its summary with `cpu_s`, `wall_s` and `peak_rss_bytes`.

    Args:
        spec_json: The RunSpec.
        on_progress: Called about ten times a second.
        on_batch: Called with the name of a table and rows of it; columns that need packets are 0 or null.

    Raises:
        SpecError: The spec cannot be run, or the model does not cover a field of it.
    """

def capture(spec_json: str, *, qps: list[int], frames: int) -> list[tuple[int, bytes]]:
    """Return the first frames of some queue pairs as (time in ps, Ethernet frame without FCS), in time order.

    They are seen at the sending NIC's port: data, acknowledgements and negative acknowledgements.

    Args:
        spec_json: The RunSpec.
        qps: Queue pairs, by the numbers that `describe` gives.
        frames: How many frames to return at most.

    Raises:
        SpecError: The spec cannot be run.
    """

def nccl_choices(query_json: str) -> NcclAnswer:
    """Return the graphs, channels and choices of NCCL for servers; speeds of graphs are in MB/s.

    Args:
        query_json: A `Query` of crate `nccl`: `hardware`, `servers`, `version`, `variables`, `traffic`,
            `sizes`.

    Raises:
        SpecError: The rules of the version are not known (field `version`), or a variable does not take its
            value (field: its name).
    """

class HostProgress(TypedDict):
    state: Literal["running", "drained", "stopped", "failed"]
    reason: str
    delivered_bytes: int
    total_bytes: int
    elapsed_ps: int
    is_idle: bool

class HostRun:
    """A run at an agent that plays some hosts of a RunSpec.

    It is used from the top to the bottom; a method called out of order raises `RuntimeError`. What the host
    refuses is an `OSError`.
    """

    def __init__(self, spec_json: str, *, hosts: Sequence[int], driver: str, settings_json: str) -> None:
        """Open the sockets of a run.

        Args:
            spec_json: The RunSpec.
            hosts: Hosts of its topology whose ranks run here.
            driver: One of `drivers`.
            settings_json: An object with `address` and `allowed_peers` (networks that may be sent to), and,
                if they are to differ from their defaults, `port` (any), `verify` (false: whether every byte
                that arrives is compared), `rate_limit_bps` (null: payload sent by this agent), `dscp` (26),
                `timeout_min_ps` (20 ms, 0 of `verbs`: the shortest transport timeout), `loss_one_in` (0:
                drops packets on purpose), and those that docs/hosts.md has of each driver.

        Raises:
            SpecError: Endpoints cannot carry the spec out.
            ValueError: There is no such host, driver or setting.
        """

    def addresses(self) -> bytes:
        """Return what peers must know to reach this agent."""

    def connect(self, peers: Mapping[int, bytes]) -> None:
        """Make all queue pairs ready.

        Args:
            peers: What the agent of each host returned as `addresses`, by host.

        Raises:
            ValueError: A host is missing, or is not in an allowed network: nothing was sent to any.
        """

    def start(self, at_ns: int) -> None:
        """Start at that time of `time.monotonic_ns`, at once if it is over; returns at once."""

    def keep_alive(self) -> None:
        """Give a sign of the controller: two seconds without one stop the run."""

    def stop(self, reason: str) -> None:
        """Stop sending; what is under way stays unfinished."""

    def progress(self) -> HostProgress:
        """Return how far it is.

        It is drained when all that jobs which end by themselves have for these hosts is sent, acknowledged
        and received; it still answers peers then, and jobs that others end go on. Bytes are those that
        arrived here.
        """

    def wait(self, timeout_s: float) -> bool:
        """Wait until it is no longer running; False if that takes longer."""

    def sent(self) -> bytes:
        """Return the senders' halves of its chunks as an Arrow IPC stream.

        That ends a run that is drained, so wait for all agents before.
        """

    def received(self) -> bytes:
        """Return the receivers' halves of its chunks as an Arrow IPC stream; ends a drained run."""

    def counters(self) -> dict[str, int]:
        """Return what the driver counts and the settings that it used in place of the plan's.

        Among them are the `start_skew_ns` by which the start was late, `socket_drops`, `refused_datagrams`,
        `wrong_bytes` if bytes are compared, and the `timeout_ps`, `message_bytes` and smallest
        `window_packets_min` of its queue pairs.
        """

def drivers(address: str | None = None) -> dict[str, str]:
    """Return every driver of `HostRun` with the reason why it cannot be used here; empty if it can.

    Args:
        address: IPv4 address of this host that it is to be used from.
    """

def unmeasured(driver: str) -> list[str]:
    """Return the columns of table `chunks` that a driver does not measure."""

def chunk_rows(
    spec_json: str,
    *,
    driver: str,
    sent: Sequence[bytes],
    received: Sequence[bytes],
    shifts_ps: Mapping[int, tuple[tuple[int, int], tuple[int, int]]],
) -> list[pa.RecordBatch]:
    """Return the rows of table `chunks` that the halves of all agents make, by the time of completion.

    Args:
        spec_json: The RunSpec.
        driver: That of the agents: what it does not measure is null.
        sent: What `HostRun.sent` returned at each agent.
        received: What `HostRun.received` returned at each agent.
        shifts_ps: By host, what is added to its times so that those of all hosts are on one clock: at two of
            its times, each with what is added then, and by the straight line through both elsewhere.

    Raises:
        ValueError: A stream does not have what it should.
    """
