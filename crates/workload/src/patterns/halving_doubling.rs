//! All-reduce by recursive vector halving and distance doubling, followed by an all-gather in reverse order.
//!
//! With n = 2^L ranks and data size S there are 2 L steps. At step k < L rank r exchanges with rank r XOR
//! 2^k: each keeps one half of its data, sends the other half, S / 2^(k + 1), and adds the received data. The
//! nearest rank is first, with half of the data; the farthest last, with S/n. Rank r ends with the sum of
//! block r with its L bits reversed. Steps L to 2 L - 1 are the mirrored all-gather, farthest rank first.
//! Rabenseifner, "Optimization of collective reduction operations", 2004; Thakur, Rabenseifner and Gropp,
//! "Optimization of collective communication operations in MPICH", 2005; MPICH and Gloo order the distances
//! equally. The other order, half of the data to the farthest rank, is equal to this one with the ranks
//! assigned to hosts in bit-reversed order.

use crate::{Parts, Pattern, Schedule, ScheduleBuilder, Shape, Transfer, WorkloadError};
use units::{Rank, TransferId};

/// Halving and doubling. A rank executes its steps in order: each message contains, or adds to, all data
/// received earlier, so it depends on all earlier receives.
#[derive(Debug)]
pub(crate) struct HalvingDoubling;

impl Pattern for HalvingDoubling {
    fn supports(&self, ranks: u32) -> Result<(), WorkloadError> {
        if ranks.is_power_of_two() {
            return Ok(());
        }
        let above = ranks.next_power_of_two();
        Err(WorkloadError::NotPowerOfTwo { ranks, below: above / 2, above })
    }

    fn parts(&self, ranks: u32, _data_bytes: u64) -> u64 {
        ranks.into()
    }

    fn transfers(&self, ranks: u32, _data_bytes: u64) -> u64 {
        u64::from(Butterfly::new(ranks).steps()) * u64::from(ranks)
    }

    fn connections(&self, ranks: u32, _data_bytes: u64) -> u64 {
        u64::from(Butterfly::new(ranks).halvings) * u64::from(ranks)
    }

    fn payload_bytes(&self, ranks: u32, data_bytes: u64) -> u64 {
        data_bytes.saturating_mul(2 * (u64::from(ranks) - 1))
    }

    fn largest_bytes(&self, ranks: u32, data_bytes: u64) -> u64 {
        Parts::new(data_bytes, ranks.into()).of_range(0, u64::from(ranks) / 2)
    }

    fn schedule(&self, shape: &Shape) -> Schedule {
        let butterfly = Butterfly::new(shape.ranks);
        let parts = shape.parts(shape.ranks.into());
        let transfers = self.transfers(shape.ranks, shape.data_bytes);
        let dependencies = transfers * u64::from(butterfly.steps() - 1) / 2;
        let mut builder = ScheduleBuilder::with_capacity(transfers, dependencies);
        for step in 0..butterfly.steps() {
            for rank in 0..shape.ranks {
                let received: Vec<_> = (0..step).map(|earlier| butterfly.receive(rank, earlier)).collect();
                builder.push(butterfly.transfer(rank, step, parts), &received);
            }
        }
        builder.finish()
    }
}

/// The exchanges of each step.
pub(super) struct Butterfly {
    ranks: u32,
    /// log2 of the number of ranks.
    halvings: u32,
}

impl Butterfly {
    pub(super) const fn new(ranks: u32) -> Self {
        Self { ranks, halvings: ranks.trailing_zeros() }
    }

    pub(super) const fn steps(&self) -> u32 {
        2 * self.halvings
    }

    /// log2 of the distance between partners: increasing during the halving, then decreasing.
    fn bit(&self, step: u32) -> u32 {
        step.min(self.steps() - 1 - step)
    }

    fn partner(&self, rank: u32, step: u32) -> u32 {
        rank ^ 1 << self.bit(step)
    }

    /// Whether `rank` sends at `step` of a reduce to `root`: in the second half only towards the root, and
    /// once.
    pub(super) fn sends_towards(&self, rank: u32, step: u32, root: Rank) -> bool {
        // In the second half, all bits above this one are already equal to those of the root.
        step < self.halvings || (rank ^ root.0) >> self.bit(step) == 1
    }

    /// The transfer that `rank` receives at `step`.
    fn receive(&self, rank: u32, step: u32) -> TransferId {
        TransferId(step * self.ranks + self.partner(rank, step))
    }

    /// The transfer that `rank` sends at `step`: in the first half the part that its partner keeps, in the
    /// second half all its data.
    pub(super) fn transfer(&self, rank: u32, step: u32, parts: Parts) -> Transfer {
        let partner = self.partner(rank, step);
        let holder = if step < self.halvings { partner } else { rank };
        let halved = self.bit(step) + 1;
        let (block, blocks) = (self.first_block(holder, halved), self.ranks >> halved);
        Transfer {
            src: Rank(rank),
            dst: Rank(partner),
            bytes: parts.of_range(block.into(), blocks.into()),
            step,
            channel: 0,
            block,
        }
    }

    /// First of the n / 2^halved blocks that `rank` keeps after this number of halvings: bit i of the rank
    /// chose the lower or upper half at step i.
    fn first_block(&self, rank: u32, halved: u32) -> u32 {
        let choices = rank & ((1 << halved) - 1);
        choices.reverse_bits() >> (u32::BITS - self.halvings)
    }
}
