//! Failures and repairs of a run: state changes of each link and of NIC throughput, resulting routes, and
//! recorded events.
//!
//! A failed switch has all its links down: frames queued in it are lost when it sends them. Routes are the
//! shortest paths over the links between switches that are up; all switches update at the same time. Host
//! ports stay in the routes: frames to a host port whose link is down are lost there.

use crate::LinkNames;
use spec::{FabricSpec, FailureSpec, ForwardingSpec, NicDirection, SpecError, unsupported};
use std::collections::BTreeMap;
use std::sync::Arc;
use topology::{Graph, NodeKind, Routes};
use units::{Instant, LinkId, NodeId, Rate, Span};

/// Minimum rate of a slowed link, as a divisor of its nominal rate: at lower rates, the transmission of a
/// frame would take more simulation windows than inboxes are allocated for.
const RATE_DIVISOR_MAX: u64 = 100;

/// Corruption of frames on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corruption {
    /// Each bit is corrupted independently with this probability [1e-18].
    Bits(u64),
    /// Each frame is corrupted with this probability [ppm].
    Frames(u32),
}

/// State of a link from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkChange {
    /// Start time.
    pub at: Instant,
    /// Whether it carries frames.
    pub is_up: bool,
    /// Rate.
    pub rate: Rate,
    /// Corruption of frames, if any.
    pub corruption: Option<Corruption>,
}

/// Routes from a time on.
#[derive(Clone, Debug)]
pub struct Reroute {
    /// Start time.
    pub at: Instant,
    /// Routes used by all switches.
    pub routes: Arc<Routes>,
}

/// Recorded event: failure, repair or convergence of routes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureEvent {
    /// Time.
    pub at: Instant,
    /// Kind, such as `link_down`.
    pub kind: &'static str,
    /// The node under which it is recorded.
    pub node: String,
    /// Description.
    pub detail: String,
}

/// All failures and repairs of a run.
pub struct Failures {
    /// Failures and repairs in order of time.
    steps: Vec<Step>,
    convergence: Span,
    /// Changes of each affected link, in order of time.
    links: BTreeMap<LinkId, Vec<LinkChange>>,
    hosts: BTreeMap<u32, Vec<ThroughputChange>>,
}

/// NIC throughput of a host from a time on.
#[derive(Clone, Copy, Debug)]
pub struct ThroughputChange {
    /// Start time.
    pub at: Instant,
    /// Throughput as a fraction of line rate [ppm].
    pub ppm: u32,
    /// Affected direction.
    pub direction: NicDirection,
}

/// One failure or repair.
struct Step {
    at: Instant,
    kind: &'static str,
    /// The node under which it is recorded.
    node: String,
    detail: String,
    /// Links that change between up and down, with the new state.
    flipped: Vec<(LinkId, bool)>,
}

/// State of the fabric while failures are processed in order of time.
struct Replay<'a> {
    graph: &'a Graph,
    names: LinkNames,
    link_is_down: Vec<bool>,
    switch_is_down: Vec<bool>,
    rates: Vec<Rate>,
    corruptions: Vec<Option<Corruption>>,
    changes: BTreeMap<LinkId, Vec<LinkChange>>,
    hosts: BTreeMap<u32, Vec<ThroughputChange>>,
}

impl Failures {
    /// Processes the failures of `spec`.
    ///
    /// # Errors
    /// If a failure refers to an unknown element, or one that is already in that state.
    pub fn new(spec: &FabricSpec, graph: &Graph) -> Result<Self, SpecError> {
        let mut order: Vec<usize> = (0..spec.failures.len()).collect();
        order.sort_by_key(|&index| spec.failures[index].at_ps());
        let mut replay = Replay::new(graph, &spec.failures);
        let mut steps = Vec::with_capacity(order.len());
        for index in order {
            let failure = &spec.failures[index];
            let step = replay.step(failure, spec.switch.forwarding).map_err(|problem| problem.at(index))?;
            steps.push(step);
        }
        Ok(Self {
            steps,
            convergence: Span(spec.convergence_time_ps),
            links: replay.changes,
            hosts: replay.hosts,
        })
    }

