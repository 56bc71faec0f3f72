//! Builds the endpoint state of each host: senders, receivers and chunks (parts of transfers) of its queue
//! pairs, the transfers of its jobs, and the settings of queue pairs.

pub(super) mod clocks;
pub(super) mod controllers;
pub(super) mod lazy_queue_pairs;
pub(super) mod nic;
pub(super) mod queue_pair_indices;
pub(super) mod transfer_indices;

use super::traffic::flows::Flows;
use super::world::BuildOptions;
use super::{Fabric, HostClock};
use crate::nic::{
    HostJobsPlan, HostTraffic, HostUc, QueuePairEnd, QueuePairEnds, QueuePairSettings, Receivers, Receives,
    ReplyPriorities, ResidentQueuePairs, Sender, Sends, StoragePlan, Work, WorkMaker,
};
use crate::packet::{ConnectionId, ConnectionKind, Path, Priority};
use controllers::Controllers;
use jobs::{JobTimes, OneJob, PlanList, ProgressPlan};
use lazy_queue_pairs::{LazyEnds, may_be_lazy};
use queue_pair_indices::{AtHost, PairsAtHost};
use spec::{FabricSpec, LoadBalancing, QpType, RunSpec};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use topology::Graph;
use transfer_indices::{JobAtHost, PairsOfJob, TransferIndices};
use transport::{Config, Recovery};
use units::{AttachmentId, HostId};

/// A job at a host.
struct JobOfHost<'a> {
    /// Index in the run.
    index: u32,
    /// Index of the host among those of the job.
    place: u32,
    view: OneJob<'a>,
    pairs: PairsOfJob<'a>,
}

impl JobOfHost<'_> {
    /// Its receivers, among those of all jobs of the host.
    fn receivers(&self) -> Range<u32> {
        let PairsOfJob { to, .. } = self.pairs;
        to.first()..to.first() + to.len() as u32
    }

    /// Payload of each queue pair [bytes] if the transfers of the only job of a host differ only in their
    /// number; see [`OneJob::independent_bytes`].
    fn independent_bytes(&self, progress: &ProgressPlan) -> Option<u64> {
        if progress.processes == 1 { self.view.independent_bytes() } else { None }
    }
}

/// Builds the traffic of one host after the other.
pub(super) struct HostMaker<'a> {
    spec: &'a RunSpec,
    fabric: &'a Fabric,
    flows: &'a Arc<Flows>,
    /// Queue pairs whose frames are recorded.
    captured: &'a HashSet<u32>,
    /// By job: whether its queue pairs may be created on demand.
    is_lazy: Vec<bool>,
    indices: TransferIndices<'a>,
}

impl<'a> HostMaker<'a> {
    pub(super) fn new(
        spec: &'a RunSpec,
        fabric: &'a Fabric,
        flows: &'a Arc<Flows>,
        options: &'a BuildOptions,
    ) -> Self {
        let indices = TransferIndices::new(spec, &fabric.graph, flows);
        let captured = &options.captured;
        // The exact path, the reference of tests, creates all queue pairs in advance.
        let may = !options.exact_only && captured.is_empty();
        let is_lazy = (0..)
            .zip(&spec.jobs)
            .map(|(index, job)| may && may_be_lazy(spec, job, flows.shares_hosts(index)))
            .collect();
        Self { spec, fabric, flows, captured, is_lazy, indices }
    }

