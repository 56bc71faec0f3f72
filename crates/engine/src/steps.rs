//! Choice of the next step: all nodes window by window, or the two sides of the world alternately.
//!
//! If every link leads from one side to the other, for example with hosts and spines on one and leaves on the
//! other, events of a side in a window affect the other side in the next window at the earliest, and the
//! first side again in the window after that. So a side that is one window behind the other can be processed
//! for two windows at once, and is then one window further:
//!
//! ```text
//! first side   | 0 | 1   2 | 3   4 | 5   6 |
//! second side  | 0   1 | 2   3 | 4   5 | 6 |
//! ```
//!
//! Each node is loaded into the cache half as often, for twice the work. Before an observer inspects the
//! whole world the sides synchronise: the state is then identical to that of windows processed one by one. A
//! probe observes few nodes, so the sides need not synchronise for it: at the end of the first of two windows
//! the other side is already at the time of the probe, and on the side being processed the observed nodes
//! stop there.

use crate::Window;
use units::{Instant, Span};

/// Fewer windows than this are not worth processing the sides separately.
const WINDOWS_MIN: u64 = 4;

/// One of two sets of nodes such that all links lead from one to the other. Either can be processed for two
/// windows at once while the other waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The first side.
    First,
    /// The second side.
    Second,
}

impl Side {
    /// Both sides.
    const ALL: [Self; 2] = [Self::First, Self::Second];

    /// The other side.
    #[inline]
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }

    #[inline]
    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

/// Windows and nodes that are processed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// The first window and one past the last.
    pub(crate) first: u64,
    pub(crate) end: u64,
    /// The side; `None` for all nodes.
    pub(crate) side: Option<Side>,
    /// The probe observes between the two windows.
    pub(crate) is_probed: bool,
}

/// Next observation by the probe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Due {
    /// It is due before this window if that has events, otherwise before the first later window with events.
    pub(crate) window: u64,
    /// The window is known to have events.
    pub(crate) is_active: bool,
}

impl Step {
    /// One window of all nodes.
    #[inline]
    pub(crate) const fn whole(window: u64) -> Self {
        Self { first: window, end: window + 1, side: None, is_probed: false }
    }

    /// The step as a single word.
    #[inline]
    pub(crate) const fn code(self) -> u64 {
        let side = match self.side {
            None => 0,
            Some(side) => 1 + side as u64,
        };
        self.first << 4 | (self.is_probed as u64) << 3 | (self.end - self.first - 1) << 2 | side
    }

    #[inline]
    pub(crate) const fn from_code(code: u64) -> Self {
        let side = match code & 3 {
            0 => None,
            1 => Some(Side::First),
            _ => Some(Side::Second),
        };
        let first = code >> 4;
        Self { first, end: first + 1 + (code >> 2 & 1), side, is_probed: code & 8 != 0 }
    }

    /// Its time span.
    #[inline]
    pub(crate) const fn window(self, span: Span) -> Window {
        let start = Window::new(self.first, span).start;
        Window { start, ..Window::new(self.end - 1, span) }
    }
}

/// Progress of each side.
#[derive(Debug)]
pub(crate) struct StepPlanner {
    /// The next window of each side.
    next: [u64; 2],
    /// The window at which the sides synchronise, if they are at different windows.
    sync_window: u64,
    is_ending: bool,
}

impl StepPlanner {
    /// State at the start of the run.
    pub(crate) const fn new() -> Self {
        Self { next: [0; 2], sync_window: 0, is_ending: false }
    }

    /// Whether the sides are at the same window.
    #[inline]
    const fn are_synchronised(&self) -> bool {
        self.next[0] == self.next[1]
    }

    /// The next window of the side that is further.
    #[inline]
    const fn front(&self) -> u64 {
        if self.next[0] > self.next[1] { self.next[0] } else { self.next[1] }
    }

    /// The next step.
    pub(crate) fn step(&mut self, due: Due) -> Step {
        let window = self.front();
        if self.are_synchronised() && (self.sync_window <= window || due.window <= window) {
            self.sync_window = window;
            return Step::whole(window);
        }
        let is_second = self.next[Side::Second.index()] < self.next[Side::First.index()];
        let side = Side::ALL[usize::from(is_second)];
        let first = self.next[side.index()];
        let end = (self.next[side.other().index()] + 1).min(self.sync_window);
        let is_due = due.window == first + 1 && end > due.window;
        if is_due && !due.is_active {
            self.sync_window = due.window;
        }
        let is_probed = is_due && due.is_active;
        Step { first, end: end.min(self.sync_window), side: Some(side), is_probed }
    }

    /// Lets the sides proceed separately until window `sync_window`, if they are at the same window and it is
    /// worth it.
    #[inline]
    pub(crate) fn separate_until(&mut self, sync_window: u64) {
        if self.are_synchronised() && sync_window >= self.front() + WINDOWS_MIN {
            self.sync_window = sync_window;
        }
    }

