//! Hands rows and progress to Python callbacks.

use crate::errors::bug;
use crate::progress::{flow_progress_dict, progress_dict};
use arrow_pyarrow::ToPyArrow;
use pyo3::prelude::*;
use record::{Batch, Names};
use sim::{Observer, Progress, Stopped};
use spec::RunSpec;
use std::time::Instant;

/// An observer whose callbacks are Python's. The first exception stops the run and is kept.
pub(crate) struct PyObserver {
    names: Names,
    on_progress: Option<Py<PyAny>>,
    on_batch: Py<PyAny>,
    started: Instant,
    error: Option<PyErr>,
}

impl PyObserver {
    pub(crate) fn new(spec: &RunSpec, on_progress: Option<Py<PyAny>>, on_batch: Py<PyAny>) -> Self {
        Self {
            names: Names {
                jobs: spec.jobs.iter().map(|job| job.name.clone()).collect(),
                tcp: spec.tcp.iter().map(|tcp| tcp.name.clone()).collect(),
            },
            on_progress,
            on_batch,
            started: Instant::now(),
            error: None,
        }
    }

    /// Why the run was stopped.
    pub(crate) fn into_error(self) -> PyErr {
        self.error.unwrap_or_else(|| bug("the run stopped without a reason"))
    }

    fn keep(&mut self, outcome: PyResult<()>) -> Result<(), Stopped> {
        outcome.map_err(|error| {
            self.error = Some(error);
            Stopped
        })
    }
}

impl Observer for PyObserver {
    fn batch(&mut self, batch: Batch) -> Result<(), Stopped> {
        let outcome = Python::attach(|py| {
            let rows = batch.to_arrow(&self.names).map_err(bug)?.to_pyarrow(py)?;
            self.on_batch.call1(py, (batch.table().name, rows)).map(|_| ())
        });
        self.keep(outcome)
    }

    fn progress(&mut self, progress: Progress) -> Result<(), Stopped> {
        let outcome = Python::attach(|py| {
            py.check_signals()?;
            let Some(callback) = &self.on_progress else { return Ok(()) };
            let dict = progress_dict(py, &progress, self.started.elapsed().as_secs_f64())?;
            callback.call1(py, (dict,)).map(|_| ())
        });
        self.keep(outcome)
    }
}

impl flow::Observer for PyObserver {
    fn batch(&mut self, batch: Batch) -> Result<(), flow::Stopped> {
        Observer::batch(self, batch).map_err(|Stopped| flow::Stopped)
    }

    fn progress(&mut self, progress: flow::Progress) -> Result<(), flow::Stopped> {
        let outcome = Python::attach(|py| {
            py.check_signals()?;
            let Some(callback) = &self.on_progress else { return Ok(()) };
            let dict = flow_progress_dict(py, &progress, self.started.elapsed().as_secs_f64())?;
            callback.call1(py, (dict,)).map(|_| ())
        });
        self.keep(outcome).map_err(|Stopped| flow::Stopped)
    }
}
