//! Connection data of the hosts for driver `roce`: socket addresses, and the send window with which the
//! packets of all queue pairs to a host fit into its socket buffer.

use crate::run::{RunError, peers};
use jobs::Jobs;
use serde::{Deserialize, Serialize};
use spec::TransportSpec;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// Divisor of a receiver's socket buffer: the windows of all its queue pairs together may use a quarter. The
/// kernel accounts about twice the size of a packet, and bursts of other peers add to it.
const BUFFER_DIVISOR: u64 = 4;
/// Minimum window [packets].
const WINDOW_MIN: u32 = 8;

/// Connection data of an agent, sent to its peers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Address {
    pub(super) address: Ipv4Addr,
    pub(super) port: u16,
    /// Size of the socket's receive buffer as the kernel accounts it.
    pub(super) receive_buffer_bytes: u64,
}

/// Addresses of all hosts, and the number of queue pairs to each.
pub(super) struct Peers {
    addresses: peers::Peers<Address>,
    /// Number of queue pairs per destination socket, which all hosts of an agent share.
    queue_pairs_to: BTreeMap<(Ipv4Addr, u16), u64>,
}

impl Peers {
    pub(super) fn new(jobs: &Jobs, peers: &BTreeMap<u32, Vec<u8>>) -> Result<Self, RunError> {
        let addresses = peers::Peers::<Address>::read(peers)?;
        let mut queue_pairs_to = BTreeMap::new();
        jobs.each_queue_pair(|pair| {
            if !pair.is_local()
                && let Ok(at) = addresses.of(pair.dst_host.0)
            {
                *queue_pairs_to.entry((at.address, at.port)).or_insert(0) += 1;
            }
        });
        Ok(Self { addresses, queue_pairs_to })
    }

    pub(super) fn of(&self, host: u32) -> Result<&Address, RunError> {
        self.addresses.of(host)
    }

    /// Socket address of the agent that acts as the host; several hosts may share it.
    pub(super) fn agent_of(&self, host: u32) -> Option<(Ipv4Addr, u16)> {
        self.of(host).ok().map(|at| (at.address, at.port))
    }

    /// Window with which the packets of all queue pairs to a host fit into its buffer [packets].
    pub(super) fn window_packets(&self, host: u32, transport: &TransportSpec) -> Result<u32, RunError> {
        let at = self.of(host)?;
        let pairs = self.queue_pairs_to.get(&(at.address, at.port)).copied().unwrap_or(1);
        let room = at.receive_buffer_bytes / BUFFER_DIVISOR / pairs;
        let packets = u32::try_from(room / u64::from(transport.mtu_bytes)).unwrap_or(u32::MAX);
        Ok(transport.connection().window_packets.min(packets.max(WINDOW_MIN)))
    }
}
