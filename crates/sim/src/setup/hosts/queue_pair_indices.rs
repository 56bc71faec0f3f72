//! Indices of queue pairs at their two hosts, over all jobs of a host: built from the jobs, looked up and
//! iterated by host and job.
//!
//! If the connections of a job repeat in laps (the same rank pairs in the same order), only the first lap is
//! stored; the indices of the others are computed from it. A job that shares a host with another has a single
//! lap.

use crate::setup::traffic::flows::Flows;
use engine::prefetch::LINE_BYTES;
use jobs::Laps;
use spec::RunSpec;
use std::ops::Range;
use std::slice;
use units::HostId;

/// Indices of all queue pairs of a run.
#[derive(Debug)]
pub(crate) struct QueuePairIndices {
    /// Per host: queue pairs of the first lap that start there, and those that end there, in the order of
    /// their numbers. A list for each host, as small allocations are reused later.
    from: Vec<Vec<AtHost>>,
    to: Vec<Vec<AtHost>>,
    /// The laps of each job, counted in queue pairs.
    laps: Vec<Laps>,
    /// Queue pairs of each job that shares a host with another.
    of_sharing: Vec<Option<Range<u32>>>,
}

/// A queue pair at one of its hosts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AtHost {
    pub(crate) number: u32,
    /// The other host, and the index of the queue pair there.
    pub(crate) peer: HostId,
    pub(crate) number_at_peer: u32,
}

impl QueuePairIndices {
    pub(crate) fn new(spec: &RunSpec, flows: &Flows) -> Self {
        let jobs = spec.jobs.len();
        let room = |counts: &[u32]| -> Vec<Vec<AtHost>> {
            counts.iter().map(|&count| Vec::with_capacity(staggered_capacity(count as usize))).collect()
        };
        let [mut from, mut to] = flows.counts_at_hosts().map(room);
        for job in (0..jobs).filter(|&job| spec.jobs[job].work.storage().is_none()) {
            let mut number = flows.first_queue_pair(job);
            flows.each_connection(job, flows.laps(job).length, |[src, dst]| {
                let (from, to) = (&mut from[src.index()], &mut to[dst.index()]);
                for _ in 0..flows.parts {
                    let (sender, receiver) = (from.len() as u32, to.len() as u32);
                    from.push(AtHost { number, peer: dst, number_at_peer: receiver });
                    to.push(AtHost { number, peer: src, number_at_peer: sender });
                    number += 1;
                }
            });
        }
        let in_queue_pairs = |laps: Laps| Laps { length: laps.length * flows.parts, ..laps };
        let of_sharing = |job| {
            let (first, laps) = (flows.first_queue_pair(job), in_queue_pairs(flows.laps(job)));
            flows.shares_hosts(job).then(|| first..first + laps.length)
        };
        Self {
            from,
            to,
            laps: (0..jobs).map(|job| in_queue_pairs(flows.laps(job))).collect(),
            of_sharing: (0..jobs).map(of_sharing).collect(),
        }
    }

    /// Queue pairs of a job that start at a host.
    pub(crate) fn from(&self, job: usize, host: HostId) -> PairsAtHost<'_> {
        self.pairs(job, &self.from[host.index()], &self.to)
    }

    /// Queue pairs of a job that end at a host.
    pub(crate) fn to(&self, job: usize, host: HostId) -> PairsAtHost<'_> {
        self.pairs(job, &self.to[host.index()], &self.from)
    }

    fn pairs<'a>(&self, job: usize, all: &'a [AtHost], at_peers: &'a [Vec<AtHost>]) -> PairsAtHost<'a> {
        let own = self.of_sharing[job].as_ref().map_or(0..all.len(), |numbers| {
            let index = |number| all.partition_point(|at| at.number < number);
            index(numbers.start)..index(numbers.end)
        });
        let first = own.start as u32;
        PairsAtHost { lap: &all[own], laps: self.laps[job], first, at_peers }
    }
}

/// Queue pairs of a job that start at a host, or those that end there, in the order of their numbers.
#[derive(Clone, Copy)]
pub(crate) struct PairsAtHost<'a> {
    /// Those of the first lap.
    lap: &'a [AtHost],
    laps: Laps,
    /// Index of the first among those of all jobs of the host.
    first: u32,
    /// Per host: queue pairs of the first lap with their other end there.
    at_peers: &'a [Vec<AtHost>],
}

