//! Dynamic ECN of an egress port: observes its queues in control intervals and applies [`EcnLaw`] at the end
//! of each.
//!
//! Intervals begin at whole multiples of their length. An interval is evaluated at the next event of the
//! port, with the same result as at its end: everything that happened in it is known by then. So a port
//! without events costs nothing.

use super::ecn_law::{Cause, EcnLaw, IntervalStatistics, MarkingRange, Scale};
use crate::packet::Priority;
use crate::switch::admission::readout::{OnLink, Release};
use units::{Instant, Span, State};

/// Changes that one port logs; later ones are only counted.
const LOG_MAX: usize = 16;

/// A change of thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThresholdChange {
    pub(crate) at: Instant,
    pub(crate) priority: Priority,
    pub(crate) cause: Cause,
    pub(crate) before: MarkingRange,
    pub(crate) after: MarkingRange,
    /// Observations of the last interval.
    pub(crate) statistics: IntervalStatistics,
}

impl ThresholdChange {
    /// Name of the event.
    pub(crate) const fn kind(&self) -> &'static str {
        match self.cause {
            Cause::IdleLink => "ecn_raised",
            Cause::LongQueue | Cause::Incast => "ecn_lowered",
        }
    }

    /// Description of the change with the observations of the last interval, whose length is `interval`.
    pub(crate) fn detail(&self, interval: Span) -> String {
        let cause = match self.cause {
            Cause::IdleLink => "the link idles",
            Cause::LongQueue => "the queue is long",
            Cause::Incast => "many ports send",
        };
        let Self { before, after, statistics, .. } = self;
        format!(
            "Kmin from {} to {} and Kmax from {} to {} bytes, as {cause}: link used for {} %, {} bytes waiting on average, \
             from {} port{}",
            before.kmin_bytes,
            after.kmin_bytes,
            before.kmax_bytes,
            after.kmax_bytes,
            u128::from(statistics.busy.0) * 100 / u128::from(interval.0),
            statistics.queue_byte_ps / u128::from(interval.0),
            statistics.ingress_ports,
            if statistics.ingress_ports == 1 { "" } else { "s" },
        )
    }
}

/// A controlled queue and its observations in the present interval.
#[derive(Clone, Debug, State)]
struct Watched {
    #[state(skip)]
    priority: Priority,
    scale: Scale,
    /// Bytes in the queue, the time of the last update, and the last transmitted frame while it is read out.
    bytes: u64,
    since: Instant,
    sending: Option<OnLink>,
    /// Integral of the queue up to that time [byte ps].
    queue_byte_ps: u128,
    /// Bit `p` of word `w` is set when frames arrived on port `64 w + p`.
    ingress: Vec<u64>,
    marked: bool,
}

impl Watched {
    fn new(priority: Priority, configured: MarkingRange, ports: usize) -> Self {
        Self {
            priority,
            scale: Scale::new(configured),
            bytes: 0,
            since: Instant::ZERO,
            sending: None,
            queue_byte_ps: 0,
            ingress: vec![0; ports.div_ceil(64)],
            marked: false,
        }
    }

    fn wait_until(&mut self, now: Instant, release: Release) {
        self.queue_byte_ps += u128::from(self.bytes) * u128::from(now.since(self.since).0);
        if let Some(frame) = &self.sending {
            self.queue_byte_ps += release.byte_ps(frame, self.since, now);
            if frame.end() <= now {
                self.sending = None;
            }
        }
        self.since = now;
    }

    /// Ends the interval at `end` and returns its observations.
    fn close(&mut self, end: Instant, busy: Span, release: Release) -> IntervalStatistics {
        self.wait_until(end, release);
        let ingress_ports = self.ingress.iter().map(|word| word.count_ones()).sum();
        let statistics = IntervalStatistics {
            busy,
            queue_byte_ps: self.queue_byte_ps,
            ingress_ports,
            marked: self.marked,
        };
        self.queue_byte_ps = 0;
        self.ingress.fill(0);
        self.marked = false;
        statistics
    }

    /// Whether no frame arrived during the interval.
    fn is_still(&self) -> bool {
        self.ingress.iter().all(|&word| word == 0)
    }
}

/// Dynamic ECN of one port.
#[derive(Clone, Debug, State)]
pub(crate) struct EcnControl {
    #[state(skip)]
    law: EcnLaw,
    /// When a transmitted frame leaves its queue.
    #[state(skip)]
    release: Release,
    /// End of the present interval.
    end: Instant,
    /// Transmission time of the frames sent since the interval began, and the end of the last.
    busy: Span,
    busy_until: Instant,
    watched: Vec<Watched>,
    changes: u64,
    // As long as `changes`, up to its limit.
    #[state(skip)]
    log: Vec<ThresholdChange>,
}

