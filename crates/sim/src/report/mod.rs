//! Results of a simulation: table rows of chunks (parts of transfers), rounds of jobs, counters, time series,
//! paths, connections, deadlocks and the summary; description of the network; port map of the ranks; captured
//! frames.

mod assemble;
mod capture;
mod connections;
mod deadlock;
mod deliveries;
mod describe;
mod invariants;
mod paths;
mod ports;
mod probe;
mod progress;
pub(crate) mod summary;
mod tables;

pub(crate) use assemble::{Assembler, Ending};
pub use capture::{CapturedFrame, capture};
pub(crate) use connections::{offered_bytes, open_connections, tcp_patience};
pub(crate) use deadlock::deadlock_events;
pub use describe::{Description, LinkDescription, NodeDescription, QueuePairDescription, describe};
pub use paths::{PathChoice, path_choices};
pub use ports::{Numbers, PortRow, port_map};
pub(crate) use probe::{LiveView, Sample, SeriesProbe};
pub(crate) use progress::JobProgress;
pub(crate) use tables::FinalTables;

use crate::setup::{self, BuildOptions, FabricNode};
use spec::{RunSpec, SpecError};

/// All parts of a run, observed for its time series.
pub(crate) type World = setup::World<SeriesProbe>;

/// A partition of a run, observed for its time series.
pub(crate) type WorldPartition = engine::Partition<FabricNode, SeriesProbe>;

/// Builds the world of `spec`.
///
/// # Errors
/// When the spec cannot be run.
pub(crate) fn build(spec: &RunSpec, options: &BuildOptions) -> Result<World, SpecError> {
    setup::build(spec, options, SeriesProbe::assign)
}
