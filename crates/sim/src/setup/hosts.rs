//! The hosts of a run: their queue pairs and the transfers they take part in.

use super::Fabric;
use super::controllers::{Controllers, cnp_interval};
use super::entropy::Direction;
use super::flows::{Chunk, Flows, QueuePair};
use super::places::{OfHost, Places};
use crate::nic::{
    JobTimes, QueuePairSettings, ReceiveChunk, ReceiverPlan, ReplyPriorities, SendChunk, SenderPlan,
    StoragePlan, TransfersPlan,
};
use crate::packet::{Path, Priority};
use spec::{FabricSpec, JobSpec, LoadBalancing, RunSpec};
use std::collections::HashSet;
use std::sync::Arc;
use topology::Graph;
use transport::Config;
use units::{HostId, Instant, Rate, Span};

/// What one host sends and receives.
#[derive(Default)]
pub(crate) struct HostFlows {
    pub(crate) senders: Vec<SenderPlan>,
    pub(crate) sends: Vec<SendChunk>,
    pub(crate) receivers: Vec<ReceiverPlan>,
    pub(crate) receives: Vec<ReceiveChunk>,
    pub(crate) transfers: TransfersPlan,
    pub(crate) storage: Option<StoragePlan>,
}

/// What the flows of hosts are made from, one host after the other.
pub(super) struct HostMaker<'a> {
    spec: &'a RunSpec,
    graph: &'a Graph,
    flows: &'a Flows,
    /// Queue pairs of which frames are recorded.
    captured: &'a HashSet<u32>,
    places: Places<'a>,
}

impl<'a> HostMaker<'a> {
    pub(super) fn new(
        spec: &'a RunSpec,
        fabric: &'a Fabric,
        flows: &'a Flows,
        captured: &'a HashSet<u32>,
    ) -> Self {
        Self { spec, graph: &fabric.graph, flows, captured, places: Places::new(spec, &fabric.graph, flows) }
    }

    /// The share of a host, with what it does in a storage job.
    pub(super) fn host(&self, host: HostId, storage: Option<StoragePlan>) -> HostFlows {
        let of_host = self.places.of_host(self.spec, host);
        let OfHost { from, to, .. } = of_host;
        let mut flows = HostFlows { storage, transfers: self.transfers(of_host), ..HostFlows::default() };
        flows.senders.reserve_exact(from.len());
        flows.sends.reserve(from.len());
        flows.receivers.reserve_exact(to.len());
        flows.receives.reserve(to.len());
        from.iter().for_each(|&number| self.add_sender(number, &mut flows));
        to.iter().for_each(|&number| self.add_receiver(number, &mut flows));
        flows
    }

    /// The transfers of a host, of which nothing is known yet.
    fn transfers(&self, of_host: OfHost<'_>) -> TransfersPlan {
        let OfHost { job, processes, phase_ends, .. } = of_host;
        let times = job.map_or_else(JobTimes::default, |job| job_times(self.spec, job));
        let phase_ends = phase_ends.to_vec();
        TransfersPlan { times, processes, split: self.flows.parts, phase_ends, ..TransfersPlan::default() }
    }

    fn add_sender(&self, number: u32, host: &mut HostFlows) {
        let first = host.sends.len() as u32;
        let pair = self.flows.each_chunk(number, |pair, chunk| self.add_send(pair, chunk, host));
        let (path, port) = self.path(&pair, Direction::Forward, self.flows.receiver(number));
        host.senders.push(SenderPlan {
            queue_pair: number,
            initial_psn: pair.initial_psn(),
            path,
            port,
            is_captured: self.captured.contains(&number),
            is_local: pair.is_local(),
            chunks: first..host.sends.len() as u32,
        });
    }

    fn add_send(&self, pair: &QueuePair, (number, chunk): (u32, Chunk), host: &mut HostFlows) {
        let Chunk { bytes, transfer, .. } = chunk;
        let sender = host.senders.len() as u32;
        let outgoing = self.places.outgoing_of(pair, sender, transfer);
        if !self.places.are_queue_pairs(pair) {
            let part = outgoing * self.flows.parts + pair.part;
            put(&mut host.transfers.parts, part, (sender, host.sends.len() as u32));
        }
        host.sends.push(SendChunk { chunk: number, outgoing, bytes });
        if pair.part > 0 {
            return;
        }
        host.transfers.outgoing.put(outgoing, self.places.outgoing_plan(pair, transfer));
        if let Some(&release) = self.flows.schedules[pair.job as usize].releases().get(transfer.index()) {
            let start = Instant(self.spec.jobs[pair.job as usize].start_ps);
            put(&mut host.transfers.releases, outgoing, start + release);
        }
    }

    fn add_receiver(&self, number: u32, host: &mut HostFlows) {
        let first = host.receives.len() as u32;
        let pair = self.flows.each_chunk(number, |pair, chunk| self.add_receive(pair, chunk, host));
        debug_assert_eq!(self.flows.receiver(number) as usize, host.receivers.len());
        let (path, port) = self.path(&pair, Direction::Reverse, self.places.sender(number));
        host.receivers.push(ReceiverPlan {
            queue_pair: number,
            initial_psn: pair.initial_psn(),
            path,
            port,
            is_captured: self.captured.contains(&number),
            is_local: pair.is_local(),
            chunks: first..host.receives.len() as u32,
        });
    }

    fn add_receive(&self, pair: &QueuePair, (number, chunk): (u32, Chunk), host: &mut HostFlows) {
        let Chunk { bytes, transfer, .. } = chunk;
        let inbound = self.places.inbound(pair, host.receivers.len() as u32, transfer);
        host.receives.push(ReceiveChunk { chunk: number, inbound, bytes });
        if pair.part == 0 {
            let plan = self.places.inbound_plan(pair, transfer, &mut host.transfers.successors);
            host.transfers.inbound.put(inbound, plan);
        }
    }

    /// What decides the way of packets of `pair` to `queue_pair`, its number at their destination, and the port of the host
    /// that sends them.
    fn path(&self, pair: &QueuePair, direction: Direction, queue_pair: u32) -> (Path, u16) {
        let [source, destination] = self.flows.attachments(pair, direction);
        let entropy = self.flows.entropy(pair, [source, destination]);
        (Path { destination, queue_pair, entropy }, self.graph.attachment(source).host_port)
    }
}

/// Puts an item into its place in a list that has all of them in the end.
fn put<T: Clone + Default>(list: &mut Vec<T>, place: u32, item: T) {
    let place = place as usize;
    if place == list.len() {
        return list.push(item);
    }
    if place > list.len() {
        list.resize(place + 1, T::default());
    }
    list[place] = item;
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

/// Whether packets of one queue pair may take paths of different delay: its paths vary by packet, or change when routes
/// do.
const fn may_reorder(fabric: &FabricSpec) -> bool {
    let keeps_path = matches!(
        fabric.load_balancing,
        LoadBalancing::Ecmp { .. } | LoadBalancing::Weighted { .. } | LoadBalancing::Pinned { .. }
    );
    !keeps_path || !fabric.failures.is_empty()
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
