//! What was delivered and is not yet acknowledged.

use crate::assemble::Key;
use crate::hash::NumberMap;
use crate::prefetch::{prefetch, prefetch_whole};
use crate::record::ReceiveReport;

/// Reports that wait for the other end of their chunk, and how often each chunk has ended.
///
/// A chunk seldom has more than one report waiting: its next round begins when both ends are done with this one. So a chunk
/// knows where its newest is, and each report the one before it. Few wait at a time, in places that are used again.
#[derive(Debug)]
pub(crate) struct Deliveries {
    chunks: Vec<ChunkState>,
    waiting: Vec<Waiting>,
    /// The first place of a report that is free; as [`ChunkState::newest`].
    free: u32,
    /// Of storage operations, which nobody counts beforehand.
    of_operations: NumberMap<Key, ReceiveReport>,
}

/// What is known of a chunk.
#[derive(Clone, Copy, Debug, Default)]
struct ChunkState {
    /// One more than the place of the report that came last; 0 if none waits.
    newest: u32,
    rounds_ended: u32,
}

/// A report, or a free place.
#[derive(Debug)]
struct Waiting {
    report: ReceiveReport,
    /// The report of the same chunk that came before it, or the next free place; as [`ChunkState::newest`].
    next: u32,
}

impl Deliveries {
    pub(crate) fn new(chunks: u32) -> Self {
        Self {
            chunks: vec![ChunkState::default(); chunks as usize],
            waiting: Vec::new(),
            free: 0,
            of_operations: NumberMap::default(),
        }
    }

    /// Asks for what is known of a chunk.
    #[inline]
    pub(crate) fn prefetch(&self, chunk: u32) {
        prefetch(&self.chunks, chunk as usize);
    }

    /// Asks for the report of a chunk of which [`Self::prefetch`] has asked for the rest.
    #[inline]
    pub(crate) fn prefetch_report(&self, chunk: u32) {
        if let Some(ChunkState { newest: place @ 1.., .. }) = self.chunks.get(chunk as usize) {
            prefetch_whole(&self.waiting, *place as usize - 1);
        }
    }

    /// Keeps the report of a chunk in a round.
    pub(crate) fn insert(&mut self, report: ReceiveReport) {
        let Some(state) = self.chunks.get_mut(report.chunk as usize) else {
            self.of_operations.insert((report.chunk, report.round), report);
            return;
        };
        let waiting = Waiting { report, next: state.newest };
        if let Some(place) = self.free.checked_sub(1) {
            let freed = std::mem::replace(&mut self.waiting[place as usize], waiting);
            state.newest = std::mem::replace(&mut self.free, freed.next);
        } else {
            self.waiting.push(waiting);
            state.newest = self.waiting.len() as u32;
        }
    }

    /// Takes the report of a chunk in a round, if one waits.
    pub(crate) fn take(&mut self, chunk: u32, round: u32) -> Option<ReceiveReport> {
        let Some(state) = self.chunks.get_mut(chunk as usize) else {
            return self.of_operations.remove(&(chunk, round));
        };
        let (mut later, mut place) = (None, state.newest);
        loop {
            let waiting = &self.waiting[place.checked_sub(1)? as usize];
            if waiting.report.round == round {
                break;
            }
            (later, place) = (Some(place), waiting.next);
        }
        let taken = &mut self.waiting[place as usize - 1];
        let (report, before) = (taken.report, std::mem::replace(&mut taken.next, self.free));
        self.free = place;
        match later {
            None => state.newest = before,
            Some(later) => self.waiting[later as usize - 1].next = before,
        }
        Some(report)
    }

    /// A chunk has ended in one more round.
    #[inline]
    pub(crate) fn end_round(&mut self, chunk: u32) {
        self.chunks[chunk as usize].rounds_ended += 1;
    }

    /// Rounds in which a chunk has ended.
    pub(crate) fn rounds_ended(&self, chunk: u32) -> u32 {
        self.chunks[chunk as usize].rounds_ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        /// As a map of the same would; chunks from 4 on stand for operations.
        #[test]
        fn a_report_is_found_once(steps in prop::collection::vec((0..6_u32, 0..4_u32, any::<bool>()), 0..200)) {
            let (mut deliveries, mut map) = (Deliveries::new(4), HashMap::new());
            for (chunk, round, is_insertion) in steps {
                if is_insertion && !map.contains_key(&(chunk, round)) {
                    let mut report = ReceiveReport::new(chunk, round);
                    report.bytes = map.len() as u64;
                    deliveries.insert(report);
                    map.insert((chunk, round), map.len() as u64);
                } else {
                    let found = deliveries.take(chunk, round).map(|report| report.bytes);
                    prop_assert_eq!(found, map.remove(&(chunk, round)));
                }
            }
            for ((chunk, round), bytes) in map {
                prop_assert_eq!(deliveries.take(chunk, round).map(|report| report.bytes), Some(bytes));
            }
        }
    }

    #[test]
    fn places_are_used_again() {
        let mut deliveries = Deliveries::new(8);
        for round in 0..100 {
            (0..8).for_each(|chunk| deliveries.insert(ReceiveReport::new(chunk, round)));
            assert!((0..8).all(|chunk| deliveries.take(chunk, round).is_some()));
        }
        assert_eq!(deliveries.waiting.len(), 8);
    }
}
