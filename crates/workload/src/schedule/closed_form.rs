//! Closed-form schedules: each transfer is computed from its number, nothing is stored.

use crate::Transfer;
use std::fmt::Debug;
use std::ops::Range;
use units::TransferId;

/// Transfers computed from their numbers, in the order of a [`crate::Schedule`]. Each depends on at most one
/// other, and has at most one successor.
pub(crate) trait ClosedForm: Debug + Send + Sync {
    /// Number of transfers.
    fn count(&self) -> u32;

    /// Transfer number `id`.
    fn transfer(&self, id: TransferId) -> Transfer;

    /// Payload of a transfer [bytes].
    fn bytes(&self, id: TransferId) -> u64 {
        self.transfer(id).bytes
    }

    /// Payload of each transfer [bytes], if all are equal and none depends on another.
    fn independent_bytes(&self) -> Option<u64> {
        None
    }

    /// Calls `visit` with the transfers of `ids`, in order.
    fn each(&self, ids: Range<u32>, visit: &mut dyn FnMut(Transfer)) {
        ids.for_each(|id| visit(self.transfer(TransferId(id))));
    }

    /// Payload of all transfers [bytes].
    fn total_bytes(&self) -> u64 {
        (0..self.count()).map(|id| self.bytes(TransferId(id))).sum()
    }

    /// Number of transfers after which the sequence of (sender, receiver, channel) repeats; all are distinct
    /// within a period.
    fn period(&self) -> u32 {
        self.count()
    }

    /// The transfer that must be delivered before this one may start.
    fn predecessor(&self, _id: TransferId) -> Option<TransferId> {
        None
    }

    /// The transfer that waits for the delivery of this one.
    fn successor(&self, _id: TransferId) -> Option<TransferId> {
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::{Schedule, ScheduleBuilder, Shape, find};
    use proptest::prelude::*;
    use std::collections::HashSet;
    use units::{Rank, Seed, TransferId};

    const CLOSED: [(&str, &str); 9] = [
        ("all-to-all", "parallel"),
        ("all-to-all", "pairwise"),
        ("all-gather", "neighbour-exchange"),
        ("all-gather", "ring"),
        ("all-gather", "ring-bidirectional"),
        ("reduce-scatter", "ring"),
        ("reduce-scatter", "ring-bidirectional"),
        ("all-reduce", "ring"),
        ("all-reduce", "ring-bidirectional"),
    ];

    /// The same schedule as lists, checked by the builder.
    fn listed(schedule: &Schedule) -> Schedule {
        let form = schedule.closed_form().expect("it is one");
        let mut builder = ScheduleBuilder::with_capacity(form.count().into(), form.count().into());
        for id in (0..form.count()).map(TransferId) {
            builder.push(form.transfer(id), form.predecessor(id).as_slice());
        }
        builder.finish()
    }

    proptest! {
        #[test]
        fn a_closed_form_is_a_schedule(pick in 0..CLOSED.len(), half in 1..12_u32, is_odd: bool, share in 1..50_u64) {
            let (collective, algorithm) = CLOSED[pick];
            let pattern = find(collective, algorithm).unwrap().pattern;
            let ranks = 2 * half + u32::from(is_odd && pattern.supports(3).is_ok());
            let stream = Seed(1).stream("test", 0);
            let schedule = pattern.schedule(&Shape { ranks, data_bytes: share * u64::from(ranks), root: Rank(0), stream });
            let listed = listed(&schedule);
            prop_assert!(schedule.transfers().eq(listed.transfers()));
            let mut handed_out = Vec::new();
            schedule.each_transfer(0..schedule.transfers().len() as u32, |transfer| handed_out.push(transfer));
            prop_assert!(listed.transfers().eq(handed_out));
            prop_assert_eq!(schedule.total_bytes(), listed.total_bytes());
            if let Some(bytes) = schedule.independent_bytes() {
                let is_independent = |id| schedule.bytes(id) == bytes && schedule.dependencies(id) == 0;
                prop_assert!((0..schedule.transfers().len()).map(TransferId::from_index).all(is_independent));
            }
            for id in (0..schedule.transfers().len()).map(TransferId::from_index) {
                prop_assert!(schedule.successors(id).eq(listed.successors(id)));
                prop_assert_eq!(schedule.dependencies(id), listed.dependencies(id));
                prop_assert_eq!(schedule.bytes(id), listed.bytes(id));
            }
        }

        #[test]
        fn connections_come_again_after_a_period(pick in 0..CLOSED.len(), half in 1..12_u32) {
            let pattern = find(CLOSED[pick].0, CLOSED[pick].1).unwrap().pattern;
            let stream = Seed(1).stream("test", 0);
            let shape = Shape { ranks: 2 * half, data_bytes: 2 * u64::from(half), root: Rank(0), stream };
            let schedule = pattern.schedule(&shape);
            let period = schedule.period().expect("it has one") as usize;
            let ends: Vec<_> = schedule.transfers().map(|t| (t.src, t.dst, t.channel)).collect();
            prop_assert_eq!(ends[..period].iter().collect::<HashSet<_>>().len(), period);
            prop_assert!(ends.iter().zip(&ends[period..]).all(|(before, after)| before == after));
        }
    }
}
