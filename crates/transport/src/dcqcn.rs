//! DCQCN at the sender (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015,
//! section 3).
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

use crate::RateControl;
use units::{Instant, Span, State};

/// One, in units of alpha and g.
const ONE: u64 = 1 << 20;
/// One byte, in bit/s x ps.
const BYTE: u64 = 8_000_000_000_000;

/// Parameters of DCQCN. All values come from the run spec; nothing here has a default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DcqcnConfig {
    /// Gain of alpha [2^-20].
    pub g: u64,
    /// Alpha before the first CNP [2^-20], at most [`DcqcnConfig::ALPHA_ONE`]; 1 in SIGCOMM 2015, section 3.
    pub initial_alpha: u64,
    /// Alpha decays after this long without a CNP.
    pub alpha_timer: Span,
    /// At most one rate cut in this time.
    pub rate_cut_period: Span,
    /// Increase timer.
    pub increase_timer: Span,
    /// Increase byte counter; 0 switches it off [bytes].
    pub byte_counter_bytes: u64,
    /// Rounds of fast recovery; with 0 a cut lowers the target rate to the rate after the cut.
    pub fast_recovery_rounds: u32,
    /// Additive increase [bit/s].
    pub additive_increase_bps: u64,
    /// Hyper increase [bit/s].
    pub hyper_increase_bps: u64,
    /// Smallest rate [bit/s].
    pub rate_min_bps: u64,
    /// Every cut lowers the target rate; otherwise only the first cut and cuts that follow an increase.
    pub clamp_target_rate: bool,
    /// Rate of the port [bit/s].
    pub line_rate_bps: u64,
}

impl DcqcnConfig {
    /// An alpha of 1 [2^-20].
    pub const ALPHA_ONE: u64 = ONE;

    /// Pacing time of a packet at line rate.
    #[inline]
    #[must_use]
    pub fn span_at_line_rate(&self, wire_bytes: u32) -> Span {
        Span(u64::from(wire_bytes) * BYTE / self.line_rate_bps)
    }
}

/// Rate control state of one queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub struct Dcqcn {
    #[state(skip)]
    config: DcqcnConfig,
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

