//! Summarises a run: outcome of jobs and TCP traffic; frames delivered, lost by cause and in flight; frames
//! that arrived after the delivery of their chunk (part of a transfer); events of PFC storms, stalls and ECN
//! threshold changes.

use super::connections::tcp_summaries;
use super::progress::JobProgress;
use super::{World, WorldPartition, invariants};
use crate::nic::Host;
use crate::packet::Packet;
use crate::setup::{FabricNode, Flows};
use crate::switch::Switch;
use crate::switch::marking::ecn_control::EcnControl;
use crate::switch::scheduled::{Leaf, Scheduled};
use crate::switch::watchdog::{StormChange, StormEvent, Watchdog};
use engine::{Partition, Window};
use jobs::Measured;
use record::EventRow;
use spec::{
    JobSpec, JobSummary, LateFrames, LossCauses, MessageCounts, QpType, RankTimes, RunSpec, RunStatus,
    RunSummary,
};
use std::collections::HashMap;
use topology::Node;
use units::{Instant, NodeId};

/// Frame counts of all nodes together.
#[derive(Default)]
pub(crate) struct Counts {
    sent: u64,
    delivered: u64,
    pub(crate) lost: LossCauses,
    pub(crate) queued: u64,
    fast_windows: u64,
    exact_windows: u64,
}

impl Counts {
    pub(crate) fn of<'a>(nodes: impl Iterator<Item = &'a FabricNode>) -> Self {
        let mut counts = Self::default();
        for node in nodes {
            match node {
                FabricNode::Host(host) => {
                    counts.delivered += host.received_frames() - host.pauses_to_act_on();
                    for port in host.ports() {
                        counts.sent += port.transmitter().frames() - port.link_control_sent();
                        counts.delivered -= port.link_control_received();
                        counts.lost.link_down += port.transmitter().lost().frames;
                        counts.lost.bit_error += port.transmitter().corrupted().frames;
                    }
                    counts.delivered -= host.overrun_frames();
                    counts.lost.host_overrun += host.overrun_frames();
                }
                FabricNode::Switch(switch) => {
                    for port in switch.ports() {
                        counts.lost.buffer_full += port.counters().dropped_tail.frames;
                        counts.lost.headroom_overrun += port.counters().dropped_headroom.frames;
                        counts.lost.wred += port.counters().dropped_wred.frames;
                        counts.lost.pfc_watchdog += port.counters().dropped_watchdog.frames;
                        counts.lost.link_down += port.transmitter().lost().frames;
                        counts.lost.bit_error += port.transmitter().corrupted().frames;
                        counts.queued += port.queued_frames();
                    }
                    let stranded = switch.stranded().iter().map(|stranded| stranded.frames);
                    counts.lost.link_down += stranded.sum::<u64>();
                    counts.queued += switch.incoming_frames();
                    counts.fast_windows += switch.paths().fast;
                    counts.exact_windows += switch.paths().exact;
                }
                FabricNode::Scheduled(Scheduled::Leaf(leaf)) => counts.add_leaf(leaf),
                FabricNode::Scheduled(Scheduled::Element(element)) => {
                    counts.queued += element.queued_frames();
                }
            }
        }
        counts
    }

    fn add_leaf(&mut self, leaf: &Leaf) {
        for port in leaf.ports() {
            self.lost.buffer_full += port.counters().dropped_tail.frames;
            self.lost.headroom_overrun += port.counters().dropped_headroom.frames;
            self.lost.link_down += port.transmitter().lost().frames;
        }
        self.queued += leaf.queued_frames();
    }
}

/// Frames that `nodes` lost.
pub(crate) fn frames_lost<'a>(nodes: impl Iterator<Item = &'a FabricNode>) -> LossCauses {
    Counts::of(nodes).lost
}

