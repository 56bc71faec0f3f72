//! Builds the endpoint state of each host: senders, receivers and chunks (parts of transfers) of its queue
//! pairs, its transfers, and the settings of queue pairs.

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
    InboundPlan, JobTimes, OutgoingPlan, PlanList, QueuePairEnd, QueuePairEnds, QueuePairSettings, Receivers,
    Receives, ReplyPriorities, ResidentQueuePairs, Sender, Sends, StoragePlan, TransfersPlan, Work,
    WorkMaker,
};
use crate::packet::{ConnectionId, Path, Priority};
use controllers::Controllers;
use jobs::{Chunk, OneJob};
use lazy_queue_pairs::{LazyEnds, may_be_lazy};
use queue_pair_indices::{AtHost, PairsAtHost};
use spec::{FabricSpec, LoadBalancing, RunSpec};
use std::collections::HashSet;
use std::sync::Arc;
use topology::Graph;
use transfer_indices::{OfHost, TransferIndices};
use transport::{Config, Recovery};
use units::{AttachmentId, HostId, Instant, Rate, Span};

/// Traffic that one host sends and receives.
pub(crate) struct HostFlows {
    pub(crate) settings: QueuePairSettings,
    pub(crate) senders: ResidentQueuePairs<Sender>,
    /// Source of senders that are created on demand.
    pub(crate) lazy: Option<Arc<dyn QueuePairEnds>>,
    pub(crate) sends: Sends,
    /// Hops to the peer of each sender; empty unless the rate controller uses them.
    pub(crate) links: Vec<u32>,
    pub(crate) receivers: Receivers,
    pub(crate) transfers: TransfersPlan,
    pub(crate) storage: Option<StoragePlan>,
}

