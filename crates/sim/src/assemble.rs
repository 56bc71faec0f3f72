//! Joins the two ends of each chunk into one row.

use crate::record::{ReceiveReport, Record, SendReport};
use crate::setup::Flows;
use spec::{ChunkRow, ChunkStatus, EventRow};
use std::collections::HashMap;
use units::Instant;

/// Chunks of a job by how they ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct JobProgress {
    pub(crate) complete: u64,
    pub(crate) failed: u64,
    /// When the last chunk so far completed.
    pub(crate) last: Instant,
    /// The first chunk that failed.
    pub(crate) first_failed: Option<Failure>,
    /// Chunks that failed because frames of them were lost and not sent again.
    pub(crate) losers: u64,
    /// Frames of those, sent and lost.
    pub(crate) frames_sent: u64,
    pub(crate) frames_lost: u64,
}

/// A chunk that failed, with the frames sent and lost if that was for their loss.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failure {
    pub(crate) chunk: u32,
    pub(crate) loss: Option<(u64, u64)>,
}

impl JobProgress {
    fn fail(&mut self, failure: Failure) {
        self.failed += 1;
        if let Some((sent, lost)) = failure.loss {
            self.losers += 1;
            self.frames_sent += sent;
            self.frames_lost += lost;
        }
        self.first_failed.get_or_insert(failure);
    }
}

/// Collects reports and makes rows of them.
pub(crate) struct Assembler<'a> {
    flows: &'a Flows,
    /// Delivered and not yet acknowledged.
    delivered: HashMap<u32, ReceiveReport>,
    /// Acknowledged and not delivered: without recovery that happens when frames are late or lost.
    acknowledged: HashMap<u32, SendReport>,
    pub(crate) jobs: Vec<JobProgress>,
    /// Chunks without a row yet.
    pub(crate) open: u64,
    has_ended: Vec<bool>,
    /// Rows not yet handed out.
    pub(crate) rows: Vec<ChunkRow>,
    pub(crate) events: Vec<EventRow>,
    pub(crate) frames: Vec<crate::record::Frame>,
}

impl<'a> Assembler<'a> {
    pub(crate) fn new(flows: &'a Flows, jobs: usize) -> Self {
        Self {
            flows,
            delivered: HashMap::new(),
            acknowledged: HashMap::new(),
            jobs: vec![JobProgress::default(); jobs],
            open: flows.chunks.len() as u64,
            has_ended: vec![false; flows.chunks.len()],
            rows: Vec::new(),
            events: Vec::new(),
            frames: Vec::new(),
        }
    }

    /// Takes in what was reported in one window. Rows come out in the order (completion, chunk), whatever the
    /// order of the reports.
    pub(crate) fn take(&mut self, records: &mut Vec<Record>, host_names: &[&str]) {
        let mut sent = Vec::new();
        for record in records.drain(..) {
            match record {
                Record::Delivered(report) => {
                    sent.extend(self.acknowledged.remove(&report.chunk));
                    self.delivered.insert(report.chunk, report);
                }
                Record::Sent(report) => sent.push(report),
                Record::QueuePairFailed { queue_pair, at } => self.note_failure(queue_pair, at, host_names),
                Record::Frame(frame) => self.frames.push(frame),
            }
        }
        sent.sort_unstable_by_key(|report| (report.completed, report.chunk));
        for report in sent {
            if report.completed.is_some() && !self.delivered.contains_key(&report.chunk) {
                self.acknowledged.insert(report.chunk, report);
            } else {
                self.finish(&report);
            }
        }
    }

    fn note_failure(&mut self, queue_pair: u32, at: Instant, host_names: &[&str]) {
        let pair = &self.flows.queue_pairs[queue_pair as usize];
        self.events.push(EventRow {
            time_ps: at.0,
            kind: "qp_failed",
            node: host_names[pair.src_host.index()].to_owned(),
            detail: format!(
                "queue pair {queue_pair} (rank {} to {}) used up its retries",
                pair.src, pair.dst
            ),
        });
    }