/// Summarises a run.
///
/// # Panics
/// When a frame is neither delivered nor lost nor in flight.
pub(crate) fn summarise(
    spec: &RunSpec,
    world: &World,
    counts: &Counts,
    jobs: &[JobProgress],
    last: Window,
    is_stalled: bool,
) -> RunSummary {
    let on_links =
        |partition: &Partition<_, _>| partition.in_flight(|packet: &Packet| !packet.is_link_control());
    let in_flight = world.partitions.iter().map(on_links).sum::<u64>() + counts.queued;
    let lost = counts.lost.total();
    assert_eq!(
        counts.sent,
        counts.delivered + lost + in_flight,
        "frames sent = delivered ({}) + lost ({lost}) + in flight ({in_flight})",
        counts.delivered,
    );
    invariants::check_pools(world);
    let is_cut_off = jobs.iter().any(JobProgress::is_background) || !spec.tcp.is_empty();
    let late = late_frames(world, spec.jobs.len());
    let messages = messages(spec, world);
    let jobs: Vec<JobSummary> = spec
        .jobs
        .iter()
        .zip(jobs)
        .zip(late)
        .zip(0..)
        .map(|(((job, progress), late), index)| {
            let mut summary = job_summary(spec, world, index, job, progress);
            summary.late = late;
            summary.messages = messages.get(index as usize).copied();
            if let Some(messages) = summary.messages.filter(|_| summary.status != RunStatus::Complete) {
                let (lost, sent) = (messages.lost(), messages.sent);
                summary.reason = format!("{lost} of {sent} messages lost; {}", summary.reason);
            }
            summary
        })
        .collect();
    let tcp = tcp_summaries(spec, world, last.end);
    let mut traffic = spec.tcp.iter().zip(&tcp);
    let all_complete = jobs.iter().all(|job| job.status == RunStatus::Complete)
        && traffic.all(|(tcp, summary)| {
            tcp.duration_ps.is_none() || summary.connections_complete == summary.connections
        });
    let ends_with_jobs = all_complete && !is_cut_off;
    RunSummary {
        status: run_status(all_complete, is_stalled),
        end_ps: jobs
            .iter()
            .filter_map(|job| job.end_ps)
            .max()
            .filter(|_| ends_with_jobs)
            .unwrap_or(last.end.0),
        jobs,
        tcp,
        frames_sent: counts.sent,
        frames_delivered: counts.delivered,
        frames_lost: counts.lost,
        frames_in_flight: in_flight,
        packet_hops: world.partitions.iter().map(|partition| partition.totals().messages).sum(),
        events: world.partitions.iter().map(|partition| partition.activations()).sum(),
        fast_windows: counts.fast_windows,
        exact_windows: counts.exact_windows,
        window_ps: world.fabric.span.0,
        fast_forward_ps: 0,
    }
}

fn job_summary(
    spec: &RunSpec,
    world: &World,
    index: u32,
    job: &JobSpec,
    progress: &JobProgress,
) -> JobSummary {
    let is_complete = progress.is_complete();
    let chunks = progress.chunks();
    let (rounds, warm_up_rounds) = progress.complete_rounds();
    let ranks = if is_complete { measured_of_ranks(world, index, job) } else { Vec::new() };
    JobSummary {
        name: job.name.clone(),
        status: if is_complete { RunStatus::Complete } else { RunStatus::Incomplete },
        start_ps: job.start_ps,
        end_ps: (is_complete && rounds > 0).then_some(progress.end(&ranks).0),
        rounds,
        warm_up_rounds,
        round_times: progress.round_times(&ranks),
        size_times: progress.size_times(job, &ranks),
        rank_times: if is_complete { rank_times(&ranks) } else { None },
        chunks,
        chunks_complete: progress.complete,
        chunks_failed: progress.failed,
        late: LateFrames::default(),
        messages: None,
        reason: if is_complete { String::new() } else { reason(spec, &world.flows, progress, chunks) },
    }
}

