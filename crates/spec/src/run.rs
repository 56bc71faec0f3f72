//! [`RunSpec`]: one simulated run, complete.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One run of one or more jobs on one fabric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    /// Version of this shape; must equal [`crate::SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Seed of every random stream of the run.
    pub seed: u64,
    /// The network under test.
    pub fabric: FabricSpec,
    /// The RoCEv2 transport of every host.
    pub transport: TransportSpec,
    /// What the hosts do.
    pub jobs: Vec<JobSpec>,
    /// What is sampled while running.
    pub observe: ObserveSpec,
}

/// The network: its graph and the models of its parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FabricSpec {
    /// The graph.
    pub topology: TopologySpec,
    /// How a switch chooses among equal next hops.
    pub load_balancing: LoadBalancing,
    /// Every switch.
    pub switch: SwitchSpec,
    /// Every NIC.
    pub nic: NicSpec,
    /// What fails and is repaired in the course of the run, in any order.
    pub failures: Vec<FailureSpec>,
    /// From a failure or repair to the moment when every switch chooses by the new routes [ps].
    pub convergence_time_ps: u64,
}

/// Something that fails or is repaired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FailureSpec {
    /// Frames on the link, and those sent on it from now on, are lost in both directions.
    LinkDown {
        /// When [ps].
        at_ps: u64,
        /// The link by its two nodes, such as `leaf0-spine1`: all parallel cables; `leaf0-spine1:0` is the first.
        link: String,
    },
    /// The link carries frames again.
    LinkUp {
        /// When [ps].
        at_ps: u64,
        /// The link.
        link: String,
    },
    /// The link changes its rate; frames that have begun keep the rate before.
    LinkRate {
        /// When [ps].
        at_ps: u64,
        /// The link.
        link: String,
        /// Its rate from now on [bit/s].
        rate_bps: u64,
    },
    /// All links of a switch are down.
    SwitchDown {
        /// When [ps].
        at_ps: u64,
        /// Its name.
        switch: String,
    },
    /// The links of a switch carry frames again.
    SwitchUp {
        /// When [ps].
        at_ps: u64,
        /// Its name.
        switch: String,
    },
}

impl FailureSpec {
    /// When it happens [ps].
    #[must_use]
    pub const fn at_ps(&self) -> u64 {
        match self {
            Self::LinkDown { at_ps, .. }
            | Self::LinkUp { at_ps, .. }
            | Self::LinkRate { at_ps, .. }
            | Self::SwitchDown { at_ps, .. }
            | Self::SwitchUp { at_ps, .. } => *at_ps,
        }
    }
}

/// A cable and the ports at its two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// Line rate [bit/s].
    pub rate_bps: u64,
    /// The cable.
    pub cable: CableSpec,
}

/// A cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CableSpec {
    /// Propagation delay of the whole length [ps].
    pub delay_ps: u64,
}

