//! Marks become notifications, at most one in each interval, and notifications slow the sender down.

use crate::lab::{Channel, Lab, config, settings};
use fabricbench_transport::{DcqcnConfig, RateControlConfig, Recovery};
use units::{Instant, Rate, Span};

const END: Instant = Instant(1_000_000_000_000);
const DCQCN: DcqcnConfig = DcqcnConfig {
    g_2e20: (1 << 20) / 256,
    initial_alpha_2e20: None,
    alpha_timer_ps: 55_000_000,
    rate_cut_period_ps: 4_000_000,
    increase_timer_ps: 300_000_000,
    byte_counter_bytes: 0,
    fast_recovery_rounds: 5,
    additive_increase_bps: 5_000_000,
    hyper_increase_bps: 50_000_000,
    rate_min_bps: 100_000_000,
    clamp_target_rate: false,
    cnp_interval_ps: 50_000_000,
};

/// When a write of 500 packets is through, with so many thousandths of the packets marked.
fn run(marked: u64, cnp_interval: Option<Span>) -> Lab {
    let make = |end| {
        let mut made = settings(end, config(Recovery::GoBackN), 128_000);
        made.rate = DCQCN.controller(1_024, Rate::from_gbps(10));
        made.cnp_interval = cnp_interval;
        (made.config.message_bytes, made.config.window_packets) = (2_048, 256);
        made
    };
    let channel = Channel { marked, ..Channel::default() };
    let mut lab = Lab::new(&[make(0), make(1)], channel, 1);
    lab.ends[0].write(0, &[1; 128_000]);
    lab.run(END);
    lab
}

#[test]
fn a_sender_is_paced_at_its_rate() {
    let lab = run(0, Some(Span::from_us(50)));
    // 500 packets of 256 B, of which each eighth carries a RETH: 338 B of link or 354 B, at 10 Gb/s.
    let sending = (500 * 338 + 63 * 16) * 800;
    let delay = lab.now.0 - sending;
    assert!((9_000_000..=10_000_000).contains(&delay), "{delay} ps beyond the time of the packets");
    assert_eq!(lab.ends[0].queue_pair.counters().cnps_received, 0);
}

#[test]
fn a_driver_that_comes_late_keeps_the_rate_but_saves_up_nothing() {
    let sent_until = |step: Span| {
        let mut end = crate::lab::End::new(&settings(0, config(Recovery::GoBackN), 0));
        let mut made = settings(0, config(Recovery::GoBackN), 0);
        made.rate = DCQCN.controller(1_024, Rate::from_gbps(10));
        made.config.window_packets = 100_000;
        end.queue_pair = fabricbench_transport::QueuePair::new(&made).unwrap();
        end.queue_pair.post_write(0, 100_000_000).unwrap();
        // Idle time before the first packet counts for nothing.
        let (mut now, mut sent) = (Instant(1_000_000_000), 0_i64);
        for _ in 0..100 {
            while end.queue_pair.poll_transmit(now).is_some() {
                sent += 1;
            }
            now += step;
        }
        sent
    };
    // 99 steps of so long at 10 Gb/s, with packets of 334 bytes of link on average.
    let packets = |span: Span| (span.0 / (334 * 800)) as i64;
    assert!((sent_until(Span::from_us(27)) - packets(Span::from_us(99 * 27))).abs() <= 1);
    // Of each step of 400 us, 200 us are lost, and a packet over.
    let late = sent_until(Span::from_us(400)) - packets(Span::from_us(99 * 200));
    assert!((0..=100).contains(&late), "{late}");
}

#[test]
fn marks_are_told_at_most_once_in_each_interval_and_halve_the_rate() {
    let clean = run(0, Some(Span::from_us(50))).now;
    let lab = run(1_000, Some(Span::from_us(50)));
    let (sender, receiver) = (lab.ends[0].queue_pair.counters(), lab.ends[1].queue_pair.counters());
    assert_eq!(receiver.marks, 500);
    assert_eq!(receiver.cnps_sent, sender.cnps_received);
    // A notification waits for the next packet, at the smallest rate some 27 us.
    let intervals = lab.now.0.div_ceil(50_000_000);
    assert!(
        (intervals / 2..=intervals).contains(&receiver.cnps_sent),
        "{} of {intervals}",
        receiver.cnps_sent
    );
    assert!(lab.now.0 > 2 * clean.0, "{} after {clean}", lab.now);
}

#[test]
fn without_an_interval_nothing_is_told() {
    let lab = run(1_000, None);
    assert_eq!(lab.ends[1].queue_pair.counters().cnps_sent, 0);
    assert_eq!(lab.ends[1].queue_pair.counters().marks, 500);
}