/// Frames of each job that arrived after their chunk had been delivered.
fn late_frames(world: &World, jobs: usize) -> Vec<LateFrames> {
    let mut of_jobs = vec![LateFrames::default(); jobs];
    for (queue_pair, late) in hosts(world).flat_map(|host| host.late()) {
        let sum = &mut of_jobs[world.flows.queue_pair(queue_pair).job as usize];
        sum.frames += late.frames;
        sum.ecn_ce_rx += late.ecn_ce_rx;
        sum.cnp_tx += late.cnp_tx;
    }
    of_jobs
}

/// Messages of each job on unreliable connections; empty on others.
fn messages(spec: &RunSpec, world: &World) -> Vec<MessageCounts> {
    if spec.transport.connection != QpType::Uc {
        return Vec::new();
    }
    let mut of_jobs = vec![MessageCounts::default(); spec.jobs.len()];
    for (queue_pair, counts) in hosts(world).flat_map(|host| host.messages()) {
        let sum = &mut of_jobs[world.flows.queue_pair(queue_pair).job as usize];
        sum.sent += counts.sent;
        sum.received += counts.received;
    }
    of_jobs
}

fn hosts(world: &World) -> impl Iterator<Item = &Host> {
    world.nodes().filter_map(|node| match node {
        FabricNode::Host(host) => Some(host),
        FabricNode::Switch(_) | FabricNode::Scheduled(_) => None,
    })
}

/// Durations of measured rounds at each rank of a job. In an aborted job their number may differ between
/// ranks.
fn measured_of_ranks(world: &World, index: u32, job: &JobSpec) -> Vec<Measured> {
    let nodes: Vec<_> = world.nodes().take(world.fabric.graph.hosts()).collect();
    let mut of_hosts: HashMap<u32, _> = HashMap::new();
    let measured = job.hosts.iter().filter_map(|&host| match nodes[host as usize] {
        FabricNode::Host(node) => of_hosts.entry(host).or_insert_with(|| node.measured(index)).next(),
        FabricNode::Switch(_) | FabricNode::Scheduled(_) => None,
    });
    measured.collect()
}

/// Mean duration of a measured round at each rank, over ranks; `None` if a rank has none.
fn rank_times(ranks: &[Measured]) -> Option<RankTimes> {
    let mean = |Measured { rounds, sum, .. }: &Measured| sum.0.checked_div(u64::from(*rounds));
    let means = ranks.iter().map(mean).collect::<Option<Vec<u64>>>()?;
    let sum: u128 = means.iter().map(|&mean| u128::from(mean)).sum();
    Some(RankTimes {
        min_ps: means.iter().copied().min()?,
        mean_ps: (sum / means.len() as u128) as u64,
        max_ps: means.iter().copied().max()?,
    })
}

/// Why a job is incomplete.
fn reason(spec: &RunSpec, flows: &Flows, progress: &JobProgress, chunks: u64) -> String {
    // Messages of barriers are not chunks, but fail like them.
    let waiting = chunks.saturating_sub(progress.complete + progress.failed);
    let Some(first) = progress.first_failed else {
        return format!("{waiting} of {chunks} chunks never completed");
    };
    if first.chunk >= flows.chunk_count() {
        let pair = flows.storage_pair(first.chunk);
        return format!(
            "{} of {chunks} operations failed and {waiting} never completed; first: client {} to target {}, queue pair {} used up its {} retries",
            progress.failed, pair.src, pair.dst, pair.number, spec.transport.retry_count
        );
    }
    let chunk = flows.chunk(first.chunk);
    let pair = flows.queue_pair(chunk.queue_pair);
    let location = format!(
        "first: rank {} to rank {}, step {}, queue pair {}",
        pair.src,
        pair.dst,
        flows.transfer(&chunk).step,
        chunk.queue_pair
    );
    let ended = format!("{} of {chunks} chunks failed and {waiting} never completed", progress.failed);
    match first.loss {
        None => format!("{ended}; {location} used up its {} retries", spec.transport.retry_count),
        Some((sent, lost)) => format!(
            "{} of {} frames lost on {} queue pair{} without recovery: {ended}; {location} lost {lost} of its {sent} frames",
            progress.frames_lost,
            progress.frames_sent,
            progress.losers,
            if progress.losers == 1 { "" } else { "s" }
        ),
    }
}

