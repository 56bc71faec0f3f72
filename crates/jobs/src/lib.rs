//! What the jobs of a run send, without a network: the simulator and real endpoints carry out the same.
//!
//! In the order in which data passes them:
//!
//! 1. `schedules`: the schedule of each job, with rounds that differ and barriers, or why
//!    there is none ([`refusal`]);
//! 2. `rank_connections`: which transfers of a job share queue pairs ([`RankConnections`]);
//! 3. `jobs`: all [`Chunk`]s and [`QueuePair`]s of a run, by number ([`Jobs`]), with what is drawn for them:
//!    UDP source ports and first PSNs, and their numbers on the wire ([`destination_qpn`]);
//! 4. `controllers`: how queue pairs are paced ([`controller`]);
//! 5. `tally`: which chunks have a row ([`Chosen`]), and what is counted of all ([`Tally`]);
//! 6. `observer`: who gets rows and progress ([`Observer`]).
//!
//! A chunk is the part of a transfer that one queue pair carries.

mod controllers;
mod jobs;
mod observer;
mod rank_connections;
mod schedules;
mod tally;

pub use controllers::{cnp_interval, controller};
pub use jobs::{Chunk, Jobs, OneJob, QueuePair, destination_qpn, split};
pub use observer::{Observer, RunError, Stopped};
pub use rank_connections::{Ends, Laps, RankConnections, Transfers};
pub use schedules::{CHUNKS_MAX, arrivals, check_jobs, refusal, shape, value};
pub use tally::{Chosen, Tally};
