//! Send work of a queue pair: splits chunks (parts of transfers) into RDMA WRITEs that fit the send queue and
//! the receiver's memory, and completes chunks in order.

use super::address::Slots;
use crate::run::driver::{Event, SentCounts};
use crate::run::share::Post;
use crate::verbs::{WorkList, Write};
use std::collections::VecDeque;
use units::Instant;

/// Limits of write size, queue size and signalling.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// Maximum write size [bytes].
    pub(super) part_bytes: u64,
    /// Send queue size [requests].
    pub(super) depth: u32,
    /// See [`Settings::signal_every`](crate::run::Settings::signal_every).
    pub(super) signal_every: u32,
    /// Every write notifies the peer, with its number.
    pub(super) is_unreliable: bool,
}

/// Chunks to send on a queue pair, and their state.
#[derive(Debug)]
pub(super) struct Work {
    /// Address and key of its source memory.
    from: (u64, u32),
    to: Slots,
    rules: Rules,
    has_failed: bool,
    /// Chunks not completely posted.
    waiting: VecDeque<Post>,
    /// Bytes posted of the first of them.
    posted_bytes: u64,
    /// Completely posted chunks, each with its last request.
    unacknowledged: VecDeque<(u32, u32)>,
    /// First request of the oldest chunk that has not completed.
    first: u32,
    /// Counts of requests: posted, completed, and checked by the receiver.
    requests: u32,
    ended: u32,
    checked: u32,
    /// Since the last signalled request: number of requests, and of chunks that end with them.
    unsignalled: (u32, u32),
    /// Next slot to write to.
    slot: u32,
}

impl Work {
    pub(super) fn new(from: (u64, u32), rules: Rules) -> Self {
        Self {
            from,
            to: Slots { address: 0, key: 0, bytes: 0, count: 1 },
            rules,
            has_failed: false,
            waiting: VecDeque::new(),
            posted_bytes: 0,
            unacknowledged: VecDeque::new(),
            first: 0,
            requests: 0,
            ended: 0,
            checked: 0,
            unsignalled: (0, 0),
            slot: 0,
        }
    }

    /// Sets the memory of the peer to write to.
    pub(super) fn set_target(&mut self, to: Slots) {
        self.to = to;
        self.rules.part_bytes = self.rules.part_bytes.min(to.bytes).max(1);
    }

    /// Queues a chunk; false if the queue pair has failed.
    pub(super) fn enqueue(&mut self, post: &Post) -> bool {
        if !self.has_failed {
            self.waiting.push_back(*post);
        }
        !self.has_failed
    }

    /// Whether anything can be posted now.
    pub(super) fn can_post(&self) -> bool {
        !self.waiting.is_empty() && self.room() > 0
    }

    /// Number of requests so far.
    pub(super) const fn requests(&self) -> u32 {
        self.requests
    }

    /// Number of requests that fit into the send queue and the receiver's slots.
    fn room(&self) -> u32 {
        let queue = self.rules.depth - self.requests.wrapping_sub(self.ended);
        if !self.to.is_verified() {
            return queue;
        }
        queue.min(self.to.count.saturating_sub(self.requests.wrapping_sub(self.checked)))
    }

    /// Fills `list` with writes, up to the free queue space and until `bytes_max` is reached; returns the
    /// number of bytes.
    pub(super) fn fill(&mut self, list: &mut WorkList, id: u64, bytes_max: u64) -> u64 {
        list.clear();
        let mut bytes = 0;
        while self.room() > 0
            && !list.is_full()
            && bytes < bytes_max
            && let Some(&post) = self.waiting.front()
        {
            let write = self.write(&post, id);
            bytes += u64::from(write.bytes);
            list.push(&write);
        }
        if self.unsignalled.0 > 0 {
            // No later request might be signalled.
            list.signal_last();
            self.unsignalled = (0, 0);
        }
        bytes
    }

