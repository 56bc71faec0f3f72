//! Channels of NCCL that are not simulated because their transfers take the same times as those of others.
//!
//! On rails the channels of each rail have links, switches and ranks of their own. If two groups of channels
//! share nothing, and there is a one-to-one map of their ranks and links under which all transfers, paths and
//! links are equal, then so are all times. One group of each kind is simulated; rows and counts are those of
//! all.

use crate::checks::is_sprayed;
use crate::network::paths::{Path, Paths};
use jobs::Jobs;
use spec::{NcclConfig, RunSpec};
use std::collections::HashMap;
use units::{Rank, TransferId};
use workload::Transfer;

/// The channels of a run of one job.
#[derive(Default)]
pub(crate) struct Mirrors {
    /// Transfers of each channel, in order; empty if all are simulated.
    of_channel: Vec<Vec<u32>>,
    /// Channel of each transfer, and index among its transfers.
    places: Vec<(u32, u32)>,
    /// Channels with the same times as each; `None` for those that are not simulated.
    mirrors: Vec<Option<Vec<u32>>>,
}

/// Ranks and links of a group of channels, in order of first use, with all that must be equal in another.
#[derive(Default, PartialEq, Eq)]
struct Image {
    /// Number of the sender, the receiver, and each link of the path and of that of its acknowledgements, among
    /// those of the group; and the kind of each link.
    pairs: Vec<Vec<u32>>,
}

impl Mirrors {
    /// The channels of a spec; all are simulated unless its only job is a ring or tree of NCCL, and each queue
    /// pair has one path.
    pub(crate) fn new(spec: &RunSpec, jobs: &Jobs, paths: &Paths) -> Self {
        let [job] = &spec.jobs[..] else { return Self::default() };
        let nccl = job.work.collective().and_then(|collective| collective.nccl.as_ref());
        let Some(NcclConfig::Ring(channels) | NcclConfig::Tree(channels)) = nccl else {
            return Self::default();
        };
        if is_sprayed(spec) {
            return Self::default();
        }
        let of_each = channels.channels.len();
        let paths = ChannelPaths::new(jobs, paths, of_each);
        let groups = paths.groups();
        if groups.len() < 2 {
            return Self::default();
        }
        let mut all = Self { mirrors: vec![None; 2 * of_each], ..Self::listing(jobs, 2 * of_each) };
        let mut kinds: Vec<(Image, Vec<u32>)> = Vec::new();
        for group in groups {
            let image = paths.image(&group);
            let with_clearances: Vec<u32> =
                group.iter().flat_map(|&channel| [channel, channel + of_each as u32]).collect();
            let same = kinds.iter().find(|(other, members)| {
                *other == image && all.have_equal_transfers(jobs, members, &with_clearances)
            });
            match same {
                Some((_, members)) => {
                    for (&member, &mirror) in members.iter().zip(&with_clearances) {
                        all.mirrors[member as usize].get_or_insert_default().push(mirror);
                    }
                }
                None => {
                    with_clearances
                        .iter()
                        .for_each(|&channel| all.mirrors[channel as usize] = Some(Vec::new()));
                    kinds.push((image, with_clearances));
                }
            }
        }
        all
    }

    /// The transfers of each channel.
    fn listing(jobs: &Jobs, channels: usize) -> Self {
        let schedule = &jobs.schedules[0];
        let mut of_channel = vec![Vec::new(); channels];
        let place = |(number, Transfer { channel, .. }): (u32, Transfer)| {
            let transfers: &mut Vec<u32> = &mut of_channel[channel as usize];
            transfers.push(number);
            (channel, transfers.len() as u32 - 1)
        };
        let places = (0..).zip(schedule.transfers()).map(place).collect();
        Self { of_channel, places, mirrors: Vec::new() }
    }

    /// Whether channels of two groups have the same transfers in the same order, apart from their ranks.
    fn have_equal_transfers(&self, jobs: &Jobs, first: &[u32], second: &[u32]) -> bool {
        let schedule = &jobs.schedules[0];
        let shape = |&transfer: &u32| {
            let id = TransferId(transfer);
            let Transfer { bytes, step, .. } = schedule.transfer(id);
            (bytes, step, schedule.rank_times(id), schedule.dependencies(id))
        };
        let of = |channel: u32| self.of_channel[channel as usize].iter();
        first.len() == second.len()
            && first.iter().zip(second).all(|(&a, &b)| of(a).map(shape).eq(of(b).map(shape)))
    }

