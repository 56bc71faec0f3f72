"""The compiled core: runs one RunSpec and returns what was measured.

Every `spec_json` is the JSON text of a complete RunSpec, whose schema `run_spec_schema` gives.
"""

from collections.abc import Callable
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

class Description(TypedDict):
    nodes: list[NodeDescription]
    links: list[LinkDescription]
    qps: list[QueuePairDescription]
    connections: list[ConnectionDescription]

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

def run_spec_schema() -> str:
    """Return the JSON Schema of RunSpec."""

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
    path: Literal["auto", "exact"] = "auto",
    fast_forward: bool = True,
    on_progress: Callable[[Progress], None] | None,
    on_batch: Callable[[str, pa.RecordBatch], None],
) -> dict[str, object]:
    """Run a RunSpec and return its RunSummary with `cpu_s`, `wall_s`, `peak_rss_bytes` and `threads`.

    Args:
        spec_json: The RunSpec.
        threads: Worker threads, as many as help without it; the result does not depend on it.
        path: `exact` keeps to the slower reference path; the result is the same.
        fast_forward: On one thread, skip what repeats; the result is the same.
        on_progress: Called about ten times a second and at the end. What it raises stops the run and comes
            out of it.
        on_batch: Called with a table's name and its rows, while running and at the end.

    Raises:
        SpecError: The spec cannot be run.
        KeyboardInterrupt: The user stopped the run.
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
