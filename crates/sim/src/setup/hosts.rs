//! The hosts of a run: their queue pairs and the transfers they take part in.

use super::Fabric;
use super::entropy::Direction;
use super::flows::{Chunk, Flows, QueuePair};
use super::storage::place_storage;
use crate::nic::{
    JobTimes, Outgoing, PhaseEnd, QueuePairSettings, ReceiveChunk, ReceiverPlan, ReplyPriorities, SendChunk,
    SenderPlan, StoragePlan, Transfers,
};
use crate::packet::{Path, Priority};
use spec::{FabricSpec, JobSpec, LoadBalancing, RateControl, RunSpec};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use topology::{Attachment, Graph};
use transport::{Config, Controller, DcqcnConfig, DcqcnPacer, LineRate};
use units::{AttachmentId, Instant, Rate, Span, TransferId};
use workload::{Message, Schedule};

/// What one host sends and receives.
#[derive(Default)]
pub(crate) struct HostFlows {
    pub(crate) senders: Vec<SenderPlan>,
    pub(crate) sends: Vec<SendChunk>,
    pub(crate) receivers: Vec<ReceiverPlan>,
    pub(crate) receives: Vec<ReceiveChunk>,
    pub(crate) transfers: Transfers,
    pub(crate) storage: Option<StoragePlan>,
}

/// Where a transfer stands at its two hosts.
#[derive(Clone, Copy, Default)]
struct Place {
    outgoing: u32,
    inbound: u32,
}

/// Which sender carries a chunk, and where it stands among the sends of its host.
#[derive(Clone, Copy, Default)]
struct Carried {
    host: u32,
    sender: u32,
    send: u32,
}

/// Gives every host its share of `flows`. Frames of the queue pairs in `captured` are recorded.
pub(crate) fn host_flows(
    spec: &RunSpec,
    fabric: &Fabric,
    flows: &Flows,
    captured: &HashSet<u32>,
) -> Vec<HostFlows> {
    let graph = &fabric.graph;
    let mut hosts = sized_hosts(graph, flows);
    let places = place_transfers(spec, flows, &mut hosts);
    let mut carried = vec![Carried::default(); flows.chunk_count() as usize];
    let of_schedules = |pair: &QueuePair| spec.jobs[pair.job as usize].storage.is_none();
    for (id, pair) in flows.queue_pairs().filter(of_schedules).map(|pair| (pair.number, pair)) {
        let (is_captured, initial_psn) = (captured.contains(&id), pair.initial_psn());
        let (sender, receiver) = (hosts[pair.src_host.index()].senders.len() as u32, pair.receiver);
        debug_assert_eq!(receiver as usize, hosts[pair.dst_host.index()].receivers.len());
        let chunks = flows.chunks_of(id);
        let first_send = hosts[pair.src_host.index()].sends.len() as u32;
        let first_receive = hosts[pair.dst_host.index()].receives.len() as u32;
        for (send, chunk) in (first_send..).zip(chunks.clone()) {
            carried[chunk as usize] = Carried { host: pair.src_host.0, sender, send };
            let Chunk { bytes, transfer, .. } = flows.chunk(chunk);
            let Place { outgoing, inbound } = places[pair.job as usize][transfer.index()];
            hosts[pair.src_host.index()].sends.push(SendChunk::new(chunk, outgoing, bytes));
            let receive = ReceiveChunk { chunk, inbound, bytes };
            hosts[pair.dst_host.index()].receives.push(receive);
        }
        hosts[pair.src_host.index()].senders.push(SenderPlan {
            queue_pair: id,
            initial_psn,
            path: path(graph, flows, &pair, Direction::Forward, receiver),
            port: graph.attachment(pair.src_attachment).host_port,
            is_captured,
            is_local: pair.is_local(),
            chunks: first_send..first_send + chunks.len() as u32,
        });
        hosts[pair.dst_host.index()].receivers.push(ReceiverPlan {
            queue_pair: id,
            initial_psn,
            path: path(graph, flows, &pair, Direction::Reverse, sender),
            port: graph.attachment(pair.dst_attachment).host_port,
            is_captured,
            is_local: pair.is_local(),
            chunks: first_receive..first_receive + chunks.len() as u32,
        });
    }
    place_parts(&carried, &mut hosts);
    place_storage(spec, graph, flows, &Controllers::new(spec, graph), captured, &mut hosts);
    hosts
}

