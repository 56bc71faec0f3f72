//! Storage jobs: adds their connections to the flows (queue pairs of all jobs), and builds the parameters of
//! clients and targets.

use super::flows::Flows;
use super::unloaded::unloaded_operation;
use crate::nic::{ClientPlan, ConnectionPlan, ReplyPriorities, RolePlan, Stop, StoragePlan, TargetPlan};
use crate::packet::{ConnectionId, ConnectionKind, Path, Priority};
use crate::setup::Fabric;
use crate::setup::hosts::controllers::Controllers;
use jobs::{QueuePair, RankConnections};
use paths::Direction;
use spec::{JobSpec, RunSpec, SpecError, StorageLength, StorageSpec, unsupported};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use topology::Graph;
use units::{Instant, Rate, Seed, Span};
use wire::Psn;
use workload::ScheduleBuilder;

impl Flows {
    /// Adds the connections of a storage job: those of each client in the order of the targets, each with its
    /// queues.
    pub(crate) fn add_storage(
        &mut self,
        spec: &RunSpec,
        fabric: &Fabric,
        index: u32,
        job: &JobSpec,
        storage: &StorageSpec,
    ) -> Result<(), SpecError> {
        let targets = job.hosts.len() as u32 - storage.clients;
        let connections = RankConnections::Storage { clients: storage.clients, targets };
        let none = ScheduleBuilder::with_capacity(0, 0).finish();
        let pairs = self.add_connections(fabric, index, job, none, connections)?;
        self.note_operations(spec, fabric, storage, pairs.clone());
        self.check_duration(index, storage, pairs)
    }

    /// Stores the completion times on an idle fabric of an operation on each of `pairs`.
    fn note_operations(&mut self, spec: &RunSpec, fabric: &Fabric, storage: &StorageSpec, pairs: Range<u32>) {
        let mut spans_of_ends = HashMap::new();
        for pair in pairs {
            let pair = self.queue_pair(pair);
            let ends = self.attachments(&pair, Direction::Forward);
            let spans = *spans_of_ends.entry(ends).or_insert_with(|| {
                [false, true].map(|is_read| unloaded_operation(spec, fabric, ends, storage, is_read))
            });
            self.unloaded_operations.insert(pair.number, spans);
        }
    }

    fn check_duration(&self, index: u32, storage: &StorageSpec, pairs: Range<u32>) -> Result<(), SpecError> {
        let StorageLength::Duration { duration_ps } = storage.length else { return Ok(()) };
        let spans = pairs.flat_map(|pair| self.unloaded_operations[&pair]);
        let longest = spans.max().unwrap_or_default();
        let measured = Span(duration_ps - storage.warm_up_ps);
        if longest <= measured {
            return Ok(());
        }
        let field = format!("jobs[{index}].work.length.duration_ps");
        let found = format!("{} ns measured, the warm-up excluded", measured.0 / 1_000);
        let allowed = format!("at least the {} ns of an operation alone", longest.0.div_ceil(1_000));
        Err(unsupported(field, found, allowed))
    }

    /// Chunk number that the operations of a storage connection are reported with: beyond the chunks of all
    /// schedules.
    pub(crate) fn storage_chunk(&self, pair: &QueuePair) -> u32 {
        self.chunk_count() + pair.number
    }

    /// The connection with this chunk number.
    pub(crate) fn storage_pair(&self, chunk: u32) -> QueuePair {
        self.queue_pair(chunk - self.chunk_count())
    }
}

/// The role of each host in a storage job, if it has any.
pub(crate) fn storage_plans(
    spec: &RunSpec,
    graph: &Graph,
    flows: &Flows,
    captured: &HashSet<u32>,
) -> Vec<Option<StoragePlan>> {
    let mut plans: Vec<Option<StoragePlan>> = (0..graph.hosts()).map(|_| None).collect();
    if !spec.has_storage() {
        return plans;
    }
    for (index, job) in (0..).zip(&spec.jobs) {
        let Some(storage) = job.work.storage() else { continue };
        for (rank, &host) in (0..).zip(&job.hosts) {
            let role = if rank < storage.clients {
                RolePlan::Client(client_plan(spec, index, rank, job, storage))
            } else {
                RolePlan::Target(target_plan(storage))
            };
            let is_background = job.repeat.rounds().is_none();
            plans[host as usize] =
                Some(StoragePlan { role, connections: Vec::new(), job: index, is_background });
        }
    }
    let controllers = Controllers::new(spec, graph);
    let pairs = flows.queue_pairs();
    for pair in pairs.filter(|pair| spec.jobs[pair.job as usize].work.storage().is_some()) {
        add_connection_ends(spec, graph, flows, &controllers, captured, &pair, &mut plans);
    }
    plans
}

