//! What the responder has placed under selective recovery.

use crate::{Arrival, Config, Disposition, Reply};
use units::Cycle;
use wire::Psn;

/// Packets placed within the window that begins with the first missing one.
///
/// Sequences are 64-bit packet counts since the queue pair began. At any time `acknowledged <= expected <=
/// highest_end <= expected + window`, and `expected <= examined`.
#[derive(Clone, Debug)]
pub(crate) struct Placement {
    initial_psn: Psn,
    window: u64,
    /// A packet so far beyond a hole makes it a loss. Three quarters of the window: where random spraying loads every
    /// path fully, the queues of the paths drift apart until the window holds the requester back, and half the window
    /// was seen to take late packets for lost ones, whose resending made the queues longer still. The last quarter
    /// keeps the requester sending while a loss is repaired: 64 of 256 packets last 5 us at 400 Gb/s, a round trip
    /// over two tiers.
    threshold: u64,
    /// The first missing packet.
    expected: u64,
    /// One past the highest packet placed.
    highest_end: u64,
    /// Everything before this was acknowledged.
    acknowledged: u64,
    /// Holes before this have been reported.
    examined: u64,
    placed: Ring,
    /// Those of `placed` that ask for an acknowledgement.
    asking: Ring,
}

impl Placement {
    pub(crate) fn new(initial_psn: Psn, window_packets: u32) -> Self {
        let window = u64::from(window_packets);
        Self {
            initial_psn,
            window,
            threshold: (window * 3 / 4).max(1),
            expected: 0,
            highest_end: 0,
            acknowledged: 0,
            examined: 0,
            placed: Ring::new(window),
            asking: Ring::new(window),
        }
    }

    /// Judges a packet.
    pub(crate) fn on_packet(&mut self, config: &Config, psn: Psn, ack_request: bool) -> Arrival {
        let distance = i64::from(psn.distance_from(self.psn_of(self.expected)));
        if distance >= self.window as i64 {
            return Arrival { disposition: Disposition::OutOfOrder, reply: None };
        }
        let sequence = self.expected as i64 + distance;
        if distance < 0 || self.placed.contains(sequence as u64) {
            // Only a requester that missed an acknowledgement resends what has arrived.
            return Arrival {
                disposition: Disposition::Duplicate,
                reply: ack_request.then(|| self.acknowledge()),
            };
        }
        let is_next = distance == 0;
        let is_asked = self.place(sequence as u64, ack_request);
        let disposition = if is_next { Disposition::Accepted } else { Disposition::Placed };
        Arrival { disposition, reply: self.answer(config, is_asked) }
    }

    /// Places a packet; true when one that asks for an acknowledgement is in order by it.
    fn place(&mut self, sequence: u64, ack_request: bool) -> bool {
        self.highest_end = self.highest_end.max(sequence + 1);
        self.placed.insert(sequence);
        if ack_request {
            self.asking.insert(sequence);
        }
        let mut is_asked = false;
        while self.placed.remove(self.expected) {
            is_asked |= self.asking.remove(self.expected);
            self.expected += 1;
        }
        is_asked
    }

    /// A hole to report comes first; it tells what is in order as well.
    fn answer(&mut self, config: &Config, is_asked: bool) -> Option<Reply> {
        if let Some(hole) = self.next_lost() {
            self.acknowledged = self.expected;
            return Some(Reply::SelectiveNak { newest: self.newest(), missing: self.psn_of(hole) });
        }
        let is_full = self.expected - self.acknowledged >= u64::from(config.ack_every);
        (is_asked || is_full).then(|| self.acknowledge())
    }

    /// The first hole that was not reported and is the threshold or more behind the highest packet.
    fn next_lost(&mut self) -> Option<u64> {
        self.examined = self.examined.max(self.expected);
        while self.examined + self.threshold < self.highest_end {
            self.examined += 1;
            if !self.placed.contains(self.examined - 1) {
                return Some(self.examined - 1);
            }
        }
        None
    }

    fn acknowledge(&mut self) -> Reply {
        self.acknowledged = self.expected;
        Reply::SelectiveAck { newest: self.newest(), highest: self.psn_of(self.highest_end).add(u32::MAX) }
    }

    /// The packet before the expected one.
    const fn newest(&self) -> Psn {
        // One less, modulo 2^24.
        self.psn_of(self.expected).add(u32::MAX)
    }

    const fn psn_of(&self, sequence: u64) -> Psn {
        self.initial_psn.add(sequence as u32)
    }

    /// See [`Cycle`]: what is placed stands still, seen from the first missing packet.
    pub(crate) fn visit(&mut self, cycle: &mut Cycle) {
        let Self {
            initial_psn: _,
            window: _,
            threshold: _,
            expected,
            highest_end,
            acknowledged,
            examined,
            placed,
            asking,
        } = self;
        let rings = [placed, asking].map(|ring| {
            let words = ring.words_from(*expected);
            cycle.same_list(words.iter().copied());
            (ring, words)
        });
        [expected, highest_end, acknowledged, examined]
            .into_iter()
            .for_each(|sequence| cycle.count(sequence));
        for (ring, words) in rings {
            ring.set_words_from(self.expected, &words);
        }
    }
}

/// A set of sequences that lie within one window.
#[derive(Clone, Debug)]
struct Ring {
    words: Vec<u64>,
}

impl Ring {
    fn new(window: u64) -> Self {
        Self { words: vec![0; window.div_ceil(64).next_power_of_two() as usize] }
    }

    const fn place(&self, sequence: u64) -> (usize, u64) {
        ((sequence >> 6) as usize & (self.words.len() - 1), 1 << (sequence & 63))
    }

    fn contains(&self, sequence: u64) -> bool {
        let (word, bit) = self.place(sequence);
        self.words[word] & bit != 0
    }

    /// All bits, from that of `sequence` on.
    fn words_from(&self, sequence: u64) -> Vec<u64> {
        let bits = 0..self.words.len() as u64 * 64;
        let mut words = vec![0; self.words.len()];
        for bit in bits.filter(|bit| self.contains(sequence + bit)) {
            words[(bit >> 6) as usize] |= 1 << (bit & 63);
        }
        words
    }

    /// Sets all bits, from that of `sequence` on.
    fn set_words_from(&mut self, sequence: u64, words: &[u64]) {
        self.words.fill(0);
        let bits = 0..words.len() as u64 * 64;
        for bit in bits.filter(|bit| words[(bit >> 6) as usize] >> (bit & 63) & 1 == 1) {
            self.insert(sequence + bit);
        }
    }

    fn insert(&mut self, sequence: u64) {
        let (word, bit) = self.place(sequence);
        self.words[word] |= bit;
    }

    /// Takes `sequence` out; true when it was in.
    fn remove(&mut self, sequence: u64) -> bool {
        let (word, bit) = self.place(sequence);
        let was_in = self.words[word] & bit != 0;
        self.words[word] &= !bit;
        was_in
    }
}
