//! TCP beside RDMA.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use transport::tcp::CongestionKind;
use units::{DURATION_PS_MAX, RATE_BPS_MAX};

/// TCP traffic of some hosts. Its connections are open from the start and never close.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TcpSpec {
    /// Unique among jobs and TCP traffic.
    pub name: String,
    /// The host of each rank, in rank order. A host may have a rank of a job as well, but none of other TCP
    /// traffic.
    pub hosts: Vec<u32>,
    /// Who sends to whom: each pair of sender and receiver of this collective has connections.
    pub collective: String,
    /// An algorithm of that collective.
    pub algorithm: String,
    /// Receiver of incast [rank].
    pub root: u32,
    /// Number of its random draws, unique in the run.
    #[schemars(range(max = 65_535))]
    pub stream: u32,
    /// Connections of each pair.
    #[schemars(range(min = 1, max = 1_024))]
    pub connections: u32,
    /// Payload that each sending host offers, split evenly over its connections [bit/s]; without it there is
    /// always more to send.
    #[schemars(range(min = 1, max = RATE_BPS_MAX))]
    pub rate_bps: Option<u64>,
    /// The application writes so much at a time [bytes]; rounded up to whole segments.
    #[schemars(range(min = 1, max = 1 << 30))]
    pub write_bytes: u64,
    /// A closed loop: each connection has so many writes unacknowledged, and writes again when one is
    /// acknowledged; without it writes wait for none before them. Needs applications without a rate.
    #[schemars(range(min = 1, max = 65_535))]
    pub outstanding_writes: Option<u32>,
    /// When it starts [ps].
    #[schemars(range(max = DURATION_PS_MAX))]
    pub start_ps: u64,
    /// Each connection starts that much later at most, drawn at random [ps].
    #[schemars(range(max = DURATION_PS_MAX))]
    pub start_spread_ps: u64,
    /// The application writes for so long [ps], and the traffic ends when all of it is acknowledged; without
    /// it, until every job and other TCP traffic has ended.
    #[schemars(range(min = 1, max = DURATION_PS_MAX))]
    pub duration_ps: Option<u64>,
    /// Priority of its frames, data and acknowledgements.
    #[schemars(range(max = 7))]
    pub priority: u8,
    /// Code point of its frames, data and acknowledgements (RFC 2474); 0, best effort, when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 63))]
    pub dscp: Option<u8>,
    /// Ethernet MTU: IP and TCP headers with options, and payload [bytes].
    #[schemars(range(min = 576, max = 9_216))]
    pub mtu_bytes: u32,
    /// What sets the congestion window.
    pub congestion: CongestionKind,
    /// First congestion window [segments].
    #[schemars(range(min = 1, max = 1_000))]
    pub initial_window_segments: u32,
    /// At most so much written and not acknowledged: the smaller of send buffer and receive window [bytes];
    /// at most [`TCP_WINDOW_SEGMENTS_MAX`] segments.
    pub window_bytes: u64,
    /// Segments in order that one acknowledgement covers.
    #[schemars(range(min = 1, max = 64))]
    pub ack_every: u32,
    /// After this time it is sent at the latest [ps].
    #[schemars(range(min = 1, max = DURATION_PS_MAX))]
    pub delayed_ack_ps: u64,
    /// Retransmission timeout before a round-trip time is known [ps].
    #[schemars(range(min = 1, max = DURATION_PS_MAX))]
    pub rto_initial_ps: u64,
    /// Smallest one [ps].
    #[schemars(range(min = 1, max = DURATION_PS_MAX))]
    pub rto_min_ps: u64,
    /// Largest one [ps].
    #[schemars(range(min = 1, max = DURATION_PS_MAX))]
    pub rto_max_ps: u64,
}

/// The longest window: what the descriptor of an acknowledgement can point to.
pub const TCP_WINDOW_SEGMENTS_MAX: u64 = 2_047;
/// IPv4 and TCP headers with the timestamps option: what a segment needs of the MTU beside its payload
/// [bytes].
const TCP_HEADER_BYTES: u32 = 20 + 20 + 12;

impl TcpSpec {
    /// Payload of a full segment [bytes].
    #[must_use]
    pub const fn mss_bytes(&self) -> u32 {
        self.mtu_bytes - TCP_HEADER_BYTES
    }
}
