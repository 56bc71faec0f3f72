//! DCQCN congestion control at the sender (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments",
//! SIGCOMM 2015, section 3).
//!
//! On a CNP: `Rt = Rc; Rc = Rc (1 - a/2); a = (1-g) a + g`, at most once per period. Without one for the
//! alpha timer: `a = (1-g) a`. Each expiry of the increase timer and each cycle of the byte counter raises
//! the rate: F rounds of fast recovery `Rc = (Rt+Rc)/2`, then additive `Rt += R_AI`, then, when both counters
//! are past F, hyper `Rt += R_HAI`. Without a byte counter one round of additive increase precedes the hyper
//! increases, as in the simulator of Li et al. (HPCC, SIGCOMM 2019). With F = 0 there is no recovery: a cut
//! sets the target to the rate after it, and the rate rises by R_AI per round. `Rt = Rc` on every cut is the
//! paper's and 802.1Qau's `clamp_tgt_rate`; adapters by default omit it on a cut with no increase since the
//! last one. A packet delays the next one until the current rate, including its later changes, has covered
//! its bytes. Timers are applied lazily, at the next send or CNP of the queue pair. Integer arithmetic: rates
//! in bit/s, alpha and g in 2^-20.

use super::{Controller, Feedback, RateControl, RateControlConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use units::{Instant, Rate, Span, State};
use wire::Psn;

/// One, in units of alpha and g.
const ONE: u64 = 1 << 20;
/// One byte, in bit/s x ps.
const BYTE: u64 = 8_000_000_000_000;

/// Parameters of DCQCN. All values come from the run spec; nothing here has a default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct DcqcnConfig {
    /// Gain g of alpha [1/2^20].
    #[schemars(range(max = ONE))]
    pub g_2e20: u32,
    /// Alpha of a queue pair before its first CNP [1/2^20]; absent, 1 (SIGCOMM 2015, section 3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = ONE))]
    pub initial_alpha_2e20: Option<u32>,
    /// Alpha decays after this long without a CNP [ps].
    pub alpha_timer_ps: u64,
    /// At most one rate cut in this time [ps].
    pub rate_cut_period_ps: u64,
    /// Rate increase timer [ps].
    pub increase_timer_ps: u64,
    /// Rate increase byte counter [bytes]; 0 switches it off.
    pub byte_counter_bytes: u64,
    /// Rounds of fast recovery F; 0: a cut lowers the target rate to the rate after it, so that the rate
    /// rises by the increases only.
    pub fast_recovery_rounds: u32,
    /// Additive increase R_AI [bit/s].
    pub additive_increase_bps: u64,
    /// Hyper increase R_HAI [bit/s].
    pub hyper_increase_bps: u64,
    /// Smallest rate [bit/s].
    pub rate_min_bps: u64,
    /// Every rate cut lowers the target rate to the current one; without it only the first cut and a cut that
    /// follows an increase do, so that a row of cuts is recovered from at once.
    pub clamp_target_rate: bool,
    /// A receiver sends at most one CNP per queue pair in this time [ps].
    pub cnp_interval_ps: u64,
}

impl RateControlConfig for DcqcnConfig {
    fn controller(&self, _mtu_bytes: u32, line_rate: Rate) -> Controller {
        Controller::Dcqcn(Dcqcn::new(*self, line_rate))
    }

    fn cnp_interval(&self) -> Option<Span> {
        Some(Span(self.cnp_interval_ps))
    }

    fn interval_max(&self, packet_bytes: u64, _timeout: Span) -> Span {
        Rate::from_bps(self.rate_min_bps).span_of(packet_bytes)
    }
}

/// DCQCN of one queue pair, which needs little memory before the first CNP: until then it paces at line rate.
#[derive(Clone, Debug, State)]
pub struct Dcqcn {
    /// State at the first CNP.
    #[state(skip)]
    initial: Arc<ReactionPoint>,
    ready_at: Instant,
    /// Size on the link of the last packet, until the first CNP.
    wire_bytes: u32,
    /// Allocated at the first CNP.
    reaction_point: Option<Box<ReactionPoint>>,
}