impl Dcqcn {
    /// Starts at line rate.
    #[must_use]
    pub const fn new(config: DcqcnConfig) -> Self {
        Self {
            current_bps: config.line_rate_bps,
            target_bps: config.line_rate_bps,
            alpha: config.initial_alpha,
            config,
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

    /// Current rate [bit/s].
    #[must_use]
    pub const fn rate_bps(&self) -> u64 {
        self.current_bps
    }

    /// Alpha [2^-20].
    #[must_use]
    pub const fn alpha_2e20(&self) -> u64 {
        self.alpha
    }

    /// Applies the timers that have expired by `now`, in order of time.
    fn advance(&mut self, now: Instant) {
        while self.alpha_due <= now {
            self.alpha -= self.alpha * self.config.g / ONE;
            self.alpha_due += self.config.alpha_timer;
            if self.alpha * self.config.g < ONE {
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
        self.increase_due += self.config.increase_timer;
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
        self.target_bps = self.target_bps.min(self.config.line_rate_bps);
        self.current_bps = self.target_bps.midpoint(self.current_bps);
        // Halving never recovers the last bit/s: within 1 bit/s of line rate the recovery is complete.
        if self.current_bps + 1 >= self.config.line_rate_bps {
            self.current_bps = self.config.line_rate_bps;
            self.increase_due = Instant::NEVER;
        }
    }
}

impl RateControl for Dcqcn {
    #[inline]
    fn ready_at(&self) -> Instant {
        self.ready_at
    }

    fn on_sent(&mut self, now: Instant, wire_bytes: u32) {
        self.advance(now);
        let below_line = self.current_bps < self.config.line_rate_bps;
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
        self.alpha = self.alpha - self.alpha * self.config.g / ONE + self.config.g;
        self.alpha_due = now + self.config.alpha_timer;
        self.increase_due = now + self.config.increase_timer;
        self.next_cut = now + self.config.rate_cut_period;
        self.bytes_since = 0;
        self.timer_rounds = 0;
        self.byte_rounds = 0;
        self.ready_at = self.paid_at();
    }

    /// Applies the timers that expire until `now` on a copy.
    fn rate_bps_at(&self, now: Instant) -> Option<u64> {
        let mut ahead = *self;
        ahead.advance(now);
        Some(ahead.current_bps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parameters of the paper.
    const PAPER: DcqcnConfig = DcqcnConfig {
        g: ONE / 256,
        initial_alpha: ONE,
        alpha_timer: Span::from_us(55),
        rate_cut_period: Span::from_us(50),
        increase_timer: Span::from_us(55),
        byte_counter_bytes: 10 << 20,
        fast_recovery_rounds: 5,
        additive_increase_bps: 40_000_000,
        hyper_increase_bps: 400_000_000,
        rate_min_bps: 100_000_000,
        clamp_target_rate: true,
        line_rate_bps: 40_000_000_000,
    };

    const fn at_us(us: u64) -> Instant {
        Instant(us * 1_000_000)
    }

    #[test]
    fn the_first_cnp_halves_the_rate_and_one_period_protects_it() {
        let mut rate = Dcqcn::new(PAPER);
        rate.on_cnp(at_us(100));
        assert_eq!((rate.rate_bps(), rate.alpha_2e20()), (20_000_000_000, ONE));
        rate.on_cnp(at_us(149));
        assert_eq!(rate.rate_bps(), 20_000_000_000);
        rate.on_cnp(at_us(150));
        assert_eq!(rate.rate_bps(), 10_000_000_000);
    }

    #[test]
    fn the_first_cut_takes_off_half_of_the_initial_alpha() {
        let mut rate = Dcqcn::new(DcqcnConfig { initial_alpha: ONE / 4, ..PAPER });
        rate.on_cnp(at_us(0));
        assert_eq!((rate.rate_bps(), rate.alpha_2e20()), (35_000_000_000, ONE / 4 - ONE / 1024 + ONE / 256));
        let mut none = Dcqcn::new(DcqcnConfig { initial_alpha: 0, ..PAPER });
        none.on_cnp(at_us(0));
        assert_eq!((none.rate_bps(), none.alpha_2e20()), (40_000_000_000, ONE / 256));
    }

    #[test]
    fn fast_recovery_halves_the_distance_five_times_then_the_target_rises() {
        let mut rate = Dcqcn::new(PAPER);
        rate.on_cnp(at_us(0));
        let mut distance = 20_000_000_000;
        for round in 1..=5 {
            rate.advance(at_us(55 * round));
            distance /= 2;
            assert_eq!(rate.rate_bps(), 40_000_000_000 - distance);
        }
        let mut twice = Dcqcn::new(PAPER);
        twice.on_cnp(at_us(0));
        twice.on_cnp(at_us(50));
        twice.advance(at_us(50 + 55 * 6));
        assert_eq!(twice.target_bps, 20_040_000_000);
    }

    #[test]
    fn an_unclamped_target_survives_a_row_of_cuts_but_not_one_after_an_increase() {
        let mut rate = Dcqcn::new(DcqcnConfig { clamp_target_rate: false, ..PAPER });
        rate.on_cnp(at_us(0));
        rate.on_cnp(at_us(50));
        assert_eq!((rate.rate_bps(), rate.target_bps), (10_000_000_000, 40_000_000_000));
        rate.advance(at_us(105));
        assert_eq!(rate.rate_bps(), 25_000_000_000);
        rate.on_cnp(at_us(106));
        assert_eq!(rate.target_bps, 25_000_000_000);
    }

    #[test]
    fn without_a_byte_counter_hyper_increase_follows_one_additive_round() {
        let mut rate = Dcqcn::new(DcqcnConfig { byte_counter_bytes: 0, fast_recovery_rounds: 1, ..PAPER });
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
        let mut rate = Dcqcn::new(config);
        rate.on_cnp(at_us(0));
        // Half of R_AI in the first round, all of it in the limit.
        for (rounds, rises_bps) in [(1, 20_000_000), (2, 50_000_000), (100, 3_960_000_000)] {
            assert!(rate.rate_bps_at(at_us(55 * rounds)).unwrap().abs_diff(20_000_000_000 + rises_bps) <= 10);
        }
    }

    #[test]
    fn alpha_decays_without_cnps() {
        let mut rate = Dcqcn::new(PAPER);
        rate.on_cnp(at_us(0));
        rate.advance(at_us(55));
        assert_eq!(rate.alpha_2e20(), ONE - ONE / 256);
        rate.advance(at_us(1_000_000));
        assert_eq!(rate.alpha_2e20(), 0);
    }

    #[test]
    fn packets_are_paced_at_the_current_rate() {
        let mut rate = Dcqcn::new(PAPER);
        rate.on_cnp(at_us(0));
        rate.on_sent(at_us(1), 1_000);
        // 8,000 bits at 20 Gb/s are 400 ns.
        assert_eq!(rate.ready_at(), Instant(1_000_000 + 400_000));
    }

    #[test]
    fn a_packet_is_held_back_by_the_rate_as_it_changes() {
        let mut rate = Dcqcn::new(DcqcnConfig { clamp_target_rate: false, ..PAPER });
        rate.on_cnp(at_us(0));
        // Of 2.4 Mbit, 20 Gb/s covers 1.1 in the first 55 us; 30 Gb/s needs 43.3 us for the rest.
        rate.on_sent(at_us(0), 300_000);
        assert_eq!(rate.ready_at(), Instant(55_000_000 + 43_333_333));
        // A cut after 20 of these 43.3 us leaves 0.7 Mbit to the lower rate.
        rate.on_cnp(at_us(75));
        assert_eq!(rate.ready_at(), at_us(75) + Span(700_000 * 1_000_000_000_000 / rate.rate_bps()));
        // With nothing owed a cut changes nothing.
        let mut idle = Dcqcn::new(PAPER);
        idle.on_cnp(at_us(7));
        assert_eq!(idle.ready_at(), at_us(7));
    }

    #[test]
    fn the_rate_stays_within_its_bounds() {
        let mut rate = Dcqcn::new(PAPER);
        for cnp in 0..200 {
            rate.on_cnp(at_us(50 * cnp));
            assert!((PAPER.rate_min_bps..=PAPER.line_rate_bps).contains(&rate.rate_bps()));
        }
        assert_eq!(rate.rate_bps(), PAPER.rate_min_bps);
        rate.advance(at_us(10_000_000));
        assert_eq!(rate.rate_bps(), PAPER.line_rate_bps);
    }

    #[test]
    fn the_byte_counter_raises_the_rate_without_the_timer() {
        let mut rate = Dcqcn::new(PAPER);
        rate.on_cnp(at_us(0));
        for packet in 0..2_700 {
            rate.on_sent(Instant(packet), 4_096);
        }
        assert_eq!(rate.rate_bps(), 30_000_000_000);
    }

    #[test]
    fn bytes_beyond_a_round_of_the_counter_belong_to_the_next() {
        let mut rate = Dcqcn::new(DcqcnConfig { byte_counter_bytes: 10_000, ..PAPER });
        rate.on_cnp(at_us(0));
        // 10,000 bytes are reached with the third packet, 20,000 with the fifth, 30,000 with the eighth.
        for rate_mbps in [20_000, 20_000, 30_000, 30_000, 35_000, 35_000, 35_000, 37_500] {
            rate.on_sent(at_us(0), 4_096);
            assert_eq!(rate.rate_bps(), rate_mbps * 1_000_000);
        }
    }

    #[test]
    fn rounds_of_the_byte_counter_alone_lead_to_additive_increase() {
        let config = DcqcnConfig { byte_counter_bytes: 4_096, fast_recovery_rounds: 2, ..PAPER };
        let mut rate = Dcqcn::new(config);
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
        let mut rate = Dcqcn::new(config);
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
        let mut rate = Dcqcn::new(DcqcnConfig { byte_counter_bytes: 10_000, ..PAPER });
        rate.on_cnp(at_us(0));
        rate.on_sent(at_us(0), 9_999);
        rate.on_cnp(at_us(50));
        rate.on_sent(at_us(50), 9_999);
        assert_eq!(rate.rate_bps(), 10_000_000_000);
        rate.on_sent(at_us(50), 1);
        assert_eq!(rate.rate_bps(), 15_000_000_000);
    }
}
