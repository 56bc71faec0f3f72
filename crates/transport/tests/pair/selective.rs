//! Selective recovery: packets in any order, and nothing sent again that arrived.

use crate::checks::{Expected, retries_are_counted, segmentation, sequence_near, the_window_is_kept};
use crate::driver::{PACKET_TIME, Pair};
use crate::history::{History, Step};
use crate::network::{DataOnly, Direction, Impaired, Network, Scripted};
use crate::scenario::{LATENCY, Workload, impaired, workload};
use fabricbench_transport::{Config, Disposition, Position, Recovery, Reply, TimeoutOutcome};
use proptest::prelude::*;
use std::collections::BTreeSet;
use units::{Instant, Span};
use wire::Psn;

/// Far longer than anything takes over a network that loses nothing.
const TIMEOUT: Span = Span::from_us(1000);

/// A workload whose responder takes packets in any order.
fn selective_workload(packets_max: u64) -> impl Strategy<Value = Workload> {
    (workload(packets_max), 1u32..=200).prop_map(|(mut workload, ooo_window_packets)| {
        let config = &mut workload.config;
        config.recovery = Recovery::Selective { ooo_window_packets };
        config.window_packets = config.window_packets.min(ooo_window_packets);
        config.ack_every = config.ack_every.min(config.window_packets);
        workload
    })
}

fn threshold(config: &Config) -> u64 {
    let Recovery::Selective { ooo_window_packets } = config.recovery else { panic!("selective") };
    (u64::from(ooo_window_packets) * 3 / 4).max(1)
}

/// Holds of every history, complete or not.
fn check(history: &History, config: &Config, initial_psn: Psn) {
    let packets = segmentation(config, &history.posted());
    each_packet_is_a_message(history, &packets, initial_psn);
    the_window_is_kept(history, config);
    retries_are_counted(history, config);
    packets_are_placed_once_before_they_complete(history, &packets);
}

fn each_packet_is_a_message(history: &History, packets: &[Expected], initial_psn: Psn) {
    let mut sent = 0;
    for frame in history.sent() {
        let transmit = frame.transmit;
        let sequence = sequence_near(sent, initial_psn, transmit.packet.psn);
        let packet = packets[sequence];
        assert!(sequence <= sent, "{transmit:?} skips {} packets", sequence - sent);
        assert_eq!(transmit.packet.is_retransmission, sequence < sent, "{transmit:?}");
        assert_eq!(
            transmit.packet.ack_request,
            sequence < sent || packet.position.ends_message(),
            "{transmit:?}"
        );
        assert_eq!(
            (transmit.packet.position, transmit.message_bytes),
            (Position::Only, packet.payload_bytes)
        );
        let place = (frame.request, transmit.offset_bytes, u64::from(transmit.packet.payload_bytes));
        assert_eq!(place, (packet.request, packet.offset_bytes, packet.payload_bytes), "packet {sequence}");
        sent = sent.max(sequence + 1);
    }
}

/// No byte is placed twice, and no request completes before it and those before it were placed whole.
fn packets_are_placed_once_before_they_complete(history: &History, packets: &[Expected]) {
    let mut placed = BTreeSet::new();
    let mut completed = 0;
    for (at, step) in &history.steps {
        match step {
            Step::Arrived { frame, arrival }
                if matches!(arrival.disposition, Disposition::Accepted | Disposition::Placed) =>
            {
                assert!(placed.insert((frame.request, frame.transmit.offset_bytes)), "placed twice at {at}");
            }
            Step::Heard { outcome, .. } if outcome.completed > 0 => {
                completed += outcome.completed as usize;
                let due = packets.iter().filter(|packet| packet.request < completed);
                assert!(
                    due.into_iter().all(|packet| placed.contains(&(packet.request, packet.offset_bytes)))
                );
            }
            _ => {}
        }
    }
}

fn placed(history: &History) -> usize {
    let is_placed = |disposition| matches!(disposition, Disposition::Accepted | Disposition::Placed);
    history.judged().filter(|arrival| is_placed(arrival.disposition)).count()
}

fn run_complete<N: Network>(workload: &Workload, network: N) -> History {
    let history = workload.pair(network).run(2_000_000);
    check(&history, &workload.config, workload.initial_psn);
    assert_eq!(history.completed(), workload.posts.len(), "work requests completed");
    assert_eq!(placed(&history), segmentation(&workload.config, &history.posted()).len());
    history
}

