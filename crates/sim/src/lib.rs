//! Packet-level simulator of network fabrics: checks and runs a [`spec::RunSpec`] (the parameters of one
//! trial), and emits table rows, time series and a summary.
//!
//! Modules in the order in which a run passes them:
//!
//! 1. `setup`: from a [`spec::RunSpec`] to hosts, switches and wires;
//! 2. [`engine`], a separate crate without knowledge of networks: time windows, inboxes, threads;
//! 3. `nic`: hosts post transfers, pace queue pairs, acknowledge, issue and serve storage operations; `link`:
//!    a sending port and the state of its link over time;
//! 4. `switch`: shared buffer, queues, load balancing; a fast path and an exact path with the same result;
//! 5. `record`: reports and counters of nodes; `report`: rows, counters, time series and the summary derived
//!    from them, chunk by chunk and port by port;
//! 6. `fast_forward`: skips periods that repeat;
//! 7. `run`, `estimate` (size, memory and time in advance), `patience` (time without progress after which a
//!    run is ended), `progress` (its reports): the interface to the caller.
//!
//! Models: RoCEv2 reliable connections with go-back-N, selective or no recovery, at line rate or with
//! congestion control (DCQCN, TIMELY, Swift); TCP; storage over RDMA; InfiniBand links with credits; load
//! balancing by ECMP, weights, flowlets, fixed paths, destination, load or packet spraying; store-and-forward
//! and cut-through switches with a shared buffer, PFC, ECN and eight priorities; cell fabrics with virtual
//! output queues. Leaves out: host memory and PCIe. A result is the same on every machine, for any number of
//! threads and on either path.

mod estimate;
mod fast_forward;
mod link;
mod nic;
mod packet;
mod patience;
mod progress;
mod record;
mod report;
mod run;
mod setup;
mod switch;

pub use estimate::{Estimate, estimate, helpful_threads};
pub use jobs::{Observer, RunError, Stopped};
pub use progress::{PortSample, Progress, Sample};
pub use report::{
    CapturedFrame, Description, LinkDescription, NodeDescription, Numbers, PathChoice, PortRow,
    QueuePairDescription, capture, describe, path_choices, port_map,
};
pub use run::{Options, Path, run};

pub use workload::shares;

use spec::{RunSpec, SpecError};

/// Checks a spec as far as possible without running it.
///
/// # Errors
/// The reason why it cannot run.
pub fn check(spec: &RunSpec) -> Result<(), SpecError> {
    spec::check(spec)?;
    let fabric = setup::Fabric::new(&spec.fabric)?;
    setup::check_scheduled(spec, &fabric)?;
    setup::check_buffers(spec, &fabric)?;
    setup::check_flows(spec, &fabric)
}

/// Every collective with an algorithm that implements it.
#[must_use]
pub fn patterns() -> Vec<(&'static str, &'static str)> {
    workload::algorithms().iter().map(|algorithm| (algorithm.collective, algorithm.name)).collect()
}

/// Checks that an algorithm supports a collective of `ranks` ranks.
///
/// # Errors
/// If there is no such algorithm for that collective, or it does not support this number of ranks.
pub fn supports(collective: &str, algorithm: &str, ranks: u32) -> Result<(), SpecError> {
    let algorithm = workload::find(collective, algorithm).map_err(|error| {
        spec::unsupported("algorithm", error.to_string(), "see the collectives of the registry")
    })?;
    algorithm.pattern.supports(ranks).map_err(|error| jobs::refusal("ranks", &error))
}
