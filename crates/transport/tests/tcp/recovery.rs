//! What follows a loss, segment by segment.

use crate::network::{Net, Way, config};
use fabricbench_transport::tcp::{CongestionKind, TcpCounters};
use units::{Instant, Span};

const MSS: u64 = 1448;
const ROUND_TRIP: Span = Span::from_us(100);

/// One connection of `segments`, of which the transmissions `lost` do not arrive.
fn transfer(segments: u64, lost: &[u64]) -> Net {
    let mut net =
        Net::new(config(CongestionKind::NewReno), Way::clean(ROUND_TRIP), 1, Some(segments * MSS), 1);
    net.flows[0].lost.extend(lost);
    net.run(Instant(u64::MAX - 1));
    assert_eq!(net.flows[0].receiver.delivered(), segments * MSS);
    net
}

fn counters(net: &Net) -> (u64, u64, u64) {
    let TcpCounters { retransmissions, timeouts, fast_recoveries, .. } = *net.flows[0].sender.counters();
    (retransmissions, timeouts, fast_recoveries)
}

#[test]
fn ten_segments_are_the_first_window() {
    let mut net = Net::new(config(CongestionKind::NewReno), Way::clean(ROUND_TRIP), 1, None, 1);
    net.run(Instant(Span::from_us(60).0));
    assert_eq!(net.flows[0].sender.counters().segments, 10);
    // Slow start doubles the window in a round trip.
    net.run(Instant(Span::from_us(160).0));
    assert_eq!(net.flows[0].sender.counters().segments, 30);
}

#[test]
fn one_loss_costs_one_resend_and_half_the_window() {
    let net = transfer(200, &[15]);
    assert_eq!(counters(&net), (1, 0, 1));
}

#[test]
fn many_losses_of_one_window_are_one_recovery() {
    let net = transfer(400, &[40, 42, 45, 46, 50, 55]);
    assert_eq!(counters(&net), (6, 0, 1));
}

#[test]
fn a_lost_tail_waits_for_the_timer() {
    let net = transfer(10, &[8, 9]);
    let (retransmissions, timeouts, fast_recoveries) = counters(&net);
    assert_eq!((retransmissions, timeouts, fast_recoveries), (2, 1, 0));
}

#[test]
fn a_lost_resend_waits_for_the_timer() {
    // Transmission 21 is the resend of 5: 10 of the first window, 11 up to the third acknowledgement beyond
    // the hole.
    let first = transfer(300, &[5]);
    assert_eq!(counters(&first), (1, 0, 1));
    let timeouts = (11..40).filter(|&again| counters(&transfer(300, &[5, again])).1 > 0).count();
    assert_eq!(timeouts, 1, "one of the later transmissions is the resend");
}

#[test]
fn the_timeout_doubles_until_something_arrives() {
    let mut net = Net::new(config(CongestionKind::Cubic), Way::clean(ROUND_TRIP), 1, Some(5 * MSS), 1);
    // The first window and two resends of its first segment.
    net.flows[0].lost.extend(0..7);
    // 1 s + 2 s + 4 s: no round-trip time is known.
    net.run(Instant(Span::from_us(6_999_000).0));
    assert_eq!(net.flows[0].receiver.delivered(), 0);
    net.run(Instant(Span::from_us(7_010_000).0));
    assert_eq!((net.flows[0].receiver.delivered(), counters(&net).1), (5 * MSS, 3));
}