/// The shape of the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum TopologySpec {
    /// Every host on one switch.
    SingleSwitch {
        /// Number of hosts.
        hosts: u32,
        /// Host to switch.
        host_link: LinkSpec,
    },
    /// Two tiers: every leaf is linked to every spine.
    LeafSpine {
        /// Number of leaf switches.
        leaves: u32,
        /// Hosts on each leaf.
        hosts_per_leaf: u32,
        /// Number of spine switches.
        spines: u32,
        /// Parallel links between one leaf and one spine.
        links_per_spine: u32,
        /// Host to leaf.
        host_link: LinkSpec,
        /// Leaf to spine.
        fabric_link: LinkSpec,
    },
    /// Three tiers: pods of leaves and aggregation switches, joined by core switches. Aggregation switch `i`
    /// of every pod is linked to the cores of plane `i`.
    FatTree {
        /// Number of pods.
        pods: u32,
        /// Leaf switches in each pod.
        leaves_per_pod: u32,
        /// Hosts on each leaf.
        hosts_per_leaf: u32,
        /// Aggregation switches in each pod; every leaf of the pod is linked to each.
        aggs_per_pod: u32,
        /// Core switches in the plane of each aggregation switch; each is linked once to every pod.
        cores_per_agg: u32,
        /// Host to leaf.
        host_link: LinkSpec,
        /// Leaf to aggregation switch.
        fabric_link: LinkSpec,
        /// Aggregation switch to core.
        core_link: LinkSpec,
    },
    /// Servers of several GPUs, each with its own NIC; NIC `i` of every server goes to rail switch `i`; rails
    /// are joined by spines. GPU `g` of server `s` is host `s * rails + g`.
    RailOptimised {
        /// Number of servers.
        servers: u32,
        /// GPUs (and rails) of each server.
        rails: u32,
        /// Spine switches that join the rails; 0 leaves them unconnected but for the scale-up link.
        spines: u32,
        /// Parallel links between one rail switch and one spine.
        links_per_spine: u32,
        /// NIC to rail switch.
        host_link: LinkSpec,
        /// Rail switch to spine.
        fabric_link: LinkSpec,
        /// GPU to the scale-up switch inside its server, if it has one; traffic inside a server takes it.
        scale_up_link: Option<LinkSpec>,
    },
    /// Switches, hosts and links as they are listed. The tier of a switch is its distance to the nearest host.
    Custom {
        /// The switches; hosts are numbered in their order.
        switches: Vec<CustomSwitchSpec>,
        /// The links between them.
        links: Vec<CustomLinkSpec>,
        /// Host to switch.
        host_link: LinkSpec,
    },
    /// The ideal reference: hosts joined by a crossbar that never blocks, with unlimited buffers and no latency
    /// but the cable's. Each host still sends and receives at its line rate.
    FullMesh {
        /// Number of hosts.
        hosts: u32,
        /// Host to the crossbar.
        host_link: LinkSpec,
    },
}

/// A switch of a custom topology.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CustomSwitchSpec {
    /// Name, which no other node has; hosts are `host0`, `host1`, ...
    pub name: String,
    /// Hosts plugged into it.
    pub hosts: u32,
}

/// Parallel links between two switches of a custom topology.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CustomLinkSpec {
    /// Names of the two switches.
    pub between: [String; 2],
    /// How many there are.
    pub count: u32,
    /// Each of them.
    pub link: LinkSpec,
}

/// How a switch chooses among equal next hops.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LoadBalancing {
    /// By a hash of the 5-tuple with a seed of the switch: one path for each queue pair.
    Ecmp {
        /// The hash.
        hash: EcmpHash,
        /// The destination queue pair is part of the hash.
        include_qp: bool,
    },
    /// ECMP, drawn anew after each pause of a queue pair.
    Flowlet {
        /// The pause [ps].
        gap_ps: u64,
    },
    /// Each packet to a next hop drawn at random.
    SprayRandom {},
    /// Packets to the next hops in turn.
    SprayRoundRobin {},
    /// Each packet to the next hop with the shortest queue at the start of the time window, refined by what was
    /// sent there in it.
    Adaptive {},
    /// ECMP with weights.
    Weighted {
        /// Weight of each uplink in a group, in order of ports.
        weights: Vec<u32>,
    },
    /// An explicit uplink for each queue pair at some switches, ECMP elsewhere.
    Pinned {
        /// The map.
        pins: Vec<PinSpec>,
    },
}

/// Hash of a 5-tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EcmpHash {
    /// CRC-32.
    Crc,
    /// Toeplitz, with the key of Microsoft's RSS specification.
    Toeplitz,
}

/// Where a switch sends a queue pair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PinSpec {
    /// Name of the switch, such as `leaf0`.
    pub switch: String,
    /// Queue pair of the run.
    pub qp: u32,
    /// Position among the equal next hops, from 0.
    pub uplink: u32,
}

/// Every switch of the fabric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SwitchSpec {
    /// When a frame may leave.
    pub forwarding: ForwardingSpec,
    /// From then on to its earliest first bit out [ps].
    pub pipeline_latency_ps: u64,
    /// The packet buffer.
    pub buffer: BufferSpec,
    /// Which priority a port serves next.
    pub scheduling: SchedulingSpec,
    /// Priority flow control, if any priority is lossless.
    pub pfc: Option<PfcSpec>,
    /// ECN marking, if there is any.
    pub ecn: Option<EcnSpec>,
}