/// What the queue pairs of each host have in common, host by host.
pub(super) fn queue_pair_settings(
    spec: &RunSpec,
    fabric: &Fabric,
    config: &Arc<Config>,
) -> Vec<QueuePairSettings> {
    let priorities = spec.transport.priorities;
    let controllers = Controllers::new(spec, &fabric.graph);
    let of_host = |host: &topology::Node| QueuePairSettings {
        config: Arc::clone(config),
        framing: fabric.framing,
        data: Priority(priorities.data),
        replies: ReplyPriorities { ack: Priority(priorities.ack), cnp: Priority(priorities.cnp) },
        cnp_interval: cnp_interval(spec),
        controllers: host
            .ports
            .iter()
            .map(|port| controllers.at(fabric.graph.link(port.link).rate))
            .collect(),
        may_reorder: may_reorder(&spec.fabric),
    };
    fabric.graph.nodes[..fabric.graph.hosts()].iter().map(of_host).collect()
}

/// What decides the way of packets of `pair` to `queue_pair`, its number at their destination.
fn path(graph: &Graph, flows: &Flows, pair: &QueuePair, direction: Direction, queue_pair: u32) -> Path {
    let destination = match direction {
        Direction::Forward => pair.dst_attachment,
        Direction::Reverse => pair.src_attachment,
    };
    Path { destination, queue_pair, entropy: flows.path_hash.of(graph, pair, direction) }
}

/// Whether packets of one queue pair may take paths of different delay: its paths vary by packet, or change when routes
/// do.
const fn may_reorder(fabric: &FabricSpec) -> bool {
    let keeps_path = matches!(
        fabric.load_balancing,
        LoadBalancing::Ecmp { .. } | LoadBalancing::Weighted { .. } | LoadBalancing::Pinned { .. }
    );
    !keeps_path || !fabric.failures.is_empty()
}

/// Hosts without anything, with room for what they will have: so many small lists must not grow step by step.
fn sized_hosts(graph: &Graph, flows: &Flows) -> Vec<HostFlows> {
    let mut hosts: Vec<HostFlows> = (0..graph.hosts()).map(|_| HostFlows::default()).collect();
    let mut counts = vec![[0; 4]; hosts.len()];
    for number in 0..flows.queue_pair_count() {
        let chunks = flows.chunks_of(number).len();
        let [src_host, dst_host] = flows.hosts_of(number);
        let [senders, sends, ..] = &mut counts[src_host.index()];
        (*senders, *sends) = (*senders + 1, *sends + chunks);
        let [.., receivers, receives] = &mut counts[dst_host.index()];
        (*receivers, *receives) = (*receivers + 1, *receives + chunks);
    }
    for (host, [senders, sends, receivers, receives]) in hosts.iter_mut().zip(counts) {
        host.senders.reserve_exact(senders);
        host.sends.reserve_exact(sends);
        host.receivers.reserve_exact(receivers);
        host.receives.reserve_exact(receives);
        host.transfers.parts.reserve_exact(sends);
        host.transfers.outgoing.reserve_exact(sends / flows.parts as usize);
        host.transfers.inbound.reserve_exact(receives / flows.parts as usize);
    }
    hosts
}

