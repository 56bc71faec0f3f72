//! Assembler: joins the reports of the two ends of each chunk (part of a transfer that one queue pair sends)
//! into a row of table `chunks`, counts the chunks that have no row yet, and collects the other records of
//! hosts (rounds, failures, captured frames).

mod operations;

use crate::record::{Key, PlainReceive, PlainSend, ReceiveReport, Record, SendReport};
use crate::report::deliveries::{Deliveries, RoundsEnded};
use crate::report::invariants;
use crate::report::progress::{Failure, JobProgress, RoundPlan};
use crate::setup::{Fabric, Flows};
use engine::prefetch::prefetch_ends;
use jobs::{ChannelTally, QueuePair, RowSelection, Stopped, Tally};
use record::{ChunkRow, ChunkStatus, EventRow};
use spec::{JobSpec, QpType, RunSpec};
use std::collections::BTreeMap;
use units::{Instant, NumberMap, Span};
use workload::Message;

/// Rows of one batch of chunks, with a small excess: they stay in the second-level cache until the batch is
/// emitted.
const CHUNK_BATCH_ROWS: usize = 1_024;

/// Distance at which the data for a row is prefetched [rows].
const AHEAD: usize = 16;

/// Distance at which the slot of a delivery report is prefetched [reports]: a report takes less time than a
/// row.
const REPORTS_AHEAD: usize = 48;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    /// No frame is in flight any more: any that did not arrive was lost.
    pub(crate) is_idle: bool,
    /// The jobs that end by themselves waited for lost frames that nobody resends, while others continued.
    pub(crate) has_waited: bool,
    /// Frames were lost.
    pub(crate) has_losses: bool,
}

impl Ending {
    /// Whether the missing frames of a chunk were lost. If a job is aborted, acknowledged chunks show it:
    /// without recovery the last frame is acknowledged regardless of the others. (A sprayed frame that was
    /// only overtaken, in the last microseconds of a run with other losses, is counted as lost.)
    fn has_lost(self, sent: &SendReport, is_background: bool) -> bool {
        let is_late = self.has_waited && !is_background;
        self.is_idle || is_late || (self.has_losses && sent.completed().is_some())
    }
}

/// Position of a chunk in its job.
pub(crate) struct ChunkPosition {
    pub(crate) pair: QueuePair,
    pub(crate) transfer: u32,
    pub(crate) round: u32,
    pub(crate) step: u32,
    pub(crate) block: u32,
    /// Payload [bytes].
    pub(crate) bytes: u64,
    pub(crate) unloaded: Option<Span>,
}

/// Collects reports and assembles them into rows.
pub(crate) struct Assembler<'a> {
    pub(crate) flows: &'a Flows,
    /// Block size of each storage job, 0 of others [bytes].
    pub(crate) block_bytes: Vec<u64>,
    deliveries: Deliveries,
    rounds_ended: RoundsEnded,
    /// Reports of the targets on data they sent for read operations.
    pub(crate) served: NumberMap<Key, SendReport>,
    /// Time at which the payload of chunks with a handshake was announced.
    announced: NumberMap<Key, Instant>,
    /// Chunks that were sent completely and have not been delivered; `None` if senders wait for
    /// acknowledgements.
    undelivered: Option<NumberMap<Key, SendReport>>,
    /// Failed chunks, with the report of their responder until then; the final report is available at the end
    /// of the run.
    pub(crate) failed: Vec<(SendReport, ReceiveReport)>,
    pub(crate) jobs: Vec<JobProgress>,
    /// Transmission time of a byte at the fastest port of each host [ps].
    byte_ps: Vec<u64>,
    /// Chunks without a row, in all rounds of the jobs that end by themselves.
    pub(crate) open: u64,
    /// TCP connections that end by themselves and are still open.
    pub(crate) open_tcp: u64,
    /// Scratch space: sort keys of the chunks that completed in this window.
    order: Vec<u128>,
    /// Length of a window.
    span: Span,
    /// Rows not yet emitted.
    pub(crate) rows: Vec<ChunkRow>,
    /// Chunks that get a row.
    chosen: RowSelection,
    /// Statistics of all chunks, if not all have a row.
    pub(crate) tally: Option<Tally>,
    /// Sums by channel, if NCCL runs a job.
    pub(crate) channels: Option<ChannelTally>,
    /// Queue pairs that exhausted their retries, in the order of the reports.
    pub(crate) failed_queue_pairs: Vec<(Instant, u32)>,
    pub(crate) frames: Vec<crate::record::Frame>,
    pub(crate) tcp_frames: Vec<crate::record::TcpFrame>,
}

