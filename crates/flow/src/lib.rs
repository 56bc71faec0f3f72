//! Flow-level model: transfers as fluid flows with max-min fair rates, without packets.
//!
//! Modules in the order in which a run uses them:
//!
//! 1. `checks`: rejects specs that this model cannot run, by field: unsupported features, possible PFC
//!    deadlocks (ports that pause each other in a cycle), and delays to which the rate control or the timeout
//!    of a real sender would react;
//! 2. `set_up`: network and jobs of a checked spec;
//! 3. `network`: directed links (`wiring`); `paths`, the path of each queue pair by the hash of the packet
//!    simulator (`next_hop`), or an even split over all paths; `idle_time`, the frames of a chunk (the part
//!    of a transfer on one queue pair) and its time on an idle path;
//! 4. `run`: the event loop, with the dependencies of transfers (`job_state`) and the window of each queue
//!    pair (`windows`);
//! 5. `sharing`: how flows share links. For senders that react to congestion: `fair_flows`, with max-min fair
//!    rates (`max_min`) that are recomputed only where a change has an effect. For senders that do not:
//!    `queued_flows`, where each port serves its flows round robin (`sender_port`), and excess data wait in a
//!    queue before a link (`link_queues`);
//! 6. `rings`: ring collectives in closed form, without events, where flows do not compete for links;
//! 7. `output`: rows of the chunks, or counts of them; progress; the summary.
//!
//! `rates` has the arithmetic of rates and work. `estimate` estimates time and memory of a run in advance;
//! `busiest_link` finds the link to which the hash assigns most queue pairs, `link_loads` the load of each.
//!
//! Models: serialisation with every header, store-and-forward and cut-through hops, latency, message cost,
//! windows, one chunk after the other on a queue pair; if senders do not react, also queues and
//! acknowledgements as load. Links and switches may be down from the start, which stops jobs without another
//! path, and links may have other rates. Leaves out: other failures, which are rejected; PFC's head-of-line
//! blocking, ECN, and the loss of a rate control compared with a fair share; a run that would lose frames for
//! lack of buffer is rejected. A single flow takes exactly the time of its packets; if flows share a link the
//! order of packets is unknown, so times differ by some frames.

mod busiest_link;
mod checks;
mod estimate;
mod link_loads;
mod network;
mod output;
mod rates;
mod rings;
mod run;
mod set_up;
mod sharing;
#[cfg(test)]
mod testing;

pub use busiest_link::{BusiestLink, busiest_link};
pub use estimate::{Estimate, estimate};
pub use jobs::{Observer, RunError, Stopped};
pub use link_loads::{DirectionLoad, JobLoad, LinkEnd, LoadedLink, link_loads};
pub use output::progress::Progress;
pub use output::{FlowSummary, JobResult, RoundTimes};
pub use run::run;
pub use set_up::check;
