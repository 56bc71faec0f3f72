//! Options of an endpoint: traffic classes, source ports, limits of packets in flight, batches and rates.

use crate::socket::SEGMENTS_MAX;
use wire::ipv4::{Dscp, Ecn};

/// Traffic class of a packet: the fields by which switches queue and mark it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrafficClass {
    /// Class of service (RFC 2474).
    pub dscp: Dscp,
    /// ECN capability: whether switches may mark it.
    pub ecn: Ecn,
}

impl TrafficClass {
    /// The second byte of an IPv4 header: DSCP and ECN.
    pub const fn byte(self) -> u8 {
        self.dscp.value() << 2 | self.ecn as u8
    }
}

impl Default for TrafficClass {
    /// AF31 with ECT(0), the usual class of RoCE data.
    fn default() -> Self {
        Self { dscp: valid_dscp(26), ecn: Ecn::Ect0 }
    }
}

/// Traffic classes of a queue pair, by kind of packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classes {
    /// Data packets and requests.
    pub data: TrafficClass,
    /// Acknowledgements.
    pub acknowledgements: TrafficClass,
    /// Congestion notifications.
    pub notifications: TrafficClass,
}

impl Classes {
    /// Replaces the code points, each from 0 to 63.
    pub fn with_dscp(self, [data, acknowledgements, notifications]: [u8; 3]) -> Self {
        let with = |class: TrafficClass, dscp| TrafficClass { dscp: valid_dscp(dscp), ..class };
        Self {
            data: with(self.data, data),
            acknowledgements: with(self.acknowledgements, acknowledgements),
            notifications: with(self.notifications, notifications),
        }
    }
}

impl Default for Classes {
    /// Defaults of adapters: acknowledgements in the class of data, notifications in CS6.
    fn default() -> Self {
        Self {
            data: TrafficClass::default(),
            acknowledgements: TrafficClass::default(),
            notifications: TrafficClass { dscp: valid_dscp(48), ecn: Ecn::NotEct },
        }
    }
}

/// Options of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Default traffic classes of queue pairs; see [`crate::Endpoint::set_classes`].
    pub classes: Classes,
    /// Maximum number of sending sockets, each with its own UDP source port; further queue pairs reuse them.
    /// Default 256: enough for any ECMP group, and far below the limit of open files.
    pub source_ports_max: usize,
    /// Maximum in-flight packets of all queue pairs. Default 1,024: 4 MB with an MTU of 4096, which fit into
    /// the socket buffers of a peer.
    pub in_flight_packets_max: u32,
    /// Maximum packets per send call. The kernel forwards them as one until the adapter or a queue segments
    /// them (GSO). Default 64, the maximum of Linux; 1 where each packet must be queued, marked or dropped
    /// separately.
    pub batch_packets_max: u16,
    /// Maximum rate of payload [bit/s]; unlimited by default.
    pub rate_limit_bps: Option<u64>,
    /// Rate of the port [bit/s]: each packet is sent when an adapter would have finished transmitting it,
    /// with queue pairs served round robin in batches of `batch_packets_max`. By default packets are sent as
    /// soon as the host accepts them.
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

/// A valid code point.
fn valid_dscp(value: u8) -> Dscp {
    Dscp::new(value).unwrap_or_default()
}
