//! Timeouts, retries and their exhaustion.

use super::poster::Poster;
use crate::checks::check;
use crate::driver::Pair;
use crate::history::{History, Step};
use crate::network::{Direction, Scripted, Severed};
use crate::scenario::{LATENCY, workload};
use fabricbench_transport::{AckOutcome, Config, Recovery, TimeoutOutcome};
use proptest::prelude::*;
use units::{Instant, Span};
use wire::Psn;

const TIMEOUT: Span = Span::from_us(50);

fn config(window_packets: u32, retry_count: u32) -> Config {
    Config {
        mtu_bytes: 1024,
        message_bytes: 4096,
        ack_every: 1,
        window_packets,
        timeout: TIMEOUT,
        retry_count,
        recovery: Recovery::GoBackN,
    }
}

/// When the timer goes off of a queue pair that hears nothing after `from`.
fn expected_timeouts(from: Instant, retry_count: u32) -> Vec<(Instant, TimeoutOutcome)> {
    let outcome =
        |number| if number == retry_count { TimeoutOutcome::Failed } else { TimeoutOutcome::Resend };
    (0..=retry_count)
        .map(|number| (from + Span(TIMEOUT.0 * u64::from(number + 1)), outcome(number)))
        .collect()
}

/// When the timer was last started anew before it first went off.
fn last_progress(history: &History) -> Option<Instant> {
    let progress = history
        .steps
        .iter()
        .rev()
        .find(|(_, step)| matches!(step, Step::Heard { outcome: AckOutcome { packets: 1.., .. }, .. }));
    progress.map(|&(at, _)| at)
}

#[test]
fn a_queue_pair_that_hears_nothing_fails_after_its_retries() {
    for retry_count in 0..=7 {
        let network = Severed { latency: LATENCY, breaks_at: Instant::ZERO };
        let mut pair = Pair::new(config(3, retry_count), Psn::new(9), network);
        pair.post_at(Instant::ZERO, 10_000);
        let history = pair.run(1000);
        assert_eq!(history.timeouts(), expected_timeouts(Instant::ZERO, retry_count));
        assert_eq!(history.sent().count() as u32, 3 * (retry_count + 1), "a window for each try");
    }
}

proptest! {
    #[test]
    fn a_network_that_breaks_is_given_up_after_the_last_progress(
        mut workload in workload(40),
        breaks_at in 0u64..60_000_000,
        retry_count in 0u32..=7,
    ) {
        // Everything is posted at once, so that the timer runs from the first packet on.
        workload.posts.iter_mut().for_each(|(at, _)| *at = Instant::ZERO);
        workload.config.timeout = TIMEOUT;
        workload.config.retry_count = retry_count;
        let history = workload.pair(Severed { latency: LATENCY, breaks_at: Instant(breaks_at) }).run(100_000);
        check(&history, &workload.config, workload.initial_psn);
        if history.completed() < workload.posts.len() {
            let from = last_progress(&history).unwrap_or(Instant::ZERO);
            prop_assert_eq!(history.timeouts(), expected_timeouts(from, retry_count));
        } else {
            prop_assert_eq!(history.timeouts(), []);
        }
    }
}

#[test]
fn progress_gives_all_retries_back() {
    // Each packet is lost the first time: five timeouts in all, never two without progress.
    let network =
        (0..5).fold(Scripted::new(LATENCY), |network, packet| network.lose(Direction::Data, packet * 2));
    let mut pair = Pair::new(config(1, 1), Psn::new(0), network);
    pair.post_at(Instant::ZERO, 5 * 1024);
    let history = pair.run(1000);
    assert_eq!(history.completed(), 1);
    let outcomes: Vec<_> = history.timeouts().into_iter().map(|(_, outcome)| outcome).collect();
    assert_eq!(outcomes, [TimeoutOutcome::Resend; 5]);
}

/// A requester that failed with packets 0..=2 outstanding.
fn failed(config: &Config) -> Poster {
    let mut requester = Poster::new(Psn::new(0));
    requester.post(config, 10_000);
    while requester.poll_transmit(config, Instant::ZERO).is_some() {}
    assert_eq!(requester.on_timeout(config, requester.deadline()), TimeoutOutcome::Failed);
    requester
}

#[test]
fn a_failed_queue_pair_sends_nothing_whatever_it_hears() {
    let config = config(3, 0);
    let now = Instant(TIMEOUT.0 * 2);
    let mut requester = failed(&config);
    for psn in [0, 1, 2, 3, 0xff_ffff].map(Psn::new) {
        assert_eq!(requester.on_nak(&config, now, psn), AckOutcome::default());
        assert_eq!(requester.on_ack(&config, now, psn), AckOutcome::default());
    }
    requester.post(&config, 1);
    assert!(requester.is_failed());
    assert!(!requester.can_transmit(&config));
    assert_eq!(requester.poll_transmit(&config, now), None);
    assert_eq!(requester.deadline(), Instant::NEVER);
    assert_eq!(requester.on_timeout(&config, now), TimeoutOutcome::NotDue);
}

#[test]
fn a_try_is_counted_only_once_it_was_sent() {
    // A port that is paused for longer than all timeouts together costs one retry, not all.
    let config = config(3, 7);
    let mut requester = Poster::new(Psn::new(0));
    requester.post(&config, 10_000);
    assert!(requester.poll_transmit(&config, Instant::ZERO).is_some());
    assert_eq!(requester.on_timeout(&config, Instant(TIMEOUT.0)), TimeoutOutcome::Resend);
    assert_eq!(requester.deadline(), Instant::NEVER);

    let resumed = Instant(TIMEOUT.0 * 100);
    assert_eq!(requester.on_timeout(&config, resumed), TimeoutOutcome::NotDue);
    assert!(
        requester.poll_transmit(&config, resumed).is_some_and(|transmit| transmit.packet.is_retransmission)
    );
    assert_eq!(requester.deadline(), resumed + TIMEOUT);
}

#[test]
fn the_timer_follows_what_is_under_way() {
    let config = config(8, 7);
    let mut requester = Poster::new(Psn::new(0));
    requester.post(&config, 4 * 1024);
    assert_eq!(requester.deadline(), Instant::NEVER, "nothing sent");
    for now in [100, 200, 300, 400] {
        assert!(requester.poll_transmit(&config, Instant(now)).is_some());
        assert_eq!(requester.deadline(), Instant(100) + TIMEOUT, "the first packet starts it");
    }
    requester.on_ack(&config, Instant(500), Psn::new(0));
    assert_eq!(requester.deadline(), Instant(500) + TIMEOUT, "progress starts it anew");
    requester.on_ack(&config, Instant(600), Psn::new(0));
    assert_eq!(requester.deadline(), Instant(500) + TIMEOUT, "a stale ACK does not");
    requester.on_nak(&config, Instant(700), Psn::new(2));
    assert_eq!(requester.deadline(), Instant::NEVER, "gone back, nothing sent again yet");
    assert!(requester.poll_transmit(&config, Instant(800)).is_some());
    assert_eq!(requester.deadline(), Instant(800) + TIMEOUT, "the first packet sent again starts it");
    let outcome = requester.on_ack(&config, Instant(900), Psn::new(3));
    assert_eq!(outcome, AckOutcome { completed: 1, packets: 2 });
    assert_eq!(requester.deadline(), Instant::NEVER, "everything is acknowledged");
}
