//! What an endpoint may be told beside its address.

use crate::socket::SEGMENTS_MAX;
use wire::ipv4::{Dscp, Ecn};

/// The traffic class of a packet: what switches sort and mark it by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrafficClass {
    /// Which class of service.
    pub dscp: Dscp,
    /// Whether it may be marked.
    pub ecn: Ecn,
}

impl TrafficClass {
    /// The second byte of an IPv4 header.
    #[must_use]
    pub const fn byte(self) -> u8 {
        self.dscp.value() << 2 | self.ecn as u8
    }
}

impl Default for TrafficClass {
    /// AF31 with ECT(0), the usual class of RoCE data.
    fn default() -> Self {
        Self { dscp: known(26), ecn: Ecn::Ect0 }
    }
}

/// Traffic classes of the packets of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classes {
    /// Of packets with data, and of requests.
    pub data: TrafficClass,
    /// Of acknowledgements.
    pub acknowledgements: TrafficClass,
    /// Of congestion notifications.
    pub notifications: TrafficClass,
}

impl Classes {
    /// With other code points, each from 0 to 63.
    #[must_use]
    pub fn with_dscp(self, [data, acknowledgements, notifications]: [u8; 3]) -> Self {
        let with = |class: TrafficClass, dscp| TrafficClass { dscp: known(dscp), ..class };
        Self {
            data: with(self.data, data),
            acknowledgements: with(self.acknowledgements, acknowledgements),
            notifications: with(self.notifications, notifications),
        }
    }
}

impl Default for Classes {
    /// As adapters have them: acknowledgements in the class of data, notifications in CS6.
    fn default() -> Self {
        Self {
            data: TrafficClass::default(),
            acknowledgements: TrafficClass::default(),
            notifications: TrafficClass { dscp: known(48), ecn: Ecn::NotEct },
        }
    }
}

/// What an endpoint may be told beside its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Traffic classes of queue pairs that have no others: see [`crate::Endpoint::set_classes`].
    pub classes: Classes,
    /// Sockets to send from at the most, each with a UDP source port of its own; queue pairs beyond share
    /// them. 256 by default: enough for any ECMP group, and far below the limit of open files.
    pub source_ports_max: usize,
    /// Packets of all queue pairs under way at the most. 1,024 by default: 4 MB with an MTU of 4096, which
    /// the socket buffers of a peer hold.
    pub in_flight_packets_max: u32,
    /// Packets that one call hands to the kernel at the most, which forwards them as one up to the adapter or
    /// to a queue that cuts them apart (GSO). 64 by default, what Linux takes; 1 where each is to be queued,
    /// marked or lost alone.
    pub batch_packets_max: u16,
    /// The most payload that leaves [bit/s]; as much as it can by default.
    pub rate_limit_bps: Option<u64>,
    /// Rate of the port [bit/s]: each packet is handed to the host when an adapter would have transmitted it, as
    /// queue pairs take turns of `batch_packets_max`. By default packets are sent as soon as the host takes
    /// them.
    pub port_rate_bps: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            classes: Classes::default(),
            source_ports_max: 256,
            in_flight_packets_max: 1_024,
            batch_packets_max: SEGMENTS_MAX as u16,
            rate_limit_bps: None,
            port_rate_bps: None,
        }
    }
}

/// A code point that there is.
fn known(value: u8) -> Dscp {
    Dscp::new(value).unwrap_or_default()
}
