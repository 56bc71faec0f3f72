//! Latencies, bandwidths and times of the worked examples, calculated by hand from the formulas of NCCL 2.30
//! `src/graph/tuning.cc`, to the printed digits; times of public logs (NVIDIA/nccl#1453, NVIDIA/nccl#1595).
#![expect(clippy::float_arithmetic, reason = "compares printed figures")]

use crate::examples::{a1, a2, graph, h, h1, tuner};
use fabricbench_nccl::{
    Algorithm, Collective, Cost, MergedGraphs, Operation, Pattern, Protocol, Tuner, TunerInput, Vendor,
};

/// The columns of the tables; the last is NVLS on one node and NVLSTree on several.
const COLUMNS: [(Algorithm, Protocol); 7] = [
    (Algorithm::Tree, Protocol::Ll),
    (Algorithm::Tree, Protocol::Ll128),
    (Algorithm::Tree, Protocol::Simple),
    (Algorithm::Ring, Protocol::Ll),
    (Algorithm::Ring, Protocol::Ll128),
    (Algorithm::Ring, Protocol::Simple),
    (Algorithm::NvlsTree, Protocol::Simple),
];

const LATENCIES_AND_BANDWIDTHS: &str = "
    H1   | 15.2/43.58 | 31.5/128.80 | 64.4/165.60  | 15.0/80.57  | 40.6/189.26  | 56.0/205.71  | 25.0/272.00
    H2   | 25.2/16.57 | 48.5/124.78 | 92.4/140.76  | 40.0/20.80  | 75.2/156.59  | 131.6/204.80 | 66.8/246.19
    H4   | 35.2/8.67  | 65.5/98.60  | 120.4/122.40 | 78.8/10.53  | 144.4/151.54 | 282.8/198.19 | 108.6/187.87
    H8   | 45.2/8.67  | 82.5/98.60  | 148.4/122.40 | 156.4/10.36 | 282.8/149.13 | 585.2/195.05 | 150.4/184.89
    A2-I | 25.2/19.50 | 48.5/80.00  | 92.4/94.40   | 40.0/20.80  | 75.2/85.33   | 131.6/102.40 |
    A2-D | 25.2/11.25 | 48.5/80.00  | 92.4/94.40   | 68.0/12.00  | 78.0/85.33   | 204.4/102.40 |";

