//! Rows as Arrow record batches.

use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_pyarrow::ToPyArrow;
use pyo3::prelude::*;
use sim::Batch;
use spec::{
    ChunkRow, ConnectionRow, EventRow, LinkRow, PathRow, PortRow, PriorityRow, ReorderingRow, SeriesRow,
};
use std::sync::Arc;

/// The name of the batch's table, and its rows as a `pyarrow.RecordBatch`.
pub(crate) fn to_arrow<'py>(
    py: Python<'py>,
    batch: Batch,
    job_names: &[String],
    tcp_names: &[String],
) -> PyResult<(&'static str, Bound<'py, PyAny>)> {
    let (table, columns) = match batch {
        Batch::Chunks(rows) => ("chunks", chunks(&rows, job_names)),
        Batch::Ports(rows) => ("ports", ports(&rows)),
        Batch::Priorities(rows) => ("priorities", priorities(&rows)),
        Batch::Links(rows) => ("links", links(&rows)),
        Batch::Paths(rows) => ("paths", paths(&rows, job_names)),
        Batch::Reordering(rows) => ("reordering", reordering(&rows, job_names)),
        Batch::Series(rows) => ("series", series(&rows, job_names)),
        Batch::Connections(rows) => ("connections", connections(&rows, tcp_names)),
        Batch::Events(rows) => ("events", events(&rows)),
    };
    let batch = RecordBatch::try_from_iter_with_nullable(columns).map_err(crate::errors::bug)?;
    Ok((table, batch.to_pyarrow(py)?))
}

type Column = (&'static str, ArrayRef, bool);

/// An integer column that is never null.
fn int<T>(name: &'static str, rows: &[T], value: impl Fn(&T) -> u64) -> Column {
    let array = Int64Array::from_iter_values(rows.iter().map(|row| value(row) as i64));
    (name, Arc::new(array), false)
}

/// An integer column that may be null.
fn optional<T>(name: &'static str, rows: &[T], value: impl Fn(&T) -> Option<u64>) -> Column {
    let array: Int64Array = rows.iter().map(|row| value(row).map(|number| number as i64)).collect();
    (name, Arc::new(array), true)
}

/// A text column with few distinct values.
fn label<'a, T>(name: &'static str, rows: &'a [T], value: impl Fn(&'a T) -> &'a str) -> Column {
    let mut builder = StringDictionaryBuilder::<Int32Type>::new();
    for row in rows {
        builder.append_value(value(row));
    }
    (name, Arc::new(builder.finish()), false)
}

/// A text column with few distinct values that may be null.
fn optional_label<'a, T>(
    name: &'static str,
    rows: &'a [T],
    value: impl Fn(&'a T) -> Option<&'a str>,
) -> Column {
    let mut builder = StringDictionaryBuilder::<Int32Type>::new();
    for row in rows {
        builder.append_option(value(row));
    }
    (name, Arc::new(builder.finish()), true)
}

/// A text column.
fn text<'a, T>(name: &'static str, rows: &'a [T], value: impl Fn(&'a T) -> &'a str) -> Column {
    (name, Arc::new(StringArray::from_iter_values(rows.iter().map(value))), false)
}

fn chunks(rows: &[ChunkRow], job_names: &[String]) -> Vec<Column> {
    vec![
        label("job", rows, |row| job_names[row.job as usize].as_str()),
        int("transfer", rows, |row| row.transfer.into()),
        int("part", rows, |row| row.part.into()),
        int("round", rows, |row| row.round.into()),
        int("qp", rows, |row| row.qp.into()),
        int("udp_source_port", rows, |row| row.udp_source_port.into()),
        int("src_rank", rows, |row| row.src_rank.into()),
        int("dst_rank", rows, |row| row.dst_rank.into()),
        int("src_host", rows, |row| row.src_host.into()),
        int("dst_host", rows, |row| row.dst_host.into()),
        int("step", rows, |row| row.step.into()),
        int("channel", rows, |row| row.channel.into()),
        int("block", rows, |row| row.block.into()),
        label("status", rows, |row| row.status.name()),
        int("payload_bytes", rows, |row| row.payload_bytes),
        optional("start_ps", rows, |row| row.start_ps),
        optional("delivered_ps", rows, |row| row.delivered_ps),
        optional("completed_ps", rows, |row| row.completed_ps),
        optional("fct_ps", rows, |row| Some(row.completed_ps? - row.start_ps?)),
        optional("unloaded_ps", rows, |row| row.unloaded_ps),
        int("tx_frames", rows, |row| row.tx_frames),
        int("tx_bytes", rows, |row| row.tx_bytes),
        int("rx_frames", rows, |row| row.rx_frames),
        int("rx_bytes", rows, |row| row.rx_bytes),
        // Frames may arrive after their chunk is complete: the difference is signed.
        int("frames_delta", rows, |row| row.tx_frames.wrapping_sub(row.rx_frames)),
        int("retransmits", rows, |row| row.retransmits),
        int("naks", rows, |row| row.naks),
        int("timeouts", rows, |row| row.timeouts),
        int("out_of_order", rows, |row| row.out_of_order),
        optional("latency_min_ps", rows, |row| row.latency_min_ps),
        latency_mean(rows),
        optional("latency_max_ps", rows, |row| row.latency_max_ps),
        int("ecn_ce_rx", rows, |row| row.ecn_ce_rx),
        int("cnp_tx", rows, |row| row.cnp_tx),
        int("cnp_rx", rows, |row| row.cnp_rx),
    ]
}

