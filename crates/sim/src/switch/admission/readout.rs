//! Frames in transmission and the buffer space that they still occupy: updates the accounts as their bytes
//! leave, and determines when a departing cell may end a pause.
//!
//! A port reads a frame out of the buffer at line rate. Each cell is free when its last byte has left the
//! port, or the whole frame is free with its last byte. The eight bytes of preamble leave first. The queue
//! length used for marking includes the unread bytes of the frame in transmission
//! (`EgressPort::unread_bytes`).
//!
//! The accounts of the shared buffer are updated lazily. On the fast path of a switch (ports served
//! independently, no threshold within reach) they exclude frames in transmission: all of them together reach
//! no threshold. On the exact path (all events in order of time) [`Readouts`] lists these frames, and the
//! accounts include each of them whole until the list is advanced: before an arrival that the accounts would
//! not admit as they are, and at the time at which a cell may end a pause ([`Readouts::next_due`]). So an XON
//! is due with the last byte of the cell that crosses the threshold.
//!
//! The part of the pipeline inside the buffer shifts the occupancy by a constant time. Frames are charged
//! behind the pipeline and released later by that time; the curve is the same as if they had been charged
//! earlier and seen later. Thresholds are crossed later, too, so the response to a crossing takes longer by
//! that time. Queue lengths do not include it: a frame in the pipeline is not in its queue.
//!
//! Leaves out the bandwidth of the memory. With cut-through a frame is charged whole with its first bytes,
//! and may be read before it has arrived.

use super::buffer::SharedBuffer;
use crate::packet::Priority;
use crate::switch::queue::{BufferedFrame, EgressPort};
use units::{ByteTime, Instant, Span, State};

/// Preamble and start delimiter. IEEE 802.3-2022, 4.2.3.2.
const PREAMBLE_BYTES: u32 = 8;
/// The list is first cleaned when it is longer than this.
const FRAMES_MIN: usize = 16;

/// When the buffer of a frame is free again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Release {
    /// The whole frame when its transmission starts.
    Start,
    /// The whole frame with its last byte.
    End,
    /// Each cell with its last byte; size of a cell [bytes].
    Cells(u32),
}

/// A frame on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub(crate) struct OnLink {
    pub(crate) start: Instant,
    pub(crate) byte_time: ByteTime,
    pub(crate) frame_bytes: u32,
}

impl OnLink {
    /// Whole frame bytes that have left before `now`.
    #[inline]
    const fn bytes_before(&self, now: Instant) -> u64 {
        let left = self.byte_time.bytes_within(now.since(self.start));
        left.saturating_sub(PREAMBLE_BYTES as u64)
    }

    /// When its last byte has left.
    pub(crate) fn end(&self) -> Instant {
        self.end_of(self.frame_bytes)
    }

    /// When the first `frame_bytes` have left.
    fn end_of(&self, frame_bytes: u32) -> Instant {
        self.byte_time.frame_end(self.start, frame_bytes, PREAMBLE_BYTES)
    }
}

impl Release {
    /// Bytes of a frame in the buffer at `now`, without those that are free before `now`.
    #[inline]
    pub(crate) fn unread_bytes(self, frame: &OnLink, now: Instant) -> u32 {
        let left = frame.bytes_before(now);
        if left >= frame.frame_bytes.into() {
            return 0;
        }
        match self {
            Self::Start if now > frame.start => 0,
            Self::Start | Self::End => frame.frame_bytes,
            Self::Cells(cell_bytes) => frame.frame_bytes - left as u32 / cell_bytes * cell_bytes,
        }
    }

    /// When `bytes` of a frame are free, one or more.
    fn free_at(self, frame: &OnLink, bytes: u64) -> Instant {
        match self {
            Self::Start => frame.start,
            Self::End => frame.end(),
            Self::Cells(cell_bytes) => {
                let cells = bytes.next_multiple_of(cell_bytes.into());
                frame.end_of(cells.min(frame.frame_bytes.into()) as u32)
            }
        }
    }

    /// Integral over time of the unread bytes of a frame, from `from`, its start or later, to `to` [byte ps].
    pub(crate) fn byte_ps(self, frame: &OnLink, from: Instant, to: Instant) -> u128 {
        let cell_bytes = match self {
            Self::Start => return 0,
            Self::End => frame.frame_bytes,
            Self::Cells(cell_bytes) => cell_bytes,
        };
        let ends = (1..=frame.frame_bytes.div_ceil(cell_bytes)).map(|cell| cell * cell_bytes);
        let cells = ends.map(|end| {
            let (last, begin) = (end.min(frame.frame_bytes), end - cell_bytes);
            u128::from(last - begin) * u128::from(frame.end_of(last).min(to).since(from).0)
        });
        cells.sum()
    }
}

