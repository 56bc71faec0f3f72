//! Builder of schedules that are lists: adds transfers in posting order and checks the invariants.

use super::lists::Lists;
use crate::{Schedule, Transfer};
use units::{Span, TransferId};

/// Builds a [`Schedule`] from transfers in posting order and checks its invariants. A violation is a bug of
/// the pattern, so every check is an assertion.
#[derive(Debug)]
pub struct ScheduleBuilder {
    transfers: Vec<Transfer>,
    dependency_starts: Vec<u32>,
    dependencies: Vec<TransferId>,
}

impl ScheduleBuilder {
    /// A builder with capacity for `transfers` transfers and `dependencies` dependencies.
    #[must_use]
    pub fn with_capacity(transfers: u64, dependencies: u64) -> Self {
        let mut dependency_starts = Vec::with_capacity(transfers as usize + 1);
        dependency_starts.push(0);
        Self {
            transfers: Vec::with_capacity(transfers as usize),
            dependency_starts,
            dependencies: Vec::with_capacity(dependencies as usize),
        }
    }

    /// Adds a transfer that starts once all of `after` have been delivered. As these were added earlier,
    /// there are no cyclic dependencies.
    ///
    /// # Panics
    /// When the transfer is to its sender, or when one of `after` has not been added or does not end at the
    /// sender.
    pub fn push(&mut self, transfer: Transfer, after: &[TransferId]) -> TransferId {
        let id = TransferId::from_index(self.transfers.len());
        assert!(transfer.src != transfer.dst, "transfer {id} is from rank {} to itself", transfer.src);
        for &before in after {
            self.check_dependency(before, id, &transfer);
        }
        self.transfers.push(transfer);
        self.dependencies.extend_from_slice(after);
        self.dependency_starts.push(TransferId::from_index(self.dependencies.len()).0);
        id
    }

    fn check_dependency(&self, before: TransferId, id: TransferId, transfer: &Transfer) {
        assert!(before < id, "transfer {id} waits for {before}, which is not before it");
        let (end, start) = (self.transfers[before.index()].dst, transfer.src);
        assert!(end == start, "transfer {id} from rank {start} waits for {before}, which ends at rank {end}");
    }

    /// Number of transfers that an added transfer waits for.
    pub(crate) fn dependencies(&self, transfer: TransferId) -> u32 {
        let starts = &self.dependency_starts[transfer.index()..][..2];
        starts[1] - starts[0]
    }

    /// The schedule.
    #[must_use]
    pub fn finish(self) -> Schedule {
        Schedule::listed(Lists::new(self.transfers, self.dependency_starts, &self.dependencies))
    }

    /// The schedule, with [`Schedule::releases`]: one for each transfer, in order.
    pub(crate) fn finish_released(self, releases: Vec<Span>) -> Schedule {
        self.finish().released(releases)
    }

    /// The schedule, with [`Schedule::is_blocking`].
    #[must_use]
    pub fn finish_blocking(self) -> Schedule {
        self.finish().blocking()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Rank;

    fn transfer(src: u32, dst: u32) -> Transfer {
        Transfer { src: Rank(src), dst: Rank(dst), bytes: 8, step: 0, channel: 0, block: 0 }
    }

    #[test]
    fn successors_are_the_inverse_of_dependencies() {
        let mut builder = ScheduleBuilder::with_capacity(4, 4);
        let a = builder.push(transfer(0, 2), &[]);
        let b = builder.push(transfer(1, 2), &[]);
        let both = builder.push(transfer(2, 3), &[a, b]);
        let one = builder.push(transfer(2, 0), &[b]);
        let schedule = builder.finish();
        assert_eq!([a, b, both, one].map(|id| schedule.dependencies(id)), [0, 0, 2, 1]);
        let successors = |id| schedule.successors(id).collect::<Vec<_>>();
        assert_eq!([a, b, both, one].map(successors), [vec![both], vec![both, one], vec![], vec![]]);
        assert_eq!((schedule.transfers().len(), schedule.total_bytes()), (4, 32));
    }

    #[test]
    #[should_panic(expected = "transfer 1 from rank 1 waits for 0, which ends at rank 2")]
    fn a_dependency_that_ends_elsewhere_is_refused() {
        let mut builder = ScheduleBuilder::with_capacity(2, 1);
        let first = builder.push(transfer(0, 2), &[]);
        builder.push(transfer(1, 3), &[first]);
    }

    #[test]
    #[should_panic(expected = "transfer 0 waits for 0, which is not before it")]
    fn a_dependency_that_was_not_added_is_refused() {
        ScheduleBuilder::with_capacity(1, 1).push(transfer(0, 1), &[TransferId(0)]);
    }

    #[test]
    #[should_panic(expected = "transfer 0 is from rank 4 to itself")]
    fn a_transfer_to_its_sender_is_refused() {
        ScheduleBuilder::with_capacity(1, 0).push(transfer(4, 4), &[]);
    }
}
