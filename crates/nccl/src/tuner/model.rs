//! Latency and bandwidth of each collective with each algorithm and protocol.

use super::TunerInput;
use super::constants::{
    ChannelMax, Generation, Hardware, base_latency, ll_max, nvls_efficiency, step_latency,
};
use crate::communicator::MergedGraph;
use crate::kinds::{Algorithm, Collective, Protocol};
use crate::paths::PathType;
use crate::rules::{NvlsModel, Rules, TunerRules};
use crate::search::Pattern;
use crate::settings::Settings;
use crate::system::Vendor;
use serde::{Deserialize, Serialize};

/// Most GPUs of a node for NVLS all-gather and reduce-scatter.
const NVLS_GATHER_RANKS: usize = 8;

/// Cost of a collective with an algorithm and a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// The collective.
    pub collective: Collective,
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The protocol.
    pub protocol: Protocol,
    /// Time without data [us].
    pub latency_us: f64,
    /// Bytes of the larger buffer per time [GB/s].
    pub bandwidth_gb: f64,
}

/// The tuner of a communicator: the costs of all combinations that are possible and allowed.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuner {
    pub(super) input: TunerInput,
    pub(super) rules: TunerRules,
    pub(super) buffer_bytes: Option<u64>,
    costs: Vec<Cost>,
}

impl Tuner {
    /// Part of the bandwidth of NVLinks that NVLS uses.
    #[must_use]
    pub const fn nvls_efficiency(&self) -> f64 {
        nvls_efficiency(Generation::of(self.input.capabilities.0))
    }

    /// Computes all costs.
    #[must_use]
    pub fn new(input: &TunerInput, rules: &Rules, settings: &Settings) -> Self {
        let model = Model::new(input, &rules.tuner);
        let combinations = Collective::ALL.iter().flat_map(|&collective| {
            Algorithm::ALL.iter().flat_map(move |&algorithm| {
                Protocol::ALL.iter().map(move |&protocol| (collective, algorithm, protocol))
            })
        });
        let costs = combinations
            .filter(|_| input.ranks > 1)
            .filter(|&(collective, algorithm, protocol)| model.is_possible(collective, algorithm, protocol))
            .filter(|&(collective, algorithm, protocol)| {
                model.is_allowed(collective, algorithm, protocol, settings)
            })
            .map(|(collective, algorithm, protocol)| Cost {
                collective,
                algorithm,
                protocol,
                latency_us: model.latency(collective, algorithm, protocol),
                bandwidth_gb: model.bandwidth(collective, algorithm, protocol),
            })
            .filter(|cost| cost.bandwidth_gb > 0.0)
            .collect();
        Self { input: input.clone(), rules: rules.tuner, buffer_bytes: settings.buffer_bytes, costs }
    }

    /// Costs of all combinations, in the order in which NCCL compares them.
    #[must_use]
    pub fn costs(&self) -> &[Cost] {
        &self.costs
    }
}

struct Model<'a> {
    input: &'a TunerInput,
    rules: &'a TunerRules,
    generation: Generation,
    channel_max: ChannelMax,
    nodes: f64,
    ranks: f64,
    ranks_per_node: f64,
}

impl<'a> Model<'a> {
    fn new(input: &'a TunerInput, rules: &'a TunerRules) -> Self {
        let generation = Generation::of(input.capabilities.0);
        Self {
            input,
            rules,
            generation,
            channel_max: ChannelMax::of(generation, input.nodes),
            nodes: input.nodes as f64,
            ranks: input.ranks as f64,
            ranks_per_node: input.ranks_per_node(),
        }
    }

    fn graph(&self, algorithm: Algorithm) -> &MergedGraph {
        match algorithm {
            Algorithm::Ring => &self.input.graphs.ring,
            Algorithm::Nvls | Algorithm::NvlsTree => &self.input.graphs.nvls,
            _ => &self.input.graphs.tree,
        }
    }

    /// Whether an algorithm can run a collective on this communicator.
    fn is_possible(&self, collective: Collective, algorithm: Algorithm, protocol: Protocol) -> bool {
        let one_node = self.input.nodes == 1;
        let reduces_all = collective == Collective::AllReduce;
        let nvls = protocol == Protocol::Simple && self.input.graphs.nvls.channels >= 2;
        match algorithm {
            Algorithm::Ring => true,
            Algorithm::Tree => reduces_all,
            Algorithm::Nvls => {
                let few = self.input.ranks <= NVLS_GATHER_RANKS;
                nvls && one_node && (reduces_all || (collective.has_blocks() && few))
            }
            Algorithm::NvlsTree => nvls && !one_node && reduces_all,
            Algorithm::Pat => {
                let one_gpu_per_node = self.input.nodes == self.input.ranks;
                self.rules.pat && collective.has_blocks() && protocol == Protocol::Simple && one_gpu_per_node
            }
            Algorithm::CollNetDirect | Algorithm::CollNetChain => false,
        }
    }

