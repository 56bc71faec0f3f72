"""What the simulator assumes and leaves out, for every report: the one place where it is said.

A change of a model changes its line here. `docs/models.md` has the full account.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ModelNote:
    """One part of the model.

    Attributes:
        part: What is modelled.
        modelled: How.
        left_out: What is not, so that a reader can judge the results.
    """

    part: str
    modelled: str
    left_out: str


MODEL_NOTES = (
    ModelNote(
        "Frames",
        "RoCEv2 over IPv4 with the full size of every header; preamble, start delimiter and inter-frame gap "
        "(20 bytes) occupy the link. Data moves as RDMA WRITE.",
        "VLAN tags, IPv6, Ethernet padding and FEC; bit errors.",
    ),
    ModelNote(
        "Transport",
        "Reliable connections with 24-bit PSNs, a fixed window, coalesced acknowledgements, NAK on a "
        "sequence error, go-back-N recovery, timeout and retry count.",
        "Selective retransmission, RNR NAKs, connection set-up.",
    ),
    ModelNote(
        "Rate control",
        "Senders at line rate: a queue pair sends whenever its port and window let it.",
        "DCQCN, delay-based control and any other reaction to congestion.",
    ),
    ModelNote(
        "Flow control and marking",
        "Buffers drop what does not fit.",
        "PFC and ECN: their counters and those of CNPs are 0 in every result.",
    ),
    ModelNote(
        "Switch",
        "Store and forward with a fixed pipeline latency, output queues with acknowledgements ahead of data, "
        "one packet buffer shared by all ports, drop at the tail when it is full.",
        "Cut-through, configurable priorities, per-queue thresholds, the cell structure of the buffer and "
        "limits of the internal fabric.",
    ),
    ModelNote(
        "Load balancing",
        "ECMP: a hash of the 5-tuple with a seed for each switch chooses among equal next hops, so that a "
        "queue pair keeps to one path.",
        "Flowlets, packet spraying and adaptive routing; link failure and convergence.",
    ),
    ModelNote(
        "Host and NIC",
        "A fixed latency on each side; queue pairs take turns frame by frame, acknowledgements first; an "
        "optional overhead before each transfer, 0 unless the plan sets it.",
        "PCIe, host and GPU memory, GPU kernels, the software stack; the receiver takes frames at line rate.",
    ),
    ModelNote(
        "Links",
        "Serialisation at line rate and a constant propagation delay.",
        "Clock drift, jitter, lane skew.",
    ),
    ModelNote(
        "Workload",
        "The schedule of a collective with a dependency for each chunk: a rank sends a chunk on as soon as "
        "it has arrived.",
        "Reduction arithmetic takes no time; ranks start together.",
    ),
    ModelNote(
        "Determinism",
        "Integer picoseconds and bytes; the same plan, seed and version give the same record on every "
        "machine and any number of threads.",
        "Run-to-run variation of real hosts: another seed changes paths, not the hosts' timing.",
    ),
)
