//! Checks of rate control: that the engine can compute with it.

use crate::RateControl;
use crate::check::{DURATION_PS_MAX, RATE_BPS_MAX, SpecError, WINDOW_PACKETS_MAX, require, value};
use std::ops::RangeInclusive;

/// Windows of a rate controller: a thousandth of a packet to the most that a queue pair has in flight [1/2^20
/// packets].
const WINDOW_2E20_MIN: u64 = 1 << 10;
const WINDOW_2E20_MAX: u64 = (WINDOW_PACKETS_MAX as u64) << 20;
/// Largest additive increase: a thousand packets [1/2^20 packets].
const INCREASE_2E20_MAX: u64 = 1_000 << 20;

/// DCQCN takes any value.
pub(crate) fn check_rate_control(rate_control: &RateControl) -> Result<(), SpecError> {
    let check = |name: &str, found: u64, allowed: RangeInclusive<u64>| {
        require(allowed.contains(&found), || {
            let field = format!("transport.rate_control.{name}");
            value(field, found, format!("{} to {}", allowed.start(), allowed.end()))
        })
    };
    let ratio = |name: &str, found: u32| check(name, found.into(), 0..=1_000_000);
    let time = |name: &str, found: u64| check(name, found, 1..=DURATION_PS_MAX);
    match *rate_control {
        RateControl::LineRate {} | RateControl::Dcqcn { .. } => Ok(()),
        RateControl::Swift {
            base_target_ps,
            hop_target_ps,
            scaling_range_ps,
            scaling_window_min_2e20,
            scaling_window_max_2e20,
            additive_increase_2e20,
            beta_ppm,
            decrease_max_ppm,
            window_min_2e20,
            window_max_2e20,
            reset_timeouts: _,
        } => {
            time("base_target_ps", base_target_ps)?;
            check("hop_target_ps", hop_target_ps, 0..=DURATION_PS_MAX)?;
            check("scaling_range_ps", scaling_range_ps, 0..=DURATION_PS_MAX)?;
            let windows = [window_min_2e20, scaling_window_min_2e20];
            let names = ["window_min_2e20", "scaling_window_min_2e20"];
            for (name, found) in names.into_iter().zip(windows) {
                check(name, found, WINDOW_2E20_MIN..=WINDOW_2E20_MAX)?;
            }
            check("window_max_2e20", window_max_2e20, window_min_2e20..=WINDOW_2E20_MAX)?;
            let scaling = scaling_window_min_2e20..=WINDOW_2E20_MAX;
            check("scaling_window_max_2e20", scaling_window_max_2e20, scaling)?;
            check("additive_increase_2e20", additive_increase_2e20, 1..=INCREASE_2E20_MAX)?;
            ratio("beta_ppm", beta_ppm)?;
            ratio("decrease_max_ppm", decrease_max_ppm)
        }
        RateControl::Timely {
            alpha_ppm,
            beta_ppm,
            rtt_low_ps,
            rtt_high_ps,
            rtt_min_ps,
            additive_increase_bps,
            segment_bytes,
            rate_min_bps,
        } => {
            ratio("alpha_ppm", alpha_ppm)?;
            ratio("beta_ppm", beta_ppm)?;
            time("rtt_low_ps", rtt_low_ps)?;
            check("rtt_high_ps", rtt_high_ps, rtt_low_ps..=DURATION_PS_MAX)?;
            time("rtt_min_ps", rtt_min_ps)?;
            check("additive_increase_bps", additive_increase_bps, 1..=RATE_BPS_MAX)?;
            check("segment_bytes", segment_bytes, 1..=1 << 40)?;
            check("rate_min_bps", rate_min_bps, 1..=RATE_BPS_MAX)
        }
    }
}
