//! Graph search: the channels of each algorithm on one node, as NCCL finds them.
//!
//! `graph` is a result, `relaxation` the sequence of attempts, `attempt` the depth-first search of one for a
//! `target`, with `order` (which NIC and GPU is tried first) and `reservation` (bandwidth left on links).
//!
//! Not searched: the graphs of CollNet (patterns 3 and 6 with reduction in the network).
//!
//! Source: NCCL 2.30 `src/graph/search.cc`.

mod attempt;
mod graph;
mod order;
mod relaxation;
mod reservation;
mod target;

pub use graph::{Graph, GraphChannel, Pattern};

use crate::bandwidth::Bandwidth;
use crate::paths::{PathType, Paths};
use crate::rules::Rules;
use crate::settings::Settings;
use crate::system::{LinkKind, Node, System};
use attempt::Attempt;
use relaxation::Relaxation;
use serde::{Deserialize, Serialize};
use target::Budget;

/// Most heads of an NVLS graph.
const NVLS_HEADS_MAX: usize = 32;
/// Speed of a graph in rank order, if no other was found.
const FALLBACK: Bandwidth = Bandwidth::from_mb(100);

/// The graphs of one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Graphs {
    /// Rings.
    pub ring: Graph,
    /// Trees, as many channels as rings.
    pub tree: Graph,
    /// NVLS heads; no channels where NVLS is not possible.
    pub nvls: Graph,
}

impl Graphs {
    /// Searches the graphs of a node: one server, or one NVLink domain of several.
    ///
    /// `several_nodes`: the communicator has GPUs on other nodes as well.
    ///
    /// # Panics
    /// If the system has no GPU.
    #[must_use]
    pub fn search(
        system: &System,
        paths: &Paths,
        rules: &Rules,
        settings: &Settings,
        several_nodes: bool,
    ) -> Self {
        let context = Context::new(system, paths, rules, settings, several_nodes);
        let ring = context.search(Pattern::Ring, 1, rules.max_channels / 2);
        let channels = ring.channels.len();
        let tree = context.search(Pattern::BalancedTree, channels, channels);
        let nvls = if settings.nvls && system.gpus.len() >= rules.counts.nvls_gpus {
            context.search(Pattern::Nvls, 1, rules.max_channels)
        } else {
            Graph::empty(Pattern::Nvls)
        };
        Self { ring, tree, nvls }
    }
}

/// What all searches of a node have in common.
struct Context<'a> {
    system: &'a System,
    paths: &'a Paths,
    rules: &'a Rules,
    settings: &'a Settings,
    /// Channels start and end at NICs.
    inter: bool,
    /// Smallest compute capability times 10.
    capability: u32,
    /// Bandwidth of the best path to a NIC, or between GPUs.
    max_bandwidth: Bandwidth,
    /// Bandwidth of the best GPU.
    total_bandwidth: Bandwidth,
}

impl<'a> Context<'a> {
    fn new(
        system: &'a System,
        paths: &'a Paths,
        rules: &'a Rules,
        settings: &'a Settings,
        several_nodes: bool,
    ) -> Self {
        assert!(!system.gpus.is_empty(), "a node has a GPU");
        let inter = several_nodes && !system.nics.is_empty();
        let gpus = || 0..system.gpus.len();
        let alone = !inter && system.gpus.len() == 1;
        let max_bandwidth = if inter {
            let to_nics = |gpu| (0..system.nics.len()).map(move |nic| paths.to_nic(system, gpu, nic));
            gpus().flat_map(to_nics).map(|path| path.bandwidth).max()
        } else {
            let to_others =
                |gpu| gpus().filter(move |&to| to != gpu).map(move |to| paths.between_gpus(system, gpu, to));
            gpus().flat_map(to_others).map(|path| path.bandwidth).max()
        };
        Self {
            system,
            paths,
            rules,
            settings,
            inter,
            capability: system.capabilities().0,
            max_bandwidth: if alone { Bandwidth::LOCAL } else { max_bandwidth.unwrap_or_default() },
            total_bandwidth: if alone {
                Bandwidth::LOCAL
            } else {
                gpus().map(|gpu| bandwidth_of(system, gpu)).max().unwrap_or_default()
            },
        }
    }