    /// The traffic of `host`; `storage` is its role in a storage job.
    pub(super) fn host(
        &self,
        host: HostId,
        settings: QueuePairSettings,
        storage: Option<StoragePlan>,
    ) -> HostTraffic {
        let at_host: Vec<JobOfHost<'_>> =
            self.indices.jobs_of(host).map(|job| self.job_of_host(job, host)).collect();
        let mut jobs = HostJobsPlan {
            jobs: at_host.iter().map(|job| self.progress(job, host)).collect(),
            receivers: at_host.iter().map(JobOfHost::receivers).collect(),
            ..HostJobsPlan::default()
        };
        let sends = self.sends(&at_host, host, &mut jobs);
        let receives = self.receives(&at_host, settings.config.recovery, &mut jobs);
        if let [job] = &*at_host
            && job.pairs.from.come_in_laps()
            && self.is_lazy[job.index as usize]
        {
            let lazy = LazyEnds::new(self.fabric, self.flows, self.indices.pairs(), job.index, host);
            let lazy: Arc<dyn QueuePairEnds> = Arc::new(lazy);
            return HostTraffic {
                links: Vec::new(),
                senders: ResidentQueuePairs::default(),
                lazy: Some(Arc::clone(&lazy)),
                sends,
                receivers: Receivers::lazy(lazy, receives, &settings),
                uc: None,
                settings,
                jobs,
                storage,
            };
        }
        if self.spec.transport.connection == QpType::Uc {
            let senders = self.senders::<HostUc>(&at_host, host).flatten();
            let receivers = self.receivers::<HostUc>(&at_host, host).flatten();
            let uc = HostUc::new(senders, receivers, &sends, receives, &settings);
            return HostTraffic::unreliable(uc, sends, settings, jobs);
        }
        let receiver_count = at_host.iter().map(|job| job.pairs.to.len()).sum();
        let senders = Sender::all(self.senders::<Sender>(&at_host, host), &sends);
        let receivers =
            Receivers::new(self.receivers::<Receivers>(&at_host, host), receiver_count, receives, &settings);
        let uses_links = self.spec.transport.rate_control.config().uses_links();
        let links = if uses_links { self.links_to_peers(&at_host, host) } else { Vec::new() };
        HostTraffic { links, senders, lazy: None, sends, receivers, uc: None, settings, jobs, storage }
    }

