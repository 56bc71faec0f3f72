//! Order of the peers of a rank: one to send to and one to receive from in each round.
//!
//! Every rank sends to and receives from one peer per round; round 0 is the rank itself. Rounds run
//! concurrently in batches, not one after the other.

use crate::paths::mirrored;
use crate::rules::{Rules, Schedule};
use serde::{Deserialize, Serialize};

/// Operations of one channel that run concurrently.
pub const OPERATIONS_PER_BATCH: usize = 8;

/// Peers of a rank in one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    /// Rank to send to.
    pub send: usize,
    /// Rank to receive from.
    pub receive: usize,
}

/// Groups of ranks that decide the order of peers. All ranks of a communicator have the same groups.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerSchedule {
    groups: Vec<Vec<usize>>,
    group_offsets: Vec<usize>,
    local_offsets: Vec<usize>,
    several_nodes: bool,
}

impl PeerSchedule {
    /// The schedule of a communicator, from the ranks of each node.
    #[must_use]
    pub fn new(nodes: &[Vec<usize>], rules: &Rules) -> Self {
        let several_nodes = nodes.len() > 1;
        let equal = nodes.iter().all(|node| node.len() == nodes[0].len());
        let groups: Vec<Vec<usize>> = match rules.point_to_point.schedule {
            Schedule::QuadraticGroups if several_nodes => {
                let size =
                    nodes.iter().fold(OPERATIONS_PER_BATCH, |size, node| greatest_divisor(size, node.len()));
                nodes.iter().flat_map(|node| node.chunks(size)).map(<[usize]>::to_vec).collect()
            }
            _ if equal => nodes.to_vec(),
            _ => {
                let mut all: Vec<usize> = nodes.iter().flatten().copied().collect();
                all.sort_unstable();
                vec![all]
            }
        };
        let (count, size) = (groups.len(), groups[0].len());
        let (group_offsets, local_offsets) = match rules.point_to_point.schedule {
            Schedule::Distances => (distances(count), (0..size).collect()),
            Schedule::QuadraticNodes => (quadratic(count), quadratic(size)),
            Schedule::QuadraticGroups => (quadratic(count), (0..size).collect()),
        };
        Self { groups, group_offsets, local_offsets, several_nodes }
    }

    /// The rounds of a rank.
    ///
    /// # Panics
    /// If the communicator does not have the rank.
    #[must_use]
    pub fn rounds(&self, rank: usize) -> Vec<Round> {
        let position = |group: &Vec<usize>| group.iter().position(|&member| member == rank);
        let (group, local) = self
            .groups
            .iter()
            .enumerate()
            .find_map(|(index, group)| Some((index, position(group)?)))
            .expect("the rank is one of the communicator's");
        let (groups, size) = (self.groups.len(), self.groups[0].len());
        let round = |&group_offset: &usize, &offset: &usize| Round {
            send: self.groups[(group + group_offset) % groups][(local + offset) % size],
            receive: self.groups[(group + groups - group_offset) % groups][(local + size - offset) % size],
        };
        self.group_offsets
            .iter()
            .flat_map(|group_offset| self.local_offsets.iter().map(move |offset| round(group_offset, offset)))
            .collect()
    }

    /// First channel of a round; part p of its transfer uses the p-th channel from it on.
    ///
    /// Over several nodes the peers of a group share channels, so that PXN can send their messages together.
    #[must_use]
    pub fn base_channel(&self, round: usize, channels: usize) -> usize {
        let base = if self.several_nodes {
            let size = self.groups[0].len();
            let (group, local) = (round / size, round % size);
            group * size.div_ceil(OPERATIONS_PER_BATCH) + local / OPERATIONS_PER_BATCH
        } else {
            round
        };
        mirrored(base % channels, channels)
    }
}

/// x (x + 1) / 2 modulo the next power of two, without the values that are too large.
fn quadratic(count: usize) -> Vec<usize> {
    let modulus = count.next_power_of_two();
    (0..modulus).map(|x| (x * (x + 1) / 2) % modulus).filter(|&offset| offset < count).collect()
}

/// d, -d, N/2-d, -(N/2-d) for rising d. That offsets listed before are left out is inferred.
fn distances(count: usize) -> Vec<usize> {
    let mut offsets: Vec<usize> = Vec::new();
    for distance in 0..count {
        let opposite = (count / 2 + count - distance) % count;
        for offset in [distance, (count - distance) % count, opposite, (count - opposite) % count] {
            if !offsets.contains(&offset) {
                offsets.push(offset);
            }
        }
    }
    offsets
}

const fn greatest_divisor(one: usize, other: usize) -> usize {
    if other == 0 { one } else { greatest_divisor(other, one % other) }
}