impl<'a> Assembler<'a> {
    /// Assembler for a run of `spec` on `fabric`.
    pub(crate) fn new(flows: &'a Flows, spec: &RunSpec, fabric: &Fabric) -> Self {
        let jobs = &spec.jobs;
        let channels = ChannelTally::new(jobs);
        let plan = |index, job| RoundPlan::new(job, flows.payload_chunks(index));
        let block_bytes = jobs.iter().map(|job| job.work.storage().map_or(0, |storage| storage.block_bytes));
        let rounds = jobs.iter().filter_map(JobSpec::rounds_planned).max().unwrap_or(0);
        let jobs: Vec<_> = jobs
            .iter()
            .enumerate()
            .map(|(index, job)| match job.work.storage() {
                None => JobProgress::new(plan(index, job)),
                Some(storage) => JobProgress::of_clients(storage.clients, RoundPlan::new(job, 0)),
            })
            .collect();
        Self {
            flows,
            block_bytes: block_bytes.collect(),
            deliveries: Deliveries::new(),
            rounds_ended: RoundsEnded::new(flows.chunk_count(), rounds),
            served: NumberMap::default(),
            announced: NumberMap::default(),
            undelivered: (spec.transport.connection == QpType::Uc).then(NumberMap::default),
            failed: Vec::new(),
            byte_ps: fabric.byte_ps_of_hosts(spec),
            open: jobs.iter().filter_map(JobProgress::planned_ends).sum(),
            jobs,
            open_tcp: 0,
            order: Vec::new(),
            span: fabric.span,
            rows: Vec::new(),
            chosen: RowSelection::All,
            tally: None,
            channels,
            failed_queue_pairs: Vec::new(),
            frames: Vec::new(),
            tcp_frames: Vec::new(),
        }
    }

    /// Restricts rows to the chosen chunks; `tally` still counts all.
    pub(crate) fn choose(&mut self, chosen: RowSelection, jobs: &[JobSpec]) {
        self.tally = (!matches!(chosen, RowSelection::All)).then(|| Tally::new(jobs));
        self.chosen = chosen;
    }

    /// Processes the records of one or two windows. Rows are ordered by (completion, chunk), regardless of
    /// the order of the records. Exception: reports of a failed queue pair must follow its failure, and are
    /// first in its window. Full batches are passed to `emit`.
    pub(crate) fn take(
        &mut self,
        records: &mut Vec<Record>,
        emit: impl FnMut(Vec<ChunkRow>) -> Result<(), Stopped>,
    ) -> Result<(), Stopped> {
        if self.undelivered.is_some() {
            return self.take_unacknowledged(records, emit);
        }
        let mut order = std::mem::take(&mut self.order);
        let (mut index, mut failed) = (0, Instant::ZERO);
        while let Some(record) = records.get(index) {
            if let Some(Record::Delivered(next)) = records.get(index + REPORTS_AHEAD) {
                self.deliveries.prefetch(next.key());
            }
            match record {
                Record::Delivered(report) => {
                    if self.is_payload(report.key().0) {
                        self.deliveries.insert(report);
                    }
                }
                Record::DeliveredFull(report) => {
                    if self.is_payload(report.chunk) {
                        self.deliveries.insert_other(**report);
                    }
                }
                Record::Sent(report) if self.is_payload(report.key().0) => {
                    order.push(order_key(report.key().0, Some(report.completed), failed, index as u32));
                }
                Record::Sent(report) => self.note_control(&report.report()),
                Record::SentFull(report) if self.is_payload(report.chunk) || report.completed().is_none() => {
                    order.push(order_key(report.chunk, report.completed(), failed, index as u32));
                }
                Record::SentFull(report) => self.note_control(report),
                Record::QueuePairFailed { queue_pair, at } => {
                    failed = Instant(at.0 - at.0 % self.span.0);
                    self.failed_queue_pairs.push((*at, *queue_pair));
                }
                other => self.note(other),
            }
            index += 1;
        }
        let outcome = self.finish_in_order(records, &mut order, emit);
        records.clear();
        order.clear();
        self.order = order;
        outcome
    }

