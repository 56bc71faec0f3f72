//! Progress of a run as a Python dictionary, for simulator and flow model.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use sim::{Progress, Sample};

/// Progress of the simulator.
pub(crate) fn progress_dict<'py>(
    py: Python<'py>,
    progress: &Progress,
    wall_s: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = common(py, [progress.delivered_bytes, progress.total_bytes], progress.simulated.0, wall_s)?;
    dict.set_item("packet_hops", progress.packet_hops)?;
    dict.set_item("waiting_ps", progress.waiting.0)?;
    dict.set_item("patience_ps", progress.patience.0)?;
    dict.set_item("open_chunks", progress.open_chunks)?;
    let samples: PyResult<Vec<_>> = progress.samples.iter().map(|sample| sample_dict(py, sample)).collect();
    dict.set_item("samples", PyList::new(py, samples?)?)?;
    Ok(dict)
}

/// Progress of the flow model, which has no samples.
pub(crate) fn flow_progress_dict<'py>(
    py: Python<'py>,
    progress: &flow::Progress,
    wall_s: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = common(py, [progress.delivered_bytes, progress.total_bytes], progress.simulated.0, wall_s)?;
    dict.set_item("samples", PyList::empty(py))?;
    Ok(dict)
}

/// Entries of any backend: delivered and total payload [bytes], simulated time [ps] and real time [s].
fn common(
    py: Python<'_>,
    [delivered_bytes, total_bytes]: [u64; 2],
    sim_ps: u64,
    wall_s: f64,
) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("delivered_bytes", delivered_bytes)?;
    dict.set_item("total_bytes", total_bytes)?;
    dict.set_item("sim_ps", sim_ps)?;
    dict.set_item("wall_s", wall_s)?;
    Ok(dict)
}

fn sample_dict<'py>(py: Python<'py>, sample: &Sample) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("sim_ps", sample.at.0)?;
    dict.set_item("span_ps", sample.span.0)?;
    dict.set_item("delivered_bytes", sample.delivered_bytes)?;
    dict.set_item("queue_max_bytes", sample.ports.map(|ports| ports.queue_max_bytes))?;
    dict.set_item("marked_frames", sample.ports.map(|ports| ports.marked_frames))?;
    dict.set_item("paused_ps", sample.ports.map(|ports| ports.paused.0))?;
    Ok(dict)
}