    fn job_of_host(&self, JobAtHost { job, place }: JobAtHost, host: HostId) -> JobOfHost<'_> {
        JobOfHost {
            index: job,
            place,
            view: self.flows.one_job(job as usize),
            pairs: self.indices.pairs_of(self.spec, job, host),
        }
    }

    /// Hops between a host and the other end of each queue pair on which it sends.
    fn links_to_peers(&self, jobs: &[JobOfHost<'_>], host: HostId) -> Vec<u32> {
        let mut links = Vec::new();
        for JobOfHost { view, pairs, .. } in jobs {
            links.extend(pairs.from.iter().map(|AtHost { number, peer, .. }| {
                let [from, to] = self.flows.attachments_in(view, number, host, peer);
                self.fabric.links_between(from, to)
            }));
        }
        links
    }

    /// The progress of a job at a host, still without transfers.
    fn progress(&self, job: &JobOfHost<'_>, host: HostId) -> ProgressPlan {
        let times = JobTimes::new(self.spec, job.index).late_by(HostClock::of(self.spec, host).offset);
        self.indices.job(job.index).plan(job.place, times, self.flows.parts)
    }

    /// The chunks that a host sends; adds their transfers to `plan`.
    fn sends(&self, jobs: &[JobOfHost<'_>], host: HostId, plan: &mut HostJobsPlan) -> Sends {
        let queue_pairs =
            jobs.iter().flat_map(|job| job.pairs.from.iter()).map(|queue_pair| queue_pair.number);
        if let ([job], [progress]) = (jobs, &mut *plan.jobs)
            && let Some(bytes) = job.independent_bytes(progress)
        {
            progress.outgoing = PlanList::of_defaults(job.pairs.from.len());
            // Iterators over one job are faster.
            let queue_pairs = job.pairs.from.iter().map(|queue_pair| queue_pair.number);
            let chunks = queue_pairs.clone().map(|number| job.view.only_chunk(number));
            return Sends::one_each(chunks, queue_pairs, bytes);
        }
        let mut work = WorkMaker::default();
        let mut first_outgoing = 0;
        for (job, progress) in jobs.iter().zip(&mut plan.jobs) {
            let indices = self.indices.job(job.index);
            let schedule = &self.flows.schedules[job.index as usize];
            let index_of = |transfer| self.indices.outgoing(job.index as usize, transfer);
            let is_listed =
                jobs.len() > 1 || !self.flows.has_queue_pairs_of_each_transfer(job.index as usize);
            for (sender, queue_pair) in (0..).zip(job.pairs.from.iter()) {
                job.view.each_chunk(queue_pair.number, |(number, part), chunk| {
                    let outgoing = self.indices.outgoing_of(&chunk, sender);
                    let at_host = first_outgoing + outgoing;
                    let id = work.push(Work { chunk: number, transfer: at_host, bytes: chunk.bytes });
                    if is_listed {
                        let sender = job.pairs.from.first() + sender;
                        put(&mut plan.parts, at_host * self.flows.parts + part, (sender, id));
                    }
                    if part == 0 {
                        indices.add_outgoing(progress, schedule, chunk.transfer, outgoing, index_of);
                    }
                });
                work.end_share();
            }
            first_outgoing += progress.outgoing.count();
            // Open-loop traffic is released by the clock of the host.
            let (start, clock) = (progress.times.start, HostClock::of(self.spec, host));
            if !clock.is_right() {
                progress.releases.iter_mut().for_each(|at| *at = start + clock.span(at.since(start)));
            }
        }
        Sends::new(work, queue_pairs)
    }

    /// The chunks that a host receives; adds their transfers to `plan`.
    fn receives(&self, jobs: &[JobOfHost<'_>], recovery: Recovery, plan: &mut HostJobsPlan) -> Receives {
        if let ([job], [progress]) = (jobs, &mut *plan.jobs)
            && let Some(bytes) = job.independent_bytes(progress)
        {
            progress.inbound = PlanList::of_defaults(job.pairs.to.len());
            if recovery == Recovery::GoBackN {
                return Receives::of_queue_pairs(job.view.chunks_beyond_queue_pairs(), bytes);
            }
            let chunks = job.pairs.to.iter().map(|queue_pair| job.view.only_chunk(queue_pair.number));
            return Receives::one_each(chunks, bytes);
        }
        let mut work = WorkMaker::default();
        let mut first_inbound = 0;
        for (job, progress) in jobs.iter().zip(&mut plan.jobs) {
            let indices = self.indices.job(job.index);
            let schedule = &self.flows.schedules[job.index as usize];
            let index_of = |transfer| self.indices.outgoing(job.index as usize, transfer);
            for (receiver, queue_pair) in (0..).zip(job.pairs.to.iter()) {
                job.view.each_chunk(queue_pair.number, |(number, part), chunk| {
                    let inbound = self.indices.inbound_of(&chunk, receiver);
                    let at_host = first_inbound + inbound;
                    work.push(Work { chunk: number, transfer: at_host, bytes: chunk.bytes });
                    if part == 0 {
                        indices.add_inbound(progress, schedule, chunk.transfer, inbound, index_of);
                    }
                });
                work.end_share();
            }
            first_inbound += progress.inbound.count();
        }
        work.into()
    }

    /// The queue pairs on which a host sends, job by job. Each `Owner`, the type that stores them, has an
    /// instance of its own: only a function with one caller is inlined into the loop that creates them.
    #[inline(always)]
    #[expect(clippy::extra_unused_type_parameters, reason = "an instance for each caller")]
    fn senders<'b, Owner>(
        &'b self,
        jobs: &'b [JobOfHost<'b>],
        host: HostId,
    ) -> impl Iterator<Item = impl ExactSizeIterator<Item = QueuePairEnd>> {
        jobs.iter().map(move |job| {
            self.ends(job, host, job.pairs.from, move |job, number, peer| {
                self.flows.attachments_in(job, number, host, peer)
            })
        })
    }

    /// Same, of those on which it receives.
    #[inline(always)]
    #[expect(clippy::extra_unused_type_parameters, reason = "an instance for each caller")]
    fn receivers<'b, Owner>(
        &'b self,
        jobs: &'b [JobOfHost<'b>],
        host: HostId,
    ) -> impl Iterator<Item = impl ExactSizeIterator<Item = QueuePairEnd>> {
        jobs.iter().map(move |job| {
            self.ends(job, host, job.pairs.to, move |job, number, peer| {
                let [source, destination] = self.flows.attachments_in(job, number, peer, host);
                [destination, source]
            })
        })
    }

    /// The ends of queue pairs of a job at a host. `attachments` returns the ports of a queue pair: own,
    /// peer's.
    #[inline(always)]
    fn ends<'b>(
        &'b self,
        job: &'b JobOfHost<'b>,
        host: HostId,
        queue_pairs: PairsAtHost<'b>,
        attachments: impl Fn(&OneJob<'_>, u32, HostId) -> [AttachmentId; 2] + 'b,
    ) -> impl ExactSizeIterator<Item = QueuePairEnd> + 'b {
        let is_any_captured = !self.captured.is_empty();
        queue_pairs.iter().map(move |at| {
            let ends = attachments(&job.view, at.number, at.peer);
            let end = queue_pair_end(&self.fabric.graph, self.flows, &job.view, at, ends);
            QueuePairEnd {
                is_captured: is_any_captured && self.captured.contains(&at.number),
                is_local: at.peer == host,
                ..end
            }
        })
    }
}

