//! Set-up of a run: checks the spec, builds the network and the jobs, and checks that there is a path for all
//! data and that packets are sprayed over links of one rate.

use crate::checks::{check as check_coverage, is_sprayed};
use crate::checks::{delays, pause_cycles};
use crate::network::InitialGraph;
use crate::network::paths::Paths;
use crate::rings::Rings;
use jobs::{Jobs, check_jobs};
use spec::{ChunksObserved, RunSpec, SpecError, unsupported};
use std::collections::BTreeMap;
use topology::{Graph, Node, NodeKind};
use units::{AttachmentId, NodeId, Rate};

/// Checks that `spec` can be run, without running it.
///
/// # Errors
/// When it cannot, or the model does not cover it.
pub fn check(spec: &RunSpec) -> Result<(), SpecError> {
    spec::check(spec)?;
    check_coverage(spec)?;
    let initial = InitialGraph::new(&spec.fabric)?;
    check_spraying(spec, &initial)?;
    let has_all_paths = initial.is_joined() && !pause_cycles::are_possible(spec);
    match check_jobs(spec) {
        Ok(_) if has_all_paths && !delays::may_exceed(spec, &initial.graph) => Ok(()),
        Ok(_) => jobs_of(spec, &Paths::new(spec)?).map(drop),
        // Rings of which only counts are requested need no numbers of transfers.
        Err(error) if spec.observe.chunks == ChunksObserved::Summary => {
            let mut paths = Paths::new(spec)?;
            Rings::find(spec, &mut paths).ok_or(error)?.check_delays(spec, &paths)
        }
        Err(error) => Err(error),
    }
}

/// The network of a spec with its paths.
///
/// # Errors
/// When the spec cannot be run, or the model does not cover it.
pub(crate) fn paths_of(spec: &RunSpec) -> Result<Paths, SpecError> {
    spec::check(spec)?;
    check_coverage(spec)?;
    let initial = InitialGraph::new(&spec.fabric)?;
    check_spraying(spec, &initial)?;
    Ok(Paths::on(initial, spec))
}

/// The jobs of a spec.
///
/// # Errors
/// When one has no schedule that can be listed or numbered, or no path.
pub(crate) fn jobs_of(spec: &RunSpec, paths: &Paths) -> Result<Jobs, SpecError> {
    jobs_representing(None, spec, paths)
}

/// Same as [`jobs_of`], on servers that stand for so many.
pub(crate) fn jobs_representing(
    servers: Option<u32>,
    spec: &RunSpec,
    paths: &Paths,
) -> Result<Jobs, SpecError> {
    let mut jobs = Jobs::new(spec).representing(servers);
    for (index, job) in spec.jobs.iter().enumerate() {
        jobs.add_scheduled(spec, index as u32, job)?;
    }
    paths.check(&jobs)?;
    pause_cycles::check(spec, paths, &jobs)?;
    delays::check(spec, paths, &jobs)?;
    Ok(jobs)
}

/// Checks that packets are sprayed over links of one rate. With different rates packets would not be split
/// evenly, and the slowest link of an even split would determine the result.
fn check_spraying(spec: &RunSpec, initial: &InitialGraph) -> Result<(), SpecError> {
    let graph = &initial.graph;
    let unequal_switches: Vec<u32> = (graph.hosts() as u32..graph.nodes.len() as u32)
        .filter(|&node| is_sprayed(spec) && has_unequal_rates(graph, graph.node(NodeId(node))))
        .collect();
    if unequal_switches.is_empty() {
        return Ok(());
    }
    let routes = initial.routes();
    for node in unequal_switches.into_iter().map(NodeId) {
        let rate = |&port: &u16| graph.link(graph.node(node).ports[usize::from(port)].link).rate;
        for to in (0..graph.attachments.len() as u32).map(AttachmentId) {
            let mut rates = routes.next_hops(node, to).iter().map(rate);
            let first = rates.next();
            if rates.any(|rate| Some(rate) != first) {
                let name = &graph.node(node).name;
                let rates = format!("packets sprayed over links of {name} with different rates");
                let allowed = "links of one rate, or a choice by hash (the flow model covers no more)";
                return Err(unsupported("fabric.load_balancing", rates, allowed));
            }
        }
    }
    Ok(())
}

/// Whether links of a switch to others of one tier have different rates.
fn has_unequal_rates(graph: &Graph, node: &Node) -> bool {
    let mut rates: BTreeMap<_, Rate> = BTreeMap::new();
    let peers = node.ports.iter().map(|end| (graph.node(end.peer), graph.link(end.link).rate));
    peers
        .filter(|(peer, _)| peer.kind == NodeKind::Switch)
        .any(|(peer, rate)| *rates.entry(peer.tier).or_insert(rate) != rate)
}