    fn search(&self, pattern: Pattern, min: usize, max: usize) -> Graph {
        let gpus = self.system.gpus.len();
        let (mut min, mut max, mut pattern) = (min, max, pattern);
        match pattern {
            Pattern::Nvls if !self.system.has_nv_switch() || self.capability < 90 => {
                return Graph::empty(pattern);
            }
            Pattern::Nvls => {
                max = NVLS_HEADS_MAX.min(gpus);
                min = if self.inter { min } else { max };
            }
            Pattern::Ring if max >= 2 && min == 1 && self.has_split_nvlink() => min = 2,
            _ => {}
        }
        if gpus == 1 && pattern != Pattern::Ring {
            pattern = Pattern::Tree;
        }
        let mut relaxation = Relaxation::new(self, pattern, min, max);
        let mut attempt = Attempt::new(self, relaxation.target.clone());
        loop {
            let budget = relaxation.attempt(&mut attempt);
            let saturated = attempt.best.total_inter() >= i64::from(self.total_bandwidth.mb());
            if budget == Budget::Perfect || saturated || !relaxation.relax(&attempt.best, budget) {
                break;
            }
        }
        if attempt.best.channels.is_empty() {
            return self.fallback(pattern);
        }
        attempt.best.double(self.capability, max);
        relaxation::raise_speeds(self, &mut attempt, max);
        let mut best = attempt.best;
        if pattern == Pattern::Nvls {
            best.channels.iter_mut().for_each(|channel| channel.gpus.truncate(1));
        }
        best
    }

    /// One slow channel in the order of the GPUs.
    fn fallback(&self, pattern: Pattern) -> Graph {
        if pattern == Pattern::Nvls {
            return Graph::empty(pattern);
        }
        let nic = self.inter.then_some(0);
        let gpus = (0..self.system.gpus.len()).collect();
        Graph {
            intra: FALLBACK,
            inter: FALLBACK,
            type_intra: PathType::Sys,
            type_inter: PathType::Sys,
            same_channels: true,
            channels: vec![GraphChannel { gpus, entry_nic: nic, exit_nic: nic }],
            ..Graph::empty(pattern)
        }
    }

    fn speeds(&self) -> &'static [Bandwidth] {
        let speeds = if self.inter { &self.rules.speeds_inter } else { &self.rules.speeds_intra };
        speeds.for_capability(self.capability)
    }

    /// Index of the first speed that a path and the links of a GPU may have.
    fn first_speed(&self, pattern: Pattern, min_channels: usize) -> usize {
        let gpus = self.system.gpus.len() as i64;
        // A GPU at the end of a chain saves one of n links.
        let (parts, of) = if gpus > 1 && pattern != Pattern::Ring { (gpus - 1, gpus) } else { (1, 1) };
        let fits = |speed: &Bandwidth| {
            let channels = graph::total(min_channels, *speed);
            *speed <= self.max_bandwidth && channels * parts <= i64::from(self.total_bandwidth.mb()) * of
        };
        self.speeds().iter().position(fits).unwrap_or(self.speeds().len() - 1)
    }

    /// Two groups of GPUs with NVLink within each only; their trees need two channels.
    fn has_split_nvlink(&self) -> bool {
        let gpus = self.system.gpus.len();
        let mut domain: Vec<usize> = (0..gpus).collect();
        for gpu in 0..gpus {
            for other in gpu + 1..gpus {
                if self.paths.between_gpus(self.system, gpu, other).kind == PathType::Nvl {
                    domain[other] = domain[gpu];
                }
            }
        }
        let size = |id: usize| domain.iter().filter(|&&of| of == id).count();
        (0..gpus).filter(|&id| size(id) > 1).count() == 2
    }
}

/// NVLinks, or the PCIe link, of a GPU, whichever is faster.
fn bandwidth_of(system: &System, gpu: usize) -> Bandwidth {
    let of_gpu = || system.links().iter().filter(|link| link.from == Node::Gpu(gpu));
    let sum = of_gpu()
        .filter(|link| link.kind == LinkKind::NvLink)
        .fold(Bandwidth::ZERO, |sum, link| sum + link.bandwidth);
    let pcie = of_gpu().filter(|link| link.kind == LinkKind::Pcie).map(|link| link.bandwidth).next_back();
    sum.max(pcie.unwrap_or_default())
}