/// Bytes that must leave an account before a pause ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Surplus {
    /// A lower bound.
    pub(crate) bytes: u64,
    /// Bytes of the same account in transmission.
    pub(crate) reading: u64,
}

impl Surplus {
    /// No departure ends a pause.
    pub(crate) const ENDLESS: Self = Self { bytes: u64::MAX, reading: 0 };

    /// Frames in transmission may end the pause.
    const fn is_near(self) -> bool {
        self.bytes <= self.reading
    }

    /// Bytes of a frame with `left` unread that must leave before the pause may end, even if all others have
    /// left; none if the frame is too short for that.
    fn of_frame(self, left: u64) -> Option<u64> {
        let bytes = self.bytes.saturating_sub(self.reading.saturating_sub(left)).max(1);
        (bytes <= left).then_some(bytes)
    }
}

/// When departures of a group may end pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PauseEnd {
    /// Of the group, and of its whole pool.
    pub(crate) surplus: [Surplus; 2],
    /// Recompute once this much of the shared part may be free [bytes].
    pub(crate) again_at_free: u64,
}

impl PauseEnd {
    /// The group requests no pause.
    pub(crate) const NONE: Self = Self { surplus: [Surplus::ENDLESS; 2], again_at_free: u64::MAX };
}

/// A frame in transmission.
#[derive(Clone, Debug, State)]
struct Readout {
    egress: u16,
    buffered: BufferedFrame,
    frame: OnLink,
    /// Whole cells that the frame occupied, and the part that the accounts still include [bytes].
    charge: u64,
    left: u64,
    /// When its last byte leaves.
    end: Instant,
    /// When one of its cells may end a pause.
    due: Instant,
}

impl Readout {
    /// A frame whose transmission starts: all of it is in the buffer.
    fn new(egress: u16, buffered: BufferedFrame, frame: OnLink, charge: u64) -> Self {
        Self { egress, buffered, frame, charge, left: charge, end: frame.end(), due: Instant::NEVER }
    }

    /// The part of the charge in the buffer at `now` [bytes].
    #[inline]
    fn left_at(&self, release: Release, now: Instant) -> u64 {
        if now > self.end {
            return 0;
        }
        let unread = release.unread_bytes(&self.frame, now);
        if unread == 0 { 0 } else { self.charge - u64::from(self.frame.frame_bytes - unread) }
    }
}

/// Frames in transmission that the accounts include, in the order of their starts.
#[derive(Debug, State)]
pub(crate) struct Readouts {
    #[state(skip)]
    release: Release,
    /// Part of the pipeline latency that is inside the buffer.
    #[state(skip)]
    inside: Span,
    frames: Vec<Readout>,
    /// A longer list is cleaned of frames that have left.
    #[state(skip)]
    frames_max: usize,
    /// When a cell may end a pause, and the free shared bytes at which this is recomputed.
    due: Instant,
    again_at_free: u64,
    /// The last window was on the fast path: the accounts exclude frames in transmission.
    is_suspended: bool,
}

impl Readouts {
    /// `None` if frames are released when their transmissions start.
    pub(crate) fn new(release: Release, inside: Span) -> Option<Self> {
        (release != Release::Start || inside > Span::ZERO).then(|| Self {
            release,
            inside,
            frames: Vec::new(),
            frames_max: FRAMES_MIN,
            due: Instant::NEVER,
            again_at_free: u64::MAX,
            is_suspended: false,
        })
    }

    /// When the next cell leaves that may end a pause; never if none can.
    pub(crate) const fn next_due(&self) -> Instant {
        self.due
    }

    /// Removes frames in transmission from the accounts, before a window on the fast path.
    #[inline]
    pub(crate) fn suspend(&mut self, buffer: &mut SharedBuffer) {
        if !self.is_suspended {
            self.suspend_all(buffer);
        }
    }

    #[cold]
    fn suspend_all(&mut self, buffer: &mut SharedBuffer) {
        for Readout { egress, buffered, left, .. } in self.frames.drain(..) {
            buffer.read_out(egress, buffered, left);
        }
        self.is_suspended = true;
        self.due = Instant::NEVER;
    }