const fn run_status(all_complete: bool, is_stalled: bool) -> RunStatus {
    match (all_complete, is_stalled) {
        (true, _) => RunStatus::Complete,
        (false, true) => RunStatus::Stalled,
        (false, false) => RunStatus::Incomplete,
    }
}

/// Every switch, with its node in the graph.
fn switches<'a>(
    world: &'a World,
    partitions: &'a [WorldPartition],
) -> impl Iterator<Item = (NodeId, &'a Node, &'a Switch)> {
    let nodes = (0..).map(NodeId).zip(&world.fabric.graph.nodes).zip(world.nodes_of(partitions));
    nodes.filter_map(|((id, node), state)| match state {
        FabricNode::Switch(switch) => Some((id, node, switch)),
        FabricNode::Host(_) | FabricNode::Scheduled(_) => None,
    })
}

/// Evidence of a stall: each egress port that is paused with frames waiting.
pub(crate) fn stall_evidence(world: &World, partitions: &[WorldPartition], since: Instant) -> Vec<EventRow> {
    let mut events = Vec::new();
    for (id, node, switch) in switches(world, partitions) {
        for (index, port) in switch.ports_of(id).iter().enumerate() {
            if port.pause().mask() != 0 && port.queued_bytes() > 0 {
                events.push(EventRow {
                    time_ps: since.0,
                    kind: "stalled",
                    node: node.name.clone(),
                    detail: format!(
                        "port {index} {} {} with {} bytes waiting",
                        if port.credits().is_some() { "has no credit of" } else { "is paused by" },
                        world.fabric.graph.node(node.ports[index].peer).name,
                        port.queued_bytes()
                    ),
                });
            }
        }
    }
    events
}

/// Starts and ends of storms detected by the PFC watchdogs.
pub(crate) fn storm_events(world: &World, partitions: &[WorldPartition]) -> Vec<EventRow> {
    let mut events = Vec::new();
    for (id, node, switch) in switches(world, partitions) {
        let log = switch.watchdog().map_or(&[][..], Watchdog::log);
        let own = switch.numbers_of(id);
        let log = log.iter().filter(|event| own.contains(&usize::from(event.port)));
        events.extend(log.map(|event| storm_event(&node.name, usize::from(event.port) - own.start, event)));
    }
    events
}

/// The first changes of the ECN thresholds at each port.
pub(crate) fn threshold_events(world: &World, partitions: &[WorldPartition]) -> Vec<EventRow> {
    let mut events = Vec::new();
    for (id, node, switch) in switches(world, partitions) {
        for (number, port) in switch.ports_of(id).iter().enumerate() {
            let log = port.ecn_control().into_iter().flat_map(EcnControl::log);
            events.extend(log.map(|(change, detail)| EventRow {
                time_ps: change.at.0,
                kind: change.kind(),
                node: node.name.clone(),
                detail: format!("port {number} at priority {}: {detail}", change.priority.0),
            }));
        }
    }
    events
}

fn storm_event(node: &str, port: usize, event: &StormEvent) -> EventRow {
    let location = format!("port {port} at priority {}", event.priority.0);
    let (kind, detail) = match event.change {
        StormChange::Detected { bytes } => {
            ("pfc_storm", format!("{location}: paused with {bytes} bytes waiting"))
        }
        StormChange::Restored => ("pfc_restored", format!("{location}: pauses are obeyed again")),
    };
    EventRow { time_ps: event.at.0, kind, node: node.to_owned(), detail }
}
