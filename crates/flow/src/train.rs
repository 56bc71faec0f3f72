//! Frames of a chunk on the wire, and their times on an idle path.

use spec::{LossRecovery, TransportSpec};
use std::collections::VecDeque;
use units::{Instant, Rate, Span};
use wire::Framing;

/// Maximum number of frames simulated one by one with a window; later ones continue at the rate of their
/// second half.
const WINDOWED_MAX: u64 = 1 << 15;

/// Timing of a link of a path for frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Hop {
    /// Line rate [bit/s].
    pub(crate) bps: u64,
    /// Time after which the next node may act on a frame; `None` if it waits for the last bit.
    pub(crate) head: Option<Span>,
    /// Time from then until it acts.
    pub(crate) latency: Span,
}

/// Frames on an idle path, one after the other.
struct Train {
    hops: Vec<(Hop, Rate, Instant)>,
    overhead_bytes: u32,
    arrived: Instant,
}

impl Train {
    fn new(path: &[Hop], framing: Framing) -> Self {
        let hops = path.iter().map(|&hop| (hop, Rate::from_bps(hop.bps), Instant::ZERO)).collect();
        Self { hops, overhead_bytes: framing.link_overhead_bytes(), arrived: Instant::ZERO }
    }

    /// Sends a frame that is ready at `at` along the path.
    fn cross(&mut self, at: Instant, frame_bytes: u32) {
        let mut at = at;
        for (hop, rate, free_at) in &mut self.hops {
            let start = at.max(*free_at);
            *free_at = rate.frame_end(start, frame_bytes, self.overhead_bytes);
            at = hop.head.map_or(*free_at, |head| start + head) + hop.latency;
        }
        self.arrived = at;
    }

    /// Calls `act` `count` times. Once all times advance by the same amount, extrapolates.
    fn repeat(&mut self, count: u64, mut act: impl FnMut(&mut Self)) {
        let mut before: Vec<Instant> = Vec::new();
        for done in 1..=count {
            act(self);
            let times = self.times();
            let mut steps = times.iter().zip(&before).map(|(time, before)| time.since(*before));
            if let Some(step) = steps.next()
                && steps.all(|other| other == step)
            {
                return self.move_on(Span(step.0 * (count - done)));
            }
            before = times;
        }
    }

    fn times(&self) -> Vec<Instant> {
        self.hops.iter().map(|hop| hop.2).chain([self.arrived]).collect()
    }

    fn move_on(&mut self, span: Span) {
        self.hops.iter_mut().for_each(|hop| hop.2 += span);
        self.arrived += span;
    }
}

/// Acknowledgement times of outstanding packets.
struct Acks {
    at: VecDeque<Instant>,
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
        let opens = self.at.pop_front().unwrap_or(at);
        self.has_stalled |= opens > at;
        opens.max(at)
    }

    /// Records a packet; `is_acknowledged`: it is acknowledged at `at`, with all before it.
    fn sent(&mut self, is_acknowledged: bool, at: Instant) {
        self.pending += 1;
        if is_acknowledged || self.pending == self.window {
            self.at.extend(std::iter::repeat_n(at, self.pending as usize));
            self.pending = 0;
        }
    }
}