    /// [`Self::take`] without acknowledgements: a chunk ends when it is delivered, later than at its sender.
    fn take_unacknowledged(
        &mut self,
        records: &mut Vec<Record>,
        mut emit: impl FnMut(Vec<ChunkRow>) -> Result<(), Stopped>,
    ) -> Result<(), Stopped> {
        let mut changed: Vec<Key> = Vec::new();
        for record in records.drain(..) {
            match record {
                Record::Sent(report) => changed.extend(self.note_sent(report.report())),
                Record::SentFull(report) => changed.extend(self.note_sent(*report)),
                Record::Delivered(report) => changed.extend(self.note_delivered(report.report())),
                Record::DeliveredFull(report) => changed.extend(self.note_delivered(*report)),
                other => self.note(&other),
            }
        }
        let mut ended: Vec<(Instant, SendReport, ReceiveReport)> =
            changed.into_iter().filter_map(|key| self.take_ended(key)).collect();
        ended.sort_unstable_by_key(|(at, sent, _)| (*at, sent.chunk, sent.round));
        for (at, sent, received) in ended {
            self.finish(&sent.ended(ChunkStatus::Complete, Some(at)), &received);
            if self.rows.len() >= CHUNK_BATCH_ROWS {
                emit(self.take_rows())?;
            }
        }
        Ok(())
    }

    /// A chunk was sent completely, without acknowledgements; returns it unless it is control.
    fn note_sent(&mut self, report: SendReport) -> Option<Key> {
        if !self.is_payload(report.chunk) {
            self.note_control(&report);
            return None;
        }
        let key = (report.chunk, report.round);
        self.undelivered.as_mut()?.insert(key, report);
        Some(key)
    }

    /// A chunk was delivered, without acknowledgements; returns it unless it is control.
    fn note_delivered(&mut self, report: ReceiveReport) -> Option<Key> {
        let key = (report.chunk, report.round);
        self.is_payload(report.chunk).then(|| {
            self.deliveries.insert_other(report);
            key
        })
    }

    /// Removes the reports of a chunk that was sent and delivered, with the time of its end.
    fn take_ended(&mut self, key: Key) -> Option<(Instant, SendReport, ReceiveReport)> {
        let undelivered = self.undelivered.as_mut().filter(|undelivered| undelivered.contains_key(&key))?;
        let received = self.deliveries.take(key)?;
        let sent = undelivered.remove(&key)?;
        Some((received.delivered()?.max(sent.completed()?), sent, received))
    }

    /// Whether a chunk is data of a collective, not of a handshake or a barrier.
    #[inline]
    fn is_payload(&self, chunk: u32) -> bool {
        self.flows.message(chunk) == Message::Payload
    }

    /// Processes a record that is not a report of a chunk.
    fn note(&mut self, record: &Record) {
        match record {
            Record::Served(report) => _ = self.served.insert((report.chunk, report.round), **report),
            Record::ClientDone { job } => {
                let job = &mut self.jobs[*job as usize];
                job.end_client();
                self.open -= u64::from(!job.is_background());
            }
            Record::RoundStarted { job, round, at } => self.jobs[*job as usize].start_round(*round, *at),
            Record::RoundEnded { job, round, duration } => {
                self.jobs[*job as usize].note_round(*round, *duration);
            }
            Record::Frame(frame) => self.frames.push(**frame),
            Record::TcpClosed => self.open_tcp -= 1,
            Record::TcpFrame(frame) => self.tcp_frames.push(**frame),
            Record::Delivered(_)
            | Record::DeliveredFull(_)
            | Record::Sent(_)
            | Record::SentFull(_)
            | Record::QueuePairFailed { .. }
            | Record::MessageStarted(_) => {}
        }
    }