impl Dcqcn {
    /// Starts at the rate of the port.
    #[must_use]
    pub fn new(config: DcqcnConfig, line_rate: Rate) -> Self {
        let initial = Arc::new(ReactionPoint::new(config, line_rate));
        Self { initial, ready_at: Instant::ZERO, wire_bytes: 0, reaction_point: None }
    }

    #[cold]
    fn begin(&self) -> Box<ReactionPoint> {
        let mut reaction_point = *self.initial;
        if self.wire_bytes > 0 {
            let paced_for = self.initial.span_at_line_rate(self.wire_bytes);
            reaction_point.on_sent(Instant(self.ready_at.0 - paced_for.0), self.wire_bytes);
        }
        Box::new(reaction_point)
    }
}

impl RateControl for Dcqcn {
    #[inline]
    fn ready_at(&self) -> Instant {
        self.ready_at
    }

    #[inline]
    fn on_sent(&mut self, now: Instant, _psn: Psn, wire_bytes: u32) {
        if let Some(reaction_point) = &mut self.reaction_point {
            reaction_point.on_sent(now, wire_bytes);
            self.ready_at = reaction_point.ready_at;
        } else {
            self.wire_bytes = wire_bytes;
            self.ready_at = now + self.initial.span_at_line_rate(wire_bytes);
        }
    }

    #[inline]
    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        if feedback.is_cnp {
            let mut reaction_point = self.reaction_point.take().unwrap_or_else(|| self.begin());
            reaction_point.on_cnp(feedback.now);
            self.ready_at = reaction_point.ready_at;
            self.reaction_point = Some(reaction_point);
        }
    }

    fn rate_bps_at(&self, now: Instant) -> Option<u64> {
        let reaction_point = self.reaction_point.as_ref();
        Some(
            reaction_point.map_or(self.initial.current_bps, |reaction_point| reaction_point.rate_bps_at(now)),
        )
    }
}

/// Reaction point of DCQCN: rates, alpha and timers of one queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
struct ReactionPoint {
    #[state(skip)]
    config: DcqcnConfig,
    /// Rate of the port [bit/s].
    #[state(skip)]
    line_rate_bps: u64,
    /// Current and target rate [bit/s].
    current_bps: u64,
    target_bps: u64,
    alpha: u64,
    /// Bits that the rate must still cover before the next packet, as of `owed_at` [bit/s x ps]; `ready_at`
    /// is the time at which they are covered.
    owed: u64,
    owed_at: Instant,
    ready_at: Instant,
    /// Next decay of alpha and next expiry of the increase timer.
    alpha_due: Instant,
    increase_due: Instant,
    next_cut: Instant,
    bytes_since: u64,
    timer_rounds: u32,
    byte_rounds: u32,
}

impl ReactionPoint {
    /// Starts at the rate of the port.
    const fn new(config: DcqcnConfig, line_rate: Rate) -> Self {
        Self {
            config,
            line_rate_bps: line_rate.bps(),
            current_bps: line_rate.bps(),
            target_bps: line_rate.bps(),
            alpha: match config.initial_alpha_2e20 {
                Some(alpha) => alpha as u64,
                None => ONE,
            },
            owed: 0,
            owed_at: Instant::ZERO,
            ready_at: Instant::ZERO,
            alpha_due: Instant::NEVER,
            increase_due: Instant::NEVER,
            next_cut: Instant::ZERO,
            bytes_since: 0,
            timer_rounds: 0,
            byte_rounds: 0,
        }
    }

    /// Pacing time of a packet at line rate.
    #[inline]
    fn span_at_line_rate(&self, wire_bytes: u32) -> Span {
        Span(u64::from(wire_bytes) * BYTE / self.line_rate_bps)
    }

    /// Applies the timers that have expired by `now`, in order of time.
    fn advance(&mut self, now: Instant) {
        let g = u64::from(self.config.g_2e20);
        while self.alpha_due <= now {
            self.alpha -= self.alpha * g / ONE;
            self.alpha_due += Span(self.config.alpha_timer_ps);
            if self.alpha * g < ONE {
                // Too small to decay further in these units: rounded to zero.
                self.alpha = 0;
                self.alpha_due = Instant::NEVER;
            }
        }
        while self.increase_due <= now {
            self.expire_increase_timer();
        }
    }