    /// Whether the settings, or the defaults without them, allow a combination.
    fn is_allowed(
        &self,
        collective: Collective,
        algorithm: Algorithm,
        protocol: Protocol,
        settings: &Settings,
    ) -> bool {
        let by_default = protocol != Protocol::Ll128 || self.is_ll128_safe(algorithm);
        settings.algorithms.allows(collective, algorithm).unwrap_or(true)
            && settings.protocols.allows(collective, protocol).unwrap_or(by_default)
    }

    /// LL128 needs paths that do not split its 128 bytes.
    fn is_ll128_safe(&self, algorithm: Algorithm) -> bool {
        let (least, most) = self.input.capabilities;
        let graph = self.graph(algorithm);
        let worst_inter = if least >= 90 { PathType::Pxn } else { PathType::Pxb };
        graph.type_inter <= worst_inter
            && graph.type_intra <= PathType::Nvb
            && least >= 70
            && (least == most || least >= 90)
    }

    /// Number of steps of a ring.
    fn steps(&self, collective: Collective) -> f64 {
        match collective {
            Collective::AllReduce => 2.0 * (self.ranks - 1.0),
            Collective::AllGather | Collective::ReduceScatter => self.ranks - 1.0,
            Collective::Broadcast | Collective::Reduce => self.ranks,
        }
    }

    /// Number of a ring's steps over the network.
    fn inter_steps(&self, collective: Collective) -> f64 {
        match collective {
            Collective::AllReduce => 2.0 * (self.nodes - 1.0),
            _ => self.nodes - 1.0,
        }
    }

    /// Bandwidth by the buffer of an operation [GB/s].
    fn bandwidth(&self, collective: Collective, algorithm: Algorithm, protocol: Protocol) -> f64 {
        let channels = self.graph(algorithm).channels as f64;
        let bus = channels * self.channel_bandwidth(collective, algorithm);
        let bus = match algorithm {
            Algorithm::Ring => self.ring_bandwidth(bus, channels, protocol),
            Algorithm::Tree => self.tree_bandwidth(bus, channels, protocol),
            Algorithm::Pat => bus * 0.75,
            _ => bus,
        };
        bus * self.bus_to_buffer(collective, algorithm)
    }

    /// Speed of a channel of an algorithm's graph [GB/s].
    fn channel_bandwidth(&self, collective: Collective, algorithm: Algorithm) -> f64 {
        let graph = self.graph(algorithm);
        let (intra, inter) = (graph.intra.gb(), graph.inter.gb());
        if matches!(algorithm, Algorithm::Nvls | Algorithm::NvlsTree) {
            return self.nvls_bandwidth(collective, algorithm, graph);
        }
        if self.rules.blackwell_2_31 && self.generation == Generation::Blackwell {
            return match algorithm {
                Algorithm::Ring if self.input.nodes == 1 => intra,
                Algorithm::Ring => inter,
                _ => intra.min(inter),
            };
        }
        if self.input.nodes <= 2 { intra } else { inter }
    }

    fn nvls_bandwidth(&self, collective: Collective, algorithm: Algorithm, graph: &MergedGraph) -> f64 {
        let (intra, inter) = (graph.intra.gb(), graph.inter.gb());
        let is_tree = algorithm == Algorithm::NvlsTree;
        if self.rules.nvls != NvlsModel::ByGeneration {
            return intra.min(if is_tree && self.input.nodes > 2 { inter / 2.0 } else { inter });
        }
        let channels = graph.channels as f64;
        let overlap = if collective == Collective::AllReduce {
            2.0
        } else {
            (self.ranks_per_node - 1.0) / self.ranks_per_node
        };
        let efficient = intra * nvls_efficiency(self.generation) * (channels - 1.0) / channels * overlap;
        if is_tree {
            let both = if self.input.nodes <= 2 { 2.0 * inter } else { inter };
            efficient.min(both).min(self.channel_max.nvls_tree)
        } else {
            efficient.min(inter)
        }
    }

    fn ring_bandwidth(&self, bus: f64, channels: f64, protocol: Protocol) -> f64 {
        match protocol {
            Protocol::Ll => (bus * permille(self.rules.ring_ll_permille)).min(self.ll_max()),
            Protocol::Ll128 => {
                let single = self.ranks_per_node < 2.0;
                let fraction = if single { permille(self.rules.single_gpu_ll128_permille) } else { 0.92 };
                (bus * fraction).min(channels * self.channel_max.ring_ll128)
            }
            Protocol::Simple => bus,
        }
    }

    fn tree_bandwidth(&self, bus: f64, channels: f64, protocol: Protocol) -> f64 {
        let bus = (bus * 0.92).min(channels * self.channel_max.tree);
        let bus = match protocol {
            Protocol::Ll => (bus / 3.8).min(self.ll_max()),
            Protocol::Ll128 => {
                let fraction = if self.input.nodes == 1 { 7.0 / 9.0 } else { 120.0 / 128.0 };
                (bus * fraction).min(channels * self.channel_max.tree_ll128)
            }
            Protocol::Simple => bus,
        };
        if self.input.graphs.tree.pattern == Pattern::Tree { bus * 0.85 } else { bus }
    }

