//! Input of a run ([`RunSpec`]), its checks, and its summary ([`RunSummary`]).
//!
//! All values are explicit and versioned. Defaults are in the plan, never here: a [`RunSpec`] is complete, so
//! its hash identifies its result. Other languages generate their definitions from [`run_spec_schema`].

mod check;
mod ranges;
mod run;
mod summary;

pub use check::{CHUNK_PACKETS_MAX, SpecError, check, check_all, unsupported};
pub use run::*;
pub use summary::*;

/// Version of [`RunSpec`] and of the record tables; incremented by changes that affect readers. Since 2 a job
/// has its [`Work`].
pub const SCHEMA_VERSION: u32 = 2;

/// The JSON Schema of [`RunSpec`], from which other languages generate their definitions.
pub fn run_spec_schema() -> schemars::Schema {
    schemars::schema_for!(RunSpec)
}

/// Reads a [`RunSpec`] from JSON and checks it.
///
/// # Errors
/// If the text is not JSON of this shape, or values are out of range or contradict each other.
pub fn from_json(text: &str) -> Result<RunSpec, Vec<SpecError>> {
    let spec: RunSpec = serde_json::from_str(text).map_err(|error| misfits(text, &error))?;
    check_all(&spec)?;
    Ok(spec)
}

/// Errors of text that is not a spec: those of its numbers if there are any, else that of its shape.
fn misfits(text: &str, error: &serde_json::Error) -> Vec<SpecError> {
    let errors =
        serde_json::from_str(text).map_or_else(|_| Vec::new(), |json| ranges::out_of_range_in(&json));
    if errors.is_empty() { vec![SpecError::Shape(error.to_string())] } else { errors }
}
