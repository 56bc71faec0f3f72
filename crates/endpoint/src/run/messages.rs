//! Messages of an unreliable connection. Each is a WRITE whose immediate data is its number on the queue pair,
//! so that the receiver knows which messages of which chunks (parts of transfers) have arrived. A message that
//! a later one overtakes does not count.

use super::driver::{Event, ReceivedCounts};
use jobs::Jobs;
use units::{Instant, Span};

/// Longest time that a packet may spend in the network.
pub(super) const IN_NETWORK_MAX: Span = Span::from_us(500_000);
/// Messages that may be lost in a row; a number further ahead is not of this run.
const LOST_MAX: u32 = 1 << 20;

/// Messages that arrive on a queue pair, and the chunks that they complete.
#[derive(Debug)]
pub(super) struct Messages {
    /// Chunks of a cycle of rounds in the order of posting, each with the messages of the cycle up to its end.
    cycle: Vec<(u32, u64)>,
    /// Number of the message after the newest one.
    next: u64,
    /// The chunk that is being received, counted from 0 in the order of posting.
    ordinal: u64,
    /// Its statistics.
    seen: ReceivedCounts,
}

impl Messages {
    /// Messages of `message_bytes` of a queue pair.
    pub(super) fn new(jobs: &Jobs, queue_pair: u32, message_bytes: u64) -> Self {
        let mut end = 0;
        let chunk_end = |chunk| {
            end += jobs.chunk(chunk).bytes.div_ceil(message_bytes).max(1);
            (chunk, end)
        };
        let cycle = jobs.chunks_of(queue_pair).map(chunk_end).collect();
        Self { cycle, next: 0, ordinal: 0, seen: ReceivedCounts::default() }
    }

    /// A message arrived at `at`; `seen` has the statistics since the one before.
    pub(super) fn on_message(
        &mut self,
        number: u32,
        at: Instant,
        seen: ReceivedCounts,
        events: &mut Vec<Event>,
    ) {
        let ahead = number.wrapping_sub(self.next as u32);
        if ahead >= LOST_MAX {
            return self.seen.add(seen);
        }
        let number = self.next + u64::from(ahead);
        self.next = number + 1;
        let (ordinal, messages) = self.chunk_of(number);
        while self.ordinal < ordinal {
            self.end_chunk(|chunk, seen| Event::Dropped { chunk, seen }, events);
        }
        self.seen.add(ReceivedCounts { messages: 1, ..seen });
        if self.seen.messages == messages {
            self.end_chunk(|chunk, seen| Event::Arrived { chunk, at, seen }, events);
        }
    }

    /// The run ends; `seen` has the statistics since the last message.
    pub(super) fn on_stop(&mut self, seen: ReceivedCounts, events: &mut Vec<Event>) {
        self.seen.add(seen);
        if self.seen.frames > 0 || self.seen.messages > 0 {
            self.end_chunk(|chunk, seen| Event::Dropped { chunk, seen }, events);
        }
    }

    fn end_chunk(&mut self, event: impl Fn(u32, ReceivedCounts) -> Event, events: &mut Vec<Event>) {
        let (chunk, _) = self.cycle[(self.ordinal % self.cycle.len() as u64) as usize];
        events.push(event(chunk, std::mem::take(&mut self.seen)));
        self.ordinal += 1;
    }

    /// The chunk of a message, counted in the order of posting, and its number of messages.
    fn chunk_of(&self, message: u64) -> (u64, u64) {
        let end_of = |index: usize| self.cycle[index].1;
        let of_cycle = end_of(self.cycle.len() - 1);
        let (cycle, message) = (message / of_cycle, message % of_cycle);
        let index = self.cycle.partition_point(|&(_, end)| end <= message);
        let begin = index.checked_sub(1).map_or(0, end_of);
        (cycle * self.cycle.len() as u64 + index as u64, end_of(index) - begin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Instant = Instant(5);
    const FRAME: ReceivedCounts = ReceivedCounts {
        messages: 0,
        frames: 1,
        bytes: 100,
        out_of_order: 0,
        marks: 0,
        cnps: 0,
        is_verified: Some(true),
    };

    /// Chunks 7, 8 and 9 of 2, 1 and 3 messages.
    fn messages() -> Messages {
        Messages { cycle: vec![(7, 2), (8, 3), (9, 6)], next: 0, ordinal: 0, seen: ReceivedCounts::default() }
    }

    /// Chunks that end, with their messages, and whether they arrived.
    fn ended(arrivals: impl IntoIterator<Item = u32>) -> Vec<(u32, u64, bool)> {
        let (mut messages, mut events) = (messages(), Vec::new());
        arrivals.into_iter().for_each(|number| messages.on_message(number, AT, FRAME, &mut events));
        messages.on_stop(ReceivedCounts::default(), &mut events);
        let each = events.into_iter().map(|event| match event {
            Event::Arrived { chunk, at: AT, seen } => (chunk, seen.messages, true),
            Event::Dropped { chunk, seen } => (chunk, seen.messages, false),
            other => unreachable!("{other:?}"),
        });
        each.collect()
    }

    #[test]
    fn a_chunk_arrives_with_the_last_of_its_messages() {
        let cycle = [(7, 2, true), (8, 1, true), (9, 3, true)];
        assert_eq!(ended(0..6), cycle);
        assert_eq!(ended(0..12), [cycle, cycle].concat(), "in each cycle");
    }

    #[test]
    fn a_chunk_without_one_of_its_messages_is_dropped_once_a_later_one_arrives_or_the_run_ends() {
        assert_eq!(ended([1, 2, 3, 5]), [(7, 1, false), (8, 1, true), (9, 2, false)]);
        assert_eq!(ended([0, 1, 6, 7]), [(7, 2, true), (8, 0, false), (9, 0, false), (7, 2, true)]);
        assert_eq!(ended([0, 1, 2, 6 * 5]), {
            let lost = [(7, 0, false), (8, 0, false), (9, 0, false)];
            [&[(7, 2, true), (8, 1, true), lost[2]][..], &[lost; 4].concat(), &[(7, 1, false)]].concat()
        });
        assert!(ended([]).is_empty());
    }

    #[test]
    fn copies_and_overtaken_messages_do_not_count() {
        assert_eq!(ended([0, 0, 1]), [(7, 2, true)]);
        assert_eq!(ended([1, 0, 2]), [(7, 1, false), (8, 1, true)]);
        assert_eq!(ended([0, LOST_MAX + 1, 1]), [(7, 2, true)], "nor those of other runs");
    }

    #[test]
    fn frames_of_a_dropped_message_belong_to_the_chunk_that_is_being_received() {
        let (mut messages, mut events) = (messages(), Vec::new());
        messages.on_message(0, AT, FRAME, &mut events);
        messages.on_stop(FRAME, &mut events);
        let seen = ReceivedCounts { messages: 1, frames: 2, bytes: 200, ..FRAME };
        assert_eq!(events, [Event::Dropped { chunk: 7, seen }]);
    }

    #[test]
    fn numbers_wrap() {
        // A multiple of the messages of a cycle.
        let next = (1_u64 << 32) - 4;
        let mut messages = Messages { next, ordinal: next / 6 * 3, ..messages() };
        let mut events = Vec::new();
        for number in (u32::MAX - 3..=u32::MAX).chain(0..8) {
            messages.on_message(number, AT, FRAME, &mut events);
        }
        assert!(events.iter().all(|event| matches!(event, Event::Arrived { .. })), "{events:?}");
        assert_eq!(events.len(), 6);
    }
}
