//! Ring algorithms of all-reduce, all-gather and reduce-scatter: every rank forwards blocks to its neighbour,
//! step by step.
//!
//! In a unidirectional ring of n ranks the data is divided into n blocks, which are sent from rank r to rank
//! r + 1. A bidirectional ring is two of them in opposite directions, each with half of the data, on separate
//! channels. At step k rank r sends the block that it received at step k - 1, as soon as that block has
//! arrived: there is no barrier between steps. A cycle is n - 1 steps. Patarasuk and Yuan, "Bandwidth optimal
//! all-reduce algorithms for clusters of workstations", 2009.

use crate::schedule::ClosedForm;
use crate::{Parts, Pattern, Relay, Schedule, Shape, Transfer};
use units::{Rank, TransferId};

/// Directions in which data is sent around the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Directions {
    /// From each rank to the next.
    One,
    /// Half of the data from each rank to the next, half to the previous.
    Both,
}

impl Directions {
    const fn count(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Both => 2,
        }
    }
}

/// A collective on a ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ring {
    directions: Directions,
    /// Cycles around the ring, of n - 1 steps each.
    cycles: u32,
    /// Rank r first sends the block of rank r - `first_block_back`.
    first_block_back: u32,
}

/// Every rank ends with the sum of all ranks' buffers: the first cycle reduces each block along the ring, the
/// second distributes the reduced blocks. At step k rank r sends block (r - k) mod n.
pub(crate) const ALL_REDUCE: Ring = Ring { directions: Directions::One, cycles: 2, first_block_back: 0 };
/// Every rank ends with the blocks of all ranks. The data size S is the whole buffer of a rank; at first rank
/// r has block r, of size S/n. At step k rank r sends block (r - k) mod n, its own block first.
pub(crate) const ALL_GATHER: Ring = Ring { directions: Directions::One, cycles: 1, first_block_back: 0 };
/// Rank r ends with the sum of all ranks' block r: the first cycle of the all-reduce, with the blocks
/// renumbered so that each ends at the rank of its number. At step k rank r sends block (r - 1 - k) mod n.
pub(crate) const REDUCE_SCATTER: Ring = Ring { directions: Directions::One, cycles: 1, first_block_back: 1 };

impl Ring {
    pub(crate) const fn bidirectional(self) -> Self {
        Self { directions: Directions::Both, ..self }
    }

    fn steps(&self, ranks: u32) -> u32 {
        self.cycles * (ranks - 1)
    }
}

impl Pattern for Ring {
    fn parts(&self, ranks: u32, _data_bytes: u64) -> u64 {
        u64::from(self.directions.count()) * u64::from(ranks)
    }

    fn transfers(&self, ranks: u32, _data_bytes: u64) -> u64 {
        u64::from(self.cycles * self.directions.count()) * super::ordered_pairs(ranks)
    }

    fn connections(&self, ranks: u32, _data_bytes: u64) -> u64 {
        u64::from(self.directions.count() * ranks)
    }

    fn is_between_neighbours(&self) -> bool {
        true
    }

    fn is_listed(&self) -> bool {
        false
    }

    fn schedule(&self, shape: &Shape) -> Schedule {
        let parts = shape.parts(self.parts(shape.ranks, shape.data_bytes));
        Schedule::closed(RingTransfers { ring: *self, ranks: shape.ranks, parts })
    }

    fn relay(&self, shape: &Shape) -> Option<Relay> {
        let relay = Relay {
            ranks: shape.ranks,
            steps: self.steps(shape.ranks),
            parts: shape.parts(self.parts(shape.ranks, shape.data_bytes)),
            first_block_back: self.first_block_back,
        };
        (self.directions == Directions::One).then_some(relay)
    }
}

/// Step by step, each rank sends in each direction.
#[derive(Debug)]
struct RingTransfers {
    ring: Ring,
    ranks: u32,
    parts: Parts,
}

impl RingTransfers {
    /// Step, rank and direction of a transfer.
    fn locate(&self, id: TransferId) -> (u32, u32, Direction) {
        let directions = self.ring.directions.count();
        let (index, channel) = (id.0 / directions, id.0 % directions);
        (index / self.ranks, index % self.ranks, Direction { ranks: self.ranks, channel })
    }

    fn id(&self, step: u32, rank: u32, direction: &Direction) -> TransferId {
        TransferId((step * self.ranks + rank) * self.ring.directions.count() + direction.channel)
    }
}

impl ClosedForm for RingTransfers {
    fn count(&self) -> u32 {
        self.ring.steps(self.ranks) * self.period()
    }

    fn transfer(&self, id: TransferId) -> Transfer {
        let (step, rank, direction) = self.locate(id);
        let block =
            direction.channel * self.ranks + direction.rank_before(rank, self.ring.first_block_back + step);
        Transfer {
            src: Rank(rank),
            dst: Rank(direction.rank_after(rank, 1)),
            bytes: self.parts.of(block.into()),
            step,
            channel: direction.channel,
            block,
        }
    }

    fn period(&self) -> u32 {
        self.ranks * self.ring.directions.count()
    }

    /// The transfer by which the sender receives the block.
    fn predecessor(&self, id: TransferId) -> Option<TransferId> {
        let (step, rank, direction) = self.locate(id);
        Some(self.id(step.checked_sub(1)?, direction.rank_before(rank, 1), &direction))
    }

    /// The transfer that forwards the block.
    fn successor(&self, id: TransferId) -> Option<TransferId> {
        let (step, rank, direction) = self.locate(id);
        (step + 1 < self.ring.steps(self.ranks))
            .then(|| self.id(step + 1, direction.rank_after(rank, 1), &direction))
    }
}

/// One direction of a ring: channel 0 to the next rank, channel 1 to the previous.
struct Direction {
    ranks: u32,
    channel: u32,
}

impl Direction {
    /// The rank `distance` before `rank` in this direction.
    fn rank_before(&self, rank: u32, distance: u32) -> u32 {
        self.rank_after(rank, self.ranks - distance % self.ranks)
    }

    /// The rank `distance` after `rank`, at most n, in this direction.
    fn rank_after(&self, rank: u32, distance: u32) -> u32 {
        let forward = if self.channel == 0 { distance } else { self.ranks - distance };
        (rank + forward) % self.ranks
    }
}
