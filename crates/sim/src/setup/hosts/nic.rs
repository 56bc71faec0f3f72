//! Builds the parameters of a host from the spec: ports and packet scheduling of its NIC, receive buffer,
//! impairments and their changes over time.

use crate::link::egress::Wire;
use crate::nic::{HostPlan, HostTcp, HostTraffic, IntakePlan, NicPortPlan, SchedulingPlan, Throughput};
use crate::packet::Priority;
use crate::setup::{Fabric, HostClock};
use paths::ThroughputChange;
use spec::{NicDirection, RunSpec};
use units::{HostId, NodeId, Rate, Seed, Span};

/// The host at `node`.
pub(crate) fn host_plan(
    spec: &RunSpec,
    fabric: &Fabric,
    node: NodeId,
    wires: Vec<Wire>,
    traffic: HostTraffic,
    tcp: Option<HostTcp>,
) -> HostPlan {
    let line_rate = wires[0].rate;
    let impaired = impaired_rates(spec, node, line_rate);
    let throughput = throughput_changes(spec, fabric, node, line_rate);
    let data = Priority(spec.priority_of(0));
    let clock = HostClock::of(spec, HostId(node.0));
    let changes = |port| fabric.changes(node, port, Seed(spec.seed), |rate| clock.rate(rate));
    let port = |(port, wire)| NicPortPlan {
        wire,
        changes: changes(port),
        data,
        pace: impaired.pace,
        credits: fabric.credits,
        scheduling: scheduling(spec, HostId(node.0), port, clock),
    };
    HostPlan {
        latency: fabric.nic_latency,
        ports: (0..).zip(wires).map(port).collect(),
        intake: intake_plan(spec, fabric, line_rate, impaired.drain, !throughput.is_empty()),
        pause_delays: match fabric.credits {
            None => [spec.fabric.nic.pause_response_ps, spec.fabric.nic.late_reaction()].map(Span),
            Some(_) => [Span::ZERO; 2],
        },
        throughput,
        traffic,
        tcp,
    }
}

/// Parameters of packet scheduling at a port; `None` if payload is sent as soon as possible, one packet per
/// queue pair in round-robin order.
fn scheduling(spec: &RunSpec, host: HostId, port: u16, clock: HostClock) -> Option<SchedulingPlan> {
    let jitter = Span(spec.fabric.clocks.as_ref().map_or(0, |clocks| clocks.jitter_ps_max));
    let message_interval = Span(spec.fabric.nic.messages.map_or(0, |messages| messages.message_interval_ps));
    let packets = spec.fabric.nic.packets_per_turn.unwrap_or(1);
    let has_waits = jitter > Span::ZERO || message_interval > Span::ZERO;
    let is_any = has_waits || packets > 1 || !clock.is_right();
    let port_number = u64::from(host.0) << 16 | u64::from(port);
    is_any.then(|| SchedulingPlan {
        packets,
        message_interval,
        jitter,
        stream: Seed(spec.seed).stream("host.jitter", port_number),
        is_exact: !clock.is_right(),
    })
}

/// Limits of an impaired NIC; `None` where it runs at line rate.
#[derive(Clone, Copy, Debug, Default)]
struct SlowRates {
    /// Highest rate of sent payload.
    pace: Option<Rate>,
    /// Rate at which the receive buffer is emptied.
    drain: Option<Rate>,
}

impl SlowRates {
    fn new(line_rate: Rate, ppm: u32, direction: NicDirection) -> Self {
        let slow = (ppm < 1_000_000).then_some(line_rate.scaled(ppm));
        Self { pace: slow.filter(|_| direction.sends()), drain: slow.filter(|_| direction.receives()) }
    }
}

/// Rate limits of an impaired NIC.
fn impaired_rates(spec: &RunSpec, host: NodeId, line_rate: Rate) -> SlowRates {
    let impairment = spec.fabric.nic.impairments.iter().find(|impairment| impairment.host == host.0);
    impairment
        .map(|impairment| SlowRates::new(line_rate, impairment.throughput_ppm, impairment.direction))
        .unwrap_or_default()
}

/// Rate at which the host empties the receive buffer, if slower than the link.
fn drain_rate(spec: &RunSpec, impaired: Option<Rate>) -> Option<Rate> {
    let limits = [spec.fabric.nic.drain_rate_bps.map(Rate::from_bps), impaired];
    limits.into_iter().flatten().min_by_key(|rate| rate.bps())
}

/// Changes of the throughput of a NIC during the run.
fn throughput_changes(spec: &RunSpec, fabric: &Fabric, host: NodeId, line_rate: Rate) -> Vec<Throughput> {
    let change = |change: &ThroughputChange| {
        let slow = SlowRates::new(line_rate, change.ppm, change.direction);
        Throughput { at: change.at, pace: slow.pace, drain: drain_rate(spec, slow.drain) }
    };
    fabric.failures.of_host(host).iter().map(change).collect()
}

/// The receive buffer, if the host empties it more slowly than the link fills it.
fn intake_plan(
    spec: &RunSpec,
    fabric: &Fabric,
    line_rate: Rate,
    impaired: Option<Rate>,
    will_change: bool,
) -> Option<IntakePlan> {
    let nic = &spec.fabric.nic;
    let drain = drain_rate(spec, impaired);
    if drain.is_none() && !will_change {
        return None;
    }
    let notifies = spec.transport.rate_control.config().cnp_interval().is_some();
    let pfc = spec.fabric.switch.pfc.as_ref();
    let is_paused = |priority: &u8| pfc.is_some_and(|pfc| pfc.priorities.contains(priority));
    let paused: Vec<_> = spec.data_priorities().into_iter().filter(is_paused).map(Priority).collect();
    Some(IntakePlan {
        drain,
        // Credits limit its contents to the buffers of the virtual lanes.
        size_bytes: if fabric.credits.is_some() { u64::MAX } else { nic.receive_buffer_bytes },
        xoff_bytes: nic.receive_xoff_bytes,
        cnp_above_bytes: nic.cnp_above_bytes.filter(|_| notifies).unwrap_or(u64::MAX),
        pause_quanta: pfc.filter(|_| !paused.is_empty()).map(|pfc| pfc.quanta),
        paused,
        line_rate,
    })
}
