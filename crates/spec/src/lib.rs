//! What a run is told ([`RunSpec`]) and what it tells of itself ([`RunSummary`]).
//!
//! Everything here is explicit and versioned. Defaults live in the plan, never here: a [`RunSpec`] is
//! complete, so that its hash names its result. This is the one definition; other languages generate
//! theirs from [`run_spec_schema`].

mod check;
mod ranges;
mod run;
mod summary;

pub use check::{CHUNK_PACKETS_MAX, SpecError, check, check_all};
pub use run::*;
pub use summary::{
    JobSummary, LateFrames, LossCauses, RankTimes, RoundTimes, RunStatus, RunSummary, SizeTimes, TcpSummary,
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
/// When the text is not JSON of this shape, or values are out of their ranges or contradict each other.
pub fn from_json(text: &str) -> Result<RunSpec, Vec<SpecError>> {
    let spec: RunSpec = serde_json::from_str(text).map_err(|error| misfits(text, &error))?;
    check_all(&spec)?;
    Ok(spec)
}

/// Why text is no spec: by its numbers if it is for them.
fn misfits(text: &str, error: &serde_json::Error) -> Vec<SpecError> {
    let errors =
        serde_json::from_str(text).map_or_else(|_| Vec::new(), |json| ranges::out_of_range_in(&json));
    if errors.is_empty() { vec![SpecError::Shape(error.to_string())] } else { errors }
}
