//! Lists all tables of a record: `TABLES`, and `Batch`, an enum with the rows of one table. The modules
//! declare the tables: row type, columns, meaning.

mod channels;
mod chunks;
mod connections;
mod counters;
mod fabric;
mod series;

pub use channels::*;
pub use chunks::*;
pub use connections::*;
pub use counters::*;
pub use fabric::*;
pub use series::*;

use crate::declare::tables;

tables! {
    /// Completed chunks, in order of completion; several batches while running.
    Chunks(ChunkRow),
    /// Sums over the chunks of each step, at the end; none where each chunk has a row.
    ChunkSteps(ChunkStepRow),
    /// Distribution of completion times, at the end; none where each chunk has a row.
    ChunkTimes(ChunkTimeRow),
    /// Channels of NCCL, at the end; none of jobs without NCCL.
    Channels(ChannelRow),
    /// Every port; several batches at the end.
    Ports(PortRow),
    /// Priorities of ports with pauses or losses, at the end.
    Priorities(PriorityRow),
    /// Every direction of every link; several batches at the end.
    Links(LinkRow),
    /// The links that queue pairs take, at the end.
    Paths(PathRow),
    /// Distances of frames that arrived out of order, at the end.
    Reordering(ReorderingRow),
    /// Sampled values, series by series; several batches at the end.
    Series(SeriesRow),
    /// TCP connections, at the end.
    Connections(ConnectionRow),
    /// Rare events, at the end.
    Events(EventRow),
    /// Counters of the hosts of a measured trial, at the end; a simulated one has none.
    Counters(CounterRow),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_column_ends_with_its_unit() {
        let columns = || TABLES.iter().flat_map(|table| table.columns);
        for (ending, unit) in [("_ps", "ps"), ("bytes", "bytes"), ("_bps", "bit/s"), ("frames", "frames")] {
            for column in columns().filter(|column| column.name.ends_with(ending)) {
                assert_eq!(column.unit, Some(unit), "{}", column.name);
            }
        }
    }
}