/// Two figures differ from the page in the last digit, which it rounded twice: Tree Simple of H1 at 1 GiB is
/// 6548.348 (page: 6548.4), Ring LL128 of H4 7230.145 (page: 7230.2).
const TIMES: &str = "
    H1 8     | 15.20 | 31.50 | 64.40 | *15.00 | 40.60 | 56.00 | 25.00
    H1 64Ki  | 17.71 | 32.35 | 65.06 | *15.81 | 40.95 | 56.32 | 25.24
    H1 1Mi   | 63.32 | 45.07 | 77.06 | *28.01 | 46.14 | 61.10 | 28.86
    H1 16Mi  | 442.96 | 176.23 | 209.13 | 223.23 | 129.25 | 137.56 | *86.68
    H1 1Gi   | 24654 | 8368 | 6548.3 | 13342 | 5714.1 | 5275.6 | *3972.6
    H2 8     | *25.20 | 48.50 | 92.40 | 40.00 | 75.20 | 131.60 | 66.80
    H2 64Ki  | *31.79 | 49.38 | 93.18 | 43.15 | 75.62 | 184.56 | 67.07
    H2 1Mi   | 151.73 | *62.51 | 107.30 | 90.41 | 81.90 | 189.36 | 71.06
    H2 16Mi  | 1149.9 | 197.89 | 262.67 | 846.6 | 182.34 | 266.16 | *134.95
    H2 1Gi   | 64806 | 8653.6 | 7720.6 | 51662 | 6932.4 | 5427.1 | *4428.3
    H4 8     | *35.20 | 65.50 | 120.40 | 78.80 | 144.40 | 282.80 | 108.60
    H4 64Ki  | *47.80 | 66.61 | 121.29 | 85.02 | 144.83 | 396.25 | 108.95
    H4 1Mi   | 277.09 | *83.22 | 137.53 | 178.39 | 151.32 | 401.21 | 114.18
    H4 16Mi  | 2185.3 | 254.56 | 316.21 | 1672.2 | 255.11 | 480.57 | *197.90
    H4 1Gi   | 123881 | 10955 | 8892.8 | 102058 | 7230.1 | *5813.6 | 5823.9
    A2-I 8   | *25.20 | 48.50 | 92.40 | 40.00 | 75.20 | 131.60 |
    A2-I 64Ki | *30.80 | 49.87 | 93.56 | 43.15 | 75.97 | 184.88 |
    A2-I 1Mi | 132.75 | *70.35 | 114.62 | 90.41 | 87.49 | 194.48 |
    A2-I 16Mi | 981.17 | 281.52 | 346.29 | 846.60 | *271.81 | 348.08 |
    A2-I 1Gi | 55089 | 13470 | 11467 | 51662 | 12658 | *10670 |
    A2-D 64Ki | *34.91 | 49.87 | 93.56 | 73.46 | 78.77 | 286.80 |
    A2-D 1Mi | 211.61 | *70.35 | 114.62 | 155.38 | 90.29 | 296.40 |
    A2-D 16Mi | 1682.2 | 281.52 | 346.29 | 1466.1 | *274.61 | 450.00 |
    A2-D 1Gi | 95469 | 13470 | 11467 | 89546 | 12661 | *10772 |";

fn example(name: &str) -> Tuner {
    let input = match name {
        "H1" => h1(),
        "H2" => h(2),
        "H4" => h(4),
        "H8" => h(8),
        "A2-I" => a2(Vendor::Intel),
        "A2-D" => a2(Vendor::Amd),
        other => panic!("{other} is no example"),
    };
    tuner(&input, "2.30")
}

fn column(index: usize, tuner: &Tuner) -> (Algorithm, Protocol) {
    let one_node = tuner.costs().iter().any(|cost| cost.algorithm == Algorithm::Nvls);
    if one_node && index == 6 { (Algorithm::Nvls, Protocol::Simple) } else { COLUMNS[index] }
}

fn cost(tuner: &Tuner, (algorithm, protocol): (Algorithm, Protocol)) -> Cost {
    let combination = (Collective::AllReduce, algorithm, protocol);
    let mut costs = tuner.costs().iter();
    let cost = costs.find(|cost| (cost.collective, cost.algorithm, cost.protocol) == combination);
    *cost.expect("a possible combination")
}

/// Asserts a figure to its printed digits.
pub(crate) fn assert_printed(value: f64, printed: &str, what: &str) {
    let decimals = printed.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let unit = 10_f64.powi(-i32::try_from(decimals).expect("few digits"));
    let figure: f64 = printed.parse().expect("a figure");
    assert!((value - figure).abs() <= unit * 0.500_001, "{what}: expected {printed}, computed {value}");
}

fn bytes(text: &str) -> u64 {
    let (digits, shift) = match text.split_once(['K', 'M', 'G']) {
        Some((digits, _)) if text.contains('K') => (digits, 10),
        Some((digits, _)) if text.contains('M') => (digits, 20),
        Some((digits, _)) => (digits, 30),
        None => (text, 0),
    };
    digits.parse::<u64>().expect("a size") << shift
}

