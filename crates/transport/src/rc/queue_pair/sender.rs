//! Common interface of the requesters of a queue pair: the one for bulk WRITEs, on queue pairs with READs the
//! one for every verb, and without recovery the sender of an unreliable connection.

use super::send::{Acknowledgement, Posted};
use super::{Origin, Settings, Source};
use crate::rc::verbs::Awaited;
use crate::{
    AckOutcome, Config, NextPacket, Recovery, Requester, ResponseOutcome, TimeoutOutcome, Transmit, UcSender,
    Verb, VerbRequester,
};
use std::collections::VecDeque;
use units::Instant;
use wire::Psn;

/// Uncompleted work, oldest first.
type Works = VecDeque<Posted>;

/// One of the requesters behind one interface. An unreliable connection receives no answers, so those of its
/// peer have no effect.
#[derive(Debug)]
pub(super) enum Sender {
    Bulk(Requester),
    Verbs(VerbRequester),
    Unreliable {
        sender: UcSender,
        /// Oldest work requests with all packets polled.
        polled: usize,
    },
}

impl Sender {
    pub(super) fn new(settings: &Settings) -> Self {
        match (settings.config.recovery, settings.reads.requested_max) {
            (Recovery::None, _) => Self::Unreliable { sender: UcSender::new(settings.first_psn), polled: 0 },
            (_, 0) => Self::Bulk(Requester::new(settings.first_psn)),
            (_, readings) => Self::Verbs(VerbRequester::new(settings.first_psn, readings as usize)),
        }
    }

    /// Whether it supports READs.
    pub(super) const fn reads(&self) -> bool {
        matches!(self, Self::Verbs(_))
    }

    pub(super) fn post(&mut self, config: &Config, verb: Verb, bytes: u64) {
        match self {
            Self::Bulk(requester) => requester.post(config, bytes),
            Self::Verbs(requester) => requester.post(config, verb, bytes),
            Self::Unreliable { sender, .. } => sender.post(),
        }
    }

    pub(super) fn can_transmit(&self, config: &Config, window_packets: u32) -> bool {
        match self {
            Self::Bulk(requester) => requester.can_transmit(config, window_packets),
            Self::Verbs(requester) => {
                requester.can_transmit_within(window_packets.min(config.window_packets))
            }
            Self::Unreliable { sender, .. } => sender.can_transmit(),
        }
    }

    /// The next packet.
    pub(super) fn poll(
        &mut self,
        config: &Config,
        now: Instant,
        window_packets: u32,
        works: &Works,
    ) -> Option<Transmit> {
        match self {
            Self::Bulk(requester) => {
                let bytes_of = |index: usize| works[index].bytes;
                let packet = requester.poll_transmit(config, now, window_packets, bytes_of)?;
                Some(requester.transmit(config, &packet, bytes_of))
            }
            Self::Verbs(requester) => {
                let within = window_packets.min(config.window_packets);
                let may = requester.can_transmit_within(within);
                may.then(|| requester.poll_transmit(config, now))?.map(|sent| sent.transmit)
            }
            Self::Unreliable { sender, polled } => {
                let open = *polled;
                let next = sender.poll_transmit(config, |index| works[open + index].bytes)?;
                *polled += usize::from(next.completes);
                Some(Transmit { packet: NextPacket { work: open, ..next.transmit.packet }, ..next.transmit })
            }
        }
    }

    /// The last packet of the oldest work request was sent: true if that completes it.
    pub(super) const fn on_last_sent(&mut self) -> bool {
        match self {
            Self::Bulk(_) | Self::Verbs(_) => false,
            Self::Unreliable { polled, .. } => {
                *polled -= 1;
                true
            }
        }
    }

    pub(super) fn in_flight_packets(&self) -> u32 {
        match self {
            Self::Bulk(requester) => requester.in_flight_packets(),
            Self::Verbs(requester) => requester.outstanding_packets() as u32,
            Self::Unreliable { .. } => 0,
        }
    }

    pub(super) const fn is_resending(&self) -> bool {
        match self {
            Self::Bulk(requester) => requester.is_resending(),
            Self::Verbs(_) | Self::Unreliable { .. } => false,
        }
    }

    pub(super) const fn deadline(&self) -> Instant {
        match self {
            Self::Bulk(requester) => requester.deadline(),
            Self::Verbs(requester) => requester.deadline(),
            Self::Unreliable { .. } => Instant::NEVER,
        }
    }

    pub(super) fn on_timeout(&mut self, config: &Config, now: Instant, works: &Works) -> TimeoutOutcome {
        match self {
            Self::Bulk(requester) => requester.on_timeout(config, now, |index| works[index].bytes),
            Self::Verbs(requester) => requester.on_timeout(config, now),
            Self::Unreliable { .. } => TimeoutOutcome::NotDue,
        }
    }