    fn expire_increase_timer(&mut self) {
        self.make_up(self.increase_due);
        self.increase_due += Span(self.config.increase_timer_ps);
        self.timer_rounds += 1;
        self.increase();
    }

    /// Reduces `owed` by the bits covered at the current rate until `now`.
    const fn make_up(&mut self, now: Instant) {
        let made_up = self.current_bps.saturating_mul(now.0.saturating_sub(self.owed_at.0));
        self.owed = self.owed.saturating_sub(made_up);
        self.owed_at = now;
    }

    /// Time at which `owed` reaches zero, unless another CNP arrives.
    fn paid_at(&self) -> Instant {
        let paid_at = self.owed_at + Span(self.owed / self.current_bps);
        if paid_at <= self.increase_due { paid_at } else { self.paid_after_increases() }
    }

    #[cold]
    fn paid_after_increases(&self) -> Instant {
        let mut ahead = *self;
        while ahead.owed_at + Span(ahead.owed / ahead.current_bps) > ahead.increase_due {
            ahead.expire_increase_timer();
        }
        ahead.owed_at + Span(ahead.owed / ahead.current_bps)
    }

    /// Increase of the target rate in this round.
    const fn target_increase_bps(&self) -> u64 {
        let rounds = self.config.fast_recovery_rounds;
        let byte_rounds = if self.config.byte_counter_bytes > 0 {
            self.byte_rounds
        } else {
            self.timer_rounds.saturating_sub(1)
        };
        if self.timer_rounds > rounds && byte_rounds > rounds {
            self.config.hyper_increase_bps
        } else if self.timer_rounds > rounds || byte_rounds > rounds {
            self.config.additive_increase_bps
        } else {
            0
        }
    }

    fn increase(&mut self) {
        self.target_bps += self.target_increase_bps();
        self.target_bps = self.target_bps.min(self.line_rate_bps);
        self.current_bps = self.target_bps.midpoint(self.current_bps);
        // Halving never recovers the last bit/s: within 1 bit/s of line rate the recovery is complete.
        if self.current_bps + 1 >= self.line_rate_bps {
            self.current_bps = self.line_rate_bps;
            self.increase_due = Instant::NEVER;
        }
    }

    /// A packet was sent at `now`; it occupies `wire_bytes` of the link.
    fn on_sent(&mut self, now: Instant, wire_bytes: u32) {
        self.advance(now);
        let below_line = self.current_bps < self.line_rate_bps;
        if below_line && self.config.byte_counter_bytes > 0 {
            self.bytes_since += u64::from(wire_bytes);
            if self.bytes_since >= self.config.byte_counter_bytes {
                self.bytes_since -= self.config.byte_counter_bytes;
                self.byte_rounds += 1;
                self.increase();
            }
        }
        (self.owed, self.owed_at) = (u64::from(wire_bytes) * BYTE, now);
        self.ready_at = self.paid_at();
    }

    /// A congestion notification packet arrived.
    fn on_cnp(&mut self, now: Instant) {
        self.advance(now);
        if now < self.next_cut {
            return;
        }
        self.make_up(now);
        let has_increased = self.timer_rounds > 0 || self.byte_rounds > 0;
        if self.config.clamp_target_rate || has_increased {
            self.target_bps = self.current_bps;
        }
        let cut = u128::from(self.current_bps) * u128::from(self.alpha) / u128::from(2 * ONE);
        self.current_bps = (self.current_bps - cut as u64).max(self.config.rate_min_bps);
        if self.config.fast_recovery_rounds == 0 {
            self.target_bps = self.current_bps;
        }
        let g = u64::from(self.config.g_2e20);
        self.alpha = self.alpha - self.alpha * g / ONE + g;
        self.alpha_due = now + Span(self.config.alpha_timer_ps);
        self.increase_due = now + Span(self.config.increase_timer_ps);
        self.next_cut = now + Span(self.config.rate_cut_period_ps);
        self.bytes_since = 0;
        self.timer_rounds = 0;
        self.byte_rounds = 0;
        self.ready_at = self.paid_at();
    }

