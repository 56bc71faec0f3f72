//! The network and its balancing.

use super::limits::VL_BUFFER_BYTES_MAX;
use super::{AddressSpec, ClockSpec, FailureSpec, NicSpec, SwitchSettingsSpec, SwitchSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::TopologySpec;
use units::{DURATION_PS_MAX, RATE_BPS_MAX};

/// The network: its graph and the models of its parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FabricSpec {
    /// The graph.
    pub topology: TopologySpec,
    /// How a switch chooses among equal next hops.
    pub load_balancing: LoadBalancing,
    /// Every switch, unless `switch_settings` has it.
    pub switch: SwitchSpec,
    /// Switches that are set up in another way; each is in one of them at the most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switch_settings: Vec<SwitchSettingsSpec>,
    /// Every NIC.
    pub nic: NicSpec,
    /// Delay lines in some links.
    pub extra_delays: Vec<ExtraDelaySpec>,
    /// Between ranks on one host.
    pub shared_memory: SharedMemorySpec,
    /// What fails and is repaired in the course of the run, in any order.
    pub failures: Vec<FailureSpec>,
    /// From a failure or repair to the moment when every switch chooses by the new routes [ps].
    #[schemars(range(max = DURATION_PS_MAX))]
    pub convergence_time_ps: u64,
    /// What every link is.
    pub link_layer: LinkLayerSpec,
    /// Switches of the topology that are one chip; each is in one of them at the most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chips: Vec<ChipSpec>,
    /// Addresses of host ports; those of the topology, without a VLAN, when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addresses: Option<AddressSpec>,
    /// Clocks of hosts; all alike when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clocks: Option<ClockSpec>,
}

impl FabricSpec {
    /// How switches are set up, each with the field that says so: as all others first.
    pub fn set_ups(&self) -> impl Iterator<Item = (String, SwitchSettingsSpec)> + '_ {
        let others = self.switch_settings.iter().enumerate();
        let others = others.map(|(place, own)| (format!("fabric.switch_settings[{place}]"), own.clone()));
        std::iter::once(("fabric.switch".to_owned(), self.switch.settings())).chain(others)
    }
}

/// Switches of the topology that are one chip: its ports are all of theirs, and they share its buffer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChipSpec {
    /// Name of the chip.
    pub name: String,
    /// Names of its switches, 2 or more.
    pub switches: Vec<String>,
}

/// What a link is: its frames and its flow control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LinkLayerSpec {
    /// Ethernet: RoCEv2 frames, PFC if it is on.
    Ethernet {},
    /// InfiniBand: local routing, credits for each virtual lane. A virtual lane is a priority.
    Infiniband {
        /// Receive buffer of each virtual lane of each port [bytes], in blocks of 64.
        #[schemars(range(max = VL_BUFFER_BYTES_MAX))]
        vl_buffer_bytes: u32,
        /// A receiver grants the credits of a lane at most once in this time [ps].
        #[schemars(range(max = 1_000_000_000_000_u64))]
        credit_interval_ps: u64,
    },
}

/// A delay line in a link, as a network impairment emulator puts it there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtraDelaySpec {
    /// The link by its two nodes, such as `leaf0-spine1`: all parallel cables; `leaf0-spine1:0` is the first.
    pub link: String,
    /// Delay of each frame besides that of the cable, the same in both directions [ps].
    #[schemars(range(max = 1_000_000_000_000_u64))]
    pub delay_ps: u64,
}

/// What ranks on one host have between them in place of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SharedMemorySpec {
    /// Rate at which a rank copies to the others of its host, one message after the other [bit/s].
    #[schemars(range(min = 1_000_000, max = RATE_BPS_MAX))]
    pub rate_bps: u64,
    /// From then on until the receiver has it [ps].
    #[schemars(range(max = 1_000_000_000_000_u64))]
    pub latency_ps: u64,
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
    /// Each packet to the next hop with the shortest queue at the start of the time window, refined by what
    /// was sent there in it.
    Adaptive {},
    /// D-mod-k: by the destination alone, as the forwarding tables of a fat tree have it.
    DModK {},
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