    /// Changes of a link in order of time; empty if there are none.
    pub fn of_link(&self, link: LinkId) -> &[LinkChange] {
        self.links.get(&link).map_or(&[], Vec::as_slice)
    }

    /// Changes of the NIC throughput of a host in order of time; empty if there are none.
    pub fn of_host(&self, host: NodeId) -> &[ThroughputChange] {
        self.hosts.get(&host.0).map_or(&[], Vec::as_slice)
    }

    /// Times of all failures and repairs, in order.
    pub fn times(&self) -> impl Iterator<Item = Instant> + '_ {
        self.steps.iter().map(|step| step.at)
    }

    /// Times at which links between switches go down or up.
    fn cuts(&self, graph: &Graph) -> Vec<Instant> {
        let is_fabric =
            |link: LinkId| graph.link(link).ends.iter().all(|end| end.node.index() >= graph.hosts());
        let counts = |step: &&Step| step.flipped.iter().any(|&(link, _)| is_fabric(link));
        let mut times: Vec<Instant> = self.steps.iter().filter(counts).map(|step| step.at).collect();
        times.dedup();
        times
    }

    /// Resulting route updates, in order of time.
    pub fn reroutes(&self, graph: &Graph) -> Arc<[Reroute]> {
        let cuts = self.cuts(graph);
        cuts.into_iter()
            .map(|at| Reroute {
                at: at + self.convergence,
                routes: Arc::new(Routes::compute_over(graph, |link| self.is_up(link, at))),
            })
            .collect()
    }

    /// Whether a link is up just after `at`.
    pub fn is_up(&self, link: LinkId, at: Instant) -> bool {
        let changes = self.of_link(link);
        let past = changes.partition_point(|change| change.at <= at);
        past == 0 || changes[past - 1].is_up
    }

    /// Recorded events up to the end of the run.
    pub fn events(&self, graph: &Graph, end: Instant) -> Vec<FailureEvent> {
        let failed = self.steps.iter().map(|step| FailureEvent {
            at: step.at,
            kind: step.kind,
            node: step.node.clone(),
            detail: step.detail.clone(),
        });
        let converged = self.cuts(graph).into_iter().map(|at| {
            let down = self.links.keys().filter(|&&link| !self.is_up(link, at)).count();
            let detail = format!(
                "every switch chooses by the routes over what was up at {at}: {down} of {} links down",
                graph.links.len()
            );
            FailureEvent {
                at: at + self.convergence,
                kind: "routes_converged",
                node: "fabric".into(),
                detail,
            }
        });
        failed.chain(converged).filter(|event| event.at <= end).collect()
    }
}

/// Error of a failure entry, by the name of its field.
struct Problem {
    name: &'static str,
    value: String,
    allowed: String,
}

impl Problem {
    fn new(name: &'static str, value: impl Into<String>, allowed: impl Into<String>) -> Self {
        Self { name, value: value.into(), allowed: allowed.into() }
    }

    fn at(self, index: usize) -> SpecError {
        unsupported(format!("fabric.failures[{index}].{}", self.name), self.value, self.allowed)
    }
}

impl<'a> Replay<'a> {
    fn new(graph: &'a Graph, failures: &[FailureSpec]) -> Self {
        Self {
            graph,
            // Without failures, generating the names of up to a million cables is avoided.
            names: if failures.is_empty() { LinkNames::default() } else { LinkNames::of(graph) },
            link_is_down: vec![false; graph.links.len()],
            switch_is_down: vec![false; graph.nodes.len()],
            rates: graph.links.iter().map(|link| link.rate).collect(),
            corruptions: vec![None; graph.links.len()],
            changes: BTreeMap::new(),
            hosts: BTreeMap::new(),
        }
    }

