//! All-reduce by recursive doubling: used by MPI libraries for small data.
//!
//! Of n ranks, p = 2^floor(log2 n) exchange data, in log2 p steps: at step k rank r sends all its data to
//! rank r XOR 2^k and adds the data received from it. If n is not a power of two, then with m = n - p each
//! even rank below 2 m first sends its data to the next rank, and receives the result from it at the end; the
//! other ranks, numbered anew, exchange. Thakur, Rabenseifner and Gropp, "Optimization of collective
//! communication operations in MPICH", 2005.

use crate::{Pattern, Schedule, ScheduleBuilder, Shape, Transfer};
use units::{Rank, TransferId};

/// Recursive doubling. A rank executes its steps in order: each message is the sum of all data received
/// earlier.
#[derive(Debug)]
pub(crate) struct RecursiveDoubling;

impl Pattern for RecursiveDoubling {
    fn parts(&self, _ranks: u32, _data_bytes: u64) -> u64 {
        1
    }

    fn transfers(&self, ranks: u32, _data_bytes: u64) -> u64 {
        let fold = Fold::new(ranks);
        2 * u64::from(fold.folded) + u64::from(fold.active()) * u64::from(fold.exchanges)
    }

    fn schedule(&self, shape: &Shape) -> Schedule {
        let (fold, bytes) = (Fold::new(shape.ranks), shape.data_bytes);
        let transfers = self.transfers(shape.ranks, bytes);
        let mut builder = ScheduleBuilder::with_capacity(transfers, transfers * u64::from(fold.exchanges));
        let mut received: Vec<Vec<TransferId>> = vec![Vec::new(); shape.ranks as usize];
        for step in 0..fold.steps() {
            let pairs = fold.pairs(step);
            let send = |&(src, dst): &(u32, u32)| {
                let transfer = Transfer { src: Rank(src), dst: Rank(dst), bytes, step, channel: 0, block: 0 };
                (dst, builder.push(transfer, &received[src as usize]))
            };
            let sent: Vec<_> = pairs.iter().map(send).collect();
            sent.into_iter().for_each(|(dst, id)| received[dst as usize].push(id));
        }
        builder.finish()
    }
}

/// Folding of ranks beyond a power of two.
struct Fold {
    ranks: u32,
    /// Number of even ranks that send their data to the next rank.
    folded: u32,
    /// log2 of the number of ranks that exchange.
    exchanges: u32,
}

impl Fold {
    const fn new(ranks: u32) -> Self {
        let exchanges = ranks.ilog2();
        Self { ranks, folded: ranks - (1 << exchanges), exchanges }
    }

    /// Number of ranks that exchange.
    const fn active(&self) -> u32 {
        self.ranks - self.folded
    }

    const fn steps(&self) -> u32 {
        self.exchanges + if self.folded > 0 { 2 } else { 0 }
    }

    /// The rank with index `position` among those that exchange.
    const fn rank(&self, position: u32) -> u32 {
        if position < self.folded { 2 * position + 1 } else { position + self.folded }
    }

    /// Senders and receivers of `step`.
    fn pairs(&self, step: u32) -> Vec<(u32, u32)> {
        if self.folded > 0 && step == 0 {
            return (0..self.folded).map(|position| (2 * position, 2 * position + 1)).collect();
        }
        let exchange = step - u32::from(self.folded > 0);
        if exchange == self.exchanges {
            return (0..self.folded).map(|position| (2 * position + 1, 2 * position)).collect();
        }
        (0..self.active())
            .map(|position| (self.rank(position), self.rank(position ^ 1 << exchange)))
            .collect()
    }
}
