//! What must hold of every history, whatever the network did.

use crate::history::{History, Step};
use fabricbench_transport::{AckOutcome, Config, Disposition, Position, Reply, TimeoutOutcome, Transmit};
use std::collections::BTreeSet;
use wire::Psn;

/// A packet as the definition of segmentation gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) request: usize,
    pub(crate) position: Position,
    pub(crate) offset_bytes: u64,
    pub(crate) payload_bytes: u64,
    pub(crate) message_bytes: u64,
}

/// Every packet of the work requests, in order: cut byte ranges, one after the other.
pub(crate) fn segmentation(config: &Config, posted: &[u64]) -> Vec<Expected> {
    let mut packets = Vec::new();
    for (request, &bytes) in posted.iter().enumerate() {
        for message_start in (0..bytes).step_by(config.message_bytes as usize) {
            let message_end = bytes.min(message_start + config.message_bytes);
            for offset_bytes in (message_start..message_end).step_by(config.mtu_bytes as usize) {
                let end = message_end.min(offset_bytes + u64::from(config.mtu_bytes));
                packets.push(Expected {
                    request,
                    position: Position::new(offset_bytes == message_start, end == message_end),
                    offset_bytes,
                    payload_bytes: end - offset_bytes,
                    message_bytes: message_end - message_start,
                });
            }
        }
    }
    packets
}

/// Holds of every history, complete or not.
pub(crate) fn check(history: &History, config: &Config, initial_psn: Psn) {
    packets_are_cut_and_numbered_right(history, config, initial_psn);
    the_window_is_kept(history, config);
    bytes_arrive_once_and_in_order(history);
    replies_say_what_arrived(history, initial_psn);
    completions_follow_delivery(history);
    retries_are_counted(history, config);
    forgeries_change_nothing(history);
}

/// Everything posted arrived and completed.
pub(crate) fn check_complete(history: &History, config: &Config) {
    let posted = history.posted();
    let accepted = history.judged().filter(|arrival| arrival.disposition == Disposition::Accepted).count();
    assert_eq!(accepted, segmentation(config, &posted).len(), "packets accepted");
    assert_eq!(history.completed(), posted.len(), "work requests completed");
}

/// Position, offset, sizes and PSN follow from the place in the stream; nothing is skipped, and exactly what
/// was sent before is marked as sent again.
pub(crate) fn packets_are_cut_and_numbered_right(history: &History, config: &Config, initial_psn: Psn) {
    let expected = segmentation(config, &history.posted());
    let mut sent = 0;
    for frame in history.sent() {
        let transmit = frame.transmit;
        let sequence = sequence_near(sent, initial_psn, transmit.packet.psn);
        assert!(sequence <= sent, "{transmit:?} skips {} packets", sequence - sent);
        assert_eq!(transmit.packet.is_retransmission, sequence < sent, "{transmit:?}");
        assert_eq!(transmit.packet.ack_request, transmit.packet.position.ends_message(), "{transmit:?}");
        assert_eq!(observed(frame.request, &transmit), expected[sequence], "packet {sequence}");
        sent = sent.max(sequence + 1);
    }
}

fn observed(request: usize, transmit: &Transmit) -> Expected {
    Expected {
        request,
        position: transmit.packet.position,
        offset_bytes: transmit.offset_bytes,
        payload_bytes: u64::from(transmit.packet.payload_bytes),
        message_bytes: transmit.message_bytes,
    }
}

/// The packet number with that PSN that is closest to `near`.
pub(crate) fn sequence_near(near: usize, initial_psn: Psn, psn: Psn) -> usize {
    let ahead = psn.distance_from(initial_psn.add(near as u32));
    near.checked_add_signed(ahead as isize).expect("a PSN from before the first packet")
}

pub(crate) fn the_window_is_kept(history: &History, config: &Config) {
    for (at, step) in &history.steps {
        if let Step::Sent { outstanding, .. } = step {
            assert!(*outstanding <= u64::from(config.window_packets), "{outstanding} outstanding at {at}");
        }
    }
}

