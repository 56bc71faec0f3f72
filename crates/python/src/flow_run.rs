//! Runs of the flow model.

use crate::errors::spec_error;
use crate::observer::PyObserver;
use crate::{parse, to_python, usage};
use pyo3::prelude::*;

/// That the flow model covers a spec.
#[pyfunction]
pub(crate) fn check_flow(py: Python<'_>, spec_json: &str) -> PyResult<()> {
    flow::check(&parse(py, spec_json)?).map_err(|error| spec_error(py, &error))
}

/// Carries a spec out with fluid flows; tables and progress go to the callbacks.
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
    let meter = usage::Meter::start();
    let outcome = py.detach(|| flow::run(&spec, &mut observer));
    let summary = match outcome {
        Ok(summary) => {
            observer.finish()?;
            to_python(py, &summary)?
        }
        Err(flow::RunError::Spec(error)) => return Err(spec_error(py, &error)),
        Err(flow::RunError::Stopped) => return Err(observer.into_error()),
    };
    let usage = meter.stop();
    summary.set_item("wall_s", usage.wall_s)?;
    summary.set_item("cpu_s", usage.cpu_s)?;
    summary.set_item("peak_rss_bytes", usage.peak_rss_bytes)?;
    Ok(summary)
}