    /// Next write of the first queued chunk.
    fn write(&mut self, post: &Post, id: u64) -> Write {
        let left = post.bytes - self.posted_bytes;
        let bytes = left.min(self.rules.part_bytes);
        let (is_last, request, slot) = (bytes == left, self.requests, self.slot);
        self.requests = request.wrapping_add(1);
        self.slot = (slot + 1) % self.to.count;
        self.posted_bytes += bytes;
        self.unsignalled.0 += 1;
        if is_last {
            self.waiting.pop_front();
            self.posted_bytes = 0;
            self.unacknowledged.push_back((post.send, request));
            self.unsignalled.1 += 1;
        }
        let has_enough = is_last && self.unsignalled.1 >= self.rules.signal_every;
        let is_signalled = has_enough || self.unsignalled.0 >= self.rules.depth.div_ceil(2);
        if is_signalled {
            self.unsignalled = (0, 0);
        }
        Write {
            id: id | u64::from(request),
            from: self.from,
            to: (self.to.address + u64::from(slot) * self.to.bytes, self.to.key),
            bytes: bytes as u32,
            immediate: if self.rules.is_unreliable {
                Some(request)
            } else {
                (is_last || self.to.is_verified()).then_some(post.chunk)
            },
            is_signalled,
        }
    }

    /// Handles a completion: the request and all before it have succeeded.
    pub(super) fn on_acknowledged(&mut self, request: u32, at: Instant, events: &mut Vec<Event>) {
        if self.has_failed {
            return;
        }
        self.ended = request.wrapping_add(1);
        while let Some(&(send, last)) = self.unacknowledged.front()
            && request.wrapping_sub(last).cast_signed() >= 0
        {
            self.unacknowledged.pop_front();
            let seen = self.seen(last.wrapping_add(1));
            self.first = last.wrapping_add(1);
            events.push(Event::Completed { send, at, seen });
        }
    }

    /// Statistics of the oldest chunk, whose requests end before `end`.
    fn seen(&self, end: u32) -> SentCounts {
        let messages = if self.rules.is_unreliable { end.wrapping_sub(self.first) } else { 0 };
        SentCounts { messages: messages.into(), ..SentCounts::default() }
    }

    /// The run has ended: appends an event for the chunks that an unreliable connection has sent in part.
    /// Messages of all of them are those of the oldest.
    pub(super) fn end(&mut self, events: &mut Vec<Event>) {
        let waiting = self.waiting.front().map(|post| post.send);
        if self.rules.is_unreliable
            && let Some(send) = self.unacknowledged.front().map(|&(send, _)| send).or(waiting)
        {
            events.push(Event::Unsent { send, seen: self.seen(self.requests) });
        }
    }

    /// Handles a credit: the number of messages that the receiver has checked.
    pub(super) const fn on_credit(&mut self, checked: u32) {
        self.checked = checked;
    }

