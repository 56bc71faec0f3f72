//! Windows of queue pairs: bursts, acknowledgements and the time at which a window opens.

use super::windows::{Connection, NextAction};
use units::{Instant, Span};

const NOW: Instant = Instant(1_000);

/// Transmission time of a packet.
const fn time(_slot: u32) -> Span {
    Span(100)
}

const fn burst(slot: u32, packets: u64, is_last: bool) -> NextAction {
    NextAction::Burst { slot, packets, is_last, is_paced: false }
}

#[test]
fn what_a_window_has_no_room_for_waits_for_acknowledgements() {
    let mut connection = Connection::default();
    connection.post(1, 3);
    connection.post(2, 3);
    assert_eq!(connection.next(NOW, 4, time), burst(1, 3, true));
    assert_eq!(connection.next(NOW, 4, time), NextAction::Nothing, "one after the other");
    connection.burst_sent();
    assert_eq!(connection.next(NOW, 4, time), burst(2, 1, false));
    connection.set_last_slot(7);
    connection.burst_sent();
    assert_eq!(connection.next(NOW, 4, time), NextAction::Closed(None), "the first is still on its way");
    connection.acknowledged(1, Instant(5_000));
    assert_eq!(
        connection.next(NOW, 4, time),
        NextAction::Closed(Some(Instant(4_800))),
        "the first packet of three"
    );
    assert_eq!(connection.next(NOW, 4, time), NextAction::Closed(None), "said once");
    assert_eq!(connection.next(Instant(4_800), 4, time), burst(2, 2, true));
    connection.burst_sent();
    connection.acknowledged(7, Instant(6_000));
    connection.acknowledged(2, Instant(7_000));
    assert!(!connection.is_idle(Instant(6_999)));
    assert!(connection.is_idle(Instant(7_000)));
}

#[test]
fn a_chunk_goes_as_soon_as_none_of_its_packets_has_to_wait() {
    let mut connection = Connection::default();
    let next = |connection: &mut Connection, now| connection.next(Instant(now), 4, time);
    connection.post(1, 4);
    connection.post(2, 4);
    assert_eq!(next(&mut connection, 1_000), burst(1, 4, true));
    connection.burst_sent();
    assert_eq!(next(&mut connection, 1_400), NextAction::Closed(None), "the first is still on its way");
    connection.acknowledged(1, Instant(2_000));
    // Four packets are acknowledged 100 apart.
    assert_eq!(next(&mut connection, 1_400), NextAction::Closed(Some(Instant(1_700))));
    assert_eq!(next(&mut connection, 1_700), burst(2, 4, true));
}

#[test]
fn what_follows_a_chunk_longer_than_the_window_is_paced() {
    let mut connection = Connection::default();
    connection.post(1, 9);
    connection.post(2, 2);
    assert_eq!(connection.next(NOW, 4, time), burst(1, 9, true));
    connection.burst_sent();
    let paced = NextAction::Burst { slot: 2, packets: 2, is_last: true, is_paced: true };
    assert_eq!(connection.next(NOW, 4, time), paced);
}
