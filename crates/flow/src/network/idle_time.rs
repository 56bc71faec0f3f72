//! Frames of a chunk (the part of a transfer that one queue pair sends): their number and bytes, and the
//! times of chunk and acknowledgements on an idle path, with or without a window of unacknowledged packets.

use spec::{LossRecovery, TransportSpec};
use std::collections::VecDeque;
use units::{Instant, Rate, Span};
use wire::Framing;

/// Maximum number of frames simulated one by one with a window; later ones continue at the rate of their
/// second half.
const WINDOWED_MAX: u64 = 1 << 15;

/// Timing of a link of a path for frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LinkTiming {
    /// Line rate [bit/s].
    pub(crate) bps: u64,
    /// Time after which the next node may act on a frame; `None` if it waits for the last bit.
    pub(crate) head: Option<Span>,
    /// Time from then until it acts.
    pub(crate) latency: Span,
}

/// A link of an idle path.
struct LinkState {
    timing: LinkTiming,
    rate: Rate,
    free_at: Instant,
}

/// Frames on an idle path, one after the other.
struct FrameSequence {
    links: Vec<LinkState>,
    overhead_bytes: u32,
    arrived: Instant,
}

impl FrameSequence {
    fn new(path: &[LinkTiming], framing: Framing) -> Self {
        let links = path.iter().map(|&timing| LinkState {
            timing,
            rate: Rate::from_bps(timing.bps),
            free_at: Instant::ZERO,
        });
        Self { links: links.collect(), overhead_bytes: framing.link_overhead_bytes(), arrived: Instant::ZERO }
    }

    /// Sends a frame that is ready at `at` along the path.
    fn send(&mut self, at: Instant, frame_bytes: u32) {
        let mut at = at;
        for LinkState { timing, rate, free_at } in &mut self.links {
            let start = at.max(*free_at);
            *free_at = rate.frame_end(start, frame_bytes, self.overhead_bytes);
            at = timing.head.map_or(*free_at, |head| start + head) + timing.latency;
        }
        self.arrived = at;
    }

    /// Calls `step` `count` times. Once all times advance by the same amount, extrapolates.
    fn repeat(&mut self, count: u64, mut step: impl FnMut(&mut Self)) {
        let mut before: Vec<Instant> = Vec::new();
        for repetitions in 1..=count {
            step(self);
            let times = self.times();
            let mut advances = times.iter().zip(&before).map(|(time, before)| time.since(*before));
            if let Some(advance) = advances.next()
                && advances.all(|other| other == advance)
            {
                return self.extrapolate(Span(advance.0 * (count - repetitions)));
            }
            before = times;
        }
    }

    fn times(&self) -> Vec<Instant> {
        self.links.iter().map(|link| link.free_at).chain([self.arrived]).collect()
    }

    fn extrapolate(&mut self, span: Span) {
        self.links.iter_mut().for_each(|link| link.free_at += span);
        self.arrived += span;
    }
}

/// Acknowledgement times of outstanding packets.
struct Acks {
    times: VecDeque<Instant>,
    /// Packets for which no acknowledgement was sent.
    pending: u64,
    window: u64,
    /// Packets that may be sent before the first is acknowledged.
    room: u64,
    has_stalled: bool,
}

impl Acks {
    /// When the window has room for the next packet, which is ready at `at`.
    fn open(&mut self, at: Instant) -> Instant {
        if self.room > 0 {
            self.room -= 1;
            return at;
        }
        let opens = self.times.pop_front().unwrap_or(at);
        self.has_stalled |= opens > at;
        opens.max(at)
    }

    /// Records a packet; `is_acknowledged`: it is acknowledged at `at`, with all before it.
    fn sent(&mut self, is_acknowledged: bool, at: Instant) {
        self.pending += 1;
        if is_acknowledged || self.pending == self.window {
            self.times.extend(std::iter::repeat_n(at, self.pending as usize));
            self.pending = 0;
        }
    }
}

