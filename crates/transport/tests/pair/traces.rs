//! Exact sequences: two messages of two packets each, the last one short, with PSNs that wrap in between.
//!
//! One way takes 1 us, a packet leaves every 100 ns, the timer goes off after 10 us, and one ACK covers two
//! packets.

use crate::driver::Pair;
use crate::network::{Direction, Scripted};
use fabricbench_transport::{Config, Recovery};
use units::{Instant, Span};
use wire::Psn;

const LATENCY: Span = Span::from_us(1);

fn trace(network: Scripted) -> Vec<String> {
    let config = Config {
        mtu_bytes: 4096,
        message_bytes: 8192,
        ack_every: 2,
        window_packets: 16,
        timeout: Span::from_us(10),
        retry_count: 7,
        recovery: Recovery::GoBackN,
    };
    let mut pair = Pair::new(config, Psn::new(0xff_fffe), network);
    pair.post_at(Instant::ZERO, 16_000);
    pair.run(100).lines()
}

/// Sending everything for the first time, which no network changes.
const SENDING: [&str; 5] = [
    "0 ps post 16000",
    "0 ps send 16777214 First 0+4096",
    "100 ns send 16777215 Last 4096+4096",
    "200 ns send 0 First 8192+4096",
    "300 ns send 1 Last 12288+3712",
];

#[track_caller]
fn assert_trace(network: Scripted, after_sending: &[&str]) {
    assert_eq!(trace(network), [&SENDING, after_sending].concat());
}

#[test]
fn two_messages_over_a_clean_network() {
    assert_trace(
        Scripted::new(LATENCY),
        &[
            "1 us data 16777214 accepted",
            "1.1 us data 16777215 accepted, ACK 16777215",
            "1.2 us data 0 accepted",
            "1.3 us data 1 accepted, ACK 1",
            "2.1 us hear ACK 16777215",
            "2.3 us hear ACK 1, completes 1",
        ],
    );
}

#[test]
fn a_lost_packet_is_reported_and_the_requester_goes_back_to_it() {
    assert_trace(
        Scripted::new(LATENCY).lose(Direction::Data, 1),
        &[
            "1 us data 16777214 accepted",
            "1.2 us data 0 out of order, NAK 16777215",
            "1.3 us data 1 out of order",
            "2.2 us hear NAK 16777215",
            "2.2 us send 16777215 Last 4096+4096 again",
            "2.3 us send 0 First 8192+4096 again",
            "2.4 us send 1 Last 12288+3712 again",
            "3.2 us data 16777215 accepted, ACK 16777215",
            "3.3 us data 0 accepted",
            "3.4 us data 1 accepted, ACK 1",
            "4.2 us hear ACK 16777215",
            "4.4 us hear ACK 1, completes 1",
        ],
    );
}

#[test]
fn a_packet_lost_twice_is_not_reported_twice_and_waits_for_the_timer() {
    assert_trace(
        Scripted::new(LATENCY).lose(Direction::Data, 1).lose(Direction::Data, 4),
        &[
            "1 us data 16777214 accepted",
            "1.2 us data 0 out of order, NAK 16777215",
            "1.3 us data 1 out of order",
            "2.2 us hear NAK 16777215",
            "2.2 us send 16777215 Last 4096+4096 again",
            "2.3 us send 0 First 8192+4096 again",
            "2.4 us send 1 Last 12288+3712 again",
            "3.3 us data 0 out of order",
            "3.4 us data 1 out of order",
            "12.2 us timeout Resend",
            "12.2 us send 16777215 Last 4096+4096 again",
            "12.3 us send 0 First 8192+4096 again",
            "12.4 us send 1 Last 12288+3712 again",
            "13.2 us data 16777215 accepted, ACK 16777215",
            "13.3 us data 0 accepted",
            "13.4 us data 1 accepted, ACK 1",
            "14.2 us hear ACK 16777215",
            "14.4 us hear ACK 1, completes 1",
        ],
    );
}