fn add_connection_ends(
    spec: &RunSpec,
    graph: &Graph,
    flows: &Flows,
    controllers: &Controllers,
    captured: &HashSet<u32>,
    pair: &QueuePair,
    plans: &mut [Option<StoragePlan>],
) {
    let indices = [pair.src_host, pair.dst_host].map(|host| connections(plans, host.index()).len() as u32);
    let back_psn = Seed(spec.seed).stream("qp.initial_psn.target", u64::from(pair.identity)).next_u32();
    let psns = [pair.initial_psn(), Psn::new(back_psn & 0xff_ffff)];
    let attachments = flows.attachments(pair, Direction::Forward);
    let priorities = spec.transport.priorities;
    let reads = spec.jobs[pair.job as usize].work.storage().map_or(1, |storage| storage.outstanding_reads);
    for (end, direction) in [(0, Direction::Forward), (1, Direction::Reverse)] {
        let plan = ConnectionPlan {
            queue_pair: pair.number,
            chunk: flows.storage_chunk(pair),
            own_psn: psns[end],
            peer_psn: psns[1 - end],
            path: Path {
                destination: attachments[1 - end],
                connection: ConnectionId::new(ConnectionKind::Storage, indices[1 - end]),
                entropy: flows.entropy(pair, flows.attachments(pair, direction)),
            },
            priority: Priority(spec.priority_of(pair.job)),
            replies: ReplyPriorities { ack: Priority(priorities.ack), cnp: Priority(priorities.cnp) },
            cnp_interval: spec.transport.rate_control.config().cnp_interval(),
            controller: controllers.of(attachments[end]),
            port: graph.attachment(attachments[end]).host_port,
            is_captured: captured.contains(&pair.number),
            is_target: end == 1,
            reads_max: reads as usize,
        };
        let host = if end == 0 { pair.src_host } else { pair.dst_host };
        connections(plans, host.index()).push(plan);
    }
}

fn connections(plans: &mut [Option<StoragePlan>], host: usize) -> &mut Vec<ConnectionPlan> {
    &mut plans[host].as_mut().expect("every host of a storage job has its part in it").connections
}

fn client_plan(spec: &RunSpec, index: u32, rank: u32, job: &JobSpec, storage: &StorageSpec) -> ClientPlan {
    // Random draws of a job do not depend on other jobs.
    let id = (u64::from(job.stream) << 32) | u64::from(rank);
    let stop = match (job.repeat.rounds(), storage.length) {
        (None, _) => Stop::Never,
        (_, StorageLength::Duration { duration_ps }) => Stop::At(Instant(job.start_ps) + Span(duration_ps)),
        (_, StorageLength::Operations { operations }) => Stop::After(operations),
    };
    ClientPlan {
        job: index,
        block_bytes: storage.block_bytes,
        in_capsule_bytes: storage.in_capsule_bytes,
        depth: storage.depth as u16,
        read_ppm: storage.read_ppm,
        queues: spec.transport.qps_per_rank_pair,
        start: Instant(job.start_ps),
        stop,
        targets: Seed(spec.seed).stream("storage.targets", id),
        directions: Seed(spec.seed).stream("storage.directions", id),
    }
}

fn target_plan(storage: &StorageSpec) -> TargetPlan {
    TargetPlan {
        block_bytes: storage.block_bytes,
        in_capsule_bytes: storage.in_capsule_bytes,
        service_rate: storage.service_rate_bps.map(Rate::from_bps),
        service_time: Span(storage.service_time_ps),
        depth: storage.depth as u16,
    }
}
