//! Checks that hold across fields. Each error names the field by its path in the spec.

use crate::check_failures::check_failures;
use crate::check_link_layer::check_link_layer;
use crate::check_mpi::check_mpi;
use crate::check_rate_control::check_rate_control;
use crate::check_scheduled::check_scheduled;
use crate::check_storage::check_storage;
use crate::check_switch::check_switch;
use crate::check_tcp::check_tcp;
use crate::{
    ArrivalsSpec, CustomLinkSpec, FabricSpec, JobSpec, LinkSpec, LossRecovery, RepeatSpec, RunSpec,
    SCHEMA_VERSION, TopologySpec, TransportSpec,
};
use std::collections::{HashMap, HashSet};
use thiserror::Error;

/// Largest number of unacknowledged packets: half of the 24-bit PSN space.
pub(crate) const WINDOW_PACKETS_MAX: u32 = 1 << 23;

/// The most packets that the data of a job may be cut into, and so each chunk of it: requesters count them in
/// 32 bits.
pub const CHUNK_PACKETS_MAX: u64 = (1 << 32) - 2;
/// Most timeouts without progress that a requester counts, in 16 bits.
const RETRY_COUNT_MAX: u32 = 65_535;
/// Largest number of a job's random draws.
pub(crate) const JOB_STREAM_MAX: u32 = 65_535;
/// Most ranks of a host.
const HOST_RANKS_MAX: u32 = 1024;
/// Fastest rate that traffic is offered at [bit/s].
pub(crate) const RATE_BPS_MAX: u64 = 100_000_000_000_000;
/// Longest time for which traffic is offered [ps].
pub(crate) const DURATION_PS_MAX: u64 = 1_000_000_000_000_000;

/// What is wrong with a spec.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SpecError {
    /// Not JSON, or not of this shape.
    #[error("not a run spec: {0}")]
    Shape(String),
    /// A value that cannot be carried out.
    #[error("{field}: {found}; allowed: {allowed}")]
    Value {
        /// Path of the field, such as `jobs[0].hosts[3]`.
        field: String,
        /// What was found.
        found: String,
        /// What is allowed.
        allowed: String,
    },
}

#[expect(clippy::needless_pass_by_value, reason = "callers pass literals and numbers alike")]
pub(crate) fn value(field: impl Into<String>, found: impl ToString, allowed: impl Into<String>) -> SpecError {
    SpecError::Value { field: field.into(), found: found.to_string(), allowed: allowed.into() }
}

pub(crate) fn require(holds: bool, error: impl FnOnce() -> SpecError) -> Result<(), SpecError> {
    if holds { Ok(()) } else { Err(error()) }
}

/// Checks everything that the shape alone does not.
///
/// # Errors
/// The first field that cannot be carried out.
pub fn check(spec: &RunSpec) -> Result<(), SpecError> {
    require(spec.schema_version == SCHEMA_VERSION, || {
        value("schema_version", spec.schema_version, SCHEMA_VERSION.to_string())
    })?;
    check_topology(&spec.fabric.topology)?;
    check_switch(spec)?;
    check_scheduled(spec)?;
    check_shared_memory(&spec.fabric)?;
    check_failures(&spec.fabric)?;
    check_transport(&spec.transport)?;
    check_link_layer(spec)?;
    check_jobs(spec)?;
    check_tcp(spec)
}

fn check_shared_memory(fabric: &FabricSpec) -> Result<(), SpecError> {
    let memory = fabric.shared_memory;
    require((1_000_000..=RATE_BPS_MAX).contains(&memory.rate_bps), || {
        value("fabric.shared_memory.rate_bps", memory.rate_bps, "1 Mb/s to 100 Tb/s")
    })?;
    require(memory.latency_ps <= 1_000_000_000_000, || {
        value("fabric.shared_memory.latency_ps", memory.latency_ps, "at most 1 s")
    })
}