impl<'a> PairsAtHost<'a> {
    pub(crate) const NONE: Self = Self { lap: &[], laps: Laps::one(0), first: 0, at_peers: &[] };

    /// Index of the first among those of all jobs of the host.
    pub(crate) const fn first(&self) -> u32 {
        self.first
    }

    pub(crate) const fn len(&self) -> usize {
        self.lap.len() * self.laps.count as usize
    }

    pub(crate) fn at(&self, index: u32) -> AtHost {
        let in_lap = self.lap.len() as u32;
        self.in_lap(index / in_lap, self.lap[(index % in_lap) as usize])
    }

    /// Iterates over all of them in order.
    #[inline]
    pub(crate) fn iter(self) -> impl ExactSizeIterator<Item = AtHost> + Clone + 'a {
        LapByLap { pairs: self, lap: 0, rest: self.lap.iter() }
    }

    /// The queue pair `lap` laps after `first`, which is in the first lap.
    #[inline]
    fn in_lap(&self, lap: u32, first: AtHost) -> AtHost {
        if lap == 0 {
            return first;
        }
        let AtHost { number, peer, number_at_peer } = first;
        let at_peer = self.at_peers[peer.index()].len() as u32;
        AtHost {
            number: number + lap * self.laps.length,
            peer,
            number_at_peer: number_at_peer + lap * at_peer,
        }
    }

    /// Index of a queue pair by its number; `first` is the first number of its job.
    pub(crate) fn index_of(&self, number: u32, first: u32) -> u32 {
        let (lap, beyond) = ((number - first) / self.laps.length, (number - first) % self.laps.length);
        let index = self.lap.partition_point(|at| at.number - first < beyond);
        lap * self.lap.len() as u32 + index as u32
    }

    /// Whether there are several laps.
    pub(crate) const fn come_in_laps(&self) -> bool {
        self.laps.count > 1
    }
}

/// Iterator over queue pairs in order.
#[derive(Clone)]
struct LapByLap<'a> {
    pairs: PairsAtHost<'a>,
    lap: u32,
    /// Remaining entries of the current lap, as stored for the first one.
    rest: slice::Iter<'a, AtHost>,
}

impl Iterator for LapByLap<'_> {
    type Item = AtHost;

    #[inline]
    fn next(&mut self) -> Option<AtHost> {
        if self.rest.len() == 0 && self.lap + 1 < self.pairs.laps.count {
            self.lap += 1;
            self.rest = self.pairs.lap.iter();
        }
        self.rest.next().map(|&first| self.pairs.in_lap(self.lap, first))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let laps = self.pairs.laps.count.saturating_sub(self.lap + 1) as usize;
        let left = laps * self.pairs.lap.len() + self.rest.len();
        (left, Some(left))
    }
}

impl ExactSizeIterator for LapByLap<'_> {}

/// Capacity for `count` queue pairs and a few more: an odd number of cache lines, so that lists that are
/// filled in parallel start at different page offsets and do not evict each other from the cache.
const fn staggered_capacity(count: usize) -> usize {
    let lines = count * size_of::<AtHost>() / LINE_BYTES + 1;
    (lines | 1) * LINE_BYTES / size_of::<AtHost>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Queue pairs 10, 12 and 13 of a lap of four start at a host, in each of three laps.
    #[test]
    fn later_laps_follow_from_the_first() {
        let at = |number, peer, number_at_peer| AtHost { number, peer: HostId(peer), number_at_peer };
        let lap = [at(10, 0, 1), at(12, 1, 0), at(13, 0, 2)];
        let at_peers = [3, 1].map(|pairs| vec![at(0, 0, 0); pairs]);
        let pairs =
            PairsAtHost { lap: &lap, laps: Laps { count: 3, length: 4 }, first: 0, at_peers: &at_peers };
        let listed: Vec<_> = pairs.iter().map(|at| (at.number, at.peer.0, at.number_at_peer)).collect();
        let laps = [[(10, 0, 1), (12, 1, 0), (13, 0, 2)], [(14, 0, 4), (16, 1, 1), (17, 0, 5)]];
        assert_eq!(listed[..6], laps.concat());
        assert_eq!((listed.len(), pairs.len(), pairs.iter().len(), listed[8]), (9, 9, 9, (21, 0, 8)));
        for (index, (number, ..)) in (0..).zip(listed) {
            assert_eq!((pairs.at(index).number, pairs.index_of(number, 10)), (number, index));
        }
    }
}
