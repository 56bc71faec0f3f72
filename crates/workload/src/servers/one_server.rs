//! Collectives on one server, over its scale-up domain: rings, trees and NVLS.
//!
//! All channels of a collective do the same at the same time, and have the rate of a GPU together: a message
//! here stands for those of all channels. It is a copy at the rate of a GPU, one after the other, since all
//! GPUs send at the same time.
//!
//! - Ring: a block moves by one GPU in each step, in slices. With the protocols whose flags are next to the data
//!   (LL, LL128) a GPU forwards a block while it arrives. As all GPUs do so at the same time, a step starts one
//!   latency, or one block, after the one before it, whichever is longer: see [`Ring::forwards`].
//! - Tree: NCCL's trees are a chain inside a server. Chunks are reduced along it and passed back.
//! - NVLS: switches of the domain reduce and multicast. A GPU exchanges with them; a message to the next GPU
//!   stands for that. In an all-reduce it sends all its data, of which the switches pass the sums to one GPU for
//!   each part, and then the sum of its part, which they pass to all. An all-gather or reduce-scatter is half of
//!   that: all data arrive at each GPU, or leave it. If only some GPUs have parts (NCCL has 32 heads), a message
//!   of others, which wait for these, stands for that and is as large.

use super::{NcclAlgorithm, NcclOneServer, NcclProtocol, cycles_of};
use crate::patterns::{Lane, Tree};
use crate::{
    LISTED_TRANSFERS_MAX, Parts, RankTimes, Schedule, ScheduleBuilder, Shape, Transfer, Volume,
    WorkloadError, check_transfers,
};
use std::collections::VecDeque;
use std::iter::repeat_n;
use units::{Rank, Rate, Span, TransferId};

/// Messages of a chunk of a tree whose protocol forwards what has arrived.
const FORWARDED_PARTS: u64 = 8;

/// The volume of [`schedule`].
pub(super) fn volume(config: &NcclOneServer, collective: &str, shape: &Shape, ranks: &[Rank]) -> Volume {
    let run = Run::new(config, collective, shape, ranks);
    let (gpus, data) = (run.gpus(), shape.data_bytes);
    let wire = |bytes: u64| config.protocol.wire_bytes(bytes);
    let (messages, payload_bytes, connections) = match (config.algorithm, run.cycles) {
        (NcclAlgorithm::Ring, Some(_)) => {
            let of_loop = |bytes: u64| u64::from(run.steps()) * gpus * run.slices(bytes);
            (run.count(of_loop), wire(data.saturating_mul(run.steps().into())), gpus)
        }
        (NcclAlgorithm::Ring, None) => {
            (run.count(|_| gpus - 1), wire(data).saturating_mul(gpus - 1), gpus - 1)
        }
        (NcclAlgorithm::Tree, _) => {
            let edges = 2 * (gpus - 1);
            (run.count(|bytes| edges * run.parts(bytes)), wire(data).saturating_mul(edges), edges)
        }
        (NcclAlgorithm::Nvls, _) => {
            let sums = if run.returns_sums() { run.count(|bytes| run.sums(bytes)) } else { 0 };
            let each = if run.returns_sums() { 2 * gpus } else { gpus };
            (run.count(|_| each), data.saturating_mul(gpus).saturating_add(sums), each)
        }
    };
    Volume {
        transfers: messages,
        payload_bytes,
        largest_bytes: wire(run.largest()),
        connections,
        is_listed: true,
        busy_ranks: gpus as u32,
        is_between_neighbours: false,
        is_periodic: false,
    }
}

pub(super) fn schedule(
    config: &NcclOneServer,
    collective: &str,
    shape: &Shape,
    ranks: &[Rank],
) -> Result<Schedule, WorkloadError> {
    check_transfers(volume(config, collective, shape, ranks).transfers, LISTED_TRANSFERS_MAX)?;
    let run = Run::new(config, collective, shape, ranks);
    Ok(match config.algorithm {
        NcclAlgorithm::Ring if run.cycles.is_some() => run.ring(),
        NcclAlgorithm::Ring => run.chain(),
        NcclAlgorithm::Tree => run.tree(),
        NcclAlgorithm::Nvls => run.nvls(),
    })
}

