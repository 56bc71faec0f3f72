//! Transfers as fluid flows with max-min fair rates: a run without packets.
//!
//! In the order in which a run passes them:
//!
//! 1. `check`: what of a spec this model does not cover, refused by field;
//! 2. `network`: directed links, the path of each queue pair by the hash of the packet simulator, or an even
//!    split over all paths;
//! 3. `train`: what a chunk is on the wire, and what it takes on an idle path;
//! 4. `fluid`: flows on links and their max-min fair rates, recomputed only where a change reaches;
//! 5. `set_up`: network and jobs of a spec that has been checked;
//! 6. `run`, `rows`: schedules, their dependencies and events; rows of the record.
//!
//! `estimate` tells before what a run will cost.
//!
//! Models: serialisation with every header, store-and-forward and cut-through hops, latency, message cost,
//! windows, one chunk after the other on a queue pair. Leaves out: queues, PFC, ECN and rate control,
//! acknowledgements as load, loss. A flow alone takes exactly what its packets take; where flows share a link
//! the packets' order is not known, so times differ by some frames.

mod check;
mod ends;
mod estimate;
mod events;
mod fair;
mod fluid;
mod network;
mod path;
mod queued;
mod queues;
mod rows;
mod run;
mod senders;
mod set_up;
#[cfg(test)]
mod tests;
mod train;
mod transfers;
mod windows;
mod work;

pub use estimate::{Estimate, estimate};
pub use fluid::{Fluid, Share, WHOLE};
pub use rows::{FlowSummary, JobResult, RoundTimes};
pub use run::{Observer, Progress, RunError, Stopped, run};
pub use set_up::check;
