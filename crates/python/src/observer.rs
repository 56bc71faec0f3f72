//! Observer of a run that passes batches of rows and progress to Python callbacks.

use crate::errors::bug;
use crate::progress::{flow_progress_dict, progress_dict};
use arrow_pyarrow::ToPyArrow;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use record::{Batch, Columns, Names};
use sim::{Observer, Progress, Stopped};
use spec::RunSpec;
use std::collections::BTreeMap;
use std::time::Instant;

/// Rows per batch for Python, except the last: a row group of the tables, as Python has a fixed cost per
/// batch.
const ROWS_PER_BATCH: usize = 65_536;

/// An observer with Python callbacks. The first exception stops the run and is stored.
pub(crate) struct PyObserver {
    names: Names,
    on_progress: Option<Py<PyAny>>,
    on_batch: Py<PyAny>,
    /// Rows not passed to Python yet, by name of their table.
    pending: BTreeMap<&'static str, Columns>,
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
            pending: BTreeMap::new(),
            started: Instant::now(),
            error: None,
        }
    }

    /// Passes the remaining rows at the end of the run.
    pub(crate) fn finish(&mut self) -> PyResult<()> {
        let mut left = std::mem::take(&mut self.pending).into_iter().filter(|(_, rows)| rows.rows() > 0);
        left.try_for_each(|(table, rows)| self.emit(table, rows))
    }

    fn emit(&self, table: &str, rows: Columns) -> PyResult<()> {
        Python::attach(|py| {
            let rows = rows.finish().map_err(bug)?.to_pyarrow(py)?;
            self.on_batch.call1(py, (table, rows)).map(|_| ())
        })
    }

    /// Adds rows, and passes full batches to Python.
    fn take(&mut self, batch: &Batch) -> PyResult<()> {
        let table = batch.table();
        let mut taken = 0;
        while taken < batch.len() {
            let pending = self.pending.entry(table.name).or_insert_with(|| Columns::new(table, batch.len()));
            let end = batch.len().min(taken + ROWS_PER_BATCH - pending.rows());
            pending.append(batch, taken..end, &self.names);
            taken = end;
            if pending.rows() == ROWS_PER_BATCH {
                // A table that has filled one batch will fill another.
                let full = std::mem::replace(pending, Columns::new(table, ROWS_PER_BATCH));
                self.emit(table.name, full)?;
            }
        }
        Ok(())
    }

    /// Checks for signals, and passes the progress to Python: a dictionary made from the seconds since the
    /// start.
    fn report(
        &self,
        dictionary: impl for<'py> FnOnce(Python<'py>, f64) -> PyResult<Bound<'py, PyDict>>,
    ) -> PyResult<()> {
        Python::attach(|py| {
            py.check_signals()?;
            let Some(callback) = &self.on_progress else { return Ok(()) };
            let dict = dictionary(py, self.started.elapsed().as_secs_f64())?;
            callback.call1(py, (dict,)).map(|_| ())
        })
    }

    /// The exception that stopped the run.
    pub(crate) fn into_error(self) -> PyErr {
        self.error.unwrap_or_else(|| bug("the run stopped without a reason"))
    }

    fn rows(&mut self, batch: &Batch) -> Result<(), Stopped> {
        let outcome = self.take(batch);
        self.store_error(outcome)
    }

    fn store_error(&mut self, outcome: PyResult<()>) -> Result<(), Stopped> {
        outcome.map_err(|error| {
            self.error = Some(error);
            Stopped
        })
    }
}

impl Observer<Progress> for PyObserver {
    fn batch(&mut self, batch: Batch) -> Result<(), Stopped> {
        self.rows(&batch)
    }

    fn progress(&mut self, progress: Progress) -> Result<(), Stopped> {
        let outcome = self.report(|py, wall_s| progress_dict(py, &progress, wall_s));
        self.store_error(outcome)
    }
}

impl Observer<flow::Progress> for PyObserver {
    fn batch(&mut self, batch: Batch) -> Result<(), Stopped> {
        self.rows(&batch)
    }

    fn progress(&mut self, progress: flow::Progress) -> Result<(), Stopped> {
        let outcome = self.report(|py, wall_s| flow_progress_dict(py, &progress, wall_s));
        self.store_error(outcome)
    }
}