/// What the responder places is the posted byte stream, from its first byte on.
fn bytes_arrive_once_and_in_order(history: &History) {
    let posted = history.posted();
    let (mut request, mut offset_bytes) = (0, 0);
    for (at, step) in &history.steps {
        let Step::Arrived { frame, arrival } = step else { continue };
        if arrival.disposition != Disposition::Accepted {
            continue;
        }
        let placed = (frame.request, frame.transmit.offset_bytes);
        assert_eq!(placed, (request, offset_bytes), "request and offset placed at {at}");
        offset_bytes += u64::from(frame.transmit.packet.payload_bytes);
        if offset_bytes == posted[request] {
            (request, offset_bytes) = (request + 1, 0);
        }
    }
}

/// An ACK names the newest packet in order, a NAK the one that is missing, and that once.
fn replies_say_what_arrived(history: &History, initial_psn: Psn) {
    let mut accepted = 0;
    let mut gaps = BTreeSet::new();
    for arrival in history.judged() {
        accepted += u32::from(arrival.disposition == Disposition::Accepted);
        match arrival.disposition {
            Disposition::Accepted | Disposition::Duplicate => {
                let newest = Reply::Ack(initial_psn.add(accepted.wrapping_sub(1)));
                assert!(arrival.reply.is_none_or(|reply| reply == newest), "{arrival:?}, not {newest:?}");
            }
            Disposition::Placed => panic!("go-back-N places nothing out of order: {arrival:?}"),
            Disposition::OutOfOrder => {
                let nak = Reply::Nak(initial_psn.add(accepted));
                let is_new = gaps.insert(accepted);
                assert_eq!(arrival.reply, is_new.then_some(nak), "the gap at packet {accepted}");
            }
        }
    }
}

/// No work request completes before its last byte was placed.
pub(crate) fn completions_follow_delivery(history: &History) {
    let posted = history.posted();
    let (mut delivered, mut delivered_bytes, mut completed) = (0, 0, 0);
    for (at, step) in &history.steps {
        match step {
            Step::Arrived { frame, arrival } if arrival.disposition == Disposition::Accepted => {
                delivered_bytes += u64::from(frame.transmit.packet.payload_bytes);
                if delivered_bytes == posted[delivered] {
                    (delivered, delivered_bytes) = (delivered + 1, 0);
                }
            }
            Step::Heard { outcome, .. } => {
                completed += outcome.completed as usize;
                assert!(completed <= delivered, "{completed} complete, {delivered} delivered at {at}");
                assert!(outcome.completed == 0 || outcome.progressed(), "{outcome:?} at {at}");
            }
            _ => {}
        }
    }
}

/// The timer goes off at most `retry_count` times without progress, then once more, and then nothing follows.
pub(crate) fn retries_are_counted(history: &History, config: &Config) {
    let (mut retries, mut has_failed) = (0, false);
    for (at, step) in &history.steps {
        match step {
            Step::Heard { outcome, .. } if outcome.progressed() => {
                assert!(!has_failed, "progress after the failure, at {at}");
                retries = 0;
            }
            Step::Expired(outcome) => {
                assert!(!has_failed, "the timer of a failed queue pair went off at {at}");
                has_failed = *outcome == TimeoutOutcome::Failed;
                assert_eq!(has_failed, retries == config.retry_count, "timeout at {at} after {retries}");
                retries += 1;
            }
            Step::Sent { .. } => assert!(!has_failed, "a failed queue pair sends, at {at}"),
            _ => {}
        }
    }
}

fn forgeries_change_nothing(history: &History) {
    for (at, step) in &history.steps {
        match step {
            Step::ForgedReply(outcome) => assert_eq!(*outcome, AckOutcome::default(), "at {at}"),
            Step::ForgedData(arrival) => assert_ne!(arrival.disposition, Disposition::Accepted, "at {at}"),
            _ => {}
        }
    }
}