    fn finish(&mut self, sent: &SendReport) {
        let received = self.delivered.remove(&sent.chunk).unwrap_or_default();
        let job = &mut self.jobs[self.flows.chunks[sent.chunk as usize].job as usize];
        match sent.completed {
            Some(at) => {
                job.complete += 1;
                job.last = job.last.max(at);
            }
            None => job.fail(Failure { chunk: sent.chunk, loss: None }),
        }
        self.open -= 1;
        self.has_ended[sent.chunk as usize] = true;
        self.rows.push(self.row(sent.chunk, Some(sent), &received));
    }

    /// Makes rows of the chunks that never ended. `sent` and `received` are what their hosts know of them. When the
    /// run `is_idle`, nothing is on its way any more: a frame that did not arrive was lost.
    pub(crate) fn finish_rest(
        &mut self,
        sent: impl Iterator<Item = SendReport>,
        received: impl Iterator<Item = ReceiveReport>,
        is_idle: bool,
    ) {
        let mut sent: HashMap<u32, SendReport> = sent.map(|report| (report.chunk, report)).collect();
        sent.extend(self.acknowledged.drain());
        self.delivered.extend(received.map(|report| (report.chunk, report)));
        let has_ended = std::mem::take(&mut self.has_ended);
        for chunk in (0..).zip(&has_ended).filter_map(|(chunk, ended)| (!ended).then_some(chunk)) {
            let received = self.delivered.remove(&chunk).unwrap_or_default();
            let report = sent.remove(&chunk).map(|report| report.ended(ChunkStatus::Unfinished, None));
            let report = report.map(|report| if is_idle { self.judge(report, &received) } else { report });
            self.rows.push(self.row(chunk, report.as_ref(), &received));
        }
    }

    /// Fails a chunk of which frames were lost that nobody will send again.
    fn judge(&mut self, sent: SendReport, received: &ReceiveReport) -> SendReport {
        let lost = sent.frames.saturating_sub(received.frames);
        if lost == 0 {
            return sent;
        }
        let job = &mut self.jobs[self.flows.chunks[sent.chunk as usize].job as usize];
        job.fail(Failure { chunk: sent.chunk, loss: Some((sent.frames, lost)) });
        sent.ended(ChunkStatus::Failed, None)
    }

    fn row(&self, chunk: u32, sent: Option<&SendReport>, received: &ReceiveReport) -> ChunkRow {
        let info = &self.flows.chunks[chunk as usize];
        let pair = &self.flows.queue_pairs[info.queue_pair as usize];
        let transfer = self.flows.transfer(info);
        let count = |field: fn(&SendReport) -> u64| sent.map_or(0, field);
        ChunkRow {
            job: info.job,
            transfer: info.transfer.0,
            part: info.part,
            qp: info.queue_pair,
            udp_source_port: pair.udp_source_port,
            src_rank: pair.src.0,
            dst_rank: pair.dst.0,
            src_host: pair.src_host.0,
            dst_host: pair.dst_host.0,
            step: transfer.step,
            channel: transfer.channel,
            block: transfer.block,
            status: sent.map_or(ChunkStatus::Unfinished, |report| report.status),
            payload_bytes: info.bytes,
            start_ps: sent.map(|report| report.posted.0),
            delivered_ps: received.delivered.map(|at| at.0),
            completed_ps: sent.and_then(|report| report.completed).map(|at| at.0),
            tx_frames: count(|report| report.frames),
            tx_bytes: count(|report| report.bytes),
            rx_frames: received.frames,
            rx_bytes: received.bytes,
            retransmits: count(|report| report.retransmits),
            naks: count(|report| report.naks),
            timeouts: count(|report| report.timeouts),
            out_of_order: received.out_of_order,
            latency_min_ps: received.latency.min.map(|span| span.0),
            latency_sum_ps: received.latency.sum_ps,
            latency_frames: received.latency.frames,
            latency_max_ps: received.latency.min.map(|_| received.latency.max.0),
            ecn_ce_rx: received.marks,
            cnp_tx: received.cnps,
            cnp_rx: count(|report| report.cnps),
        }
    }
}
