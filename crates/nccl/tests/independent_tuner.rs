//! The tuner against an independent calculation: 100 operations, whose times were computed by a program that
//! was written from descriptions of NCCL alone, without this crate.

use fabricbench_nccl::{
    Bandwidth, MergedGraph, MergedGraphs, NvlsSetup, Operation, Rules, Settings, Tuner, TunerInput,
};
use serde::Deserialize;
use std::collections::BTreeMap;

const CASES: &str = include_str!("tuner_cases.jsonl");
/// Times have four decimals, and NCCL's constants single precision.
const ERROR: f64 = 2e-7;

/// Channels, `bwIntra` and `bwInter` [MB/s], pattern, path types, same channels.
type GraphCase = (usize, i32, i32, fabricbench_nccl::Pattern, PathCase, PathCase, bool);
type PathCase = fabricbench_nccl::PathType;

#[derive(Deserialize)]
struct Case {
    version: fabricbench_nccl::Version,
    collective: fabricbench_nccl::Collective,
    bytes: u64,
    gpus: usize,
    servers: usize,
    capability: u32,
    cpu: fabricbench_nccl::Vendor,
    /// Latency of the adapter [us].
    latency_us: f64,
    channels: usize,
    ring: GraphCase,
    tree: GraphCase,
    nvls: Option<GraphCase>,
    choice: String,
    /// Time of each possible algorithm and protocol [us].
    times_us: BTreeMap<String, f64>,
}

impl Case {
    fn graph(&self, graph: GraphCase) -> MergedGraph {
        let (channels, intra, inter, pattern, type_intra, type_inter, same_channels) = graph;
        MergedGraph {
            channels,
            same_channels,
            intra: Bandwidth::from_mb(intra),
            inter: Bandwidth::from_mb(inter),
            latency_inter_us: self.latency_us,
            type_intra,
            type_inter,
            cross_nic: 0,
            pattern,
        }
    }

    fn tuner(&self) -> Tuner {
        use fabricbench_nccl::{PathType, Pattern};
        let none = (0, 0, 0, Pattern::Nvls, PathType::Nvl, PathType::Pix, false);
        let heads = self.nvls.map_or(0, |nvls| nvls.0);
        let graphs = MergedGraphs {
            ring: self.graph(self.ring),
            tree: self.graph(self.tree),
            nvls: self.graph(self.nvls.unwrap_or(none)),
        };
        let chunk_bytes = 128 << 10;
        let channels = if heads > 0 { 16 } else { 0 };
        let input = TunerInput {
            ranks: self.gpus * self.servers,
            nodes: self.servers,
            capabilities: (self.capability, self.capability),
            vendor: self.cpu,
            graphs,
            collective_channels: self.channels,
            nvls: NvlsSetup { channels, chunk_bytes, tree_chunk_bytes: chunk_bytes },
            nvls_heads: heads,
        };
        Tuner::new(&input, &Rules::of(self.version), &Settings::default())
    }
}

#[test]
fn times_and_choices_are_those_of_an_independent_calculation() {
    let cases: Vec<Case> = CASES.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(cases.len(), 100);
    for (line, case) in (1..).zip(&cases) {
        let (tuner, operation) = (case.tuner(), Operation::new(case.collective, case.bytes));
        let name = |choice: &fabricbench_nccl::Choice| format!("{} {}", choice.algorithm, choice.protocol);
        let times: BTreeMap<String, f64> =
            tuner.times(operation).map(|choice| (name(&choice), choice.time_us)).collect();
        assert!(times.keys().eq(case.times_us.keys()), "line {line}: {times:?}");
        for (combination, expected) in &case.times_us {
            let difference = (times[combination] - expected).abs();
            assert!(difference < 1e-3 + ERROR * expected, "line {line}, {combination}: {times:?}");
        }
        assert_eq!(tuner.choose(operation).as_ref().map(name).as_ref(), Some(&case.choice), "line {line}");
    }
}