/// A collective on one server.
struct Run<'a> {
    config: &'a NcclOneServer,
    collective: &'a str,
    data_bytes: u64,
    /// GPUs in the order of a ring; in a chain from its first, or to its last.
    ranks: Vec<Rank>,
    /// How often blocks go round a ring.
    cycles: Option<u32>,
}

impl<'a> Run<'a> {
    fn new(config: &'a NcclOneServer, collective: &'a str, shape: &Shape, ranks: &[Rank]) -> Self {
        let mut ranks = ranks.to_vec();
        let cycles = cycles_of(collective);
        if cycles.is_none() {
            let root = ranks.iter().position(|&rank| rank == shape.root).unwrap_or(0);
            let first = if collective == "broadcast" { root } else { root + 1 };
            let gpus = ranks.len();
            ranks.rotate_left(first % gpus);
        }
        Self { config, collective, data_bytes: shape.data_bytes, ranks, cycles }
    }

    fn gpus(&self) -> u64 {
        self.ranks.len() as u64
    }

    /// Steps of a loop of a ring.
    fn steps(&self) -> u32 {
        self.cycles.unwrap_or(0) * (self.ranks.len() as u32 - 1)
    }

    /// Whether sums return to all GPUs.
    fn returns_sums(&self) -> bool {
        self.collective == "all-reduce"
    }

    fn is_forwarded_at_once(&self) -> bool {
        self.config.protocol != NcclProtocol::Simple
    }

    /// Data of a loop of all channels: in rings and with NVLS a chunk of each GPU.
    fn loop_bytes(&self) -> u64 {
        let chunk = self.config.chunk_bytes.saturating_mul(self.config.channels.into());
        match self.config.algorithm {
            NcclAlgorithm::Ring if self.cycles.is_none() => chunk,
            NcclAlgorithm::Tree => chunk,
            NcclAlgorithm::Ring | NcclAlgorithm::Nvls => chunk.saturating_mul(self.gpus()),
        }
    }

    /// Loops: how many have how much data.
    fn loops(&self) -> [(u64, u64); 2] {
        let (of_a_loop, data) = (self.loop_bytes(), self.data_bytes);
        let rest = data % of_a_loop;
        [(data / of_a_loop, of_a_loop), (u64::from(rest > 0), rest)]
    }

    fn each_loop(&self) -> impl Iterator<Item = u64> {
        self.loops().into_iter().flat_map(|(count, bytes)| repeat_n(bytes, count as usize))
    }

    /// Bytes of the messages by which GPUs return the sums of a loop.
    fn sums(&self, loop_bytes: u64) -> u64 {
        match self.config.heads {
            Some(heads) => loop_bytes.div_ceil(heads.into()).saturating_mul(self.gpus()),
            None => loop_bytes,
        }
    }

    /// Messages of all loops.
    fn count(&self, of_loop: impl Fn(u64) -> u64) -> u64 {
        self.loops().into_iter().map(|(count, bytes)| count.saturating_mul(of_loop(bytes))).sum()
    }

    /// Messages of a block of a ring.
    fn slices(&self, loop_bytes: u64) -> u64 {
        let slice = self.config.slice_bytes.saturating_mul(self.config.channels.into());
        loop_bytes.div_ceil(self.gpus()).div_ceil(slice).max(1)
    }

    /// Messages of a chunk of a tree.
    fn parts(&self, chunk_bytes: u64) -> u64 {
        if self.is_forwarded_at_once() { chunk_bytes.min(FORWARDED_PARTS) } else { 1 }
    }

    /// Data of the largest message.
    fn largest(&self) -> u64 {
        let bytes = self.loop_bytes().min(self.data_bytes);
        match self.config.algorithm {
            NcclAlgorithm::Ring if self.cycles.is_some() => {
                bytes.div_ceil(self.gpus()).div_ceil(self.slices(bytes))
            }
            NcclAlgorithm::Tree => bytes.div_ceil(self.parts(bytes)),
            NcclAlgorithm::Ring | NcclAlgorithm::Nvls => bytes,
        }
    }

