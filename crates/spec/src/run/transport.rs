//! The RoCEv2 transport.

use super::DscpSpec;
use super::limits::{DURATION_PS_MAX, RATE_BPS_MAX, WINDOW_2E20_MAX, WINDOW_2E20_MIN, WINDOW_PACKETS_MAX};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The RoCEv2 reliable connections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TransportSpec {
    /// RoCE MTU: payload of a full packet [bytes]; 256, 512, 1024, 2048 or 4096.
    #[schemars(extend("enum" = [256, 512, 1_024, 2_048, 4_096]))]
    pub mtu_bytes: u32,
    /// Size of one RDMA message [bytes]; a data chunk is cut into messages.
    #[schemars(range(min = 1, max = 1_u64 << 31))]
    pub message_bytes: u64,
    /// Which transfers share a queue pair.
    pub qp_mode: QpMode,
    /// Queue pairs over which each data chunk is split evenly.
    #[schemars(range(min = 1, max = 1_024))]
    pub qps_per_rank_pair: u32,
    /// The responder acknowledges at least every so many packets, and at message end.
    #[schemars(range(min = 1))]
    pub ack_every: u32,
    /// At most this many packets unacknowledged on a queue pair; at most 2^23 (IBTA 1.7, 9.7.2).
    #[schemars(range(min = 1, max = WINDOW_PACKETS_MAX))]
    pub window_packets: u32,
    /// What the requester does about loss.
    pub recovery: LossRecovery,
    /// Selective recovery: packets this far beyond the first missing one are refused, so the requester sends
    /// no further; a packet is taken for lost when one three quarters as far beyond it has arrived. 1 to
    /// 2^23.
    #[schemars(range(min = 1, max = WINDOW_PACKETS_MAX))]
    pub ooo_window_packets: u32,
    /// Priority of each kind of packet.
    pub priorities: PrioritySpec,
    /// Code point of each kind of packet; the usual ones of RoCE NICs when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dscp: Option<DscpSpec>,
    /// Time without progress after which the requester resends [ps].
    #[schemars(range(min = 1))]
    pub timeout_ps: u64,
    /// On a timeout the requester resends, this many times without progress in between, then the queue pair
    /// fails at the next timeout; at most 65,535.
    #[schemars(range(max = 65_535))]
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
    LineRate {
        /// A receiver of marked packets sends at most one CNP per queue pair in this time, which the sender
        /// counts without a reaction [ps]; absent, marks are counted alone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cnp_interval_ps: Option<u64>,
    },
    /// DCQCN (Zhu et al., SIGCOMM 2015).
    Dcqcn {
        /// Gain g of alpha [1/2^20].
        #[schemars(range(max = 1 << 20))]
        g_2e20: u32,
        /// Alpha of a queue pair before its first CNP [1/2^20]; absent, 1 (SIGCOMM 2015, section 3).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(max = 1 << 20))]
        initial_alpha_2e20: Option<u32>,
        /// Alpha decays after this long without a CNP [ps].
        alpha_timer_ps: u64,
        /// At most one rate cut in this time [ps].
        rate_cut_period_ps: u64,
        /// Rate increase timer [ps].
        increase_timer_ps: u64,
        /// Rate increase byte counter [bytes]; 0 switches it off.
        byte_counter_bytes: u64,
        /// Rounds of fast recovery F; 0: a cut lowers the target rate to the rate after it, so that the rate
        /// rises by the increases only.
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
        #[schemars(range(min = 1, max = DURATION_PS_MAX))]
        base_target_ps: u64,
        /// What each link of the path adds to the target [ps].
        #[schemars(range(max = DURATION_PS_MAX))]
        hop_target_ps: u64,
        /// What flow scaling adds to the target at the most [ps].
        #[schemars(range(max = DURATION_PS_MAX))]
        scaling_range_ps: u64,
        /// Window at which flow scaling is full [1/2^20 packets].
        #[schemars(range(min = WINDOW_2E20_MIN, max = WINDOW_2E20_MAX))]
        scaling_window_min_2e20: u64,
        /// Window from which on there is none [1/2^20 packets].
        #[schemars(range(min = WINDOW_2E20_MIN, max = WINDOW_2E20_MAX))]
        scaling_window_max_2e20: u64,
        /// Additive increase of the window for each round trip [1/2^20 packets].
        #[schemars(range(min = 1, max = 1_000 << 20))]
        additive_increase_2e20: u64,
        /// Multiplicative decrease beta [ppm].
        #[schemars(range(max = 1_000_000))]
        beta_ppm: u32,
        /// What one decrease takes off the window at the most [ppm].
        #[schemars(range(max = 1_000_000))]
        decrease_max_ppm: u32,
        /// Smallest window [1/2^20 packets].
        #[schemars(range(min = WINDOW_2E20_MIN, max = WINDOW_2E20_MAX))]
        window_min_2e20: u64,
        /// Largest window, with which a queue pair begins [1/2^20 packets].
        #[schemars(range(min = WINDOW_2E20_MIN, max = WINDOW_2E20_MAX))]
        window_max_2e20: u64,
        /// Timeouts in a row that lead to the smallest window.
        reset_timeouts: u32,
    },
    /// TIMELY (Mittal et al., SIGCOMM 2015).
    Timely {
        /// Weight alpha of the newest difference of round-trip times [ppm].
        #[schemars(range(max = 1_000_000))]
        alpha_ppm: u32,
        /// Multiplicative decrease beta [ppm].
        #[schemars(range(max = 1_000_000))]
        beta_ppm: u32,
        /// Largest fraction of the rate that one decrease takes off [ppm].
        #[schemars(range(max = 1_000_000))]
        decrease_max_ppm: u32,
        /// Below this round-trip time the rate rises [ps].
        #[schemars(range(min = 1, max = DURATION_PS_MAX))]
        rtt_low_ps: u64,
        /// Above this round-trip time the rate falls [ps].
        #[schemars(range(min = 1, max = DURATION_PS_MAX))]
        rtt_high_ps: u64,
        /// What differences of round-trip times are set against [ps].
        #[schemars(range(min = 1, max = DURATION_PS_MAX))]
        rtt_min_ps: u64,
        /// Additive increase delta [bit/s].
        #[schemars(range(min = 1, max = RATE_BPS_MAX))]
        additive_increase_bps: u64,
        /// The rate is looked at each time that so much has been acknowledged [bytes].
        #[schemars(range(min = 1, max = 1_u64 << 40))]
        segment_bytes: u64,
        /// Smallest rate [bit/s].
        #[schemars(range(min = 1, max = RATE_BPS_MAX))]
        rate_min_bps: u64,
    },
}

impl RateControl {
    /// As fast as the port takes it, without CNPs.
    pub const LINE_RATE: Self = Self::LineRate { cnp_interval_ps: None };

    /// Whether nothing but the port paces a requester.
    #[must_use]
    pub const fn is_line_rate(&self) -> bool {
        matches!(self, Self::LineRate { .. })
    }
}

/// Priority of each kind of packet (IEEE 802.1Q), 0 to 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrioritySpec {
    /// Payload.
    #[schemars(range(max = 7))]
    pub data: u8,
    /// ACK and NAK.
    #[schemars(range(max = 7))]
    pub ack: u8,
    /// CNP.
    #[schemars(range(max = 7))]
    pub cnp: u8,
}
