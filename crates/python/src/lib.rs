//! Python extension module `fabricbench._core`. Here: runs, checks, estimates and captures of the packet
//! simulator, and descriptions of specs, tables and collectives. Modules: `flow_run` (flow model), `host_run`
//! (runs at agents), `nccl` (rules of NCCL), `observer` and `progress` (callbacks during a run), `errors`, and
//! `allocator`, which ends the process with a message when memory runs out.

mod allocator;
mod errors;
mod flow_run;
mod host_run;
mod nccl;
mod observer;
mod progress;

use errors::{SpecException, spec_error};
use observer::PyObserver;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use sim::{Options, Path};
use std::num::NonZero;
use std::thread::available_parallelism;

#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

/// The core of fabricbench: the packet-level simulator, and runs on real hosts.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("SpecError", module.py().get_type::<SpecException>())?;
    module.add_function(wrap_pyfunction!(run_spec_schema, module)?)?;
    module.add_function(wrap_pyfunction!(record_tables, module)?)?;
    module.add_function(wrap_pyfunction!(patterns, module)?)?;
    module.add_function(wrap_pyfunction!(shares, module)?)?;
    module.add_function(wrap_pyfunction!(supports, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(describe, module)?)?;
    module.add_function(wrap_pyfunction!(port_map, module)?)?;
    module.add_function(wrap_pyfunction!(roce_mtu, module)?)?;
    module.add_function(wrap_pyfunction!(path_choices, module)?)?;
    module.add_function(wrap_pyfunction!(oversubscription, module)?)?;
    module.add_function(wrap_pyfunction!(estimate, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(flow_run::run_flow, module)?)?;
    module.add_function(wrap_pyfunction!(flow_run::check_flow, module)?)?;
    module.add_function(wrap_pyfunction!(flow_run::estimate_flow, module)?)?;
    module.add_function(wrap_pyfunction!(flow_run::busiest_link, module)?)?;
    module.add_function(wrap_pyfunction!(flow_run::link_loads, module)?)?;
    module.add_function(wrap_pyfunction!(capture, module)?)?;
    module.add_function(wrap_pyfunction!(nccl::nccl_choices, module)?)?;
    module.add_class::<host_run::HostRun>()?;
    module.add_function(wrap_pyfunction!(host_run::drivers, module)?)?;
    module.add_function(wrap_pyfunction!(host_run::unmeasured, module)?)?;
    module.add_function(wrap_pyfunction!(host_run::chunk_rows, module)?)
}

/// The JSON Schema of a run spec.
#[pyfunction]
fn run_spec_schema() -> PyResult<String> {
    serde_json::to_string_pretty(&spec::run_spec_schema()).map_err(errors::bug)
}

/// A column of a result table: name, type, whether it may be null, unit, meaning.
type ColumnDescription = (&'static str, &'static str, bool, Option<&'static str>, &'static str);

/// The tables of a record, in order, each with its name, observation point and columns.
#[pyfunction]
fn record_tables() -> Vec<(&'static str, &'static str, Vec<ColumnDescription>)> {
    let describe = |column: &record::Column| {
        (column.name, column.kind.name(), column.is_nullable, column.unit, column.meaning)
    };
    let columns = |table: &record::Table| table.columns.iter().map(describe).collect();
    record::TABLES.iter().map(|table| (table.name, table.point.name(), columns(table))).collect()
}

/// All pairs of collective and algorithm.
#[pyfunction]
fn patterns() -> Vec<(&'static str, &'static str)> {
    sim::patterns()
}

/// Number of messages into which the data of a collective are divided.
#[pyfunction]
fn shares(collective: &str, ranks: u32) -> u64 {
    sim::shares(collective, ranks)
}

/// Raises `SpecError` unless an algorithm of a collective supports this number of ranks.
#[pyfunction]
fn supports(py: Python<'_>, collective: &str, algorithm: &str, ranks: u32) -> PyResult<()> {
    sim::supports(collective, algorithm, ranks).map_err(|error| spec_error(py, &error))
}

/// Errors of a spec: all numbers out of range, or the first other error; empty if it can run.
#[pyfunction]
fn check<'py>(py: Python<'py>, spec_json: &str) -> PyResult<Bound<'py, PyList>> {
    spec_errors(py, spec_json, sim::check)
}

/// Errors of a spec; `check` of the backend is called if the spec itself is valid.
fn spec_errors<'py>(
    py: Python<'py>,
    spec_json: &str,
    check: impl FnOnce(&spec::RunSpec) -> Result<(), spec::SpecError> + Send,
) -> PyResult<Bound<'py, PyList>> {
    let errors = py.detach(|| match spec::from_json(spec_json) {
        Ok(spec) => check(&spec).err().into_iter().collect(),
        Err(errors) => errors,
    });
    PyList::new(py, errors.iter().map(|error| spec_error(py, error).into_value(py)))
}