/// When a frame may leave a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ForwardingSpec {
    /// Once its last bit is in.
    StoreAndForward,
    /// Once its first 64 bytes are in, if it leaves by a port that is no faster than the one it came in by.
    CutThrough,
}

/// The packet buffer of a switch, shared by all ports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BufferSpec {
    /// Size of the whole buffer, headroom and reserves included [bytes].
    pub size_bytes: u64,
    /// A frame takes whole cells of this size [bytes]; 1 counts frames as they are.
    pub cell_bytes: u64,
    /// Dynamic threshold of lossy priorities: an egress queue holds at most this times the free shared buffer.
    /// Without it only the whole buffer is a limit.
    pub lossy_alpha: Option<RatioSpec>,
}

/// A positive ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RatioSpec {
    /// Numerator, 1 or more.
    pub numerator: u32,
    /// Denominator, 1 or more.
    pub denominator: u32,
}

/// Which priority a port serves next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SchedulingSpec {
    /// The highest priority that has something to send.
    Strict {},
    /// Deficit weighted round robin over the priorities.
    Dwrr {
        /// Quantum of each priority, from 0 to 7 [bytes].
        quantum_bytes: [u32; 8],
    },
}

/// Priority flow control (IEEE 802.1Qbb).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PfcSpec {
    /// Lossless priorities.
    pub priorities: Vec<u8>,
    /// How much of the shared buffer one (ingress port, priority) may hold before it asks for a pause.
    pub xoff: XoffSpec,
    /// The pause ends once that much less than at the threshold is held [bytes].
    pub xon_offset_bytes: u64,
    /// Buffer reserved for each (ingress port, lossless priority) [bytes].
    pub reserved_bytes: u64,
    /// Buffer kept for what is still on its way after a pause was asked for, for each (ingress port, lossless
    /// priority) [bytes]; computed from rate, delay and response time of the port when absent.
    pub headroom_bytes: Option<u64>,
    /// Pause time asked for [quanta of 512 bit times].
    pub quanta: u16,
    /// The watchdog of paused queues, if there is one.
    pub watchdog: Option<WatchdogSpec>,
}

/// PFC watchdog of the egress queues of switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WatchdogSpec {
    /// A queue that is paused, holds frames and has sent none for this long is in a storm [ps].
    pub detection_ps: u64,
    /// The storm is over when no pause has come in for this long [ps].
    pub restoration_ps: u64,
    /// What becomes of the frames of a queue in a storm.
    pub action: StormActionSpec,
}

/// What becomes of the frames of a queue in a storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StormActionSpec {
    /// They are dropped.
    Drop,
    /// They are sent as if there were no pause.
    Forward,
}

/// Threshold of a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum XoffSpec {
    /// A fixed number of bytes.
    Static {
        /// The threshold [bytes].
        bytes: u64,
    },
    /// A share of the shared buffer that is free.
    Dynamic {
        /// The share.
        alpha: RatioSpec,
    },
}

/// ECN marking by queue length: probability 0 below Kmin, rising linearly to Pmax at Kmax, 1 above.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EcnSpec {
    /// Priorities whose frames are marked.
    pub priorities: Vec<u8>,
    /// Kmin [bytes], for a port of `reference_rate_bps`.
    pub kmin_bytes: u64,
    /// Kmax [bytes], for a port of `reference_rate_bps`.
    pub kmax_bytes: u64,
    /// Pmax [parts per million].
    pub pmax_ppm: u32,
    /// Thresholds are scaled to each port's rate from this one [bit/s]; absent, they hold for every port.
    pub reference_rate_bps: Option<u64>,
    /// How each port moves its thresholds, if it does.
    pub dynamic: Option<DynamicEcnSpec>,
}

