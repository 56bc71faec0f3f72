//! Tuner inputs of the worked examples whose times are calculated by hand.

use fabricbench_nccl::{
    Bandwidth, MergedGraph, MergedGraphs, NvlsSetup, PathType, Pattern, Rules, Settings, Tuner, TunerInput,
    Vendor,
};

/// A graph of some channels with the speeds of a channel in GB/s.
pub(crate) fn graph(pattern: Pattern, channels: usize, intra: i32, inter: i32) -> MergedGraph {
    MergedGraph {
        channels,
        same_channels: false,
        intra: Bandwidth::from_gb(intra),
        inter: Bandwidth::from_gb(inter),
        latency_inter_us: 0.0,
        type_intra: PathType::Nvl,
        type_inter: PathType::Pix,
        cross_nic: 0,
        pattern,
    }
}

/// 8 H100 on one node.
pub(crate) fn h1() -> TunerInput {
    TunerInput {
        ranks: 8,
        nodes: 1,
        capabilities: (90, 90),
        vendor: Vendor::Intel,
        graphs: MergedGraphs {
            ring: graph(Pattern::Ring, 12, 30, 30),
            tree: graph(Pattern::BalancedTree, 12, 30, 30),
            nvls: graph(Pattern::Nvls, 8, 40, 60),
        },
        collective_channels: 24,
        nvls: NvlsSetup { channels: 16, chunk_bytes: 128 << 10, tree_chunk_bytes: 128 << 10 },
        nvls_heads: 8,
    }
}

/// Nodes of 8 H100 with 8 x 400G, Intel.
pub(crate) fn h(nodes: usize) -> TunerInput {
    TunerInput {
        ranks: 8 * nodes,
        nodes,
        graphs: MergedGraphs {
            ring: graph(Pattern::Ring, 8, 48, 48),
            tree: graph(Pattern::Tree, 8, 48, 48),
            nvls: graph(Pattern::Nvls, 8, 40, 48),
        },
        collective_channels: 16,
        ..h1()
    }
}

/// Two nodes of 8 H100 whose network plugin reports a latency.
pub(crate) fn efa(latency_us: f64, vendor: Vendor) -> TunerInput {
    let mut input = TunerInput { vendor, ..h(2) };
    for graph in [&mut input.graphs.ring, &mut input.graphs.tree, &mut input.graphs.nvls] {
        graph.latency_inter_us = latency_us;
    }
    input
}

/// Two DGX A100.
pub(crate) fn a2(vendor: Vendor) -> TunerInput {
    TunerInput {
        ranks: 16,
        nodes: 2,
        capabilities: (80, 80),
        vendor,
        graphs: MergedGraphs {
            ring: graph(Pattern::Ring, 8, 24, 24),
            tree: graph(Pattern::BalancedTree, 8, 30, 24),
            nvls: graph(Pattern::Nvls, 0, 0, 0),
        },
        collective_channels: 16,
        nvls: NvlsSetup { channels: 0, ..h1().nvls },
        nvls_heads: 0,
    }
}

/// A100 on NVSwitch, one node.
pub(crate) fn a1(gpus: usize) -> TunerInput {
    let base = a2(Vendor::Amd);
    TunerInput {
        ranks: gpus,
        nodes: 1,
        graphs: MergedGraphs {
            ring: graph(Pattern::Ring, 12, 20, 20),
            tree: graph(Pattern::BalancedTree, 12, 20, 20),
            nvls: base.graphs.nvls,
        },
        collective_channels: 24,
        ..base
    }
}

/// 8 B200, one node.
pub(crate) fn b1() -> TunerInput {
    TunerInput {
        capabilities: (100, 100),
        graphs: MergedGraphs {
            ring: graph(Pattern::Ring, 16, 45, 45),
            tree: graph(Pattern::BalancedTree, 16, 45, 45),
            nvls: graph(Pattern::Nvls, 8, 80, 90),
        },
        collective_channels: 32,
        ..h1()
    }
}

pub(crate) fn tuner(input: &TunerInput, version: &str) -> Tuner {
    let rules = Rules::of(version.parse().expect("a known version"));
    Tuner::new(input, &rules, &Settings::default())
}