    /// Fails the queue pair with all its chunks; false if it had failed before.
    pub(super) fn fail(&mut self, events: &mut Vec<Event>) -> bool {
        let posted = self.unacknowledged.drain(..).map(|(send, _)| send);
        let sends = posted.chain(self.waiting.drain(..).map(|post| post.send));
        events.extend(sends.map(|send| Event::Failed { send, seen: SentCounts::default() }));
        !std::mem::replace(&mut self.has_failed, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ROOM: usize = 16;
    const ID: u64 = 7 << 33;

    /// Simulated adapter and receiver: posted writes and their signalled completions.
    struct Adapter {
        work: Work,
        list: WorkList,
        to: Slots,
        rules: Rules,
        /// All writes in order.
        writes: Vec<Write>,
        acknowledged: usize,
        checked: usize,
        events: Vec<Event>,
    }

    impl Adapter {
        fn new(rules: Rules, to: Slots) -> Self {
            let mut work = Work::new((0x5000, 5), rules);
            work.set_target(to);
            let list = WorkList::new(ROOM);
            Self { work, list, to, rules, writes: vec![], acknowledged: 0, checked: 0, events: vec![] }
        }

        /// Posts once, and checks the result.
        fn post(&mut self) {
            self.work.fill(&mut self.list, ID, u64::MAX);
            let posted = self.list.writes();
            assert!(posted.last().is_none_or(|write| write.is_signalled), "the last one is signalled");
            self.writes.extend(posted);
            assert!(self.writes.len() - self.acknowledged <= self.rules.depth as usize);
            if self.to.count > 1 {
                assert!(self.writes.len() - self.checked <= self.to.count as usize, "a slot is free");
            }
        }

        /// Acknowledges all posted writes, as far as they are signalled.
        fn acknowledge(&mut self) {
            for index in self.acknowledged..self.writes.len() {
                if self.writes[index].is_signalled {
                    self.acknowledged = index + 1;
                    let request = self.writes[index].id as u32;
                    self.work.on_acknowledged(request, Instant::ZERO, &mut self.events);
                }
            }
        }

        fn check(&mut self) {
            self.checked = self.writes.len();
            self.work.on_credit(self.checked as u32);
        }

        fn completed(&self) -> Vec<u32> {
            let completed = self.events.iter().map(|event| match event {
                Event::Completed { send, .. } => *send,
                other => panic!("{other:?}"),
            });
            completed.collect()
        }
    }

    fn post(send: u32, bytes: u64) -> Post {
        Post { pair: 0, send, chunk: 1_000 + send, pass: 0, bytes }
    }

    proptest! {
        #[test]
        fn every_byte_is_written_once_and_every_chunk_completes_in_order(
            chunks in prop::collection::vec(0_u64..5_000, 1..40),
            part_bytes in 1_u64..2_000,
            depth in 2_u32..20,
            signal_every in 1_u32..10,
            count in 1_u32..5,
            steps in prop::collection::vec(0..3, 0..60),
        ) {
            let to = Slots { address: 0x9000, key: 9, bytes: 1_500, count };
            let mut adapter = Adapter::new(Rules { part_bytes, depth, signal_every, is_unreliable: false }, to);
            let mut waiting = (0..).zip(&chunks);
            for step in steps {
                match step {
                    0 => if let Some((send, &bytes)) = waiting.next() {
                        prop_assert!(adapter.work.enqueue(&post(send, bytes)));
                    },
                    1 => adapter.post(),
                    _ => { adapter.acknowledge(); adapter.check(); }
                }
            }
            for (send, &bytes) in waiting {
                prop_assert!(adapter.work.enqueue(&post(send, bytes)));
            }
            for _ in 0..chunks.len() * 5_000 {
                adapter.acknowledge();
                adapter.check();
                if !adapter.work.can_post() {
                    break;
                }
                adapter.post();
            }
            prop_assert_eq!(adapter.completed(), (0..chunks.len() as u32).collect::<Vec<_>>());
            let mut writes = adapter.writes.iter().enumerate();
            for (send, &bytes) in (0..).zip(&chunks) {
                let mut left = bytes;
                loop {
                    let (index, write) = writes.next().expect("a write of each chunk");
                    prop_assert!(u64::from(write.bytes) <= left.min(part_bytes).min(to.bytes));
                    prop_assert_eq!(write.to.0, to.address + index as u64 % u64::from(count) * to.bytes);
                    left -= u64::from(write.bytes);
                    let is_immediate = left == 0 || count > 1;
                    prop_assert_eq!(write.immediate, is_immediate.then_some(1_000 + send));
                    if left == 0 {
                        break;
                    }
                    prop_assert!(write.bytes > 0);
                }
            }
            prop_assert!(writes.next().is_none());
        }
    }

    #[test]
    fn of_chunks_posted_at_once_few_are_signalled() {
        let to = Slots { address: 0, key: 0, bytes: 4_096, count: 1 };
        let mut adapter =
            Adapter::new(Rules { part_bytes: 64, depth: 128, signal_every: 8, is_unreliable: false }, to);
        (0..12).for_each(|send| assert!(adapter.work.enqueue(&post(send, 64))));
        adapter.post();
        let signalled: Vec<usize> = (0..12).filter(|&index| adapter.writes[index].is_signalled).collect();
        assert_eq!(signalled, [7, 11]);
    }

    #[test]
    fn a_failure_is_reported_once_and_ends_the_queue() {
        let to = Slots { address: 0, key: 0, bytes: 4_096, count: 1 };
        let mut adapter =
            Adapter::new(Rules { part_bytes: 64, depth: 2, signal_every: 1, is_unreliable: false }, to);
        (0..4).for_each(|send| assert!(adapter.work.enqueue(&post(send, 64))));
        adapter.post();
        assert!(adapter.work.fail(&mut adapter.events));
        assert_eq!(adapter.events.len(), 4);
        assert!(!adapter.work.fail(&mut adapter.events) && !adapter.work.enqueue(&post(4, 64)));
        adapter.acknowledge();
        assert_eq!(adapter.events.len(), 4);
    }
}