/// Builds the flows of one host after the other.
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
        let is_lazy = spec.jobs.iter().map(|job| may && may_be_lazy(spec, job)).collect();
        Self { spec, fabric, flows, captured, is_lazy, indices }
    }

    /// The flows of `host`; `storage` is its role in a storage job.
    pub(super) fn host(
        &self,
        host: HostId,
        settings: QueuePairSettings,
        storage: Option<StoragePlan>,
    ) -> HostFlows {
        let of_host = self.indices.of_host(self.spec, host);
        let mut transfers = self.transfers(of_host);
        let sends = self.sends(of_host, &mut transfers);
        let receives = self.receives(of_host, settings.config.recovery, &mut transfers);
        if of_host.from.come_in_laps() && of_host.job.is_some_and(|job| self.is_lazy[job as usize]) {
            let lazy = LazyEnds::new(self.fabric, self.flows, self.indices.pairs(), of_host);
            let lazy: Arc<dyn QueuePairEnds> = Arc::new(lazy);
            return HostFlows {
                links: Vec::new(),
                senders: ResidentQueuePairs::default(),
                lazy: Some(Arc::clone(&lazy)),
                sends,
                receivers: Receivers::lazy(lazy, receives, &settings),
                settings,
                transfers,
                storage,
            };
        }
        let senders = self.ends(of_host, of_host.from, |job, number, peer| {
            self.flows.attachments_in(job, number, host, peer)
        });
        let receivers = self.ends(of_host, of_host.to, |job, number, peer| {
            let [source, destination] = self.flows.attachments_in(job, number, peer, host);
            [destination, source]
        });
        let uses_links = self.spec.transport.rate_control.config().uses_links();
        let links = if uses_links { self.links_to_peers(of_host) } else { Vec::new() };
        HostFlows {
            links,
            senders: Sender::all(senders, &sends),
            lazy: None,
            sends,
            receivers: Receivers::new(receivers, receives, &settings),
            settings,
            transfers,
            storage,
        }
    }

    /// Hops between a host and the other end of each queue pair on which it sends.
    fn links_to_peers(&self, of_host: OfHost<'_>) -> Vec<u32> {
        let Some(job) = of_host.job.map(|job| self.flows.one_job(job as usize)) else { return Vec::new() };
        let links = |AtHost { number, peer, .. }: AtHost| {
            let [from, to] = self.flows.attachments_in(&job, number, of_host.host, peer);
            self.fabric.links_between(from, to)
        };
        of_host.from.iter().map(links).collect()
    }

    /// The transfers of a host, still empty.
    fn transfers(&self, of_host: OfHost<'_>) -> TransfersPlan {
        let OfHost { job, processes, phase_ends, .. } = of_host;
        let clock = HostClock::of(self.spec, of_host.host);
        let times = job.map_or_else(JobTimes::default, |job| job_times(self.spec, job, clock));
        let phase_ends = phase_ends.to_vec();
        TransfersPlan { times, processes, split: self.flows.parts, phase_ends, ..TransfersPlan::default() }
    }

    /// The chunks that a host sends; adds their transfers to `transfers`.
    fn sends(&self, of_host: OfHost<'_>, transfers: &mut TransfersPlan) -> Sends {
        let mut work = WorkMaker::default();
        let queue_pairs = of_host.from.iter().map(|queue_pair| queue_pair.number);
        if let Some(job) = of_host.job {
            let job = self.flows.one_job(job as usize);
            if let Some(bytes) = independent_bytes(&job, transfers) {
                transfers.outgoing = PlanList::of_defaults(queue_pairs.len());
                let chunks = queue_pairs.clone().map(|number| job.only_chunk(number));
                return Sends::one_each(chunks, queue_pairs, bytes);
            }
            for (sender, queue_pair) in (0..).zip(of_host.from.iter()) {
                job.each_chunk(queue_pair.number, |(number, part), chunk| {
                    let outgoing = self.indices.outgoing_of(&chunk, sender);
                    let id = work.push(Work { chunk: number, transfer: outgoing, bytes: chunk.bytes });
                    if !self.indices.are_queue_pairs(chunk.job) {
                        put(&mut transfers.parts, outgoing * self.flows.parts + part, (sender, id));
                    }
                    if part == 0 {
                        self.add_outgoing(&job, &chunk, outgoing, transfers);
                    }
                });
                work.end_share();
            }
        }
        // Open-loop traffic is released by the clock of the host.
        let (start, clock) = (transfers.times.start, HostClock::of(self.spec, of_host.host));
        if !clock.is_right() {
            transfers.releases.iter_mut().for_each(|at| *at = start + clock.span(at.since(start)));
        }
        Sends::new(work, queue_pairs)
    }

    /// Adds the transfer of a chunk at its source.
    #[inline]
    fn add_outgoing(&self, job: &OneJob<'_>, chunk: &Chunk, outgoing: u32, transfers: &mut TransfersPlan) {
        let process = match transfers.processes {
            1 => 0,
            _ => self.indices.process(chunk.job, job.ranks(chunk.transfer)[0]),
        };
        transfers.outgoing.put(outgoing, OutgoingPlan { process, next: self.indices.next(chunk) });
        let releases = self.flows.schedules[chunk.job as usize].releases();
        if let Some(&release) = releases.get(chunk.transfer.index()) {
            put(&mut transfers.releases, outgoing, transfers.times.start + release);
        }
    }

    /// The chunks that a host receives; adds their transfers to `transfers`.
    fn receives(&self, of_host: OfHost<'_>, recovery: Recovery, transfers: &mut TransfersPlan) -> Receives {
        let mut work = WorkMaker::default();
        if let Some(job) = of_host.job {
            let job = self.flows.one_job(job as usize);
            if let Some(bytes) = independent_bytes(&job, transfers) {
                transfers.inbound = PlanList::of_defaults(of_host.to.len());
                if recovery == Recovery::GoBackN {
                    return Receives::of_queue_pairs(job.chunks_beyond_queue_pairs(), bytes);
                }
                let chunks = of_host.to.iter().map(|queue_pair| job.only_chunk(queue_pair.number));
                return Receives::one_each(chunks, bytes);
            }
            for (receiver, queue_pair) in (0..).zip(of_host.to.iter()) {
                job.each_chunk(queue_pair.number, |(number, part), chunk| {
                    let inbound = self.indices.inbound_of(&chunk, receiver);
                    work.push(Work { chunk: number, transfer: inbound, bytes: chunk.bytes });
                    if part == 0 {
                        self.add_inbound(&job, &chunk, inbound, transfers);
                    }
                });
                work.end_share();
            }
        }
        work.into()
    }

    /// Adds the transfer of a chunk at its destination.
    #[inline]
    fn add_inbound(&self, job: &OneJob<'_>, chunk: &Chunk, inbound: u32, transfers: &mut TransfersPlan) {
        let process = match transfers.processes {
            1 => 0,
            _ => self.indices.process(chunk.job, job.ranks(chunk.transfer)[1]),
        };
        let successors = self.indices.add_successors(chunk, &mut transfers.successors);
        transfers.inbound.put(inbound, InboundPlan { process, successors });
    }

    /// The ends of queue pairs at a host. `attachments` returns the ports of a queue pair: own, peer's.
    #[inline(always)]
    fn ends<'b>(
        &'b self,
        of_host: OfHost<'b>,
        queue_pairs: PairsAtHost<'b>,
        attachments: impl Fn(&OneJob<'_>, u32, HostId) -> [AttachmentId; 2] + 'b,
    ) -> impl ExactSizeIterator<Item = QueuePairEnd> + 'b {
        let job = of_host.job.map(|job| self.flows.one_job(job as usize));
        let is_any_captured = !self.captured.is_empty();
        queue_pairs.iter().map(move |at| {
            let job = job.expect("a queue pair is of a job");
            let ends = attachments(&job, at.number, at.peer);
            let end = queue_pair_end(&self.fabric.graph, self.flows, &job, at, ends);
            QueuePairEnd {
                is_captured: is_any_captured && self.captured.contains(&at.number),
                is_local: at.peer == of_host.host,
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

/// Payload of each queue pair [bytes] if the transfers of a host differ only in their number; see
/// [`OneJob::independent_bytes`].
fn independent_bytes(job: &OneJob<'_>, transfers: &TransfersPlan) -> Option<u64> {
    if transfers.processes == 1 { job.independent_bytes() } else { None }
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

fn job_times(spec: &RunSpec, index: u32, clock: HostClock) -> JobTimes {
    let job = &spec.jobs[index as usize];
    let block_bytes = if job.copies_own_block { job.data_bytes / job.hosts.len() as u64 } else { 0 };
    JobTimes {
        round_work: Span(job.compute_ps.unwrap_or(0))
            + Rate::from_bps(spec.fabric.shared_memory.rate_bps).span_of(block_bytes),
        start: Instant(job.start_ps) + clock.offset,
        begins_late: clock.offset > Span::ZERO,
        overhead: Span(job.step_overhead_ps),
        send_overhead: Span(job.send_overhead_ps),
        receive_overhead: Span(job.receive_overhead_ps),
        phases: job.phases_planned(),
        job: index,
        warm_up_rounds: job.warm_up_rounds,
        has_barriers: job.barrier,
    }
}
