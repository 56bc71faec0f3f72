//! Builds a [`Share`], the part of a run's jobs that some hosts execute: local transfers, dependencies,
//! phases, queue pairs.

use super::{Inbound, LocalPair, Order, Outgoing, Process, Share, Times};
use jobs::Jobs;
use spec::RunSpec;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use units::{Instant, Rank, Span, TransferId};
use workload::{Message, Schedule, Transfer};

impl Share {
    /// The share of some hosts in the jobs of a spec.
    pub fn new(spec: &RunSpec, jobs: &Arc<Jobs>, hosts: &[u32]) -> Self {
        let mut build = Build {
            jobs,
            hosts: hosts.iter().copied().collect(),
            processes: Vec::new(),
            outgoing: Vec::new(),
            inbound: Vec::new(),
            successors: Vec::new(),
        };
        let mut first_chunk = 0;
        for (index, schedule) in jobs.schedules.iter().enumerate() {
            build.add_job(spec, index, schedule, first_chunk);
            first_chunk += schedule.transfers().len() as u32 * jobs.parts;
        }
        build.finish(Arc::clone(jobs))
    }
}

/// A share under construction.
struct Build<'a> {
    jobs: &'a Jobs,
    hosts: HashSet<u32>,
    processes: Vec<Process>,
    outgoing: Vec<Outgoing>,
    inbound: Vec<Inbound>,
    successors: Vec<u32>,
}

/// Local transfers of a job, each with its rank; sorted by rank, then in the order of the schedule.
struct Local {
    outgoing: Vec<(u32, TransferId)>,
    inbound: Vec<(u32, TransferId)>,
}

impl Build<'_> {
    fn add_job(&mut self, spec: &RunSpec, index: usize, schedule: &Schedule, first_chunk: u32) {
        let job = &spec.jobs[index];
        let is_local: Vec<bool> = job.hosts.iter().map(|host| self.hosts.contains(host)).collect();
        if !is_local.contains(&true) {
            return;
        }
        let local = local_transfers(schedule, &is_local);
        let times = Times {
            start: Instant(job.start_ps),
            overhead: Span(job.step_overhead_ps),
            phases: job.phases_planned(),
        };
        let mut process_of: HashMap<u32, u32> = HashMap::new();
        for rank in (0..job.hosts.len() as u32).filter(|&rank| is_local[rank as usize]) {
            process_of.insert(rank, self.processes.len() as u32);
            self.processes.push(Process {
                times,
                phase: 0,
                left: 0,
                outgoing: phase_ranges(schedule, &local.outgoing, rank, self.outgoing.len()),
                inbound: phase_ranges(schedule, &local.inbound, rank, self.inbound.len()),
                has_ended: false,
            });
        }
        self.add_transfers(schedule, &local, &process_of, first_chunk);
    }

    fn add_transfers(
        &mut self,
        schedule: &Schedule,
        local: &Local,
        process_of: &HashMap<u32, u32>,
        first_chunk: u32,
    ) {
        let numbered = (self.outgoing.len() as u32..).zip(&local.outgoing);
        let index: HashMap<TransferId, u32> = numbered.map(|(index, &(_, id))| (id, index)).collect();
        let parts = self.jobs.parts;
        let chunk_of = |id: TransferId| first_chunk + id.0 * parts;
        self.outgoing.extend(local.outgoing.iter().map(|&(rank, id)| Outgoing {
            process: process_of[&rank],
            chunk: chunk_of(id),
            depends: 0,
            waits_for: 0,
            left: 0,
            next: None,
            release: schedule.releases().get(id.index()).copied(),
        }));
        for &(rank, id) in &local.inbound {
            let first = self.successors.len() as u32;
            for next in schedule.successors(id).map(|next| index[&next]) {
                self.outgoing[next as usize].depends += 1;
                self.successors.push(next);
            }
            let successors = first..self.successors.len() as u32;
            let (process, chunk) = (process_of[&rank], chunk_of(id));
            self.inbound.push(Inbound { process, chunk, successors, left: 0 });
        }
        if schedule.is_blocking() {
            for (before, next) in one_after_another(schedule, &local.outgoing) {
                self.outgoing[index[&before] as usize].next = Some(index[&next]);
                self.outgoing[index[&next] as usize].depends += 1;
            }
        }
    }

    fn finish(self, jobs: Arc<Jobs>) -> Share {
        let Self { hosts, mut processes, outgoing, inbound, successors, .. } = self;
        let arriving = part_indices(inbound.iter().map(|transfer| transfer.chunk), jobs.parts);
        let leaving = part_indices(outgoing.iter().map(|transfer| transfer.chunk), jobs.parts);
        let (order, receivers) = local_pairs(&jobs, &hosts, &leaving);
        for process in processes.iter_mut().filter(|process| process.is_idle()) {
            process.has_ended = true;
            process.times.phases = Some(0);
        }
        let is_open = |process: &&Process| process.times.phases.is_some() && !process.has_ended;
        Share {
            open_processes: processes.iter().filter(is_open).count(),
            arrivals: vec![0; arriving.len()],
            due: BinaryHeap::with_capacity(outgoing.len() + processes.len()),
            posts: VecDeque::with_capacity(leaving.len()),
            ended: Vec::with_capacity(processes.len()),
            jobs,
            outgoing,
            inbound,
            successors,
            processes,
            order,
            arriving,
            receivers,
        }
    }
}