impl EcnControl {
    /// Controls `priorities`, one or more, of a port of a switch with `ports` ports.
    pub(crate) fn new(
        law: EcnLaw,
        configured: MarkingRange,
        priorities: &[u8],
        ports: usize,
        release: Release,
    ) -> Self {
        let watched = |&priority: &u8| Watched::new(Priority(priority), configured, ports);
        Self {
            law,
            release,
            end: Instant::ZERO + law.interval(),
            busy: Span(0),
            busy_until: Instant::ZERO,
            watched: priorities.iter().map(watched).collect(),
            changes: 0,
            log: Vec::new(),
        }
    }

    /// Number of changes of thresholds.
    pub(crate) const fn changes(&self) -> u64 {
        self.changes
    }

    /// The first changes in order of time, with descriptions.
    pub(crate) fn log(&self) -> impl Iterator<Item = (&ThresholdChange, String)> {
        self.log.iter().map(|change| (change, change.detail(self.law.interval())))
    }

    /// Thresholds of a priority at `now`, if it is controlled.
    pub(crate) fn range_at(&self, priority: Priority, now: Instant) -> Option<MarkingRange> {
        let range = |control: &Self| {
            let mut watched = control.watched.iter();
            watched.find(|watched| watched.priority == priority).map(|watched| watched.scale.range())
        };
        if now < self.end {
            return range(self);
        }
        let mut later = self.clone();
        later.advance(now);
        range(&later)
    }

    /// Records an arrival; returns the thresholds that apply to it, if its priority is controlled.
    pub(crate) fn arrive(
        &mut self,
        priority: Priority,
        ingress: u16,
        bytes: u64,
        now: Instant,
    ) -> Option<MarkingRange> {
        self.advance(now);
        let release = self.release;
        let watched = self.find(priority)?;
        watched.wait_until(now, release);
        watched.bytes += bytes;
        watched.ingress[usize::from(ingress) / 64] |= 1 << (ingress % 64);
        Some(watched.scale.range())
    }

    /// Records that a frame was marked.
    pub(crate) fn note_mark(&mut self, priority: Priority) {
        if let Some(watched) = self.find(priority) {
            watched.marked = true;
        }
    }

    /// Records the start of a transmission; the port is free again at `until`.
    pub(crate) fn depart(&mut self, priority: Priority, frame: OnLink, until: Instant) {
        self.leave(priority, frame.frame_bytes.into(), frame.start);
        if self.release != Release::Start
            && let Some(watched) = self.find(priority)
        {
            watched.sending = Some(frame);
        }
        self.busy = self.busy + until.since(frame.start);
        self.busy_until = until;
    }

    /// Removes `bytes` from a queue, sent or lost.
    pub(crate) fn leave(&mut self, priority: Priority, bytes: u64, now: Instant) {
        self.advance(now);
        let release = self.release;
        if let Some(watched) = self.find(priority) {
            watched.wait_until(now, release);
            watched.bytes -= bytes;
        }
    }

    fn find(&mut self, priority: Priority) -> Option<&mut Watched> {
        self.watched.iter_mut().find(|watched| watched.priority == priority)
    }

    /// Evaluates every interval that has ended by `now`.
    fn advance(&mut self, now: Instant) {
        while self.end <= now {
            let was_still = self.busy == Span(0) && self.watched.iter().all(Watched::is_still);
            let moved = self.close();
            if was_still && !moved {
                // The intervals up to now are equal to this one.
                let skipped = now.since(self.begin()).0 / self.law.interval().0;
                self.open(self.begin() + Span(self.law.interval().0 * skipped));
            }
        }
    }

    const fn begin(&self) -> Instant {
        Instant(self.end.0 - self.law.interval().0)
    }

    fn open(&mut self, begin: Instant) {
        self.end = begin + self.law.interval();
        self.watched.iter_mut().for_each(|watched| watched.since = begin);
    }

