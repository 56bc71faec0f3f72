//! Python class of a run at an agent (a process that acts as one or more hosts), with its stages from
//! creation to results; functions for drivers and for rows of table `chunks`; exceptions.

use crate::errors::{bug, spec_error};
use arrow_pyarrow::ToPyArrow;
use endpoint::run::record::{self, ClockLine, Halves};
use endpoint::run::{self, Progress, RunError, Settings, State};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::collections::BTreeMap;
use std::time::Duration;

/// A run at an agent that acts as some hosts.
#[pyclass(frozen)]
pub(crate) struct HostRun(run::HostRun);

#[pymethods]
impl HostRun {
    #[new]
    #[pyo3(signature = (spec_json, *, hosts, driver, settings_json))]
    #[expect(clippy::needless_pass_by_value, reason = "a list arrives from Python by value")]
    fn new(
        py: Python<'_>,
        spec_json: &str,
        hosts: Vec<u32>,
        driver: &str,
        settings_json: &str,
    ) -> PyResult<Self> {
        let spec = crate::parse(py, spec_json)?;
        let run = py.detach(|| run::HostRun::new(spec, &hosts, driver, Settings::from_json(settings_json)?));
        run.map(Self).map_err(|error| run_error(py, error))
    }

    fn addresses<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.0.addresses()).map_err(|error| run_error(py, error))?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[expect(clippy::needless_pass_by_value, reason = "a dict arrives from Python by value")]
    fn connect(&self, py: Python<'_>, peers: BTreeMap<u32, Vec<u8>>) -> PyResult<()> {
        py.detach(|| self.0.connect(&peers)).map_err(|error| run_error(py, error))
    }

    fn start(&self, py: Python<'_>, at_ns: u64) -> PyResult<()> {
        py.detach(|| self.0.start(at_ns)).map_err(|error| run_error(py, error))
    }

    fn keep_alive(&self) {
        self.0.keep_alive();
    }

    fn stop(&self, py: Python<'_>, reason: &str) {
        py.detach(|| self.0.stop(reason));
    }

    fn progress<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let Progress { state, reason, delivered_bytes, total_bytes, elapsed, is_idle } =
            py.detach(|| self.0.progress());
        let dict = PyDict::new(py);
        dict.set_item("state", name(state))?;
        dict.set_item("reason", reason)?;
        dict.set_item("delivered_bytes", delivered_bytes)?;
        dict.set_item("total_bytes", total_bytes)?;
        dict.set_item("elapsed_ps", elapsed.0)?;
        dict.set_item("is_idle", is_idle)?;
        Ok(dict)
    }

    fn wait(&self, py: Python<'_>, timeout_s: f64) -> PyResult<bool> {
        let timeout = Duration::try_from_secs_f64(timeout_s)
            .map_err(|error| PyValueError::new_err(format!("timeout_s: {error}")))?;
        Ok(py.detach(|| self.0.wait(timeout)))
    }

    fn sent<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.0.sent()).map_err(|error| run_error(py, error))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn received<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.0.received()).map_err(|error| run_error(py, error))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn counters(&self, py: Python<'_>) -> BTreeMap<&'static str, u64> {
        py.detach(|| self.0.counters()).into_iter().collect()
    }
}

/// All drivers, each with the reason why it is unavailable on this host (at that IPv4 address, if given), or
/// "".
#[pyfunction]
#[pyo3(signature = (address=None))]
pub(crate) fn drivers(py: Python<'_>, address: Option<&str>) -> PyResult<BTreeMap<&'static str, String>> {
    let address = address.map(str::parse).transpose();
    let address = address.map_err(|error| PyValueError::new_err(format!("address: {error}")))?;
    Ok(py.detach(|| run::drivers(address)).into_iter().collect())
}

/// Columns of table `chunks` that a driver does not measure.
#[pyfunction]
pub(crate) fn unmeasured(driver: &str) -> Vec<&'static str> {
    record::unmeasured(driver)
}

/// Rows of table `chunks`, joined from the records of all agents.
#[pyfunction]
#[pyo3(signature = (spec_json, *, driver, sent, received, shifts_ps))]
#[expect(clippy::needless_pass_by_value, reason = "lists arrive from Python by value")]
pub(crate) fn chunk_rows<'py>(
    py: Python<'py>,
    spec_json: &str,
    driver: &str,
    sent: Vec<Vec<u8>>,
    received: Vec<Vec<u8>>,
    shifts_ps: BTreeMap<u32, [(i64, i64); 2]>,
) -> PyResult<Bound<'py, PyList>> {
    let spec = crate::parse(py, spec_json)?;
    let line = |[first, last]: [(i64, i64); 2]| ClockLine {
        times_ps: [first.0, last.0],
        shifts_ps: [first.1, last.1],
    };
    let clocks = shifts_ps.into_iter().map(|(host, readings)| (host, line(readings))).collect();
    let halves = Halves { sent: &sent, received: &received, clocks: &clocks };
    let batches = py.detach(|| record::chunk_rows(&spec, halves, driver));
    let batches = batches.map_err(|error| run_error(py, error))?;
    let list = PyList::empty(py);
    for batch in batches {
        list.append(batch.to_pyarrow(py).map_err(bug)?)?;
    }
    Ok(list)
}

const fn name(state: State) -> &'static str {
    match state {
        State::Running => "running",
        State::Drained => "drained",
        State::Stopped => "stopped",
        State::Failed => "failed",
    }
}

/// The Python exception of an error: `SpecError` for the spec, `OSError` for the operating system,
/// `RuntimeError` for a call out of order, and `ValueError` for others.
fn run_error(py: Python<'_>, error: RunError) -> PyErr {
    match error {
        RunError::Spec(error) => spec_error(py, &error),
        RunError::Io(error) => PyOSError::new_err(error),
        RunError::Order(text) => PyRuntimeError::new_err(text),
        other => PyValueError::new_err(other.to_string()),
    }
}
