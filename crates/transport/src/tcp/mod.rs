//! TCP without I/O or clock: one direction of a byte stream between two endpoints.
//!
//! # Layers
//! 1. [`TcpConfig`]: parameters common to both ends.
//! 2. [`TcpSender`]: the application writes, segments are sent ([`TcpSender::poll_transmit`]),
//!    acknowledgements are processed.
//! 3. [`Scoreboard`](scoreboard::Scoreboard): segments in flight, selectively acknowledged and lost (RFC
//!    6675).
//! 4. [`Congestion`]: congestion window by [`NewReno`] (RFC 5681, 6582), [`Cubic`] (RFC 9438) or [`Dctcp`]
//!    (RFC 8257).
//! 5. [`RttEstimator`]: the retransmission timeout (RFC 6298), and the distribution of the smoothed
//!    round-trip time.
//! 6. [`TcpReceiver`]: segments in, [`Acknowledgement`]s out, delayed (RFC 1122, 4.2.3.2; RFC 5681, 4.2) and
//!    with SACK blocks (RFC 2018).
//!
//! The caller polls as with a reliable connection: deliver arrived segments, fire due timers
//! ([`TcpSender::deadline`], [`TcpReceiver::deadline`]), drain [`TcpSender::poll_transmit`].
//!
//! Bytes are numbered from 0 in 64 bits; [`sequence_number`] and [`offset_of`] convert to and from the 32-bit
//! numbers of a header.
//!
//! # Model
//! IW10 (RFC 6928), slow start with L = 2 and avoidance that counts bytes (RFC 3465), limited transmit (RFC
//! 3042, as a consequence of sending by `pipe`), fast recovery by SACK (RFC 6675), one window reduction per
//! window of data, timeouts with exponential back-off and Karn's rule, and no growth while the application or
//! the receiver is the limit.
//!
//! # Not modelled
//! - Connections are always open: no SYN, no FIN. A connection never gives up (RFC 1122 would after 100 s).
//! - A segment counts as lost once more than two segments' worth of bytes beyond it were selectively
//!   acknowledged; the other half of RFC 6675's rule, three separate ranges, matters only for segments below
//!   the MSS. Its rule 3 (resending segments not known to be lost) and rescue retransmission are omitted, as
//!   are RACK-TLP (RFC 8985), PRR (RFC 6937), F-RTO (RFC 5682), HyStart++ (RFC 9406) and pacing: a lost
//!   retransmission waits for the timeout, so timeouts are more frequent than with a recent Linux.
//! - The receive window is constant: the application reads at once. No window probes, no urgent data. No ECN
//!   without DCTCP (RFC 3168).

mod acknowledgement;
mod config;
mod congestion;
mod cubic;
mod dctcp;
mod distribution;
mod newreno;
mod receiver;
mod rtt;
pub mod scoreboard;
mod sender;

pub use acknowledgement::{Acknowledgement, Block, SACK_BLOCKS_MAX, SackBlocks};
pub use config::{CongestionKind, TcpConfig};
pub use congestion::{AckEvent, Congestion, CongestionControl, CongestionWindow};
pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use distribution::SpanDistribution;
pub use newreno::NewReno;
pub use receiver::{Replies, TcpReceiver};
pub use rtt::RttEstimator;
pub use sender::{Segment, TcpCounters, TcpSender};

/// The number on the wire of the byte at `offset`, on a connection whose first byte has number `first`.
#[inline]
#[must_use]
pub const fn sequence_number(first: u32, offset: u64) -> u32 {
    first.wrapping_add(offset as u32)
}

/// The offset of sequence number `number` that is nearest to `near` (RFC 9293, 3.4: numbers are compared
/// modulo 2^32). There is no offset before the first byte, so a number from there maps to a byte 2^32 later.
#[inline]
#[must_use]
pub const fn offset_of(first: u32, number: u32, near: u64) -> u64 {
    let distance = number.wrapping_sub(sequence_number(first, near)).cast_signed();
    match near.checked_add_signed(distance as i64) {
        Some(offset) => offset,
        None => number.wrapping_sub(first) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_offset_comes_back_from_its_number(first: u32, near in 0_u64..1 << 40, distance in -(1_i64 << 31)..1 << 31) {
            if let Some(offset) = near.checked_add_signed(distance) {
                prop_assert_eq!(offset_of(first, sequence_number(first, offset), near), offset);
            }
        }
    }
}
