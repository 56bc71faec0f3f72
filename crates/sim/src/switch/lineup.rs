//! What arrives at a switch in a window, by egress port and time.

use super::queue::Stored;
use super::turns::{Turn, sort};
use crate::kernel::{Inbox, Message};
use crate::packet::Packet;
use units::Instant;

/// The arrivals of a window: each frame once, and for each egress port the turns of those that are bound for it.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    start: Instant,
    frames: Vec<Stored>,
    turns: Vec<Vec<Turn>>,
    /// Those of frames for the switch itself: pauses and credits.
    control: Vec<Turn>,
    /// Where the frame at each place goes, and all turns, once they are merged.
    egress: Vec<u16>,
    merged: Vec<Turn>,
    /// Scratch space.
    spare: Vec<Turn>,
}

impl Arrivals {
    /// Nothing has arrived yet at a switch of so many ports in the window that begins at `start`.
    #[inline]
    pub(super) fn begin(&mut self, start: Instant, ports: usize) {
        self.start = start;
        self.frames.clear();
        self.control.clear();
        if self.turns.len() < ports {
            self.turns.resize_with(ports, Vec::new);
        }
    }

    /// Takes in everything that comes by port `ingress` before `end`. Ports come in order.
    #[inline]
    pub(super) fn take(&mut self, inbox: &mut Inbox<Packet>, ingress: u16, end: Instant) {
        inbox.take_all_before(end, |packet| self.frames.push(Stored { packet: *packet, ingress }));
    }

    /// Finds the way of everything taken in but for what is for the switch itself: `way` tells the egress port of a frame, if
    /// it has one, and is shown the frames from that one on.
    #[inline]
    pub(super) fn direct_all(&mut self, mut way: impl FnMut(&Stored, &[Stored]) -> Option<u16>) {
        let Self { start, frames, turns, control, .. } = self;
        let (mut to_come, turns) = (frames.as_slice(), turns.as_mut_slice());
        let mut place = 0;
        while let [stored, later @ ..] = to_come {
            let turn = Turn::new(stored.packet.at(), *start, place);
            if stored.packet.is_link_control() {
                control.push(turn);
            } else if let Some(egress) = way(stored, to_come) {
                turns[usize::from(egress)].push(turn);
            }
            to_come = later;
            place += 1;
        }
    }

    /// Something arrives for the switch itself.
    #[inline]
    pub(super) const fn has_control(&self) -> bool {
        !self.control.is_empty()
    }

    /// Takes in a frame bound for port `egress`, whatever came before.
    pub(super) fn push(&mut self, stored: Stored, egress: u16) {
        let turn = Turn::new(stored.packet.at(), self.start, self.frames.len());
        self.turns[usize::from(egress)].push(turn);
        self.frames.push(stored);
    }

    /// Something arrives for port `egress`.
    pub(super) fn has(&self, egress: usize) -> bool {
        !self.turns[egress].is_empty()
    }

    /// What arrives for port `egress`, in order of ingress ports unless it was sorted.
    pub(super) fn iter(&self, egress: usize) -> impl Iterator<Item = &Stored> {
        self.turns[egress].iter().map(|turn| &self.frames[turn.place()])
    }

    /// What arrives for port `egress`, to be changed: what `keep` refuses no longer arrives.
    pub(super) fn retain(&mut self, egress: usize, mut keep: impl FnMut(&mut Stored) -> bool) {
        let Self { start, frames, turns, .. } = self;
        turns[egress].retain_mut(|turn| {
            let stored = &mut frames[turn.place()];
            let stays = keep(stored);
            if stays {
                *turn = Turn::new(stored.packet.at(), *start, turn.place());
            }
            stays
        });
    }

    /// Sorts what arrives for port `egress` when frames have come in any order.
    pub(super) fn sort_mixed(&mut self, egress: usize) {
        let Self { start, frames, turns, .. } = self;
        turns[egress].sort_by_key(|turn| (turn.at(*start), frames[turn.place()].ingress));
    }

    /// Sorts what arrives for port `egress`, if ports came in order.
    #[inline]
    pub(super) fn sort(&mut self, egress: usize) {
        sort(&mut self.turns[egress], &mut self.spare);
    }

