//! The shape of the network.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::RATE_BPS_MAX;

/// A cable and the ports at its two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// Line rate [bit/s].
    #[schemars(range(min = 1_000_000, max = RATE_BPS_MAX))]
    pub rate_bps: u64,
    /// The cable.
    pub cable: CableSpec,
}

/// A cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CableSpec {
    /// Propagation delay of the whole length [ps].
    #[schemars(range(max = 1_000_000_000_000_u64))]
    pub delay_ps: u64,
}

/// The shape of the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum TopologySpec {
    /// Every host on one switch.
    SingleSwitch {
        /// Number of hosts.
        #[schemars(range(min = 1))]
        hosts: u32,
        /// Host to switch.
        host_link: LinkSpec,
    },
    /// Two tiers: every leaf is linked to every spine.
    LeafSpine {
        /// Number of leaf switches.
        #[schemars(range(min = 1))]
        leaves: u32,
        /// Hosts on each leaf.
        #[schemars(range(min = 1))]
        hosts_per_leaf: u32,
        /// Number of spine switches.
        #[schemars(range(min = 1))]
        spines: u32,
        /// Parallel links between one leaf and one spine.
        #[schemars(range(min = 1))]
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
        #[schemars(range(min = 1))]
        pods: u32,
        /// Leaf switches in each pod.
        #[schemars(range(min = 1))]
        leaves_per_pod: u32,
        /// Hosts on each leaf.
        #[schemars(range(min = 1))]
        hosts_per_leaf: u32,
        /// Aggregation switches in each pod; every leaf of the pod is linked to each.
        #[schemars(range(min = 1))]
        aggs_per_pod: u32,
        /// Core switches in the plane of each aggregation switch; each is linked once to every pod.
        #[schemars(range(min = 1))]
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
        #[schemars(range(min = 1))]
        servers: u32,
        /// GPUs (and rails) of each server.
        #[schemars(range(min = 1))]
        rails: u32,
        /// Spine switches that join the rails; 0 leaves them unconnected but for the scale-up link.
        spines: u32,
        /// Parallel links between one rail switch and one spine.
        #[schemars(range(min = 1))]
        links_per_spine: u32,
        /// NIC to rail switch.
        host_link: LinkSpec,
        /// Rail switch to spine.
        fabric_link: LinkSpec,
        /// GPU to the scale-up switch inside its server, if it has one; traffic inside a server takes it.
        scale_up_link: Option<LinkSpec>,
    },
    /// Rails of several leaves: servers in pods with a leaf for each rail; NIC `i` of a server goes to the leaf
    /// of rail `i` in its pod. Spines join the leaves of a rail, cores join the rails: spine `j` of every rail
    /// is linked to the cores of group `j`. GPU `g` of server `s` is host `s * rails + g`.
    RailPods {
        /// Number of pods.
        #[schemars(range(min = 1))]
        pods: u32,
        /// Servers in each pod.
        #[schemars(range(min = 1))]
        servers_per_pod: u32,
        /// GPUs (and rails) of each server.
        #[schemars(range(min = 1))]
        rails: u32,
        /// Spine switches in each rail; every leaf of the rail is linked to each.
        #[schemars(range(min = 1))]
        spines_per_rail: u32,
        /// Parallel links between one leaf and one spine.
        #[schemars(range(min = 1))]
        links_per_spine: u32,
        /// Core switches in the group of each spine of a rail; 0 leaves the rails unconnected but for the
        /// scale-up link.
        cores_per_spine: u32,
        /// Parallel links between one spine and one core.
        #[schemars(range(min = 1))]
        links_per_core: u32,
        /// NIC to leaf.
        host_link: LinkSpec,
        /// Leaf to spine.
        fabric_link: LinkSpec,
        /// Spine to core.
        core_link: LinkSpec,
        /// GPU to the scale-up switch inside its server, if it has one; traffic inside a server takes it.
        scale_up_link: Option<LinkSpec>,
    },
    /// Leaf-spine fabrics beside each other, one for each port of the hosts. Queue pair `k` of those from host
    /// `s` to host `d` takes plane `(s + d + k) mod planes`.
    MultiPlane {
        /// Number of planes, and of ports of each host.
        #[schemars(range(min = 1, max = 32))]
        planes: u32,
        /// Leaf switches of each plane.
        #[schemars(range(min = 1))]
        leaves: u32,
        /// Hosts on each leaf.
        #[schemars(range(min = 1))]
        hosts_per_leaf: u32,
        /// Spine switches of each plane.
        #[schemars(range(min = 1))]
        spines: u32,
        /// Parallel links between one leaf and one spine.
        #[schemars(range(min = 1))]
        links_per_spine: u32,
        /// Each port of a host to its leaf.
        host_link: LinkSpec,
        /// Leaf to spine.
        fabric_link: LinkSpec,
    },
    /// Switches, hosts and links as they are listed. The tier of a switch is its distance to the nearest
    /// host.
    Custom {
        /// The switches; hosts are numbered in their order.
        switches: Vec<CustomSwitchSpec>,
        /// The links between them.
        links: Vec<CustomLinkSpec>,
        /// Host to switch.
        host_link: LinkSpec,
    },
    /// The ideal reference: hosts joined by a crossbar that never blocks, with unlimited buffers and no
    /// latency but the cable's. Each host still sends and receives at its line rate.
    FullMesh {
        /// Number of hosts.
        #[schemars(range(min = 1))]
        hosts: u32,
        /// Host to the crossbar.
        host_link: LinkSpec,
    },
}

impl TopologySpec {
    /// The link of each host to its switch.
    #[must_use]
    pub const fn host_link(&self) -> LinkSpec {
        match self {
            Self::SingleSwitch { host_link, .. }
            | Self::LeafSpine { host_link, .. }
            | Self::FatTree { host_link, .. }
            | Self::RailOptimised { host_link, .. }
            | Self::RailPods { host_link, .. }
            | Self::MultiPlane { host_link, .. }
            | Self::Custom { host_link, .. }
            | Self::FullMesh { host_link, .. } => *host_link,
        }
    }

    /// Number of hosts.
    #[must_use]
    pub fn hosts(&self) -> u64 {
        let product = |counts: &[u32]| counts.iter().map(|&count| u64::from(count)).product();
        match self {
            Self::SingleSwitch { hosts, .. } | Self::FullMesh { hosts, .. } => u64::from(*hosts),
            Self::LeafSpine { leaves, hosts_per_leaf, .. }
            | Self::MultiPlane { leaves, hosts_per_leaf, .. } => product(&[*leaves, *hosts_per_leaf]),
            Self::FatTree { pods, leaves_per_pod, hosts_per_leaf, .. } => {
                product(&[*pods, *leaves_per_pod, *hosts_per_leaf])
            }
            Self::RailOptimised { servers, rails, .. } => product(&[*servers, *rails]),
            Self::RailPods { pods, servers_per_pod, rails, .. } => {
                product(&[*pods, *servers_per_pod, *rails])
            }
            Self::Custom { switches, .. } => switches.iter().map(|switch| u64::from(switch.hosts)).sum(),
        }
    }
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