/// Numbers the transfers of each job at their hosts and links each to what waits for it.
fn place_transfers(spec: &RunSpec, flows: &Flows, hosts: &mut [HostFlows]) -> Vec<Vec<Place>> {
    let mut places = Vec::new();
    for ((job, schedule), index) in spec.jobs.iter().zip(&flows.schedules).zip(0..) {
        let processes: Vec<_> =
            job.hosts.iter().map(|&host| add_rank(spec, index, flows, &mut hosts[host as usize])).collect();
        let mut of_job = vec![Place::default(); schedule.transfers().len()];
        for (index, transfer) in schedule.transfers().enumerate() {
            let source = &mut hosts[job.hosts[transfer.src.index()] as usize].transfers;
            of_job[index].outgoing = source.outgoing.len() as u32;
            source.outgoing.push(Outgoing::of(processes[transfer.src.index()]));
            let release = schedule.releases().get(index);
            source.releases.extend(release.map(|&release| Instant(job.start_ps) + release));
        }
        if schedule.is_blocking() {
            place_one_after_another(job, schedule, &of_job, hosts);
        }
        for (index, transfer) in schedule.transfers().enumerate() {
            let target = &mut hosts[job.hosts[transfer.dst.index()] as usize].transfers;
            of_job[index].inbound = target.inbound.len() as u32;
            let waiting = schedule.successors(TransferId(index as u32));
            target.push_inbound(
                processes[transfer.dst.index()],
                waiting.map(|next| of_job[next.index()].outgoing),
            );
        }
        place_phases(job, schedule, hosts);
        places.push(of_job);
    }
    places
}

/// Tells each host of a job where the phases of its transfers end, if there are several.
fn place_phases(job: &JobSpec, schedule: &Schedule, hosts: &mut [HostFlows]) {
    if schedule.phases().len() == 1 {
        return;
    }
    let own: BTreeSet<usize> = job.hosts.iter().map(|&host| host as usize).collect();
    let mut ends = vec![PhaseEnd::default(); hosts.len()];
    for phase in schedule.phases() {
        for transfer in phase.map(|id| schedule.transfer(TransferId(id))) {
            ends[job.hosts[transfer.src.index()] as usize].outgoing += 1;
            ends[job.hosts[transfer.dst.index()] as usize].inbound += 1;
        }
        own.iter().for_each(|&host| hosts[host].transfers.phase_ends.push(ends[host]));
    }
}

/// Places a rank of a job on a host; returns its number there.
fn add_rank(spec: &RunSpec, job: u32, flows: &Flows, host: &mut HostFlows) -> u32 {
    host.transfers.times = job_times(spec, job);
    host.transfers.split = flows.parts;
    host.transfers.push_process()
}

fn job_times(spec: &RunSpec, index: u32) -> JobTimes {
    let job = &spec.jobs[index as usize];
    let block_bytes = if job.copies_own_block { job.data_bytes / job.hosts.len() as u64 } else { 0 };
    JobTimes {
        own_copy: Rate::from_bps(spec.fabric.shared_memory.rate_bps).span_of(block_bytes),
        start: Instant(job.start_ps),
        overhead: Span(job.step_overhead_ps),
        send_overhead: Span(job.send_overhead_ps),
        receive_overhead: Span(job.receive_overhead_ps),
        phases: job.rounds_planned().map(|rounds| phases_of(job, rounds)),
        job: index,
        warm_up_rounds: job.warm_up_rounds,
        has_barriers: job.barrier,
    }
}

/// So many rounds, and the barriers between them.
const fn phases_of(job: &JobSpec, rounds: u32) -> u32 {
    if job.barrier { 2 * rounds - 1 } else { rounds }
}

/// Makes each transfer of a round wait until the one before it of the same rank has been acknowledged. Of one with a handshake the
/// announcement waits, and the next for the payload; a clearance answers a message of another rank and waits for none.
fn place_one_after_another(job: &JobSpec, schedule: &Schedule, places: &[Place], hosts: &mut [HostFlows]) {
    let mut last = vec![None; job.hosts.len()];
    let mut phases = schedule.phases();
    let mut phase = phases.next();
    for ((id, transfer), place) in (0..).map(TransferId).zip(schedule.transfers()).zip(places) {
        if phase.as_ref().is_some_and(|phase| id.0 >= phase.end) {
            phase = phases.next();
            last.fill(None);
        }
        let rank = transfer.src.index();
        let outgoing = &mut hosts[job.hosts[rank] as usize].transfers.outgoing;
        let before: Option<u32> = match schedule.message(id) {
            Message::Payload => last[rank].replace(place.outgoing),
            Message::Rts => last[rank].take(),
            Message::Cts | Message::Barrier => None,
        };
        if let Some(before) = before {
            outgoing[before as usize].precede(place.outgoing);
        }
    }
}

