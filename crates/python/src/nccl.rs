//! NCCL's graphs, channels and choices for a cluster, as JSON.

use crate::errors::{bug, spec_error};
use ::nccl::{Query, QueryError, VersionError};
use pyo3::prelude::*;
use spec::SpecError;

/// Graphs, channels and choices of NCCL; `query_json` is a `Query` of crate `nccl`.
///
/// Raises `SpecError` for a version without known rules (field `version`), or for a variable with a value
/// that it does not take (its name is the field).
#[pyfunction]
pub(crate) fn nccl_choices<'py>(py: Python<'py>, query_json: &str) -> PyResult<Bound<'py, PyAny>> {
    let query: Query = serde_json::from_str(query_json).map_err(bug)?;
    let answer = py.detach(|| query.answer()).map_err(|error| spec_error(py, &value_error(&query, error)))?;
    crate::to_python(py, &answer)
}

fn value_error(query: &Query, error: QueryError) -> SpecError {
    match error {
        QueryError::Version(_) => SpecError::Value {
            field: "version".to_owned(),
            found: query.version.clone(),
            allowed: VersionError::ALLOWED.to_owned(),
        },
        QueryError::Setting(error) => {
            SpecError::Value { field: error.name, found: error.value, allowed: error.allowed }
        }
    }
}
