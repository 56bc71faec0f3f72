//! Detects possible PFC deadlocks (cyclic buffer dependencies): cycles of links in which each link forwards
//! data to the next.
//!
//! If data are paused instead of lost, such a cycle may block permanently (a deadlock) once its buffers are
//! full. Flows have no pauses and would continue, so a spec with such a cycle is rejected. Paths of the
//! built-in topologies go up and then down and form no cycle; custom topologies are searched, in time linear
//! in the links and queue pairs.

use crate::network::Network;
use crate::network::paths::Paths;
use jobs::Jobs;
use spec::{RunSpec, SpecError, TopologySpec, unsupported};
use std::collections::{BTreeMap, BTreeSet};

/// Checks that there is no cycle.
///
/// # Errors
/// When there is one.
pub(crate) fn check(spec: &RunSpec, paths: &Paths, jobs: &Jobs) -> Result<(), SpecError> {
    let network = &paths.network;
    if !are_possible(spec) || network.is_lossy() {
        return Ok(());
    }
    let mut successors: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    let mut legs = Vec::new();
    for pair in jobs.queue_pairs().filter(|pair| !pair.is_local()) {
        let to = paths.find_data_legs(&pair, &mut legs);
        if !legs.is_empty() {
            network.transits(&legs, to, &mut |transit| {
                _ = successors.entry(transit.from).or_default().insert(transit.to);
            });
        }
    }
    find_cycle(&successors).map_or(Ok(()), |cycle| Err(refusal(network, &cycle)))
}

/// Whether cycles are possible, so that paths must be searched.
pub(crate) fn are_possible(spec: &RunSpec) -> bool {
    matches!(spec.fabric.topology, TopologySpec::Custom(_))
}

fn refusal(network: &Network, cycle: &[u32]) -> SpecError {
    let names: Vec<String> = cycle.iter().map(|&link| network.name_of(link)).collect();
    let allowed =
        "paths without such a circle, or data that are not paused (the flow model covers no deadlock)";
    let cycle = format!("pauses that may wait for each other in a circle, {}", names.join(", "));
    unsupported("fabric.switch.pfc", cycle, allowed)
}

/// A link of the present walk, with its successors that are not visited yet.
struct Step {
    link: u32,
    unvisited: Vec<u32>,
}

/// Finds a cycle of links by depth-first search, if there is one.
fn find_cycle(successors: &BTreeMap<u32, BTreeSet<u32>>) -> Option<Vec<u32>> {
    // False for links on the present path from `first`, true for links that lead to no cycle.
    let mut is_done: BTreeMap<u32, bool> = BTreeMap::new();
    for &first in successors.keys() {
        if is_done.contains_key(&first) {
            continue;
        }
        let mut walk: Vec<Step> = Vec::new();
        let mut current = Some(first);
        loop {
            match current.map(|link| (link, is_done.get(&link))) {
                Some((link, Some(false))) => {
                    let start = walk.iter().position(|step| step.link == link).unwrap_or(0);
                    return Some(walk[start..].iter().map(|step| step.link).collect());
                }
                Some((link, None)) => {
                    is_done.insert(link, false);
                    let unvisited = successors.get(&link).into_iter().flatten().copied().collect();
                    walk.push(Step { link, unvisited });
                }
                Some((_, Some(true))) | None => {}
            }
            let Some(Step { link, unvisited }) = walk.last_mut() else { break };
            current = unvisited.pop();
            if current.is_none() {
                is_done.insert(*link, true);
                walk.pop();
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn graph(transits: &[(u32, u32)]) -> BTreeMap<u32, BTreeSet<u32>> {
        let mut successors: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        transits.iter().for_each(|&(from, to)| _ = successors.entry(from).or_default().insert(to));
        successors
    }

    proptest! {
        #[test]
        fn a_circle_is_found_if_and_only_if_links_cannot_be_put_in_order(
            transits in vec((0_u32..12, 0_u32..12), 0..30)
        ) {
            let successors = graph(&transits);
            // Remove links without a predecessor until none is left or only cycles remain.
            let mut remaining: BTreeSet<u32> = (0..12).collect();
            while let Some(&free) = remaining.iter().find(|&&link| {
                !remaining.iter().any(|from| successors.get(from).is_some_and(|to| to.contains(&link)))
            }) {
                remaining.remove(&free);
            }
            let cycle = find_cycle(&successors);
            prop_assert_eq!(cycle.is_some(), !remaining.is_empty());
            if let Some(cycle) = cycle {
                let after = cycle.iter().cycle().skip(1);
                prop_assert!(cycle.iter().zip(after).all(|(from, to)| successors[from].contains(to)));
            }
        }
    }
}