/// Frames of chunks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frames {
    pub(crate) framing: Framing,
    mtu_bytes: u32,
    message_bytes: u64,
    ack_every: u64,
    /// Every frame contains the location of its payload.
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

    fn frame(&self, starts: bool, payload_bytes: u32) -> u32 {
        self.framing.write_frame_bytes(starts || self.is_selective, payload_bytes)
    }

    /// Frames of a message with their sizes: the first, the number of full ones after it, and the last.
    fn message(&self, bytes: u64) -> [(u64, u32); 3] {
        let mtu = u64::from(self.mtu_bytes);
        let count = bytes.div_ceil(mtu).max(1);
        let last = (bytes - (count - 1) * mtu) as u32;
        match count {
            1 => [(1, self.frame(true, last)), (0, 0), (0, 0)],
            _ => [
                (1, self.frame(true, self.mtu_bytes)),
                (count - 2, self.frame(false, self.mtu_bytes)),
                (1, self.frame(false, last)),
            ],
        }
    }

    /// Messages of a chunk: number of full ones, and the remainder.
    fn messages(&self, bytes: u64) -> [(u64, u64); 2] {
        let (full, rest) = (bytes / self.message_bytes, bytes % self.message_bytes);
        [(full, self.message_bytes), (u64::from(rest > 0 || bytes == 0), rest)]
    }

    /// Frames of a chunk, their bytes, and the bytes for which they occupy a link.
    pub(crate) fn of(&self, bytes: u64) -> [u64; 3] {
        let (mut frames, mut frame_bytes) = (0, 0);
        for (messages, message_bytes) in self.messages(bytes) {
            for (count, size) in self.message(message_bytes) {
                frames += messages * count;
                frame_bytes += messages * count * u64::from(size);
            }
        }
        [frames, frame_bytes, frame_bytes + frames * u64::from(self.framing.link_overhead_bytes())]
    }

    /// Time from the post of a chunk to its arrival, on an idle path.
    pub(crate) fn unloaded(&self, path: &[Hop], bytes: u64) -> Span {
        let mut train = Train::new(path, self.framing);
        for (messages, message_bytes) in self.messages(bytes) {
            let parts = if messages > 0 { self.message(message_bytes) } else { continue };
            train.repeat(messages, |train| {
                for (count, size) in parts {
                    train.repeat(count, |train| train.cross(Instant::ZERO, size));
                }
            });
        }
        train.arrived.since(Instant::ZERO)
    }

    /// [`Self::unloaded`] with a window of packets, if it ever closes; `back` is the delay of an
    /// acknowledgement.
    pub(crate) fn windowed(&self, path: &[Hop], back: Span, bytes: u64, window: u64) -> Option<Span> {
        let [count, _, _] = self.of(bytes);
        let mut acks = Acks { at: VecDeque::new(), pending: 0, window, room: window, has_stalled: false };
        let (mut train, mut half) = (Train::new(path, self.framing), Instant::ZERO);
        let simulated = count.min(WINDOWED_MAX);
        // If it has not closed until the first packets and then the first messages are acknowledged, it never
        // does.
        let enough = window
            .saturating_add(2 * self.message(self.message_bytes).iter().map(|part| part.0).sum::<u64>());
        for (number, (size, ends)) in (1..=simulated).zip(self.each(bytes)) {
            if number > enough && !acks.has_stalled {
                return None;
            }
            let ready = acks.open(train.hops[0].2);
            train.cross(ready, size);
            acks.sent(ends || acks.pending + 1 >= self.ack_every, train.arrived + back);
            half = if number == simulated / 2 { train.arrived } else { half };
        }
        let more = u128::from(count - simulated) * u128::from(train.arrived.since(half).0);
        let span =
            train.arrived.since(Instant::ZERO) + Span((more / u128::from(simulated - simulated / 2)) as u64);
        acks.has_stalled.then_some(span)
    }

    /// The frames of a chunk, and whether each is the last of a message.
    fn each(&self, bytes: u64) -> impl Iterator<Item = (u32, bool)> {
        self.messages(bytes).into_iter().flat_map(move |(messages, size)| {
            let parts = self.message(size);
            let count: u64 = parts.iter().map(|part| part.0).sum();
            (0..messages * count).map(move |place| match place % count {
                0 => (parts[0].1, count == 1),
                last if last == count - 1 => (parts[2].1, true),
                _ => (parts[1].1, false),
            })
        })
    }

    /// Delay of an acknowledgement on an idle path.
    pub(crate) fn acknowledged(&self, path: &[Hop]) -> Span {
        let mut train = Train::new(path, self.framing);
        train.cross(Instant::ZERO, self.framing.ack_frame_bytes());
        train.arrived.since(Instant::ZERO)
    }

    /// Bytes of the acknowledgements of a chunk on a link, for each 2^16 of its own.
    pub(crate) fn acks_of(&self, bytes: u64) -> u32 {
        let acks: u64 = self
            .messages(bytes)
            .into_iter()
            .map(|(messages, size)| {
                let frames: u64 = self.message(size).iter().map(|&(count, _)| count).sum();
                messages * frames.div_ceil(self.ack_every)
            })
            .sum();
        let ack_bytes = acks * u64::from(self.framing.ack_frame_bytes() + self.framing.link_overhead_bytes());
        let [_, _, wire_bytes] = self.of(bytes);
        ((ack_bytes << 16) / wire_bytes.max(1)) as u32
    }

    /// Bytes for which full frames occupy a link.
    pub(crate) fn full_frames(&self, count: u64) -> u64 {
        count * u64::from(self.frame(false, self.mtu_bytes) + self.framing.link_overhead_bytes())
    }

    /// Payload of a full frame [bytes].
    pub(crate) const fn mtu_bytes(&self) -> u64 {
        self.mtu_bytes as u64
    }
}
