//! Runs one workload of the benchmark and measures frames, wall and processor time and peak memory; converts
//! these figures to a line of text and back, by which the process of the run passes them to the benchmark.

use crate::common::Counter;
use crate::workloads::Workload;
use fabricbench_sim::Options;
use std::time::Instant;

/// The figures of one run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    /// Frames that crossed a link, control frames included.
    pub(crate) hops: f64,
    pub(crate) wall_s: f64,
    /// Processor time of all threads, set-up included.
    pub(crate) cpu_s: f64,
    pub(crate) peak_mib: f64,
    /// Windows of switches by the path they took.
    pub(crate) fast_windows: f64,
    pub(crate) exact_windows: f64,
    pub(crate) rows: f64,
    /// Simulated time that fast-forward skipped [%].
    pub(crate) skipped_percent: f64,
    /// Instructions of the whole process; 0 if they were not counted.
    pub(crate) instructions: f64,
}

impl Figures {
    /// Runs `workload`. Rows are counted and dropped, as a writer that streams them to disk would.
    pub(crate) fn measure(workload: &Workload, options: Options, times: u64) -> Self {
        let mut spec = workload.spec();
        spec.observe.series_ports = 256;
        spec.jobs.iter_mut().for_each(|job| crate::common::pattern_of(job).data_bytes *= times);
        let mut rows = Counter::default();
        let (start, cpu) = (Instant::now(), cpu_s());
        let summary =
            fabricbench_sim::run(&spec, options, &mut rows).expect("every workload can be carried out");
        assert!(summary.jobs.iter().all(|job| job.end_ps.is_some()), "{} did not complete", workload.name);
        Self {
            hops: summary.packet_hops as f64,
            wall_s: start.elapsed().as_secs_f64(),
            cpu_s: cpu_s() - cpu,
            peak_mib: peak_mib(),
            fast_windows: summary.fast_windows as f64,
            exact_windows: summary.exact_windows as f64,
            rows: rows.rows as f64,
            skipped_percent: 100.0 * summary.fast_forward_ps as f64 / summary.end_ps as f64,
            instructions: 0.0,
        }
    }

    /// `name=value` pairs on one line.
    pub(crate) fn to_line(self) -> String {
        let pairs = self.pairs().map(|(name, value)| format!("{name}={value}"));
        pairs.join(" ")
    }

    /// The inverse of [`Self::to_line`]; none if a figure is missing.
    pub(crate) fn from_line(line: &str) -> Option<Self> {
        let value = |name: &str| -> Option<f64> {
            let mut pairs = line.split_whitespace().filter_map(|pair| pair.split_once('='));
            pairs.find(|pair| pair.0 == name)?.1.parse().ok()
        };
        Some(Self {
            hops: value("hops")?,
            wall_s: value("wall_s")?,
            cpu_s: value("cpu_s")?,
            peak_mib: value("peak_mib")?,
            fast_windows: value("fast_windows")?,
            exact_windows: value("exact_windows")?,
            rows: value("rows")?,
            skipped_percent: value("skipped_percent")?,
            instructions: value("instructions")?,
        })
    }

    fn pairs(self) -> [(&'static str, f64); 9] {
        [
            ("hops", self.hops),
            ("wall_s", self.wall_s),
            ("cpu_s", self.cpu_s),
            ("peak_mib", self.peak_mib),
            ("fast_windows", self.fast_windows),
            ("exact_windows", self.exact_windows),
            ("rows", self.rows),
            ("skipped_percent", self.skipped_percent),
            ("instructions", self.instructions),
        ]
    }
}

/// Processor time of this process so far, all threads.
fn cpu_s() -> f64 {
    // SAFETY: `rusage` is plain data for which zeroes are valid, and the pointer is good for the call.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// Peak memory of this process [MiB].
fn peak_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|text| text.trim().split(' ').next()?.parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}