#[test]
fn latencies_and_bandwidths() {
    for line in LATENCIES_AND_BANDWIDTHS.trim().lines() {
        let mut cells = line.split('|').map(str::trim);
        let name = cells.next().unwrap();
        let tuner = example(name);
        for (index, cell) in cells.enumerate().filter(|(_, cell)| !cell.is_empty()) {
            let (latency, bandwidth) = cell.split_once('/').unwrap();
            let cost = cost(&tuner, column(index, &tuner));
            let what = format!("{name} {} {}", cost.algorithm, cost.protocol);
            assert_printed(cost.latency_us, latency, &what);
            assert_printed(cost.bandwidth_gb, bandwidth, &what);
        }
    }
}

#[test]
fn times_and_choices() {
    for line in TIMES.trim().lines() {
        let mut cells = line.split('|').map(str::trim);
        let (name, size) = cells.next().unwrap().split_once(' ').unwrap();
        let tuner = example(name);
        let operation = Operation::new(Collective::AllReduce, bytes(size.trim()));
        for (index, cell) in cells.enumerate().filter(|(_, cell)| !cell.is_empty()) {
            let (algorithm, protocol) = column(index, &tuner);
            let time = tuner.time_of(operation, algorithm, protocol).unwrap();
            let what = format!("{name} {size} {algorithm} {protocol}");
            assert_printed(time, cell.trim_start_matches('*'), &what);
            if cell.starts_with('*') {
                let choice = tuner.choose(operation).unwrap();
                assert_eq!((choice.algorithm, choice.protocol), (algorithm, protocol), "{what}");
            }
        }
    }
}

/// Expected times in order: LL, LL128, Simple.
#[test]
fn four_a100_at_the_sizes_of_a_log() {
    let tuner = tuner(&a1(4), "2.27.3");
    for (bytes, times, choice) in [
        (5_756, ["", "", ""], Protocol::Ll),
        (182_092, ["", "", ""], Protocol::Ll),
        (1_820_956, ["41.35", "37.77", "40.18"], Protocol::Ll128),
        (5_758_372, ["108.7", "64.52", "64.79"], Protocol::Ll128),
        (18_209_580, ["", "149.1", "142.6"], Protocol::Simple),
        (182_095_808, ["", "", ""], Protocol::Simple),
    ] {
        let operation = Operation::new(Collective::AllReduce, bytes);
        for (protocol, printed) in Protocol::ALL.iter().zip(times).filter(|(_, printed)| !printed.is_empty())
        {
            let time = tuner.time_of(operation, Algorithm::Ring, *protocol).unwrap();
            assert_printed(time, printed, &format!("{bytes} B {protocol}"));
        }
        let chosen = tuner.choose(operation).unwrap();
        assert_eq!((chosen.algorithm, chosen.protocol), (Algorithm::Ring, choice), "{bytes} B");
    }
}

#[test]
fn times_that_logs_print() {
    let three_nodes = TunerInput {
        graphs: MergedGraphs {
            ring: graph(Pattern::Ring, 8, 24, 24),
            tree: graph(Pattern::Tree, 8, 48, 24),
            nvls: graph(Pattern::Nvls, 8, 24, 24),
        },
        ..h(3)
    };
    let tuner_of_three = tuner(&three_nodes, "2.22");
    for (bytes, protocol, logged) in [
        (4, Protocol::Ll, 25.200_462),
        (65_536, Protocol::Ll, 37.798_233),
        (131_072, Protocol::Ll128, 51.603_912),
    ] {
        let operation = Operation::new(Collective::AllReduce, bytes);
        let choice = tuner_of_three.choose(operation).unwrap();
        assert_eq!((choice.algorithm, choice.protocol), (Algorithm::Tree, protocol), "NVIDIA/nccl#1453");
        assert!((choice.time_us - logged).abs() < 2e-5, "{bytes} B: {}", choice.time_us);
    }
    let operation = Operation::new(Collective::AllReduce, 805_306_368);
    let time = tuner(&h1(), "2.30").time_of(operation, Algorithm::Ring, Protocol::Simple).unwrap();
    assert!((time - 3_970.683_594).abs() < 1e-3, "NVIDIA/nccl#1595: {time}");
}
