//! Two-phase processing of a run: divides its nodes into two sides, each of which is processed for two time
//! windows (steps of the simulation) while the other waits (see [`engine::Side`]), and decides when a run may
//! do so.
//!
//! A run may do so only if the result does not depend on the division of time into windows: no path is chosen
//! by the queues at the start of a window, no chip sends to itself, and a run does not end while frames are
//! lost that nobody resends. All hosts must be on one side, so that they report in order of time. Near the
//! end of a run windows are processed one by one, because the end must be determined to the exact window.

use super::{Fabric, Flows};
use crate::record::Totals;
use crate::switch::forward::needs_loads;
use engine::Side;
use spec::{JobSpec, LinkLayerSpec, LossRecovery, RunSpec};
use topology::{Graph, Port};
use units::{Instant, Rank, Rate, Span};

/// With timeouts of fewer windows a run may end before the sides have synchronised.
const TIMEOUT_WINDOWS_MIN: u64 = 8;

/// The side of each node; `None` if the nodes of this run cannot alternate.
pub(super) fn sides(spec: &RunSpec, fabric: &Fabric) -> Option<Vec<Side>> {
    // That a queue pair is about to fail is known one timeout before.
    let may_part = !needs_loads(spec)
        && spec.transport.timeout_ps >= TIMEOUT_WINDOWS_MIN * fabric.span.0
        && matches!(spec.fabric.link_layer, LinkLayerSpec::Ethernet { .. })
        && spec.fabric.switch.scheduled.is_none()
        && fabric.chips.is_empty()
        && spec.transport.recovery != LossRecovery::None
        && spec.tcp.is_empty()
        && !spec.has_storage();
    if may_part { sides_of(&fabric.graph) } else { None }
}

/// Sides such that every link connects one with the other and all hosts are on one; `None` if there is a
/// cycle of an odd number of switches, or a path of odd length between two hosts.
fn sides_of(graph: &Graph) -> Option<Vec<Side>> {
    let mut sides = vec![None; graph.nodes.len()];
    let mut reached = Vec::new();
    for start in 0..sides.len() {
        if sides[start].is_none() {
            sides[start] = Some(Side::First);
            reached.push(start);
        }
        while let Some(node) = reached.pop() {
            let other = sides[node].map(Side::other);
            for port in &graph.nodes[node].ports {
                let peer = &mut sides[port.peer.index()];
                if peer.is_none() {
                    *peer = other;
                    reached.push(port.peer.index());
                } else if *peer != other {
                    return None;
                }
            }
        }
    }
    let sides: Vec<Side> = sides.into_iter().collect::<Option<_>>()?;
    let hosts = &sides[..graph.hosts()];
    hosts.iter().all(|side| *side == hosts[0]).then_some(sides)
}

/// Windows that one side processes at once.
const WINDOWS: u64 = 2;
/// Windows without progress after which a run is processed window by window.
const WINDOWS_IDLE_MAX: u64 = 64;
/// Bytes that a port may receive in a step beyond its rate times the step: the rest of a frame that started
/// earlier.
const FRAME_BYTES_MAX: u64 = 16 << 10;

/// Decides whether a run lasts at least one more step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TwoPhaseRule {
    /// Payload of the run that is sent between hosts.
    total_bytes: u64,
    /// Number of hosts, and most bytes that any of them may receive in a step.
    hosts: u64,
    host_bytes: u64,
    idle_max: Span,
}

impl TwoPhaseRule {
    /// The rule of a run that is aborted after `patience` without progress.
    pub(crate) fn new(spec: &RunSpec, fabric: &Fabric, flows: &Flows, patience: Span) -> Self {
        let (graph, step) = (&fabric.graph, Span(WINDOWS * fabric.span.0));
        let of_port = |port: &Port| bytes_in(graph.link(port.link).rate, step) + FRAME_BYTES_MAX;
        let hosts = &graph.nodes[..graph.hosts()];
        Self {
            total_bytes: bytes_between_hosts(spec, flows),
            hosts: hosts.len() as u64,
            host_bytes: hosts.iter().map(|host| host.ports.iter().map(of_port).sum()).max().unwrap_or(0),
            idle_max: Span((WINDOWS_IDLE_MAX * fabric.span.0).min(patience.0 / 2)),
        }
    }

    /// Whether the run certainly lasts for another step, given `open` unfinished chunks at `now`: more
    /// payload is missing than a step can deliver, payload still arrives, and no queue pair is about to fail,
    /// whose chunks may be the last ones. If `open` is less than the number of hosts, at least one chunk
    /// misses more than a host can receive in a step.
    #[inline]
    pub(crate) fn allows(&self, totals: Totals, open: u64, now: Instant) -> bool {
        let missing = self.total_bytes.saturating_sub(totals.progress);
        missing > self.host_bytes * self.hosts.min(open)
            && totals.last_retry_until < now
            && now.0.saturating_sub(totals.progress_at.0) < self.idle_max.0
    }
}

