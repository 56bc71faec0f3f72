//! Time at which each chunk (part of a transfer between ranks) of a host was posted to its queue pair, and,
//! before that, whether all data on which it depends has arrived.

use engine::prefetch::prefetch;
use std::ops::Range;
use units::Instant;

/// Value for a chunk whose dependencies have not arrived.
const WAITING: Instant = Instant::NEVER;

/// Value for a chunk that is ready but has to wait for its predecessor.
const READY: Instant = Instant(Instant::NEVER.0 - 1);

/// Value of [`Posted::first`] if all chunks are in the list.
const LISTED: u32 = u32::MAX;

/// Post time of each chunk of a list. Chunks without dependencies are posted in order at one time: while this
/// is so for all, only that time and their number are stored.
#[derive(Debug)]
pub(super) struct Posted {
    /// Post time of each; before it, [`WAITING`], then [`READY`]. Empty while the other fields determine it.
    each: Box<[Instant]>,
    /// Number of chunks posted, from the start of the list; [`LISTED`] once `each` is in use.
    first: u32,
    /// The next chunk is ready.
    is_next_ready: bool,
    /// Post time of these chunks.
    at: Instant,
    chunks: u32,
}

impl Posted {
    /// `chunks` chunks, all of which wait.
    pub(super) fn new(chunks: u32) -> Self {
        Self { each: Box::default(), first: 0, is_next_ready: false, at: WAITING, chunks }
    }

    /// Post time of a chunk.
    #[inline]
    pub(super) fn of(&self, chunk: u32) -> Instant {
        match self.each.get(chunk as usize) {
            Some(posted) => *posted,
            None if chunk < self.first => self.at,
            None if chunk == self.first && self.is_next_ready => READY,
            None => WAITING,
        }
    }

    /// The dependencies of a chunk have arrived.
    #[inline]
    pub(super) fn make_ready(&mut self, chunk: u32) {
        if chunk == self.first {
            self.is_next_ready = true;
        } else {
            self.list()[chunk as usize] = READY;
        }
    }

    /// Posts a chunk, if its dependencies have arrived; false if they have not.
    #[inline]
    pub(super) fn post(&mut self, chunk: u32, now: Instant) -> bool {
        let follows = self.is_next_ready && chunk == self.first && (chunk == 0 || self.at == now);
        if !follows {
            return self.post_otherwise(chunk, now);
        }
        (self.first, self.is_next_ready, self.at) = (chunk + 1, false, now);
        true
    }

    /// Same, for a chunk that is not posted at the time of its predecessors.
    fn post_otherwise(&mut self, chunk: u32, now: Instant) -> bool {
        let is_ready = self.of(chunk) == READY;
        if is_ready {
            self.list()[chunk as usize] = now;
        }
        is_ready
    }

    /// Makes chunks wait for their dependencies again.
    pub(super) fn rearm(&mut self, chunks: Range<u32>) {
        self.list()[chunks.start as usize..chunks.end as usize].fill(WAITING);
    }

    /// Prefetches the post time of a chunk.
    #[inline]
    pub(super) fn prefetch(&self, chunk: usize) {
        prefetch(&self.each, chunk);
    }

    /// The list of post times; created if necessary.
    fn list(&mut self) -> &mut [Instant] {
        if self.each.is_empty() {
            self.each = (0..self.chunks).map(|chunk| self.of(chunk)).collect();
            (self.first, self.is_next_ready) = (LISTED, false);
        }
        &mut self.each
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Equivalent to a list of each.
        #[test]
        fn transfers_posted_together_are_known_as_well(
            in_order in 0..6_u32,
            steps in prop::collection::vec((0..6_u32, 0..3_u8, 0..3_u64), 0..40),
        ) {
            let (mut posted, mut list) = (Posted::new(6), [WAITING; 6]);
            for chunk in 0..in_order {
                posted.make_ready(chunk);
                prop_assert!(posted.post(chunk, Instant(1)));
                list[chunk as usize] = Instant(1);
            }
            prop_assert!(posted.each.is_empty());
            for (chunk, step, now) in steps {
                let expected = &mut list[chunk as usize];
                match step {
                    0 => {
                        posted.make_ready(chunk);
                        *expected = READY;
                    }
                    1 => {
                        let is_ready = *expected == READY;
                        *expected = if is_ready { Instant(now) } else { *expected };
                        prop_assert_eq!(posted.post(chunk, Instant(now)), is_ready);
                    }
                    _ => {
                        posted.rearm(chunk..chunk + 1);
                        *expected = WAITING;
                    }
                }
                prop_assert!((0..6).all(|chunk| posted.of(chunk) == list[chunk as usize]));
            }
        }
    }
}
