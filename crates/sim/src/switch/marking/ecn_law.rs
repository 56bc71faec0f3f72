//! Control law of dynamic ECN: how the thresholds of a queue change at the end of each control interval.
//!
//! Both thresholds are the configured ones times a scale. Three conditions change it. A mean queue longer
//! than the target lowers it. Low utilisation of the link, although frames were marked since the last change,
//! raises it. Many ingress ports that feed a queue which marks and keeps its link busy lower it, too: the
//! more there are, the more data arrives before the first of them slows down. A change is made once several
//! consecutive intervals agree. For the model it is based on, and our own choices, see docs/adr/0008. The law
//! does not know about pauses, flows or the other queues of the switch.

use spec::DynamicEcnSpec;
use units::{Rate, Span, State};

/// One, in parts per million.
const WHOLE_PPM: u64 = 1_000_000;

/// Queue length where marking begins and where it is certain [bytes].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MarkingRange {
    pub(crate) kmin_bytes: u64,
    pub(crate) kmax_bytes: u64,
}

impl MarkingRange {
    fn scaled(self, scale_ppm: u64) -> Self {
        let scaled = |bytes: u64| share(bytes, scale_ppm);
        Self { kmin_bytes: scaled(self.kmin_bytes), kmax_bytes: scaled(self.kmax_bytes) }
    }
}

fn share(value: u64, ppm: u64) -> u64 {
    let exact = u128::from(value) * u128::from(ppm) / u128::from(WHOLE_PPM);
    u64::try_from(exact).unwrap_or(u64::MAX)
}

/// Observations of a queue in one interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IntervalStatistics {
    /// Time for which the link was sending, whatever the priority.
    pub(crate) busy: Span,
    /// Integral of the queue over the interval [byte ps].
    pub(crate) queue_byte_ps: u128,
    /// Number of ingress ports on which frames arrived.
    pub(crate) ingress_ports: u32,
    /// A frame was marked.
    pub(crate) marked: bool,
}

/// Why thresholds were changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The link was underused: raised.
    IdleLink,
    /// The queue was too long: lowered.
    LongQueue,
    /// Many ingress ports fed the queue: lowered.
    Incast,
}

/// The law, for ports of one rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EcnLaw {
    spec: DynamicEcnSpec,
    busy_target: Span,
    /// The longest mean queue times the interval [byte ps].
    queue_target: u128,
}

impl EcnLaw {
    pub(crate) fn new(spec: DynamicEcnSpec, rate: Rate) -> Self {
        const BIT_PS_PER_BYTE: u128 = 8_000_000_000_000;
        let queue_bytes = u128::from(spec.queueing_delay_ps) * u128::from(rate.bps()) / BIT_PS_PER_BYTE;
        Self {
            spec,
            busy_target: Span(share(spec.interval_ps, spec.link_use_ppm.into())),
            queue_target: queue_bytes * u128::from(spec.interval_ps),
        }
    }

    pub(crate) const fn interval(&self) -> Span {
        Span(self.spec.interval_ps)
    }

    /// The change that one interval supports, if any. `marked_before`: a frame was marked since the last
    /// change.
    fn judge(&self, statistics: &IntervalStatistics, marked_before: bool) -> Option<Cause> {
        let is_idle = statistics.busy < self.busy_target;
        let marked = marked_before || statistics.marked;
        match statistics {
            _ if statistics.queue_byte_ps > self.queue_target => Some(Cause::LongQueue),
            _ if is_idle && marked && statistics.ingress_ports > 0 => Some(Cause::IdleLink),
            _ if !is_idle && statistics.marked && statistics.ingress_ports >= self.spec.incast_degree => {
                Some(Cause::Incast)
            }
            _ => None,
        }
    }

    /// The scale after a step from `scale_ppm`.
    fn step(&self, scale_ppm: u64, cause: Cause) -> u64 {
        let DynamicEcnSpec { scale_min_ppm, scale_max_ppm, raise_ppm, lower_ppm, .. } = self.spec;
        match cause {
            Cause::IdleLink => (scale_ppm + share(scale_ppm, raise_ppm.into()).max(1)).min(scale_max_ppm),
            Cause::LongQueue | Cause::Incast => {
                scale_ppm.saturating_sub(share(scale_ppm, lower_ppm.into()).max(1)).max(scale_min_ppm)
            }
        }
    }
}

/// Scale of the thresholds of one queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub(crate) struct Scale {
    #[state(skip)]
    configured: MarkingRange,
    #[state(skip)]
    range: MarkingRange,
    ppm: u64,
    /// Consecutive intervals that support raising (if set) or lowering.
    in_a_row: u32,
    is_rise: bool,
    /// A frame was marked since the last change.
    marked: bool,
}

impl Scale {
    /// Starts with the configured thresholds.
    pub(crate) const fn new(configured: MarkingRange) -> Self {
        Self { configured, range: configured, ppm: WHOLE_PPM, in_a_row: 0, is_rise: false, marked: false }
    }

    pub(crate) const fn range(&self) -> MarkingRange {
        self.range
    }

    /// Evaluates one interval; returns the cause if the thresholds changed.
    pub(crate) fn take(&mut self, law: &EcnLaw, statistics: &IntervalStatistics) -> Option<Cause> {
        let cause = law.judge(statistics, self.marked).filter(|&cause| law.step(self.ppm, cause) != self.ppm);
        self.marked |= statistics.marked;
        let Some(cause) = cause else {
            self.in_a_row = 0;
            return None;
        };
        let is_rise = cause == Cause::IdleLink;
        self.in_a_row = if is_rise == self.is_rise { self.in_a_row + 1 } else { 1 };
        self.is_rise = is_rise;
        if self.in_a_row < law.spec.confirm_intervals {
            return None;
        }
        self.ppm = law.step(self.ppm, cause);
        self.range = self.configured.scaled(self.ppm);
        (self.in_a_row, self.marked) = (0, false);
        Some(cause)
    }
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;