fn check_links(links: &[(&str, &LinkSpec)]) -> Result<(), SpecError> {
    for (name, link) in links {
        require((1_000_000..=100_000_000_000_000).contains(&link.rate_bps), || {
            value(format!("fabric.topology.{name}.rate_bps"), link.rate_bps, "1 Mb/s to 100 Tb/s")
        })?;
        require(link.cable.delay_ps <= 1_000_000_000_000, || {
            value(format!("fabric.topology.{name}.cable.delay_ps"), link.cable.delay_ps, "at most 1 s")
        })?;
    }
    Ok(())
}

fn check_counts(counts: &[(&str, u32)]) -> Result<(), SpecError> {
    for &(name, count) in counts {
        require(count > 0, || value(format!("fabric.topology.{name}"), count, "1 or more"))?;
    }
    Ok(())
}

fn check_topology(topology: &TopologySpec) -> Result<(), SpecError> {
    match topology {
        TopologySpec::SingleSwitch { hosts, host_link } | TopologySpec::FullMesh { hosts, host_link } => {
            check_counts(&[("hosts", *hosts)])?;
            check_links(&[("host_link", host_link)])
        }
        TopologySpec::LeafSpine {
            leaves,
            hosts_per_leaf,
            spines,
            links_per_spine,
            host_link,
            fabric_link,
        } => {
            check_counts(&[
                ("leaves", *leaves),
                ("hosts_per_leaf", *hosts_per_leaf),
                ("spines", *spines),
                ("links_per_spine", *links_per_spine),
            ])?;
            check_links(&[("host_link", host_link), ("fabric_link", fabric_link)])
        }
        TopologySpec::FatTree {
            pods,
            leaves_per_pod,
            hosts_per_leaf,
            aggs_per_pod,
            cores_per_agg,
            host_link,
            fabric_link,
            core_link,
        } => {
            check_counts(&[
                ("pods", *pods),
                ("leaves_per_pod", *leaves_per_pod),
                ("hosts_per_leaf", *hosts_per_leaf),
                ("aggs_per_pod", *aggs_per_pod),
                ("cores_per_agg", *cores_per_agg),
            ])?;
            check_links(&[("host_link", host_link), ("fabric_link", fabric_link), ("core_link", core_link)])
        }
        TopologySpec::RailOptimised {
            servers,
            rails,
            spines,
            links_per_spine,
            host_link,
            fabric_link,
            scale_up_link,
        } => {
            check_counts(&[("servers", *servers), ("rails", *rails), ("links_per_spine", *links_per_spine)])?;
            require(*spines > 0 || *rails == 1, || {
                value("fabric.topology.spines", 0, "1 or more, so that every rank reaches every other")
            })?;
            check_links(&[("host_link", host_link), ("fabric_link", fabric_link)])?;
            scale_up_link.as_ref().map_or(Ok(()), |link| check_links(&[("scale_up_link", link)]))
        }
        TopologySpec::Custom { links, host_link, .. } => check_custom(links, host_link),
    }
}

/// Names and ways are for the builder to check, which knows the graph.
fn check_custom(links: &[CustomLinkSpec], host_link: &LinkSpec) -> Result<(), SpecError> {
    check_links(&[("host_link", host_link)])?;
    let place = |index| format!("links[{index}].link");
    links.iter().enumerate().try_for_each(|(index, each)| check_links(&[(&place(index), &each.link)]))
}

fn check_transport(transport: &TransportSpec) -> Result<(), SpecError> {
    let field = |name: &str| format!("transport.{name}");
    require([256, 512, 1024, 2048, 4096].contains(&transport.mtu_bytes), || {
        value(field("mtu_bytes"), transport.mtu_bytes, "256, 512, 1024, 2048 or 4096")
    })?;
    // IBTA 1.7, 9.7.1.1: a message is at most 2^31 bytes.
    require((1..=1 << 31).contains(&transport.message_bytes), || {
        value(field("message_bytes"), transport.message_bytes, "1 B to 2 GiB")
    })?;
    require((1..=1024).contains(&transport.qps_per_rank_pair), || {
        value(field("qps_per_rank_pair"), transport.qps_per_rank_pair, "1 to 1024")
    })?;
    require((1..=WINDOW_PACKETS_MAX).contains(&transport.window_packets), || {
        value(field("window_packets"), transport.window_packets, format!("1 to {WINDOW_PACKETS_MAX}"))
    })?;
    require((1..=transport.window_packets).contains(&transport.ack_every), || {
        value(field("ack_every"), transport.ack_every, "1 to window_packets, or the window never opens")
    })?;
    let is_selective = transport.recovery == LossRecovery::Selective;
    require(!is_selective || (1..=WINDOW_PACKETS_MAX).contains(&transport.ooo_window_packets), || {
        value(field("ooo_window_packets"), transport.ooo_window_packets, format!("1 to {WINDOW_PACKETS_MAX}"))
    })?;
    require(transport.timeout_ps > 0, || value(field("timeout_ps"), 0, "more than 0"))?;
    require(transport.retry_count <= RETRY_COUNT_MAX, || {
        value(field("retry_count"), transport.retry_count, format!("0 to {RETRY_COUNT_MAX}"))
    })?;
    check_rate_control(&transport.rate_control)
}

