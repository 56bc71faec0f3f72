//! A queue pair of an endpoint, with the memory that it works on.

use crate::schedule::Standing;
use crate::{Classes, Memory};
use std::collections::VecDeque;
use std::net::SocketAddrV4;
use std::ops::Range;
use transport::{Completion, Counters, Origin, Outgoing, Placed, QueuePair, Source, Target, WorkId};
use units::Instant;
use wire::Framing;

/// A queue pair of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PairId(pub(crate) usize);

impl PairId {
    /// How many queue pairs the endpoint had before it.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0
    }
}

/// A queue pair with the memory that its work reads and that its peer writes.
#[derive(Debug)]
pub struct Pair {
    pub(crate) queue_pair: QueuePair,
    pub(crate) peer: SocketAddrV4,
    /// Which socket of the endpoint it sends from.
    pub(crate) port: usize,
    pub(crate) classes: Classes,
    pub(crate) standing: Standing,
    memory: Memory,
    /// Where in the peer's eyes the memory begins.
    address: u64,
    sends: Posted,
    receives: Posted,
    ended: VecDeque<Ended>,
    delivered_bytes: u64,
    delivered: (Instant, Counters),
}

/// What was sent of a work request, in packets unless said otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// All packets, those dropped on purpose included.
    pub packets: u64,
    /// Their Ethernet frames, from the destination address to the FCS [bytes].
    pub frame_bytes: u64,
    /// Those that had been sent before.
    pub retransmits: u64,
}

/// The end of a work request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// When it was known.
    pub at: Instant,
    /// Which one, and how it ended.
    pub completion: Completion,
    /// What was sent of it.
    pub sent: Sent,
    /// What the queue pair had seen by then.
    pub counters: Counters,
}

/// A work request that is not completed.
#[derive(Debug)]
struct Request {
    work: WorkId,
    /// Its part of the memory.
    part: Range<usize>,
    sent: Sent,
}

/// Work that is not completed, in the order in which it was posted.
#[derive(Debug, Default)]
pub(crate) struct Posted(VecDeque<Request>);

impl Posted {
    pub(crate) fn push(&mut self, work: WorkId, part: Range<usize>) {
        self.0.push_back(Request { work, part, sent: Sent::default() });
    }

    fn part_of(&self, work: WorkId) -> Range<usize> {
        self.place_of(work).map_or(0..0, |place| self.0[place].part.clone())
    }

    /// What was sent of it, if it was there.
    fn remove(&mut self, work: WorkId) -> Option<Sent> {
        self.0.remove(self.place_of(work)?).map(|request| request.sent)
    }

    fn on_sending(&mut self, packet: &Outgoing) {
        let Some(Source { origin: Origin::Work { work, .. }, bytes }) = packet.source else { return };
        let Some(place) = self.place_of(work) else { return };
        let sent = &mut self.0[place].sent;
        sent.packets += 1;
        sent.frame_bytes += u64::from(Framing::Ethernet.frame_bytes(packet.bth.opcode, bytes));
        sent.retransmits += u64::from(packet.is_retransmission);
    }

    fn place_of(&self, work: WorkId) -> Option<usize> {
        // Mostly the oldest.
        match self.0.front() {
            Some(oldest) if oldest.work == work => Some(0),
            _ => self.0.binary_search_by_key(&work, |request| request.work).ok(),
        }
    }
}

impl Pair {
    pub(crate) fn new(
        queue_pair: QueuePair,
        (peer, port): (SocketAddrV4, usize),
        classes: Classes,
        memory: Memory,
        address: u64,
    ) -> Self {
        Self {
            queue_pair,
            peer,
            port,
            classes,
            standing: Standing::default(),
            memory,
            address,
            sends: Posted::default(),
            receives: Posted::default(),
            ended: VecDeque::new(),
            delivered_bytes: 0,
            delivered: (Instant::ZERO, Counters::default()),
        }
    }

    /// Its memory.
    #[must_use]
    pub const fn memory(&self) -> &Memory {
        &self.memory
    }

    /// What it has seen so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        self.queue_pair.counters()
    }

    /// Payload that came from the peer and was placed in its memory [bytes].
    #[must_use]
    pub const fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes
    }

    /// When the last of it was placed, and what had been seen by then.
    #[must_use]
    pub const fn delivered(&self) -> &(Instant, Counters) {
        &self.delivered
    }

    /// The next end of a work request.
    pub fn poll_completion(&mut self) -> Option<Ended> {
        self.ended.pop_front()
    }

    pub(crate) const fn sends(&mut self) -> &mut Posted {
        &mut self.sends
    }

    pub(crate) const fn receives(&mut self) -> &mut Posted {
        &mut self.receives
    }

    /// A packet is about to be sent.
    pub(crate) fn on_sending(&mut self, packet: &Outgoing) {
        self.sends.on_sending(packet);
    }

    pub(crate) fn place(&mut self, placed: Placed, payload: &[u8], now: Instant) {
        let from = match placed.target {
            Target::Memory { address } => (address - self.address) as usize,
            Target::Read { work, offset_bytes } => self.sends.part_of(work).start + offset_bytes as usize,
            Target::Receive { work, offset_bytes } => {
                self.receives.part_of(work).start + offset_bytes as usize
            }
        };
        self.memory.write(from, payload);
        self.delivered_bytes += u64::from(placed.bytes);
        self.delivered = (now, *self.queue_pair.counters());
    }

    /// True if there are new ones to poll.
    pub(crate) fn collect_completions(&mut self, now: Instant) -> bool {
        let before = self.ended.len();
        while let Some(completion) = self.queue_pair.poll_completion() {
            let work = completion.work;
            let sent = self.sends.remove(work).or_else(|| self.receives.remove(work)).unwrap_or_default();
            self.ended.push_back(Ended { at: now, completion, sent, counters: *self.queue_pair.counters() });
        }
        self.ended.len() > before
    }

    /// Where in the memory the payload of a packet to send is.
    pub(crate) fn payload(&self, packet: &Outgoing) -> Range<usize> {
        packet.source.map_or(0..0, |source| {
            let from = match source.origin {
                Origin::Work { work, offset_bytes } => self.sends.part_of(work).start + offset_bytes as usize,
                Origin::Memory { address } => (address - self.address) as usize,
            };
            from..from + source.bytes as usize
        })
    }
}