/// The nodes, links and queue pairs of a spec.
#[pyfunction]
fn describe<'py>(py: Python<'py>, spec_json: &str) -> PyResult<Bound<'py, PyAny>> {
    let spec = parse(py, spec_json)?;
    let description = py.detach(|| sim::describe(&spec)).map_err(|error| spec_error(py, &error))?;
    to_python(py, &description)
}

/// The largest RoCE MTU that fits a port's Ethernet MTU [bytes].
#[pyfunction]
fn roce_mtu(port_mtu_bytes: u32) -> Option<u32> {
    paths::roce_mtu_bytes(port_mtu_bytes)
}

/// The port map of a spec: a row for each rank and port.
#[pyfunction]
fn port_map<'py>(py: Python<'py>, spec_json: &str) -> PyResult<Bound<'py, PyAny>> {
    let spec = parse(py, spec_json)?;
    let rows = py.detach(|| sim::port_map(&spec)).map_err(|error| spec_error(py, &error))?;
    to_python(py, &rows)
}

/// Egress ports of each queue pair at the switches with several equal next hops for it.
#[pyfunction]
fn path_choices<'py>(py: Python<'py>, spec_json: &str) -> PyResult<Bound<'py, PyAny>> {
    let spec = parse(py, spec_json)?;
    let choices = py.detach(|| sim::path_choices(&spec)).map_err(|error| spec_error(py, &error))?;
    to_python(py, &choices)
}

/// Total capacity of each tier of switches below the highest: towards the hosts and away from them [bit/s].
#[pyfunction]
fn oversubscription(py: Python<'_>, spec_json: &str) -> PyResult<Vec<(u64, u64)>> {
    let spec = parse(py, spec_json)?;
    let graph = py.detach(|| paths::graph(&spec.fabric)).map_err(|error| spec_error(py, &error))?;
    Ok(graph.oversubscription().iter().map(|tier| (tier.down_bps, tier.up_bps)).collect())
}

/// Estimated cost of a run of a spec.
#[pyfunction]
fn estimate<'py>(py: Python<'py>, spec_json: &str) -> PyResult<Bound<'py, PyAny>> {
    let spec = parse(py, spec_json)?;
    let estimate = py.detach(|| sim::estimate(&spec)).map_err(|error| spec_error(py, &error))?;
    to_python(py, &estimate)
}

/// Runs a spec with the simulator; passes tables and progress to the callbacks.
///
/// Without `threads`, uses as many as are useful, up to `cores` (default: all of the machine).
#[pyfunction]
#[pyo3(signature = (spec_json, *, threads = None, cores = None, path = "auto", fast_forward = true, on_progress = None, on_batch))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python, each with a default")]
fn run<'py>(
    py: Python<'py>,
    spec_json: &str,
    threads: Option<usize>,
    cores: Option<usize>,
    path: &str,
    fast_forward: bool,
    on_progress: Option<Py<PyAny>>,
    on_batch: Py<PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let spec = parse(py, spec_json)?;
    let path = parse_path(path)?;
    let available = cores.unwrap_or_else(|| available_parallelism().map_or(1, NonZero::get));
    let threads =
        threads.unwrap_or_else(|| py.detach(|| sim::helpful_threads(&spec, fast_forward, available)));
    let options = Options { threads: threads.max(1), path, fast_forward };
    let mut observer = PyObserver::new(&spec, on_progress, on_batch);
    let outcome = py.detach(|| sim::run(&spec, options, &mut observer));
    let summary = observer.end(py, outcome)?;
    summary.set_item("threads", options.threads)?;
    Ok(summary)
}

/// First frames sent by both ends of some queue pairs: (time in ps, frame without FCS).
#[pyfunction]
#[pyo3(signature = (spec_json, *, qps, frames))]
#[expect(clippy::needless_pass_by_value, reason = "a list arrives from Python by value")]
fn capture<'py>(
    py: Python<'py>,
    spec_json: &str,
    qps: Vec<u32>,
    frames: usize,
) -> PyResult<Bound<'py, PyList>> {
    let spec = parse(py, spec_json)?;
    let captured = py.detach(|| sim::capture(&spec, &qps, frames)).map_err(|error| spec_error(py, &error))?;
    let tuples = captured.iter().map(|frame| (frame.at.0, PyBytes::new(py, &frame.bytes)));
    PyList::new(py, tuples)
}

fn parse(py: Python<'_>, spec_json: &str) -> PyResult<spec::RunSpec> {
    spec::from_json(spec_json).map_err(|errors| spec_error(py, &errors[0]))
}

fn parse_path(path: &str) -> PyResult<Path> {
    match path {
        "auto" => Ok(Path::Auto),
        "exact" => Ok(Path::Exact),
        _ => Err(pyo3::exceptions::PyValueError::new_err(format!("path {path:?}; allowed: auto, exact"))),
    }
}

/// Converts a value to plain Python objects, through JSON.
fn to_python<'py>(py: Python<'py>, value: &impl serde::Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(value).map_err(errors::bug)?;
    py.import("json")?.call_method1("loads", (text,))
}
