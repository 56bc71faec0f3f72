//! Uniformly random traffic: every rank sends to a rank drawn from the others.

use crate::{Pattern, Peer, Schedule, ScheduleBuilder, Shape, Transfer};
use units::Rank;

/// Each rank sends all its data to another rank, drawn uniformly and independently: several may draw the
/// same.
#[derive(Debug)]
pub(crate) struct Parallel;

impl Pattern for Parallel {
    fn parts(&self, _ranks: u32, _data_bytes: u64) -> u64 {
        1
    }

    fn transfers(&self, ranks: u32, _data_bytes: u64) -> u64 {
        ranks.into()
    }

    fn schedule(&self, shape: &Shape) -> Schedule {
        let bytes = shape.data_bytes;
        let mut stream = shape.stream.clone();
        let mut builder = ScheduleBuilder::with_capacity(self.transfers(shape.ranks, shape.data_bytes), 0);
        for src in (0..shape.ranks).map(Rank) {
            let dst = Peer::AnyOther.draw(src, shape.ranks, &mut stream);
            builder.push(Transfer { src, dst, bytes, step: 0, channel: 0, block: src.0 }, &[]);
        }
        builder.finish()
    }

    fn open_loop(&self, shape: &Shape) -> Option<Vec<Option<Peer>>> {
        Some(vec![Some(Peer::AnyOther); shape.ranks as usize])
    }
}
