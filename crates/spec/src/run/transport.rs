//! Parameters of the RoCEv2 transport: MTU, messages, queue pairs, loss recovery, priorities, timeouts, rate
//! control.

use super::DscpSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use transport::{Config, RateControlSpec, Recovery};
use units::Span;
use wire::Psn;

/// The RoCEv2 connections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TransportSpec {
    /// RoCE MTU: payload of a full packet [bytes]; 256, 512, 1024, 2048 or 4096.
    #[schemars(extend("enum" = [256, 512, 1_024, 2_048, 4_096]))]
    pub mtu_bytes: u32,
    /// Size of an RDMA message [bytes]; a data chunk is split into messages.
    #[schemars(range(min = 1, max = Config::MESSAGE_BYTES_MAX))]
    pub message_bytes: u64,
    /// Type of the queue pairs of collectives and open-loop traffic; reliable when absent.
    #[serde(default, skip_serializing_if = "QpType::is_reliable")]
    pub connection: QpType,
    /// Which transfers share a queue pair.
    pub qp_mode: QpMode,
    /// Queue pairs over which each data chunk is split evenly.
    #[schemars(range(min = 1, max = 1_024))]
    pub qps_per_rank_pair: u32,
    /// Maximum packets per acknowledgement of the responder, which also acknowledges the end of a message.
    #[schemars(range(min = 1))]
    pub ack_every: u32,
    /// Maximum unacknowledged packets of a queue pair; at most 2^23 (IBTA 1.7, 9.7.2).
    #[schemars(range(min = 1, max = Psn::WINDOW_MAX))]
    pub window_packets: u32,
    /// Loss recovery of the requester.
    pub recovery: LossRecovery,
    /// Selective recovery: packets this far beyond the first missing one are rejected, which also limits the
    /// requester; a packet is assumed lost when one three quarters as far beyond it has arrived. 1 to 2^23.
    #[schemars(range(min = 1, max = Psn::WINDOW_MAX))]
    pub ooo_window_packets: u32,
    /// Priority of each kind of packet.
    pub priorities: PrioritySpec,
    /// Code point of each kind of packet; the usual ones of RoCE NICs when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dscp: Option<DscpSpec>,
    /// Time without progress after which the requester retransmits [ps].
    #[schemars(range(min = 1))]
    pub timeout_ps: u64,
    /// Maximum retransmissions by timeout without progress in between; the queue pair fails at the next
    /// timeout. At most 65,535.
    #[schemars(range(max = 65_535))]
    pub retry_count: u32,
    /// Rate control of the requester.
    pub rate_control: RateControlSpec,
}

impl TransportSpec {
    /// Parameters of its connections. With selective recovery, the range of accepted packets also limits the
    /// window.
    pub fn connection(&self) -> Config {
        let Self { ooo_window_packets, .. } = *self;
        let (recovery, window_packets) = match self.recovery {
            LossRecovery::GoBackN => (Recovery::GoBackN, self.window_packets),
            LossRecovery::Selective => {
                (Recovery::Selective { ooo_window_packets }, self.window_packets.min(ooo_window_packets))
            }
            LossRecovery::None => (Recovery::None, self.window_packets),
        };
        Config {
            mtu_bytes: self.mtu_bytes,
            message_bytes: self.message_bytes,
            ack_every: self.ack_every.min(window_packets),
            window_packets,
            timeout: Span(self.timeout_ps),
            retry_count: self.retry_count,
            recovery,
        }
    }
}

/// Type of a queue pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QpType {
    /// Reliable connection.
    #[default]
    Rc,
    /// Unreliable connection: no acknowledgements, a message with a gap is dropped. It recovers nothing.
    Uc,
}

impl QpType {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    const fn is_reliable(&self) -> bool {
        matches!(self, Self::Rc)
    }
}

/// Which transfers share a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QpMode {
    /// One queue pair per ordered rank pair and channel, reused.
    PerPair,
    /// A queue pair and UDP source port per data chunk, as in traffic generators.
    PerChunk,
}

/// Loss recovery of the requester.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LossRecovery {
    /// Retransmit all packets from the first missing one.
    GoBackN,
    /// Accept packets in any order and retransmit only missing ones.
    Selective,
    /// Never retransmit: a traffic generator that counts losses.
    None,
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
