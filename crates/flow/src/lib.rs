//! Transfers as fluid flows with max-min fair rates: a run without packets.
//!
//! In the order in which a run passes them:
//!
//! 1. `check`: what of a spec this model does not cover, refused by field;
//! 2. `network`: directed links, the path of each queue pair by the hash of the packet simulator, or an even
//!    split over all paths;
//! 3. `train`: what a chunk is on the wire, and what it takes on an idle path;
//! 4. `windows`: what a queue pair has room for, one chunk after the other;
//! 5. `fluid`, `fair`, `ends`: flows of senders that react, with max-min fair rates, recomputed only where a
//!    change reaches;
//! 6. `senders`, `queues`, `queued`: flows of senders that do not, with a queue in front of each link;
//! 7. `set_up`: network and jobs of a spec that has been checked;
//! 8. `run`, `rows`: schedules, their dependencies and events; rows of the record.
//!
//! `estimate` tells before what a run will cost.
//!
//! Models: serialisation with every header, store-and-forward and cut-through hops, latency, message cost,
//! windows, one chunk after the other on a queue pair; where senders do not react also queues and
//! acknowledgements as load. Leaves out: PFC, ECN, what a rate control loses beside a fair share, loss. A flow
//! alone takes exactly what its packets take; where flows share a link the packets' order is not known, so
//! times differ by some frames.

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
