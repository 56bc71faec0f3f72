//! Shared packet buffer of a switch: accounts of its occupancy; admits or drops frames.
//!
//! Models one memory in three parts: a reserve and a headroom for each lossless priority group (ingress port,
//! priority), and a shared part for everything else. A lossless group that would exceed its limit in the
//! shared part requests a pause; from then on its frames use its headroom, and a frame that does not fit
//! there is lost (the headroom was too small). A lossy frame is dropped when the whole shared part is full or
//! its egress queue has reached its dynamic threshold. Frames take whole cells. A frame leaves the buffer
//! when its transmission starts, or while it is read out ([`super::readout`]).
//!
//! Egress reserves, static limits of queues and several pools are modelled by [`Pools`], which replace all of
//! this if a buffer is divided. Leaves out multicast.

use super::pools::{Passage, Pools, PoolsPlan};
use super::readout::{PauseEnd, Surplus};
use crate::packet::Priority;
use crate::switch::queue::BufferedFrame;
use spec::{RatioSpec, XoffSpec};
use units::{Cycle, Span, State};

/// PFC parameters of the lossless priorities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LosslessPlan {
    /// Bit `p` is set for a lossless priority `p`.
    pub(crate) priorities: u8,
    pub(crate) xoff: XoffSpec,
    pub(crate) xon_offset_bytes: u64,
    pub(crate) reserved_bytes: u64,
    /// Headroom of each port, for each lossless priority.
    pub(crate) headroom_bytes: Vec<u64>,
}

/// Parameters of a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BufferPlan {
    pub(crate) size_bytes: u64,
    pub(crate) cell_bytes: u64,
    pub(crate) lossy_alpha: Option<RatioSpec>,
    pub(crate) lossless: Option<LosslessPlan>,
    /// Division into pools, if any.
    pub(crate) pools: Option<PoolsPlan>,
}

/// Default headroom of a port: the data that arrives after a pause request. The pause frame waits for a frame
/// in transmission and propagates, the peer applies it after `response`, and a frame that it has already
/// started still follows; meanwhile the cable contains data of one round trip (SONiC's formula: 2 x cable
/// delay x rate + 2 x MTU + pause response).
pub(crate) fn default_headroom_bytes(
    rate: units::Rate,
    delay: Span,
    response: Span,
    mtu_frame_bytes: u32,
) -> u64 {
    let times = Span(2 * delay.0 + response.0);
    let bytes_in = |span: Span| (span.0 as u128 * u128::from(rate.bps()) / 8_000_000_000_000) as u64;
    let frame = u64::from(mtu_frame_bytes + units::LINK_OVERHEAD_BYTES);
    bytes_in(times) + 2 * frame + u64::from(wire::size::PFC_FRAME_BYTES + units::LINK_OVERHEAD_BYTES)
}

/// Why a frame was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DropCause {
    /// A lossy frame beyond the threshold of its queue or the shared part.
    Tail,
    /// A lossless frame beyond its headroom.
    Headroom,
    /// WRED, by the colour of the frame.
    Wred,
    /// A frame for a queue in a storm.
    Watchdog,
}

/// Result of the admission of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// Stored. Its group may request a pause from now on: see [`SharedBuffer::is_pausing`].
    Stored,
    Dropped(DropCause),
}

/// Occupancy of one priority group: (ingress port, priority).
#[derive(Clone, Copy, Debug, Default, State)]
struct Group {
    used: u64,
    /// Part of `used` that is in the headroom.
    headroom_used: u64,
    /// Part of `used` that is being read out.
    reading: u32,
    is_pausing: bool,
}

/// Current thresholds [bytes].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Limit of a lossy egress queue.
    pub(crate) queue: u64,
    /// Limit of a lossless group that does not request a pause.
    pub(crate) group: u64,
}

/// Occupancy of a buffer.
#[derive(Clone, Debug, State)]
pub(crate) struct SharedBuffer {
    #[state(skip)]
    cell_bytes: u64,
    #[state(skip)]
    shared_size: u64,
    shared_used: u64,
    #[state(skip)]
    lossy_alpha: Option<RatioSpec>,
    #[state(skip)]
    lossless: Option<LosslessPlan>,
    #[state(skip)]
    ports: usize,
    /// By priority and ingress port. Empty without lossless priorities, since nothing depends on groups then.
    #[state(with = visit_occupied)]
    groups: Vec<Group>,
    /// Number of groups that request a pause.
    pausing: u32,
    /// Bytes being read out that the accounts include.
    reading: u64,
    /// If present, replace everything else except the size of a cell.
    pools: Option<Box<Pools>>,
}

