//! Data that hosts exchange before RDMA traffic: GID, queue pair numbers, first PSNs, address and key of
//! receive memory.

use crate::run::{RunError, Settings};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4};

/// UDP port of RoCEv2.
const ROCE_PORT: u16 = 4_791;

/// Connection data of a host.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Address {
    pub(super) gid: [u8; 16],
    /// Size of the largest write that the host sends [bytes].
    pub(super) message_bytes: u64,
    /// Queue pairs that send from the host, by their number in the run.
    pub(super) senders: BTreeMap<u32, End>,
    /// Queue pairs that receive at the host.
    pub(super) receivers: BTreeMap<u32, Target>,
}

/// One end of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct End {
    /// Queue pair number assigned by the adapter.
    pub(super) number: u32,
    /// PSN of its first packet.
    pub(super) first_psn: u32,
}

/// A receiving end with its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Target {
    pub(super) end: End,
    pub(super) memory: Slots,
}

/// Receive memory: consecutive slots of equal size, used cyclically by messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Slots {
    pub(super) address: u64,
    pub(super) key: u32,
    /// Size of a slot [bytes].
    pub(super) bytes: u64,
    /// Number of slots.
    pub(super) count: u32,
}

impl Slots {
    /// Whether the receiver verifies messages: every message then has immediate data, and occupies a slot
    /// until it is verified.
    pub(super) const fn is_verified(&self) -> bool {
        self.count > 1
    }
}

impl Address {
    /// IPv4 address of the GID, if peers at that address are allowed.
    pub(super) fn allowed_ip(&self, host: u32, settings: &Settings) -> Result<Ipv4Addr, RunError> {
        // Packets are sent to the GID, so it is the GID that must be allowed.
        let ip = Ipv6Addr::from(self.gid).to_ipv4_mapped();
        let ip = ip.ok_or_else(|| RunError::Host { host, why: "its GID is no IPv4 address".into() })?;
        settings.check_peer(host, SocketAddrV4::new(ip, ROCE_PORT))?;
        Ok(ip)
    }
}

/// Error for a queue pair that is missing in a host's connection data.
pub(super) fn unknown_pair(host: u32, number: u32) -> RunError {
    RunError::Host { host, why: format!("it has no end of queue pair {number}") }
}
