//! Completion times of the blocks of ring collectives: passes them to the observer of the run as rows of
//! chunks, in order of completion, or as counts, and returns the summary.

use super::{Ring, RingHop, Rings};
use crate::output::progress::{Progress, ProgressReporter};
use crate::output::recorder::Recorder;
use crate::output::{ChunkTimes, FlowSummary, JobResult, row};
use jobs::{Jobs, Observer, RunError, Tally};
use record::{ChunkStatus, ChunkStepRow, ChunkTimeRow};
use spec::{JobSpec, RunSpec, RunStatus};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::Instant;

/// The post of a block by a rank: the block started at rank `first`, `step` steps ago.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Post {
    at: Instant,
    job: u32,
    first: u32,
    step: u32,
}

/// Completion of a part of a posted block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Completion {
    at: Instant,
    chunk: u32,
    post: Post,
    part: u32,
}

impl Rings {
    /// Passes a row of each chunk to the observer.
    pub(crate) fn rows(
        &self,
        spec: &RunSpec,
        jobs: &Jobs,
        observer: &mut dyn Observer<Progress>,
    ) -> Result<FlowSummary, RunError> {
        let mut recorder = Recorder::new(spec, jobs.chunk_count().into())?;
        let mut reporter = ProgressReporter::new(self.total_bytes(spec));
        let mut posts = BinaryHeap::new();
        for (job, ring) in (0..).zip(&self.rings) {
            let at = ring.start(&spec.jobs[job as usize]);
            posts.extend((0..ring.relay.ranks).map(|first| Reverse(Post { at, job, first, step: 0 })));
        }
        let (mut outstanding, mut end_times) = (BinaryHeap::new(), vec![Instant::ZERO; self.rings.len()]);
        loop {
            let post = posts.pop().map(|Reverse(post)| post);
            // Everything posted from now on completes later than now.
            let now = post.map_or(Instant::NEVER, |post: Post| post.at);
            while let Some(&Reverse(Completion { at, chunk, post, part })) = outstanding.peek()
                && at < now
            {
                outstanding.pop();
                let times = &self.rings[post.job as usize].hop_after(&post).parts[part as usize];
                let delivered = post.at + times.delivered;
                let row_times = ChunkTimes { posted: post.at, delivered, completed: at, unloaded: None };
                recorder.push(chunk, row(jobs, chunk, times.frames, &row_times), 1);
                recorder.pass_rows(observer)?;
                end_times[post.job as usize] = at;
                reporter.delivered(times.bytes);
                reporter.step(at, observer)?;
            }
            let Some(post) = post else { break };
            let ring = &self.rings[post.job as usize];
            outstanding.extend(ring.completions(jobs, post).map(Reverse));
            if post.step + 1 < ring.relay.steps {
                let at = post.at + ring.hop_after(&post).span;
                posts.push(Reverse(Post { at, step: post.step + 1, ..post }));
            }
        }
        reporter.end(end_times.iter().copied().max().unwrap_or_default(), observer)?;
        recorder.finish(observer)?;
        Ok(self.summary(spec, &end_times))
    }

    /// Passes only counts to the observer.
    pub(crate) fn counts(
        &self,
        spec: &RunSpec,
        observer: &mut dyn Observer<Progress>,
    ) -> Result<FlowSummary, RunError> {
        let mut tally = Tally::new(&spec.jobs);
        let mut reporter = ProgressReporter::new(self.total_bytes(spec));
        let mut end_times = Vec::new();
        for (number, (job, ring)) in (0..).zip(spec.jobs.iter().zip(&self.rings)) {
            let mut steps = Steps::new(ring, ring.start(job));
            for step in 0..ring.relay.steps {
                let row = steps.next(ring, number, step);
                reporter.delivered(row.payload_bytes);
                reporter.step(steps.end, observer)?;
                tally.add_step(row);
            }
            ring.visit_times(number, |row| tally.add_times(&row));
            end_times.push(steps.end);
        }
        reporter.end(end_times.iter().copied().max().unwrap_or_default(), observer)?;
        tally.emit(|batch| observer.batch(batch))?;
        Ok(self.summary(spec, &end_times))
    }

    fn total_bytes(&self, spec: &RunSpec) -> u64 {
        let each = self.rings.iter().zip(&spec.jobs);
        each.map(|(ring, job)| job.work.transfer_bytes_max() * u64::from(ring.relay.steps)).sum()
    }

    fn summary(&self, spec: &RunSpec, end_times: &[Instant]) -> FlowSummary {
        let parts = u64::from(spec.transport.qps_per_rank_pair);
        let each = spec.jobs.iter().zip(&self.rings).zip(end_times);
        FlowSummary {
            status: RunStatus::Complete,
            end_ps: end_times.iter().map(|end| end.0).max().unwrap_or(0),
            jobs: each
                .map(|((job, ring), &end)| {
                    let chunks = ring.relay.transfers() * parts;
                    JobResult::new(job, chunks, chunks, end)
                })
                .collect(),
            rate_changes: 0,
            events: 0,
        }
    }
}

impl Ring {
    /// When the first blocks are posted.
    fn start(&self, job: &JobSpec) -> Instant {
        Instant(job.start_ps) + self.wait
    }