    /// Charges the frames that `ports` transmit at `now`, before a window on the exact path.
    pub(crate) fn resume(&mut self, now: Instant, ports: &[EgressPort], buffer: &mut SharedBuffer) {
        if !std::mem::replace(&mut self.is_suspended, false) {
            return;
        }
        for (egress, port) in (0..).zip(ports) {
            let Some((buffered, frame)) = port.being_read(now) else { continue };
            let charge = buffer.charge(buffered.frame_bytes);
            let mut readout = Readout::new(egress, buffered, frame, charge);
            readout.left = readout.left_at(self.release, now);
            if readout.left > 0 {
                buffer.store(buffered.ingress, buffered.priority, readout.left);
                buffer.begin_readout(egress, buffered, readout.left);
                self.frames.push(readout);
            }
        }
    }

    /// Adds a frame that the accounts include and whose transmission starts at `frame.start`.
    #[inline(never)]
    pub(crate) fn begin(
        &mut self,
        egress: u16,
        buffered: BufferedFrame,
        frame: OnLink,
        buffer: &mut SharedBuffer,
    ) {
        let now = frame.start;
        let frame = OnLink { start: frame.start + self.inside, ..frame };
        let charge = buffer.charge(buffered.frame_bytes);
        self.frames.push(Readout::new(egress, buffered, frame, charge));
        buffer.begin_readout(egress, buffered, charge);
        if buffer.any_requesting() && self.may_end_by(buffered, buffer) {
            self.advance(now + Span(1), buffer);
            self.watch(buffer);
        } else if self.frames.len() > self.frames_max {
            self.advance(now + Span(1), buffer);
            self.frames_max = FRAMES_MIN.max(2 * self.frames.len());
        }
    }

    /// Whether a frame whose transmission starts may end a pause sooner.
    fn may_end_by(&mut self, buffered: BufferedFrame, buffer: &SharedBuffer) -> bool {
        let end = buffer.pause_end(buffered.ingress, buffered.priority);
        self.again_at_free = self.again_at_free.min(end.again_at_free);
        end.surplus.iter().any(|surplus| surplus.is_near()) || buffer.free_at_most() >= self.again_at_free
    }

    /// Removes from the accounts the cells that have left before `now`.
    pub(crate) fn advance(&mut self, now: Instant, buffer: &mut SharedBuffer) {
        let release = self.release;
        self.frames.retain_mut(|readout| {
            let left = readout.left_at(release, now);
            if left < readout.left {
                buffer.read_out(readout.egress, readout.buffered, readout.left - left);
                readout.left = left;
            }
            left > 0
        });
    }

    /// Recomputes when a cell may next end a pause. The accounts must be up to date.
    pub(crate) fn watch(&mut self, buffer: &SharedBuffer) {
        (self.due, self.again_at_free) = (Instant::NEVER, u64::MAX);
        let is_asking = buffer.any_requesting();
        for readout in &mut self.frames {
            readout.due = Instant::NEVER;
            if !is_asking {
                continue;
            }
            let end = buffer.pause_end(readout.buffered.ingress, readout.buffered.priority);
            for bytes in end.surplus.iter().filter_map(|surplus| surplus.of_frame(readout.left)) {
                let free = readout.charge - readout.left + bytes;
                readout.due = readout.due.min(self.release.free_at(&readout.frame, free));
            }
            self.due = self.due.min(readout.due);
            self.again_at_free = self.again_at_free.min(end.again_at_free);
        }
    }

