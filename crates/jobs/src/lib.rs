//! Traffic of the jobs of a run, independent of the network: used by the simulator and by real endpoints.
//!
//! In the order of the data path:
//!
//! 1. `schedules`: the schedule of each job, including differing rounds and barriers, or the reason why there
//!    is none ([`refusal`]);
//! 2. `rank_connections`: which transfers of a job share queue pairs ([`RankConnections`]);
//! 3. `jobs`: all [`Chunk`]s and [`QueuePair`]s of a run, by number ([`Jobs`]), with their random UDP source
//!    ports and first PSNs, and their numbers on the wire ([`destination_qpn`]);
//! 4. `progress`: which transfers may start ([`Progress`]), for simulator, flow model and endpoints;
//! 5. `tally`: selection of chunks with a row ([`RowSelection`]), and statistics of all chunks ([`Tally`]);
//! 6. `channels`: sums over the chunks of each channel of NCCL ([`ChannelTally`]);
//! 7. `observer`: receiver of rows and progress ([`Observer`]).
//!
//! A chunk is the part of a transfer that one queue pair sends.

mod channels;
mod jobs;
mod observer;
mod progress;
mod rank_connections;
mod schedules;
mod tally;

pub use channels::ChannelTally;
pub use jobs::{Chunk, Jobs, OneJob, QueuePair, destination_qpn, split};
pub use observer::{Observer, RunError, Stopped};
pub use progress::{
    InboundPlan, JobTimes, Measured, OutgoingPlan, PhaseEnd, PlaceIndices, PlanList, Progress, ProgressPlan,
};
pub use rank_connections::{Ends, Laps, RankConnections, Transfers};
pub use schedules::{CHUNKS_MAX, check_jobs, refusal, shape, volume};
pub use tally::{RowSelection, Tally};
