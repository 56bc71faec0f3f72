//! Converts errors of the Rust crates to Python exceptions.

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use spec::SpecError;

pyo3::create_exception!(_core, SpecException, PyValueError, "A spec that cannot be carried out.");

/// `SpecError` with the attributes `field`, `found` and `allowed`; for a number out of range also `limits`
/// (minimum and maximum) and `limited_by`.
pub(crate) fn spec_error(py: Python<'_>, error: &SpecError) -> PyErr {
    let exception = SpecException::new_err(error.to_string());
    match set_attributes(exception.value(py), error) {
        Ok(()) => exception,
        Err(failure) => failure,
    }
}

fn set_attributes(exception: &Bound<'_, PyAny>, error: &SpecError) -> PyResult<()> {
    let (field, found, allowed, limits, by) = match error {
        SpecError::Shape(text) => ("", text.clone(), String::new(), None, None),
        SpecError::Value { field, found, allowed } => {
            (field.as_str(), found.clone(), allowed.clone(), None, None)
        }
        SpecError::Range { field, found, least, most, limited_by } => {
            let allowed = format!("{least} to {most}");
            (field.as_str(), found.to_string(), allowed, Some((*least, *most)), limited_by.as_deref())
        }
    };
    exception.setattr("field", field)?;
    exception.setattr("found", found)?;
    exception.setattr("allowed", allowed)?;
    exception.setattr("limits", limits)?;
    exception.setattr("limited_by", by)
}

/// An internal error.
pub(crate) fn bug(error: impl std::fmt::Display) -> PyErr {
    PyRuntimeError::new_err(format!("a bug in fabricbench: {error}"))
}