/// One end of a queue pair, whose frames are sent from the first of two host ports to the second.
#[inline(always)]
pub(super) fn queue_pair_end(
    graph: &Graph,
    flows: &Flows,
    job: &OneJob<'_>,
    AtHost { number, number_at_peer, .. }: AtHost,
    ends: [AttachmentId; 2],
) -> QueuePairEnd {
    let [own, destination] = ends;
    QueuePairEnd {
        queue_pair: number,
        initial_psn: job.initial_psn(number),
        path: Path {
            destination,
            connection: ConnectionId::rc(number_at_peer),
            entropy: flows.entropy_in(job, number, ends),
        },
        port: graph.attachment(own).host_port,
        priority: flows.priority_of(job),
        is_captured: false,
        is_local: false,
    }
}

/// Kind of the connections of a job.
pub(crate) fn connection_kind(spec: &RunSpec, job: u32) -> ConnectionKind {
    match (spec.jobs[job as usize].work.storage(), spec.transport.connection) {
        (Some(_), _) => ConnectionKind::Storage,
        (None, QpType::Rc) => ConnectionKind::Rc,
        (None, QpType::Uc) => ConnectionKind::Uc,
    }
}

/// Stores an item at its index in a list, which is extended as necessary. All items are set in the end.
fn put<T: Clone + Default>(list: &mut Vec<T>, index: u32, item: T) {
    let index = index as usize;
    if index == list.len() {
        return list.push(item);
    }
    if index > list.len() {
        list.resize(index + 1, T::default());
    }
    list[index] = item;
}

/// Settings common to all queue pairs of a host, host by host.
pub(super) fn queue_pair_settings(
    spec: &RunSpec,
    fabric: &Fabric,
    config: &Arc<Config>,
) -> Vec<QueuePairSettings> {
    let priorities = spec.transport.priorities;
    let controllers = Controllers::new(spec, &fabric.graph);
    let hosts = (0..).map(HostId).zip(&fabric.graph.nodes[..fabric.graph.hosts()]);
    let settings = hosts.map(|(id, host)| QueuePairSettings {
        config: Arc::clone(config),
        framing: fabric.framing,
        replies: ReplyPriorities { ack: Priority(priorities.ack), cnp: Priority(priorities.cnp) },
        cnp_interval: spec.transport.rate_control.config().cnp_interval(),
        controllers: host
            .ports
            .iter()
            .map(|port| controllers.at(id, fabric.graph.link(port.link).rate))
            .collect(),
        may_reorder: may_reorder(&spec.fabric),
    });
    settings.collect()
}

/// Whether packets of one queue pair may take paths of different delay: paths vary by packet, or change when
/// routes do.
pub(super) const fn may_reorder(fabric: &FabricSpec) -> bool {
    let keeps_path = matches!(
        fabric.load_balancing,
        LoadBalancing::Ecmp { .. } | LoadBalancing::Weighted { .. } | LoadBalancing::Pinned { .. }
    );
    !keeps_path || !fabric.failures.is_empty()
}