impl SharedBuffer {
    /// A buffer for `ports` ingress ports. Its size includes reserves and headrooms.
    pub(crate) fn new(plan: BufferPlan, ports: usize) -> Self {
        let unshared = plan.lossless.as_ref().map_or(0, unshared_bytes);
        let groups = if plan.lossless.is_some() { ports * Priority::COUNT } else { 0 };
        Self {
            cell_bytes: plan.cell_bytes,
            shared_size: plan.size_bytes.saturating_sub(unshared),
            shared_used: 0,
            lossy_alpha: plan.lossy_alpha,
            lossless: plan.lossless,
            ports,
            groups: vec![Group::default(); groups],
            pausing: 0,
            reading: 0,
            pools: plan.pools.map(|pools| Box::new(Pools::new(pools))),
        }
    }

    /// The pools, if the buffer is divided.
    pub(crate) fn pools(&self) -> Option<&Pools> {
        self.pools.as_deref()
    }

    /// The pools, mutable.
    #[inline]
    pub(crate) fn pools_mut(&mut self) -> Option<&mut Pools> {
        self.pools.as_deref_mut()
    }

    /// Groups of one priority are contiguous: most fabrics use one or two priorities.
    #[inline]
    const fn group_index(&self, ingress: u16, priority: Priority) -> usize {
        priority.index() * self.ports + ingress as usize
    }

    /// Buffer space that a frame occupies, in whole cells.
    #[inline]
    pub(crate) const fn charge(&self, frame_bytes: u32) -> u64 {
        let bytes = frame_bytes as u64;
        if self.cell_bytes == 1 { bytes } else { bytes.div_ceil(self.cell_bytes) * self.cell_bytes }
    }

    /// Whether individual frames matter, and not only their sum of bytes: the buffer counts cells or groups.
    #[inline]
    pub(crate) const fn counts_frames(&self) -> bool {
        self.cell_bytes != 1 || self.lossless.is_some()
    }

    /// Replaces the bytes of a port, for buffers that do not count frames.
    #[inline]
    pub(crate) const fn change_shared(&mut self, before: u64, after: u64) {
        debug_assert!(!self.counts_frames(), "frames are stored and released one by one");
        self.shared_used = self.shared_used - before + after;
    }

    #[inline]
    fn is_lossless(&self, priority: Priority) -> bool {
        self.lossless.as_ref().is_some_and(|lossless| lossless.priorities & priority.bit() != 0)
    }

    #[inline]
    fn reserved(&self, priority: Priority) -> u64 {
        match &self.lossless {
            Some(lossless) if lossless.priorities & priority.bit() != 0 => lossless.reserved_bytes,
            _ => 0,
        }
    }

    /// Whether no threshold can be reached when `arriving` more bytes are stored, whatever leaves meanwhile.
    /// The total occupancy bounds that of any group or queue.
    #[inline]
    pub(crate) fn is_far_from_thresholds(&self, arriving: u64) -> bool {
        let used = self.shared_used.saturating_add(arriving);
        if used > self.shared_size {
            return false;
        }
        let free = self.shared_size - used;
        used <= self.smallest_threshold(free)
    }

    /// The smallest of all thresholds if `free` bytes of the shared part are free.
    #[inline]
    fn smallest_threshold(&self, free: u64) -> u64 {
        let Limits { queue, group } = self.limits(free);
        queue.min(group)
    }

    #[inline]
    fn limits(&self, free: u64) -> Limits {
        Limits {
            queue: self.lossy_alpha.map_or(u64::MAX, |alpha| alpha.of(free)),
            group: self.lossless.as_ref().map_or(u64::MAX, |lossless| match lossless.xoff {
                XoffSpec::Static { bytes } => bytes,
                XoffSpec::Dynamic { alpha } => alpha.of(free),
            }),
        }
    }

    /// Limits of queues and groups if `arriving` more bytes are stored, whatever leaves meanwhile; `None` if
    /// they may not fit.
    pub(crate) fn limits_with(&self, arriving: u64) -> Option<Limits> {
        let used = self.shared_used.saturating_add(arriving);
        (used <= self.shared_size).then(|| self.limits(self.shared_size - used))
    }

    /// Bytes of all groups of an ingress port, reserves included.
    pub(crate) fn bytes_from(&self, ingress: u16) -> u64 {
        self.groups.iter().skip(ingress.into()).step_by(self.ports).map(|group| group.used).sum()
    }