/// Payload of all rounds of the jobs that end by themselves. Excludes messages between ranks of one host:
/// these are delivered all at once.
fn bytes_between_hosts(spec: &RunSpec, flows: &Flows) -> u64 {
    let of_jobs = spec.jobs.iter().zip(&flows.schedules).map(|(job, schedule)| {
        let bytes = if has_one_rank_per_host(job) {
            schedule.total_bytes()
        } else {
            let host = |rank: Rank| job.hosts[rank.index()];
            let transfers = schedule.transfers().filter(|transfer| host(transfer.src) != host(transfer.dst));
            transfers.map(|transfer| transfer.bytes).sum()
        };
        job.bytes_of_all_rounds(bytes)
    });
    of_jobs.fold(0, u64::saturating_add)
}

/// Whether no two ranks of a job are on the same host.
pub(super) fn has_one_rank_per_host(job: &JobSpec) -> bool {
    let mut hosts = job.hosts.clone();
    hosts.sort_unstable();
    hosts.is_sorted_by(|one, next| one < next)
}

/// Bytes that a link of `rate` transmits in `time`.
fn bytes_in(rate: Rate, time: Span) -> u64 {
    const PS_PER_BYTE_AT_1_BPS: u128 = 8_000_000_000_000;
    (u128::from(rate.bps()) * u128::from(time.0) / PS_PER_BYTE_AT_1_BPS) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use topology::{Builder, CableSpec, Custom, CustomLink, CustomSwitch, LinkSpec, SingleSwitch};

    #[test]
    fn sides_alternate_while_much_is_missing_and_still_arrives() {
        let rule = TwoPhaseRule { total_bytes: 1_000, hosts: 10, host_bytes: 10, idle_max: Span(50) };
        let allows = |progress, open, now| {
            let totals = Totals { progress, progress_at: Instant(1_000), ..Totals::default() };
            rule.allows(totals, open, Instant(now))
        };
        assert!(allows(899, 99, 1_049) && allows(0, 1, 1_000) && allows(979, 2, 1_000));
        assert!(!allows(900, 99, 1_049) && !allows(899, 99, 1_050) && !allows(980, 2, 1_000));
        let at_last_retry = |now| {
            let last_retry_until = Instant(1_010);
            let totals = Totals { progress_at: Instant(1_000), last_retry_until, ..Totals::default() };
            rule.allows(totals, 9, Instant(now))
        };
        assert!(!at_last_retry(1_010) && at_last_retry(1_011));
        assert!(!allows(2_000, 99, 1_000), "more than was planned");
        assert_eq!(bytes_in(Rate::from_gbps(400), Span::from_us(1)), 50_000);
    }

    const LINK: LinkSpec = LinkSpec { rate_bps: 400_000_000_000, cable: CableSpec { delay_ps: 5_000 } };

    fn graph(topology: &dyn Builder) -> Graph {
        topology.build().expect("the network is within all limits")
    }

    /// A ring of switches; every second one has a host.
    fn ring(switches: u32) -> Graph {
        let name = |index: u32| format!("s{}", index % switches);
        let between = |index| [name(index), name(index + 1)];
        let hosts = |index: u32| u32::from(index.is_multiple_of(2));
        graph(&Custom {
            switches: (0..switches)
                .map(|index| CustomSwitch { name: name(index), hosts: hosts(index) })
                .collect(),
            links: (0..switches)
                .map(|index| CustomLink { between: between(index), count: 1, link: LINK })
                .collect(),
            host_link: LINK,
        })
    }

    #[test]
    fn every_link_leads_to_the_other_side() {
        let single = graph(&SingleSwitch { hosts: 3, host_link: LINK });
        for graph in [single, ring(4), ring(6)] {
            let sides = sides_of(&graph).expect("all paths between hosts are even");
            for (node, side) in graph.nodes.iter().zip(&sides) {
                assert!(node.ports.iter().all(|port| sides[port.peer.index()] == side.other()));
            }
            assert!(sides[..graph.hosts()].iter().all(|side| *side == Side::First));
        }
    }

    #[test]
    fn odd_paths_leave_no_sides() {
        assert_eq!((sides_of(&ring(3)), sides_of(&ring(5))), (None, None));
        let pair = graph(&Custom {
            switches: ["a", "b"].map(|name| CustomSwitch { name: name.into(), hosts: 2 }).into(),
            links: vec![CustomLink { between: ["a".into(), "b".into()], count: 1, link: LINK }],
            host_link: LINK,
        });
        assert_eq!(sides_of(&pair), None);
    }
}
