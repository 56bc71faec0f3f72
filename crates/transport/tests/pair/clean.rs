//! A network without faults: nothing is sent twice, and acknowledgements come as their grouping predicts.

use crate::checks::{check, check_complete};
use crate::driver::PACKET_TIME;
use crate::history::Step;
use crate::network::Clean;
use crate::scenario::{LATENCY, Workload, workload};
use fabricbench_transport::{Config, Recovery, Reply};
use proptest::prelude::*;
use units::{Instant, Span};
use wire::Psn;

/// Far longer than a round trip and the sending of a group.
const TIMEOUT: Span = Span::from_us(1000);

/// ACKs of a work request: one for every `ack_every` packets of a message, and one for what is left at its
/// end.
fn acks(config: &Config, bytes: u64) -> u64 {
    let message_acks =
        |bytes: u64| bytes.div_ceil(u64::from(config.mtu_bytes)).div_ceil(u64::from(config.ack_every));
    let rest = bytes % config.message_bytes;
    bytes / config.message_bytes * message_acks(config.message_bytes) + message_acks(rest)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn nothing_is_resent_and_acks_come_in_groups(mut workload in workload(60)) {
        workload.config.timeout = TIMEOUT;
        workload.config.retry_count = 0;
        let history = workload.pair(Clean { latency: LATENCY }).run(100_000);
        check(&history, &workload.config, workload.initial_psn);
        check_complete(&history, &workload.config);

        let posted = history.posted();
        let packets: u64 = posted.iter().map(|&bytes| workload.config.packets(bytes)).sum();
        prop_assert_eq!(history.sent().count() as u64, packets);
        prop_assert_eq!(history.timeouts(), []);
        prop_assert!(history.replies().all(|reply| matches!(reply, Reply::Ack(_))));
        let expected: u64 = posted.iter().map(|&bytes| acks(&workload.config, bytes)).sum();
        prop_assert_eq!(history.replies().count() as u64, expected);
    }
}

#[test]
fn a_request_takes_a_round_trip_and_the_sending_of_its_packets() {
    let config = Config {
        mtu_bytes: 1024,
        message_bytes: 16 << 10,
        ack_every: 4,
        window_packets: 1 << 10,
        timeout: TIMEOUT,
        retry_count: 7,
        recovery: Recovery::GoBackN,
    };
    let posts = vec![(Instant::ZERO, 100 * 1024)];
    let workload = Workload { config, initial_psn: Psn::new(0), posts };
    let history = workload.pair(Clean { latency: LATENCY }).run(1000);
    let (completed_at, _) = history
        .steps
        .iter()
        .find(|(_, step)| matches!(step, Step::Heard { outcome, .. } if outcome.completed == 1))
        .expect("the request completes");
    assert_eq!(*completed_at, Instant(99 * PACKET_TIME.0 + 2 * LATENCY.0));
}

#[test]
fn a_window_shorter_than_the_round_trip_paces_the_requester() {
    // A window of 4 every 2 us and 3 packet times (the ACK comes with the fourth packet).
    let config = Config {
        mtu_bytes: 1024,
        message_bytes: 1 << 20,
        ack_every: 4,
        window_packets: 4,
        timeout: TIMEOUT,
        retry_count: 7,
        recovery: Recovery::GoBackN,
    };
    let posts = vec![(Instant::ZERO, 40 * 1024)];
    let workload = Workload { config, initial_psn: Psn::new(0), posts };
    let history = workload.pair(Clean { latency: LATENCY }).run(1000);
    let (ended_at, _) = history.steps.last().expect("something happened");
    assert_eq!(*ended_at, Instant(10 * (3 * PACKET_TIME.0 + 2 * LATENCY.0)));
}
