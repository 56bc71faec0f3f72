//! Reports of chunks (parts of transfers) that were delivered and not yet acknowledged, in a hash table whose
//! buckets are cache lines; number of rounds (repetitions of the job) in which each chunk has ended.

use crate::record::{Key, PlainReceive, ReceiveReport};
use engine::prefetch::prefetch;
use units::NumberMap;

/// Initial number of lines.
const LINES_MIN: usize = 32;

/// Delivery reports that wait for the report of the sender: a hash table of plain reports, and a map of the
/// others.
///
/// Few reports wait at a time, most of them plain. The hash of a chunk selects one cache line, which can
/// therefore be prefetched; the adjacent line is only used if that one is or was full.
#[derive(Debug)]
pub(crate) struct Deliveries {
    /// A power of two; at least half of the slots are free.
    lines: Vec<Line>,
    /// Reports in `lines`.
    waiting: usize,
    /// Reports that are not plain, and those whose lines are full.
    others: NumberMap<Key, ReceiveReport>,
}

/// The slots of one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line([PlainReceive; 2]);

impl Line {
    const FREE: Self = Self([PlainReceive::NONE; 2]);

    /// The first free slot.
    #[inline]
    fn free(&mut self) -> Option<&mut PlainReceive> {
        // A branch per slot would be mispredicted.
        let slot = &mut self.0[usize::from(!self.0[0].is_none())];
        slot.is_none().then_some(slot)
    }

    /// The slot of a report.
    #[inline]
    fn of(&mut self, key: Key) -> Option<&mut PlainReceive> {
        let slot = &mut self.0[usize::from(self.0[0].key() != key)];
        (slot.key() == key).then_some(slot)
    }
}

impl Deliveries {
    pub(crate) fn new() -> Self {
        Self { lines: vec![Line::FREE; LINES_MIN], waiting: 0, others: NumberMap::default() }
    }

    /// Prefetches the line of a report.
    #[inline]
    pub(crate) fn prefetch(&self, key: Key) {
        prefetch(&self.lines, self.line_of(key));
    }

    #[inline]
    pub(crate) fn insert(&mut self, report: &PlainReceive) {
        if self.waiting >= self.lines.len() {
            self.grow();
        }
        let line = self.line_of(report.key());
        let slot = match self.lines[line].free() {
            Some(slot) => Some(slot),
            None => self.lines[line ^ 1].free(),
        };
        match slot {
            Some(slot) => {
                *slot = *report;
                self.waiting += 1;
            }
            None => self.insert_other(report.report()),
        }
    }

    /// Inserts a report into the map.
    #[cold]
    pub(crate) fn insert_other(&mut self, report: ReceiveReport) {
        self.others.insert((report.chunk, report.round), report);
    }

    /// Removes and returns a report, if present.
    pub(crate) fn take(&mut self, key: Key) -> Option<ReceiveReport> {
        let in_line = self.take_from_line(key);
        in_line.map(|plain| plain.report()).or_else(|| self.others.remove(&key))
    }

    /// [`Self::take`], only from the lines.
    #[inline]
    pub(crate) fn take_from_line(&mut self, key: Key) -> Option<PlainReceive> {
        let line = self.line_of(key);
        let slot = match self.lines[line].of(key) {
            Some(slot) => slot,
            None => self.lines[line ^ 1].of(key)?,
        };
        self.waiting -= 1;
        Some(std::mem::replace(slot, PlainReceive::NONE))
    }

    /// The line of a report.
    #[inline]
    fn line_of(&self, (chunk, round): Key) -> usize {
        let key = u64::from(round) << u32::BITS | u64::from(chunk);
        // Both halves of a product with the golden ratio: a single half clusters, as chunk numbers advance in
        // steps.
        let product = u128::from(key) * 0x9e37_79b9_7f4a_7c15;
        (product as u64 ^ (product >> 64) as u64) as usize & (self.lines.len() - 1)
    }

    #[cold]
    fn grow(&mut self) {
        let lines = vec![Line::FREE; 2 * self.lines.len()];
        let before = std::mem::replace(&mut self.lines, lines);
        self.waiting = 0;
        let reports = before.iter().flat_map(|line| &line.0).filter(|slot| !slot.is_none());
        reports.for_each(|report| self.insert(report));
    }
}

/// Number of rounds in which each chunk has ended.
#[derive(Debug)]
pub(crate) enum RoundsEnded {
    /// One bit per chunk, if no job has more than one round.
    Once(Vec<u64>),
    Counted(Vec<u32>),
}

impl RoundsEnded {
    /// Zero for each of `chunks` chunks in at most `rounds` rounds.
    pub(crate) fn new(chunks: u32, rounds: u32) -> Self {
        match rounds {
            0 | 1 => Self::Once(vec![0; chunks.div_ceil(u64::BITS) as usize]),
            _ => Self::Counted(vec![0; chunks as usize]),
        }
    }

    /// Prefetches the entry of a chunk.
    #[inline]
    pub(crate) fn prefetch(&self, chunk: u32) {
        match self {
            Self::Once(bits) => prefetch(bits, (chunk / u64::BITS) as usize),
            Self::Counted(counts) => prefetch(counts, chunk as usize),
        }
    }

    /// Counts one more round in which a chunk has ended.
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
    use units::Instant;

    /// A report with the given number of bytes.
    fn report((chunk, round): Key, bytes: u64) -> ReceiveReport {
        let mut report = ReceiveReport::new(chunk, round).delivered_at(Instant(7));
        report.bytes = bytes;
        report
    }

    proptest! {
        /// Behaves like a map.
        #[test]
        fn a_report_is_found_once(
            steps in prop::collection::vec((0..40_u32, 0..4_u32, any::<bool>(), any::<bool>()), 0..600),
        ) {
            let (mut deliveries, mut map) = (Deliveries::new(), HashMap::new());
            for (chunk, round, is_insertion, is_plain) in steps {
                let key = (chunk, round);
                if is_insertion && !map.contains_key(&key) {
                    let new = report(key, map.len() as u64);
                    match PlainReceive::of(&new) {
                        Some(plain) if is_plain => deliveries.insert(&plain),
                        _ => deliveries.insert_other(new),
                    }
                    map.insert(key, map.len() as u64);
                } else {
                    prop_assert_eq!(deliveries.take(key).map(|report| report.bytes), map.remove(&key));
                }
            }
            for (key, bytes) in map {
                prop_assert_eq!(deliveries.take(key).map(|report| report.bytes), Some(bytes));
            }
            prop_assert_eq!(deliveries.waiting, 0);
        }
    }

    proptest! {
        #[test]
        fn a_single_end_needs_no_count(ended in prop::collection::btree_set(0..300_u32, 0..100)) {
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
    fn lines_are_used_again() {
        let mut deliveries = Deliveries::new();
        for round in 0..100 {
            let keys = (0..LINES_MIN as u32).map(|chunk| (chunk, round));
            keys.clone().for_each(|key| deliveries.insert(&PlainReceive::of(&report(key, 1)).unwrap()));
            assert!(keys.clone().all(|key| deliveries.take(key).is_some()));
        }
        assert_eq!(deliveries.lines.len(), LINES_MIN);
    }
}
