//! Order in which a search tries NICs and the next GPU of a channel.
//!
//! Source: NCCL 2.30 `src/graph/search.cc`.

use super::graph::Pattern;
use crate::paths::{PathType, Paths};
use crate::system::{LinkKind, Node, System};
use std::cmp::Reverse;

/// Relation of the next GPU to the channel's return to its NIC.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NicDistance {
    /// The channel has left its NIC already, or has none.
    Irrelevant,
    /// The next GPU leads back to the NIC: near GPUs first.
    Near,
    /// A later GPU leads back: near GPUs last.
    Far,
}

/// NICs in the order in which they are tried, up to a type of path.
pub(super) struct NicOrder {
    /// For the start of a channel.
    pub(super) entry: Vec<usize>,
    /// For the return from each GPU.
    pub(super) exit: Vec<Vec<usize>>,
}

impl NicOrder {
    pub(super) fn new(system: &System, paths: &Paths, worst: PathType) -> Self {
        let gpus: Vec<usize> = (0..system.gpus.len()).collect();
        let exit = gpus.iter().map(|&gpu| nics(system, paths, &[gpu], worst)).collect();
        Self { entry: nics(system, paths, &gpus, worst), exit }
    }
}

/// NICs that the GPUs prefer, then others up to a type of path.
fn nics(system: &System, paths: &Paths, gpus: &[usize], worst: PathType) -> Vec<usize> {
    let mut nics = preferred(system, paths, gpus);
    let mut listed = vec![false; system.nics.len()];
    for &nic in &nics {
        listed[nic] = true;
    }
    for kind in worst.up_to() {
        for &gpu in gpus {
            for (nic, is_listed) in listed.iter_mut().enumerate() {
                if paths.to_nic(system, gpu, nic).kind == kind && !std::mem::replace(is_listed, true) {
                    nics.push(nic);
                }
            }
        }
    }
    nics
}

/// GPU after GPU; in a domain of several hosts the first NIC of each GPU first.
fn preferred(system: &System, paths: &Paths, gpus: &[usize]) -> Vec<usize> {
    let longest = gpus.iter().map(|&gpu| paths.nics_of_gpu(gpu).len()).max().unwrap_or(0);
    let mut listed: Vec<usize> = if system.hosts() > 1 {
        let of_channel = |channel| gpus.iter().filter_map(move |&gpu| paths.nics_of_gpu(gpu).get(channel));
        (0..longest).flat_map(of_channel).copied().collect()
    } else {
        gpus.iter().flat_map(|&gpu| paths.nics_of_gpu(gpu)).copied().collect()
    };
    let mut seen = vec![false; system.nics.len()];
    listed.retain(|&nic| !std::mem::replace(&mut seen[nic], true));
    listed
}

/// Inputs of [`next_gpus`].
pub(super) struct Position<'a> {
    pub(super) system: &'a System,
    pub(super) paths: &'a Paths,
    pub(super) pattern: Pattern,
    pub(super) gpu: usize,
    pub(super) entry_nic: Option<usize>,
    pub(super) distance: NicDistance,
}

/// GPUs to try after a GPU, of those that the channel does not have yet.
pub(super) fn next_gpus(position: &Position<'_>, is_free: impl Fn(usize) -> bool) -> Vec<usize> {
    let Position { system, paths, gpu, .. } = *position;
    let can_follow =
        |other: usize| is_free(other) && paths.between_gpus(system, gpu, other).kind < PathType::Dis;
    let count = system.gpus.len();
    let following = (1..count).map(|offset| (gpu + offset) % count);
    let mut free: Vec<usize> = following.filter(|&other| can_follow(other)).collect();
    let intra = |other: usize| {
        let path = paths.between_gpus(system, gpu, other);
        (Reverse(path.bandwidth.whole_gb()), path.links.len())
    };
    let nic = position.entry_nic.filter(|_| position.distance != NicDistance::Irrelevant);
    // Stable sorts: GPUs of equal score stay in the order of their indices after this one.
    match nic {
        Some(nic) => free.sort_by_cached_key(|&other| {
            let path = paths.path(system, Node::Nic(nic), Node::Gpu(other));
            let inter = Reverse(path.bandwidth.whole_gb());
            (inter, Reverse(pcie_gb(system, other)), path.links.len(), intra(other))
        }),
        None => free.sort_by_key(|&other| intra(other)),
    }
    let all_equal = free.windows(2).all(|pair| intra(pair[0]) == intra(pair[1]));
    if position.distance == NicDistance::Far && all_equal {
        free.reverse();
    }
    free
}

/// On NVSwitch only the GPUs with the previous and the next index are tried.
pub(super) fn neighbours(position: &Position<'_>, is_free: impl Fn(usize) -> bool) -> [Option<usize>; 2] {
    let Position { system, paths, gpu, .. } = *position;
    let count = system.gpus.len();
    let (previous, next) = ((gpu + count - 1) % count, (gpu + 1) % count);
    let tried = match position.pattern {
        Pattern::Ring => [Some(previous), Some(next)],
        Pattern::BalancedTree => [Some(next), Some(previous)],
        Pattern::Tree | Pattern::Nvls => [Some(next), None],
    };
    let second = if tried[0] == tried[1] { None } else { tried[1] };
    let can_follow = |&other: &usize| {
        other != gpu && is_free(other) && paths.between_gpus(system, gpu, other).kind < PathType::Dis
    };
    [tried[0].filter(can_follow), second.filter(can_follow)]
}

/// Speed of the PCIe link of a GPU in whole GB/s; -1 without one.
fn pcie_gb(system: &System, gpu: usize) -> i32 {
    let mut of_gpu = system.links().iter().filter(|link| link.from == Node::Gpu(gpu));
    of_gpu.find(|link| link.kind == LinkKind::Pcie).map_or(-1, |link| link.bandwidth.whole_gb())
}
