//! Detection of cyclic buffer dependencies under PFC: cycles of links in which each link forwards data to the
//! next.
//!
//! If data are paused instead of lost, such a cycle may block permanently (a deadlock) once its buffers are
//! full. Flows have no pauses and would continue, so a spec with such a cycle is rejected. Paths of the
//! built-in topologies go up and then down and form no cycle unless links fail; others are searched, in time
//! linear in the links and queue pairs.

use crate::network::Network;
use crate::path::Paths;
use jobs::Jobs;
use spec::{RunSpec, SpecError, TopologySpec};
use std::collections::{BTreeMap, BTreeSet};

/// Checks that there is no cycle.
///
/// # Errors
/// When there is one.
pub(crate) fn check(spec: &RunSpec, paths: &Paths, jobs: &Jobs) -> Result<(), SpecError> {
    let network = &paths.network;
    if !may_have_any(spec) || network.loses() {
        return Ok(());
    }
    let all_routes =
        network.outages.as_ref().map_or_else(|| vec![network.routes.clone()], |outages| outages.all_routes());
    for routes in all_routes {
        let mut next: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        let mut legs = Vec::new();
        for pair in jobs.queue_pairs().filter(|pair| !pair.is_local()) {
            let to = paths.find_by(&routes, &pair, &mut legs);
            if !legs.is_empty() {
                network.turns(&legs, to, &mut |turn| _ = next.entry(turn.from).or_default().insert(turn.to));
            }
        }
        if let Some(circle) = circle_in(&next) {
            return Err(refusal(network, &circle));
        }
    }
    Ok(())
}

/// Whether cycles are possible, so that paths must be searched.
pub(crate) fn may_have_any(spec: &RunSpec) -> bool {
    matches!(spec.fabric.topology, TopologySpec::Custom(_)) || !spec.fabric.failures.is_empty()
}

fn refusal(network: &Network, circle: &[u32]) -> SpecError {
    let names: Vec<String> = circle.iter().map(|&link| network.name_of(link)).collect();
    SpecError::Value {
        field: "fabric.switch.pfc".into(),
        found: format!("pauses that may wait for each other in a circle, {}", names.join(", ")),
        allowed:
            "paths without such a circle, or data that are not paused (the flow model covers no deadlock)"
                .into(),
    }
}

/// Finds a cycle of links, if there is one.
fn circle_in(next: &BTreeMap<u32, BTreeSet<u32>>) -> Option<Vec<u32>> {
    // False for links on the present path from `first`, true for links that lead to no cycle.
    let mut is_done: BTreeMap<u32, bool> = BTreeMap::new();
    for &first in next.keys() {
        if is_done.contains_key(&first) {
            continue;
        }
        let mut way: Vec<(u32, Vec<u32>)> = Vec::new();
        let mut ahead = Some(first);
        loop {
            match ahead.map(|link| (link, is_done.get(&link))) {
                Some((link, Some(false))) => {
                    let place = way.iter().position(|step| step.0 == link).unwrap_or(0);
                    return Some(way[place..].iter().map(|step| step.0).collect());
                }
                Some((link, None)) => {
                    is_done.insert(link, false);
                    way.push((link, next.get(&link).into_iter().flatten().copied().collect()));
                }
                Some((_, Some(true))) | None => {}
            }
            let Some((link, behind)) = way.last_mut() else { break };
            ahead = behind.pop();
            if ahead.is_none() {
                is_done.insert(*link, true);
                way.pop();
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

    fn graph(turns: &[(u32, u32)]) -> BTreeMap<u32, BTreeSet<u32>> {
        let mut next: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        turns.iter().for_each(|&(from, to)| _ = next.entry(from).or_default().insert(to));
        next
    }

    proptest! {
        #[test]
        fn a_circle_is_found_if_and_only_if_links_cannot_be_put_in_order(
            turns in vec((0_u32..12, 0_u32..12), 0..30)
        ) {
            let next = graph(&turns);
            // Remove links without a predecessor until none is left or only cycles remain.
            let mut left: BTreeSet<u32> = (0..12).collect();
            while let Some(&free) = left.iter().find(|&&link| {
                !left.iter().any(|from| next.get(from).is_some_and(|to| to.contains(&link)))
            }) {
                left.remove(&free);
            }
            let circle = circle_in(&next);
            prop_assert_eq!(circle.is_some(), !left.is_empty());
            if let Some(circle) = circle {
                let after = circle.iter().cycle().skip(1);
                prop_assert!(circle.iter().zip(after).all(|(from, to)| next[from].contains(to)));
            }
        }
    }
}
