//! Rate controllers of queue pairs.

use spec::{RateControl, RunSpec};
use std::sync::Arc;
use transport::{Controller, DcqcnConfig, DcqcnPacer, SwiftConfig, TimelyConfig};
use units::{Rate, Span};

/// Initial rate controller of queue pairs at a port with this line rate.
#[must_use]
pub fn controller(spec: &RunSpec, line_rate: Rate) -> Controller {
    let dcqcn = dcqcn_config(spec, line_rate).map(|config| DcqcnPacer::new(Arc::new(config)));
    let swift = || swift_config(spec, line_rate).map(|config| Controller::swift(Arc::new(config)));
    let timely = || timely_config(spec, line_rate).map(|config| Controller::timely(Arc::new(config)));
    let controller = dcqcn.map(Controller::Dcqcn).or_else(swift).or_else(timely);
    controller.unwrap_or(Controller::LineRate)
}

/// DCQCN parameters at a port, if the spec uses DCQCN.
const fn dcqcn_config(spec: &RunSpec, line_rate: Rate) -> Option<DcqcnConfig> {
    match spec.transport.rate_control {
        RateControl::Dcqcn {
            g_2e20,
            initial_alpha_2e20,
            alpha_timer_ps,
            rate_cut_period_ps,
            increase_timer_ps,
            byte_counter_bytes,
            fast_recovery_rounds,
            additive_increase_bps,
            hyper_increase_bps,
            rate_min_bps,
            clamp_target_rate,
            cnp_interval_ps: _,
        } => Some(DcqcnConfig {
            g: g_2e20 as u64,
            initial_alpha: match initial_alpha_2e20 {
                Some(alpha) => alpha as u64,
                None => DcqcnConfig::ALPHA_ONE,
            },
            alpha_timer: Span(alpha_timer_ps),
            rate_cut_period: Span(rate_cut_period_ps),
            increase_timer: Span(increase_timer_ps),
            byte_counter_bytes,
            fast_recovery_rounds,
            additive_increase_bps,
            hyper_increase_bps,
            rate_min_bps,
            clamp_target_rate,
            line_rate_bps: line_rate.bps(),
        }),
        _ => None,
    }
}

/// Swift parameters at a port, if the spec uses Swift.
const fn swift_config(spec: &RunSpec, line_rate: Rate) -> Option<SwiftConfig> {
    match spec.transport.rate_control {
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
            reset_timeouts,
        } => Some(SwiftConfig {
            base_target: Span(base_target_ps),
            hop_target: Span(hop_target_ps),
            scaling_range: Span(scaling_range_ps),
            scaling_windows: [scaling_window_min_2e20, scaling_window_max_2e20],
            additive_increase: additive_increase_2e20,
            beta_ppm,
            decrease_max_ppm,
            window_range: [window_min_2e20, window_max_2e20],
            reset_timeouts,
            mtu_bytes: spec.transport.mtu_bytes,
            line_rate_bps: line_rate.bps(),
        }),
        _ => None,
    }
}

/// TIMELY parameters at a port, if the spec uses TIMELY.
const fn timely_config(spec: &RunSpec, line_rate: Rate) -> Option<TimelyConfig> {
    match spec.transport.rate_control {
        RateControl::Timely {
            alpha_ppm,
            beta_ppm,
            decrease_max_ppm,
            rtt_low_ps,
            rtt_high_ps,
            rtt_min_ps,
            additive_increase_bps,
            segment_bytes,
            rate_min_bps,
        } => Some(TimelyConfig {
            alpha_ppm,
            beta_ppm,
            decrease_max_ppm,
            rtt_low: Span(rtt_low_ps),
            rtt_high: Span(rtt_high_ps),
            rtt_min: Span(rtt_min_ps),
            additive_increase_bps,
            segment_bytes,
            rate_min_bps,
            mtu_bytes: spec.transport.mtu_bytes,
            line_rate_bps: line_rate.bps(),
        }),
        _ => None,
    }
}

/// Minimum interval between congestion notifications of a receiving queue pair; `None` if it sends none.
#[must_use]
pub const fn cnp_interval(spec: &RunSpec) -> Option<Span> {
    match spec.transport.rate_control {
        RateControl::Swift { .. } | RateControl::Timely { .. } => None,
        RateControl::LineRate { cnp_interval_ps: None } => None,
        RateControl::LineRate { cnp_interval_ps: Some(interval_ps) } => Some(Span(interval_ps)),
        RateControl::Dcqcn { cnp_interval_ps, .. } => Some(Span(cnp_interval_ps)),
    }
}
