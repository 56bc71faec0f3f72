//! Queue pairs created at first use: decides whether a job may have them, and computes their parameters on
//! demand.

use super::queue_pair_indices::{PairsAtHost, QueuePairIndices};
use crate::nic::{QueuePairEnd, QueuePairEnds};
use crate::setup::Fabric;
use crate::setup::hosts::{may_reorder, queue_pair_end};
use crate::setup::traffic::flows::Flows;
use crate::setup::two_phase::has_one_rank_per_host;
use jobs::OneJob;
use spec::{JobSpec, LossRecovery, QpMode, RunSpec};
use std::fmt;
use std::sync::Arc;
use topology::Graph;
use units::{AttachmentId, HostId};

/// Whether queue pairs of a job may be created when first used and dropped when complete. Each must have
/// exactly one chunk (repeating connections, one round) and no statistics that are reported at the end, such
/// as reordering. Excluded are ranks that share a host, which copy in memory, jobs that share hosts with
/// others (`shares_hosts`), and rate controls that need the length of each path in advance.
pub(crate) fn may_be_lazy(spec: &RunSpec, job: &JobSpec, shares_hosts: bool) -> bool {
    !shares_hosts
        && job.phases_planned() == Some(1)
        && has_one_rank_per_host(job)
        && spec.transport.qp_mode == QpMode::PerChunk
        && spec.transport.recovery == LossRecovery::GoBackN
        && !may_reorder(&spec.fabric)
        && !spec.transport.rate_control.config().uses_links()
}

/// Parameters of the queue pairs of a host, computed on demand.
pub(crate) struct LazyEnds {
    flows: Arc<Flows>,
    graph: Arc<Graph>,
    pairs: Arc<QueuePairIndices>,
    job: usize,
    host: HostId,
}

impl LazyEnds {
    pub(crate) fn new(
        fabric: &Fabric,
        flows: &Arc<Flows>,
        pairs: &Arc<QueuePairIndices>,
        job: u32,
        host: HostId,
    ) -> Self {
        Self {
            flows: Arc::clone(flows),
            graph: Arc::clone(&fabric.graph),
            pairs: Arc::clone(pairs),
            job: job as usize,
            host,
        }
    }

    fn end(
        &self,
        pairs: PairsAtHost<'_>,
        number: u32,
        ends: impl Fn(&OneJob<'_>, u32, HostId) -> [AttachmentId; 2],
    ) -> QueuePairEnd {
        let (at, job) = (pairs.at(number), self.flows.one_job(self.job));
        queue_pair_end(&self.graph, &self.flows, &job, at, ends(&job, at.number, at.peer))
    }
}

impl QueuePairEnds for LazyEnds {
    fn sender(&self, number: u32) -> QueuePairEnd {
        self.end(self.pairs.from(self.job, self.host), number, |job, number, peer| {
            self.flows.attachments_in(job, number, self.host, peer)
        })
    }

    fn receiver(&self, number: u32) -> QueuePairEnd {
        self.end(self.pairs.to(self.job, self.host), number, |job, number, peer| {
            let [source, destination] = self.flows.attachments_in(job, number, peer, self.host);
            [destination, source]
        })
    }
}

impl fmt::Debug for LazyEnds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("LazyEnds").field("host", &self.host).finish_non_exhaustive()
    }
}