#[test]
fn a_lost_last_packet_leaves_no_gap_and_waits_for_the_timer() {
    // The timer runs from the last progress, at 2.1 us.
    assert_trace(
        Scripted::new(LATENCY).lose(Direction::Data, 3),
        &[
            "1 us data 16777214 accepted",
            "1.1 us data 16777215 accepted, ACK 16777215",
            "1.2 us data 0 accepted",
            "2.1 us hear ACK 16777215",
            "12.1 us timeout Resend",
            "12.1 us send 0 First 8192+4096 again",
            "12.2 us send 1 Last 12288+3712 again",
            "13.1 us data 0 duplicate, ACK 0",
            "13.2 us data 1 accepted, ACK 1",
            "14.1 us hear ACK 0",
            "14.2 us hear ACK 1, completes 1",
        ],
    );
}

#[test]
fn after_a_lost_ack_the_duplicates_are_acknowledged_again() {
    assert_trace(
        Scripted::new(LATENCY).lose(Direction::Reply, 1),
        &[
            "1 us data 16777214 accepted",
            "1.1 us data 16777215 accepted, ACK 16777215",
            "1.2 us data 0 accepted",
            "1.3 us data 1 accepted, ACK 1",
            "2.1 us hear ACK 16777215",
            "12.1 us timeout Resend",
            "12.1 us send 0 First 8192+4096 again",
            "12.2 us send 1 Last 12288+3712 again",
            "13.1 us data 0 duplicate",
            "13.2 us data 1 duplicate, ACK 1",
            "14.2 us hear ACK 1, completes 1",
        ],
    );
}

#[test]
fn a_late_ack_stops_the_resending() {
    // It arrives after the first of two packets went out again: the second does not.
    assert_trace(
        Scripted::new(LATENCY).delay(Direction::Reply, 1, Span::from_ns(10_850)),
        &[
            "1 us data 16777214 accepted",
            "1.1 us data 16777215 accepted, ACK 16777215",
            "1.2 us data 0 accepted",
            "1.3 us data 1 accepted, ACK 1",
            "2.1 us hear ACK 16777215",
            "12.1 us timeout Resend",
            "12.1 us send 0 First 8192+4096 again",
            "12.15 us hear ACK 1, completes 1",
            "13.1 us data 0 duplicate",
        ],
    );
}

#[test]
fn a_reordered_packet_is_reported_like_a_lost_one() {
    // Packet 16777215 arrives behind the two after it.
    assert_trace(
        Scripted::new(LATENCY).delay(Direction::Data, 1, Span::from_ns(1_250)),
        &[
            "1 us data 16777214 accepted",
            "1.2 us data 0 out of order, NAK 16777215",
            "1.3 us data 1 out of order",
            "1.35 us data 16777215 accepted, ACK 16777215",
            "2.2 us hear NAK 16777215",
            "2.2 us send 16777215 Last 4096+4096 again",
            "2.3 us send 0 First 8192+4096 again",
            "2.35 us hear ACK 16777215",
            "2.4 us send 1 Last 12288+3712 again",
            "3.2 us data 16777215 duplicate, ACK 16777215",
            "3.3 us data 0 accepted",
            "3.4 us data 1 accepted, ACK 1",
            "4.2 us hear ACK 16777215, nothing new",
            "4.4 us hear ACK 1, completes 1",
        ],
    );
}

#[test]
fn a_duplicated_nak_makes_the_requester_go_back_twice() {
    assert_trace(
        Scripted::new(LATENCY).lose(Direction::Data, 1).duplicate(Direction::Reply, 0, Span::from_ns(150)),
        &[
            "1 us data 16777214 accepted",
            "1.2 us data 0 out of order, NAK 16777215",
            "1.3 us data 1 out of order",
            "2.2 us hear NAK 16777215",
            "2.2 us send 16777215 Last 4096+4096 again",
            "2.3 us send 0 First 8192+4096 again",
            "2.35 us hear NAK 16777215, nothing new",
            "2.4 us send 16777215 Last 4096+4096 again",
            "2.5 us send 0 First 8192+4096 again",
            "2.6 us send 1 Last 12288+3712 again",
            "3.2 us data 16777215 accepted, ACK 16777215",
            "3.3 us data 0 accepted",
            "3.4 us data 16777215 duplicate, ACK 0",
            "3.5 us data 0 duplicate",
            "3.6 us data 1 accepted, ACK 1",
            "4.2 us hear ACK 16777215",
            "4.4 us hear ACK 0",
            "4.6 us hear ACK 1, completes 1",
        ],
    );
}