    /// Stores a frame without checking thresholds; the caller has ensured that none is within reach.
    #[inline]
    pub(crate) fn store(&mut self, ingress: u16, priority: Priority, charge: u64) {
        if self.lossless.is_none() {
            self.shared_used += charge;
            return;
        }
        let reserved = self.reserved(priority);
        let index = self.group_index(ingress, priority);
        let group = &mut self.groups[index];
        let before = (group.used - group.headroom_used).saturating_sub(reserved);
        group.used += charge;
        let after = (group.used - group.headroom_used).saturating_sub(reserved);
        self.shared_used += after - before;
    }

    /// Stores a frame if that reaches no threshold; returns whether it did. The accounts may include cells
    /// that have left, so it may reject too much, but never too little.
    #[inline]
    pub(crate) fn store_if_it_fits(&mut self, frame: Passage, queue_bytes: u64) -> bool {
        let Passage { ingress, egress: _, priority, charge } = frame;
        if let Some(pools) = &mut self.pools {
            return pools.store_if_it_fits(frame);
        }
        let free = self.shared_size.saturating_sub(self.shared_used);
        let fits = match self.lossless.as_ref().filter(|lossless| lossless.priorities & priority.bit() != 0) {
            None => charge <= free && self.is_within_queue(queue_bytes + charge, free),
            Some(lossless) => {
                let group = self.groups[self.group_index(ingress, priority)];
                self.is_within_group(lossless, group, charge, free)
            }
        };
        if fits {
            self.store(ingress, priority, charge);
        }
        fits
    }

    /// Whether a frame of a group can only use its headroom and no frame of the group is in transmission.
    /// Then the accounts need not be up to date.
    #[inline]
    pub(crate) fn uses_headroom(&self, ingress: u16, priority: Priority) -> bool {
        let group = self.groups.get(self.group_index(ingress, priority));
        self.pools.is_none() && group.is_some_and(|group| group.is_pausing && group.reading == 0)
    }

    /// Decides on an arriving frame and stores it if admitted. `queue_bytes` are in its egress queue.
    pub(crate) fn admit_frame(&mut self, frame: Passage, queue_bytes: u64) -> Admission {
        let Passage { ingress, egress: _, priority, charge } = frame;
        match &mut self.pools {
            Some(pools) => pools.admit(frame),
            None => self.admit(ingress, priority, charge, queue_bytes),
        }
    }

    /// Whether the length of its egress queue limits the frames of a priority.
    #[inline]
    pub(crate) fn limits_queue(&self, priority: Priority) -> bool {
        self.lossy_alpha.is_some() && !self.is_lossless(priority) && self.pools.is_none()
    }

    fn is_within_queue(&self, bytes: u64, free: u64) -> bool {
        self.lossy_alpha.is_none_or(|alpha| bytes <= alpha.of(free))
    }

    fn is_within_group(&self, lossless: &LosslessPlan, group: Group, charge: u64, free: u64) -> bool {
        let shared_bytes =
            (group.used + charge - group.headroom_used).saturating_sub(lossless.reserved_bytes);
        !group.is_pausing && shared_bytes <= self.xoff_threshold(lossless) && charge <= free
    }

    /// [`Self::admit_frame`] without pools.
    pub(crate) fn admit(
        &mut self,
        ingress: u16,
        priority: Priority,
        charge: u64,
        queue_bytes: u64,
    ) -> Admission {
        if self.is_lossless(priority) {
            return self.admit_lossless(ingress, priority, charge);
        }
        let free = self.shared_size.saturating_sub(self.shared_used);
        if charge > free || !self.is_within_queue(queue_bytes + charge, free) {
            return Admission::Dropped(DropCause::Tail);
        }
        self.store(ingress, priority, charge);
        Admission::Stored
    }

    fn admit_lossless(&mut self, ingress: u16, priority: Priority, charge: u64) -> Admission {
        let Some(lossless) = &self.lossless else { return Admission::Dropped(DropCause::Tail) };
        let index = self.group_index(ingress, priority);
        let group = self.groups[index];
        let free = self.shared_size.saturating_sub(self.shared_used);
        if self.is_within_group(lossless, group, charge, free) {
            self.store(ingress, priority, charge);
            return Admission::Stored;
        }
        let room = lossless.headroom_bytes[usize::from(ingress)];
        let index = self.group_index(ingress, priority);
        let group = &mut self.groups[index];
        if group.headroom_used + charge > room {
            // Even a lost frame requests the pause that should have been requested earlier. An empty group
            // requests none: no frame would ever leave it and end the pause.
            if group.used > 0 {
                self.pausing += u32::from(!std::mem::replace(&mut group.is_pausing, true));
            }
            return Admission::Dropped(DropCause::Headroom);
        }
        group.used += charge;
        group.headroom_used += charge;
        self.pausing += u32::from(!std::mem::replace(&mut group.is_pausing, true));
        Admission::Stored
    }

