//! Computes the patience of a run: simulated time without delivery of payload after which it is ended as
//! stalled, from timeouts, service times and queueing of the spec.

use crate::estimate;
use crate::setup::Fabric;
use spec::{FailureSpec, JobSpec, LossRecovery, RunSpec};
use units::{Rate, Span};

/// Upper limit of the time in the queues of a path, with small buffers and fast links.
const QUEUEING: Span = Span(100_000_000_000);
/// Upper limit of the bytes of a frame other than payload, including gap and preamble.
const HEADERS_BYTES_MAX: u64 = 128;
/// Maximum number of switches on a path.
const SWITCHES_MAX: u64 = 8;

/// Upper limit of any legal wait except of TCP: every retry of a queue pair at the lowest rate of its rate
/// control and one more timeout, plus the latest start, the longest software time, the longest time for which
/// messages are offered and the times of the PFC watchdog.
pub(crate) fn patience(spec: &RunSpec, fabric: &Fabric) -> Span {
    let offers = |job: &JobSpec| job.work.open_loop().map_or(0, |open_loop| open_loop.duration_ps);
    let wait = |job: &JobSpec| {
        let software = job.start_ps.saturating_add(software(spec, job)).saturating_add(offers(job));
        software.saturating_add(service_ps(job))
    };
    let waits = spec.jobs.iter().map(wait).max().unwrap_or(0);
    let retries = u64::from(spec.transport.retry_count) + 2;
    let watchdogs = fabric.settings.all().iter().filter_map(|switch| switch.pfc.as_ref()?.watchdog);
    let storm =
        watchdogs.map(|each| each.detection_ps.saturating_add(each.restoration_ps)).max().unwrap_or(0);
    let packet_bytes = u64::from(spec.transport.mtu_bytes) + HEADERS_BYTES_MAX;
    let timeout = Span(spec.transport.timeout_ps);
    let interval_max = spec.transport.rate_control.config().interval_max(packet_bytes, timeout);
    let timeouts = timeout.0.saturating_add(interval_max.0).saturating_mul(retries);
    let timeouts = match spec.transport.recovery {
        // Nothing is resent: frames that still arrive are in queues.
        LossRecovery::None => timeouts.min(queueing(fabric)),
        LossRecovery::GoBackN | LossRecovery::Selective => timeouts,
    };
    let crossing = slowest_frame(spec, fabric).saturating_mul(SWITCHES_MAX);
    Span(timeouts.saturating_add(waits).saturating_add(storm).saturating_add(crossing))
}

/// Upper limit of the time in the queues of a path: all buffers drained by the slowest link [ps].
fn queueing(fabric: &Fabric) -> u64 {
    let sizes = fabric.settings.all().iter().map(|switch| switch.buffer.size_bytes);
    let of_one = slowest_link(fabric).span_of(sizes.max().unwrap_or(0)).0;
    of_one.saturating_mul(SWITCHES_MAX).max(QUEUEING.0)
}

/// Time of the largest frame on the slowest link, or in the slowest NIC [ps].
fn slowest_frame(spec: &RunSpec, fabric: &Fabric) -> u64 {
    let changes = spec.fabric.failures.iter().filter_map(|failure| match *failure {
        FailureSpec::NicThroughput { throughput_ppm, .. } => Some(throughput_ppm),
        _ => None,
    });
    let impairments = spec.fabric.nic.impairments.iter().map(|impairment| impairment.throughput_ppm);
    let of_nics = impairments.chain(changes).min().map(|ppm| slowest_link(fabric).scaled(ppm));
    let drain = spec.fabric.nic.drain_rate_bps.map(Rate::from_bps);
    let rates = [Some(slowest_link(fabric)), of_nics, drain].into_iter().flatten();
    let rate = rates.min_by_key(|rate| rate.bps()).expect("there is a link");
    let mtus = spec.tcp.iter().map(|tcp| tcp.mtu_bytes).chain([spec.transport.mtu_bytes]);
    rate.span_of(u64::from(mtus.max().unwrap_or(0)) + HEADERS_BYTES_MAX).0
}

fn slowest_link(fabric: &Fabric) -> Rate {
    let rates = fabric.graph.links.iter().map(|link| link.rate);
    rates.min_by_key(|rate| rate.bps()).expect("a fabric has links")
}

/// Time for which a target serves all operations that the clients of a job may have outstanding [ps].
fn service_ps(job: &JobSpec) -> u64 {
    job.work.storage().map_or(0, |storage| {
        let storing = |rate| Rate::from_bps(rate).span_of(storage.block_bytes).0;
        let each = storage.service_time_ps + storage.service_rate_bps.map_or(0, storing);
        each.saturating_mul(u64::from(storage.clients) * u64::from(storage.depth))
    })
}

/// Maximum time for which a rank is busy with one message from each other rank, a copy of its data, and the
/// computation of a round [ps].
fn software(spec: &RunSpec, job: &JobSpec) -> u64 {
    let memory = spec.fabric.memory_of(job);
    let copy = Rate::from_bps(memory.rate_bps).span_of(job.work.transfer_bytes_max());
    let copy_ps = copy.0.saturating_add(memory.latency_ps);
    job.work.collective().map_or(copy_ps, |collective| {
        let each = collective.send_overhead_ps.saturating_add(collective.receive_overhead_ps);
        let busy = each.saturating_mul(job.hosts.len() as u64).saturating_add(collective.step_overhead_ps);
        busy.saturating_mul(estimate::transfers_per_message(job))
            .saturating_add(copy_ps)
            .saturating_add(collective.compute_ps)
    })
}
