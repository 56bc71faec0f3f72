//! Checks of what is wrong with links: delay lines, and what fails in the course of a run.

use crate::check::{DURATION_PS_MAX, require, value};
use crate::{FabricSpec, FailureSpec, SpecError};

/// Longest delay line [ps].
const EXTRA_DELAY_PS_MAX: u64 = 1_000_000_000_000;
/// Most wrong bits [of 10^18].
const ERRORS_1E18_MAX: u64 = 1_000_000_000_000_000;
/// Most frames lost by a link that is up [parts per million].
const LOST_PPM_MAX: u32 = 500_000;

/// What is named is for the simulator to check, which knows the graph.
pub(crate) fn check_failures(fabric: &FabricSpec) -> Result<(), SpecError> {
    let allowed = "at most 1,000 s";
    require(fabric.convergence_time_ps <= DURATION_PS_MAX, || {
        value("fabric.convergence_time_ps", fabric.convergence_time_ps, allowed)
    })?;
    fabric.extra_delays.iter().enumerate().try_for_each(|(index, extra)| {
        require(extra.delay_ps <= EXTRA_DELAY_PS_MAX, || {
            value(format!("fabric.extra_delays[{index}].delay_ps"), extra.delay_ps, "at most 1 s")
        })
    })?;
    fabric.failures.iter().enumerate().try_for_each(|(index, failure)| {
        require(failure.at_ps() <= DURATION_PS_MAX, || {
            value(format!("fabric.failures[{index}].at_ps"), failure.at_ps(), allowed)
        })?;
        check_errors(index, failure)
    })
}

/// A link with more errors is as good as down.
fn check_errors(index: usize, failure: &FailureSpec) -> Result<(), SpecError> {
    match *failure {
        FailureSpec::BitErrors { errors_1e18, .. } => require(errors_1e18 <= ERRORS_1E18_MAX, || {
            value(
                format!("fabric.failures[{index}].errors_1e18"),
                errors_1e18,
                "at most 1e15, one bit in 1,000",
            )
        }),
        FailureSpec::FrameLoss { lost_ppm, .. } => require(lost_ppm <= LOST_PPM_MAX, || {
            value(
                format!("fabric.failures[{index}].lost_ppm"),
                lost_ppm,
                "at most 500,000, half of the frames",
            )
        }),
        FailureSpec::NicThroughput { throughput_ppm, .. } => {
            require((1..=1_000_000).contains(&throughput_ppm), || {
                let field = format!("fabric.failures[{index}].throughput_ppm");
                value(field, throughput_ppm, "1 to 1,000,000")
            })
        }
        _ => Ok(()),
    }
}
