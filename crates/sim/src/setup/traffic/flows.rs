//! Flows: maps the queue pairs and transfers of all jobs of a run to host ports and paths, computes their
//! completion times on an idle fabric, and checks that all ranks can reach each other.

use super::unloaded::unloaded;
use crate::packet::{ConnectionId, Priority};
use crate::setup::Fabric;
use crate::setup::switches::check_pins;
use jobs::{Jobs, Laps, OneJob, QueuePair, RankConnections, check_jobs};
use paths::{Direction, PathHash};
use spec::{JobSpec, LoadBalancing, OpenLoopSpec, RunSpec, SpecError, unsupported};
use std::collections::HashMap;
use std::ops::{Deref, Range};
use std::sync::Arc;
use topology::{Attachment, Graph};
use units::{AttachmentId, HostId, Rate, Span};
use workload::{Parts, Schedule};

/// The jobs of a run on its fabric.
pub(crate) struct Flows {
    jobs: Jobs,
    /// By queue pair: [`Flows::receiver`]. Empty unless paths are pinned.
    receivers: Vec<u32>,
    is_pinned: bool,
    /// By job: whether it shares a host with another job.
    shares_hosts: Vec<bool>,
    /// By job: priority of its data.
    priorities: Vec<Priority>,
    graph: Arc<Graph>,
    /// Whether every host has exactly one port, with the number of the host.
    has_one_port_each: bool,
    /// Completion time on an idle fabric of a chunk of each queue pair of open-loop traffic; all chunks of a
    /// queue pair have the same size.
    pub(crate) unloaded: HashMap<u32, Span>,
    /// Completion times on an idle fabric of a storage operation: write, read.
    pub(crate) unloaded_operations: HashMap<u32, [Span; 2]>,
    /// Per host: queue pairs added so far that start there and that end there, counting only the first lap of
    /// each job.
    senders_at: Vec<u32>,
    receivers_at: Vec<u32>,
    /// Hash that selects one of several paths.
    path_hash: PathHash,
}

impl Deref for Flows {
    type Target = Jobs;

    #[inline]
    fn deref(&self) -> &Jobs {
        &self.jobs
    }
}

impl Flows {
    /// Schedules every job and assigns its transfers to queue pairs.
    ///
    /// # Errors
    /// When a collective is unknown, a size does not suit it, or two ranks cannot reach each other.
    pub(crate) fn new(spec: &RunSpec, fabric: &Fabric) -> Result<Self, SpecError> {
        let mut flows = Self {
            jobs: Jobs::new(spec),
            receivers: Vec::new(),
            is_pinned: matches!(spec.fabric.load_balancing, LoadBalancing::Pinned { .. }),
            shares_hosts: spec.jobs_sharing_hosts(),
            priorities: (0..).zip(&spec.jobs).map(|(job, _)| Priority(spec.priority_of(job))).collect(),
            graph: Arc::clone(&fabric.graph),
            has_one_port_each: fabric.graph.attachments.len() == fabric.graph.hosts(),
            unloaded: HashMap::new(),
            unloaded_operations: HashMap::new(),
            senders_at: vec![0; fabric.graph.hosts()],
            receivers_at: vec![0; fabric.graph.hosts()],
            path_hash: PathHash::new(spec, &fabric.graph),
        };
        for (index, job) in spec.jobs.iter().enumerate() {
            match job.work.storage() {
                None => flows.add_job(spec, fabric, index as u32, job)?,
                Some(storage) => flows.add_storage(spec, fabric, index as u32, job, storage)?,
            }
        }
        Ok(flows)
    }

    /// Source and destination port of the packets of a queue pair in this direction.
    #[inline]
    pub(crate) fn attachments(&self, pair: &QueuePair, direction: Direction) -> [AttachmentId; 2] {
        let hosts = [pair.src_host, pair.dst_host];
        let [src, dst] = self.attachments_between(hosts, || pair.ports, || pair.part);
        match direction {
            Direction::Forward => [src, dst],
            Direction::Reverse => [dst, src],
        }
    }

