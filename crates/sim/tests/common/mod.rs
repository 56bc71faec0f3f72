//! Specs and observers for the tests of whole runs.
#![allow(dead_code, reason = "each test file uses its part")]

use fabricbench_sim::{Batch, Observer, Options, Path, Progress, Stopped};
use spec::{
    CableSpec, ChunkRow, FabricSpec, JobSpec, LinkRow, LinkSpec, LoadBalancing, LossRecovery, NicSpec,
    ObserveSpec, PortRow, QpMode, RateControl, RunSpec, RunSummary, SCHEMA_VERSION, SeriesRow, SwitchSpec,
    TopologySpec, TransportSpec,
};

/// A link of 400 Gb/s.
pub(crate) fn link(length_m: u64) -> LinkSpec {
    LinkSpec { rate_bps: 400_000_000_000, cable: CableSpec { delay_ps: length_m * 5_000 } }
}

/// Two leaves of `hosts_per_leaf`, four spines.
pub(crate) fn leaf_spine(hosts_per_leaf: u32) -> TopologySpec {
    TopologySpec::LeafSpine {
        leaves: 2,
        hosts_per_leaf,
        spines: 4,
        links_per_spine: 1,
        host_link: link(3),
        fabric_link: link(30),
    }
}

/// Hosts on one switch.
pub(crate) fn single_switch(hosts: u32) -> TopologySpec {
    TopologySpec::SingleSwitch { hosts, host_link: link(3) }
}

/// A run of one collective on the first `ranks` hosts.
pub(crate) fn collective(
    topology: TopologySpec,
    ranks: u32,
    collective: &str,
    algorithm: &str,
    data_bytes: u64,
) -> RunSpec {
    RunSpec {
        schema_version: SCHEMA_VERSION,
        seed: 1,
        fabric: FabricSpec {
            topology,
            load_balancing: LoadBalancing::Ecmp {},
            switch: SwitchSpec { pipeline_latency_ps: 500_000, buffer_bytes: 64 << 20 },
            nic: NicSpec { latency_ps: 400_000 },
        },
        transport: TransportSpec {
            mtu_bytes: 4096,
            message_bytes: 128 << 10,
            qp_mode: QpMode::PerChunk,
            qps_per_rank_pair: 1,
            ack_every: 2,
            window_packets: 1 << 23,
            recovery: LossRecovery::GoBackN,
            timeout_ps: 67_108_864_000,
            retry_count: 7,
            rate_control: RateControl::LineRate {},
        },
        jobs: vec![JobSpec {
            name: "test".into(),
            hosts: (0..ranks).collect(),
            collective: collective.into(),
            algorithm: algorithm.into(),
            data_bytes,
            root: 0,
            start_ps: 0,
            step_overhead_ps: 0,
        }],
        observe: ObserveSpec { series_points: 100, series_interval_ps: 1_000_000, series_ports: 64 },
    }
}

/// Keeps everything a run hands out.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) chunks: Vec<ChunkRow>,
    pub(crate) ports: Vec<PortRow>,
    pub(crate) links: Vec<LinkRow>,
    pub(crate) series: Vec<SeriesRow>,
    pub(crate) events: Vec<spec::EventRow>,
}

impl Observer for Recorder {
    fn batch(&mut self, batch: Batch) -> Result<(), Stopped> {
        match batch {
            Batch::Chunks(rows) => self.chunks.extend(rows),
            Batch::Ports(rows) => self.ports.extend(rows),
            Batch::Links(rows) => self.links.extend(rows),
            Batch::Series(rows) => self.series.extend(rows),
            Batch::Events(rows) => self.events.extend(rows),
        }
        Ok(())
    }

    fn progress(&mut self, _: Progress) -> Result<(), Stopped> {
        Ok(())
    }
}

/// Runs `spec` to the end.
pub(crate) fn run_with(spec: &RunSpec, threads: usize, path: Path) -> (RunSummary, Recorder) {
    let mut recorder = Recorder::default();
    let summary = fabricbench_sim::run(spec, Options { threads, path }, &mut recorder)
        .expect("the spec can be carried out");
    (summary, recorder)
}

/// Runs `spec` on one thread.
pub(crate) fn run(spec: &RunSpec) -> (RunSummary, Recorder) {
    run_with(spec, 1, Path::Auto)
}

/// Completion time of the first job [ps].
pub(crate) fn completion_ps(summary: &RunSummary) -> u64 {
    summary.jobs[0].end_ps.expect("the job completed") - summary.jobs[0].start_ps
}

/// Every table of a run as text, for comparison.
pub(crate) fn tables(recorder: &Recorder) -> String {
    format!(
        "{:#?}\n{:#?}\n{:#?}\n{:#?}\n{:#?}",
        recorder.chunks, recorder.ports, recorder.links, recorder.series, recorder.events
    )
}