    /// Rate at `now` [bit/s]: applies the timers that expire until then on a copy.
    fn rate_bps_at(&self, now: Instant) -> u64 {
        let mut ahead = *self;
        ahead.advance(now);
        ahead.current_bps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The parameters of the paper.
    const PAPER: DcqcnConfig = DcqcnConfig {
        g_2e20: ONE as u32 / 256,
        initial_alpha_2e20: None,
        alpha_timer_ps: 55_000_000,
        rate_cut_period_ps: 50_000_000,
        increase_timer_ps: 55_000_000,
        byte_counter_bytes: 10 << 20,
        fast_recovery_rounds: 5,
        additive_increase_bps: 40_000_000,
        hyper_increase_bps: 400_000_000,
        rate_min_bps: 100_000_000,
        clamp_target_rate: true,
        cnp_interval_ps: 50_000_000,
    };
    const LINE_RATE: Rate = Rate::from_gbps(40);

    const fn at_us(us: u64) -> Instant {
        Instant(us * 1_000_000)
    }

    #[test]
    fn the_first_cnp_halves_the_rate_and_one_period_protects_it() {
        let mut rate = ReactionPoint::new(PAPER, LINE_RATE);
        rate.on_cnp(at_us(100));
        assert_eq!((rate.current_bps, rate.alpha), (20_000_000_000, ONE));
        rate.on_cnp(at_us(149));
        assert_eq!(rate.current_bps, 20_000_000_000);
        rate.on_cnp(at_us(150));
        assert_eq!(rate.current_bps, 10_000_000_000);
    }

    #[test]
    fn the_first_cut_takes_off_half_of_the_initial_alpha() {
        let mut rate =
            ReactionPoint::new(DcqcnConfig { initial_alpha_2e20: Some(ONE as u32 / 4), ..PAPER }, LINE_RATE);
        rate.on_cnp(at_us(0));
        assert_eq!((rate.current_bps, rate.alpha), (35_000_000_000, ONE / 4 - ONE / 1024 + ONE / 256));
        let mut none = ReactionPoint::new(DcqcnConfig { initial_alpha_2e20: Some(0), ..PAPER }, LINE_RATE);
        none.on_cnp(at_us(0));
        assert_eq!((none.current_bps, none.alpha), (40_000_000_000, ONE / 256));
    }

    #[test]
    fn fast_recovery_halves_the_distance_five_times_then_the_target_rises() {
        let mut rate = ReactionPoint::new(PAPER, LINE_RATE);
        rate.on_cnp(at_us(0));
        let mut distance = 20_000_000_000;
        for round in 1..=5 {
            rate.advance(at_us(55 * round));
            distance /= 2;
            assert_eq!(rate.current_bps, 40_000_000_000 - distance);
        }
        let mut twice = ReactionPoint::new(PAPER, LINE_RATE);
        twice.on_cnp(at_us(0));
        twice.on_cnp(at_us(50));
        twice.advance(at_us(50 + 55 * 6));
        assert_eq!(twice.target_bps, 20_040_000_000);
    }

    #[test]
    fn an_unclamped_target_survives_a_row_of_cuts_but_not_one_after_an_increase() {
        let mut rate = ReactionPoint::new(DcqcnConfig { clamp_target_rate: false, ..PAPER }, LINE_RATE);
        rate.on_cnp(at_us(0));
        rate.on_cnp(at_us(50));
        assert_eq!((rate.current_bps, rate.target_bps), (10_000_000_000, 40_000_000_000));
        rate.advance(at_us(105));
        assert_eq!(rate.current_bps, 25_000_000_000);
        rate.on_cnp(at_us(106));
        assert_eq!(rate.target_bps, 25_000_000_000);
    }

    #[test]
    fn without_a_byte_counter_hyper_increase_follows_one_additive_round() {
        let mut rate = ReactionPoint::new(
            DcqcnConfig { byte_counter_bytes: 0, fast_recovery_rounds: 1, ..PAPER },
            LINE_RATE,
        );
        rate.on_cnp(at_us(0));
        rate.on_cnp(at_us(50));
        let mut targets = [20_000_000_000, 20_040_000_000, 20_440_000_000].into_iter();
        for round in 1..=3 {
            rate.advance(at_us(50 + 55 * round));
            assert_eq!(Some(rate.target_bps), targets.next());
        }
    }

    #[test]
    fn without_fast_recovery_the_rate_rises_by_the_additive_increase_only() {
        let config = DcqcnConfig {
            byte_counter_bytes: 0,
            fast_recovery_rounds: 0,
            hyper_increase_bps: 40_000_000,
            ..PAPER
        };
        let mut rate = ReactionPoint::new(config, LINE_RATE);
        rate.on_cnp(at_us(0));
        // Half of R_AI in the first round, all of it in the limit.
        for (rounds, rises_bps) in [(1, 20_000_000), (2, 50_000_000), (100, 3_960_000_000)] {
            assert!(rate.rate_bps_at(at_us(55 * rounds)).abs_diff(20_000_000_000 + rises_bps) <= 10);
        }
    }

    #[test]
    fn alpha_decays_without_cnps() {
        let mut rate = ReactionPoint::new(PAPER, LINE_RATE);
        rate.on_cnp(at_us(0));
        rate.advance(at_us(55));
        assert_eq!(rate.alpha, ONE - ONE / 256);
        rate.advance(at_us(1_000_000));
        assert_eq!(rate.alpha, 0);
    }

    #[test]
    fn packets_are_paced_at_the_current_rate() {
        let mut rate = ReactionPoint::new(PAPER, LINE_RATE);
        rate.on_cnp(at_us(0));
        rate.on_sent(at_us(1), 1_000);
        // 8,000 bits at 20 Gb/s are 400 ns.
        assert_eq!(rate.ready_at, Instant(1_000_000 + 400_000));
    }

    #[test]
    fn a_packet_is_held_back_by_the_rate_as_it_changes() {
        let mut rate = ReactionPoint::new(DcqcnConfig { clamp_target_rate: false, ..PAPER }, LINE_RATE);
        rate.on_cnp(at_us(0));
        // Of 2.4 Mbit, 20 Gb/s covers 1.1 in the first 55 us; 30 Gb/s needs 43.3 us for the rest.
        rate.on_sent(at_us(0), 300_000);
        assert_eq!(rate.ready_at, Instant(55_000_000 + 43_333_333));
        // A cut after 20 of these 43.3 us leaves 0.7 Mbit to the lower rate.
        rate.on_cnp(at_us(75));
        assert_eq!(rate.ready_at, at_us(75) + Span(700_000 * 1_000_000_000_000 / rate.current_bps));
        // With nothing owed a cut changes nothing.
        let mut idle = ReactionPoint::new(PAPER, LINE_RATE);
        idle.on_cnp(at_us(7));
        assert_eq!(idle.ready_at, at_us(7));
    }

    #[test]
    fn the_rate_stays_within_its_bounds() {
        let mut rate = ReactionPoint::new(PAPER, LINE_RATE);
        for cnp in 0..200 {
            rate.on_cnp(at_us(50 * cnp));
            assert!((PAPER.rate_min_bps..=LINE_RATE.bps()).contains(&rate.current_bps));
        }
        assert_eq!(rate.current_bps, PAPER.rate_min_bps);
        rate.advance(at_us(10_000_000));
        assert_eq!(rate.current_bps, LINE_RATE.bps());
    }

    #[test]
    fn the_byte_counter_raises_the_rate_without_the_timer() {
        let mut rate = ReactionPoint::new(PAPER, LINE_RATE);
        rate.on_cnp(at_us(0));
        for packet in 0..2_700 {
            rate.on_sent(Instant(packet), 4_096);
        }
        assert_eq!(rate.current_bps, 30_000_000_000);
    }

    #[test]
    fn bytes_beyond_a_round_of_the_counter_belong_to_the_next() {
        let mut rate = ReactionPoint::new(DcqcnConfig { byte_counter_bytes: 10_000, ..PAPER }, LINE_RATE);
        rate.on_cnp(at_us(0));
        // 10,000 bytes are reached with the third packet, 20,000 with the fifth, 30,000 with the eighth.
        for rate_mbps in [20_000, 20_000, 30_000, 30_000, 35_000, 35_000, 35_000, 37_500] {
            rate.on_sent(at_us(0), 4_096);
            assert_eq!(rate.current_bps, rate_mbps * 1_000_000);
        }
    }

    #[test]
    fn rounds_of_the_byte_counter_alone_lead_to_additive_increase() {
        let config = DcqcnConfig { byte_counter_bytes: 4_096, fast_recovery_rounds: 2, ..PAPER };
        let mut rate = ReactionPoint::new(config, LINE_RATE);
        rate.on_cnp(at_us(0));
        rate.on_cnp(at_us(50));
        let mut targets = Vec::new();
        for _ in 0..4 {
            rate.on_sent(at_us(50), 4_096);
            targets.push(rate.target_bps);
        }
        assert_eq!(targets, [20_000_000_000, 20_000_000_000, 20_040_000_000, 20_080_000_000]);
    }

    #[test]
    fn both_counters_past_fast_recovery_lead_to_hyper_increase() {
        let config = DcqcnConfig { byte_counter_bytes: 4_096, fast_recovery_rounds: 1, ..PAPER };
        let mut rate = ReactionPoint::new(config, LINE_RATE);
        rate.on_cnp(at_us(0));
        rate.on_cnp(at_us(50));
        rate.advance(at_us(50 + 55));
        rate.on_sent(at_us(105), 4_096);
        assert_eq!(rate.target_bps, 20_000_000_000, "one round of each is fast recovery");
        rate.advance(at_us(50 + 2 * 55));
        assert_eq!(rate.target_bps, 20_040_000_000, "two of the timer");
        rate.on_sent(at_us(160), 4_096);
        assert_eq!(rate.target_bps, 20_440_000_000, "two of both");
    }

    #[test]
    fn a_cut_begins_a_round_of_the_byte_counter_anew() {
        let mut rate = ReactionPoint::new(DcqcnConfig { byte_counter_bytes: 10_000, ..PAPER }, LINE_RATE);
        rate.on_cnp(at_us(0));
        rate.on_sent(at_us(0), 9_999);
        rate.on_cnp(at_us(50));
        rate.on_sent(at_us(50), 9_999);
        assert_eq!(rate.current_bps, 10_000_000_000);
        rate.on_sent(at_us(50), 1);
        assert_eq!(rate.current_bps, 15_000_000_000);
    }

    fn config(byte_counter_bytes: u64, clamp_target_rate: bool) -> DcqcnConfig {
        DcqcnConfig {
            g_2e20: (1 << 20) / 256,
            initial_alpha_2e20: None,
            alpha_timer_ps: 5_000_000,
            rate_cut_period_ps: 4_000_000,
            increase_timer_ps: 6_000_000,
            byte_counter_bytes,
            fast_recovery_rounds: 2,
            additive_increase_bps: 40_000_000,
            hyper_increase_bps: 400_000_000,
            rate_min_bps: 100_000_000,
            clamp_target_rate,
            cnp_interval_ps: 4_000_000,
        }
    }

    proptest! {
        #[test]
        fn a_queue_pair_paces_as_its_reaction_point_from_the_start(
            steps in prop::collection::vec((0_u64..3_000_000, 84_u32..5_000, 0_u8..8), 1..300),
            byte_counter_bytes in prop::sample::select(vec![0, 20_000]),
            clamp_target_rate: bool,
        ) {
            let config = config(byte_counter_bytes, clamp_target_rate);
            let line_rate = Rate::from_gbps(400);
            let mut reaction_point = ReactionPoint::new(config, line_rate);
            let mut dcqcn = Dcqcn::new(config, line_rate);
            let mut now = Instant::ZERO;
            for (gap_ps, wire_bytes, kind) in steps {
                now += Span(gap_ps);
                if kind == 0 {
                    reaction_point.on_cnp(now);
                    dcqcn.on_feedback(&Feedback { is_cnp: true, ..Feedback::at(now) });
                } else if reaction_point.ready_at <= now {
                    reaction_point.on_sent(now, wire_bytes);
                    dcqcn.on_sent(now, Psn::new(0), wire_bytes);
                }
                prop_assert_eq!(reaction_point.ready_at, dcqcn.ready_at());
            }
        }
    }
}