/// Dynamic ECN: each port judges each of its marked queues at the end of every control interval, and scales Kmin and Kmax.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DynamicEcnSpec {
    /// Control interval [ps].
    pub interval_ps: u64,
    /// Least scale of Kmin and Kmax [parts per million], at most 1,000,000.
    pub scale_min_ppm: u64,
    /// Largest scale [parts per million], 1,000,000 or more.
    pub scale_max_ppm: u64,
    /// A step up makes the scale larger by this part of it [parts per million].
    pub raise_ppm: u32,
    /// A step down makes the scale smaller by this part of it [parts per million].
    pub lower_ppm: u32,
    /// Thresholds are raised while the link is used for less than this part of the time, if frames were marked since they
    /// last changed [parts per million].
    pub link_use_ppm: u32,
    /// Thresholds are lowered while the mean queue takes longer than this at the rate of the port [ps].
    pub queueing_delay_ps: u64,
    /// Thresholds are lowered while frames of a queue that marks come in by so many ports, unless the link is not used
    /// enough.
    pub incast_degree: u32,
    /// So many intervals in a row have to speak for a change.
    pub confirm_intervals: u32,
}

/// Every NIC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NicSpec {
    /// Fixed latency on each side, sending and receiving [ps].
    pub latency_ps: u64,
    /// How fast the host takes data out of the NIC's receive buffer [bit/s]; at line rate when absent.
    pub drain_rate_bps: Option<u64>,
    /// Receive buffer [bytes]; it matters only with a drain rate.
    pub receive_buffer_bytes: u64,
    /// The NIC asks for a pause above this level of its receive buffer [bytes], if PFC is on.
    pub receive_xoff_bytes: u64,
    /// Hosts with NICs that work slower than they should.
    pub impairments: Vec<ImpairmentSpec>,
}

/// A NIC that works at a fraction of its rate, sending and receiving.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImpairmentSpec {
    /// The host.
    pub host: u32,
    /// What is left of its throughput, of line rate [parts per million].
    pub throughput_ppm: u32,
}

/// The RoCEv2 reliable connections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TransportSpec {
    /// RoCE MTU: payload of a full packet [bytes]; 256, 512, 1024, 2048 or 4096.
    pub mtu_bytes: u32,
    /// Size of one RDMA message [bytes]; a data chunk is cut into messages.
    pub message_bytes: u64,
    /// Which transfers share a queue pair.
    pub qp_mode: QpMode,
    /// Queue pairs over which each data chunk is split evenly.
    pub qps_per_rank_pair: u32,
    /// The responder acknowledges at least every so many packets, and at message end.
    pub ack_every: u32,
    /// At most this many packets unacknowledged on a queue pair; at most 2^23 (IBTA 1.7, 9.7.2).
    pub window_packets: u32,
    /// What the requester does about loss.
    pub recovery: LossRecovery,
    /// Selective recovery: packets this far beyond the first missing one are refused, so the requester sends no
    /// further; a packet is taken for lost when one three quarters as far beyond it has arrived. 1 to 2^23.
    pub ooo_window_packets: u32,
    /// Priority of each kind of packet.
    pub priorities: PrioritySpec,
    /// Time without progress after which the requester resends [ps].
    pub timeout_ps: u64,
    /// On a timeout the requester resends, this many times without progress in between, then the queue pair fails at the
    /// next timeout.
    pub retry_count: u32,
    /// How the requester paces itself.
    pub rate_control: RateControl,
}

/// Which transfers share a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QpMode {
    /// One queue pair for each ordered rank pair and channel, reused.
    PerPair,
    /// A queue pair and UDP source port for each data chunk, as traffic generators do.
    PerChunk,
}

/// What the requester does about loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LossRecovery {
    /// Resend everything from the first missing packet.
    GoBackN,
    /// Take packets in any order and resend only what is missing.
    Selective,
    /// Never resend: a traffic generator that counts what is lost.
    None,
}

