//! Checks of TCP traffic.

use crate::check::{DURATION_PS_MAX, JOB_STREAM_MAX, RATE_BPS_MAX, SpecError, require, value};
use crate::{LinkLayerSpec, RunSpec, TCP_HEADER_BYTES, TCP_WINDOW_SEGMENTS_MAX, TcpCongestion, TcpSpec};
use std::collections::HashSet;

/// Most connections of a pair.
const CONNECTIONS_MAX: u32 = 1_024;
/// Smallest and largest Ethernet MTU: RFC 791's smallest datagram, and jumbo frames.
const MTU_BYTES: std::ops::RangeInclusive<u32> = 576..=9_216;

pub(crate) fn check_tcp(spec: &RunSpec) -> Result<(), SpecError> {
    let mut names: HashSet<&str> = spec.jobs.iter().map(|job| job.name.as_str()).collect();
    let mut streams: HashSet<u32> = spec.jobs.iter().map(|job| job.stream).collect();
    let mut taken = HashSet::new();
    require(spec.tcp.is_empty() || spec.fabric.switch.scheduled.is_none(), || {
        value("tcp", "TCP over scheduled switches", "Ethernet switches, whose lossy queues drop")
    })?;
    let is_ethernet = matches!(spec.fabric.link_layer, LinkLayerSpec::Ethernet { .. });
    require(spec.tcp.is_empty() || is_ethernet, || {
        value("tcp", "TCP over InfiniBand links", "Ethernet links")
    })?;
    for (index, tcp) in spec.tcp.iter().enumerate() {
        let field = |name: &str| format!("tcp[{index}].{name}");
        require(names.insert(&tcp.name), || {
            value(field("name"), &tcp.name, "a name of no job or other traffic")
        })?;
        require(streams.insert(tcp.stream) && tcp.stream <= JOB_STREAM_MAX, || {
            value(field("stream"), tcp.stream, format!("0 to {JOB_STREAM_MAX}, and not that of another"))
        })?;
        check_hosts(spec, tcp, &mut taken, &field)?;
        check_priority(spec, tcp, &field)?;
        check_application(tcp, &field)?;
        check_endpoints(tcp, &field)?;
    }
    Ok(())
}

fn check_hosts(
    spec: &RunSpec,
    tcp: &TcpSpec,
    taken: &mut HashSet<u32>,
    field: &dyn Fn(&str) -> String,
) -> Result<(), SpecError> {
    let (hosts, ranks) = (spec.fabric.topology.hosts(), tcp.hosts.len() as u64);
    require(ranks >= 2, || value(field("hosts"), format!("{ranks} ranks"), "2 or more"))?;
    require(u64::from(tcp.root) < ranks, || value(field("root"), tcp.root, format!("0 to {}", ranks - 1)))?;
    for (rank, &host) in tcp.hosts.iter().enumerate() {
        let place = field(&format!("hosts[{rank}]"));
        require(u64::from(host) < hosts, || value(&*place, host, format!("0 to {}", hosts - 1)))?;
        require(taken.insert(host), || value(&*place, host, "a host of no other TCP rank"))?;
    }
    Ok(())
}

fn check_priority(spec: &RunSpec, tcp: &TcpSpec, field: &dyn Fn(&str) -> String) -> Result<(), SpecError> {
    let priority = tcp.priority;
    let switch = &spec.fabric.switch;
    require(priority < 8, || value(field("priority"), priority, "0 to 7"))?;
    let is_lossless = switch.pfc.as_ref().is_some_and(|pfc| pfc.priorities.contains(&priority));
    require(!is_lossless, || {
        value(field("priority"), format!("priority {priority}, which PFC makes lossless"), "a lossy priority")
    })?;
    let is_marked = switch.ecn.as_ref().is_some_and(|ecn| ecn.priorities.contains(&priority));
    let needs_marks = tcp.congestion == TcpCongestion::Dctcp;
    require(is_marked || !needs_marks, || {
        value(
            field("congestion"),
            format!("dctcp in priority {priority}, which no switch marks"),
            "a marked priority",
        )
    })?;
    require(needs_marks || !is_marked, || {
        let found = format!("priority {priority}, which is marked");
        value(field("priority"), found, "a priority without ECN: only dctcp is capable of it")
    })
}

fn check_application(tcp: &TcpSpec, field: &dyn Fn(&str) -> String) -> Result<(), SpecError> {
    require((1..=CONNECTIONS_MAX).contains(&tcp.connections), || {
        value(field("connections"), tcp.connections, format!("1 to {CONNECTIONS_MAX}"))
    })?;
    require(tcp.rate_bps.is_none_or(|rate| (1..=RATE_BPS_MAX).contains(&rate)), || {
        value(field("rate_bps"), tcp.rate_bps.unwrap_or(0), "1 bit/s to 100 Tb/s")
    })?;
    require((1..=1 << 30).contains(&tcp.write_bytes), || {
        value(field("write_bytes"), tcp.write_bytes, "1 B to 1 GiB")
    })?;
    for (name, time) in [("start_ps", tcp.start_ps), ("start_spread_ps", tcp.start_spread_ps)] {
        require(time <= DURATION_PS_MAX, || value(field(name), time, "at most 1,000 s"))?;
    }
    require(tcp.duration_ps.is_none_or(|duration| (1..=DURATION_PS_MAX).contains(&duration)), || {
        value(field("duration_ps"), tcp.duration_ps.unwrap_or(0), "more than 0, at most 1,000 s")
    })
}

fn check_endpoints(tcp: &TcpSpec, field: &dyn Fn(&str) -> String) -> Result<(), SpecError> {
    require(MTU_BYTES.contains(&tcp.mtu_bytes), || value(field("mtu_bytes"), tcp.mtu_bytes, "576 to 9216"))?;
    let mss = u64::from(tcp.mtu_bytes - TCP_HEADER_BYTES);
    let windows = mss..=mss * TCP_WINDOW_SEGMENTS_MAX;
    require(windows.contains(&tcp.window_bytes), || {
        let allowed = format!("1 to {TCP_WINDOW_SEGMENTS_MAX} segments of {mss} bytes");
        value(field("window_bytes"), tcp.window_bytes, allowed)
    })?;
    require((1..=1_000).contains(&tcp.initial_window_segments), || {
        value(field("initial_window_segments"), tcp.initial_window_segments, "1 to 1000")
    })?;
    require((1..=64).contains(&tcp.ack_every), || value(field("ack_every"), tcp.ack_every, "1 to 64"))?;
    let times = [
        ("delayed_ack_ps", tcp.delayed_ack_ps),
        ("rto_initial_ps", tcp.rto_initial_ps),
        ("rto_min_ps", tcp.rto_min_ps),
        ("rto_max_ps", tcp.rto_max_ps),
    ];
    for (name, time) in times {
        require((1..=DURATION_PS_MAX).contains(&time), || {
            value(field(name), time, "more than 0, at most 1,000 s")
        })?;
    }
    require(tcp.rto_min_ps <= tcp.rto_max_ps, || {
        value(field("rto_min_ps"), tcp.rto_min_ps, "at most rto_max")
    })
}
