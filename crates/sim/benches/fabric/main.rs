//! Benchmark of whole simulations: runs each workload in a process of its own, so that its memory is measured
//! alone, and prints packet-hops per second, nanoseconds per hop, peak memory and, if requested, instructions
//! per hop.
//!
//! `cargo bench -p fabricbench-sim` runs all workloads that have a target speed; with arguments
//! `-- B1 B5` it runs these two, with `-- R1 R2 R3 R4 R5` one collective among 8 to 32,768 hosts, with
//! `-- L1 L2` a ring and a tree of 1,024 ranks. Packet-hops count every frame (data, ACK, CNP, PFC) that
//! crosses a link. Times include set-up and the making of table rows. Speeds are packet-hops per second of
//! processor time on one thread, of wall time on several.
//!
//! | option | does |
//! |---|---|
//! | `--threads N` | runs on N threads; without it one, and two for workloads that are meant for them |
//! | `--runs N` | takes the fastest of N runs, 3 without it |
//! | `--times N` | moves N times the data |
//! | `--exact` | processes all events of switches in order of time, without the fast path |
//! | `--fast-forward` | skips repetitions, as runs of users do; without it every packet is simulated |
//! | `--instructions` | counts instructions with valgrind, some fifty times slower |
//! | `--lines` | prints figures as `name=value`, for `tools/compare_benchmarks.py` |
#![allow(clippy::print_stdout, clippy::float_arithmetic, reason = "a benchmark prints its measurements")]

#[allow(dead_code, reason = "the tests use all of it")]
#[path = "../../tests/common/mod.rs"]
mod common;
mod measure;
mod workloads;

use fabricbench_sim::{Options, Path};
use measure::Figures;
use std::process::{Command, Stdio};
use workloads::{WORKLOADS, Workload};

/// Options of the command line.
struct Choices {
    threads: Option<usize>,
    runs: usize,
    /// Factor of the data of the workload.
    times: u64,
    is_exact: bool,
    fast_forward: bool,
    instructions: bool,
    lines: bool,
    /// The workload to run in this process.
    only: Option<String>,
    names: Vec<String>,
}

impl Choices {
    fn parse(arguments: &[String]) -> Self {
        let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
        let value = |flag: &str| {
            let place = arguments.iter().position(|argument| argument == flag)?;
            arguments.get(place + 1).cloned()
        };
        let number = |flag: &str| value(flag).and_then(|text| text.parse().ok());
        Self {
            threads: number("--threads"),
            runs: number("--runs").unwrap_or(3).max(1),
            times: number("--times").unwrap_or(1).max(1) as u64,
            is_exact: has("--exact"),
            fast_forward: has("--fast-forward"),
            instructions: has("--instructions"),
            lines: has("--lines"),
            only: value("--only"),
            names: arguments
                .iter()
                .filter(|argument| argument.starts_with(['B', 'L', 'R']))
                .cloned()
                .collect(),
        }
    }

    fn options(&self, threads: usize) -> Options {
        let path = if self.is_exact { Path::Exact } else { Path::Auto };
        Options { threads, path, fast_forward: self.fast_forward }
    }

    fn wants(&self, workload: &Workload) -> bool {
        match &*self.names {
            [] => workload.target.is_some(),
            names => names.iter().any(|name| name == workload.name),
        }
    }

    fn thread_counts(&self, workload: &Workload) -> Vec<usize> {
        match self.threads {
            Some(threads) => vec![threads],
            None if workload.is_parallel && !self.instructions => vec![1, 2],
            None => vec![1],
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let choices = Choices::parse(&arguments);
    if let Some(name) = &choices.only {
        let workload = WORKLOADS.iter().find(|workload| workload.name == name).expect("a known workload");
        let options = choices.options(choices.threads.unwrap_or(1));
        let figures = Figures::measure(workload, options, choices.times);
        println!("{}", figures.to_line());
        return;
    }
    if !choices.lines {
        print_heading();
    }
    for workload in WORKLOADS.iter().filter(|workload| choices.wants(workload)) {
        let mut alone = None;
        for threads in choices.thread_counts(workload) {
            let runs = (0..choices.runs).map(|_| run_apart(workload, threads, &choices));
            let seconds = |figures: &Figures| if threads == 1 { figures.cpu_s } else { figures.wall_s };
            let best = runs.min_by(|a, b| seconds(a).total_cmp(&seconds(b))).expect("one run or more");
            if choices.lines {
                println!("workload={} threads={threads} {}", workload.name, best.to_line());
            } else {
                print_row(workload, threads, &best, alone);
            }
            alone = alone.or(Some(best.wall_s));
        }
    }
}

/// Runs `workload` in a process of its own.
fn run_apart(workload: &Workload, threads: usize, choices: &Choices) -> Figures {
    let program = std::env::current_exe().expect("this program has a path");
    let mut command = if choices.instructions {
        let mut valgrind = Command::new("valgrind");
        valgrind
            .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"])
            .arg(program);
        valgrind
    } else {
        Command::new(program)
    };
    command.args(["--only", workload.name, "--threads", &threads.to_string()]);
    command.args(["--times", &choices.times.to_string()]);
    if choices.is_exact {
        command.arg("--exact");
    }
    if choices.fast_forward {
        command.arg("--fast-forward");
    }
    let output = command.stdin(Stdio::null()).output().expect("the benchmark (or valgrind) can be started");
    let complaints = String::from_utf8_lossy(&output.stderr);
    let figures = Figures::from_line(&String::from_utf8_lossy(&output.stdout));
    let figures = figures.unwrap_or_else(|| panic!("{} gave no figures: {complaints}", workload.name));
    Figures { instructions: counted_instructions(&complaints), ..figures }
}

/// The count in cachegrind's `I refs: 1,234`.
fn counted_instructions(complaints: &str) -> f64 {
    let text = complaints.lines().find_map(|line| line.split_once("refs:").map(|parts| parts.1));
    text.and_then(|text| text.trim().replace(',', "").parse().ok()).unwrap_or(0.0)
}

fn print_heading() {
    println!(
        "{:<4}{:>8}{:>9}{:>9}{:>8}{:>8}{:>8}{:>8}{:>9}{:>9}{:>8}{:>9}  workload",
        "",
        "threads",
        "M hops",
        "wall s",
        "cpu s",
        "M/s",
        "target",
        "ns/hop",
        "instr",
        "exact %",
        "speedup",
        "peak MiB"
    );
}

fn print_row(workload: &Workload, threads: usize, figures: &Figures, alone_s: Option<f64>) {
    let Figures { hops, wall_s, cpu_s, peak_mib, fast_windows, exact_windows, instructions, .. } = *figures;
    let seconds = if threads == 1 { cpu_s } else { wall_s };
    let dash_if_zero = |value: f64| if value == 0.0 { "-".to_owned() } else { format!("{value:.0}") };
    println!(
        "{:<4}{threads:>8}{:>9.2}{wall_s:>9.3}{cpu_s:>8.3}{:>8.1}{:>8}{:>8.1}{:>9}{:>9.1}{:>8}{peak_mib:>9.0}  {}",
        workload.name,
        hops / 1e6,
        hops / seconds / 1e6,
        workload.target.map_or("-".to_owned(), |target| format!("{target:.0}")),
        seconds * 1e9 / hops,
        dash_if_zero(instructions / hops),
        100.0 * exact_windows / (fast_windows + exact_windows),
        alone_s.map_or("-".to_owned(), |alone| format!("{:.2}", alone / wall_s)),
        workload.description,
    );
}
