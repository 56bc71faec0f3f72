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
    /// The ideal reference: hosts joined by a crossbar that never blocks, with unlimited buffers and no latency
    /// but the cable's. Each host still sends and receives at its line rate.
    FullMesh {
        /// Number of hosts.
        hosts: u32,
        /// Host to the crossbar.
        host_link: LinkSpec,
    },
}

/// How a switch chooses among equal next hops.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LoadBalancing {
    /// By a hash of the 5-tuple with a seed of the switch: one path for each queue pair.
    Ecmp {},
}

/// Every switch of the fabric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SwitchSpec {
    /// From the last bit in to the earliest first bit out [ps].
    pub pipeline_latency_ps: u64,
    /// Packet buffer shared by all ports [bytes of frames].
    pub buffer_bytes: u64,
}

/// Every NIC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NicSpec {
    /// Fixed latency on each side, sending and receiving [ps].
    pub latency_ps: u64,
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
    /// Time without progress after which the requester resends [ps].
    pub timeout_ps: u64,
    /// Timeouts in a row before the queue pair fails.
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
}

/// How the requester paces itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RateControl {
    /// As fast as the port takes it.
    LineRate {},
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
    /// Root of gather and broadcast, receiver of incast [rank].
    pub root: u32,
    /// When the job starts [ps].
    pub start_ps: u64,
    /// Software overhead before each transfer is posted, once its dependencies have arrived [ps].
    pub step_overhead_ps: u64,
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
}