    fn step(&mut self, failure: &FailureSpec, forwarding: ForwardingSpec) -> Result<Step, Problem> {
        let at = Instant(failure.at_ps());
        match failure {
            FailureSpec::LinkDown { link, .. } => self.set_link_up(at, link, false),
            FailureSpec::LinkUp { link, .. } => self.set_link_up(at, link, true),
            FailureSpec::LinkRate { link, rate_bps, .. } => self.slow_link(at, link, *rate_bps, forwarding),
            FailureSpec::BitErrors { link, errors_1e18, .. } => {
                let detail = format!("a bit error rate of {} from now on", scientific(*errors_1e18, 18));
                self.corrupt(at, link, "bit_errors", Corruption::Bits(*errors_1e18), &detail)
            }
            FailureSpec::FrameLoss { link, lost_ppm, .. } => {
                let detail = format!("{lost_ppm} frames of a million lost from now on");
                self.corrupt(at, link, "frame_loss", Corruption::Frames(*lost_ppm), &detail)
            }
            FailureSpec::NicThroughput { host, throughput_ppm, direction, .. } => {
                self.slow_nic(at, *host, *throughput_ppm, *direction)
            }
            FailureSpec::SwitchDown { switch, .. } => self.set_switch_up(at, switch, false),
            FailureSpec::SwitchUp { switch, .. } => self.set_switch_up(at, switch, true),
        }
    }

    fn set_link_up(&mut self, at: Instant, name: &str, up: bool) -> Result<Step, Problem> {
        let links = self.find_links(name)?;
        for &link in &links {
            if self.link_is_down[link.index()] != up {
                let (is, allowed) = state_names(up);
                return Err(Problem::new(
                    "link",
                    format!("{name}, which is {is} by then"),
                    format!("a link that is {allowed}"),
                ));
            }
        }
        let before = self.states(&links);
        links.iter().for_each(|link| self.link_is_down[link.index()] = !up);
        let kind = if up { "link_up" } else { "link_down" };
        Ok(self.record(at, kind, &links, &before, format!("{name}, {}", count(links.len()))))
    }

    fn slow_link(
        &mut self,
        at: Instant,
        name: &str,
        rate_bps: u64,
        forwarding: ForwardingSpec,
    ) -> Result<Step, Problem> {
        let links = self.find_links(name)?;
        if forwarding == ForwardingSpec::CutThrough {
            let value =
                "a rate that changes with cut-through, where a frame must not leave faster than it comes";
            return Err(Problem::new("kind", value, "link-rate with store-and-forward"));
        }
        for &link in &links {
            let own = self.graph.link(link).rate.bps();
            if rate_bps > own || rate_bps < own.div_ceil(RATE_DIVISOR_MAX) {
                let allowed = format!(
                    "{} to {own} bit/s, a hundredth of the link's rate to all of it",
                    own.div_ceil(RATE_DIVISOR_MAX)
                );
                return Err(Problem::new("rate_bps", format!("{rate_bps} bit/s"), allowed));
            }
        }
        let before = self.states(&links);
        let rate = Rate::from_bps(rate_bps);
        links.iter().for_each(|link| self.rates[link.index()] = rate);
        let detail = format!("{name}, {}: {rate} from now on", count(links.len()));
        Ok(self.record(at, "link_rate", &links, &before, detail))
    }

    fn corrupt(
        &mut self,
        at: Instant,
        name: &str,
        kind: &'static str,
        corruption: Corruption,
        detail: &str,
    ) -> Result<Step, Problem> {
        let links = self.find_links(name)?;
        let before = self.states(&links);
        let is_none = matches!(corruption, Corruption::Bits(0) | Corruption::Frames(0));
        let corruption = (!is_none).then_some(corruption);
        links.iter().for_each(|link| self.corruptions[link.index()] = corruption);
        Ok(self.record(at, kind, &links, &before, format!("{name}, {}: {detail}", count(links.len()))))
    }

