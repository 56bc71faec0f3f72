//! Computes the load of each cable by each job, from the paths of all queue pairs, without a run.

use crate::network::paths::{Path, Paths};
use crate::set_up::{jobs_of, paths_of};
use crate::sharing::max_min::WHOLE;
use ::paths::LinkNames;
use jobs::Jobs;
use serde::Serialize;
use spec::{RunSpec, SpecError};
use std::collections::BTreeMap;

/// A cable and its loads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LoadedLink {
    /// Its name, unique in the fabric.
    pub name: String,
    /// Both ends, lower tier first.
    pub ends: [LinkEnd; 2],
    /// Its rate [bit/s].
    pub rate_bps: u64,
    /// Loads by jobs that use it.
    pub loads: Vec<JobLoad>,
}

/// An end of a cable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LinkEnd {
    /// Name of the node.
    pub node: String,
    /// Its tier, 0 for hosts.
    pub tier: u8,
    /// Whether the node is a crossbar without latency: a mesh, or a scale-up switch.
    pub is_ideal: bool,
}

/// Load of a cable by a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JobLoad {
    /// Index of the job.
    pub job: u32,
    /// From the first end to the second, and back.
    pub directions: [DirectionLoad; 2],
}

/// Load of a direction of a cable by a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DirectionLoad {
    /// Queue pairs that may send data on it.
    pub queue_pairs: u32,
    /// Their payload on it; of sprayed packets an equal part on each path [bytes].
    pub bytes: u64,
    /// Queue pairs whose acknowledgements may be sent on it.
    pub acknowledged_queue_pairs: u32,
}

/// Returns all cables with the loads of the jobs. Data without a path load no cable.
///
/// # Errors
/// When the spec cannot be run, or the flow model does not cover it.
pub fn link_loads(spec: &RunSpec) -> Result<Vec<LoadedLink>, SpecError> {
    let paths = paths_of(spec)?;
    let jobs = jobs_of(spec, &paths)?;
    let loads = loads_by_link(&paths, &jobs);
    let graph = &paths.network.graph;
    let names = LinkNames::unique(graph).into_iter().zip(graph.links.iter());
    let links = (0_u32..).zip(names).map(|(index, (name, link))| LoadedLink {
        name,
        ends: link.ends.map(|end| {
            let node = graph.node(end.node);
            LinkEnd { node: node.name.clone(), tier: node.tier, is_ideal: node.ideal }
        }),
        rate_bps: link.rate.bps(),
        loads: (0..spec.jobs.len() as u32)
            .filter_map(|job| Some(JobLoad { job, directions: *loads.get(&(index, job))? }))
            .collect(),
    });
    Ok(links.collect())
}

/// Loads of both directions by link and job.
fn loads_by_link(paths: &Paths, jobs: &Jobs) -> BTreeMap<(u32, u32), [DirectionLoad; 2]> {
    let mut loads: BTreeMap<(u32, u32), [DirectionLoad; 2]> = BTreeMap::new();
    for pair in jobs.queue_pairs().filter(|pair| !pair.is_local()) {
        let mut chunks = jobs.chunks_of(pair.number).peekable();
        let Some(&first) = chunks.peek() else { continue };
        let bytes: u64 = chunks.map(|chunk| jobs.chunk(chunk).bytes).sum();
        let Path { destination, legs, ack_legs, source, .. } = {
            let mut path = paths.of(jobs, first);
            paths.find_ack_legs(&mut path);
            path
        };
        if legs.is_empty() || ack_legs.is_empty() {
            continue;
        }
        let mut of_link = |link: u32, add: &dyn Fn(&mut DirectionLoad)| {
            add(&mut loads.entry((link / 2, pair.job)).or_default()[link as usize % 2]);
        };
        for weighted in paths.network.link_weights(&legs, destination) {
            let bytes = u128::from(bytes) * u128::from(weighted.weight) / u128::from(WHOLE);
            of_link(weighted.link, &|load| {
                load.queue_pairs += 1;
                load.bytes += bytes as u64;
            });
        }
        for weighted in paths.network.link_weights(&ack_legs, source) {
            of_link(weighted.link, &|load| load.acknowledged_queue_pairs += 1);
        }
    }
    loads
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_loads_each_host_link_with_its_blocks_in_both_directions() {
        let spec: RunSpec = serde_json::from_str(include_str!("rings/ring.json")).expect("it is a spec");
        let ranks = spec.jobs[0].hosts.len() as u64;
        let collective = spec.jobs[0].work.collective().expect("it is a collective");
        let sent = 2 * (ranks - 1) * (collective.pattern.data_bytes / ranks);
        let links = link_loads(&spec).unwrap();
        let names: std::collections::BTreeSet<&str> = links.iter().map(|link| &*link.name).collect();
        assert_eq!(names.len(), links.len(), "names are unique");
        for link in links.iter().filter(|link| link.ends[0].tier == 0) {
            let [load] = &link.loads[..] else { panic!("{} has one load", link.name) };
            assert_eq!(load.directions.map(|direction| direction.bytes), [sent; 2], "{}", link.name);
        }
        let up: u64 = links
            .iter()
            .filter(|link| link.ends[0].tier == 1)
            .flat_map(|link| &link.loads)
            .map(|load| load.directions[0].bytes)
            .sum();
        assert!(up > 0 && up <= ranks * sent, "{up} bytes leave edge switches");
    }
}
