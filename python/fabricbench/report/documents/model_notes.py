"""Lists the assumptions and limits of the packet simulator and of the flow model, for every report.

A change of a model must be reflected in its entry here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ModelNote:
    """One part of the model.

    Attributes:
        part: The modelled part.
        modelled: How it is modelled.
        left_out: Its omissions, so that a reader can judge the results.
    """

    part: str
    modelled: str
    left_out: str


MODEL_NOTES = (
    ModelNote(
        "Frames",
        "RoCEv2 over IPv4 with the full size of every header; preamble, start delimiter and inter-frame gap "
        "(20 bytes), and the VLAN tag of a plan that has one (4 bytes), occupy the link. Data moves as RDMA "
        "WRITE, of storage also as SEND and READ.",
        "VLAN tags in counts of bytes, buffers and thresholds; IPv6 and FEC.",
    ),
    ModelNote(
        "Transport",
        "Reliable connections with 24-bit PSNs, a fixed window, coalesced acknowledgements, NAK on a "
        "sequence error, timeout and retry count; recovery by go-back-N, selectively, or none (what arrives "
        "counts; a chunk is complete with the first acknowledgement that says that all of it is there).",
        "RNR NAKs, connection set-up. Selective recovery is of our own design: vendors' differ.",
    ),
    ModelNote(
        "TCP",
        "NewReno, CUBIC or DCTCP with SACK, delayed acknowledgements and timeouts, its full frames with "
        "timestamps, beside the queue pairs of a host, with which it takes turns packet by packet. Where the "
        "plan asks for a closed loop, a connection has a number of writes unacknowledged and issues the next "
        "when one is acknowledged. Fast-forward is off.",
        "Connections are open from the start. RACK-TLP, PRR, HyStart, pacing, segmentation offload and the "
        "host's CPU; ECN without DCTCP; the receive buffer of a slow NIC. A lost retransmission waits for the"
        " timeout. A write takes whole segments, the answer to it is an acknowledgement of TCP, and neither "
        "end takes time for it.",
    ),
    ModelNote(
        "Rate control",
        "Senders at line rate, which count CNPs where receivers send them, or DCQCN with its timers and "
        "byte counter, and CNPs by the receiver; Swift (a window by a target of the round-trip time) and "
        "TIMELY (a rate by its gradient), which take the round-trip time of each acknowledged packet that "
        "was sent once.",
        "Swift's second window for delay in the host, TIMELY's bursts of segments, delay-based control of "
        "storage; other reactions to congestion. Round-trip times leave out what a packet waits for others "
        "of its host.",
    ),
    ModelNote(
        "Flow control and marking",
        "PFC with pause frames on the link, static or dynamic thresholds, reserve and headroom for each "
        "ingress port and priority; a pause is renewed after half of its time and ended by XON, or by its "
        "time; a PFC watchdog for the egress queues of switches; ECN by queue length as a frame enters its "
        "queue, its thresholds fixed, or moved by each port after queue, link use and incast.",
        "The watchdog's polling and its ingress side; ECN by latency. The law of dynamic ECN is of our own "
        "design: vendors do not publish theirs.",
    ),
    ModelNote(
        "InfiniBand",
        "LRH, BTH, ICRC and VCRC without GRH, and 2 symbols of 1 byte that occupy the link; rates are those "
        "behind the line code. For each virtual lane of a link, which is a priority, a receive buffer and "
        "credits in blocks of 64 bytes, granted by flow control packets of 8 bytes; a packet leaves the "
        "buffer when its last bit has left the switch. Routes by destination (d-mod-k), or adaptive.",
        "Link training, repeated grants, VL arbitration tables, congestion control (FECN, BECN), failures "
        "and bit errors, fast-forward. Inputs never block each other inside a switch.",
    ),
    ModelNote(
        "Switch",
        "Store and forward, or cut-through, with a fixed pipeline latency; eight priorities per port, "
        "strict or weighted; one packet buffer in cells, shared by all ports, with dynamic thresholds for "
        "lossy queues, or divided into pools of ingress groups and egress queues with reserves, static and "
        "dynamic limits, shared headroom and a threshold of the whole pool, by priority and by switch. "
        "Several switches of the topology may be one chip with one buffer; a frame passes from one to "
        "another by a cable. A frame leaves the buffer cell by cell as it is read out at line rate or, where "
        "the plan says so, as its transmission starts or with its last byte; the part of the pipeline that "
        "is inside the buffer, none by default, occupies it as well. Thresholds of the buffer, of PFC and of "
        "ECN count what is not yet released. Response times of PFC are fields of their own. WRED by colour "
        "on the queue as "
        "it is; colours from two-rate and single-rate markers (RFC 2698, 2697) or fixed ones where hosts "
        "feed the fabric.",
        "Limits of the internal fabric; the average queue of WRED, colours in buffer limits, meters inside "
        "the fabric; limits that differ from port to port of a switch; the bandwidth of the buffer's "
        "memory, so that cells are always read in time. With cut-through, a frame takes its whole size "
        "of the buffer as soon as its header is in.",
    ),
    ModelNote(
        "Scheduled switches",
        "Virtual output queues at the ingress leaf for each egress port and priority, credits of the "
        "egress port round robin over the leaves that ask, requests and credits as messages through the "
        "fabric, cells sprayed over all fabric links. A packet crosses the links of a leaf together, at "
        "the sum of their rates; bytes are exact for every link, and the end of a packet is within some "
        "cell times of cells simulated one by one.",
        "Cells that meet in uneven numbers in front of one link; failures; ECN; flow control inside the "
        "fabric. Traffic within a leaf takes no cells. Slowdown is measured against a path without the "
        "wait for credits.",
    ),
    ModelNote(
        "Load balancing",
        "By hash of the 5-tuple with a seed for each switch, by flowlet, sprayed, to least load, by weight, "
        "by destination (d-mod-k), or pinned. Adaptive routing sees queues as they were when the time window "
        "began, some 400 ns ago.",
        "Hashes that keep the paths of other flows when a group of next hops shrinks.",
    ),
    ModelNote(
        "Host and NIC",
        "A fixed latency on each side; queue pairs take turns frame by frame, acknowledgements first; an "
        "optional overhead before each transfer, 0 unless the plan sets it. Software of hosts "
        "(`software: mpi`, `spdk` or `linux`) is a fixed time for each message at both ends, or for each "
        "operation at a storage target, none by default. Ranks on one host copy to each "
        "other in shared memory, each one message after the other at a fixed rate and latency.",
        "PCIe, host and GPU memory, GPU kernels; copies, interrupts and every cost of software that is not a "
        "fixed time per message. The "
        "receiver takes frames at line rate unless the plan slows it down.",
    ),
    ModelNote(
        "Links",
        "Serialisation at line rate and a constant propagation delay. Links and switches go down and up and "
        "links change their rate at given times; every switch takes the shortest paths over what is left at "
        "once, a convergence time later. Bits are wrong at a given rate, each by itself, or a share of "
        "frames is lost; delay lines lengthen links.",
        "Clock drift, jitter, lane skew, errors in bursts. Ports keep sending on a dead link, and what a "
        "dead switch holds is lost as it sends it. Pause quanta, headroom and ECN thresholds keep to the "
        "line rate when a link is slowed down. Table `paths` has the paths before any failure.",
    ),
    ModelNote(
        "Workload",
        "The schedule of a collective with a dependency for each chunk: a rank sends a chunk on as soon as "
        "it has arrived. A job that repeats is a stream of rounds at each rank, on the same queue pairs, "
        "with a barrier of messages between them where the plan asks for it, and of several data sizes in "
        "order or drawn at random. "
        "Open-loop messages are offered at drawn times. Where the plan asks for it, large messages are "
        "announced and cleared before they are sent, and each rank copies its own block first.",
        "Reduction arithmetic takes no time; ranks start together. A rank that only sends may be rounds "
        "ahead: receivers post no buffers. The handshake of MPI is that of RTS and CTS, on queue pairs of "
        "their own; libraries that fetch with RDMA READ acknowledge no data. A rank ends a round when what "
        "it sends is acknowledged, where MPI returns from small messages once they are copied.",
    ),
    ModelNote(
        "Storage",
        "Clients in a closed loop, as NVMe over Fabrics has it: a command (SEND), the data of a write "
        "with it or "
        "fetched by the target with RDMA READ, those of a read written with RDMA WRITE, a completion "
        "(SEND). A target "
        "serves one operation after the other at its service rate and time; without either it takes no "
        "time. Latencies are of all operations outstanding in the measured time, so that IOPS times their "
        "mean is the number outstanding (Little's law), but for what the ends of that time cut. Go-back-N "
        "alone; acknowledgements do not wait for the responses of READs before them.",
        "Processors, memory and disks of clients and targets; replication and striping between targets; "
        "failover. "
        "Storage runs are not fast-forwarded.",
    ),
    ModelNote(
        "Determinism",
        "Integer picoseconds and bytes; the same plan, seed and version give the same record on every "
        "machine and any number of threads.",
        "Run-to-run variation of real hosts: another seed changes paths, not the hosts' timing.",
    ),
)

FLOW_NOTES = (
    ModelNote(
        "Flows",
        "An approximate model: transfers are fluid flows with max-min fair rates over the links of their "
        "paths, with every header, hop, latency and message cost, and the ECMP hashes of the packet "
        "simulator. Senders at the line rate fill queues, and acknowledgements take their part of links. "
        "Sprayed transfers are split evenly over all paths. Links and switches may be down, and links of "
        "another rate, from the start; a job without another path does not run.",
        "Pauses, marks and what a rate control makes of them, loss, the order of packets. Buffers bear on "
        "nothing but the refusal of runs that would lose frames, by their size and share: when a buffer "
        "releases a frame, its part of the pipeline and the response times of PFC change nothing.",
    ),
)
"""Assumptions and limits of the flow model."""