/// Equal messages of a chunk.
#[derive(Clone, Copy)]
struct MessageGroup {
    messages: u64,
    bytes: u64,
}

/// Equal frames of a message.
#[derive(Clone, Copy)]
struct FrameGroup {
    frames: u64,
    frame_bytes: u32,
}

/// A frame of a chunk.
struct Frame {
    bytes: u32,
    /// Whether it is the last of its message.
    is_last: bool,
}

/// Frames of a chunk and their bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameCount {
    pub(crate) frames: u64,
    pub(crate) frame_bytes: u64,
    /// Bytes for which the frames occupy a link.
    pub(crate) wire_bytes: u64,
}

impl FrameCount {
    /// Frames and their bytes, as in rows.
    pub(crate) const fn on_links(self) -> [u64; 2] {
        [self.frames, self.frame_bytes]
    }
}

/// Frames of chunks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frames {
    pub(crate) framing: Framing,
    mtu_bytes: u32,
    message_bytes: u64,
    ack_every: u64,
    /// Every frame contains the address of its payload.
    is_selective: bool,
}

impl Frames {
    pub(crate) fn new(transport: &TransportSpec, framing: Framing) -> Self {
        Self {
            framing,
            mtu_bytes: transport.mtu_bytes,
            message_bytes: transport.message_bytes,
            ack_every: transport.ack_every.into(),
            is_selective: transport.recovery == LossRecovery::Selective,
        }
    }

    #[cfg(test)]
    pub(crate) const fn test(framing: Framing, mtu_bytes: u32, message_bytes: u64) -> Self {
        Self { framing, mtu_bytes, message_bytes, ack_every: 2, is_selective: false }
    }

    fn frame(&self, is_first: bool, payload_bytes: u32) -> u32 {
        self.framing.write_frame_bytes(is_first || self.is_selective, payload_bytes)
    }

    /// Frames of a message: the first, the full ones after it, and the last.
    fn frames_of_message(&self, bytes: u64) -> [FrameGroup; 3] {
        let mtu = u64::from(self.mtu_bytes);
        let count = bytes.div_ceil(mtu).max(1);
        let last = (bytes - (count - 1) * mtu) as u32;
        let group = |frames, frame_bytes| FrameGroup { frames, frame_bytes };
        match count {
            1 => [group(1, self.frame(true, last)), group(0, 0), group(0, 0)],
            _ => [
                group(1, self.frame(true, self.mtu_bytes)),
                group(count - 2, self.frame(false, self.mtu_bytes)),
                group(1, self.frame(false, last)),
            ],
        }
    }

    /// Messages of a chunk: the full ones, and the remainder.
    fn messages(&self, bytes: u64) -> [MessageGroup; 2] {
        let (full, rest) = (bytes / self.message_bytes, bytes % self.message_bytes);
        [
            MessageGroup { messages: full, bytes: self.message_bytes },
            MessageGroup { messages: u64::from(rest > 0 || bytes == 0), bytes: rest },
        ]
    }

    /// Frames of a chunk and their bytes.
    pub(crate) fn count(&self, bytes: u64) -> FrameCount {
        let (mut frames, mut frame_bytes) = (0, 0);
        for MessageGroup { messages, bytes } in self.messages(bytes) {
            for group in self.frames_of_message(bytes) {
                frames += messages * group.frames;
                frame_bytes += messages * group.frames * u64::from(group.frame_bytes);
            }
        }
        let wire_bytes = frame_bytes + frames * u64::from(self.framing.link_overhead_bytes());
        FrameCount { frames, frame_bytes, wire_bytes }
    }

    /// Time from the post of a chunk to its arrival, on an idle path.
    pub(crate) fn unloaded(&self, path: &[LinkTiming], bytes: u64) -> Span {
        let mut sequence = FrameSequence::new(path, self.framing);
        for MessageGroup { messages, bytes } in self.messages(bytes) {
            let groups = if messages > 0 { self.frames_of_message(bytes) } else { continue };
            sequence.repeat(messages, |sequence| {
                for group in groups {
                    sequence.repeat(group.frames, |sequence| sequence.send(Instant::ZERO, group.frame_bytes));
                }
            });
        }
        sequence.arrived.since(Instant::ZERO)
    }