    fn ll_max(&self) -> f64 {
        ll_max(self.generation, self.input.vendor, self.input.nodes)
    }

    /// Bytes of the buffer per byte on the links.
    fn bus_to_buffer(&self, collective: Collective, algorithm: Algorithm) -> f64 {
        let per_step = self.ranks / self.steps(collective);
        match algorithm {
            Algorithm::Ring => per_step,
            _ if collective.has_blocks() => 1.0,
            Algorithm::Nvls | Algorithm::NvlsTree => match self.rules.nvls {
                NvlsModel::FiveSixthsOldTree if algorithm == Algorithm::NvlsTree => {
                    0.70 * self.nodes / (2.0 * (self.nodes - 1.0))
                }
                NvlsModel::FiveSixths | NvlsModel::FiveSixthsOldTree => 5.0 / 6.0,
                NvlsModel::ByGeneration => per_step,
            },
            _ => 0.5,
        }
    }

    /// Time without data [us].
    fn latency(&self, collective: Collective, algorithm: Algorithm, protocol: Protocol) -> f64 {
        let base = base_latency(algorithm, protocol);
        let (intra, inter) =
            (self.intra_latency(algorithm, protocol), self.inter_latency(algorithm, protocol));
        let depth = self.input.log2_nodes();
        match algorithm {
            Algorithm::Ring if matches!(collective, Collective::Broadcast | Collective::Reduce) => {
                base + self.pipeline_latency(collective, protocol)
            }
            Algorithm::Ring => {
                let (steps, inter_steps) = (self.steps(collective), self.inter_steps(collective));
                base + (steps - inter_steps) * intra.max(self.net_overhead(protocol)) + inter_steps * inter
            }
            Algorithm::Tree => {
                let chain = (self.input.ranks / self.input.nodes - 1) as f64;
                base + 2.0 * (chain * intra + depth * inter)
            }
            Algorithm::Nvls => intra + if self.input.nodes > 1 { inter } else { 0.0 },
            Algorithm::NvlsTree => intra + 2.0 * depth * inter,
            Algorithm::Pat => base + depth * (inter / 3.5) + self.ranks * 2.8,
            Algorithm::CollNetDirect | Algorithm::CollNetChain => base,
        }
    }

    /// Latency of the steps of a broadcast or reduce, which rings run as a pipeline.
    fn pipeline_latency(&self, collective: Collective, protocol: Protocol) -> f64 {
        let hardware =
            if self.input.nodes == 1 { self.intra_hardware(Algorithm::Ring) } else { Hardware::Network };
        if self.input.graphs.ring.same_channels {
            return self.step(hardware, Algorithm::Ring, protocol);
        }
        let of = if protocol == Protocol::Simple { Algorithm::Tree } else { Algorithm::Ring };
        self.steps(collective) * self.step(hardware, of, protocol)
    }

    fn step(&self, hardware: Hardware, algorithm: Algorithm, protocol: Protocol) -> f64 {
        let nvls_tree_net = f64::from(self.rules.nvls_tree_net_ns) / 1000.0;
        step_latency(hardware, algorithm, protocol, nvls_tree_net)
    }

    fn intra_hardware(&self, algorithm: Algorithm) -> Hardware {
        if self.graph(algorithm).type_intra == PathType::Nvl { Hardware::NvLink } else { Hardware::Pcie }
    }

    fn intra_latency(&self, algorithm: Algorithm, protocol: Protocol) -> f64 {
        let hardware = self.intra_hardware(algorithm);
        // On POWER, steps of Simple trees over PCIe count as those of rings.
        let power = self.input.vendor == Vendor::Power && hardware == Hardware::Pcie;
        let as_ring = power && algorithm == Algorithm::Tree && protocol == Protocol::Simple;
        self.step(hardware, if as_ring { Algorithm::Ring } else { algorithm }, protocol)
    }

    /// Simple flushes after each step over the network, which takes the latency of the NIC again.
    fn inter_latency(&self, algorithm: Algorithm, protocol: Protocol) -> f64 {
        let single = self.input.ranks == self.input.nodes;
        let of = if single { Algorithm::Tree } else { algorithm };
        let nic = self.graph(algorithm).latency_inter_us;
        let crossings = if protocol == Protocol::Simple { 2.0 } else { 1.0 };
        self.step(Hardware::Network, of, protocol) + crossings * nic
    }

    /// Least time of any step of a ring over several nodes.
    fn net_overhead(&self, protocol: Protocol) -> f64 {
        let overhead = if self.input.vendor == Vendor::Amd { 2.0 } else { 1.0 };
        match (self.input.nodes, protocol) {
            (1, _) => 0.0,
            (_, Protocol::Simple) => 3.0 * overhead,
            _ => overhead,
        }
    }
}

fn permille(value: u32) -> f64 {
    f64::from(value) / 1000.0
}
