//! What the ring algorithms share: every rank passes blocks to its neighbour, step by step.
//!
//! In a one-way ring of n ranks the data is cut into n blocks and goes from rank r to rank r + 1; a two-way ring
//! is two of them in opposite directions, each with half of the data, on a channel of its own. At step k rank r
//! sends the block that it received at step k - 1, as soon as that block has arrived: there is no barrier between
//! steps. Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009.

use crate::{Parts, Pattern, Schedule, ScheduleBuilder, Shape, Transfer};
use units::{Rank, TransferId};

/// Which ways data goes around the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ways {
    /// From each rank to the next.
    One,
    /// Half of the data from each rank to the next, half to the previous.
    Both,
}

impl Ways {
    const fn count(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Both => 2,
        }
    }
}

/// A collective on a ring.
#[derive(Debug)]
pub(crate) struct Ring {
    pub(super) collective: &'static str,
    pub(super) ways: Ways,
    /// Steps of n ranks, in laps of n - 1.
    pub(super) laps: u32,
    /// The block that rank r sends first is that of the rank so many places before it.
    pub(super) first_block_back: u32,
}

impl Ring {
    fn steps(&self, ranks: u32) -> u32 {
        self.laps * (ranks - 1)
    }
}

impl Pattern for Ring {
    fn collective(&self) -> &'static str {
        self.collective
    }

    fn algorithm(&self) -> &'static str {
        match self.ways {
            Ways::One => "ring",
            Ways::Both => "ring-bidirectional",
        }
    }

    fn parts(&self, ranks: u32, _data_bytes: u64) -> u64 {
        u64::from(self.ways.count()) * u64::from(ranks)
    }

    fn transfers(&self, ranks: u32, _data_bytes: u64) -> u64 {
        u64::from(self.laps * self.ways.count()) * super::ordered_pairs(ranks)
    }

    fn connections(&self, ranks: u32, _data_bytes: u64) -> u64 {
        u64::from(self.ways.count() * ranks)
    }

    fn is_between_neighbours(&self) -> bool {
        true
    }

    fn schedule(&self, shape: &Shape) -> Schedule {
        let parts = shape.parts(self.parts(shape.ranks, shape.data_bytes));
        let transfers = self.transfers(shape.ranks, shape.data_bytes);
        let mut builder = ScheduleBuilder::with_capacity(transfers, transfers);
        for step in 0..self.steps(shape.ranks) {
            for rank in 0..shape.ranks {
                for channel in 0..self.ways.count() {
                    let way = Way { ring: self, ranks: shape.ranks, channel };
                    builder.push(way.transfer(rank, step, parts), way.waits_for(rank, step).as_slice());
                }
            }
        }
        builder.finish()
    }
}

/// One way around a ring: channel 0 to the next rank, channel 1 to the previous.
struct Way<'a> {
    ring: &'a Ring,
    ranks: u32,
    channel: u32,
}

impl Way<'_> {
    fn transfer(&self, rank: u32, step: u32, parts: Parts) -> Transfer {
        let block = self.channel * self.ranks + self.behind(rank, self.ring.first_block_back + step);
        Transfer {
            src: Rank(rank),
            dst: Rank(self.ahead(rank, 1)),
            bytes: parts.of(block.into()),
            step,
            channel: self.channel,
            block,
        }
    }

    /// The transfer that brings `rank` the block it sends at `step`.
    fn waits_for(&self, rank: u32, step: u32) -> Option<TransferId> {
        let place = (step.checked_sub(1)? * self.ranks + self.behind(rank, 1)) * self.ring.ways.count();
        Some(TransferId(place + self.channel))
    }

    /// The rank `places` before `rank`, in the direction of this way.
    fn behind(&self, rank: u32, places: u32) -> u32 {
        self.ahead(rank, self.ranks - places % self.ranks)
    }

    /// The rank `places` after `rank`, at most n, in the direction of this way.
    fn ahead(&self, rank: u32, places: u32) -> u32 {
        let forward = if self.channel == 0 { places } else { self.ranks - places };
        (rank + forward) % self.ranks
    }
}