fn check_jobs(spec: &RunSpec) -> Result<(), SpecError> {
    require(!spec.jobs.is_empty(), || value("jobs", "none", "1 or more"))?;
    let mut names = HashSet::new();
    let mut streams = HashSet::new();
    let mut taken: HashMap<u32, Taken> = HashMap::new();
    for (index, job) in spec.jobs.iter().enumerate() {
        let field = |name: &str| format!("jobs[{index}].{name}");
        require(names.insert(&job.name), || value(field("name"), &job.name, "a name no other job has"))?;
        require(streams.insert(job.stream) && job.stream <= JOB_STREAM_MAX, || {
            value(field("stream"), job.stream, format!("0 to {JOB_STREAM_MAX}, and not that of another job"))
        })?;
        check_hosts(spec, index, job, &mut taken)?;
        check_job(job, &field)?;
        check_packets(job, &spec.transport, &field)?;
        check_storage(job, &spec.transport, &field)?;
        check_mpi(job, &spec.transport, &field)?;
    }
    require(spec.jobs.iter().any(|job| job.repeat.rounds().is_some()), || {
        value("jobs", "every job runs until others end", "a job that ends by itself")
    })
}

/// Who is on a host: a job, and how many of its ranks.
struct Taken {
    job: usize,
    ranks: u32,
}

fn check_hosts(
    spec: &RunSpec,
    index: usize,
    job: &JobSpec,
    taken: &mut HashMap<u32, Taken>,
) -> Result<(), SpecError> {
    let hosts = spec.fabric.topology.hosts();
    for (rank, &host) in job.hosts.iter().enumerate() {
        let place = format!("jobs[{index}].hosts[{rank}]");
        require(u64::from(host) < hosts, || value(&*place, host, format!("0 to {}", hosts - 1)))?;
        let there = taken.entry(host).or_insert(Taken { job: index, ranks: 0 });
        there.ranks += 1;
        require(there.job == index, || {
            let found = format!("host {host} already has a rank of {:?}", spec.jobs[there.job].name);
            value(&*place, found, "a host without ranks of other jobs")
        })?;
        let most = if job.storage.is_some() { 1 } else { HOST_RANKS_MAX };
        require(there.ranks <= most, || {
            value(&*place, format!("{} ranks on host {host}", there.ranks), format!("at most {most}"))
        })?;
    }
    Ok(())
}

fn check_job(job: &JobSpec, field: &dyn Fn(&str) -> String) -> Result<(), SpecError> {
    let ranks = job.hosts.len() as u64;
    require(ranks >= 2, || value(field("hosts"), format!("{ranks} ranks"), "2 or more"))?;
    require(u64::from(job.root) < ranks, || value(field("root"), job.root, format!("0 to {}", ranks - 1)))?;
    require(job.data_bytes > 0, || value(field("data_bytes"), 0, "1 or more"))?;
    for (name, overhead_ps) in [
        ("step_overhead_ps", job.step_overhead_ps),
        ("send_overhead_ps", job.send_overhead_ps),
        ("receive_overhead_ps", job.receive_overhead_ps),
    ] {
        require(overhead_ps <= DURATION_PS_MAX, || value(field(name), overhead_ps, "at most 1,000 s"))?;
    }
    require(job.repeat.rounds() != Some(0), || value(field("repeat.rounds"), 0, "1 or more"))?;
    job.arrivals.as_ref().map_or(Ok(()), |arrivals| check_arrivals(job, arrivals, field))
}

