//! Observer of a run: passes batches of rows and progress to Python callbacks, returns the summary, and
//! measures real time, processor time and memory.

use crate::errors::{bug, spec_error};
use crate::progress::{flow_progress_dict, progress_dict};
use crate::to_python;
use arrow_pyarrow::ToPyArrow;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use record::{Batch, Columns, Names};
use serde::Serialize;
use sim::{Observer, Progress, RunError, Stopped};
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
    /// Processor time of the process at the start [s].
    cpu_s: f64,
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
            cpu_s: cpu_and_memory().0,
            error: None,
        }
    }

    /// The summary of an ended run as a dictionary, with real time, processor time and peak memory; first
    /// passes the remaining rows.
    #[expect(clippy::float_arithmetic, reason = "measured on the host, not simulated")]
    pub(crate) fn end<'py>(
        mut self,
        py: Python<'py>,
        outcome: Result<impl Serialize, RunError>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let summary = match outcome {
            Ok(summary) => summary,
            Err(RunError::Spec(error)) => return Err(spec_error(py, &error)),
            Err(RunError::Stopped) => {
                return Err(self.error.unwrap_or_else(|| bug("the run stopped without a reason")));
            }
        };
        let mut left = std::mem::take(&mut self.pending).into_iter().filter(|(_, rows)| rows.rows() > 0);
        left.try_for_each(|(table, rows)| self.emit(table, rows))?;
        let dict = to_python(py, &summary)?;
        let (cpu_s, peak_rss_bytes) = cpu_and_memory();
        dict.set_item("wall_s", self.started.elapsed().as_secs_f64())?;
        dict.set_item("cpu_s", cpu_s - self.cpu_s)?;
        dict.set_item("peak_rss_bytes", peak_rss_bytes)?;
        Ok(dict)
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

/// CPU time of this process, user and system [s], and its largest resident size [bytes].
#[expect(clippy::float_arithmetic, reason = "measured on the host, not simulated")]
fn cpu_and_memory() -> (f64, u64) {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is a valid, writable rusage; getrusage writes nothing else.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    // ru_maxrss is in KiB on Linux and in bytes on macOS.
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    (seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss as u64 * unit)
}
