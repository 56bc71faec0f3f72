//! Flow-level model: transfers as fluid flows with max-min fair rates, without packets.
//!
//! Modules in the order in which a run uses them:
//!
//! 1. `check`, `circles`, `delays`: features of a spec that this model does not cover, rejected by field;
//! 2. `network`, `path`: directed links, and the path of each queue pair by the hash of the packet simulator,
//!    or an even split over all paths;
//! 3. `train`: frames of a chunk, and its time on an idle path;
//! 4. `sharing`: how flows share links. For senders that react to congestion: `fluid`, `fair`, `ends`,
//!    max-min fair rates, recomputed only where a change has an effect. For senders that do not: `queued`,
//!    `senders`, `queues` (each port serves its senders round robin, and excess data wait in a queue before
//!    it);
//! 5. `windows`: window of a queue pair, chunk after chunk;
//! 6. `set_up`: network and jobs of a checked spec;
//! 7. `run`, `transfers`, `events`: schedules, their dependencies and events;
//! 8. `relay`: rings without events, where flows do not compete for links;
//! 9. `rows`, `recorder`: rows of the record, or counts of them.
//!
//! `estimate` estimates the cost of a run in advance; `loads` finds the link to which the hash assigns most
//! queue pairs.
//!
//! Models: serialisation with every header, store-and-forward and cut-through hops, latency, message cost,
//! windows, one chunk after the other on a queue pair; if senders do not react, also queues and
//! acknowledgements as load. Leaves out: PFC's head-of-line blocking, ECN, and the loss of a rate control
//! compared with a fair share; a run that would lose frames for lack of buffer is rejected. A single flow
//! takes exactly the time of its packets; if flows share a link the order of packets is unknown, so times
//! differ by some frames.

mod check;
mod circles;
mod delays;
mod ends;
mod estimate;
mod events;
mod fair;
mod fluid;
mod loads;
mod marks;
mod network;
mod path;
mod queued;
mod queues;
mod recorder;
mod relay;
mod rows;
mod run;
mod senders;
mod set_up;
mod sharing;
#[cfg(test)]
mod tests;
mod train;
mod transfers;
mod watch;
mod windows;
mod work;

pub use estimate::{Estimate, estimate};
pub use fluid::{Fluid, Share, WHOLE};
pub use jobs::{Observer, RunError, Stopped};
pub use loads::{Busiest, busiest};
pub use rows::{FlowSummary, JobResult, RoundTimes};
pub use run::run;
pub use set_up::check;
pub use watch::Progress;