    fn xoff_threshold(&self, lossless: &LosslessPlan) -> u64 {
        match lossless.xoff {
            XoffSpec::Static { bytes } => bytes,
            XoffSpec::Dynamic { alpha } => alpha.of(self.shared_size.saturating_sub(self.shared_used)),
        }
    }

    /// [`Self::release`] while no group requests a pause, so that no headroom is in use. A separate function
    /// because the loop over ports needs the registers.
    #[inline(never)]
    pub(crate) fn release_unpaused(&mut self, ingress: u16, priority: Priority, frame_bytes: u32) {
        debug_assert!(!self.any_pausing(), "a pause may end with this frame");
        let charge = self.charge(frame_bytes);
        if self.lossless.is_none() {
            self.shared_used -= charge;
            return;
        }
        let reserved = self.reserved(priority);
        let index = self.group_index(ingress, priority);
        let used = &mut self.groups[index].used;
        let before = used.saturating_sub(reserved);
        *used -= charge;
        self.shared_used -= before - used.saturating_sub(reserved);
    }

    /// Removes a frame whose transmission starts. Returns true when its group no longer needs its pause.
    #[inline]
    pub(crate) fn release(&mut self, ingress: u16, priority: Priority, charge: u64) -> bool {
        self.take_out(ingress, priority, charge);
        self.lossless.is_some() && self.end_pause(ingress, priority)
    }

    /// Removes `charge` bytes of a group.
    #[inline]
    fn take_out(&mut self, ingress: u16, priority: Priority, charge: u64) {
        if self.lossless.is_none() {
            self.shared_used -= charge;
            return;
        }
        let reserved = self.reserved(priority);
        let index = self.group_index(ingress, priority);
        let group = &mut self.groups[index];
        debug_assert!(group.used >= charge, "more left the buffer than was in it");
        let before = (group.used - group.headroom_used).saturating_sub(reserved);
        let from_headroom = charge.min(group.headroom_used);
        group.headroom_used -= from_headroom;
        group.used -= charge;
        let after = (group.used - group.headroom_used).saturating_sub(reserved);
        self.shared_used -= before - after;
    }

    /// Ends the pause of a group from which cells have left, if it is no longer needed; returns whether it
    /// did.
    #[inline]
    pub(crate) fn end_pause(&mut self, ingress: u16, priority: Priority) -> bool {
        self.groups[self.group_index(ingress, priority)].is_pausing && self.ends_pause(ingress, priority)
    }

    #[cold]
    fn ends_pause(&mut self, ingress: u16, priority: Priority) -> bool {
        let Some(lossless) = &self.lossless else { return false };
        let index = self.group_index(ingress, priority);
        let shared_bytes = self.groups[index].used.saturating_sub(lossless.reserved_bytes);
        let low = self.xoff_threshold(lossless).saturating_sub(lossless.xon_offset_bytes);
        let ends =
            self.groups[index].headroom_used == 0 && (shared_bytes <= low || self.groups[index].used == 0);
        if ends {
            self.groups[index].is_pausing = false;
            self.pausing -= 1;
        }
        ends
    }

    /// Starts the transmission of a frame on port `egress`; the accounts include `charge` bytes of it.
    pub(crate) fn begin_readout(&mut self, egress: u16, frame: BufferedFrame, charge: u64) {
        if let Some(pools) = &mut self.pools {
            return pools.begin_readout(Passage::new(frame, egress, charge));
        }
        self.reading += charge;
        let group = self.group_index(frame.ingress, frame.priority);
        if let Some(group) = self.groups.get_mut(group) {
            group.reading += charge as u32;
        }
    }

    /// Removes part of a frame in transmission. This may end pauses of pools; the pauses of other groups are
    /// ended by [`Self::end_pause`].
    pub(crate) fn read_out(&mut self, egress: u16, frame: BufferedFrame, charge: u64) {
        if let Some(pools) = &mut self.pools {
            return pools.read_out(Passage::new(frame, egress, charge));
        }
        self.reading -= charge;
        let group = self.group_index(frame.ingress, frame.priority);
        if let Some(group) = self.groups.get_mut(group) {
            group.reading -= charge as u32;
        }
        self.take_out(frame.ingress, frame.priority, charge);
    }

    /// Ends pauses of groups of pools from which cells have left, once all accounts are up to date.
    pub(crate) fn end_pauses_of_pools(&mut self, groups: &[(u16, Priority)]) {
        if let Some(pools) = &mut self.pools {
            groups.iter().for_each(|&(ingress, priority)| pools.end_pause(ingress, priority));
        }
    }

