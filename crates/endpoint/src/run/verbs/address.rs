//! What hosts tell each other.

use crate::run::{RunError, Settings};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4};

/// UDP port of RoCE v2.
const ROCE_PORT: u16 = 4_791;

/// What peers must know of a host.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Address {
    pub(super) gid: [u8; 16],
    /// Queue pairs that begin there, by their number in the run.
    pub(super) senders: BTreeMap<u32, End>,
    /// Those that end there.
    pub(super) receivers: BTreeMap<u32, Target>,
}

/// An end of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct End {
    /// The number that the adapter gave it.
    pub(super) number: u32,
    /// PSN of its first packet.
    pub(super) first_psn: u32,
}

/// An end that data comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Target {
    pub(super) end: End,
    pub(super) memory: Slots,
}

/// Where data goes: slots beside each other, one for each message in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Slots {
    pub(super) address: u64,
    pub(super) key: u32,
    /// Room of each [bytes].
    pub(super) bytes: u64,
    /// How many.
    pub(super) count: u32,
}

impl Slots {
    /// Somebody looks at each message: all of them tell of themselves, and each has a slot until that is done.
    pub(super) const fn is_looked_at(&self) -> bool {
        self.count > 1
    }
}

/// All hosts.
pub(super) struct Peers(BTreeMap<u32, Address>);

impl Peers {
    pub(super) fn read(peers: &BTreeMap<u32, Vec<u8>>) -> Result<Self, RunError> {
        let read = |(&host, bytes): (&u32, &Vec<u8>)| match serde_json::from_slice(bytes) {
            Ok(address) => Ok((host, address)),
            Err(error) => Err(RunError::Host { host, why: format!("its address is none: {error}") }),
        };
        Ok(Self(peers.iter().map(read).collect::<Result<_, _>>()?))
    }

    /// One that is known and allowed, and where it is.
    pub(super) fn of(&self, host: u32, settings: &Settings) -> Result<(&Address, Ipv4Addr), RunError> {
        let no = |why: &str| RunError::Host { host, why: why.into() };
        let address = self.0.get(&host).ok_or_else(|| no("nothing is known of where it is"))?;
        // Packets go where the GID says, so that is what must be allowed.
        let at =
            Ipv6Addr::from(address.gid).to_ipv4_mapped().ok_or_else(|| no("its GID is no IPv4 address"))?;
        settings.check_peer(host, SocketAddrV4::new(at, ROCE_PORT))?;
        Ok((address, at))
    }
}

/// An end of a queue pair that a host tells nothing of.
pub(super) fn unknown_pair(host: u32, number: u32) -> RunError {
    RunError::Host { host, why: format!("it has no end of queue pair {number}") }
}
