//! NICs of a GPU and GPU of a NIC: those of the best bandwidth, then of the best type.
//!
//! Source: NCCL 2.30 `src/graph/topo.cc`.

use super::{PathType, Paths};
use crate::bandwidth::Bandwidth;
use crate::settings::NicsPerGpu;
use crate::system::{Node, System};

/// The nearest parts of one kind, with the type of their paths.
pub(crate) struct Nearest {
    /// Indices, ascending.
    pub(crate) members: Vec<usize>,
    /// Type of the paths; [`PathType::Dis`] without members.
    pub(crate) kind: PathType,
    bandwidth: Bandwidth,
}

impl Paths {
    /// The nearest GPUs of a NIC.
    pub(crate) fn nearest_gpus(&self, system: &System, nic: usize) -> Nearest {
        self.nearest(system, Node::Nic(nic), (0..system.gpus.len()).map(Node::Gpu))
    }

    /// The nearest NICs of a GPU.
    pub(crate) fn nearest_nics(&self, system: &System, gpu: usize) -> Nearest {
        self.nearest(system, Node::Gpu(gpu), (0..system.nics.len()).map(Node::Nic))
    }

    /// The nearest CPU of a GPU: of those with the best path, the one with the fewest links.
    pub(crate) fn nearest_cpu(&self, system: &System, gpu: usize) -> usize {
        let nearest = self.nearest(system, Node::Gpu(gpu), (0..system.cpus.len()).map(Node::Cpu));
        let links = |&cpu: &usize| self.path(system, Node::Gpu(gpu), Node::Cpu(cpu)).links.len();
        nearest.members.into_iter().min_by_key(links).unwrap_or(0)
    }

    fn nearest(&self, system: &System, from: Node, candidates: impl Iterator<Item = Node>) -> Nearest {
        let mut nearest = Nearest { members: Vec::new(), kind: PathType::Dis, bandwidth: Bandwidth::ZERO };
        for (index, candidate) in candidates.enumerate() {
            let path = self.path(system, from, candidate);
            let better = path.bandwidth > nearest.bandwidth
                || (path.bandwidth == nearest.bandwidth && path.kind < nearest.kind);
            if better {
                nearest = Nearest { members: Vec::new(), kind: path.kind, bandwidth: path.bandwidth };
            }
            if (path.bandwidth, path.kind) == (nearest.bandwidth, nearest.kind) {
                nearest.members.push(index);
            }
        }
        nearest
    }

    /// NICs of a GPU by channel. GPUs that share NICs start at different ones.
    pub(super) fn preferred_nics(&self, system: &System, gpu: usize, policy: NicsPerGpu) -> Vec<usize> {
        let nics = self.nearest_nics(system, gpu).members;
        let Some(&first) = nics.first() else { return Vec::new() };
        let sharing = self.nearest_gpus(system, first).members.len().max(1);
        let count = match policy {
            NicsPerGpu::Auto => nics.len().div_ceil(sharing),
            NicsPerGpu::All => nics.len(),
            NicsPerGpu::Max(most) => nics.len().min(most),
        };
        let start = system.gpus[gpu].device % sharing;
        let start = if nics.len().is_power_of_two() { mirrored(start, nics.len()) } else { start };
        (0..count).map(|channel| nics[(start + channel) % nics.len()]).collect()
    }

    /// The GPU of a NIC: the first nearest GPU that prefers it, in the order of their channels.
    pub(super) fn nearest_gpu(&self, system: &System, nic: usize, policy: NicsPerGpu) -> Option<usize> {
        let gpus = self.nearest_gpus(system, nic).members;
        let preferred: Vec<Vec<usize>> =
            gpus.iter().map(|&gpu| self.preferred_nics(system, gpu, policy)).collect();
        let channels = preferred.iter().map(Vec::len).max().unwrap_or(0);
        let prefers =
            |channel: usize, nics: &Vec<usize>| !nics.is_empty() && nics[channel % nics.len()] == nic;
        (0..channels).find_map(|channel| {
            let position = preferred.iter().position(|nics| prefers(channel, nics))?;
            Some(gpus[position])
        })
    }
}

/// A number below a power of two with its bits in reverse order.
pub(crate) const fn mirrored(number: usize, power_of_two: usize) -> usize {
    let bits = power_of_two.trailing_zeros();
    let (mut mirrored, mut bit) = (0, 0);
    while bit < bits {
        mirrored |= ((number >> bit) & 1) << (bits - 1 - bit);
        bit += 1;
    }
    mirrored
}
