//! A queue pair of an endpoint, with the memory that it works on.

use crate::schedule::Standing;
use std::collections::VecDeque;
use std::net::SocketAddrV4;
use std::ops::Range;
use transport::{Completion, Counters, Outgoing, Placed, QueuePair, Target, WorkId};
use units::Instant;

/// A queue pair of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PairId(pub(crate) usize);

/// A queue pair with the memory that its work reads and that its peer writes.
#[derive(Debug)]
pub struct Pair {
    pub(crate) queue_pair: QueuePair,
    pub(crate) peer: SocketAddrV4,
    /// Which socket of the endpoint it sends from.
    pub(crate) port: usize,
    pub(crate) standing: Standing,
    memory: Vec<u8>,
    /// Where in the peer's eyes the memory begins.
    address: u64,
    sends: Parts,
    receives: Parts,
    completions: VecDeque<(Instant, Completion)>,
    delivered_bytes: u64,
    delivered: (Instant, Counters),
}

/// Work that is not completed, in the order in which it was posted, and its part of the memory.
#[derive(Debug, Default)]
pub(crate) struct Parts(VecDeque<(WorkId, Range<usize>)>);

impl Parts {
    pub(crate) fn push(&mut self, work: WorkId, part: Range<usize>) {
        self.0.push_back((work, part));
    }

    fn part_of(&self, work: WorkId) -> Range<usize> {
        self.place_of(work).map_or(0..0, |place| self.0[place].1.clone())
    }

    /// True if it was there.
    fn remove(&mut self, work: WorkId) -> bool {
        let place = self.place_of(work);
        place.is_some_and(|place| self.0.remove(place).is_some())
    }

    fn place_of(&self, work: WorkId) -> Option<usize> {
        // Mostly the oldest.
        match self.0.front() {
            Some((oldest, _)) if *oldest == work => Some(0),
            _ => self.0.binary_search_by_key(&work, |(posted, _)| *posted).ok(),
        }
    }
}

impl Pair {
    pub(crate) fn new(
        queue_pair: QueuePair,
        (peer, port): (SocketAddrV4, usize),
        memory: Vec<u8>,
        address: u64,
    ) -> Self {
        Self {
            queue_pair,
            peer,
            port,
            standing: Standing::default(),
            memory,
            address,
            sends: Parts::default(),
            receives: Parts::default(),
            completions: VecDeque::new(),
            delivered_bytes: 0,
            delivered: (Instant::ZERO, Counters::default()),
        }
    }

    /// Its memory.
    #[must_use]
    pub fn memory(&self) -> &[u8] {
        &self.memory
    }

    /// Its memory, to fill before it is posted: what is under way leaves with the bytes that it has then.
    pub fn memory_mut(&mut self) -> &mut [u8] {
        &mut self.memory
    }

    /// What it has seen so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        self.queue_pair.counters()
    }

    /// Payload that the peer has placed in its memory [bytes].
    #[must_use]
    pub const fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes
    }

    /// When the last of it was placed, and what had been seen by then.
    #[must_use]
    pub const fn delivered(&self) -> &(Instant, Counters) {
        &self.delivered
    }

    /// The next end of a work request, and when it was known.
    pub fn poll_completion(&mut self) -> Option<(Instant, Completion)> {
        self.completions.pop_front()
    }

    pub(crate) const fn sends(&mut self) -> &mut Parts {
        &mut self.sends
    }

    pub(crate) const fn receives(&mut self) -> &mut Parts {
        &mut self.receives
    }

    pub(crate) fn place(&mut self, placed: Placed, payload: &[u8], now: Instant) {
        let from = match placed.target {
            Target::Memory { address } => (address - self.address) as usize,
            Target::Receive { work, offset_bytes } => {
                self.receives.part_of(work).start + offset_bytes as usize
            }
        };
        self.memory[from..from + payload.len()].copy_from_slice(payload);
        self.delivered_bytes += u64::from(placed.bytes);
        self.delivered = (now, *self.queue_pair.counters());
    }

    /// True if there are new ones to poll.
    pub(crate) fn collect_completions(&mut self, now: Instant) -> bool {
        let before = self.completions.len();
        while let Some(completion) = self.queue_pair.poll_completion() {
            if !self.sends.remove(completion.work) {
                self.receives.remove(completion.work);
            }
            self.completions.push_back((now, completion));
        }
        self.completions.len() > before
    }

    /// Where in the memory the payload of a packet to send is.
    pub(crate) fn payload(&self, packet: &Outgoing) -> Range<usize> {
        packet.source.map_or(0..0, |source| {
            let from = self.sends.part_of(source.work).start + source.offset_bytes as usize;
            from..from + source.bytes as usize
        })
    }
}