    fn wire_bytes(&self, bytes: u64) -> u64 {
        self.config.protocol.wire_bytes(bytes)
    }

    fn latency(&self) -> Span {
        Span(self.config.scale_up.latency_ps)
    }

    /// The GPU after another.
    fn next(&self, gpu: usize) -> usize {
        (gpu + 1) % self.ranks.len()
    }

    /// A message from a GPU to the next.
    fn message(&self, gpu: usize, bytes: u64, step: u32, block: usize) -> Transfer {
        Transfer {
            src: self.ranks[gpu],
            dst: self.ranks[self.next(gpu)],
            bytes,
            step,
            channel: 0,
            block: block as u32,
        }
    }

    fn ring(&self) -> Schedule {
        let mut ring = Ring::new(self);
        for bytes in self.each_loop() {
            let blocks = Parts::new(bytes, self.gpus());
            for step in 0..self.steps() {
                ring.push_step(&blocks, self.slices(bytes), step);
            }
            ring.end_loop();
        }
        ring.writer.finish()
    }

    /// Chunks that pass all GPUs once. Where they are forwarded while they arrive, a GPU starts one when the
    /// chunk before it has arrived, which is when the first byte of this one does.
    fn chain(&self) -> Schedule {
        let mut writer = Writer::default();
        let hops = self.ranks.len() - 1;
        // By hop: the last message.
        let mut last: Vec<Option<TransferId>> = vec![None; hops];
        for (chunk, data) in self.each_loop().enumerate() {
            let mut received = None;
            for (hop, last) in last.iter_mut().enumerate() {
                let message = self.message(hop, self.wire_bytes(data), hop as u32, chunk);
                let id = match (self.is_forwarded_at_once(), received) {
                    (true, Some((None, _))) => {
                        let before = Span(self.latency().0 * hop as u64);
                        writer.push(message, None, before)
                    }
                    (true, Some((earlier, _))) => writer.push(message, earlier, Span::ZERO),
                    (false, Some((_, own))) => writer.push(message, Some(own), Span::ZERO),
                    (_, None) => writer.push(message, None, Span::ZERO),
                };
                received = Some((last.replace(id), id));
            }
        }
        writer.finish()
    }

    fn tree(&self) -> Schedule {
        let mut builder = ScheduleBuilder::with_capacity(0, 0);
        let window = self.config.window_messages;
        let mut lane = Lane::new(0, Tree::chain(self.ranks.len() as u32).among(&self.ranks), window);
        let messages = self.each_loop().flat_map(|chunk| {
            let parts = Parts::new(chunk, self.parts(chunk));
            (0..self.parts(chunk)).map(move |part| parts.of(part))
        });
        for (number, bytes) in (0..).zip(messages) {
            lane.push_chunk(&mut builder, number, self.wire_bytes(bytes));
        }
        builder.finish()
    }

    fn nvls(&self) -> Schedule {
        let mut writer = Writer::default();
        // By GPU: the last messages that it received, as many as there are buffers.
        let mut last: Vec<VecDeque<TransferId>> = vec![VecDeque::new(); self.ranks.len()];
        for (number, bytes) in self.each_loop().enumerate() {
            let is_full = number >= self.config.window_messages as usize;
            let freed: Vec<_> =
                last.iter_mut().map(|last| if is_full { last.pop_front() } else { None }).collect();
            let all = Parts::new(bytes * self.gpus(), self.gpus());
            let mut received = self.exchange(&mut writer, 0, number, &all, &freed);
            if self.returns_sums() {
                let sums = Parts::new(self.sums(bytes), self.gpus());
                received = self.exchange(&mut writer, 1, number, &sums, &received);
            }
            last.iter_mut().zip(received).for_each(|(last, received)| last.extend(received));
        }
        writer.finish()
    }

