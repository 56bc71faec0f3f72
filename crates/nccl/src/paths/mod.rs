//! Paths between the parts of a system: the best by type, then by bandwidth, then by number of links.
//!
//! `breadth_first` computes the paths of the hardware, `reroute` replaces those that NCCL does not use (over
//! the CPU without direct access, PXN), `locality` selects the NICs of a GPU and the GPUs of a NIC.
//!
//! Source: NCCL 2.30 `src/graph/paths.cc`.

mod breadth_first;
mod edges;
mod kind;
mod locality;
mod reroute;

pub(crate) use edges::Edges;
pub use kind::PathType;
pub(crate) use locality::mirrored;

use crate::bandwidth::Bandwidth;
use crate::rules::Rules;
use crate::settings::Settings;
use crate::system::{Node, System};

/// A path from one part to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Type.
    pub kind: PathType,
    /// Speed of the slowest link.
    pub bandwidth: Bandwidth,
    /// Indices of the links, from the sender on.
    pub links: Vec<usize>,
    /// GPU that forwards between NVLink and the NIC (PXN).
    pub proxy: Option<usize>,
}

impl Path {
    const fn none() -> Self {
        Self { kind: PathType::Dis, bandwidth: Bandwidth::ZERO, links: Vec::new(), proxy: None }
    }
}

/// All paths of a system to its GPUs, NICs, CPUs and NVSwitch.
#[derive(Clone, Debug)]
pub struct Paths {
    /// `from * parts + to`.
    paths: Vec<Path>,
    parts: usize,
    gpu_of_nic: Vec<Option<usize>>,
    nics_of_gpu: Vec<Vec<usize>>,
}

impl Paths {
    /// Computes all paths, as a version with its settings uses them.
    #[must_use]
    pub fn compute(system: &System, rules: &Rules, settings: &Settings) -> Self {
        let parts = system.parts();
        let mut paths = Self {
            paths: vec![Path::none(); parts * parts],
            parts,
            gpu_of_nic: Vec::new(),
            nics_of_gpu: Vec::new(),
        };
        paths.find_all(system);
        paths.reroute(system, rules, settings);
        let gpus = 0..system.gpus.len();
        paths.nics_of_gpu =
            gpus.map(|gpu| paths.preferred_nics(system, gpu, settings.nics_per_gpu)).collect();
        let nics = 0..system.nics.len();
        paths.gpu_of_nic = nics.map(|nic| paths.nearest_gpu(system, nic, settings.nics_per_gpu)).collect();
        paths
    }

    /// The path between two parts.
    #[must_use]
    #[inline]
    pub fn path(&self, system: &System, from: Node, to: Node) -> &Path {
        &self.paths[system.index(from) * self.parts + system.index(to)]
    }

    /// The path between two GPUs.
    #[must_use]
    pub fn between_gpus(&self, system: &System, from: usize, to: usize) -> &Path {
        self.path(system, Node::Gpu(from), Node::Gpu(to))
    }

    /// The path from a GPU to a NIC.
    #[must_use]
    pub fn to_nic(&self, system: &System, gpu: usize, nic: usize) -> &Path {
        self.path(system, Node::Gpu(gpu), Node::Nic(nic))
    }

    /// The GPU that serves a NIC: the first of the nearest that prefers it.
    #[must_use]
    pub fn gpu_of_nic(&self, nic: usize) -> Option<usize> {
        self.gpu_of_nic[nic]
    }

    /// NICs that a GPU prefers, by channel; channel c uses entry c mod length.
    #[must_use]
    pub fn nics_of_gpu(&self, gpu: usize) -> &[usize] {
        &self.nics_of_gpu[gpu]
    }

    /// Best and worst type of the paths between different GPUs; none with one GPU.
    #[must_use]
    pub fn types_between_gpus(&self, system: &System) -> Option<(PathType, PathType)> {
        let gpus = 0..system.gpus.len();
        let others = |from: usize| gpus.clone().filter(move |&to| to != from);
        let kinds = gpus
            .clone()
            .flat_map(|from| others(from).map(move |to| (from, to)))
            .map(|(from, to)| self.between_gpus(system, from, to).kind);
        extremes(kinds)
    }

    /// Best and worst type of the paths from GPUs to NICs; none without NICs.
    #[must_use]
    pub fn types_to_nics(&self, system: &System) -> Option<(PathType, PathType)> {
        let nics = 0..system.nics.len();
        let pairs = (0..system.gpus.len()).flat_map(|gpu| nics.clone().map(move |nic| (gpu, nic)));
        extremes(pairs.map(|(gpu, nic)| self.to_nic(system, gpu, nic).kind))
    }

    fn path_mut(&mut self, system: &System, from: Node, to: Node) -> &mut Path {
        &mut self.paths[system.index(from) * self.parts + system.index(to)]
    }
}

fn extremes(kinds: impl Iterator<Item = PathType> + Clone) -> Option<(PathType, PathType)> {
    Some((kinds.clone().min()?, kinds.max()?))
}