    /// Whether any group of the buffer or of its pools requests a pause.
    #[inline]
    pub(crate) fn any_requesting(&self) -> bool {
        self.pools.as_ref().map_or(self.pausing > 0, |pools| pools.any_pausing())
    }

    /// Upper bound of the free shared part once all frames in transmission have left [bytes].
    pub(crate) fn free_at_most(&self) -> u64 {
        if self.pools.is_some() {
            u64::MAX
        } else {
            (self.shared_size - self.shared_used).saturating_add(self.reading)
        }
    }

    /// Bytes that must leave a group before its pause ends.
    pub(crate) fn pause_end(&self, ingress: u16, priority: Priority) -> PauseEnd {
        if let Some(pools) = &self.pools {
            return pools.pause_end(ingress, priority);
        }
        let Some(lossless) = self.lossless.as_ref().filter(|_| self.is_pausing(ingress, priority)) else {
            return PauseEnd::NONE;
        };
        let Group { used, headroom_used, reading, .. } = self.groups[self.group_index(ingress, priority)];
        if headroom_used > reading.into() {
            return PauseEnd::NONE;
        }
        let (reading, free) = (u64::from(reading), self.free_at_most());
        let low = |xoff: u64| lossless.reserved_bytes + xoff.saturating_sub(lossless.xon_offset_bytes);
        let surplus_at = |low: u64| Surplus { bytes: used.saturating_sub(low).max(headroom_used), reading };
        let (surplus, again_at_free) = match lossless.xoff {
            XoffSpec::Static { bytes } => (surplus_at(low(bytes)), u64::MAX),
            XoffSpec::Dynamic { alpha } => {
                let surplus = surplus_at(low(alpha.of(free)));
                let again = if surplus.bytes <= reading {
                    free + 1
                } else {
                    let least = (used - reading).saturating_sub(lossless.reserved_bytes);
                    alpha.inverse(least + lossless.xon_offset_bytes).max(free + 1)
                };
                (surplus, again)
            }
        };
        PauseEnd { surplus: [surplus, Surplus::ENDLESS], again_at_free }
    }

    /// Bytes stored outside reserves and headroom.
    pub(crate) fn shared_used(&self) -> u64 {
        self.pools().map_or(self.shared_used, Pools::stored)
    }

    /// Whether a group requests a pause now.
    pub(crate) fn is_pausing(&self, ingress: u16, priority: Priority) -> bool {
        match &self.pools {
            Some(pools) => pools.is_pausing(ingress, priority),
            None => self.any_pausing() && self.groups[self.group_index(ingress, priority)].is_pausing,
        }
    }

    /// Whether any group requests a pause.
    #[inline]
    pub(crate) const fn any_pausing(&self) -> bool {
        self.pausing > 0
    }
}

/// Buffer space that is not shared: reserves and headrooms [bytes].
pub(crate) fn unshared_bytes(lossless: &LosslessPlan) -> u64 {
    let priorities = u64::from(lossless.priorities.count_ones());
    lossless.headroom_bytes.iter().map(|headroom| (headroom + lossless.reserved_bytes) * priorities).sum()
}