/// That no chunk can have more packets than a requester counts: none is longer than the data of its job.
fn check_packets(
    job: &JobSpec,
    transport: &TransportSpec,
    field: &dyn Fn(&str) -> String,
) -> Result<(), SpecError> {
    let message_packets = transport.message_bytes.div_ceil(transport.mtu_bytes.into());
    let packets = u128::from(job.data_bytes.div_ceil(transport.message_bytes)) * u128::from(message_packets);
    require(packets <= u128::from(CHUNK_PACKETS_MAX), || {
        let most = CHUNK_PACKETS_MAX / message_packets * transport.message_bytes;
        let allowed = format!("{most} bytes, at most {CHUNK_PACKETS_MAX} packets");
        value(field("data_bytes"), job.data_bytes, allowed)
    })
}

fn check_arrivals(
    job: &JobSpec,
    arrivals: &ArrivalsSpec,
    field: &dyn Fn(&str) -> String,
) -> Result<(), SpecError> {
    let allowed = "1 bit/s to 100 Tb/s";
    require((1..=RATE_BPS_MAX).contains(&arrivals.rate_bps), || {
        value(field("arrivals.rate_bps"), arrivals.rate_bps, allowed)
    })?;
    require((1..=DURATION_PS_MAX).contains(&arrivals.duration_ps), || {
        value(field("arrivals.duration_ps"), arrivals.duration_ps, "more than 0, at most 1,000 s")
    })?;
    require(job.repeat == RepeatSpec::Rounds { rounds: 1 }, || {
        value(
            field("repeat"),
            "more than one round of open-loop traffic",
            "1; its duration says how long it lasts",
        )
    })?;
    let overheads = [
        ("step_overhead_ps", job.step_overhead_ps),
        ("send_overhead_ps", job.send_overhead_ps),
        ("receive_overhead_ps", job.receive_overhead_ps),
    ];
    overheads.into_iter().try_for_each(|(name, overhead_ps)| {
        let allowed = "0: open-loop messages are offered at their time";
        require(overhead_ps == 0, || value(field(name), overhead_ps, allowed))
    })
}

impl TopologySpec {
    /// Number of hosts.
    #[must_use]
    pub fn hosts(&self) -> u64 {
        let product = |counts: &[u32]| counts.iter().map(|&count| u64::from(count)).product();
        match self {
            Self::SingleSwitch { hosts, .. } | Self::FullMesh { hosts, .. } => u64::from(*hosts),
            Self::LeafSpine { leaves, hosts_per_leaf, .. } => product(&[*leaves, *hosts_per_leaf]),
            Self::FatTree { pods, leaves_per_pod, hosts_per_leaf, .. } => {
                product(&[*pods, *leaves_per_pod, *hosts_per_leaf])
            }
            Self::RailOptimised { servers, rails, .. } => product(&[*servers, *rails]),
            Self::Custom { switches, .. } => switches.iter().map(|switch| u64::from(switch.hosts)).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{TransportSpec, check_transport};
    use serde_json::json;

    #[test]
    fn retries_that_no_requester_counts_are_refused() {
        let transport = |retry_count: u32| -> TransportSpec {
            serde_json::from_value(json!({
                "mtu_bytes": 4096,
                "message_bytes": 1 << 20,
                "qp_mode": "per_pair",
                "qps_per_rank_pair": 1,
                "ack_every": 1,
                "window_packets": 512,
                "recovery": "go_back_n",
                "ooo_window_packets": 512,
                "priorities": {"data": 3, "ack": 0, "cnp": 6},
                "timeout_ps": 1_000_000,
                "retry_count": retry_count,
                "rate_control": {"kind": "line-rate"},
            }))
            .expect("it has the shape")
        };
        assert_eq!(check_transport(&transport(65_535)), Ok(()));
        let refused = check_transport(&transport(65_536)).expect_err("the counter has 16 bits");
        assert_eq!(refused.to_string(), "transport.retry_count: 65536; allowed: 0 to 65535");
    }
}
