//! Parameters of TCP traffic in parallel with RDMA: connections, applications, congestion control and timers.

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
    /// Collective whose pairs of sender and receiver have connections.
    pub collective: String,
    /// An algorithm of that collective.
    pub algorithm: String,
    /// Receiver of incast [rank].
    pub root: u32,
    /// Number of its random streams, unique in the run.
    #[schemars(range(max = 65_535))]
    pub stream: u32,
    /// Connections per pair.
    #[schemars(range(min = 1, max = 1_024))]
    pub connections: u32,
    /// Payload rate offered by each sending host, split evenly over its connections [bit/s]; unlimited
    /// without it.
    #[schemars(range(min = 1, max = RATE_BPS_MAX))]
    pub rate_bps: Option<u64>,
    /// Size of a write of the application [bytes]; rounded up to whole segments.
    #[schemars(range(min = 1, max = 1 << 30))]
    pub write_bytes: u64,
    /// Closed loop: number of unacknowledged writes per connection. Without it writes do not wait for earlier
    /// ones. Requires applications without a rate.
    #[schemars(range(min = 1, max = 65_535))]
    pub outstanding_writes: Option<u32>,
    /// Start [ps].
    #[schemars(range(max = DURATION_PS_MAX))]
    pub start_ps: u64,
    /// Maximum random delay of the start of each connection [ps].
    #[schemars(range(max = DURATION_PS_MAX))]
    pub start_spread_ps: u64,
    /// Duration of writing [ps]; the traffic ends when all is acknowledged. Without it, until all jobs and
    /// other TCP traffic have ended.
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
    /// Congestion control.
    pub congestion: CongestionKind,
    /// Initial congestion window [segments].
    #[schemars(range(min = 1, max = 1_000))]
    pub initial_window_segments: u32,
    /// Maximum of unacknowledged bytes: minimum of send buffer and receive window [bytes]; at most
    /// [`TCP_WINDOW_SEGMENTS_MAX`] segments.
    pub window_bytes: u64,
    /// In-order segments per acknowledgement.
    #[schemars(range(min = 1, max = 64))]
    pub ack_every: u32,
    /// Maximum delay of an acknowledgement [ps].
    #[schemars(range(min = 1, max = DURATION_PS_MAX))]
    pub delayed_ack_ps: u64,
    /// Retransmission timeout before a round-trip time is known [ps].
    #[schemars(range(min = 1, max = DURATION_PS_MAX))]
    pub rto_initial_ps: u64,
    /// Minimum [ps].
    #[schemars(range(min = 1, max = DURATION_PS_MAX))]
    pub rto_min_ps: u64,
    /// Maximum [ps].
    #[schemars(range(min = 1, max = DURATION_PS_MAX))]
    pub rto_max_ps: u64,
}

/// Maximum window: the range of the descriptor of an acknowledgement.
pub const TCP_WINDOW_SEGMENTS_MAX: u64 = 2_047;
/// IPv4 and TCP headers with the timestamps option [bytes].
const TCP_HEADER_BYTES: u32 = 20 + 20 + 12;

impl TcpSpec {
    /// Payload of a full segment [bytes].
    pub const fn mss_bytes(&self) -> u32 {
        self.mtu_bytes - TCP_HEADER_BYTES
    }
}
