//! Cycle detection in a simulation: `Cycle` visits every field of the state, checks whether the state
//! repeats, and advances it by whole periods.
//!
//! Suppose a state equals that of one period ago, except for times that advanced by the period and counters
//! that advanced by some step. Then the next period is the same again, as long as no fixed time comes due and
//! no limited quantity runs out. So the state can be advanced by many periods at once, with the exact result.
//!
//! Every part of such a state is a [`State`](crate::State), which passes each of its fields to a [`Cycle`],
//! always in the same order. The first pass records the fields, the second compares them, the third advances
//! them. Code that visits many parts checks between them whether the pass [is over](Cycle::is_over): the
//! first pass has reached its limit, or the second has found a difference.

use crate::{Counter, Instant, Span};

/// Action of the current pass on the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    /// Record them.
    Record,
    /// Compare them with the recorded values.
    Compare,
    /// Advance them by this number of periods.
    Advance(u64),
}

/// Visitor of all fields of a state, with the recorded values.
#[derive(Debug)]
pub struct Cycle {
    pass: Pass,
    /// Recorded fields.
    recorded: Vec<u64>,
    /// The first pass is over after this number of fields.
    limit: usize,
    /// Change of each field per period, modulo 2^64.
    steps: Vec<u64>,
    /// Index of the next field.
    next: usize,
    start: Instant,
    now: Instant,
    repeats: bool,
    /// Periods that may be skipped.
    room: u64,
}

impl Cycle {
    /// Starts a first pass over the state at `now`.
    #[must_use]
    pub const fn record(now: Instant) -> Self {
        Self::record_some(now, usize::MAX)
    }

    /// Starts a first pass over the first parts of the state, until `limit` fields or more are recorded.
    #[must_use]
    pub const fn record_some(now: Instant, limit: usize) -> Self {
        Self {
            pass: Pass::Record,
            recorded: Vec::new(),
            limit,
            steps: Vec::new(),
            next: 0,
            start: now,
            now,
            repeats: true,
            room: u64::MAX,
        }
    }

    /// Starts a second pass over the state, now at `now`; may be called again later.
    pub fn compare(&mut self, now: Instant) {
        self.steps.clear();
        (self.pass, self.next, self.now) = (Pass::Compare, 0, now);
        (self.repeats, self.room) = (true, u64::MAX);
    }

    /// Whether the remaining parts of the state need not be visited in this pass.
    #[inline]
    #[must_use]
    pub const fn is_over(&self) -> bool {
        match self.pass {
            Pass::Record => self.is_partial(),
            Pass::Compare => !self.repeats || self.is_partial() && self.next >= self.recorded.len(),
            Pass::Advance(_) => false,
        }
    }

    /// Whether the state may have been recorded only in part: then it cannot be advanced.
    #[must_use]
    pub const fn is_partial(&self) -> bool {
        self.recorded.len() >= self.limit
    }

    /// Fields visited in this pass.
    #[must_use]
    pub const fn visited(&self) -> u64 {
        self.next as u64
    }

    /// Ends the second pass: number of periods that may be skipped; 0 if the state, as far as it was
    /// recorded, does not repeat.
    #[must_use]
    pub const fn room(&self) -> u64 {
        if self.repeats && self.next == self.recorded.len() { self.room } else { 0 }
    }

    /// Starts a third pass that advances every field by `periods`; returns the time at its end.
    ///
    /// # Panics
    /// If the state was recorded only in part.
    pub fn advance(&mut self, periods: u64) -> Instant {
        assert!(!self.is_partial(), "a state recorded in part cannot be advanced");
        (self.pass, self.next) = (Pass::Advance(periods), 0);
        self.now + Span(self.period().0 * periods)
    }

    /// Time from the first pass to the second.
    #[must_use]
    pub const fn period(&self) -> Span {
        self.now.since(self.start)
    }

    /// Time of the current pass.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Limits the skip to before `time`.
    pub fn stop_before(&mut self, time: Instant) {
        let left = time.0.saturating_sub(self.now.0).saturating_sub(1);
        self.room = self.room.min(left / self.period().0.max(1));
    }

    /// The state has a part that never repeats.
    pub const fn never_repeats(&mut self) {
        self.repeats = false;
    }

    /// Visits a field that must be equal.
    #[inline]
    pub fn same(&mut self, value: u64) {
        self.step(value, |_, step| (step == 0).then_some(0));
    }

    /// Visits a number that may change by the same step in each period, modulo its range, and has no effect.
    #[inline]
    pub fn count(&mut self, value: &mut impl Counter) {
        value.update(|value| self.step(value, |_, step| Some(step)));
    }

    /// Visits a quantity that is consumed and must not fall below `floor`.
    pub fn left(&mut self, value: &mut impl Counter, floor: u64) {
        value.update(|value| {
            let left = value.saturating_sub(floor);
            self.step(value, |cycle, step| {
                let used = step.wrapping_neg();
                if used > 0 && used <= i64::MAX as u64 {
                    cycle.room = cycle.room.min(left / used);
                }
                (step == 0 || used <= i64::MAX as u64).then_some(step)
            })
        });
    }

    /// Visits a time: it must advance by the period, or be in the past or never, or be fixed, which limits
    /// the skip.
    #[inline]
    pub fn time(&mut self, time: &mut Instant) {
        let value = *time;
        time.0 = self.step(value.0, |cycle, step| {
            if step == cycle.period().0 && value != Instant::NEVER {
                return Some(step);
            }
            if step == 0 && value > cycle.now && value != Instant::NEVER {
                cycle.stop_before(value);
            }
            (step == 0).then_some(0)
        });
    }