    /// Evaluates the present interval and begins the next; returns whether any thresholds moved.
    fn close(&mut self) -> bool {
        let at = self.end;
        let overhang = self.busy_until.since(at);
        let busy = Span(self.busy.0.saturating_sub(overhang.0));
        self.busy = overhang;
        let mut moved = false;
        for watched in &mut self.watched {
            let statistics = watched.close(at, busy, self.release);
            let scale = watched.scale;
            if let Some(cause) = watched.scale.take(&self.law, &statistics) {
                self.changes += 1;
                if self.log.len() < LOG_MAX {
                    let (priority, before, after) = (watched.priority, scale.range(), watched.scale.range());
                    self.log.push(ThresholdChange { at, priority, cause, before, after, statistics });
                }
            }
            moved |= watched.scale != scale;
        }
        self.open(at);
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::super::ecn_law::testing::PLAN;
    use super::*;
    use proptest::prelude::*;
    use units::{Cycle, Rate};

    const DATA: Priority = Priority(3);
    const RANGE: MarkingRange = MarkingRange { kmin_bytes: 100_000, kmax_bytes: 400_000 };

    fn control() -> EcnControl {
        EcnControl::new(EcnLaw::new(PLAN, Rate::from_gbps(400)), RANGE, &[3], 130, Release::Start)
    }

    fn depart(control: &mut EcnControl, priority: Priority, bytes: u64, start: Instant, until: Instant) {
        let byte_time = Rate::from_gbps(400).byte_time();
        control.depart(priority, OnLink { start, byte_time, frame_bytes: bytes as u32 }, until);
    }

    const fn us(us: u64) -> Instant {
        Instant(us * 1_000_000)
    }

    fn kmin_at(control: &EcnControl, at: Instant) -> u64 {
        control.range_at(DATA, at).expect("it is under control").kmin_bytes
    }

    #[test]
    fn an_interval_is_seen_as_it_was() {
        let mut control = control();
        // 1,000 bytes for 2 us, then 3,000 for 6 us, and nothing for the rest of the 10 us.
        control.arrive(DATA, 0, 1_000, Instant::ZERO);
        control.arrive(DATA, 129, 2_000, us(2));
        control.note_mark(DATA);
        depart(&mut control, DATA, 3_000, us(8), us(13));
        depart(&mut control, Priority(6), 64, us(13), us(14));
        let expected = IntervalStatistics {
            busy: Span::from_us(2),
            queue_byte_ps: 20_000 * 1_000_000,
            ingress_ports: 2,
            marked: true,
        };
        assert_eq!(
            control.busy,
            Span::from_us(4),
            "3 us of the first frame and the other, of the next interval"
        );
        assert_eq!(control.end, us(20));
        let mut again = self::control();
        again.arrive(DATA, 0, 1_000, Instant::ZERO);
        again.arrive(DATA, 129, 2_000, us(2));
        again.note_mark(DATA);
        again.leave(DATA, 3_000, us(8));
        assert_eq!(again.watched[0].close(us(10), Span::from_us(2), Release::Start), expected);
    }

    #[test]
    fn a_frame_counts_for_its_queue_while_it_is_read_out_across_intervals() {
        let mut control = EcnControl { release: Release::End, ..control() };
        control.arrive(DATA, 0, 1_000, us(9));
        // 1,008 bytes at 20 ps: 20.16 ns, 10 ns of them in the next interval.
        let start = Instant(us(10).0 - 10_160);
        depart(&mut control, DATA, 1_000, start, start + Span(20_400));
        assert_eq!(control.watched[0].queue_byte_ps, 1_000 * (1_000_000 - 10_160));
        control.advance(us(10));
        control.arrive(DATA, 0, 0, us(11));
        assert_eq!(control.watched[0].queue_byte_ps, 1_000 * 10_000);
        assert_eq!(control.watched[0].sending, None);
    }

    #[test]
    fn a_constant_queue_lowers_the_thresholds_to_their_bound_step_by_step() {
        let mut control = control();
        control.arrive(DATA, 0, 600_000, Instant::ZERO);
        let ranges: Vec<_> = [19, 20, 39, 40].map(|at| kmin_at(&control, us(at))).into();
        assert_eq!(ranges, [100_000, 80_000, 80_000, 64_000]);
        control.leave(DATA, 600_000, us(1_000_003));
        let at: Vec<_> = control.log.iter().map(|change| change.at).collect();
        assert_eq!(at, [us(20), us(40), us(60), us(80), us(100), us(120), us(140)]);
        assert_eq!((control.changes(), kmin_at(&control, us(1_000_003))), (7, 25_000));
        assert_eq!(control.end, us(1_000_010), "the intervals between were skipped");
    }

    #[test]
    fn one_long_flow_and_a_periodic_incast_go_one_step_down_and_one_up() {
        // Every 40 us seven more ports send for 20 us on a full link: each incast lowers the thresholds.
        // Between them a single flow that was marked leaves the link idle, which raises them once.
        let mut control = control();
        for round in 0..50 {
            for interval in 0..4 {
                let (start, is_incast) = (us(round * 40 + interval * 10), interval < 2);
                for ingress in 0..(if is_incast { 8 } else { 1 }) {
                    control.arrive(DATA, ingress, 1_000, start);
                }
                control.note_mark(DATA);
                let bytes = if is_incast { 8_000 } else { 1_000 };
                let end = start + Span::from_us(if is_incast { 10 } else { 9 });
                depart(&mut control, DATA, bytes, start, end);
            }
            assert_eq!(kmin_at(&control, us(round * 40 + 39)), 80_000);
            assert_eq!(kmin_at(&control, us(round * 40 + 40)), 100_000);
        }
        let causes: Vec<_> = control.log.iter().map(|change| change.cause).collect();
        assert_eq!(causes[..4], [Cause::Incast, Cause::IdleLink, Cause::Incast, Cause::IdleLink]);
        assert_eq!(control.changes(), 99, "one down and one up in each round; the last is not over");
        // 4/5 times 5/4: back at the initial scale.
        assert_eq!(control.log.len(), LOG_MAX);
    }

    #[test]
    fn a_change_is_logged_with_the_figures_of_its_interval() {
        let mut control = control();
        control.arrive(DATA, 0, 600_000, Instant::ZERO);
        control.arrive(Priority(6), 1, 64, us(1));
        assert!(control.range_at(Priority(6), us(1)).is_none(), "it is not under control");
        depart(&mut control, Priority(6), 64, us(10), us(15));
        assert_eq!(kmin_at(&control, us(20)), 80_000);
        control.leave(DATA, 600_000, us(25));
        let (change, text) = control.log().next().expect("it was lowered");
        assert_eq!((change.at, change.kind()), (us(20), "ecn_lowered"));
        assert_eq!(
            text,
            "Kmin from 100000 to 80000 and Kmax from 400000 to 320000 bytes, as the queue is long: link used for 50 %, \
             600000 bytes waiting on average, from 0 ports"
        );
        let logged = |cause, ingress_ports| {
            let statistics = IntervalStatistics { ingress_ports, ..change.statistics };
            let change = ThresholdChange { cause, statistics, ..*change };
            (change.kind(), change.detail(Span::from_us(10)))
        };
        let (kind, text) = logged(Cause::IdleLink, 1);
        assert!(kind == "ecn_raised" && text.contains("as the link idles") && text.ends_with("from 1 port"));
        let (kind, text) = logged(Cause::Incast, 2);
        assert!(
            kind == "ecn_lowered" && text.contains("as many ports send") && text.ends_with("from 2 ports")
        );
    }

    #[test]
    fn a_port_repeats_when_whole_intervals_do() {
        let mut control = control();
        let mut repeats = |interval: u64, bytes| {
            let (start, middle) = (us(10 * interval), us(10 * interval + 5));
            let mut cycle = Cycle::record(start);
            control.advance(start);
            control.visit(&mut cycle);
            control.arrive(DATA, 1, bytes, start);
            depart(&mut control, DATA, bytes, middle, middle + Span::from_us(1));
            control.advance(us(10 * interval + 10));
            cycle.compare(us(10 * interval + 10));
            control.visit(&mut cycle);
            cycle.room() > 0
        };
        assert!(!repeats(0, 1_000), "nothing was sent before");
        assert!(repeats(1, 1_000));
        assert!(repeats(2, 9_000), "the previous interval was evaluated");
        assert!(!repeats(3, 2_000_000), "a long queue counts towards a change");
    }

    proptest! {
        /// Reading a port at any time in between changes nothing.
        #[test]
        fn when_intervals_are_judged_does_not_matter(
            steps in prop::collection::vec((0_u64..60_000_000, 0_u16..130, 1_u64..400_000, any::<bool>()), 1..60),
            reads in prop::collection::vec(any::<bool>(), 60),
        ) {
            let (mut lazy, mut eager) = (control(), control());
            let (mut now, mut waiting) = (Instant::ZERO, 0);
            for ((wait, ingress, bytes, marks), read) in steps.into_iter().zip(reads) {
                let before = now;
                now += Span(wait);
                if read {
                    let mut at = before;
                    while at < now {
                        eager.advance(at);
                        at += Span(3_333_333);
                    }
                }
                prop_assert_eq!(lazy.range_at(DATA, now), eager.range_at(DATA, now));
                for control in [&mut lazy, &mut eager] {
                    if waiting > 0 && !marks {
                        let start = now.max(control.busy_until);
                        depart(control, DATA, waiting, start, now + Span(50 * bytes));
                    } else {
                        control.arrive(DATA, ingress, bytes, now.max(control.busy_until));
                        control.note_mark(DATA);
                    }
                }
                now = now.max(lazy.busy_until);
                waiting = lazy.watched[0].bytes;
            }
            prop_assert_eq!(&lazy.log, &eager.log);
            prop_assert_eq!(lazy.changes(), eager.changes());
        }
    }
}