    /// Makes rows of the sent chunks, in `order`; undelivered ones are deferred.
    fn finish_in_order(
        &mut self,
        records: &[Record],
        order: &mut [u128],
        mut emit: impl FnMut(Vec<ChunkRow>) -> Result<(), Stopped>,
    ) -> Result<(), Stopped> {
        order.sort_unstable();
        let index_of = |key: &u128| *key as u32 as usize;
        for (index, key) in order.iter().enumerate() {
            if let Some(next) = order.get(index + 2 * AHEAD) {
                prefetch_ends(records, index_of(next));
            }
            if let Some(next) = order.get(index + AHEAD)
                && let Some(Record::Sent(next)) = records.get(index_of(next))
            {
                self.deliveries.prefetch(next.key());
                self.rounds_ended.prefetch(next.key().0);
            }
            match records.get(index_of(key)) {
                Some(Record::Sent(sent)) => match self.deliveries.take_from_line(sent.key()) {
                    Some(received) => self.finish_plain(sent, &received),
                    None => self.finish_other(&sent.report()),
                },
                Some(Record::SentFull(sent)) if self.is_payload(sent.chunk) => self.finish_other(sent),
                Some(Record::SentFull(sent)) => self.note_control(sent),
                _ => {}
            }
            if self.rows.len() >= CHUNK_BATCH_ROWS {
                emit(self.take_rows())?;
            }
        }
        Ok(())
    }

    /// Whether every planned chunk was delivered and acknowledged.
    pub(crate) fn is_complete(&self) -> bool {
        self.open == 0 && self.open_tcp == 0 && !self.jobs.iter().any(JobProgress::has_failed)
    }

    /// Removes and returns the rows.
    fn take_rows(&mut self) -> Vec<ChunkRow> {
        std::mem::take(&mut self.rows)
    }

    /// Events of the failed queue pairs, in the order (time, queue pair).
    pub(crate) fn failure_events(&mut self, host_names: &[&str]) -> Vec<EventRow> {
        self.failed_queue_pairs.sort_unstable();
        let events = self.failed_queue_pairs.iter().map(|&(at, queue_pair)| {
            let pair = self.flows.queue_pair(queue_pair);
            EventRow {
                time_ps: at.0,
                kind: "qp_failed",
                node: host_names[pair.src_host.index()].to_owned(),
                detail: format!(
                    "queue pair {queue_pair} (rank {} to {}) used up its retries",
                    pair.src, pair.dst
                ),
            }
        });
        events.collect()
    }

    /// A message of a handshake or a barrier has ended. It makes no row, but the start time of a payload is
    /// that of its announcement.
    fn note_control(&mut self, sent: &SendReport) {
        if sent.completed().is_none() {
            return self.job_of(sent.chunk).fail_control(Failure { chunk: sent.chunk, loss: None });
        }
        if self.flows.message(sent.chunk) == Message::Rts {
            self.announced.insert((self.flows.announced_by(sent.chunk), sent.round), sent.posted);
        }
    }

    /// A chunk has ended, and both reports have only frame counts.
    #[inline]
    fn finish_plain(&mut self, sent: &PlainSend, received: &PlainReceive) {
        if self.is_operation(sent.key().0) {
            return self.finish_operation(&sent.report(), &received.report());
        }
        self.finish(&sent.report(), &received.report());
    }

    /// A chunk has ended at its requester, and one report has further counters or is missing.
    #[cold]
    fn finish_other(&mut self, sent: &SendReport) {
        let key = (sent.chunk, sent.round);
        let received = self.deliveries.take(key).unwrap_or(ReceiveReport::new(sent.chunk, sent.round));
        if self.is_operation(sent.chunk) {
            return self.finish_operation(sent, &received);
        }
        self.finish(sent, &received);
    }

    /// A chunk of a schedule has ended.
    #[inline(always)]
    fn finish(&mut self, sent: &SendReport, received: &ReceiveReport) {
        let position = self.position_in_schedule(sent.chunk, sent.round);
        let job = &mut self.jobs[position.pair.job as usize];
        self.open -= u64::from(!job.is_background());
        self.rounds_ended.count(sent.chunk);
        match sent.completed() {
            Some(at) => job.complete_chunk(position.round, sent.posted, at),
            None => {
                job.fail_chunk(position.round, Failure { chunk: sent.chunk, loss: None });
                self.failed.push((*sent, *received));
                return;
            }
        }
        self.push_row_at(&position, (sent.chunk, sent.round), Some(sent), received);
    }

    pub(crate) fn job_of(&mut self, chunk: u32) -> &mut JobProgress {
        let job = match self.is_operation(chunk) {
            false => self.flows.job_of(chunk),
            true => self.flows.storage_pair(chunk).job,
        };
        &mut self.jobs[job as usize]
    }