/// How the requester paces itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RateControl {
    /// As fast as the port takes it.
    LineRate {},
    /// DCQCN (Zhu et al., SIGCOMM 2015).
    Dcqcn {
        /// Gain g of alpha [1/2^20].
        g_2e20: u32,
        /// Alpha decays after this long without a CNP [ps].
        alpha_timer_ps: u64,
        /// At most one rate cut in this time [ps].
        rate_cut_period_ps: u64,
        /// Rate increase timer [ps].
        increase_timer_ps: u64,
        /// Rate increase byte counter [bytes]; 0 switches it off.
        byte_counter_bytes: u64,
        /// Rounds of fast recovery F.
        fast_recovery_rounds: u32,
        /// Additive increase R_AI [bit/s].
        additive_increase_bps: u64,
        /// Hyper increase R_HAI [bit/s].
        hyper_increase_bps: u64,
        /// Smallest rate [bit/s].
        rate_min_bps: u64,
        /// Every rate cut lowers the target rate to the current one; without it only a cut that follows an increase
        /// does, so that a row of cuts is recovered from at once.
        clamp_target_rate: bool,
        /// A receiver sends at most one CNP per queue pair in this time [ps].
        cnp_interval_ps: u64,
    },
}

/// Priority of each kind of packet (IEEE 802.1Q), 0 to 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrioritySpec {
    /// Payload.
    pub data: u8,
    /// ACK and NAK.
    pub ack: u8,
    /// CNP.
    pub cnp: u8,
}

/// One tenant: ranks that run a collective.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobSpec {
    /// Unique name.
    pub name: String,
    /// The host of each rank, in rank order: rank `i` runs on host `hosts[i]`.
    pub hosts: Vec<u32>,
    /// What the ranks do together: a collective of the workload registry, such as `all-reduce`.
    pub collective: String,
    /// How they do it: an algorithm of that collective, such as `ring`.
    pub algorithm: String,
    /// Data size S of the collective [bytes]; models.md, section 2 says what it means for each.
    pub data_bytes: u64,
    /// Number of its random draws, unique in the run: a job keeps its paths and patterns when others leave.
    pub stream: u32,
    /// Root of gather and broadcast, receiver of incast [rank].
    pub root: u32,
    /// When the job starts [ps].
    pub start_ps: u64,
    /// Software overhead before each transfer is posted, once its dependencies have arrived [ps].
    pub step_overhead_ps: u64,
    /// How often the job runs.
    pub repeat: RepeatSpec,
    /// Open-loop traffic in place of a collective's schedule: each rank offers messages of `data_bytes` to its peers of
    /// the pattern at these times, whatever became of those before.
    pub arrivals: Option<ArrivalsSpec>,
}

/// When open-loop messages are offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArrivalsSpec {
    /// How the gaps between the messages of a rank are distributed.
    pub process: ArrivalProcess,
    /// Mean payload rate offered by each sending rank [bit/s].
    pub rate_bps: u64,
    /// Messages are offered for so long, from the start of the job [ps].
    pub duration_ps: u64,
}

/// How gaps between messages are distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArrivalProcess {
    /// Exponential gaps.
    Poisson,
    /// Equal gaps, after a random phase for each rank.
    Constant,
}

/// How often a job runs within one run. A rank starts its next round when everything it sent in this one is
/// acknowledged and everything it receives in it has arrived; there is no barrier between the ranks. Rounds share the
/// queue pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RepeatSpec {
    /// A number of rounds, back to back.
    Rounds {
        /// How many, 1 or more.
        rounds: u32,
    },
    /// Round after round until every job that is not repeated in this way has ended; what is under way then is cut
    /// off.
    UntilOthersEnd {},
}

impl RepeatSpec {
    /// Rounds to run; none when others decide.
    #[must_use]
    pub const fn rounds(self) -> Option<u32> {
        match self {
            Self::Rounds { rounds } => Some(rounds),
            Self::UntilOthersEnd {} => None,
        }
    }
}

/// What is sampled while running.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ObserveSpec {
    /// At most this many points in one sampled series; the interval doubles when it is full. 0 samples nothing.
    pub series_points: u32,
    /// First sampling interval [ps].
    pub series_interval_ps: u64,
    /// At most this many sampled ports; the rest are left out, hosts first.
    pub series_ports: u32,
    /// At most this many queue pairs whose rate is sampled: every k-th, with the smallest k that fits.
    pub series_qps: u32,
    /// At most this many rows of table `paths`; 0 leaves it empty.
    pub path_rows: u32,
}