    /// Processes the next field in the current pass. From its difference to the recorded value `change`
    /// returns the change per period, or `None` if the state does not repeat.
    #[inline]
    fn step(&mut self, value: u64, change: impl FnOnce(&mut Self, u64) -> Option<u64>) -> u64 {
        let index = self.next;
        self.next += 1;
        match self.pass {
            Pass::Record => self.recorded.push(value),
            Pass::Compare => {
                // A state of another shape does not repeat; the pass continues.
                let difference = self.recorded.get(index).map(|recorded| value.wrapping_sub(*recorded));
                let is_same_kind = difference.and_then(|difference| change(self, difference));
                self.repeats &= is_same_kind.is_some();
                self.steps.push(is_same_kind.unwrap_or(0));
            }
            Pass::Advance(periods) => return value.wrapping_add(self.steps[index].wrapping_mul(periods)),
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::State;

    /// A small state: fields of a busy port, its timer and a queue pair.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
    struct Fields {
        free_at: Instant,
        deadline: Instant,
        alarm: Instant,
        #[state(count)]
        bytes: u64,
        #[state(left = 10)]
        left: u64,
        #[state(count)]
        psn: u32,
        mode: u64,
    }

    const STATE: Fields = Fields {
        free_at: Instant(1_010),
        deadline: Instant(1_500),
        alarm: Instant::NEVER,
        bytes: 70,
        left: 1_000,
        psn: 0xffff_fffe,
        mode: 3,
    };

    impl Fields {
        /// The state one period of 100 later.
        const fn next(self) -> Self {
            Self {
                free_at: Instant(self.free_at.0 + 100),
                deadline: Instant(self.deadline.0 + 100),
                bytes: self.bytes + 7,
                left: self.left - 30,
                psn: self.psn.wrapping_add(3),
                ..self
            }
        }
    }

    fn room(mut before: Fields, mut after: Fields) -> u64 {
        let mut cycle = Cycle::record(Instant(1_000));
        before.visit(&mut cycle);
        cycle.compare(Instant(1_100));
        after.visit(&mut cycle);
        cycle.room()
    }

    #[test]
    fn a_state_that_repeats_is_moved_on_as_if_step_by_step() {
        let mut cycle = Cycle::record(Instant(1_000));
        let mut state = STATE;
        state.visit(&mut cycle);
        state = state.next();
        cycle.compare(Instant(1_100));
        state.visit(&mut cycle);
        // 970 are left after the first period; 32 more leave 10.
        assert_eq!(cycle.room(), 32);
        let expected = (0..32).fold(state, |state, _| state.next());
        assert_eq!(cycle.advance(32), Instant(4_300));
        state.visit(&mut cycle);
        assert_eq!(state, expected);
    }

    #[test]
    fn a_time_that_stands_still_is_not_passed() {
        let alarm = Instant(1_700);
        // At 1,100 five periods end at 1,600; a sixth would end when the alarm is due.
        assert_eq!(room(Fields { alarm, ..STATE }, Fields { alarm, ..STATE.next() }), 5);
        let past = Instant(500);
        assert_eq!(room(Fields { alarm: past, ..STATE }, Fields { alarm: past, ..STATE.next() }), 32);
    }

    #[test]
    fn whatever_differs_otherwise_is_no_repetition() {
        let next = STATE.next();
        for other in [
            Fields { mode: 4, ..next },
            Fields { free_at: Instant(1_111), ..next },
            Fields { alarm: Instant(1_200), ..next },
            Fields { left: 1_001, ..next },
        ] {
            assert_eq!(room(STATE, other), 0, "{other:?}");
        }
    }

    /// Number of `values` visited.
    fn visited(cycle: &mut Cycle, values: [u64; 4]) -> u64 {
        for value in values {
            if cycle.is_over() {
                break;
            }
            cycle.same(value);
        }
        cycle.visited()
    }

    #[test]
    fn a_pass_is_over_at_the_first_difference() {
        let mut cycle = Cycle::record(Instant(0));
        assert_eq!(visited(&mut cycle, [1, 2, 3, 4]), 4);
        cycle.compare(Instant(10));
        assert_eq!((visited(&mut cycle, [1, 9, 3, 4]), cycle.room()), (2, 0));
        cycle.compare(Instant(20));
        assert_eq!((visited(&mut cycle, [1, 2, 3, 4]), cycle.room()), (4, u64::MAX));
    }

    #[test]
    fn no_more_is_compared_than_was_written_down() {
        let mut cycle = Cycle::record_some(Instant(0), 2);
        assert_eq!(visited(&mut cycle, [1, 2, 3, 4]), 2);
        assert!(cycle.is_partial());
        cycle.compare(Instant(10));
        assert_eq!((visited(&mut cycle, [1, 2, 9, 9]), cycle.room()), (2, u64::MAX));
        cycle.compare(Instant(20));
        assert_eq!((visited(&mut cycle, [1, 9, 9, 9]), cycle.room()), (2, 0));
    }

    #[test]
    fn a_state_of_another_shape_does_not_repeat() {
        for lengths in [(2, 3), (3, 2)] {
            let mut cycle = Cycle::record(Instant(0));
            vec![1_u8; lengths.0].visit(&mut cycle);
            cycle.compare(Instant(10));
            vec![1_u8; lengths.1].visit(&mut cycle);
            assert_eq!(cycle.room(), 0);
        }
    }
}