    /// [`Self::unloaded`] with a window of packets, if it ever closes.
    pub(crate) fn windowed(
        &self,
        path: &[LinkTiming],
        ack_delay: Span,
        bytes: u64,
        window: u64,
    ) -> Option<Span> {
        let count = self.count(bytes).frames;
        let mut acks = Acks { times: VecDeque::new(), pending: 0, window, room: window, has_stalled: false };
        let (mut sequence, mut half) = (FrameSequence::new(path, self.framing), Instant::ZERO);
        let simulated = count.min(WINDOWED_MAX);
        // If it has not closed until the first packets and then the first messages are acknowledged, it never
        // does.
        let frames_per_message = frames_in(&self.frames_of_message(self.message_bytes));
        let decisive_frames = window.saturating_add(2 * frames_per_message);
        for (number, frame) in (1..=simulated).zip(self.each_frame(bytes)) {
            if number > decisive_frames && !acks.has_stalled {
                return None;
            }
            let ready = acks.open(sequence.links[0].free_at);
            sequence.send(ready, frame.bytes);
            let is_acknowledged = frame.is_last || acks.pending + 1 >= self.ack_every;
            acks.sent(is_acknowledged, sequence.arrived + ack_delay);
            half = if number == simulated / 2 { sequence.arrived } else { half };
        }
        let more = u128::from(count - simulated) * u128::from(sequence.arrived.since(half).0);
        let span = sequence.arrived.since(Instant::ZERO)
            + Span((more / u128::from(simulated - simulated / 2)) as u64);
        acks.has_stalled.then_some(span)
    }

    /// The frames of a chunk.
    fn each_frame(&self, bytes: u64) -> impl Iterator<Item = Frame> {
        self.messages(bytes).into_iter().flat_map(move |MessageGroup { messages, bytes }| {
            let [first, middle, last] = self.frames_of_message(bytes);
            let count = frames_in(&[first, middle, last]);
            (0..messages * count).map(move |index| match index % count {
                0 => Frame { bytes: first.frame_bytes, is_last: count == 1 },
                index if index == count - 1 => Frame { bytes: last.frame_bytes, is_last: true },
                _ => Frame { bytes: middle.frame_bytes, is_last: false },
            })
        })
    }

    /// Delay of an acknowledgement on an idle path.
    pub(crate) fn ack_delay(&self, path: &[LinkTiming]) -> Span {
        let mut sequence = FrameSequence::new(path, self.framing);
        sequence.send(Instant::ZERO, self.framing.ack_frame_bytes());
        sequence.arrived.since(Instant::ZERO)
    }

    /// Bytes of the acknowledgements of a chunk on a link, for each 2^16 of its own.
    pub(crate) fn ack_weight(&self, bytes: u64) -> u32 {
        let acks_of = |MessageGroup { messages, bytes }: MessageGroup| {
            messages * frames_in(&self.frames_of_message(bytes)).div_ceil(self.ack_every)
        };
        let acks: u64 = self.messages(bytes).into_iter().map(acks_of).sum();
        let ack_bytes = acks * u64::from(self.framing.ack_frame_bytes() + self.framing.link_overhead_bytes());
        ((ack_bytes << 16) / self.count(bytes).wire_bytes.max(1)) as u32
    }

    /// Bytes for which a full frame occupies a link.
    pub(crate) fn full_frame_bytes(&self) -> u64 {
        u64::from(self.frame(false, self.mtu_bytes) + self.framing.link_overhead_bytes())
    }

    /// Payload of a full frame [bytes].
    pub(crate) const fn mtu_bytes(&self) -> u64 {
        self.mtu_bytes as u64
    }
}

fn frames_in(groups: &[FrameGroup]) -> u64 {
    groups.iter().map(|group| group.frames).sum()
}