    fn slow_nic(
        &mut self,
        at: Instant,
        host: u32,
        ppm: u32,
        direction: NicDirection,
    ) -> Result<Step, Problem> {
        let hosts = self.graph.hosts();
        if host as usize >= hosts {
            let allowed = format!("hosts 0 to {} of this topology", hosts - 1);
            return Err(Problem::new("host", format!("host {host}"), allowed));
        }
        self.hosts.entry(host).or_default().push(ThroughputChange { at, ppm, direction });
        let node = self.graph.node(NodeId(host)).name.clone();
        let (whole, rest) = (ppm / 10_000, ppm % 10_000);
        let percent = format!("{whole}.{rest:04}");
        let percent = percent.trim_end_matches('0').trim_end_matches('.');
        let suffix = match direction {
            NicDirection::Both => "",
            NicDirection::Send => ", sending",
            NicDirection::Receive => ", receiving",
        };
        let detail = format!("{node}, {percent} % of line rate{suffix} from now on");
        Ok(Step { at, kind: "nic_throughput", node, detail, flipped: Vec::new() })
    }

    fn set_switch_up(&mut self, at: Instant, name: &str, up: bool) -> Result<Step, Problem> {
        let is_it = |node: &topology::Node| node.kind == NodeKind::Switch && node.name == name;
        let Some(node) = self.graph.nodes.iter().position(is_it) else {
            return Err(Problem::new("switch", name, "a switch of the topology"));
        };
        if self.switch_is_down[node] != up {
            let (is, allowed) = state_names(up);
            return Err(Problem::new(
                "switch",
                format!("{name}, which is {is} by then"),
                format!("a switch that is {allowed}"),
            ));
        }
        let links: Vec<LinkId> = self.graph.nodes[node].ports.iter().map(|port| port.link).collect();
        let before = self.states(&links);
        self.switch_is_down[node] = !up;
        let kind = if up { "switch_up" } else { "switch_down" };
        Ok(self.record(at, kind, &links, &before, format!("{name}, {}", count(links.len()))))
    }

    fn find_links(&self, name: &str) -> Result<Vec<LinkId>, Problem> {
        let links = self.names.find(name).map(<[LinkId]>::to_vec);
        links.ok_or_else(|| Problem::new("link", name, self.names.allowed()))
    }

    fn is_up(&self, link: LinkId) -> bool {
        let ends = self.graph.link(link).ends;
        !self.link_is_down[link.index()] && ends.iter().all(|end| !self.switch_is_down[end.node.index()])
    }

    fn states(&self, links: &[LinkId]) -> Vec<bool> {
        links.iter().map(|&link| self.is_up(link)).collect()
    }

    /// Records the state of `links` from `at` on; `before` has their previous up state.
    fn record(
        &mut self,
        at: Instant,
        kind: &'static str,
        links: &[LinkId],
        before: &[bool],
        detail: String,
    ) -> Step {
        let mut flipped = Vec::new();
        for (&link, &was_up) in links.iter().zip(before) {
            let is_up = self.is_up(link);
            if is_up != was_up {
                flipped.push((link, is_up));
            }
            let (rate, corruption) = (self.rates[link.index()], self.corruptions[link.index()]);
            let change = LinkChange { at, is_up, rate, corruption };
            let changes = self.changes.entry(link).or_default();
            // Of several changes at the same time, the last one applies.
            if changes.last().is_some_and(|last| last.at == at) {
                changes.pop();
            }
            changes.push(change);
        }
        let node = match links {
            [link, ..] => self.graph.node(self.graph.link(*link).ends[0].node).name.clone(),
            [] => String::new(),
        };
        Step { at, kind, node, detail, flipped }
    }
}

const fn state_names(up: bool) -> (&'static str, &'static str) {
    if up { ("up", "down") } else { ("down", "up") }
}

/// Formats `value / 10^exponent` in scientific notation, such as 1.5e-12.
fn scientific(value: u64, exponent: i32) -> String {
    let digits = value.to_string();
    let power = digits.len() as i32 - 1 - exponent;
    match digits.trim_end_matches('0').split_at_checked(1) {
        None => "0".into(),
        Some((whole, "")) => format!("{whole}e{power}"),
        Some((whole, rest)) => format!("{whole}.{rest}e{power}"),
    }
}

fn count(links: usize) -> String {
    format!("{links} link{}", if links == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_ratios_are_written_with_a_power_of_ten() {
        let written = [0, 1, 1_500_000, 1_000_000_000_000_000].map(|value| scientific(value, 18));
        assert_eq!(written, ["0", "1e-18", "1.5e-12", "1e-3"]);
    }
}
