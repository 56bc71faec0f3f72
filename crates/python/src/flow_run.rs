//! Python functions of the flow model: run, check, estimate of time and memory, the link to which ECMP hashing
//! assigns most queue pairs, and the loads of all links.

use crate::errors::spec_error;
use crate::observer::PyObserver;
use crate::{parse, spec_errors, to_python};
use pyo3::prelude::*;
use pyo3::types::PyList;

/// Runs a spec with the flow model; passes tables and progress to the callbacks.
#[pyfunction]
#[pyo3(signature = (spec_json, *, on_progress = None, on_batch))]
pub(crate) fn run_flow<'py>(
    py: Python<'py>,
    spec_json: &str,
    on_progress: Option<Py<PyAny>>,
    on_batch: Py<PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let spec = parse(py, spec_json)?;
    let mut observer = PyObserver::new(&spec, on_progress, on_batch);
    let outcome = py.detach(|| flow::run(&spec, &mut observer));
    observer.end(py, outcome)
}

/// Errors of a spec that the flow model cannot run: all numbers out of range, or the first other error.
#[pyfunction]
pub(crate) fn check_flow<'py>(py: Python<'py>, spec_json: &str) -> PyResult<Bound<'py, PyList>> {
    spec_errors(py, spec_json, flow::check)
}

/// Estimated cost of a run of a spec with the flow model.
#[pyfunction]
pub(crate) fn estimate_flow<'py>(py: Python<'py>, spec_json: &str) -> PyResult<Bound<'py, PyAny>> {
    let spec = parse(py, spec_json)?;
    let estimate = py.detach(|| flow::estimate(&spec)).map_err(|error| spec_error(py, &error))?;
    to_python(py, &estimate)
}

/// The link between switches to which the hash assigns most queue pairs of one step; `None` without such
/// links.
#[pyfunction]
pub(crate) fn busiest_link<'py>(py: Python<'py>, spec_json: &str) -> PyResult<Bound<'py, PyAny>> {
    let spec = parse(py, spec_json)?;
    let link = py.detach(|| flow::busiest_link(&spec)).map_err(|error| spec_error(py, &error))?;
    to_python(py, &link)
}

/// All cables with the load of each direction by each job.
#[pyfunction]
pub(crate) fn link_loads<'py>(py: Python<'py>, spec_json: &str) -> PyResult<Bound<'py, PyAny>> {
    let spec = parse(py, spec_json)?;
    let links = py.detach(|| flow::link_loads(&spec)).map_err(|error| spec_error(py, &error))?;
    to_python(py, &links)
}
