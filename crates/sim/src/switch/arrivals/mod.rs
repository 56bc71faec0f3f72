//! Arrivals at a switch in a time window (step of the simulation): stores each frame once, with sort keys
//! (time and index) by egress port; returns the arrivals of one port, or of all ports merged, in order of
//! time.

pub(crate) mod cut_through;
pub(crate) mod keys;
pub(crate) mod order;

use super::port_set::PortSet;
use super::queue::Stored;
use crate::packet::Packet;
use engine::{Inbox, Message};
use keys::Lanes;
pub(super) use keys::NOWHERE;
use order::{ArrivalKey, ArrivalKeys, Origin, sort};
use units::Instant;

/// The arrivals of a window: each frame once, and for each egress port the sort keys ([`ArrivalKey`]) of its
/// frames.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    origin: Origin,
    /// The first `count` are those of the window. It never shrinks, so that every key has a valid index.
    frames: Vec<Stored>,
    count: usize,
    lanes: Lanes,
    /// Keys of frames for the switch itself: pauses and credits.
    control: Vec<ArrivalKey>,
    /// Egress port of each frame, and all keys, after a merge.
    egress: Vec<u16>,
    merged: Vec<ArrivalKey>,
}

impl Arrivals {
    /// Starts an empty window at `start` for a switch with `ports` ports.
    #[inline]
    pub(super) fn begin(&mut self, start: Instant, ports: usize) {
        self.origin = Origin::new(start);
        self.count = 0;
        self.control.clear();
        self.lanes.begin(ports);
    }

    /// Receives all frames on port `ingress` before `end`. Ports are received in ascending order.
    #[inline]
    pub(super) fn take(&mut self, inbox: &mut Inbox<Packet>, ingress: u16, end: Instant) {
        if self.frames.len() < self.count + inbox.len() {
            self.grow(inbox);
        }
        let room = &mut self.frames[self.count..self.count + inbox.len()];
        self.count += inbox.take_before_into(end, room, |slot, packet| {
            *slot = Stored { packet: *packet, ingress };
        });
    }

    /// Reserves slots for all frames in `inbox`.
    #[cold]
    fn grow(&mut self, inbox: &Inbox<Packet>) {
        let filler = inbox.iter().next().map(|packet| Stored { packet: *packet, ingress: 0 });
        let count = (self.count + inbox.len()).max(2 * self.frames.len());
        self.frames.extend(filler.into_iter().cycle().take(count - self.frames.len()));
    }

    /// Selects the egress port of every received frame except those for the switch itself. `egress_of` is
    /// called with the frame, all frames and its index; it returns the egress port or [`NOWHERE`].
    #[inline]
    pub(super) fn select_egress(&mut self, mut egress_of: impl FnMut(&Stored, &[Stored], usize) -> usize) {
        let Self { origin, frames, count, lanes, control, .. } = self;
        let (frames, mut lanes) = (&frames[..*count], lanes.open());
        let mut keys = ArrivalKeys::new(*origin);
        for (index, stored) in frames.iter().enumerate() {
            let key = keys.next(stored.packet.at());
            if stored.packet.is_link_control() {
                control.push(key);
            } else {
                lanes.push(egress_of(stored, frames, index), key);
            }
        }
    }

    /// Adds all ports with arrivals to `ports`.
    #[inline]
    pub(super) fn mark_ports(&self, ports: &mut PortSet) {
        self.lanes.mark_ports(ports);
    }

    /// Number of received frames, whatever their egress port.
    #[inline]
    pub(super) const fn count(&self) -> usize {
        self.count
    }

    /// Whether frames for the switch itself arrive.
    #[inline]
    pub(super) const fn has_control(&self) -> bool {
        !self.control.is_empty()
    }

    /// Adds a frame for port `egress`, in any order of ingress ports.
    pub(super) fn push(&mut self, stored: Stored, egress: u16) {
        let key = ArrivalKey::new(stored.packet.at(), self.origin, self.count);
        self.lanes.open().push(egress.into(), key);
        match self.frames.get_mut(self.count) {
            Some(slot) => *slot = stored,
            None => self.frames.push(stored),
        }
        self.count += 1;
    }

    /// Number of frames that arrive for port `egress`.
    #[inline]
    pub(super) fn count_for(&self, egress: usize) -> usize {
        self.lanes.of(egress).len()
    }

    /// Whether frames arrive for port `egress`.
    pub(super) fn has(&self, egress: usize) -> bool {
        self.count_for(egress) > 0
    }

    /// Frames for port `egress`, in order of ingress ports unless they were sorted.
    pub(super) fn iter(&self, egress: usize) -> impl Iterator<Item = &Stored> {
        self.lanes.of(egress).iter().map(|key| &self.frames[key.index()])
    }

    /// Removes the frames for port `egress` that `keep`, which may change them, rejects.
    pub(super) fn retain(&mut self, egress: usize, mut keep: impl FnMut(&mut Stored) -> bool) {
        let Self { origin, frames, lanes, .. } = self;
        lanes.retain(egress, |key| {
            let stored = &mut frames[key.index()];
            let stays = keep(stored);
            if stays {
                *key = ArrivalKey::new(stored.packet.at(), *origin, key.index());
            }
            stays
        });
    }

    /// Sorts the frames for port `egress` if they were added in any order.
    pub(super) fn sort_mixed(&mut self, egress: usize) {
        let Self { origin, frames, lanes, .. } = self;
        lanes.of_mut(egress).sort_by_key(|key| (key.at(*origin), frames[key.index()].ingress));
    }

    /// Sorts the frames for port `egress` if ports were received in order.
    #[inline]
    pub(super) fn sort(&mut self, egress: usize) {
        self.lanes.sort(egress);
    }