    /// Removes cells that leave at `now` and may end pauses from the accounts; returns their groups in order.
    pub(crate) fn leave(&mut self, now: Instant, buffer: &mut SharedBuffer) -> Vec<(u16, Priority)> {
        let due = self.frames.iter().filter(|readout| readout.due <= now);
        let mut groups: Vec<_> =
            due.map(|readout| (readout.buffered.ingress, readout.buffered.priority)).collect();
        groups.sort_unstable();
        groups.dedup();
        self.advance(now + Span(1), buffer);
        buffer.end_pauses_of_pools(&groups);
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::super::buffer::{Admission, BufferPlan, LosslessPlan};
    use super::super::pools::{
        IngressPlan, LosslessProfile, Passage, PauseChange, PoolPlan, PoolsPlan, Profile,
    };
    use super::*;
    use crate::switch::exact::admit;
    use proptest::prelude::*;
    use spec::{PoolPauseSpec, PoolXoffSpec, RatioSpec, XoffSpec};
    use units::Rate;

    const CELLS: Release = Release::Cells(256);

    fn frame(start: u64, frame_bytes: u32) -> OnLink {
        OnLink { start: Instant(start), byte_time: Rate::from_gbps(400).byte_time(), frame_bytes }
    }

    #[test]
    fn a_cell_is_free_when_its_last_byte_has_left_behind_the_preamble() {
        let frame = frame(1_000, 600);
        let unread = |release: Release, at| release.unread_bytes(&frame, Instant(at));
        // 8 and 256 bytes at 20 ps are 5.28 ns. Cells that become free at a time are available to later
        // arrivals.
        assert_eq!([6_280, 6_281].map(|at| unread(CELLS, at)), [600, 344]);
        assert_eq!([11_400, 11_401].map(|at| unread(CELLS, at)), [344, 88]);
        assert_eq!([13_160, 13_161].map(|at| unread(CELLS, at)), [88, 0]);
        assert_eq!([13_160, 13_161].map(|at| unread(Release::End, at)), [600, 0]);
        assert_eq!([1_000, 1_001].map(|at| unread(Release::Start, at)), [600, 0]);
        let free = |release: Release, bytes| release.free_at(&frame, bytes).0;
        assert_eq!(
            [1, 256, 257, 512, 513, 600].map(|bytes| free(CELLS, bytes)),
            [6_280, 6_280, 11_400, 11_400, 13_160, 13_160]
        );
        assert_eq!((free(Release::End, 1), free(Release::Start, 600)), (13_160, 1_000));
    }

    #[test]
    fn the_unread_part_of_a_frame_is_integrated_over_its_cells() {
        let frame = frame(1_000, 600);
        let all = 256 * 5_280 + 256 * 10_400 + 88 * 12_160;
        assert_eq!(CELLS.byte_ps(&frame, Instant(1_000), Instant(90_000)), all);
        assert_eq!(Release::End.byte_ps(&frame, Instant(1_000), Instant(90_000)), 600 * 12_160);
        assert_eq!(Release::Start.byte_ps(&frame, Instant(1_000), Instant(90_000)), 0);
    }

    /// The closed form of `docs/closed-forms.md`.
    #[test]
    fn an_idle_egress_holds_half_a_frame_and_a_cell_times_its_load() {
        let (bytes, cell) = (4_158_u64, 256);
        let frame = frame(0, bytes as u32);
        // A frame, its preamble and gap take half of the time.
        let period = 2 * frame.byte_time.frame_span(frame.frame_bytes, 20).0;
        let rest = bytes % cell;
        let twice_in_cells = bytes * (bytes + cell + 16) - rest * (cell - rest);
        for (release, twice) in [(Release::End, 2 * bytes * (bytes + 8)), (CELLS, twice_in_cells)] {
            let buffered =
                (0..period).step_by(7).map(|at| u64::from(release.unread_bytes(&frame, Instant(at))));
            let measured = buffered.sum::<u64>() / period.div_ceil(7);
            let expected = twice / (4 * (bytes + 20));
            assert!(measured.abs_diff(expected) <= 2, "{release:?}: {measured} for {expected}");
        }
    }

    #[test]
    fn a_frame_must_free_the_bytes_that_the_others_cannot() {
        let surplus = Surplus { bytes: 700, reading: 1_000 };
        assert!(surplus.is_near() && !Surplus { bytes: 1_001, ..surplus }.is_near());
        // The others free 600 and 400 at most.
        assert_eq!((surplus.of_frame(400), surplus.of_frame(600)), (Some(100), Some(300)));
        assert_eq!(Surplus { bytes: 0, reading: 1_000 }.of_frame(400), Some(1), "the next cell decides");
        assert_eq!(Surplus { bytes: 1_001, reading: 1_000 }.of_frame(400), None);
        assert_eq!(Surplus::ENDLESS.of_frame(0), None);
    }

    const PORTS: usize = 3;
    const LOSSLESS: Priority = Priority(3);

    fn plan(xoff: XoffSpec) -> BufferPlan {
        BufferPlan {
            size_bytes: 12_000,
            cell_bytes: 1,
            lossy_alpha: Some(RatioSpec { numerator: 1, denominator: 2 }),
            lossless: Some(LosslessPlan {
                priorities: LOSSLESS.bit(),
                xoff,
                xon_offset_bytes: 700,
                reserved_bytes: 300,
                headroom_bytes: vec![1_500; PORTS],
            }),
            pools: None,
        }
    }

    fn pools(limit: XoffSpec, pauses_hosts: bool) -> BufferPlan {
        let pauses = if pauses_hosts { PoolPauseSpec::HostPorts } else { PoolPauseSpec::Holders };
        let any = Profile { reserved_bytes: 0, limit: None };
        let lossless = Profile { reserved_bytes: 300, limit: Some(limit) };
        let ingress = IngressPlan {
            pool: PoolPlan { priorities: u8::MAX, size_bytes: 8_000, profiles: [any; 8] },
            headroom_bytes: None,
            headroom_in_size: false,
            xoff: Some(PoolXoffSpec { bytes: Some(4_000), offset_bytes: 900, pauses }),
        };
        let plan = PoolsPlan {
            size_bytes: 12_500,
            ingress: vec![ingress],
            egress: Vec::new(),
            lossless: LosslessProfile {
                priorities: LOSSLESS.bit(),
                profile: lossless,
                xon_offset_bytes: 700,
                headroom_bytes: vec![1_500; PORTS],
            },
            to_host: vec![true, true, false],
        };
        BufferPlan { lossless: None, lossy_alpha: None, pools: Some(plan), ..self::plan(limit) }
    }

    /// An arrival (ingress port, lossless, bytes), or the departure of a queued frame.
    type Step = (u64, u16, bool, u32, bool);

    /// A buffer with frames that are read out; logs the admission of arrivals and the beginning and end of
    /// pauses.
    struct Driven {
        buffer: SharedBuffer,
        readouts: Readouts,
        /// Removes every cell when it leaves: its time and its group.
        cells: Option<Vec<(Instant, u16, Priority)>>,
        waiting: Vec<BufferedFrame>,
        log: Vec<String>,
    }

    impl Driven {
        fn new(plan: BufferPlan, release: Release, is_eager: bool) -> Self {
            Self {
                buffer: SharedBuffer::new(plan, PORTS),
                readouts: Readouts::new(release, Span(40)).expect("frames are read out"),
                cells: is_eager.then(Vec::new),
                waiting: Vec::new(),
                log: Vec::new(),
            }
        }

        fn next_due(&mut self) -> Instant {
            match &mut self.cells {
                None => self.readouts.next_due(),
                Some(cells) => {
                    cells.sort_unstable();
                    cells.first().map_or(Instant::NEVER, |cell| cell.0)
                }
            }
        }

        fn leave_before(&mut self, end: Instant) {
            loop {
                let now = self.next_due();
                if now >= end {
                    return;
                }
                let groups = match &mut self.cells {
                    None => self.readouts.leave(now, &mut self.buffer),
                    Some(cells) => {
                        let count = cells.partition_point(|cell| cell.0 <= now);
                        let mut groups: Vec<_> = cells.drain(..count).map(|cell| (cell.1, cell.2)).collect();
                        groups.dedup();
                        self.readouts.advance(now + Span(1), &mut self.buffer);
                        self.buffer.end_pauses_of_pools(&groups);
                        groups
                    }
                };
                let has_pools = self.buffer.pools().is_some();
                for (ingress, priority) in groups {
                    if !has_pools && self.buffer.end_pause(ingress, priority) {
                        self.log.push(format!("{now:?} ends {ingress} {priority:?}"));
                    }
                }
                self.note_changes(now);
                self.readouts.watch(&self.buffer);
            }
        }

        fn note_changes(&mut self, now: Instant) {
            let mut changes = Vec::new();
            while let Some(change) = self.buffer.pools_mut().and_then(|pools| pools.next_change()) {
                let PauseChange { ingress, priority, is_start } = change;
                changes.push((ingress, priority, is_start));
            }
            changes.sort_unstable();
            self.log.extend(changes.into_iter().map(|change| format!("{now:?} {change:?}")));
        }

        fn arrive(&mut self, buffered: BufferedFrame, now: Instant) {
            self.leave_before(now);
            let BufferedFrame { ingress, priority, frame_bytes } = buffered;
            let charge = self.buffer.charge(frame_bytes);
            let frame = Passage { ingress, egress: 0, priority, charge };
            let (admission, was_pausing) = if self.cells.is_some() {
                let was_pausing = self.buffer.is_pausing(ingress, priority);
                self.readouts.advance(now, &mut self.buffer);
                (self.buffer.admit_frame(frame, 0), Some(was_pausing))
            } else {
                admit(&mut self.buffer, &mut Some(&mut self.readouts), frame, 0, now)
            };
            self.log.push(format!("{now:?} {buffered:?} {admission:?}"));
            self.note_changes(now);
            if let Some(was_pausing) = was_pausing {
                let has_begun = !was_pausing && self.buffer.is_pausing(ingress, priority);
                if has_begun || self.buffer.pools().is_some() {
                    self.readouts.watch(&self.buffer);
                }
            }
            if admission == Admission::Stored {
                self.waiting.push(buffered);
            }
        }

        fn depart(&mut self, place: usize, now: Instant) {
            self.leave_before(now + Span(1));
            let buffered = self.waiting.remove(place % self.waiting.len());
            let byte_time = Rate::from_gbps(400).byte_time();
            let frame = OnLink { start: now, byte_time, frame_bytes: buffered.frame_bytes };
            self.readouts.begin(0, buffered, frame, &mut self.buffer);
            if let Some(cells) = &mut self.cells {
                let frame = OnLink { start: now + self.readouts.inside, ..frame };
                let ends =
                    (1..=buffered.frame_bytes).map(|byte| self.readouts.release.free_at(&frame, byte.into()));
                let mut ends: Vec<_> = ends.collect();
                ends.dedup();
                cells.extend(ends.into_iter().map(|at| (at, buffered.ingress, buffered.priority)));
            }
        }

        fn run(mut self, steps: &[Step]) -> Vec<String> {
            let mut now = Instant::ZERO;
            for &(after, ingress, is_lossless, bytes, departs) in steps {
                now += Span(after);
                if departs && !self.waiting.is_empty() {
                    self.depart(usize::from(ingress) + bytes as usize, now);
                } else {
                    let priority = if is_lossless { LOSSLESS } else { Priority(0) };
                    self.arrive(BufferedFrame { ingress, priority, frame_bytes: bytes }, now);
                }
            }
            self.leave_before(Instant::NEVER);
            self.log
        }
    }

    fn any_xoff() -> impl Strategy<Value = XoffSpec> {
        let dynamic = (1..4_u32, 2..5_u32).prop_map(|(numerator, denominator)| XoffSpec::Dynamic {
            alpha: RatioSpec { numerator, denominator },
        });
        prop_oneof![(400..3_000_u64).prop_map(|bytes| XoffSpec::Static { bytes }), dynamic]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn unread_bytes_fall_when_cells_are_free_and_their_integral_is_the_area(
            bps in 10_000_000..1_600_000_000_000_u64,
            frame_bytes in 64..9_216_u32,
            cell_bytes in 1..600_u32,
            start in 0..1_u64 << 50,
            cuts in prop::array::uniform2(0..4_000_000_u64),
        ) {
            let frame = OnLink { start: Instant(start), byte_time: Rate::from_bps(bps).byte_time(), frame_bytes };
            for release in [Release::Cells(cell_bytes), Release::End] {
                let mut free = 0;
                while free < frame_bytes {
                    let at = release.free_at(&frame, u64::from(free) + 1);
                    prop_assert_eq!(release.unread_bytes(&frame, at), frame_bytes - free);
                    let unread = release.unread_bytes(&frame, at + Span(1));
                    prop_assert!(unread < frame_bytes - free);
                    free = frame_bytes - unread;
                }
                let [from, to] = cuts.map(|cut| Instant(start + cut));
                let (from, to) = (from.min(to), from.max(to));
                let (begin, end) = (Instant(start), frame.end());
                let area = |from, to| release.byte_ps(&frame, from, to);
                prop_assert_eq!(area(begin, from) + area(from, to) + area(to, end.max(to)), area(begin, end));
            }
        }

        /// Lazy removal of cells gives the same result as removing each cell when it leaves.
        #[test]
        fn pauses_end_with_the_cell_that_crosses_the_threshold(
            xoff in any_xoff(),
            cell_bytes in prop::sample::select(vec![64_u32, 100, 256]),
            kind in 0..3_u8,
            has_pools: bool,
            pauses_hosts: bool,
            steps in prop::collection::vec(
                (0..12_000_u64, 0..PORTS as u16, prop::bool::weighted(0.8), 64..900_u32, any::<bool>()), 1..150),
        ) {
            let release = [Release::Cells(cell_bytes), Release::End, Release::Start][usize::from(kind)];
            let plan = if has_pools { pools(xoff, pauses_hosts) } else { plan(xoff) };
            let lazy = Driven::new(plan.clone(), release, false).run(&steps);
            let eager = Driven::new(plan, release, true).run(&steps);
            prop_assert_eq!(lazy, eager);
        }
    }
}