    /// Intervals of 10 us, 25 % to 400 %, 5/4 up and 4/5 down, 95 % use, 10 us of delay, 4 ports, 2 in a row.
    pub(crate) const PLAN: DynamicEcnSpec = DynamicEcnSpec {
        interval_ps: 10_000_000,
        scale_min_ppm: 250_000,
        scale_max_ppm: 4_000_000,
        raise_ppm: 250_000,
        lower_ppm: 200_000,
        link_use_ppm: 950_000,
        queueing_delay_ps: 10_000_000,
        incast_degree: 4,
        confirm_intervals: 2,
    };
}

#[cfg(test)]
mod tests {
    use super::testing::PLAN;
    use super::*;
    use proptest::prelude::*;

    const RANGE: MarkingRange = MarkingRange { kmin_bytes: 100_000, kmax_bytes: 400_000 };
    /// A full link, a queue of half the target, one source, no marks.
    const CALM: IntervalStatistics = IntervalStatistics {
        busy: Span(10_000_000),
        queue_byte_ps: 250_000 * 10_000_000,
        ingress_ports: 1,
        marked: false,
    };
    const IDLE: IntervalStatistics = IntervalStatistics { busy: Span(5_000_000), ..CALM };
    /// At 400 Gb/s 10 us are 500,000 bytes.
    const LONG: IntervalStatistics = IntervalStatistics { queue_byte_ps: 500_001 * 10_000_000, ..CALM };
    const INCAST: IntervalStatistics = IntervalStatistics { ingress_ports: 4, marked: true, ..CALM };

    fn law() -> EcnLaw {
        EcnLaw::new(PLAN, Rate::from_gbps(400))
    }

    /// Causes and final thresholds of a queue that starts with `RANGE`, after these intervals.
    fn causes(intervals: &[IntervalStatistics]) -> (Vec<Option<Cause>>, MarkingRange) {
        let mut scale = Scale::new(RANGE);
        (intervals.iter().map(|statistics| scale.take(&law(), statistics)).collect(), scale.range())
    }

    #[test]
    fn an_idle_link_raises_the_thresholds_once_for_each_time_that_frames_were_marked() {
        let marked = IntervalStatistics { marked: true, ..IDLE };
        let (actual, range) = causes(&[IDLE, IDLE, IDLE, marked, IDLE, IDLE, IDLE]);
        assert_eq!(actual, [None, None, None, None, Some(Cause::IdleLink), None, None]);
        assert_eq!(range, MarkingRange { kmin_bytes: 125_000, kmax_bytes: 500_000 });
    }

    #[test]
    fn no_arrivals_change_nothing() {
        let silent = IntervalStatistics { busy: Span(0), ingress_ports: 0, ..IDLE };
        assert_eq!(causes(&[INCAST, silent, silent, silent]).0, [None; 4]);
    }

    #[test]
    fn a_long_queue_and_an_incast_lower_them() {
        let (actual, range) = causes(&[LONG, LONG, INCAST, INCAST]);
        assert_eq!(actual, [None, Some(Cause::LongQueue), None, Some(Cause::Incast)]);
        assert_eq!(range, MarkingRange { kmin_bytes: 64_000, kmax_bytes: 256_000 });
        let at_target = IntervalStatistics { queue_byte_ps: 500_000 * 10_000_000, ..LONG };
        assert_eq!(causes(&[at_target, at_target]).0, [None, None]);
        let few = IntervalStatistics { ingress_ports: 3, ..INCAST };
        assert_eq!(causes(&[few, few]).0, [None, None]);
    }

    #[test]
    fn an_incast_that_leaves_the_link_idle_raises_them() {
        let starved = IntervalStatistics { busy: Span(9_000_000), ..INCAST };
        assert_eq!(causes(&[starved, starved]).0, [None, Some(Cause::IdleLink)]);
    }

    #[test]
    fn one_interval_alone_changes_nothing() {
        let idle = IntervalStatistics { marked: true, ..IDLE };
        assert_eq!(causes(&[LONG, CALM, LONG, idle, LONG, idle]).0, [None; 6]);
    }

    proptest! {
        #[test]
        fn the_bounds_hold_and_once_there_nothing_changes(
            intervals in prop::collection::vec(prop::sample::select(vec![CALM, IDLE, LONG, INCAST]), 0..200),
            last in prop::sample::select(vec![LONG, IntervalStatistics { marked: true, ..IDLE }]),
        ) {
            let mut scale = Scale::new(RANGE);
            for statistics in intervals {
                scale.take(&law(), &statistics);
                prop_assert!((25_000..=400_000).contains(&scale.range().kmin_bytes));
                prop_assert!((100_000..=1_600_000).contains(&scale.range().kmax_bytes));
            }
            for _ in 0..40 {
                scale.take(&law(), &last);
            }
            let settled = scale;
            prop_assert_eq!(scale.take(&law(), &last), None);
            prop_assert_eq!(scale.range(), settled.range());
            prop_assert_eq!(scale.range().kmin_bytes, if last == LONG { 25_000 } else { 400_000 });
        }
    }
}