    /// Whether a transfer is simulated.
    pub(crate) fn simulates(&self, transfer: u32) -> bool {
        let place = self.places.get(transfer as usize);
        place.is_none_or(|&(channel, _)| self.mirrors[channel as usize].is_some())
    }

    /// The transfers with the same times as a simulated one.
    pub(crate) fn of(&self, transfer: u32) -> impl Iterator<Item = u32> {
        let (channel, index) = self.places.get(transfer as usize).copied().unwrap_or_default();
        let mirrors = self.mirrors.get(channel as usize).and_then(Option::as_ref);
        mirrors.into_iter().flatten().map(move |&mirror| self.of_channel[mirror as usize][index as usize])
    }
}

/// Paths of the queue pairs of each channel, clearances included.
struct ChannelPaths {
    of_channel: Vec<Vec<PairPath>>,
}

/// Ranks and directed links of a queue pair.
struct PairPath {
    ranks: [Rank; 2],
    /// Each link with its kind.
    links: Vec<(u32, u32)>,
    legs: u32,
    part: u32,
}

impl ChannelPaths {
    fn new(jobs: &Jobs, paths: &Paths, channels: usize) -> Self {
        let mut of_channel: Vec<Vec<PairPath>> = (0..channels).map(|_| Vec::new()).collect();
        for pair in jobs.queue_pairs() {
            let Some(chunk) = jobs.chunks_of(pair.number).next() else { continue };
            let mut path: Path = paths.of(jobs, chunk);
            paths.find_ack_legs(&mut path);
            let both = path.legs.iter().chain(&path.ack_legs);
            let links = both.map(|leg| (leg.link, paths.network.timing_index(leg.link))).collect();
            of_channel[pair.channel as usize % channels].push(PairPath {
                ranks: [pair.src, pair.dst],
                links,
                legs: path.legs.len() as u32,
                part: pair.part,
            });
        }
        Self { of_channel }
    }

    /// Groups of channels that share neither ranks nor links with those of others.
    fn groups(&self) -> Vec<Vec<u32>> {
        let mut group_of: Vec<usize> = (0..self.of_channel.len()).collect();
        let (mut of_rank, mut of_link) = (HashMap::new(), HashMap::new());
        for (channel, pairs) in self.of_channel.iter().enumerate() {
            let ranks = pairs.iter().flat_map(|pair| pair.ranks);
            let first_of_ranks = ranks.map(|rank| *of_rank.entry(rank).or_insert(channel));
            let links = pairs.iter().flat_map(|pair| &pair.links);
            let first_of_links = links.map(|(link, _)| *of_link.entry(*link).or_insert(channel));
            for other in first_of_ranks.chain(first_of_links) {
                let (from, to) = (group_of[channel], group_of[other]);
                group_of.iter_mut().filter(|group| **group == from).for_each(|group| *group = to);
            }
        }
        let mut groups: Vec<(usize, Vec<u32>)> = Vec::new();
        for (channel, &group) in (0..).zip(&group_of) {
            match groups.iter_mut().find(|(other, _)| *other == group) {
                Some((_, members)) => members.push(channel),
                None => groups.push((group, vec![channel])),
            }
        }
        groups.into_iter().map(|(_, members)| members).collect()
    }

    fn image(&self, group: &[u32]) -> Image {
        let (mut ranks, mut links) = (HashMap::new(), HashMap::new());
        let mut image = Image::default();
        for &channel in group {
            for pair in &self.of_channel[channel as usize] {
                let mut numbers = vec![pair.part, pair.legs];
                for rank in pair.ranks {
                    let next = ranks.len() as u32;
                    numbers.push(*ranks.entry(rank).or_insert(next));
                }
                for (link, kind) in &pair.links {
                    let next = links.len() as u32;
                    numbers.extend([*links.entry(*link).or_insert(next), *kind]);
                }
                image.pairs.push(numbers);
            }
        }
        image
    }
}
