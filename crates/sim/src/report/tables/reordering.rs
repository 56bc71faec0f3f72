//! Builds table `reordering`: reordering distances counted by the receivers, by job and by queue pair.
//!
//! The rows of jobs include every queue pair. The rows of queue pairs are bounded: they are in the order of
//! their numbers, as many complete queue pairs as fit.

use crate::nic::REORDERING_BUCKETS;
use crate::report::World;
use crate::setup::FabricNode;
use record::ReorderingRow;
use spec::RunSpec;

/// Packets of one bucket: smallest distance, largest distance, count.
type Distances = (u32, u32, u64);

pub(super) fn reordering_rows(spec: &RunSpec, world: &World) -> Vec<ReorderingRow> {
    let mut of_pairs: Vec<(u32, Vec<Distances>)> = world
        .nodes()
        .filter_map(|node| match node {
            FabricNode::Host(host) => Some(host),
            FabricNode::Switch(_) | FabricNode::Scheduled(_) => None,
        })
        .flat_map(|host| host.reordering())
        .map(|reordering| (reordering.queue_pair(), reordering.distances().collect()))
        .filter(|(_, distances): &(u32, Vec<Distances>)| !distances.is_empty())
        .collect();
    of_pairs.sort_unstable_by_key(|&(queue_pair, _)| queue_pair);
    let job_of = |queue_pair: u32| world.flows.queue_pair(queue_pair).job;
    let mut rows = Vec::new();
    for job in 0..spec.jobs.len() as u32 {
        let own = of_pairs.iter().filter(|&&(queue_pair, _)| job_of(queue_pair) == job);
        let sums = sums(own.flat_map(|(_, distances)| distances));
        rows.extend(sums.into_iter().map(|distances| row(job, None, distances)));
    }
    let mut room = spec.observe.path_rows as usize;
    for (queue_pair, distances) in of_pairs {
        if distances.len() > room {
            break;
        }
        room -= distances.len();
        rows.extend(distances.into_iter().map(|bucket| row(job_of(queue_pair), Some(queue_pair), bucket)));
    }
    rows
}

/// Adds up buckets that start at the same distance.
fn sums<'a>(distances: impl Iterator<Item = &'a Distances>) -> Vec<Distances> {
    let mut sums = [(0, 0, 0); REORDERING_BUCKETS];
    for &(least, most, frames) in distances {
        let sum: &mut Distances = &mut sums[least.ilog2() as usize];
        *sum = (least, sum.1.max(most), sum.2 + frames);
    }
    sums.into_iter().filter(|sum| sum.2 > 0).collect()
}

const fn row(job: u32, qp: Option<u32>, (distance_min, distance_max, frames): Distances) -> ReorderingRow {
    ReorderingRow { job, qp, distance_min, distance_max, frames }
}