/// Chunks of transfers, ascending, each with its part index: index of the transfer times `parts` plus the
/// part.
fn part_indices(first_chunks: impl Iterator<Item = u32>, parts: u32) -> Vec<(u32, u32)> {
    let mut indices: Vec<(u32, u32)> = (0..)
        .zip(first_chunks)
        .flat_map(|(index, chunk)| (0..parts).map(move |part| (chunk + part, index * parts + part)))
        .collect();
    indices.sort_unstable();
    indices
}

fn local_transfers(schedule: &Schedule, is_local: &[bool]) -> Local {
    let (mut outgoing, mut inbound) = (Vec::new(), Vec::new());
    for (id, Transfer { src, dst, .. }) in (0..).map(TransferId).zip(schedule.transfers()) {
        let add = |rank: Rank, to: &mut Vec<(u32, TransferId)>| {
            if is_local[rank.index()] {
                to.push((rank.0, id));
            }
        };
        add(src, &mut outgoing);
        add(dst, &mut inbound);
    }
    outgoing.sort_unstable();
    inbound.sort_unstable();
    Local { outgoing, inbound }
}

/// Index ranges, starting at `first`, of a rank's transfers in each phase of a cycle.
fn phase_ranges(schedule: &Schedule, all: &[(u32, TransferId)], rank: u32, first: usize) -> Vec<Range<u32>> {
    let index = |id: u32| (first + all.partition_point(|&each| each < (rank, TransferId(id)))) as u32;
    schedule.phases().map(|phase| index(phase.start)..index(phase.end)).collect()
}

/// Pairs of transfers (previous, next) of each rank where the next waits for the acknowledgement of the
/// previous: see [`Schedule::is_blocking`]. With a handshake, the announcement (RTS) waits for the previous
/// transfer, and the next transfer waits for the payload. A clearance (CTS) answers another rank's message
/// and waits for neither.
fn one_after_another(schedule: &Schedule, outgoing: &[(u32, TransferId)]) -> Vec<(TransferId, TransferId)> {
    let mut pairs = Vec::new();
    let (mut last, mut of): (Option<TransferId>, _) = (None, None);
    for &(rank, id) in outgoing {
        if of.replace((rank, schedule.phase_of(id))) != Some((rank, schedule.phase_of(id))) {
            last = None;
        }
        let before = match schedule.message(id) {
            Message::Payload => last.replace(id),
            Message::Rts => last.take(),
            Message::Cts | Message::Barrier => None,
        };
        pairs.extend(before.map(|before| (before, id)));
    }
    pairs
}

/// Queue pairs with an end on the hosts; `leaving` has the chunks sent from them, with their part indices.
fn local_pairs(jobs: &Jobs, hosts: &HashSet<u32>, leaving: &[(u32, u32)]) -> (Order, Vec<LocalPair>) {
    let (mut order, mut receivers) = (Order::new(leaving.len()), Vec::new());
    jobs.each_queue_pair(|queue_pair| {
        let [begins, ends] = [queue_pair.src_host, queue_pair.dst_host].map(|host| hosts.contains(&host.0));
        if !begins && !ends {
            return;
        }
        let chunks = || jobs.chunks_of(queue_pair.number);
        let bytes = chunks().map(|chunk| jobs.chunk(chunk).bytes);
        let chunk_bytes_max = bytes.max().unwrap_or(0);
        let pair = LocalPair { queue_pair, chunks: chunks().count() as u32, chunk_bytes_max };
        if begins {
            let index = |chunk| leaving.partition_point(|&(each, _)| each < chunk);
            order.add(pair, chunks().map(|chunk| leaving[index(chunk)].1));
        }
        if ends {
            receivers.push(pair);
        }
    });
    (order, receivers)
}