#[expect(clippy::float_arithmetic, reason = "a mean for readers; the simulated world never sees it")]
fn latency_mean(rows: &[ChunkRow]) -> Column {
    let mean = |row: &ChunkRow| {
        (row.latency_frames > 0).then(|| row.latency_sum_ps as f64 / row.latency_frames as f64)
    };
    ("latency_mean_ps", Arc::new(rows.iter().map(mean).collect::<Float64Array>()), true)
}

fn connections(rows: &[ConnectionRow], names: &[String]) -> Vec<Column> {
    vec![
        label("tcp", rows, |row| names[row.tcp as usize].as_str()),
        int("connection", rows, |row| row.connection.into()),
        int("source_port", rows, |row| row.source_port.into()),
        int("src_rank", rows, |row| row.src_rank.into()),
        int("dst_rank", rows, |row| row.dst_rank.into()),
        int("src_host", rows, |row| row.src_host.into()),
        int("dst_host", rows, |row| row.dst_host.into()),
        optional("start_ps", rows, |row| row.start_ps),
        int("end_ps", rows, |row| row.end_ps),
        int("is_complete", rows, |row| row.is_complete.into()),
        optional("offered_bytes", rows, |row| row.offered_bytes),
        int("delivered_bytes", rows, |row| row.delivered_bytes),
        int("acked_bytes", rows, |row| row.acked_bytes),
        int("segments", rows, |row| row.segments),
        int("retransmits", rows, |row| row.retransmits),
        int("timeouts", rows, |row| row.timeouts),
        int("fast_recoveries", rows, |row| row.fast_recoveries),
        int("ecn_ce_rx", rows, |row| row.ecn_ce_rx),
        int("rtt_samples", rows, |row| row.rtt_samples),
        optional("rtt_mean_ps", rows, |row| row.rtt_mean_ps),
        optional("rtt_p50_ps", rows, |row| row.rtt_p50_ps),
        optional("rtt_p99_ps", rows, |row| row.rtt_p99_ps),
        optional("rtt_max_ps", rows, |row| row.rtt_max_ps),
        int("window_bytes", rows, |row| row.window_bytes),
    ]
}

fn ports(rows: &[PortRow]) -> Vec<Column> {
    vec![
        text("node", rows, |row| row.node.as_str()),
        int("tier", rows, |row| row.tier.into()),
        int("port", rows, |row| row.port.into()),
        text("peer", rows, |row| row.peer.as_str()),
        int("tx_frames", rows, |row| row.tx_frames),
        int("tx_bytes", rows, |row| row.tx_bytes),
        int("rx_frames", rows, |row| row.rx_frames),
        int("rx_bytes", rows, |row| row.rx_bytes),
        int("dropped_frames", rows, |row| row.dropped_frames),
        int("dropped_bytes", rows, |row| row.dropped_bytes),
        int("dropped_headroom_frames", rows, |row| row.dropped_headroom_frames),
        int("dropped_headroom_bytes", rows, |row| row.dropped_headroom_bytes),
        int("dropped_watchdog_frames", rows, |row| row.dropped_watchdog_frames),
        int("dropped_watchdog_bytes", rows, |row| row.dropped_watchdog_bytes),
        int("lost_link_down_frames", rows, |row| row.lost_link_down_frames),
        int("lost_link_down_bytes", rows, |row| row.lost_link_down_bytes),
        int("fcs_error_frames", rows, |row| row.fcs_error_frames),
        int("fcs_error_bytes", rows, |row| row.fcs_error_bytes),
        int("queue_max_bytes", rows, |row| row.queue_max_bytes),
        optional("pfc_tx", rows, |row| row.pfc_tx),
        optional("pfc_rx", rows, |row| row.pfc_rx),
        optional("pfc_storms", rows, |row| row.pfc_storms),
        optional("paused_ps", rows, |row| row.paused_ps),
        optional("flow_control_tx", rows, |row| row.flow_control_tx),
        optional("flow_control_rx", rows, |row| row.flow_control_rx),
        optional("credit_wait_ps", rows, |row| row.credit_wait_ps),
        int("ecn_marked", rows, |row| row.ecn_marked),
        int("ecn_changes", rows, |row| row.ecn_changes),
        int("egress_qps", rows, |row| row.egress_qps.into()),
        int("credits_granted", rows, |row| row.credits_granted),
        int("credit_granted_bytes", rows, |row| row.credit_granted_bytes),
        int("voq_max_bytes", rows, |row| row.voq_max_bytes),
        int("reassembly_max_bytes", rows, |row| row.reassembly_max_bytes),
    ]
}

