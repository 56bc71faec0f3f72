//! DCQCN at the sender (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, section 3).
//!
//! On a CNP: `Rt = Rc; Rc = Rc (1 - a/2); a = (1-g) a + g`, at most once per period. Without one for the alpha
//! timer: `a = (1-g) a`. Each expiry of the increase timer and each run of the byte counter raises the rate: F
//! rounds of fast recovery `Rc = (Rt+Rc)/2`, then additive `Rt += R_AI`, then, when both counters are past F, hyper
//! `Rt += R_HAI`. Timers are applied lazily, when the queue pair next sends or hears something. All in integers:
//! rates in bit/s, alpha and g in 2^-20.

use crate::RateControl;
use units::{Instant, Span};

/// One, in units of alpha and g.
const ONE: u64 = 1 << 20;
/// Picoseconds per second times bits per byte.
const PS_BITS_PER_S: u128 = 8_000_000_000_000;

/// Parameters of DCQCN. All values come from the run spec; nothing here has a default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DcqcnConfig {
    /// Gain of alpha [2^-20].
    pub g: u64,
    /// Alpha decays after this long without a CNP.
    pub alpha_timer: Span,
    /// At most one rate cut in this time.
    pub rate_cut_period: Span,
    /// Increase timer.
    pub increase_timer: Span,
    /// Increase byte counter; 0 switches it off [bytes].
    pub byte_counter_bytes: u64,
    /// Rounds of fast recovery.
    pub fast_recovery_rounds: u32,
    /// Additive increase [bit/s].
    pub additive_increase_bps: u64,
    /// Hyper increase [bit/s].
    pub hyper_increase_bps: u64,
    /// Smallest rate [bit/s].
    pub rate_min_bps: u64,
    /// Rate of the port [bit/s].
    pub line_rate_bps: u64,
}

/// The rate of one queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dcqcn {
    config: DcqcnConfig,
    /// Current and target rate [bit/s].
    current_bps: u64,
    target_bps: u64,
    alpha: u64,
    ready_at: Instant,
    /// When alpha next decays and the increase timer next expires.
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
            config,
            alpha: ONE,
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

    /// Alpha, of 2^20.
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
                // Too small to decay further in these units: as good as zero.
                self.alpha = 0;
                self.alpha_due = Instant::NEVER;
            }
        }
        while self.increase_due <= now {
            self.increase_due += self.config.increase_timer;
            self.timer_rounds += 1;
            self.increase();
        }
    }

    fn increase(&mut self) {
        let rounds = self.config.fast_recovery_rounds;
        if self.timer_rounds > rounds && self.byte_rounds > rounds {
            self.target_bps += self.config.hyper_increase_bps;
        } else if self.timer_rounds > rounds || self.byte_rounds > rounds {
            self.target_bps += self.config.additive_increase_bps;
        }
        self.target_bps = self.target_bps.min(self.config.line_rate_bps);
        self.current_bps = self.target_bps.midpoint(self.current_bps);
        // Halving leaves the last bit: at the top nothing is left to recover.
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
        let gap = u128::from(wire_bytes) * PS_BITS_PER_S / u128::from(self.current_bps);
        self.ready_at = now + Span(gap as u64);
    }

    fn on_cnp(&mut self, now: Instant) {
        self.advance(now);
        if now < self.next_cut {
            return;
        }
        self.target_bps = self.current_bps;
        let cut = u128::from(self.current_bps) * u128::from(self.alpha) / u128::from(2 * ONE);
        self.current_bps = (self.current_bps - cut as u64).max(self.config.rate_min_bps);
        self.alpha = self.alpha - self.alpha * self.config.g / ONE + self.config.g;
        self.alpha_due = now + self.config.alpha_timer;
        self.increase_due = now + self.config.increase_timer;
        self.next_cut = now + self.config.rate_cut_period;
        self.bytes_since = 0;
        self.timer_rounds = 0;
        self.byte_rounds = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parameters of the paper.
    const PAPER: DcqcnConfig = DcqcnConfig {
        g: ONE / 256,
        alpha_timer: Span::from_us(55),
        rate_cut_period: Span::from_us(50),
        increase_timer: Span::from_us(55),
        byte_counter_bytes: 10 << 20,
        fast_recovery_rounds: 5,
        additive_increase_bps: 40_000_000,
        hyper_increase_bps: 400_000_000,
        rate_min_bps: 100_000_000,
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
}