    /// A message of each GPU, after one that it has received. Returns, by GPU, those that they receive.
    fn exchange(
        &self,
        writer: &mut Writer,
        step: u32,
        number: usize,
        parts: &Parts,
        after: &[Option<TransferId>],
    ) -> Vec<Option<TransferId>> {
        let send = |(gpu, &after): (usize, &Option<TransferId>)| {
            // Sums have a channel of their own: data of later loops go ahead of them.
            let message = self.message(gpu, parts.of(gpu as u64), step, number);
            Some(writer.push(Transfer { channel: step, ..message }, after, Span::ZERO))
        };
        let mut received: Vec<_> = after.iter().enumerate().map(send).collect();
        received.rotate_right(1);
        received
    }
}

/// The messages of a ring.
struct Ring<'a> {
    run: &'a Run<'a>,
    writer: Writer,
    /// By GPU: the last message that it received in the loop before.
    ended: Vec<Option<TransferId>>,
    /// By step of this loop, the last two, then GPU: the messages that it received.
    received: VecDeque<Vec<Vec<TransferId>>>,
}

impl<'a> Ring<'a> {
    fn new(run: &'a Run<'a>) -> Self {
        let ended = vec![None; run.ranks.len()];
        Self { run, writer: Writer::default(), ended, received: VecDeque::new() }
    }

    fn push_step(&mut self, blocks: &Parts, slices: u64, step: u32) {
        let gpus = self.run.ranks.len();
        let mut received = vec![Vec::with_capacity(slices as usize); gpus];
        for gpu in 0..gpus {
            let block = (gpu + gpus - step as usize % gpus) % gpus;
            let parts = Parts::new(blocks.of(block as u64), slices);
            for slice in 0..slices {
                let bytes = self.run.wire_bytes(parts.of(slice));
                let (after, before) = self.forwards(gpu, step, slice as usize, bytes);
                let message = self.run.message(gpu, bytes, step, block);
                received[self.run.next(gpu)].push(self.writer.push(message, after, before));
            }
        }
        self.received.push_back(received);
        if self.received.len() > 2 {
            self.received.pop_front();
        }
    }

    /// The message after whose arrival a GPU sends one, and for how long it waits then.
    ///
    /// With flags next to the data step t starts when the first byte of step t - 1 arrives: a latency after the
    /// start of step t - 1, which is that at all GPUs. From the arrival of step t - 2, a latency and a block after
    /// its start, that is a latency less a block; a longer block occupies the GPU until then.
    fn forwards(&self, gpu: usize, step: u32, slice: usize, bytes: u64) -> (Option<TransferId>, Span) {
        let latency = self.run.latency();
        match (step, self.run.is_forwarded_at_once()) {
            (0, _) => (self.ended[gpu], Span::ZERO),
            (1, true) => (self.ended[gpu], latency),
            (_, true) => {
                let block = Rate::from_bps(self.run.config.scale_up.rate_bps).span_of(bytes);
                let arrived = self.received.front().and_then(|of_step| of_step[gpu].last().copied());
                (arrived, Span(latency.0.saturating_sub(block.0)))
            }
            (_, false) => {
                let arrived = self.received.back().map(|of_step| of_step[gpu][slice]);
                (arrived, Span::ZERO)
            }
        }
    }

    fn end_loop(&mut self) {
        if let Some(last) = self.received.back() {
            self.ended = last.iter().map(|of_gpu| of_gpu.last().copied()).collect();
        }
        self.received.clear();
    }
}

/// Builder of a schedule, with the time for which each message waits.
struct Writer {
    builder: ScheduleBuilder,
    times: Vec<RankTimes>,
}

impl Default for Writer {
    fn default() -> Self {
        Self { builder: ScheduleBuilder::with_capacity(0, 0), times: Vec::new() }
    }
}

impl Writer {
    fn push(&mut self, message: Transfer, after: Option<TransferId>, before: Span) -> TransferId {
        self.times.push(RankTimes { before, ..RankTimes::default() });
        self.builder.push(message, after.as_slice())
    }

    fn finish(self) -> Schedule {
        let takes_time = self.times.iter().any(|&times| times != RankTimes::default());
        self.builder.finish().of_rank_times(if takes_time { self.times } else { Vec::new() })
    }
}