fn count(history: &History, disposition: Disposition) -> usize {
    history.judged().filter(|arrival| arrival.disposition == disposition).count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_byte_arrives_once_over_any_network(workload in selective_workload(40), network in impaired(300)) {
        run_complete(&workload, network);
    }

    #[test]
    fn a_requester_that_sends_beyond_the_window_is_refused_and_gets_through(
        mut workload in selective_workload(40),
        network in impaired(100),
        excess in 1u32..100,
    ) {
        workload.config.window_packets += excess;
        run_complete(&workload, network);
    }

    #[test]
    fn only_what_is_missing_is_resent_when_nothing_is_reordered(
        mut workload in selective_workload(100),
        network in impaired(300),
    ) {
        workload.config.timeout = TIMEOUT;
        let network = Impaired { jitter: Span(0), duplicate_permille: 0, ..network };
        let history = run_complete(&workload, DataOnly(network));
        // After a timeout one packet asks what arrived; it may have arrived itself, without an
        // acknowledgement.
        let asked_in_vain = count(&history, Disposition::Duplicate);
        prop_assert!(asked_in_vain <= history.timeouts().len());
        prop_assert_eq!(count(&history, Disposition::OutOfOrder), 0, "nothing is refused");
        let resent = history.sent().filter(|frame| frame.transmit.packet.is_retransmission).count();
        prop_assert_eq!(resent, history.sent().count() - placed(&history));
        let lost = history.sent().count() - history.judged().count();
        prop_assert_eq!(resent, lost + asked_in_vain);
    }

    #[test]
    fn reordering_within_the_threshold_resends_nothing(
        mut workload in selective_workload(100),
        network in impaired(0),
        share in 0u64..=100,
    ) {
        workload.config.timeout = TIMEOUT;
        let jitter = Span(threshold(&workload.config) * PACKET_TIME.0 * share / 100);
        let network = Impaired { jitter, duplicate_permille: 0, ..network };
        let history = run_complete(&workload, network);
        prop_assert_eq!(history.sent().count(), placed(&history));
        prop_assert_eq!(history.timeouts(), []);
        let are_acks = history.replies().all(|reply| matches!(reply, Reply::SelectiveAck { .. }));
        prop_assert!(are_acks);
        // Each acknowledgement is the end of a group or of a message.
        let config = &workload.config;
        let ends: u64 = history.posted().iter().map(|&bytes| config.messages(bytes)).sum();
        prop_assert!(history.replies().count() as u64 <= history.sent().count() as u64 / u64::from(config.ack_every) + ends);
    }

    #[test]
    fn a_run_that_may_give_up_completes_or_fails(
        mut workload in selective_workload(20),
        network in impaired(700),
        retry_count in 0u32..=7,
    ) {
        workload.config.retry_count = retry_count;
        let history = workload.pair(network).run(2_000_000);
        check(&history, &workload.config, workload.initial_psn);
        let has_failed = matches!(history.timeouts().last(), Some((_, TimeoutOutcome::Failed)));
        prop_assert_eq!(history.completed() < workload.posts.len(), has_failed);
    }
}

/// Ten packets of one message over a window of eight: the sixth packet beyond a hole makes it a loss.
fn pair(network: Scripted) -> Pair<Scripted> {
    let config = Config {
        mtu_bytes: 1024,
        message_bytes: 10 << 10,
        ack_every: 4,
        window_packets: 8,
        timeout: Span::from_us(50),
        retry_count: 7,
        recovery: Recovery::Selective { ooo_window_packets: 8 },
    };
    let mut pair = Pair::new(config, Psn::new(0), network);
    pair.post_at(Instant::ZERO, 10 << 10);
    pair
}

/// What the two say of loss, and what is sent again.
fn repairs(network: Scripted) -> Vec<String> {
    let history = pair(network).run(1000);
    assert_eq!(history.completed(), 1);
    let tells = |line: &String| ["NAK", "again", "timeout", "ACK"].iter().any(|word| line.contains(word));
    history.lines().into_iter().filter(|line| tells(line) && !line.contains("hear")).collect()
}

#[test]
fn three_quarters_of_a_window_beyond_a_hole_it_is_reported() {
    assert_eq!(
        repairs(Scripted::new(LATENCY).lose(Direction::Data, 1)),
        [
            "1.7 us data 7 placed, NAK 1 after 0",
            "2.7 us send 1 Only 1024+1024 again",
            "3.7 us data 1 accepted, ACK 7 of 7",
            "5.7 us data 9 accepted, ACK 9 of 9",
        ]
    );
}

#[test]
fn the_lost_end_of_a_burst_costs_one_timeout() {
    let lost = (6..10).fold(Scripted::new(LATENCY), |network, packet| network.lose(Direction::Data, packet));
    let history = pair(lost).run(1000);
    assert_eq!((history.completed(), history.timeouts().len()), (1, 1));
    assert_eq!(history.sent().count(), 10 + 1 + 4, "the packet that asks, and each lost one once more");
}

#[test]
fn a_report_that_is_lost_costs_one_timeout() {
    // The NAK is the first reply.
    let network = Scripted::new(LATENCY).lose(Direction::Data, 1).lose(Direction::Reply, 0);
    let history = pair(network).run(1000);
    assert_eq!((history.completed(), history.timeouts().len()), (1, 1));
    assert_eq!(history.sent().count(), 10 + 1 + 1, "the packet that asks, and the lost one");
}