/// Visits the groups that store frames or pause: most do neither.
fn visit_occupied(groups: &mut [Group], cycle: &mut Cycle) {
    for (index, group) in groups.iter_mut().enumerate() {
        if group.used > 0 || group.headroom_used > 0 || group.is_pausing {
            cycle.same(index as u64);
            group.visit(cycle);
        }
    }
    // No group has this index: the end of the list.
    cycle.same(groups.len() as u64);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LOSSLESS: Priority = Priority(3);
    const LOSSY: Priority = Priority(0);

    fn lossless(xoff: XoffSpec) -> BufferPlan {
        BufferPlan {
            size_bytes: 1_000,
            cell_bytes: 1,
            lossy_alpha: Some(RatioSpec { numerator: 1, denominator: 1 }),
            lossless: Some(LosslessPlan {
                priorities: LOSSLESS.bit(),
                xoff,
                xon_offset_bytes: 50,
                reserved_bytes: 10,
                headroom_bytes: vec![100, 100],
            }),
            pools: None,
        }
    }

    #[test]
    fn a_group_pauses_at_its_threshold_uses_headroom_and_resumes_below_the_offset() {
        let mut buffer = SharedBuffer::new(lossless(XoffSpec::Static { bytes: 200 }), 2);
        assert_eq!(buffer.shared_size, 780);
        assert_eq!(buffer.admit(0, LOSSLESS, 210, 0), Admission::Stored);
        assert!(!buffer.any_pausing());
        assert_eq!(buffer.admit(0, LOSSLESS, 60, 0), Admission::Stored);
        assert!(buffer.is_pausing(0, LOSSLESS));
        assert_eq!(buffer.admit(0, LOSSLESS, 40, 0), Admission::Stored);
        assert_eq!(buffer.admit(0, LOSSLESS, 1, 0), Admission::Dropped(DropCause::Headroom));
        assert_eq!(buffer.admit(1, LOSSLESS, 100, 0), Admission::Stored, "the other port is not concerned");
        assert!(!buffer.release(0, LOSSLESS, 100), "the headroom is empty, the shared part is not");
        assert!(!buffer.release(0, LOSSLESS, 49));
        assert!(buffer.release(0, LOSSLESS, 1), "150 of the shared part are left");
        assert!(!buffer.any_pausing());
    }

    #[test]
    fn a_dynamic_threshold_shrinks_as_the_buffer_fills() {
        let half = RatioSpec { numerator: 1, denominator: 2 };
        let mut buffer = SharedBuffer::new(lossless(XoffSpec::Dynamic { alpha: half }), 2);
        assert_eq!(buffer.admit(0, LOSSLESS, 300, 0), Admission::Stored);
        // 490 are free now: half of that is less than this port would hold.
        assert_eq!(buffer.admit(1, LOSSLESS, 240, 0), Admission::Stored);
        assert!(!buffer.any_pausing());
        assert_eq!(buffer.admit(1, LOSSLESS, 40, 0), Admission::Stored);
        assert!(buffer.is_pausing(1, LOSSLESS));
    }

    #[test]
    fn limits_are_those_after_everything_has_arrived() {
        let half = RatioSpec { numerator: 1, denominator: 2 };
        let mut buffer = SharedBuffer::new(lossless(XoffSpec::Dynamic { alpha: half }), 2);
        assert_eq!(buffer.limits_with(80), Some(Limits { queue: 700, group: 350 }));
        assert_eq!(buffer.admit(1, LOSSLESS, 210, 0), Admission::Stored);
        assert_eq!(buffer.admit(1, LOSSY, 80, 0), Admission::Stored);
        assert_eq!((buffer.bytes_from(0), buffer.bytes_from(1)), (0, 290));
        assert_eq!(buffer.limits_with(100), Some(Limits { queue: 400, group: 200 }));
        assert_eq!(buffer.limits_with(501), None);
    }

    #[test]
    fn lossy_queues_are_limited_to_their_share_of_the_free_space() {
        let mut buffer = SharedBuffer::new(lossless(XoffSpec::Static { bytes: 200 }), 2);
        assert_eq!(buffer.admit(0, LOSSY, 390, 0), Admission::Stored);
        assert_eq!(buffer.admit(0, LOSSY, 1, 390), Admission::Dropped(DropCause::Tail));
        assert_eq!(buffer.admit(0, LOSSY, 100, 0), Admission::Stored, "another queue");
    }

    #[test]
    fn a_lossy_queue_may_hold_its_share_to_the_last_byte() {
        let mut buffer = SharedBuffer::new(lossless(XoffSpec::Static { bytes: 200 }), 2);
        assert_eq!(buffer.admit(0, LOSSY, 380, 0), Admission::Stored);
        // 400 are free: the limit of the queue with the frame.
        assert_eq!(buffer.admit(0, LOSSY, 100, 301), Admission::Dropped(DropCause::Tail));
        assert_eq!(buffer.admit(0, LOSSY, 100, 300), Admission::Stored);
        let mut without_share = SharedBuffer::new(
            BufferPlan { lossy_alpha: None, ..lossless(XoffSpec::Static { bytes: 200 }) },
            2,
        );
        assert_eq!(without_share.admit(0, LOSSY, 779, 0), Admission::Stored);
        assert_eq!(without_share.admit(0, LOSSY, 2, 779), Admission::Dropped(DropCause::Tail));
        assert_eq!(without_share.admit(0, LOSSY, 1, 779), Admission::Stored, "the last byte");
    }

    #[test]
    fn no_threshold_is_near_until_possible_arrivals_reach_one() {
        let mut buffer = SharedBuffer::new(lossless(XoffSpec::Static { bytes: 200 }), 2);
        assert!(buffer.is_far_from_thresholds(200) && !buffer.is_far_from_thresholds(201), "that of a group");
        assert_eq!(buffer.admit(0, LOSSY, 50, 0), Admission::Stored);
        assert!(buffer.is_far_from_thresholds(150) && !buffer.is_far_from_thresholds(151));
        let lossy = BufferPlan { lossless: None, ..lossless(XoffSpec::Static { bytes: 200 }) };
        // The queue limit equals the free part of 1,000 bytes.
        let buffer = SharedBuffer::new(lossy.clone(), 2);
        assert!(buffer.is_far_from_thresholds(500) && !buffer.is_far_from_thresholds(501), "that of a queue");
        let mut buffer = SharedBuffer::new(BufferPlan { lossy_alpha: None, ..lossy }, 2);
        assert!(buffer.is_far_from_thresholds(1_000) && !buffer.is_far_from_thresholds(1_001), "its size");
        assert_eq!(buffer.limits_with(1_000), Some(Limits { queue: u64::MAX, group: u64::MAX }));
        assert_eq!(buffer.limits_with(1_001), None);
        buffer.change_shared(0, 400);
        buffer.change_shared(300, 100);
        assert!(buffer.is_far_from_thresholds(800) && !buffer.is_far_from_thresholds(801), "200 are stored");
    }

    #[test]
    fn frames_count_where_they_are_kept_by_group_or_as_cells() {
        let counts = |cell_bytes, lossless| {
            let plan = BufferPlan { cell_bytes, lossless, ..self::lossless(XoffSpec::Static { bytes: 1 }) };
            SharedBuffer::new(plan, 1).counts_frames()
        };
        let plan = lossless(XoffSpec::Static { bytes: 1 }).lossless;
        assert_eq!(
            [counts(1, None), counts(256, None), counts(1, plan.clone()), counts(256, plan)],
            [false, true, true, true]
        );
    }

    #[test]
    fn frames_are_released_as_usual_while_nothing_is_paused() {
        for plan in [
            lossless(XoffSpec::Static { bytes: 700 }),
            BufferPlan { lossless: None, ..lossless(XoffSpec::Static { bytes: 700 }) },
        ] {
            let mut buffers = [SharedBuffer::new(plan.clone(), 2), SharedBuffer::new(plan, 2)];
            for buffer in &mut buffers {
                assert_eq!(buffer.admit(1, LOSSLESS, 100, 0), Admission::Stored);
                assert_eq!(buffer.admit(0, LOSSY, 30, 0), Admission::Stored);
            }
            for (priority, port, bytes) in
                [(LOSSLESS, 1, 60), (LOSSLESS, 1, 35), (LOSSY, 0, 30), (LOSSLESS, 1, 5)]
            {
                buffers[0].release_unpaused(port, priority, bytes);
                assert!(!buffers[1].release(port, priority, bytes.into()));
                assert_eq!(buffers[0].shared_used, buffers[1].shared_used);
                assert_eq!(buffers[0].bytes_from(port), buffers[1].bytes_from(port));
            }
            assert_eq!(buffers[0].shared_used, 0);
        }
    }

    #[test]
    fn a_lossless_frame_that_the_shared_part_cannot_take_uses_the_headroom() {
        let stored = |charge| {
            let mut buffer = SharedBuffer::new(lossless(XoffSpec::Static { bytes: 10_000 }), 2);
            assert_eq!(buffer.admit(1, LOSSY, 350, 0), Admission::Stored);
            assert_eq!(buffer.admit(1, LOSSY, 350, 350), Admission::Dropped(DropCause::Tail));
            assert_eq!(buffer.admit(1, LOSSY, 350, 80), Admission::Stored);
            let admission = buffer.admit(0, LOSSLESS, charge, 0);
            (admission, buffer.is_pausing(0, LOSSLESS))
        };
        // 80 are free; the headroom has room for 100.
        assert_eq!(stored(80), (Admission::Stored, false));
        assert_eq!(stored(81), (Admission::Stored, true));
        assert_eq!(stored(100), (Admission::Stored, true));
        assert_eq!(stored(101), (Admission::Dropped(DropCause::Headroom), false));
    }

    #[test]
    fn a_buffer_repeats_when_it_holds_the_same_in_each_group() {
        let mut buffer = SharedBuffer::new(lossless(XoffSpec::Static { bytes: 200 }), 2);
        buffer.admit(0, LOSSLESS, 100, 0);
        let mut repeats = |release: (u16, u64), admit: (u16, u64)| {
            let mut cycle = Cycle::record(units::Instant(0));
            buffer.visit(&mut cycle);
            buffer.release(release.0, LOSSLESS, release.1);
            buffer.admit(admit.0, LOSSLESS, admit.1, 0);
            cycle.compare(units::Instant(10));
            buffer.visit(&mut cycle);
            cycle.room() > 0
        };
        assert!(repeats((0, 50), (0, 50)));
        assert!(!repeats((0, 50), (0, 40)), "less is stored");
        assert!(!repeats((0, 50), (1, 50)), "the other group has it");
    }

    #[test]
    fn frames_take_whole_cells() {
        let buffer =
            SharedBuffer::new(BufferPlan { cell_bytes: 256, ..lossless(XoffSpec::Static { bytes: 1 }) }, 2);
        assert_eq!(buffer.charge(1), 256);
        assert_eq!(buffer.charge(4_158), 17 * 256);
    }

    #[test]
    fn the_default_headroom_stores_all_frames_after_a_pause() {
        // 30 m at 400 Gb/s: a round trip of 300 ns and 515 ns of response are 40,750 bytes; two frames of
        // 4,174 with gaps and a pause frame.
        let rate = units::Rate::from_gbps(400);
        let bytes = default_headroom_bytes(rate, Span::from_ns(150), Span::from_ns(515), 4_174);
        assert_eq!(bytes, 40_750 + 2 * 4_194 + 84);
    }

    /// Invariants that hold after every step.
    fn assert_sound(buffer: &SharedBuffer, plan: &BufferPlan, stored: u64) {
        let lossless = plan.lossless.as_ref().expect("the plan has a lossless priority");
        let (mut shared, mut reserved, mut headroom, mut pausing) = (0, 0, 0, 0);
        for (index, group) in buffer.groups.iter().enumerate() {
            let priority = Priority((index / buffer.ports) as u8);
            let own = if priority == LOSSLESS { lossless.reserved_bytes } else { 0 };
            let outside_headroom = group.used - group.headroom_used;
            shared += outside_headroom.saturating_sub(own);
            reserved += outside_headroom.min(own);
            headroom += group.headroom_used;
            pausing += u32::from(group.is_pausing);
            assert!(group.headroom_used <= lossless.headroom_bytes[index % buffer.ports]);
        }
        assert_eq!((shared, pausing), (buffer.shared_used, buffer.pausing));
        assert_eq!(shared + reserved + headroom, stored, "the stored bytes are the sum of the groups");
        assert!(shared <= buffer.shared_size && stored <= plan.size_bytes);
    }

    #[test]
    fn a_lost_frame_requests_the_pause_that_was_due_earlier() {
        let mut buffer = SharedBuffer::new(lossless(XoffSpec::Static { bytes: 40 }), 2);
        assert_eq!(buffer.admit(0, LOSSLESS, 30, 0), Admission::Stored);
        assert_eq!(buffer.admit(0, LOSSLESS, 101, 0), Admission::Dropped(DropCause::Headroom));
        assert!(buffer.is_pausing(0, LOSSLESS) && buffer.any_pausing());
        assert!(buffer.release(0, LOSSLESS, 30), "it holds nothing any more");
    }

    #[test]
    fn an_empty_group_asks_for_no_pause_when_a_frame_finds_no_room() {
        let mut plan = lossless(XoffSpec::Static { bytes: 40 });
        plan.lossless.as_mut().unwrap().reserved_bytes = 0;
        let mut buffer = SharedBuffer::new(plan, 2);
        assert_eq!(buffer.admit(0, LOSSLESS, 101, 0), Admission::Dropped(DropCause::Headroom));
        assert!(!buffer.any_pausing(), "nothing that leaves would ever end it");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn occupancy_is_the_sum_of_stored_frames_and_never_more_than_the_buffer(
            xoff in prop_oneof![(1..2_000_u64).prop_map(|bytes| XoffSpec::Static { bytes }), Just(XoffSpec::Dynamic { alpha: RatioSpec { numerator: 1, denominator: 4 } })],
            reserved_bytes in 0..300_u64,
            steps in prop::collection::vec((0..2_u16, any::<bool>(), 1..400_u64, any::<u16>()), 1..400),
        ) {
            let mut plan = lossless(xoff);
            plan.size_bytes = 4_000;
            plan.lossless.as_mut().unwrap().reserved_bytes = reserved_bytes;
            let mut buffer = SharedBuffer::new(plan.clone(), 2);
            let mut frames: Vec<(u16, Priority, u64)> = Vec::new();
            for (ingress, is_lossless, charge, leaves) in steps {
                let priority = if is_lossless { LOSSLESS } else { LOSSY };
                if leaves % 3 == 0 && !frames.is_empty() {
                    let (ingress, priority, charge) = frames.swap_remove(usize::from(leaves) % frames.len());
                    buffer.release(ingress, priority, charge);
                } else if buffer.admit(ingress, priority, charge, 0) == Admission::Stored {
                    frames.push((ingress, priority, charge));
                }
                assert_sound(&buffer, &plan, frames.iter().map(|frame| frame.2).sum());
            }
            for (ingress, priority, charge) in frames.drain(..) {
                buffer.release(ingress, priority, charge);
            }
            assert_sound(&buffer, &plan, 0);
            prop_assert!(!buffer.any_pausing(), "an empty group needs no pause");
        }
    }
}
