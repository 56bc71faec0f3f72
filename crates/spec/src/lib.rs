//! What a run is told ([`RunSpec`]) and what it tells of itself ([`RunSummary`]).
//!
//! Everything here is explicit and versioned. Defaults live in the plan, never here: a [`RunSpec`] is
//! complete, so that its hash names its result. This is the one definition; other languages generate
//! theirs from [`run_spec_schema`].

mod check;
mod check_failures;
mod check_link_layer;
mod check_mpi;
mod check_rate_control;
mod check_scheduled;
mod check_storage;
mod check_switch;
mod check_tcp;
mod run;
mod summary;

pub use check::{CHUNK_PACKETS_MAX, SpecError, check};
pub use run::*;
pub use summary::{
    JobSummary, LateFrames, LossCauses, RankTimes, RoundTimes, RunStatus, RunSummary, TcpSummary,
};

/// Version of the shape of [`RunSpec`] and of the record tables. A change that readers must know of
/// increments it.
pub const SCHEMA_VERSION: u32 = 1;

/// The JSON Schema of [`RunSpec`], from which other languages generate their definitions.
#[must_use]
pub fn run_spec_schema() -> schemars::Schema {
    schemars::schema_for!(RunSpec)
}

/// Reads a [`RunSpec`] from JSON and checks it.
///
/// # Errors
/// When the text is not JSON of this shape, or a value is out of its range or contradicts another.
pub fn from_json(text: &str) -> Result<RunSpec, SpecError> {
    let spec: RunSpec = serde_json::from_str(text).map_err(|error| SpecError::Shape(error.to_string()))?;
    check(&spec)?;
    Ok(spec)
}
