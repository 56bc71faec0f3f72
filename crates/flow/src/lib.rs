//! Transfers as fluid flows with max-min fair rates: a run without packets.
//!
//! In the order in which a run passes them:
//!
//! 1. `check`, `circles`, `delays`: what of a spec this model does not cover, refused by field;
//! 2. `network`, `path`: directed links, the path of each queue pair by the hash of the packet simulator, or an
//!    even split over all paths;
//! 3. `train`: what a chunk is on the wire, and what it takes on an idle path;
//! 4. `sharing`: how flows share links: `fluid`, `fair`, `ends`, max-min fair rates, recomputed only where a
//!    change reaches, of senders that react to congestion; `queued`, `senders`, `queues` of those that do not (each
//!    port serves its senders in turn, and what does not fit waits before it);
//! 5. `windows`: what a queue pair has room for, one chunk after the other;
//! 6. `set_up`: network and jobs of a spec that has been checked;
//! 7. `run`, `transfers`, `events`: schedules, their dependencies and events; where links fail also `outages`,
//!    what is up when, and `recovery`, what it costs;
//! 8. `relay`: rings without events, where nothing shares a link;
//! 9. `rows`, `recorder`: rows of the record, or counts of them.
//!
//! `estimate` tells before what a run will cost, `loads` where the hash puts most queue pairs.
//!
//! Models: serialisation with every header, store-and-forward and cut-through hops, latency, message cost,
//! windows, one chunk after the other on a queue pair; where senders do not react also queues and
//! acknowledgements as load. Leaves out: PFC's head-of-line blocking, ECN, what a rate control loses beside a fair
//! share; a run that would lose frames for want of buffer is refused. A flow alone takes exactly what its packets take; where flows
//! share a link the packets' order is not known, so times differ by some frames.

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
mod outages;
mod path;
mod queued;
mod queues;
mod recorder;
mod recovery;
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
