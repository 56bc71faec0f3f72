//! Each error of the core as one Python exception.

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use spec::SpecError;

pyo3::create_exception!(_core, SpecException, PyValueError, "A spec that cannot be carried out.");

/// `SpecError` with the attributes `field`, `found` and `allowed`.
pub(crate) fn spec_error(py: Python<'_>, error: &SpecError) -> PyErr {
    let exception = SpecException::new_err(error.to_string());
    let (field, found, allowed) = match error {
        SpecError::Shape(text) => ("", text.as_str(), ""),
        SpecError::Value { field, found, allowed } => (field.as_str(), found.as_str(), allowed.as_str()),
    };
    for (name, value) in [("field", field), ("found", found), ("allowed", allowed)] {
        if let Err(failure) = exception.value(py).setattr(name, value) {
            return failure;
        }
    }
    exception
}

/// Something that cannot happen did.
pub(crate) fn bug(error: impl std::fmt::Display) -> PyErr {
    PyRuntimeError::new_err(format!("a bug in fabricbench: {error}"))
}