    /// The rank that posts.
    fn rank_of(&self, post: &Post) -> u32 {
        ((u64::from(post.first) + u64::from(post.step)) % u64::from(self.relay.ranks)) as u32
    }

    /// The hop that a post starts.
    fn hop_after(&self, post: &Post) -> &RingHop {
        self.hop_of(post.first, self.rank_of(post))
    }

    fn completions<'a>(&'a self, jobs: &Jobs, post: Post) -> impl Iterator<Item = Completion> + use<'a> {
        let transfer = post.step * self.relay.ranks + self.rank_of(&post);
        let first = jobs.first_chunk(post.job as usize) + transfer * jobs.parts;
        (0..).zip(&self.hop_after(&post).parts).map(move |(part, times)| Completion {
            at: post.at + times.completed,
            chunk: first + part,
            post,
            part,
        })
    }

    /// Visits the number of chunks for each completion time.
    fn visit_times(&self, job: u32, mut visit: impl FnMut(ChunkTimeRow)) {
        let ranks = self.relay.ranks as usize;
        for (size, kinds) in (0_u8..).zip(&self.kinds_by_rank) {
            // Prefix counts of the blocks of this size by their first rank, over two cycles of the ring.
            let mut before = vec![0_u64];
            for rank in 0..2 * ranks {
                before.push(before[rank] + u64::from(self.size_of[rank % ranks] == size));
            }
            let (full_cycles, rest) = (self.relay.steps as usize / ranks, self.relay.steps as usize % ranks);
            for (rank, &kind) in kinds.iter().enumerate() {
                // It sends the blocks that started at itself, and at the ranks before it.
                let last = before[rank + ranks + 1] - before[rank + ranks + 1 - rest];
                let blocks = before[ranks] * full_cycles as u64 + last;
                if blocks == 0 {
                    continue;
                }
                for part in &self.kinds[kind as usize].parts {
                    visit(ChunkTimeRow {
                        job,
                        round: 0,
                        status: ChunkStatus::Complete,
                        payload_bytes: part.bytes,
                        fct_ps: Some(part.completed.0),
                        unloaded_ps: None,
                        in_time_ps: None,
                        is_ended_in_time: true,
                        chunks: blocks,
                    });
                }
            }
        }
    }
}

/// Contribution of a kind of hop to a step.
#[derive(Clone, Copy, Default)]
struct HopSums {
    span: u64,
    delivered: u64,
    completed: u64,
    frames: [u64; 2],
}

/// A ring step by step: one block represents all whose first ranks differ by whole periods.
struct Steps {
    /// When each block is posted [ps].
    posted: Vec<u64>,
    /// Sums by size of block, and by rank within a period.
    sums: Vec<Vec<HopSums>>,
    size_of: Vec<u8>,
    /// Number of blocks that each represents.
    blocks_per_entry: u64,
    end: Instant,
    bytes: u64,
    parts: u64,
}

impl Steps {
    fn new(ring: &Ring, start: Instant) -> Self {
        let period = ring.period as usize;
        let sums = |kind: &u32| {
            let hop = &ring.kinds[*kind as usize];
            HopSums {
                span: hop.span.0,
                delivered: hop.delivered().0,
                completed: hop.completed().0,
                frames: [0, 1].map(|index| hop.parts.iter().map(|part| part.frames[index]).sum()),
            }
        };
        Self {
            posted: vec![start.0; period],
            sums: ring.kinds_by_rank.iter().map(|kinds| kinds[..period].iter().map(sums).collect()).collect(),
            size_of: ring.size_of[..period].to_vec(),
            blocks_per_entry: u64::from(ring.relay.ranks / ring.period),
            end: Instant::ZERO,
            bytes: ring.size_of.iter().map(|&size| ring.sizes[usize::from(size)]).sum(),
            parts: ring.kinds.first().map_or(0, |hop| hop.parts.len() as u64),
        }
    }

    /// Computes the row of the next step, and the posts of the one after.
    fn next(&mut self, ring: &Ring, job: u32, step: u32) -> ChunkStepRow {
        let period = self.posted.len();
        let (mut start, mut delivered, mut completed, mut frames) = (u64::MAX, 0, 0, [0; 2]);
        let offset = step as usize % period;
        let ranks = (offset..period).chain(0..offset);
        for ((posted, &size), rank) in self.posted.iter_mut().zip(&self.size_of).zip(ranks) {
            let sums = &self.sums[usize::from(size)][rank];
            start = start.min(*posted);
            delivered = delivered.max(*posted + sums.delivered);
            completed = completed.max(*posted + sums.completed);
            frames = [frames[0] + sums.frames[0], frames[1] + sums.frames[1]];
            *posted += sums.span;
        }
        self.end = self.end.max(Instant(completed));
        let [tx_frames, tx_bytes] = frames.map(|count| count * self.blocks_per_entry);
        let chunks = u64::from(ring.relay.ranks) * self.parts;
        ChunkStepRow {
            chunks,
            complete: chunks,
            payload_bytes: self.bytes,
            start_ps: Some(start),
            delivered_ps: Some(delivered),
            completed_ps: Some(completed),
            tx_frames,
            tx_bytes,
            rx_frames: tx_frames,
            rx_bytes: tx_bytes,
            ..ChunkStepRow::of_step(job, 0, step)
        }
    }
}
