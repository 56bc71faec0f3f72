//! Single ends at the edge of what they tell apart.

use crate::poster::Poster;
use fabricbench_transport::{
    Arrival, Config, Disposition, Placement, Position, Recovery, Reply, Responder, Verb, VerbRequester,
};
use units::{Instant, Span};
use wire::Psn;

const START: Psn = Psn::new(0xff_fffe);

fn config(recovery: Recovery) -> Config {
    Config {
        mtu_bytes: 1000,
        message_bytes: 4000,
        ack_every: 8,
        window_packets: 64,
        timeout: Span::from_us(10),
        retry_count: 1,
        recovery,
    }
}

#[test]
fn a_read_request_fills_a_gap_and_the_next_gap_is_reported_again() {
    let config = config(Recovery::GoBackN);
    let mut responder = Responder::new(START);
    let ahead = |reply| Arrival { disposition: Disposition::OutOfOrder, reply };
    let write = |responder: &mut Responder, packet| {
        responder.on_packet(&config, START.add(packet), Position::Only, true)
    };
    assert_eq!(write(&mut responder, 5), ahead(Some(Reply::Nak(START))));
    // Its responses take the numbers 0 to 2.
    let read = responder.on_read_request(START, 3);
    assert_eq!(read, Arrival { disposition: Disposition::Accepted, reply: None });
    assert_eq!(responder.message_sequence(), 1, "it is a message");
    assert_eq!(write(&mut responder, 5), ahead(Some(Reply::Nak(START.add(3)))));
    assert_eq!(responder.on_read_request(START.add(6), 1), ahead(None), "this gap has been reported");
}

#[test]
fn a_window_ends_with_its_last_packet() {
    let config = config(Recovery::Selective { ooo_window_packets: 256 });
    for window in [1, 2, 8, 64, 255, 256, 257, 300, 1_000] {
        let judge = |distance| {
            Placement::new(START, window).on_packet(&config, START.add(distance), false).disposition
        };
        assert_eq!(judge(0), Disposition::Accepted, "window {window}");
        if window > 1 {
            assert_eq!(judge(window - 1), Disposition::Placed, "window {window}");
        }
        assert_eq!(judge(window), Disposition::OutOfOrder, "window {window}");
        assert_eq!(judge(Psn::WINDOW_MAX - 1), Disposition::OutOfOrder, "window {window}");
        assert_eq!(judge(u32::MAX), Disposition::Duplicate, "window {window}: the packet before the first");
    }
}

#[test]
fn a_pacer_reckons_with_a_full_packet_while_something_is_sent_again() {
    let config = config(Recovery::Selective { ooo_window_packets: 256 });
    let mut requester = Poster::new(START);
    // Three full packets and half of one.
    requester.post(&config, 3_500);
    for _ in 0..3 {
        assert_eq!(requester.next_payload(&config), Some((Position::Only, 1_000)));
        requester.poll_transmit(&config, Instant::ZERO).expect("the window is open");
    }
    assert_eq!(requester.next_payload(&config), Some((Position::Only, 500)));
    requester.on_selective_nak(&config, Instant::ZERO, START, START.add(1));
    assert_eq!(requester.next_payload(&config), Some((Position::Only, 1_000)), "of what is sent again");
    let sent = requester.poll_transmit(&config, Instant::ZERO).expect("a packet is missing");
    assert_eq!(
        (sent.packet.psn, sent.packet.payload_bytes, sent.packet.is_retransmission),
        (START.add(1), 1_000, true)
    );
    assert_eq!(requester.next_payload(&config), Some((Position::Only, 500)));
    requester.poll_transmit(&config, Instant::ZERO).expect("the window is open");
    assert_eq!(requester.next_payload(&config), None);
}

#[test]
fn with_go_back_n_the_next_packet_has_its_place_in_its_message() {
    let config = config(Recovery::GoBackN);
    let mut requester = Poster::new(START);
    requester.post(&config, 4_500);
    let packets = std::iter::from_fn(|| {
        let next = requester.next_payload(&config)?;
        requester.poll_transmit(&config, Instant::ZERO).map(|_| next)
    });
    use Position::{First, Last, Middle, Only};
    let expected = [(First, 1_000), (Middle, 1_000), (Middle, 1_000), (Last, 1_000), (Only, 500)];
    assert_eq!(packets.collect::<Vec<_>>(), expected);
}

#[test]
fn a_response_ahead_of_its_turn_asks_once_for_those_before_it() {
    let config = config(Recovery::GoBackN);
    let mut requester = VerbRequester::new(START, 4);
    // Answered with four packets.
    requester.post(&config, Verb::Read, 4_000);
    let poll = |requester: &mut VerbRequester| {
        requester.poll_transmit(&config, Instant::ZERO).map(|request| request.transmit)
    };
    assert_eq!(
        poll(&mut requester).map(|request| (request.packet.psn, request.message_bytes)),
        Some((START, 4_000))
    );
    assert_eq!(poll(&mut requester), None);
    let respond = |requester: &mut VerbRequester, packet: u32| {
        let outcome = requester.on_read_response(&config, Instant::ZERO, START.add(packet));
        (outcome.is_placed, outcome.is_early, outcome.completed.completed)
    };
    assert_eq!(respond(&mut requester, 4), (false, false, 0), "of nothing that was asked for");
    assert_eq!(respond(&mut requester, 0), (true, false, 0));
    assert_eq!(respond(&mut requester, 0), (false, false, 0), "it is there");
    assert_eq!(poll(&mut requester), None);
    assert_eq!(respond(&mut requester, 2), (false, true, 0));
    let again = poll(&mut requester).expect("the rest is asked for again");
    assert_eq!(
        (again.packet.psn, again.message_bytes, again.packet.is_retransmission),
        (START.add(1), 3_000, true)
    );
    assert_eq!(respond(&mut requester, 3), (false, true, 0));
    assert_eq!(poll(&mut requester), None, "the gap has been noticed");
    assert_eq!(
        [1, 2, 3].map(|packet| respond(&mut requester, packet)),
        [(true, false, 0), (true, false, 0), (true, false, 1)]
    );
}
