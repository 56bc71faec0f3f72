//! What every collective algorithm is.

use crate::{Peer, Relay, Schedule, Shape, WorkloadError};

/// A collective carried out by one algorithm. One file each; [`crate::patterns`] lists them.
pub trait Pattern: Sync {
    /// Such as `all-reduce`.
    fn collective(&self) -> &'static str;

    /// Such as `ring`.
    fn algorithm(&self) -> &'static str;

    /// That the algorithm is defined for so many ranks; every algorithm needs at least 2.
    ///
    /// # Errors
    /// When it is not; says which numbers it takes.
    fn supports(&self, _ranks: u32) -> Result<(), WorkloadError> {
        Ok(())
    }

    /// Into how many parts a data size of `data_bytes` is cut; see [`crate::Parts`].
    fn parts(&self, ranks: u32, data_bytes: u64) -> u64;

    /// How many transfers the schedule has.
    fn transfers(&self, ranks: u32, data_bytes: u64) -> u64;

    /// Whether the schedule is a list of its transfers; otherwise each follows from its number.
    fn is_listed(&self) -> bool {
        true
    }

    /// How many (sender, receiver, channel) the transfers have: a queue pair each, if they are reused.
    fn connections(&self, ranks: u32, data_bytes: u64) -> u64 {
        self.transfers(ranks, data_bytes)
    }

    /// Payload of all transfers for a data size of `data_bytes` [bytes]: here where every part is moved
    /// equally often.
    fn payload_bytes(&self, ranks: u32, data_bytes: u64) -> u64 {
        let transfers = u128::from(self.transfers(ranks, data_bytes));
        let bytes = u128::from(data_bytes) * transfers / u128::from(self.parts(ranks, data_bytes));
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// Payload of the largest transfer [bytes]: here where each moves one part.
    fn largest_bytes(&self, ranks: u32, data_bytes: u64) -> u64 {
        data_bytes.div_ceil(self.parts(ranks, data_bytes))
    }

    /// How many ranks move data at once, sending or receiving, whichever are fewer.
    fn busy_ranks(&self, ranks: u32) -> u32 {
        ranks
    }

    /// Whether every rank sends to the next or the one before it only.
    fn is_between_neighbours(&self) -> bool {
        false
    }

    /// The schedule. `shape.data_bytes` is a positive multiple of [`crate::shares`], `shape.ranks` at least 2
    /// and what [`Pattern::supports`] takes, and `shape.root` one of them; [`crate::schedule_for`] checks
    /// that.
    fn schedule(&self, shape: &Shape) -> Schedule;

    /// The schedule as blocks that go around, if it is nothing else; of a shape as for
    /// [`Pattern::schedule`].
    fn relay(&self, _shape: &Shape) -> Option<Relay> {
        None
    }

    /// Where each rank sends its messages in open-loop traffic, none for a rank that sends nothing; none at
    /// all for a pattern that is more than peers.
    fn open_loop(&self, _shape: &Shape) -> Option<Vec<Option<Peer>>> {
        None
    }
}
