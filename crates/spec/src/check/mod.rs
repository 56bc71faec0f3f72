//! Checks of a spec across its fields: refuses specs that cannot be run, with the path of the field.
//! Specs that can run but make little sense are accepted; the plan warns of them. Modules: `fabric` and
//! `jobs`; this file has [`SpecError`], the order of the checks, and those of the transport.

mod fabric;
mod jobs;

use crate::ranges::out_of_range;
use crate::{LinkLayerSpec, LossRecovery, QpType, RateControlSpec, RunSpec, SCHEMA_VERSION};
use fabric::check_fabric;
use jobs::{check_jobs, check_tcp};
use std::ops::RangeInclusive;
use thiserror::Error;
use transport::Limit;

pub use jobs::CHUNK_PACKETS_MAX;

/// Error of a spec.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SpecError {
    /// Not JSON, or not of this shape.
    #[error("not a run spec: {0}")]
    Shape(String),
    /// An unsupported value.
    #[error("{field}: {found}; allowed: {allowed}")]
    Value {
        /// Path of the field, such as `jobs[0].hosts[3]`.
        field: String,
        /// The value.
        found: String,
        /// Allowed values.
        allowed: String,
    },
    /// A number out of its range.
    #[error("{field}: {found}; allowed: {least} to {most}{}", with(limited_by.as_deref()))]
    Range {
        /// Path of the field.
        field: String,
        /// The value.
        found: u64,
        /// Minimum.
        least: u64,
        /// Maximum.
        most: u64,
        /// Path of the field on which the range depends, if any.
        limited_by: Option<String>,
    },
}

impl SpecError {
    /// Prepends a part to the path of the field.
    pub(crate) fn lead_by(&mut self, part: &str) {
        if let Self::Value { field, .. } | Self::Range { field, .. } = self {
            let is_joined = field.is_empty() || field.starts_with('[');
            field.insert_str(0, if is_joined { "" } else { "." });
            field.insert_str(0, part);
        }
    }
}

fn with(field: Option<&str>) -> String {
    field.map_or_else(String::new, |field| format!(" with this {field}"))
}

/// Error of an unsupported value.
#[expect(clippy::needless_pass_by_value, reason = "callers pass literals and numbers")]
pub fn unsupported(field: impl Into<String>, value: impl ToString, allowed: impl Into<String>) -> SpecError {
    SpecError::Value { field: field.into(), found: value.to_string(), allowed: allowed.into() }
}

fn require(holds: bool, error: impl FnOnce() -> SpecError) -> Result<(), SpecError> {
    if holds { Ok(()) } else { Err(error()) }
}

/// Requires a number to be in a range that another field limits: given by path, or by name if it has the same
/// parent.
fn within(
    field: impl Into<String>,
    number: impl Into<u64>,
    allowed: RangeInclusive<u64>,
    limited_by: &str,
) -> Result<(), SpecError> {
    let (number, (least, most)) = (number.into(), allowed.into_inner());
    require((least..=most).contains(&number), || {
        let field = field.into();
        let parent = if limited_by.contains('.') { "" } else { field.trim_end_matches(|each| each != '.') };
        let limited_by = Some(format!("{parent}{limited_by}"));
        SpecError::Range { field, found: number, least, most, limited_by }
    })
}

/// Checks all that the shape alone does not.
///
/// # Errors
/// Each number that is out of its range, or the first field that contradicts another.
pub fn check_all(spec: &RunSpec) -> Result<(), Vec<SpecError>> {
    let errors = out_of_range(spec);
    if errors.is_empty() { check_together(spec).map_err(|error| vec![error]) } else { Err(errors) }
}

/// Same as [`check_all`], with the first error only.
///
/// # Errors
/// The first unsupported value.
pub fn check(spec: &RunSpec) -> Result<(), SpecError> {
    check_all(spec).map_err(|mut errors| errors.swap_remove(0))
}

/// Checks fields against each other, each in its range.
fn check_together(spec: &RunSpec) -> Result<(), SpecError> {
    require(spec.schema_version == SCHEMA_VERSION, || {
        unsupported("schema_version", spec.schema_version, SCHEMA_VERSION.to_string())
    })?;
    check_fabric(spec)?;
    check_transport(spec)?;
    check_jobs(spec)?;
    check_tcp(spec)
}

fn check_transport(spec: &RunSpec) -> Result<(), SpecError> {
    let transport = &spec.transport;
    if transport.connection == QpType::Uc {
        check_unreliable(spec)?;
    }
    let window = transport.window_packets.into();
    // The window would never open.
    within("transport.ack_every", transport.ack_every, 1..=window, "window_packets")?;
    check_rate_control(&transport.rate_control)
}

/// Checks a run of unreliable connections.
fn check_unreliable(spec: &RunSpec) -> Result<(), SpecError> {
    let is_ethernet = matches!(spec.fabric.link_layer, LinkLayerSpec::Ethernet {});
    require(spec.transport.recovery == LossRecovery::None, || {
        unsupported("transport.recovery", "recovery of unreliable connections", "none")
    })?;
    let is_open_loop =
        matches!(spec.transport.rate_control, RateControlSpec::LineRate(_) | RateControlSpec::Fixed(_));
    require(is_open_loop, || {
        unsupported("transport.rate_control", "feedback on unreliable connections", "line-rate or fixed")
    })?;
    require(is_ethernet, || unsupported("transport.connection", "uc on InfiniBand", "rc"))?;
    // READ needs a reliable connection.
    require(!spec.has_storage(), || unsupported("transport.connection", "uc with a storage job", "rc"))
}

fn check_rate_control(rate_control: &RateControlSpec) -> Result<(), SpecError> {
    rate_control.config().limits().into_iter().try_for_each(|Limit { field, number, allowed, limited_by }| {
        within(format!("transport.rate_control.{field}"), number, allowed, limited_by)
    })
}
