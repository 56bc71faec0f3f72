//! A queue pair of an endpoint with its memory, posted requests, their completions and statistics.

use super::schedule::Scheduling;
use crate::{Classes, Memory};
use std::collections::VecDeque;
use std::net::SocketAddrV4;
use std::ops::Range;
use transport::{Completion, Counters, Origin, Outgoing, Placed, QueuePair, Source, Target, WorkId};
use units::Instant;
use wire::Framing;

/// Handle of a queue pair of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PairId(pub(crate) usize);

impl PairId {
    /// Index of the queue pair in its endpoint, in order of creation.
    pub const fn index(self) -> usize {
        self.0
    }
}

/// A queue pair with the memory that its work reads and its peer writes.
#[derive(Debug)]
pub struct Pair {
    pub(crate) queue_pair: QueuePair,
    pub(crate) peer: SocketAddrV4,
    /// Index of the endpoint's socket that it sends from.
    pub(crate) port: usize,
    pub(crate) classes: Classes,
    pub(crate) scheduling: Scheduling,
    pub(super) memory: Memory,
    /// Remote address of the first byte of the memory, as the peer uses it.
    address: u64,
    sends: Posted,
    receives: Posted,
    ended: VecDeque<Ended>,
    delivered_bytes: u64,
    delivered: (Instant, Counters),
}

/// Packets sent for a work request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// All packets, including those dropped on purpose.
    pub packets: u64,
    /// Size of their Ethernet frames, from the destination address to the FCS [bytes].
    pub frame_bytes: u64,
    /// Retransmitted packets.
    pub retransmits: u64,
}

/// Completion of a work request, with statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// When the completion was polled.
    pub at: Instant,
    /// Work request and status.
    pub completion: Completion,
    /// Packets sent for it.
    pub sent: Sent,
    /// Counters of the queue pair at that time.
    pub counters: Counters,
}

/// A work request that has not completed.
#[derive(Debug)]
struct Request {
    work: WorkId,
    /// Its range of the memory.
    part: Range<usize>,
    sent: Sent,
}

/// Uncompleted work in order of posting.
#[derive(Debug, Default)]
pub(crate) struct Posted(VecDeque<Request>);

impl Posted {
    pub(crate) fn push(&mut self, work: WorkId, part: Range<usize>) {
        self.0.push_back(Request { work, part, sent: Sent::default() });
    }

    fn part_of(&self, work: WorkId) -> Range<usize> {
        self.index_of(work).map_or(0..0, |index| self.0[index].part.clone())
    }

    /// Removes a work request and returns its statistics.
    fn remove(&mut self, work: WorkId) -> Option<Sent> {
        self.0.remove(self.index_of(work)?).map(|request| request.sent)
    }

    fn on_sending(&mut self, packet: &Outgoing) {
        let Some(Source { origin: Origin::Work { work, .. }, bytes }) = packet.source else { return };
        let Some(index) = self.index_of(work) else { return };
        let sent = &mut self.0[index].sent;
        sent.packets += 1;
        sent.frame_bytes += u64::from(Framing::Ethernet.frame_bytes(packet.bth.opcode, bytes));
        sent.retransmits += u64::from(packet.is_retransmission);
    }

    fn index_of(&self, work: WorkId) -> Option<usize> {
        // Usually the oldest.
        match self.0.front() {
            Some(oldest) if oldest.work == work => Some(0),
            _ => self.0.binary_search_by_key(&work, |request| request.work).ok(),
        }
    }
}

impl Pair {
    pub(crate) fn new(
        queue_pair: QueuePair,
        peer: SocketAddrV4,
        port: usize,
        classes: Classes,
        memory: Memory,
        address: u64,
    ) -> Self {
        Self {
            queue_pair,
            peer,
            port,
            classes,
            scheduling: Scheduling::default(),
            memory,
            address,
            sends: Posted::default(),
            receives: Posted::default(),
            ended: VecDeque::new(),
            delivered_bytes: 0,
            delivered: (Instant::ZERO, Counters::default()),
        }
    }

    /// The memory of the queue pair.
    pub const fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Counters so far.
    pub const fn counters(&self) -> &Counters {
        self.queue_pair.counters()
    }

    /// Payload of the peer that was placed in memory [bytes].
    pub const fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes
    }

    /// When the last payload was placed, and the counters at that time.
    pub const fn delivered(&self) -> &(Instant, Counters) {
        &self.delivered
    }

    /// Next completion of a work request.
    pub fn poll_completion(&mut self) -> Option<Ended> {
        self.ended.pop_front()
    }

    pub(crate) const fn sends(&mut self) -> &mut Posted {
        &mut self.sends
    }

    pub(crate) const fn receives(&mut self) -> &mut Posted {
        &mut self.receives
    }

    /// Counts a packet that is about to be sent.
    pub(crate) fn on_sending(&mut self, packet: &Outgoing) {
        self.sends.on_sending(packet);
        self.queue_pair.on_sent(packet);
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

    /// Polls completions of the queue pair; true if there are new ones.
    pub(crate) fn collect_completions(&mut self, now: Instant) -> bool {
        let before = self.ended.len();
        while let Some(completion) = self.queue_pair.poll_completion() {
            let work = completion.work;
            let sent = self.sends.remove(work).or_else(|| self.receives.remove(work)).unwrap_or_default();
            self.ended.push_back(Ended { at: now, completion, sent, counters: *self.queue_pair.counters() });
        }
        self.ended.len() > before
    }

    /// Range of the memory with the payload of an outgoing packet.
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