    /// Makes rows of the chunks that never ended, of every round that started. `sent`, `received` and
    /// `served` are the reports of their hosts. An aborted job has rows only for posted chunks. Full batches
    /// are passed to `emit`; the last rows remain in `rows`.
    pub(crate) fn finish_rest(
        &mut self,
        sent: impl Iterator<Item = SendReport>,
        served: impl Iterator<Item = SendReport>,
        received: impl Iterator<Item = ReceiveReport>,
        ending: Ending,
        mut emit: impl FnMut(Vec<ChunkRow>) -> Result<(), Stopped>,
    ) -> Result<(), Stopped> {
        let keyed = |report: SendReport| ((report.chunk, report.round), report);
        // Their frames may be in flight.
        let unfinished = |report: SendReport| report.ended(ChunkStatus::Unfinished, None);
        let undelivered =
            self.undelivered.take().into_iter().flat_map(NumberMap::into_values).map(unfinished);
        let sent: BTreeMap<Key, SendReport> = sent.chain(undelivered).map(keyed).collect();
        received.for_each(|report| self.deliveries.insert_other(report));
        self.served.extend(served.map(keyed));
        for (&(_, pass), report) in &sent {
            let round = self.flows.round(report.chunk, pass);
            self.job_of(report.chunk).post_chunk(round);
        }
        self.finish_operations(&sent);
        for (report, received) in std::mem::take(&mut self.failed) {
            let was_delivered = received.delivered().is_some();
            let received =
                if was_delivered { received } else { self.take_delivered(report.chunk, report.round) };
            match self.is_operation(report.chunk) {
                true => self.push_operation(&report, &received),
                false => self.push_row(report.chunk, report.round, Some(&report), &received),
            }
        }
        let flows = self.flows;
        let payload = (0..flows.chunk_count()).filter(|&chunk| flows.message(chunk) == Message::Payload);
        for chunk in payload {
            let mut posted = self.rounds_ended.of(chunk);
            for (&(_, round), report) in sent.range((chunk, 0)..=(chunk, u32::MAX)) {
                posted += 1;
                self.finish_open(round, *report, ending);
            }
            let started = self.job_of(chunk).rounds_started();
            for round in posted..flows.passes(chunk, started) {
                self.push_row(chunk, round, None, &ReceiveReport::new(chunk, round));
            }
            if self.rows.len() >= CHUNK_BATCH_ROWS {
                emit(self.take_rows())?;
            }
        }
        Ok(())
    }

    /// Makes a row of a chunk that was posted and has not ended.
    pub(crate) fn finish_open(&mut self, round: u32, sent: SendReport, ending: Ending) {
        let chunk = sent.chunk;
        let received = self.take_delivered(chunk, round);
        let has_lost = ending.has_lost(&sent, self.job_of(chunk).is_background());
        let sent = sent.ended(ChunkStatus::Unfinished, None);
        let sent = if has_lost { self.judge(sent, &received) } else { sent };
        self.push_row(chunk, round, Some(&sent), &received);
    }

    /// Marks a chunk as failed if frames of it were lost that nobody will resend.
    fn judge(&mut self, sent: SendReport, received: &ReceiveReport) -> SendReport {
        let lost = sent.frames.saturating_sub(received.frames);
        if lost == 0 {
            return sent;
        }
        self.job_of(sent.chunk)
            .fail(Failure { chunk: sent.chunk, loss: Some((u64::from(sent.frames), u64::from(lost))) });
        sent.ended(ChunkStatus::Failed, None)
    }

    pub(crate) fn push_row(
        &mut self,
        chunk: u32,
        round: u32,
        sent: Option<&SendReport>,
        received: &ReceiveReport,
    ) {
        let position = self.position(chunk, round);
        self.push_row_at(&position, (chunk, round), sent, received);
    }

