//! Feedback of the network to a rate control: acknowledgements, marks, losses, notifications, delay, credit
//! and telemetry, in one type.

use units::{Instant, Rate, Span};

/// One event on the reverse path of a queue pair: an acknowledgement, a NAK, a congestion notification, or the
/// timeout that no acknowledgement prevented. [`Feedback::at`] is one without any effect; a driver sets the
/// fields that its event has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feedback<'a> {
    /// Time of the event.
    pub now: Instant,
    /// Packets newly acknowledged.
    pub acknowledged_packets: u32,
    /// Payload of these packets, each counted as a full one [bytes].
    pub acknowledged_bytes: u64,
    /// Those of `acknowledged_bytes` with the mark "congestion experienced" [bytes]. A RoCEv2 acknowledgement
    /// does not repeat the marks of data, which CNPs report: all of its bytes count if it arrived marked
    /// itself, on the reverse path.
    pub marked_bytes: u64,
    /// Payload that switches removed from packets (trimming) [bytes]; 0 until a switch trims.
    pub trimmed_bytes: u64,
    /// The receiver reported a missing packet (NAK).
    pub is_nak: bool,
    /// Nothing was received for a whole timeout.
    pub is_timeout: bool,
    /// A congestion notification packet (CNP) arrived.
    pub is_cnp: bool,
    /// Round-trip time of the newest acknowledged packet; [`super::Timed`] measures it. `None` if the packet
    /// was sent more than once, since it is ambiguous which transmission is acknowledged (Karn and Partridge,
    /// SIGCOMM 1987).
    pub rtt: Option<Span>,
    /// Bytes that the receiver permits to send [bytes]; `None` until a transport with credits fills it.
    pub credit_bytes: Option<u64>,
    /// Telemetry of the hops that the newest acknowledged packet passed, in their order; empty until switches
    /// insert it into packets.
    pub telemetry: &'a [HopTelemetry],
}

impl Feedback<'_> {
    /// An event at `now` that reports nothing yet.
    #[inline]
    #[must_use]
    pub const fn at(now: Instant) -> Self {
        Self {
            now,
            acknowledged_packets: 0,
            acknowledged_bytes: 0,
            marked_bytes: 0,
            trimmed_bytes: 0,
            is_nak: false,
            is_timeout: false,
            is_cnp: false,
            rtt: None,
            credit_bytes: None,
            telemetry: &[],
        }
    }
}

/// State of an egress port when a packet left it, with the fields of in-band telemetry (Li et al., "HPCC: High
/// Precision Congestion Control", SIGCOMM 2019, section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopTelemetry {
    /// Time at which the packet left.
    pub at: Instant,
    /// Bytes in the queue of the port [bytes].
    pub queue_bytes: u64,
    /// Bytes that the port has sent since the start of the run [bytes].
    pub sent_bytes: u64,
    /// Rate of the port.
    pub rate: Rate,
}