    /// Source and destination port of data between two hosts: those given, otherwise those that the graph
    /// assigns; `part` is the number of the queue pair among those of its rank pair.
    #[inline]
    fn attachments_between(
        &self,
        hosts: [HostId; 2],
        ports: impl Fn() -> Option<[u16; 2]>,
        part: impl Fn() -> u32,
    ) -> [AttachmentId; 2] {
        if self.has_one_port_each {
            return hosts.map(|host| AttachmentId(host.0));
        }
        self.graph.attachments_on(hosts, ports(), part()).into()
    }

    /// [`Self::attachments`] of a queue pair of `job`, by its number in the run.
    #[inline]
    pub(crate) fn attachments_in(
        &self,
        job: &OneJob<'_>,
        number: u32,
        src: HostId,
        dst: HostId,
    ) -> [AttachmentId; 2] {
        self.attachments_between([src, dst], || job.ports(number), || job.part(number))
    }

    /// Priority of the data of a job.
    #[inline]
    pub(crate) fn priority_of(&self, job: &OneJob<'_>) -> Priority {
        self.priorities[job.index() as usize]
    }

    /// Path entropy of a queue pair between two host ports: selects one of several paths.
    #[inline]
    pub(crate) fn entropy(&self, pair: &QueuePair, ends: [AttachmentId; 2]) -> u32 {
        self.path_hash.of(ends, pair.udp_source_port(), pair.identity)
    }

    /// [`Self::entropy`] of a queue pair of `job`, by its number in the run.
    #[inline]
    pub(crate) fn entropy_in(&self, job: &OneJob<'_>, number: u32, ends: [AttachmentId; 2]) -> u32 {
        self.path_hash.of(ends, job.udp_source_port(number), job.identity(number))
    }

    /// Index of a queue pair among those that end at the same host: the number in its frames there. Known
    /// only if paths are pinned, which is the only use here.
    #[inline]
    pub(crate) fn receiver(&self, queue_pair: u32) -> Option<u32> {
        self.receivers.get(queue_pair as usize).copied()
    }

    /// Whether a job shares a host with another.
    pub(crate) fn shares_hosts(&self, job: usize) -> bool {
        self.shares_hosts[job]
    }

    /// The repeating sequence of connections of a job. A single lap if paths are pinned or the job shares a
    /// host with another, because then every index is listed.
    pub(crate) fn laps(&self, job: usize) -> Laps {
        let laps = self.jobs.laps(job);
        let is_listed = self.is_pinned || self.shares_hosts[job];
        if is_listed { Laps::one(laps.count * laps.length) } else { laps }
    }

    /// Per host: queue pairs of the first lap that start there, and those that end there.
    pub(crate) fn counts_at_hosts(&self) -> [&[u32]; 2] {
        [&self.senders_at, &self.receivers_at]
    }

    fn add_job(
        &mut self,
        spec: &RunSpec,
        fabric: &Fabric,
        index: u32,
        job: &JobSpec,
    ) -> Result<(), SpecError> {
        let pairs = self.jobs.add_scheduled(spec, index, job)?;
        self.note_connections(fabric, index, false)?;
        if let Some(OpenLoopSpec { pattern, .. }) = job.work.open_loop() {
            self.note_unloaded(spec, fabric, pairs, Parts::new(pattern.data_bytes, self.jobs.parts.into()));
        }
        Ok(())
    }

    /// Adds a storage job with these connections; returns its queue pairs.
    pub(crate) fn add_connections(
        &mut self,
        fabric: &Fabric,
        index: u32,
        job: &JobSpec,
        schedule: Schedule,
        connections: RankConnections,
    ) -> Result<Range<u32>, SpecError> {
        let pairs = self.jobs.add(job, schedule, connections);
        self.note_connections(fabric, index, true)?;
        Ok(pairs)
    }