    #[inline(always)]
    fn push_row_at(
        &mut self,
        position: &ChunkPosition,
        key: Key,
        sent: Option<&SendReport>,
        received: &ReceiveReport,
    ) {
        if let Some(sent) = sent
            && !self.is_operation(key.0)
        {
            invariants::check_chunk(position, sent, received, self.byte_ps[position.pair.src_host.index()]);
        }
        let mut row = row(position, sent, received);
        self.jobs[row.job as usize].rows += 1;
        if !self.announced.is_empty()
            && let Some(announced) = self.announced.remove(&key)
        {
            row.start_ps = Some(announced.0);
        }
        if let Some(channels) = &mut self.channels {
            channels.add(&row, position.pair.ports);
        }
        if let Some(tally) = &mut self.tally {
            tally.add(&row);
            if !self.chosen.has(key.0, key.1) {
                return;
            }
        }
        if self.rows.is_empty() {
            // A batch reuses the memory of the previous one.
            self.rows.reserve_exact(CHUNK_BATCH_ROWS);
        }
        self.rows.push(row);
    }

    /// Whether every chunk of the jobs that end by themselves has a row.
    pub(crate) fn has_ended(&self) -> bool {
        self.open == 0 && self.failed.is_empty()
    }

    /// Whether a chunk number denotes the operations of a storage connection.
    fn is_operation(&self, chunk: u32) -> bool {
        chunk >= self.flows.chunk_count()
    }

    /// Removes the delivery report of a chunk; an empty one if there is none.
    pub(crate) fn take_delivered(&mut self, chunk: u32, round: u32) -> ReceiveReport {
        self.deliveries.take((chunk, round)).unwrap_or(ReceiveReport::new(chunk, round))
    }

    /// Position of a chunk in its job.
    fn position(&self, chunk: u32, round: u32) -> ChunkPosition {
        if self.is_operation(chunk) {
            return self.operation_position(chunk, round);
        }
        self.position_in_schedule(chunk, round)
    }

    #[inline(always)]
    fn position_in_schedule(&self, chunk: u32, round: u32) -> ChunkPosition {
        let (info, transfer, pair) = self.flows.chunk_with_pair(chunk);
        ChunkPosition {
            pair,
            transfer: info.transfer.0,
            round: self.flows.round(chunk, round),
            step: transfer.step,
            block: transfer.block,
            bytes: info.bytes,
            unloaded: self.flows.unloaded.get(&info.queue_pair).copied(),
        }
    }
}

#[inline(always)]
fn row(position: &ChunkPosition, sent: Option<&SendReport>, received: &ReceiveReport) -> ChunkRow {
    let pair = position.pair;
    let latency = received.latency_range();
    let count = |field: fn(&SendReport) -> u32| u64::from(sent.map_or(0, field));
    ChunkRow {
        job: pair.job,
        transfer: position.transfer,
        part: pair.part,
        round: position.round,
        qp: pair.number,
        udp_source_port: pair.udp_source_port(),
        src_rank: pair.src.0,
        dst_rank: pair.dst.0,
        src_host: pair.src_host.0,
        dst_host: pair.dst_host.0,
        step: position.step,
        channel: pair.channel,
        block: position.block,
        status: sent.map_or(ChunkStatus::Unfinished, |report| report.status),
        payload_bytes: position.bytes,
        start_ps: sent.map(|report| report.posted.0),
        delivered_ps: received.delivered().map(|at| at.0),
        completed_ps: sent.and_then(|report| report.completed()).map(|at| at.0),
        unloaded_ps: position.unloaded.map(|span| span.0),
        tx_frames: count(|report| report.frames),
        tx_bytes: sent.map_or(0, |report| report.bytes),
        rx_frames: u64::from(received.frames),
        rx_bytes: received.bytes,
        retransmits: count(|report| report.retransmits),
        naks: count(|report| report.naks),
        timeouts: count(|report| report.timeouts),
        out_of_order: u64::from(received.out_of_order),
        latency_min_ps: latency.map(|range| range.0.0),
        latency_sum_ps: received.latency_sum_ps,
        latency_frames: u64::from(received.latency_frames),
        latency_max_ps: latency.map(|range| range.1.0),
        ecn_ce_rx: u64::from(received.marks),
        cnp_tx: u64::from(received.cnps),
        cnp_rx: count(|report| report.cnps),
    }
}

/// Sort key: chunks end in the order (completion, chunk), the failed ones first in the window that starts at
/// `failed`. The rounds of one chunk are reported in order.
fn order_key(chunk: u32, completed: Option<Instant>, failed: Instant, index: u32) -> u128 {
    let completed = completed.map_or(failed.0, |at| at.0 + 1);
    u128::from(completed) << 64 | u128::from(chunk) << 32 | u128::from(index)
}
