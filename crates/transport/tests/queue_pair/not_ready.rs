//! A SEND without receive waits, and not for ever; a failed queue pair flushes what it had.

use crate::lab::{Channel, Lab, config, settings};
use fabricbench_transport::{PostError, Recovery, Settings, Status};
use units::{Instant, Span};

const END: Instant = Instant(1_000_000_000_000);

fn lab(change: impl Fn(&mut Settings)) -> Lab {
    let make = |end| {
        let mut made = settings(end, config(Recovery::GoBackN), 4_000);
        change(&mut made);
        made
    };
    Lab::new(&[make(0), make(1)], Channel::default(), 1)
}

#[test]
fn a_send_waits_for_its_receive_and_is_asked_for_again_after_the_timer() {
    let mut lab = lab(|settings| settings.rnr_timer = wire::aeth::RnrTimer::new(14).unwrap());
    lab.ends[0].send(&[7; 1_000]);
    lab.ends[0].write(0, &[8; 1_000]);
    lab.run(Instant::ZERO + Span::from_us(1_000));
    let refused = *lab.ends[1].queue_pair.counters();
    assert_eq!((refused.naks_sent, refused.data_received), (1, 8));
    lab.ends[1].receive(1_500);
    lab.run(END);
    // 5 us there and 5 us back, 1.28 ms, and the same again.
    assert_eq!(lab.now, Instant::ZERO + Span::from_us(1_300));
    assert_eq!(lab.ends[0].statuses(), [(0, Status::Success), (1, Status::Success)]);
    assert_eq!(lab.ends[1].completions[0].bytes, 1_000);
    assert_eq!(lab.ends[1].memory[..1_000], [8; 1_000]);
    let counters = *lab.ends[0].queue_pair.counters();
    assert_eq!((counters.naks_received, counters.timeouts, counters.retransmits), (1, 0, 8));
}

#[test]
fn a_peer_that_stays_not_ready_fails_the_queue_pair() {
    let mut lab = lab(|settings| settings.rnr_retry_count = 3);
    lab.ends[0].write(0, &[9; 10]);
    lab.ends[0].send(&[7; 10]);
    lab.ends[0].write(0, &[8; 10]);
    let receive = lab.ends[0].receive(100);
    lab.run(END);
    let expected = [
        (0, Status::Success),
        (1, Status::RnrRetryExceeded),
        (2, Status::Flushed),
        (receive.0, Status::Flushed),
    ];
    assert_eq!(lab.ends[0].statuses(), expected);
    assert_eq!(lab.ends[0].queue_pair.counters().naks_received, 4);
    assert_eq!(lab.ends[0].queue_pair.post_write(0, 1), Err(PostError::Failed));
    assert_eq!(lab.ends[0].queue_pair.deadline(), Instant::NEVER);
    // The peer is fine: it never heard of the failure.
    assert!(!lab.ends[1].queue_pair.is_failed());
}

#[test]
fn a_peer_that_is_silent_fails_the_queue_pair_after_all_retries() {
    for recovery in [Recovery::GoBackN, Recovery::Selective { ooo_window_packets: 8 }] {
        let mut lab = lab(|settings| (settings.config.retry_count, settings.config.recovery) = (2, recovery));
        lab.channel.lost = 1_000;
        lab.ends[0].write(0, &[1; 600]);
        lab.ends[0].write(600, &[2; 600]);
        lab.run(END);
        assert_eq!(lab.ends[0].statuses(), [(0, Status::RetryExceeded), (1, Status::Flushed)]);
        assert_eq!(lab.ends[0].queue_pair.counters().timeouts, 3);
        assert_eq!(lab.now, Instant::ZERO + Span::from_us(600));
    }
}

#[test]
fn copies_of_one_refusal_count_once() {
    let mut lab = lab(|settings| settings.rnr_retry_count = 1);
    lab.channel.duplicated = 1_000;
    lab.ends[0].send(&[7; 10]);
    lab.run(Instant::ZERO + Span::from_us(15));
    lab.ends[1].receive(10);
    lab.run(END);
    assert_eq!(lab.ends[0].statuses(), [(0, Status::Success)]);
}