    /// What arrives for port `egress`, sorted.
    #[inline]
    pub(super) fn lineup(&mut self, egress: usize) -> Lineup<'_> {
        let Self { start, frames, turns, .. } = self;
        Lineup { start: *start, turns: &turns[egress], frames }
    }

    /// Port `egress` has been served.
    #[inline]
    pub(super) fn clear(&mut self, egress: usize) {
        self.turns[egress].clear();
    }

    /// Takes out what arrives for `ports`, among which are all that anything arrives for, and for the switch itself; in
    /// order of (time, ingress port), which takes more if frames have come in any order.
    pub(super) fn merge(&mut self, ports: impl Iterator<Item = u16>, is_mixed: bool) -> Merged<'_> {
        let Self { start, frames, turns, control, egress, merged, spare } = self;
        merged.clone_from(control);
        egress.resize(frames.len(), 0);
        for port in ports {
            for turn in turns[usize::from(port)].drain(..) {
                egress[turn.place()] = port;
                merged.push(turn);
            }
        }
        if is_mixed {
            merged.sort_by_key(|turn| (turn.at(*start), frames[turn.place()].ingress));
        } else {
            sort(merged, spare);
        }
        Merged { start: *start, turns: merged, frames, egress }
    }
}

/// What arrives at a switch, in order of (time, ingress port).
pub(super) struct Merged<'a> {
    start: Instant,
    turns: &'a [Turn],
    frames: &'a mut [Stored],
    egress: &'a [u16],
}

impl Merged<'_> {
    /// When the next arrives; never after the last.
    #[inline]
    pub(super) fn next_at(&self) -> Instant {
        self.turns.first().map_or(Instant::NEVER, |turn| turn.at(self.start))
    }

    /// Takes out the next, with its egress port, which is of no meaning for what is for the switch itself.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<(&mut Stored, u16)> {
        let (turn, others) = self.turns.split_first()?;
        self.turns = others;
        Some((&mut self.frames[turn.place()], self.egress[turn.place()]))
    }
}

/// What arrives for one egress port, in order of (time, ingress port).
pub(crate) struct Lineup<'a> {
    start: Instant,
    turns: &'a [Turn],
    frames: &'a mut [Stored],
}

impl Lineup<'_> {
    #[inline]
    pub(super) const fn len(&self) -> usize {
        self.turns.len()
    }

    /// When the frame at `index` arrives; never beyond the last.
    #[inline]
    pub(super) fn at(&self, index: usize) -> Instant {
        self.turns.get(index).map_or(Instant::NEVER, |turn| turn.at(self.start))
    }

    /// The turn that everything comes before that arrives by `now`, a time in the window.
    #[inline]
    pub(super) const fn after(&self, now: Instant) -> Turn {
        Turn::after(now, self.start)
    }

    /// There is a frame at `index` that comes before `turn`.
    #[inline]
    pub(super) fn is_before(&self, index: usize, turn: Turn) -> bool {
        self.turns.get(index).is_some_and(|own| *own < turn)
    }

    #[inline]
    pub(super) fn frame(&self, index: usize) -> &Stored {
        &self.frames[self.turns[index].place()]
    }

    #[inline]
    pub(super) fn frame_mut(&mut self, index: usize) -> &mut Stored {
        &mut self.frames[self.turns[index].place()]
    }

    /// The same once more.
    #[inline]
    pub(super) const fn again(&mut self) -> Lineup<'_> {
        Lineup { start: self.start, turns: self.turns, frames: self.frames }
    }

    /// The first `count` of them, which are taken out.
    #[inline]
    pub(super) fn take_first(&mut self, count: usize) -> Lineup<'_> {
        let (turns, others) = self.turns.split_at(count);
        self.turns = others;
        Lineup { start: self.start, turns, frames: self.frames }
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
        fn a_lineup_is_in_order_of_time_and_ingress_port(
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
            let lineup = arrivals.lineup(0);
            let found: Vec<_> =
                (0..lineup.len()).map(|index| (lineup.at(index), lineup.frame(index).ingress)).collect();
            prop_assert_eq!(found, expected);
            prop_assert_eq!(lineup.at(lineup.len()), Instant::NEVER);
        }
    }
}