    /// Counts the connections of a job at both hosts, and checks that each has a path.
    fn note_connections(&mut self, fabric: &Fabric, index: u32, is_storage: bool) -> Result<(), SpecError> {
        let laps = self.laps(index as usize);
        let Self { jobs, receivers, is_pinned, senders_at, receivers_at, .. } = self;
        let parts = jobs.parts;
        jobs.each_connection(index as usize, laps.length, |[src, dst]| {
            let next = &mut receivers_at[dst.index()];
            if *is_pinned {
                receivers.extend(*next..*next + parts);
            }
            // Connections of storage have numbers of their own.
            if !is_storage {
                senders_at[src.index()] += parts;
                *next += parts;
            }
        });
        if !fabric.graph.is_joined_by_switches() {
            let first = self.first_queue_pair(index as usize);
            for number in first..first + laps.length * self.parts {
                let pair = self.queue_pair(number);
                self.check_path(fabric, &pair)?;
            }
        }
        self.check_number_of_connections(index)
    }

    /// Checks that there is a path between the ends of a queue pair.
    fn check_path(&self, fabric: &Fabric, pair: &QueuePair) -> Result<(), SpecError> {
        let [from, to] = self.attachments(pair, Direction::Forward);
        let source: &Attachment = fabric.graph.attachment(from);
        if !pair.is_local() && fabric.routes.next_hops(source.switch, to).is_empty() {
            let found = format!("host {} cannot reach host {}", pair.src_host, pair.dst_host);
            let field = format!("jobs[{}].hosts", pair.job);
            return Err(unsupported(field, found, "hosts that are joined by switches"));
        }
        Ok(())
    }

    /// Checks that packets can number the queue pairs of each host, after job `last` was added.
    fn check_number_of_connections(&self, last: u32) -> Result<(), SpecError> {
        if self.queue_pair_count() <= ConnectionId::INDICES {
            return Ok(());
        }
        let mut at_hosts = vec![[0_u64; 2]; self.senders_at.len()];
        for job in 0..=last as usize {
            let laps = self.laps(job);
            let of_each = u64::from(self.parts) * u64::from(laps.count);
            self.each_connection(job, laps.length, |[src, dst]| {
                at_hosts[src.index()][0] += of_each;
                at_hosts[dst.index()][1] += of_each;
            });
        }
        let most = at_hosts.into_iter().flatten().max().unwrap_or(0);
        if most <= ConnectionId::INDICES.into() {
            return Ok(());
        }
        let found = format!("{most} queue pairs at one host");
        Err(unsupported(format!("jobs[{last}].hosts"), found, format!("at most {}", ConnectionId::INDICES)))
    }

    /// Stores the completion time on an idle fabric of a chunk of each of `pairs`; messages are split into
    /// `parts`.
    fn note_unloaded(&mut self, spec: &RunSpec, fabric: &Fabric, pairs: Range<u32>, parts: Parts) {
        let mut spans = HashMap::new();
        for pair in pairs {
            let pair = self.queue_pair(pair);
            let ends = self.attachments(&pair, Direction::Forward);
            let bytes = parts.of(pair.part.into());
            let idle = || match pair.is_local() {
                true => copying(spec, bytes),
                false => unloaded(spec, fabric, ends, bytes),
            };
            let span = *spans.entry((ends, bytes)).or_insert_with(idle);
            self.unloaded.insert(pair.number, span);
        }
    }
}

/// Duration of a message between ranks of one host.
fn copying(spec: &RunSpec, bytes: u64) -> Span {
    let memory = spec.fabric.shared_memory;
    Span(Rate::from_bps(memory.rate_bps).span_of(bytes).0 + memory.latency_ps)
}

/// Checks the traffic of the jobs. Makes their chunks only if the check requires them.
///
/// # Errors
/// Those of [`Flows::new`], and of pins that name an item that does not exist.
pub(crate) fn check_flows(spec: &RunSpec, fabric: &Fabric) -> Result<(), SpecError> {
    let is_pinned = matches!(spec.fabric.load_balancing, LoadBalancing::Pinned { .. });
    if is_pinned || spec.has_storage() || !fabric.graph.is_joined_by_switches() {
        return check_pins(spec, fabric, &Flows::new(spec, fabric)?);
    }
    if check_jobs(spec)? > ConnectionId::INDICES.into() {
        Flows::new(spec, fabric)?;
    }
    Ok(())
}
