//! What was delivered and is not yet acknowledged.

use crate::assemble::Key;
use crate::hash::NumberMap;
use crate::prefetch::{prefetch, prefetch_whole};
use crate::record::ReceiveReport;

/// Reports that wait for the other end of their chunk.
///
/// A chunk seldom has more than one report waiting: its next round begins when both ends are done with this one. So a chunk
/// knows where its newest is, and each report the one before it. Few wait at a time, in places that are used again.
#[derive(Debug)]
pub(crate) struct Deliveries {
    /// By chunk: one more than the place of the report that came last; 0 if none waits.
    newest: Vec<u32>,
    waiting: Vec<Waiting>,
    /// Places that are free: a list of its own, for places that led to each other would be waited for one by one.
    free: Vec<u32>,
    /// Of storage operations, which nobody counts beforehand.
    of_operations: NumberMap<Key, ReceiveReport>,
}

/// A report.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    report: ReceiveReport,
    /// One more than the place of the report of the same chunk that came before it; 0 if there is none.
    before: u32,
}

impl Deliveries {
    pub(crate) fn new(chunks: u32) -> Self {
        Self {
            newest: vec![0; chunks as usize],
            waiting: Vec::new(),
            free: Vec::new(),
            of_operations: NumberMap::default(),
        }
    }

    /// Asks for what is known of a chunk.
    #[inline]
    pub(crate) fn prefetch(&self, chunk: u32) {
        prefetch(&self.newest, chunk as usize);
    }

    /// Asks for the place that the report after so many others will take.
    #[inline]
    pub(crate) fn prefetch_place(&self, others: usize) {
        if let Some(&place) = self.free.len().checked_sub(others + 1).and_then(|last| self.free.get(last)) {
            prefetch_whole(&self.waiting, place as usize);
        }
    }

    /// Asks for the report of a chunk of which [`Self::prefetch`] has asked for the rest.
    #[inline]
    pub(crate) fn prefetch_report(&self, chunk: u32) {
        if let Some(place @ 1..) = self.newest.get(chunk as usize) {
            prefetch_whole(&self.waiting, *place as usize - 1);
        }
    }

    /// Keeps the report of a chunk in a round.
    pub(crate) fn insert(&mut self, report: &ReceiveReport) {
        let Some(newest) = self.newest.get_mut(report.chunk as usize) else {
            self.of_operations.insert((report.chunk, report.round), *report);
            return;
        };
        let waiting = Waiting { report: *report, before: *newest };
        let place = self.free.pop().unwrap_or(self.waiting.len() as u32);
        match self.waiting.get_mut(place as usize) {
            Some(free) => *free = waiting,
            None => self.waiting.push(waiting),
        }
        *newest = place + 1;
    }

    /// Takes the report of a chunk in a round, if one waits.
    pub(crate) fn take(&mut self, chunk: u32, round: u32) -> Option<ReceiveReport> {
        let Some(newest) = self.newest.get_mut(chunk as usize) else {
            return self.of_operations.remove(&(chunk, round));
        };
        let (mut later, mut place) = (None, newest.checked_sub(1)?);
        while self.waiting[place as usize].report.round != round {
            later = Some(place);
            place = self.waiting[place as usize].before.checked_sub(1)?;
        }
        let Waiting { report, before } = self.waiting[place as usize];
        self.free.push(place);
        match later {
            None => *newest = before,
            Some(later) => self.waiting[later as usize].before = before,
        }
        Some(report)
    }
}

/// In how many rounds each chunk has ended.
#[derive(Debug)]
pub(crate) enum RoundsEnded {
    /// Whether, where no job has more than one: a bit for each chunk.
    Once(Vec<u64>),
    Counted(Vec<u32>),
}

impl RoundsEnded {
    /// None so far, of so many chunks in so many rounds at the most.
    pub(crate) fn new(chunks: u32, rounds: u32) -> Self {
        match rounds {
            0 | 1 => Self::Once(vec![0; chunks.div_ceil(u64::BITS) as usize]),
            _ => Self::Counted(vec![0; chunks as usize]),
        }
    }

    /// Asks for what is known of a chunk.
    #[inline]
    pub(crate) fn prefetch(&self, chunk: u32) {
        match self {
            Self::Once(bits) => prefetch(bits, (chunk / u64::BITS) as usize),
            Self::Counted(counts) => prefetch(counts, chunk as usize),
        }
    }

    /// A chunk has ended in one more round.
    #[inline]
    pub(crate) fn count(&mut self, chunk: u32) {
        match self {
            Self::Once(bits) => bits[(chunk / u64::BITS) as usize] |= 1 << (chunk % u64::BITS),
            Self::Counted(counts) => counts[chunk as usize] += 1,
        }
    }

    /// Rounds in which a chunk has ended.
    pub(crate) fn of(&self, chunk: u32) -> u32 {
        match self {
            Self::Once(bits) => (bits[(chunk / u64::BITS) as usize] >> (chunk % u64::BITS) & 1) as u32,
            Self::Counted(counts) => counts[chunk as usize],
        }
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
                    deliveries.insert(&report);
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

    proptest! {
        #[test]
        fn what_ends_once_needs_no_count(ended in prop::collection::btree_set(0..300_u32, 0..100)) {
            let [mut once, mut counted] = [1, 2].map(|rounds| RoundsEnded::new(300, rounds));
            for &chunk in &ended {
                once.count(chunk);
                counted.count(chunk);
            }
            for chunk in 0..300 {
                let expected = u32::from(ended.contains(&chunk));
                prop_assert_eq!((once.of(chunk), counted.of(chunk)), (expected, expected));
            }
        }
    }

    #[test]
    fn places_are_used_again() {
        let mut deliveries = Deliveries::new(8);
        for round in 0..100 {
            (0..8).for_each(|chunk| deliveries.insert(&ReceiveReport::new(chunk, round)));
            assert!((0..8).all(|chunk| deliveries.take(chunk, round).is_some()));
        }
        assert_eq!(deliveries.waiting.len(), 8);
    }
}