    /// Records that `step` was processed. `next_active` is the first window with events after it, and the
    /// sides may be separate until `unobserved_until`. True if the run continues.
    pub(crate) fn advance(
        &mut self,
        step: Step,
        next_active: Option<u64>,
        stops: bool,
        unobserved_until: u64,
    ) -> bool {
        match step.side {
            Some(side) => self.next[side.index()] = step.end,
            None => self.next = [step.end; 2],
        }
        self.is_ending |= stops;
        if self.are_synchronised() {
            return self.advance_both(next_active);
        }
        let front = self.front();
        let is_idle = next_active.is_none_or(|next| next > front);
        self.sync_window =
            if self.is_ending || is_idle { front } else { self.sync_window.min(unobserved_until.max(front)) };
        true
    }

    fn advance_both(&mut self, next_active: Option<u64>) -> bool {
        let Some(next) = next_active.filter(|_| !self.is_ending) else { return false };
        if next > self.front() {
            self.next = [next; 2];
            self.sync_window = 0;
        }
        true
    }

    /// Whether a hook ended the run.
    #[inline]
    pub(crate) const fn was_stopped(&self) -> bool {
        self.is_ending
    }

    /// The last window processed, once the run has ended.
    #[inline]
    pub(crate) const fn last(&self, span: Span) -> Window {
        Window::new(self.front() - 1, span)
    }
}

/// The first window that starts at `at` or later.
#[inline]
pub(crate) const fn window_from(at: Instant, span: Span) -> u64 {
    at.0.div_ceil(span.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Span = Span(100);
    const NOTHING_DUE: Due = Due { window: u64::MAX, is_active: false };

    /// Steps until the sides are at the same window again.
    fn steps(planner: &mut StepPlanner) -> Vec<(u64, u64, Option<Side>)> {
        let mut steps = Vec::new();
        loop {
            let step = planner.step(NOTHING_DUE);
            steps.push((step.first, step.end, step.side));
            assert_eq!(Step::from_code(step.code()), step);
            assert!(planner.advance(step, Some(step.first), false, u64::MAX));
            if planner.are_synchronised() {
                return steps;
            }
        }
    }

    #[test]
    fn a_side_that_is_behind_takes_two_windows() {
        let (first, second) = (Some(Side::First), Some(Side::Second));
        let mut planner = StepPlanner::new();
        assert_eq!(steps(&mut planner), [(0, 1, None)]);
        planner.separate_until(4);
        assert_eq!(steps(&mut planner), [(1, 2, None)], "three windows are too few");
        planner.separate_until(7);
        let apart =
            [(2, 3, first), (2, 4, second), (3, 5, first), (4, 6, second), (5, 7, first), (6, 7, second)];
        assert_eq!(steps(&mut planner), apart);
        assert_eq!(planner.last(SPAN), Window::new(6, SPAN));
        assert_eq!(steps(&mut planner), [(7, 8, None)]);
    }

    #[test]
    fn they_meet_when_somebody_looks_or_nothing_happens_or_the_run_ends() {
        for (next, stops, unobserved_until) in [(Some(1), false, 0), (Some(2), false, 99), (None, true, 99)] {
            let mut planner = StepPlanner::new();
            planner.separate_until(99);
            let step = planner.step(NOTHING_DUE);
            assert!(planner.advance(step, Some(0), false, 99));
            let step = planner.step(NOTHING_DUE);
            assert_eq!((step.first, step.end, step.side), (0, 2, Some(Side::Second)));
            // The next window with events is one window later, or there is none.
            let goes_on = planner.advance(step, next.map(|next| next + 1), stops, unobserved_until);
            assert!(goes_on && !planner.are_synchronised());
            let step = planner.step(NOTHING_DUE);
            assert_eq!((step.first, step.end, step.side), (1, 2, Some(Side::First)));
            assert_eq!(planner.advance(step, Some(7), stops, unobserved_until), !stops);
            assert_eq!(planner.step(NOTHING_DUE), Step::whole(if stops { 2 } else { 7 }));
        }
    }

    #[test]
    fn the_probe_looks_between_two_windows_if_something_happens_then() {
        let mut planner = StepPlanner::new();
        planner.separate_until(99);
        let due = |is_active| Due { window: 2, is_active };
        let mut probed = Vec::new();
        for _ in 0..4 {
            let step = planner.step(due(true));
            probed.push((step.first, step.end, step.is_probed));
            assert!(planner.advance(step, Some(step.first), false, 99));
        }
        assert_eq!(probed, [(0, 1, false), (0, 2, false), (1, 3, true), (2, 4, false)]);

        let mut planner = StepPlanner::new();
        planner.separate_until(99);
        for _ in 0..3 {
            let step = planner.step(due(false));
            assert!(planner.advance(step, Some(step.first), false, 99));
        }
        assert!(planner.are_synchronised(), "nobody knows yet whether something happens");
        assert_eq!(planner.step(due(false)), Step::whole(2));
    }

    #[test]
    fn the_time_of_a_step_is_that_of_its_windows() {
        let step = Step { first: 3, end: 5, side: Some(Side::First), is_probed: true };
        assert_eq!(Step::from_code(step.code()), step);
        let [start, last_start, end] = [300, 400, 500].map(Instant);
        assert_eq!(step.window(SPAN), Window { index: 4, start, last_start, end });
        assert_eq!([0, 1, 100, 101].map(|at| window_from(Instant(at), SPAN)), [0, 1, 1, 2]);
    }
}