fn priorities(rows: &[PriorityRow]) -> Vec<Column> {
    vec![
        text("node", rows, |row| row.node.as_str()),
        int("port", rows, |row| row.port.into()),
        int("priority", rows, |row| row.priority.into()),
        optional("pfc_tx", rows, |row| row.pfc_tx),
        optional("pfc_rx", rows, |row| row.pfc_rx),
        optional("paused_ps", rows, |row| row.paused_ps),
        optional("credit_wait_ps", rows, |row| row.credit_wait_ps),
        int("dropped_frames", rows, |row| row.dropped_frames),
        int("dropped_headroom_frames", rows, |row| row.dropped_headroom_frames),
        int("dropped_watchdog_frames", rows, |row| row.dropped_watchdog_frames),
    ]
}

fn links(rows: &[LinkRow]) -> Vec<Column> {
    vec![
        text("from", rows, |row| row.from.as_str()),
        int("from_port", rows, |row| row.from_port.into()),
        text("to", rows, |row| row.to.as_str()),
        int("to_port", rows, |row| row.to_port.into()),
        int("tier", rows, |row| row.tier.into()),
        int("rate_bps", rows, |row| row.rate_bps),
        int("frames", rows, |row| row.frames),
        int("bytes", rows, |row| row.bytes),
        int("busy_ps", rows, |row| row.busy_ps),
    ]
}

fn paths(rows: &[PathRow], job_names: &[String]) -> Vec<Column> {
    vec![
        int("qp", rows, |row| row.qp.into()),
        label("job", rows, |row| job_names[row.job as usize].as_str()),
        int("src_rank", rows, |row| row.src_rank.into()),
        int("dst_rank", rows, |row| row.dst_rank.into()),
        int("hop", rows, |row| row.hop.into()),
        label("node", rows, |row| row.node.as_str()),
        int("port", rows, |row| row.port.into()),
        label("peer", rows, |row| row.peer.as_str()),
    ]
}

fn reordering(rows: &[ReorderingRow], job_names: &[String]) -> Vec<Column> {
    vec![
        label("job", rows, |row| job_names[row.job as usize].as_str()),
        optional("qp", rows, |row| row.qp.map(u64::from)),
        int("distance_min", rows, |row| row.distance_min.into()),
        int("distance_max", rows, |row| row.distance_max.into()),
        int("frames", rows, |row| row.frames),
    ]
}

fn series(rows: &[SeriesRow], job_names: &[String]) -> Vec<Column> {
    vec![
        label("metric", rows, |row| row.metric),
        label("node", rows, |row| &*row.node),
        int("port", rows, |row| row.port.into()),
        optional("priority", rows, |row| row.priority.map(u64::from)),
        optional("qp", rows, |row| row.qp.map(u64::from)),
        optional_label("job", rows, |row| row.job.map(|job| job_names[job as usize].as_str())),
        int("time_ps", rows, |row| row.time_ps),
        int("value", rows, |row| row.value),
    ]
}

fn events(rows: &[EventRow]) -> Vec<Column> {
    vec![
        int("time_ps", rows, |row| row.time_ps),
        label("kind", rows, |row| row.kind),
        text("node", rows, |row| row.node.as_str()),
        text("detail", rows, |row| row.detail.as_str()),
    ]
}