/// Tells each outgoing transfer which sends carry its parts. Chunks are ordered by job, transfer and part, and
/// outgoing transfers of a host by job and transfer, so each host's next chunk belongs to its next transfer.
fn place_parts(carried: &[Carried], hosts: &mut [HostFlows]) {
    for &Carried { host, sender, send } in carried {
        hosts[host as usize].transfers.parts.push((sender, send));
    }
}

/// The rate controllers of a run: their parameters are shared by all queue pairs of one line rate.
pub(super) struct Controllers<'a> {
    graph: &'a Graph,
    by_rate: Vec<(Rate, Arc<DcqcnConfig>)>,
}

impl<'a> Controllers<'a> {
    fn new(spec: &RunSpec, graph: &'a Graph) -> Self {
        let mut by_rate: Vec<(Rate, Arc<DcqcnConfig>)> = Vec::new();
        for attachment in &graph.attachments {
            let rate = port_rate(graph, attachment);
            if by_rate.iter().all(|known| known.0 != rate) {
                by_rate.extend(dcqcn_config(spec, rate).map(|config| (rate, Arc::new(config))));
            }
        }
        Self { graph, by_rate }
    }

    /// The controller of a queue pair that sends by `attachment`.
    pub(super) fn of(&self, attachment: AttachmentId) -> Controller {
        self.at(port_rate(self.graph, self.graph.attachment(attachment)))
    }

    /// The controller of a queue pair that sends by a port of that rate.
    fn at(&self, rate: Rate) -> Controller {
        if self.by_rate.is_empty() {
            return Controller::LineRate(LineRate);
        }
        let known = self.by_rate.iter().find(|known| known.0 == rate).expect("every port's rate is known");
        Controller::Dcqcn(DcqcnPacer::new(Arc::clone(&known.1)))
    }
}

/// The parameters of DCQCN at a port, if it is used.
const fn dcqcn_config(spec: &RunSpec, line_rate: Rate) -> Option<DcqcnConfig> {
    match spec.transport.rate_control {
        RateControl::LineRate {} => None,
        RateControl::Dcqcn {
            g_2e20,
            alpha_timer_ps,
            rate_cut_period_ps,
            increase_timer_ps,
            byte_counter_bytes,
            fast_recovery_rounds,
            additive_increase_bps,
            hyper_increase_bps,
            rate_min_bps,
            clamp_target_rate,
            cnp_interval_ps: _,
        } => Some(DcqcnConfig {
            g: g_2e20 as u64,
            alpha_timer: Span(alpha_timer_ps),
            rate_cut_period: Span(rate_cut_period_ps),
            increase_timer: Span(increase_timer_ps),
            byte_counter_bytes,
            fast_recovery_rounds,
            additive_increase_bps,
            hyper_increase_bps,
            rate_min_bps,
            clamp_target_rate,
            line_rate_bps: line_rate.bps(),
        }),
    }
}

pub(super) fn cnp_interval(spec: &RunSpec) -> Option<Span> {
    match spec.transport.rate_control {
        RateControl::LineRate {} => None,
        RateControl::Dcqcn { cnp_interval_ps, .. } => Some(Span(cnp_interval_ps)),
    }
}

/// Rate of a host port.
fn port_rate(graph: &Graph, attachment: &Attachment) -> Rate {
    let Attachment { host, host_port, .. } = *attachment;
    graph.link(graph.nodes[host.index()].ports[usize::from(host_port)].link).rate
}
