//! The RoCEv2 transport.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The RoCEv2 reliable connections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TransportSpec {
    /// RoCE MTU: payload of a full packet [bytes]; 256, 512, 1024, 2048 or 4096.
    pub mtu_bytes: u32,
    /// Size of one RDMA message [bytes]; a data chunk is cut into messages.
    pub message_bytes: u64,
    /// Which transfers share a queue pair.
    pub qp_mode: QpMode,
    /// Queue pairs over which each data chunk is split evenly.
    pub qps_per_rank_pair: u32,
    /// The responder acknowledges at least every so many packets, and at message end.
    pub ack_every: u32,
    /// At most this many packets unacknowledged on a queue pair; at most 2^23 (IBTA 1.7, 9.7.2).
    pub window_packets: u32,
    /// What the requester does about loss.
    pub recovery: LossRecovery,
    /// Selective recovery: packets this far beyond the first missing one are refused, so the requester sends
    /// no further; a packet is taken for lost when one three quarters as far beyond it has arrived. 1 to
    /// 2^23.
    pub ooo_window_packets: u32,
    /// Priority of each kind of packet.
    pub priorities: PrioritySpec,
    /// Time without progress after which the requester resends [ps].
    pub timeout_ps: u64,
    /// On a timeout the requester resends, this many times without progress in between, then the queue pair
    /// fails at the next timeout; at most 65,535.
    pub retry_count: u32,
    /// How the requester paces itself.
    pub rate_control: RateControl,
}

/// Which transfers share a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QpMode {
    /// One queue pair for each ordered rank pair and channel, reused.
    PerPair,
    /// A queue pair and UDP source port for each data chunk, as traffic generators do.
    PerChunk,
}

/// What the requester does about loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LossRecovery {
    /// Resend everything from the first missing packet.
    GoBackN,
    /// Take packets in any order and resend only what is missing.
    Selective,
    /// Never resend: a traffic generator that counts what is lost.
    None,
}

/// How the requester paces itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RateControl {
    /// As fast as the port takes it.
    LineRate {},
    /// DCQCN (Zhu et al., SIGCOMM 2015).
    Dcqcn {
        /// Gain g of alpha [1/2^20].
        g_2e20: u32,
        /// Alpha decays after this long without a CNP [ps].
        alpha_timer_ps: u64,
        /// At most one rate cut in this time [ps].
        rate_cut_period_ps: u64,
        /// Rate increase timer [ps].
        increase_timer_ps: u64,
        /// Rate increase byte counter [bytes]; 0 switches it off.
        byte_counter_bytes: u64,
        /// Rounds of fast recovery F.
        fast_recovery_rounds: u32,
        /// Additive increase R_AI [bit/s].
        additive_increase_bps: u64,
        /// Hyper increase R_HAI [bit/s].
        hyper_increase_bps: u64,
        /// Smallest rate [bit/s].
        rate_min_bps: u64,
        /// Every rate cut lowers the target rate to the current one; without it only a cut that follows an
        /// increase does, so that a row of cuts is recovered from at once.
        clamp_target_rate: bool,
        /// A receiver sends at most one CNP per queue pair in this time [ps].
        cnp_interval_ps: u64,
    },
    /// Swift (Kumar et al., SIGCOMM 2020).
    Swift {
        /// Target delay, without the parts for hops and for small windows [ps].
        base_target_ps: u64,
        /// What each link of the path adds to the target [ps].
        hop_target_ps: u64,
        /// What flow scaling adds to the target at the most [ps].
        scaling_range_ps: u64,
        /// Window at which flow scaling is full [1/2^20 packets].
        scaling_window_min_2e20: u64,
        /// Window from which on there is none [1/2^20 packets].
        scaling_window_max_2e20: u64,
        /// Additive increase of the window for each round trip [1/2^20 packets].
        additive_increase_2e20: u64,
        /// Multiplicative decrease beta [ppm].
        beta_ppm: u32,
        /// What one decrease takes off the window at the most [ppm].
        decrease_max_ppm: u32,
        /// Smallest window [1/2^20 packets].
        window_min_2e20: u64,
        /// Largest window, with which a queue pair begins [1/2^20 packets].
        window_max_2e20: u64,
        /// Timeouts in a row that lead to the smallest window.
        reset_timeouts: u32,
    },
    /// TIMELY (Mittal et al., SIGCOMM 2015).
    Timely {
        /// Weight alpha of the newest difference of round-trip times [ppm].
        alpha_ppm: u32,
        /// Multiplicative decrease beta [ppm].
        beta_ppm: u32,
        /// Below this round-trip time the rate rises [ps].
        rtt_low_ps: u64,
        /// Above this round-trip time the rate falls [ps].
        rtt_high_ps: u64,
        /// What differences of round-trip times are set against [ps].
        rtt_min_ps: u64,
        /// Additive increase delta [bit/s].
        additive_increase_bps: u64,
        /// The rate is looked at each time that so much has been acknowledged [bytes].
        segment_bytes: u64,
        /// Smallest rate [bit/s].
        rate_min_bps: u64,
    },
}

impl RateControl {
    /// Receivers answer marked packets with congestion notifications.
    #[must_use]
    pub const fn has_cnps(&self) -> bool {
        matches!(self, Self::Dcqcn { .. })
    }

    /// It follows round-trip times.
    #[must_use]
    pub const fn is_delay_based(&self) -> bool {
        matches!(self, Self::Swift { .. } | Self::Timely { .. })
    }
}

/// Priority of each kind of packet (IEEE 802.1Q), 0 to 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrioritySpec {
    /// Payload.
    pub data: u8,
    /// ACK and NAK.
    pub ack: u8,
    /// CNP.
    pub cnp: u8,
}
