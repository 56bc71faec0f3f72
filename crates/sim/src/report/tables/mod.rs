//! Tables at the end of a run, in the order in which they are emitted. A table that nothing else needs is a
//! module here.

mod reordering;

use super::World;
use super::connections::connection_rows;
use super::paths::{Paths, paths};
use super::probe::{emit_links, emit_ports, emit_series, total_rows};
use crate::progress::Progress;
use jobs::{ChannelTally, Observer, Stopped, Tally};
use record::{Batch, ChunkRow, EventRow};
use reordering::reordering_rows;
use spec::RunSpec;
use units::Instant;

/// Tables that are available only at the end of a run.
pub(crate) struct FinalTables {
    /// Chunks without a row so far.
    pub(crate) chunks: Vec<ChunkRow>,
    pub(crate) tally: Option<Tally>,
    pub(crate) channels: Option<ChannelTally>,
    pub(crate) events: Vec<EventRow>,
    /// End of the last window.
    pub(crate) end: Instant,
    /// End of the run, which may be within the last window.
    pub(crate) run_end: Instant,
}

impl FinalTables {
    /// Emits these tables, and those made of the final state of the world.
    pub(crate) fn emit(
        self,
        world: &World,
        spec: &RunSpec,
        observer: &mut dyn Observer<Progress>,
    ) -> Result<(), Stopped> {
        let (graph, end) = (&world.fabric.graph, self.end);
        let Paths { egress_qps, rows: path_rows } = paths(spec, &world.fabric, &world.flows);
        observer.batch(Batch::Chunks(self.chunks))?;
        self.tally.map_or(Ok(()), |tally| tally.emit(|batch| observer.batch(batch)))?;
        let channels = self.channels.map(ChannelTally::rows).unwrap_or_default();
        observer.batch(Batch::Channels(channels))?;
        let priorities = emit_ports(world, &egress_qps, end, |rows| observer.batch(Batch::Ports(rows)))?;
        observer.batch(Batch::Priorities(priorities))?;
        emit_links(world, end, |mut rows| {
            rows.iter_mut().for_each(|row| row.busy_ps = row.busy_ps.min(self.run_end.0));
            observer.batch(Batch::Links(rows))
        })?;
        observer.batch(Batch::Paths(path_rows))?;
        observer.batch(Batch::Reordering(reordering_rows(spec, world)))?;
        let probes = || world.partitions.iter().map(|partition| partition.probe());
        emit_series(probes(), graph, |rows| observer.batch(Batch::Series(rows)))?;
        observer.batch(Batch::Series(total_rows(probes())))?;
        if !world.connections.is_empty() {
            observer.batch(Batch::Connections(connection_rows(world, end)))?;
        }
        observer.batch(Batch::Events(self.events))
    }
}