    /// Processes an ACK whose AETH has `msn`, which selective recovery uses differently; see
    /// [`crate::Reply`].
    pub(super) fn on_ack(&mut self, config: &Config, ack: Acknowledgement, works: &Works) -> AckOutcome {
        let Acknowledgement { now, psn, msn, .. } = ack;
        let bytes_of = |index: usize| works[index].bytes;
        match self {
            Self::Bulk(requester) if config.recovery.is_selective() => {
                requester.on_selective_ack(config, now, psn, msn, bytes_of)
            }
            Self::Bulk(requester) => requester.on_ack(config, now, psn, bytes_of),
            Self::Verbs(requester) => requester.on_ordered_ack(config, now, psn),
            Self::Unreliable { .. } => AckOutcome::default(),
        }
    }

    /// Everything up to and including `newest` has arrived, according to a refusal.
    pub(super) fn on_newest(
        &mut self,
        config: &Config,
        now: Instant,
        newest: Psn,
        works: &Works,
    ) -> AckOutcome {
        match self {
            Self::Bulk(requester) => requester.on_ack(config, now, newest, |index| works[index].bytes),
            Self::Verbs(requester) => requester.on_ack(config, now, newest),
            Self::Unreliable { .. } => AckOutcome::default(),
        }
    }

    /// Processes a NAK "PSN sequence error".
    pub(super) fn on_missing(&mut self, config: &Config, ack: Acknowledgement, works: &Works) -> AckOutcome {
        let Acknowledgement { now, psn, msn, .. } = ack;
        let bytes_of = |index: usize| works[index].bytes;
        match self {
            Self::Bulk(requester) if config.recovery.is_selective() => {
                requester.on_selective_nak(config, now, msn, psn, bytes_of)
            }
            Self::Bulk(requester) => requester.on_nak(config, now, psn, bytes_of),
            Self::Verbs(requester) => requester.on_nak(config, now, psn),
            Self::Unreliable { .. } => AckOutcome::default(),
        }
    }

    /// The peer was not ready for this packet: it is resent and, under go-back-N, all packets after it.
    /// `None` if the resend is already pending, as under go-back-N while `is_waiting`.
    pub(super) fn on_not_ready(
        &mut self,
        config: &Config,
        ack: Acknowledgement,
        is_waiting: bool,
        works: &Works,
    ) -> Option<AckOutcome> {
        let Acknowledgement { now, psn, msn, .. } = ack;
        match self {
            Self::Bulk(requester) if config.recovery.is_selective() => {
                let bytes_of = |index: usize| works[index].bytes;
                Some(requester.on_selective_not_ready(config, now, msn, psn, bytes_of))
            }
            _ if is_waiting => None,
            _ => Some(self.on_missing(config, ack, works)),
        }
    }

    /// The next expected response to a READ.
    pub(super) fn awaited(&self, config: &Config) -> Option<Awaited> {
        match self {
            Self::Bulk(_) | Self::Unreliable { .. } => None,
            Self::Verbs(requester) => requester.awaited(config),
        }
    }

    /// Processes a response to a READ.
    pub(super) fn on_response(&mut self, config: &Config, now: Instant, psn: Psn) -> ResponseOutcome {
        match self {
            Self::Bulk(_) | Self::Unreliable { .. } => ResponseOutcome::default(),
            Self::Verbs(requester) => requester.on_read_response(config, now, psn),
        }
    }

    /// Index in `works` of the packet with this PSN, if it is in flight.
    pub(super) fn work_at(&self, config: &Config, psn: Psn, works: &Works) -> Option<usize> {
        match self {
            Self::Bulk(requester) => bulk_work_at(requester, config, psn, works),
            Self::Verbs(requester) => requester.work_at(psn),
            Self::Unreliable { .. } => None,
        }
    }
}

fn bulk_work_at(requester: &Requester, config: &Config, psn: Psn, works: &Works) -> Option<usize> {
    let bytes_of = |index: usize| works[index].bytes;
    let sent: u64 = requester.sent_of_each(config, bytes_of).map(|(_, packets)| packets).sum();
    let outstanding = requester.outstanding_packets();
    let acknowledged = sent - outstanding;
    // Modulo 2^24.
    let unacked = requester.first_open_psn(config, bytes_of).add(acknowledged as u32);
    let distance =
        u64::try_from(psn.distance_from(unacked)).ok().filter(|distance| *distance < outstanding)?;
    let mut packet = acknowledged + distance;
    works.iter().position(|posted| {
        let packets = config.packets(posted.bytes);
        let is_here = packet < packets;
        packet = packet.saturating_sub(packets);
        is_here
    })
}

/// Source of the payload of a packet in its work request.
pub(super) const fn source(posted: &Posted, transmit: &Transmit) -> Source {
    let origin = Origin::Work { work: posted.work, offset_bytes: transmit.offset_bytes };
    Source { origin, bytes: transmit.packet.payload_bytes }
}
