//! Parameters of the network of a run: topology, load balancing, link layer, extra delays of links, switches
//! that are one chip, shared memory of a host.

use super::{
    AddressSpec, ClockSpec, FailureSpec, JobSpec, NcclConfig, NicSpec, ScaleUpCopies, SwitchSettingsSpec,
    SwitchSpec, VL_BUFFER_BYTES_MAX,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::TopologySpec;
use units::{DURATION_PS_MAX, RATE_BPS_MAX};

/// Maximum number of adapters of a server, or of an NVLink domain of several.
pub const SERVER_ADAPTERS_MAX: u32 = 1_024;

/// The network: its graph and the models of its parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FabricSpec {
    /// The graph.
    pub topology: TopologySpec,
    /// How a switch chooses among equal next hops.
    pub load_balancing: LoadBalancing,
    /// All switches, except those in `switch_settings`.
    pub switch: SwitchSpec,
    /// Settings of some switches; each switch is in at most one entry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switch_settings: Vec<SwitchSettingsSpec>,
    /// All NICs.
    pub nic: NicSpec,
    /// Delay lines in some links.
    pub extra_delays: Vec<ExtraDelaySpec>,
    /// Transfers between ranks of one host.
    pub shared_memory: SharedMemorySpec,
    /// Failures and repairs during the run, in any order.
    pub failures: Vec<FailureSpec>,
    /// Time from a failure or repair until all switches use the new routes [ps].
    #[schemars(range(max = DURATION_PS_MAX))]
    pub convergence_time_ps: u64,
    /// Link layer of all links.
    pub link_layer: LinkLayerSpec,
    /// Switches of the topology that are one chip; each is in at most one entry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chips: Vec<ChipSpec>,
    /// Addresses of host ports; those of the topology, without a VLAN, when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addresses: Option<AddressSpec>,
    /// Clocks of hosts; identical when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clocks: Option<ClockSpec>,
    /// Servers with several adapters; when absent, each host of the topology is a host of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerSpec>,
}

/// Servers, all alike: each is a host of the run, and consecutive hosts of the topology are its adapters. Its
/// GPUs are joined by the scale-up domain, whose rate is that of `shared_memory`. An NVLink domain of several
/// machines is one server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerSpec {
    /// Adapters of a server: host `h` of the run has hosts `h * adapters` to `h * adapters + adapters - 1` of
    /// the topology as its ports, in this order.
    #[schemars(range(min = 1, max = SERVER_ADAPTERS_MAX))]
    pub adapters: u32,
    /// Adapters of each GPU; its queue pairs take them in turn.
    pub adapters_of_gpu: Vec<Vec<u16>>,
    /// Machines of an NVLink domain: each has equally many of its GPUs and of its adapters, in their order. One
    /// when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2, max = SERVER_ADAPTERS_MAX))]
    pub machines: Option<u32>,
    /// Rate at which the bus of a machine, PCIe, moves frames between memory and an adapter, each way [bit/s]: a
    /// link of an adapter that is faster runs at it. No limit when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1_000_000, max = RATE_BPS_MAX))]
    pub bus_rate_bps: Option<u64>,
}

impl ServerSpec {
    /// GPUs of each machine of an NVLink domain; none if the server is one machine.
    pub fn gpus_of_machine(&self) -> Option<u32> {
        self.machines.map(|machines| self.adapters_of_gpu.len() as u32 / machines)
    }
}

impl FabricSpec {
    /// Number of hosts of the run.
    pub fn hosts(&self) -> u64 {
        self.topology.hosts() / u64::from(self.adapters_of_a_host())
    }

    /// Number of hosts of the topology that are one host of the run.
    pub fn adapters_of_a_host(&self) -> u32 {
        self.server.as_ref().map_or(1, |server| server.adapters)
    }

    /// Shared memory as a job uses it: with NCCL, copies over the scale-up domain.
    pub fn memory_of(&self, job: &JobSpec) -> SharedMemorySpec {
        match job.work.nccl().and_then(NcclConfig::copies) {
            Some(ScaleUpCopies { rate_bps, latency_ps }) => SharedMemorySpec { rate_bps, latency_ps },
            None => self.shared_memory,
        }
    }

    /// Settings of switches, each with the path of its field; those of all other switches are first.
    pub fn set_ups(&self) -> impl Iterator<Item = (String, SwitchSettingsSpec)> + '_ {
        let others = self.switch_settings.iter().enumerate();
        let others = others.map(|(index, own)| (format!("fabric.switch_settings[{index}]"), own.clone()));
        std::iter::once(("fabric.switch".to_owned(), self.switch.settings())).chain(others)
    }
}

/// Switches of the topology that are one chip: it has all their ports, and they share its buffer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChipSpec {
    /// Name of the chip.
    pub name: String,
    /// Names of its switches; at least 2.
    pub switches: Vec<String>,
}

/// Link layer: frame format and flow control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LinkLayerSpec {
    /// Ethernet: RoCEv2 frames, and PFC if enabled.
    Ethernet {},
    /// InfiniBand: local routing, and credits per virtual lane. A virtual lane is a priority.
    Infiniband {
        /// Receive buffer of each virtual lane of each port [bytes], in blocks of 64.
        #[schemars(range(max = VL_BUFFER_BYTES_MAX))]
        vl_buffer_bytes: u32,
        /// Minimum interval between credit grants of a receiver for a lane [ps].
        #[schemars(range(max = 1_000_000_000_000_u64))]
        credit_interval_ps: u64,
    },
}

/// A delay line in a link, as inserted by a network impairment emulator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtraDelaySpec {
    /// The link by its two nodes, such as `leaf0-spine1`: all parallel cables; `leaf0-spine1:0` is the first.
    pub link: String,
    /// Delay of each frame in addition to that of the cable, equal in both directions [ps].
    #[schemars(range(max = 1_000_000_000_000_u64))]
    pub delay_ps: u64,
}

/// Shared memory, which ranks of one host use instead of the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SharedMemorySpec {
    /// Rate at which a rank copies to others of its host, one message at a time [bit/s].
    #[schemars(range(min = 1_000_000, max = RATE_BPS_MAX))]
    pub rate_bps: u64,
    /// Latency from the end of the copy to the receiver [ps].
    #[schemars(range(max = 1_000_000_000_000_u64))]
    pub latency_ps: u64,
}

/// How a switch chooses among equal next hops.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LoadBalancing {
    /// By a hash of the 5-tuple and a seed of the switch: one path per queue pair.
    Ecmp {
        /// The hash.
        hash: EcmpHash,
        /// The destination queue pair is part of the hash.
        include_qp: bool,
    },
    /// ECMP, with a new choice after each pause of a queue pair.
    Flowlet {
        /// The pause [ps].
        gap_ps: u64,
    },
    /// Each packet to a next hop drawn at random.
    SprayRandom {},
    /// Packets to the next hops round robin.
    SprayRoundRobin {},
    /// Each packet to the next hop with the shortest queue: that at the start of the time window plus the
    /// packets sent since.
    Adaptive {},
    /// D-mod-k: by the destination only, as in the forwarding tables of a fat tree.
    DModK {},
    /// ECMP with weights.
    Weighted {
        /// Weight of each uplink in a group, in order of ports.
        weights: Vec<u32>,
    },
    /// An explicit uplink per queue pair at some switches; ECMP at others.
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

/// The uplink of a queue pair at a switch.
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