    /// Frames for port `egress`, sorted.
    #[inline]
    pub(super) fn port_arrivals(&mut self, egress: usize) -> PortArrivals<'_> {
        let Self { origin, frames, lanes, .. } = self;
        PortArrivals { origin: *origin, before: origin.before(), keys: lanes.of(egress), frames }
    }

    /// Removes the frames for port `egress`, which has been served.
    #[inline]
    pub(super) fn clear(&mut self, egress: usize) {
        self.lanes.clear(egress);
    }

    /// Removes all arrivals, those for the switch itself included, and returns them in order of (time,
    /// ingress port). `ports` must include every port with arrivals. `is_mixed`: frames were added in any
    /// order, which takes a slower sort.
    pub(super) fn merge(&mut self, ports: impl Iterator<Item = u16>, is_mixed: bool) -> Merged<'_> {
        let Self { origin, frames, count, lanes, control, egress, merged } = self;
        merged.clone_from(control);
        egress.resize(*count, 0);
        for port in ports {
            let keys = lanes.of(port.into());
            keys.iter().for_each(|key| egress[key.index()] = port);
            merged.extend_from_slice(keys);
            lanes.clear(port.into());
        }
        if is_mixed {
            merged.sort_by_key(|key| (key.at(*origin), frames[key.index()].ingress));
        } else {
            sort(merged);
        }
        Merged { origin: *origin, keys: merged, frames, egress }
    }
}

/// All arrivals of a switch, in order of (time, ingress port).
pub(super) struct Merged<'a> {
    origin: Origin,
    keys: &'a [ArrivalKey],
    frames: &'a mut [Stored],
    egress: &'a [u16],
}

impl Merged<'_> {
    /// Time of the next arrival; never after the last.
    #[inline]
    pub(super) fn next_at(&self) -> Instant {
        self.keys.first().map_or(Instant::NEVER, |key| key.at(self.origin))
    }

    /// Removes the next frame and returns it with its egress port, which is meaningless for frames for the
    /// switch itself.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<(&mut Stored, u16)> {
        let (key, others) = self.keys.split_first()?;
        self.keys = others;
        Some((&mut self.frames[key.index()], self.egress[key.index()]))
    }
}

/// Arrivals for one egress port, in order of (time, ingress port).
pub(crate) struct PortArrivals<'a> {
    origin: Origin,
    /// The origin for [`ArrivalKey::after`].
    before: Origin,
    keys: &'a [ArrivalKey],
    frames: &'a mut [Stored],
}

impl PortArrivals<'_> {
    #[inline]
    pub(super) const fn len(&self) -> usize {
        self.keys.len()
    }

    /// Arrival time of the frame at `index`; never beyond the last.
    #[inline]
    pub(super) fn at(&self, index: usize) -> Instant {
        self.keys.get(index).map_or(Instant::NEVER, |key| key.at(self.origin))
    }

    /// The sort key that follows those of all arrivals up to `now`, a time in the window.
    #[inline]
    pub(super) const fn after(&self, now: Instant) -> ArrivalKey {
        ArrivalKey::after(now, self.before)
    }

    /// Whether there is a frame at `index` whose key is less than `key`.
    #[inline]
    pub(super) fn is_before(&self, index: usize, key: ArrivalKey) -> bool {
        self.keys.get(index).is_some_and(|own| *own < key)
    }

    #[inline]
    pub(super) fn frame(&self, index: usize) -> &Stored {
        let frame = self.keys[index].index();
        debug_assert!(frame < self.frames.len(), "a key has the index of a frame");
        // SAFETY: keys are made with indices into the frames, see `Arrivals::frames`.
        unsafe { self.frames.get_unchecked(frame) }
    }

    #[inline]
    pub(super) fn frame_mut(&mut self, index: usize) -> &mut Stored {
        &mut self.frames[self.keys[index].index()]
    }

    /// Reborrows the same arrivals.
    #[inline]
    pub(super) const fn again(&mut self) -> PortArrivals<'_> {
        PortArrivals { origin: self.origin, before: self.before, keys: self.keys, frames: self.frames }
    }

    /// Splits off the first `count` arrivals.
    #[inline]
    pub(super) fn take_first(&mut self, count: usize) -> PortArrivals<'_> {
        let (keys, others) = self.keys.split_at(count);
        self.keys = others;
        PortArrivals { origin: self.origin, before: self.before, keys, frames: self.frames }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Priority;
    use crate::switch::queue::testing::frame;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn an_arrival_batch_is_in_order_of_time_and_ingress_port(
            ports in prop::collection::vec(prop::collection::vec(0..2_000_u64, 0..20), 1..8),
        ) {
            let start = Instant(1 << 40);
            let mut arrivals = Arrivals::default();
            arrivals.begin(start, 1);
            let mut expected = Vec::new();
            for (ingress, times) in (0..).zip(ports) {
                let mut times: Vec<_> = times.into_iter().map(|time| Instant(start.0 + time)).collect();
                times.sort();
                expected.extend(times.iter().map(|&at| (at, ingress)));
                times.into_iter().for_each(|at| arrivals.push(frame(Priority(0), ingress, at), 0));
            }
            expected.sort();
            arrivals.sort(0);
            let port_arrivals = arrivals.port_arrivals(0);
            let found: Vec<_> =
                (0..port_arrivals.len()).map(|index| (port_arrivals.at(index), port_arrivals.frame(index).ingress)).collect();
            prop_assert_eq!(found, expected);
            prop_assert_eq!(port_arrivals.at(port_arrivals.len()), Instant::NEVER);
        }
    }
}
