//! Specs and observers for the tests of whole runs.

use fabricbench_sim::{Description, Observer, Options, Path, Progress, Sample, Stopped};
use proptest::prelude::*;
use record::{
    Batch, ChannelRow, ChunkRow, ChunkStepRow, ChunkTimeRow, LinkRow, PathRow, PortRow, PriorityRow,
    ReorderingRow, SeriesRow,
};
use spec::{
    AdapterConfig, ArrivalProcess, BufferSpec, CableSpec, ChunksObserved, ClockSpec, CollectiveSpec,
    ColourSpec, ColouringSpec, CongestionKind, Custom, CustomLink, CustomSwitch, DcqcnConfig, DynamicEcnSpec,
    EcmpHash, EcnSpec, ExtraDelaySpec, FabricSpec, FailureSpec, ForwardingSpec, JobSpec, LeafSpine,
    LinkLayerSpec, LinkSpec, LoadBalancing, LossRecovery, MarkerSpec, NicDirection, NicSpec, ObserveSpec,
    OpenLoopSpec, PatternSpec, PfcSpec, PrioritySpec, QpMode, QpType, RateControlSpec, RatioSpec,
    ReleaseSpec, RepeatSpec, RunSpec, RunSummary, SCHEMA_VERSION, ScheduledSpec, SchedulingSpec,
    SharedMemorySpec, SingleSwitch, StorageLength, StorageSpec, SwitchSpec, TcpSpec, TopologySpec,
    TransportSpec, Work, WredCurveSpec, WredSpec, XoffSpec,
};

/// A link of 400 Gb/s.
pub(crate) fn link(length_m: u64) -> LinkSpec {
    LinkSpec { rate_bps: 400_000_000_000, cable: CableSpec { delay_ps: length_m * 5_000 } }
}

/// Two leaves of `hosts_per_leaf`, four spines.
pub(crate) fn leaf_spine(hosts_per_leaf: u32) -> TopologySpec {
    TopologySpec::LeafSpine(LeafSpine {
        leaves: 2,
        hosts_per_leaf,
        spines: 4,
        links_per_spine: 1,
        host_link: link(3),
        fabric_link: link(30),
    })
}

/// Hosts on one switch.
pub(crate) fn single_switch(hosts: u32) -> TopologySpec {
    TopologySpec::SingleSwitch(SingleSwitch { hosts, host_link: link(3) })
}

/// A ring of switches `s0`, `s1`, ... with hosts on each.
pub(crate) fn switch_ring(switches: u32, hosts: u32) -> TopologySpec {
    let name = |index: u32| format!("s{}", index % switches);
    TopologySpec::Custom(Custom {
        switches: (0..switches).map(|index| CustomSwitch { name: name(index), hosts }).collect(),
        links: (0..switches)
            .map(|index| CustomLink { between: [name(index), name(index + 1)], count: 1, link: link(30) })
            .collect(),
        host_link: link(3),
    })
}

/// Store-and-forward switches of 64 MiB without PFC, ECN or credits.
fn switches() -> SwitchSpec {
    SwitchSpec {
        forwarding: ForwardingSpec::StoreAndForward,
        pipeline_latency_ps: 500_000,
        buffer: BufferSpec {
            size_bytes: 64 << 20,
            cell_bytes: 1,
            lossy_alpha: None,
            release: ReleaseSpec::Start {},
            pipeline_ps: 0,
            pools: None,
        },
        scheduling: SchedulingSpec::Strict {},
        pfc: None,
        ecn: None,
        scheduled: None,
        markers: Vec::new(),
    }
}

/// A NIC at line rate.
fn nic() -> NicSpec {
    NicSpec {
        latency_ps: 400_000,
        drain_rate_bps: None,
        receive_buffer_bytes: 2 << 20,
        receive_xoff_bytes: 1 << 20,
        impairments: Vec::new(),
        messages: None,
        cnp_above_bytes: None,
        pause_response_ps: 0,
        pause_reaction_ps: None,
        packets_per_turn: None,
    }
}

/// What messages cost a NIC that is not ideal.
pub(crate) const fn message_costs() -> AdapterConfig {
    AdapterConfig {
        message_cost_ps: 300_000,
        message_interval_ps: 70_000,
        start_bytes: 20_000,
        start_rate_bps: 150_000_000_000,
    }
}

/// Clocks that differ as much as they may, and jitter.
pub(crate) const fn clocks() -> ClockSpec {
    ClockSpec { offset_ps_max: 2_000_000, drift_ppb_max: 100_000, jitter_ps_max: 100_000, hosts: Vec::new() }
}

/// Reliable connections at line rate, one for each chunk.
const fn transport() -> TransportSpec {
    TransportSpec {
        mtu_bytes: 4096,
        message_bytes: 128 << 10,
        connection: QpType::Rc,
        qp_mode: QpMode::PerChunk,
        qps_per_rank_pair: 1,
        ack_every: 2,
        window_packets: 1 << 23,
        recovery: LossRecovery::GoBackN,
        ooo_window_packets: 256,
        priorities: PrioritySpec { data: 3, ack: 6, cnp: 6 },
        dscp: None,
        timeout_ps: 67_108_864_000,
        retry_count: 7,
        rate_control: RateControlSpec::LINE_RATE,
    }
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
            switch_settings: Vec::new(),
            topology,
            load_balancing: LoadBalancing::Ecmp { hash: EcmpHash::Crc, include_qp: false },
            switch: switches(),
            nic: nic(),
            extra_delays: Vec::new(),
            shared_memory: SharedMemorySpec { rate_bps: 80_000_000_000, latency_ps: 300_000 },
            failures: Vec::new(),
            convergence_time_ps: 10_000_000,
            link_layer: LinkLayerSpec::Ethernet {},
            chips: Vec::new(),
            addresses: None,
            clocks: None,
            server: None,
        },
        transport: transport(),
        jobs: vec![JobSpec {
            name: "test".into(),
            gpus: Vec::new(),
            hosts: (0..ranks).collect(),
            stream: 0,
            start_ps: 0,
            dscp: None,
            priority: None,
            repeat: RepeatSpec::Rounds { rounds: 1 },
            work: work(collective, algorithm, data_bytes),
        }],
        tcp: Vec::new(),
        observe: observe(),
    }
}

/// A collective without software times.
pub(crate) fn work(collective: &str, algorithm: &str, data_bytes: u64) -> Work {
    Work::Collective(CollectiveSpec {
        pattern: PatternSpec {
            collective: collective.into(),
            algorithm: algorithm.into(),
            data_bytes,
            root: 0,
        },
        round_bytes: None,
        step_overhead_ps: 0,
        send_overhead_ps: 0,
        receive_overhead_ps: 0,
        rendezvous: None,
        copies_own_block: false,
        compute_ps: 0,
        warm_up_rounds: 0,
        root_shift: false,
        barrier: false,
        nccl: None,
    })
}

/// The collective of a job that has one.
pub(crate) fn collective_of(job: &mut JobSpec) -> &mut CollectiveSpec {
    match &mut job.work {
        Work::Collective(collective) => collective,
        other => panic!("{other:?} is no collective"),
    }
}

/// The pattern of a job that has one.
pub(crate) fn pattern_of(job: &mut JobSpec) -> &mut PatternSpec {
    match &mut job.work {
        Work::Collective(CollectiveSpec { pattern, .. }) | Work::OpenLoop(OpenLoopSpec { pattern, .. }) => {
            pattern
        }
        Work::Storage(_) => panic!("storage has no pattern"),
    }
}

/// Changes the collective of a job, with the same data.
pub(crate) fn set_pattern(job: &mut JobSpec, collective: &str, algorithm: &str) {
    let pattern = pattern_of(job);
    (pattern.collective, pattern.algorithm) = (collective.into(), algorithm.into());
}

/// Makes open-loop traffic of a job, whose messages have the size of its data.
pub(crate) fn offer(job: &mut JobSpec, process: ArrivalProcess, rate_bps: u64, duration_ps: u64) {
    let pattern = pattern_of(job).clone();
    job.work = Work::OpenLoop(OpenLoopSpec { pattern, process, rate_bps, duration_ps });
}

/// Storage whose clients write blocks, 4 KiB and less with the command.
pub(crate) const fn storage_work(clients: u32, depth: u32, operations: u64, block_bytes: u64) -> StorageSpec {
    StorageSpec {
        block_bytes,
        clients,
        depth,
        read_ppm: 0,
        length: StorageLength::Operations { operations },
        warm_up_ps: 0,
        in_capsule_bytes: 4 << 10,
        outstanding_reads: 16,
        service_rate_bps: None,
        service_time_ps: 0,
    }
}

/// Some of everything is sampled.
fn observe() -> ObserveSpec {
    ObserveSpec {
        series_points: 100,
        series_interval_ps: 1_000_000,
        series_ports: 64,
        series_qps: 16,
        path_rows: 1_000,
        chunks: ChunksObserved::All,
        chunk_rows: 100,
    }
}

/// PFC on the priority of data with a dynamic threshold.
pub(crate) fn dynamic_pfc() -> PfcSpec {
    PfcSpec {
        priorities: vec![3],
        xoff: XoffSpec::Dynamic { alpha: RatioSpec { numerator: 1, denominator: 4 } },
        xon_offset_bytes: 16_384,
        reserved_bytes: 9_000,
        headroom_bytes: None,
        quanta: 65_535,
        ends_by_time: false,
        response_ps: 0,
        reaction_ps: None,
        watchdog: None,
    }
}

/// When frames leave the buffer, and response times of PFC [ns].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Residence {
    release: ReleaseSpec,
    inside_ns: u64,
    responses_ns: [u64; 2],
    reactions_ns: [Option<u64>; 2],
    /// Pauses of so many quanta that no XON ends.
    quanta: Option<u16>,
}

impl Residence {
    /// Pauses are sent or obeyed later than at once.
    pub(crate) fn has_delays(self) -> bool {
        self.responses_ns != [0; 2] || self.reactions_ns != [None; 2]
    }
}

pub(crate) fn any_residence() -> impl Strategy<Value = Residence> {
    let release = prop_oneof![
        1 => Just(ReleaseSpec::Start {}),
        1 => Just(ReleaseSpec::End {}),
        4 => (1_u32..600).prop_map(|bytes| ReleaseSpec::Cells { bytes }),
    ];
    let inside_ns = prop_oneof![3 => Just(0), 1 => 1_u64..500];
    let response = || prop_oneof![2 => Just(0), 1 => 1_u64..3_000];
    let reaction = || prop::option::weighted(0.3, 500_u64..3_000);
    let quanta = prop::option::weighted(0.2, 100_u16..3_000);
    let delays = ([response(), response()], [reaction(), reaction()], quanta);
    (release, inside_ns, delays).prop_map(|(release, inside_ns, (responses_ns, reactions_ns, quanta))| {
        Residence { release, inside_ns, responses_ns, reactions_ns, quanta }
    })
}

/// Sets up when frames leave the buffer and how fast pauses are sent and obeyed.
pub(crate) fn reside(spec: &mut RunSpec, residence: Residence) {
    let Residence { release, inside_ns, responses_ns, reactions_ns, quanta } = residence;
    let cell_bytes = spec.fabric.switch.buffer.cell_bytes;
    let buffer = &mut spec.fabric.switch.buffer;
    buffer.release = match release {
        ReleaseSpec::Cells { .. } if cell_bytes > 1 => ReleaseSpec::Cells { bytes: cell_bytes as u32 },
        release => release,
    };
    buffer.pipeline_ps = inside_ns * 1_000;
    if let Some(pfc) = &mut spec.fabric.switch.pfc {
        pfc.response_ps = responses_ns[0] * 1_000;
        pfc.reaction_ps = reactions_ns[0].map(|ns| ns * 1_000);
        pfc.ends_by_time = quanta.is_some();
        pfc.quanta = quanta.unwrap_or(pfc.quanta);
    }
    spec.fabric.nic.pause_response_ps = responses_ns[1] * 1_000;
    spec.fabric.nic.pause_reaction_ps = reactions_ns[1].map(|ns| ns * 1_000);
}

/// Scheduled switches as a plan has them by default.
pub(crate) fn scheduled() -> ScheduledSpec {
    ScheduledSpec {
        credit_bytes: 4_096,
        credit_speedup_ppm: 1_030_000,
        cell_bytes: 256,
        cell_header_bytes: 16,
        control_cell_bytes: 16,
        fabric_speedup_ppm: 1_111_111,
        egress_buffer_bytes: None,
    }
}

/// ECN on the priority of data, the same for every port.
pub(crate) fn ecn(kmin_bytes: u64, kmax_bytes: u64) -> EcnSpec {
    EcnSpec {
        priorities: vec![3],
        kmin_bytes,
        kmax_bytes,
        pmax_ppm: 200_000,
        reference_rate_bps: None,
        dynamic: None,
        wred: None,
    }
}

/// What is done with frames of a colour.
pub(crate) fn curve(kmin_bytes: u64, kmax_bytes: u64, pmax_ppm: u32, ecn: bool) -> Option<WredCurveSpec> {
    Some(WredCurveSpec { kmin_bytes, kmax_bytes, pmax_ppm, ecn })
}

/// WRED in place of marking, of frames that are colored in every way where hosts feed the fabric.
pub(crate) fn colour(spec: &mut RunSpec) {
    let Some(ecn) = spec.fabric.switch.ecn.as_mut().filter(|ecn| ecn.dynamic.is_none()) else { return };
    let red = curve(5_000, 20_000, 500_000, false);
    let yellow = curve(10_000, 40_000, 300_000, false);
    ecn.wred = Some(WredSpec { green: curve(ecn.kmin_bytes, ecn.kmax_bytes, 200_000, true), yellow, red });
    let (cir_bps, cbs_bytes) = (60_000_000_000, 20_000);
    let two_rate = ColouringSpec::TwoRate { cir_bps, cbs_bytes, pir_bps: 150_000_000_000, pbs_bytes: 30_000 };
    let single_rate = ColouringSpec::SingleRate { cir_bps, cbs_bytes, ebs_bytes: 40_000 };
    let fixed = ColouringSpec::Fixed { colour: ColourSpec::Yellow };
    let marker = |hosts: Option<&[u32]>, colouring| MarkerSpec {
        hosts: hosts.map(<[u32]>::to_vec),
        priorities: None,
        colouring,
    };
    spec.fabric.switch.markers =
        vec![marker(Some(&[0, 1]), fixed), marker(Some(&[2, 3, 4]), two_rate), marker(None, single_rate)];
}

/// The same with thresholds that move, judged every so often.
pub(crate) fn dynamic_ecn(kmin_bytes: u64, kmax_bytes: u64, interval_us: u64) -> EcnSpec {
    let dynamic = DynamicEcnSpec {
        interval_ps: interval_us * 1_000_000,
        scale_min_ppm: 125_000,
        scale_max_ppm: 8_000_000,
        raise_ppm: 250_000,
        lower_ppm: 200_000,
        link_use_ppm: 950_000,
        queueing_delay_ps: 5_000_000,
        incast_degree: 4,
        confirm_intervals: 2,
    };
    EcnSpec { dynamic: Some(dynamic), ..ecn(kmin_bytes, kmax_bytes) }
}

/// Parameters of DCQCN from the paper, the increases scaled from its 40 Gb/s to 400.
pub(crate) const DCQCN: DcqcnConfig = DcqcnConfig {
    g_2e20: (1 << 20) / 256,
    initial_alpha_2e20: None,
    alpha_timer_ps: 55_000_000,
    rate_cut_period_ps: 50_000_000,
    increase_timer_ps: 55_000_000,
    byte_counter_bytes: 10 << 20,
    fast_recovery_rounds: 5,
    additive_increase_bps: 400_000_000,
    hyper_increase_bps: 4_000_000_000,
    rate_min_bps: 100_000_000,
    clamp_target_rate: true,
    cnp_interval_ps: 50_000_000,
};

/// DCQCN with the parameters of [`DCQCN`].
pub(crate) const fn dcqcn() -> RateControlSpec {
    RateControlSpec::Dcqcn(DCQCN)
}

/// Keeps everything a run hands out.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) chunks: Vec<ChunkRow>,
    pub(crate) chunk_steps: Vec<ChunkStepRow>,
    pub(crate) chunk_times: Vec<ChunkTimeRow>,
    pub(crate) channels: Vec<ChannelRow>,
    pub(crate) ports: Vec<PortRow>,
    pub(crate) links: Vec<LinkRow>,
    pub(crate) priorities: Vec<PriorityRow>,
    pub(crate) paths: Vec<PathRow>,
    pub(crate) reordering: Vec<ReorderingRow>,
    pub(crate) series: Vec<SeriesRow>,
    pub(crate) connections: Vec<record::ConnectionRow>,
    pub(crate) events: Vec<record::EventRow>,
    pub(crate) told: Told,
}

/// What was told while the run went on, however samples were joined.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    until_ps: u64,
    delivered_bytes: u64,
    queue_max_bytes: u64,
    marked_frames: u64,
    paused_ps: u64,
}

impl Told {
    fn add(&mut self, sample: &Sample) {
        self.until_ps += sample.span.0;
        assert_eq!(self.until_ps, sample.at.0);
        self.delivered_bytes += sample.delivered_bytes;
        if let Some(ports) = sample.ports {
            self.queue_max_bytes = self.queue_max_bytes.max(ports.queue_max_bytes);
            self.marked_frames += ports.marked_frames;
            self.paused_ps += ports.paused.0;
        }
    }
}

impl Observer<Progress> for Recorder {
    fn batch(&mut self, batch: Batch) -> Result<(), Stopped> {
        match batch {
            Batch::Chunks(rows) => self.chunks.extend(rows),
            Batch::ChunkSteps(rows) => self.chunk_steps.extend(rows),
            Batch::ChunkTimes(rows) => self.chunk_times.extend(rows),
            Batch::Channels(rows) => self.channels.extend(rows),
            Batch::Ports(rows) => self.ports.extend(rows),
            Batch::Priorities(rows) => self.priorities.extend(rows),
            Batch::Links(rows) => self.links.extend(rows),
            Batch::Paths(rows) => self.paths.extend(rows),
            Batch::Reordering(rows) => self.reordering.extend(rows),
            Batch::Series(rows) => self.series.extend(rows),
            Batch::Connections(rows) => self.connections.extend(rows),
            Batch::Events(rows) => self.events.extend(rows),
            Batch::Counters(rows) => panic!("a simulated run has no hosts that count: {rows:?}"),
        }
        Ok(())
    }

    fn progress(&mut self, progress: Progress) -> Result<(), Stopped> {
        progress.samples.iter().for_each(|sample| self.told.add(sample));
        Ok(())
    }
}

/// Counts rows and keeps none.
#[derive(Default)]
pub(crate) struct Counter {
    pub(crate) rows: usize,
}

impl Observer<Progress> for Counter {
    fn batch(&mut self, batch: Batch) -> Result<(), Stopped> {
        self.rows += match batch {
            Batch::Chunks(rows) => rows.len(),
            Batch::ChunkSteps(rows) => rows.len(),
            Batch::ChunkTimes(rows) => rows.len(),
            Batch::Channels(rows) => rows.len(),
            Batch::Ports(rows) => rows.len(),
            Batch::Priorities(rows) => rows.len(),
            Batch::Links(rows) => rows.len(),
            Batch::Paths(rows) => rows.len(),
            Batch::Reordering(rows) => rows.len(),
            Batch::Series(rows) => rows.len(),
            Batch::Connections(rows) => rows.len(),
            Batch::Events(rows) => rows.len(),
            Batch::Counters(rows) => rows.len(),
        };
        Ok(())
    }

    fn progress(&mut self, _: Progress) -> Result<(), Stopped> {
        Ok(())
    }
}

/// Runs `spec` to the end.
pub(crate) fn run_with(spec: &RunSpec, threads: usize, path: Path) -> (RunSummary, Recorder) {
    let mut recorder = Recorder::default();
    let summary = fabricbench_sim::run(spec, Options { threads, path, fast_forward: true }, &mut recorder)
        .expect("the spec can be carried out");
    (summary, recorder)
}

/// Runs `spec` packet by packet on one thread.
pub(crate) fn run_in_full(spec: &RunSpec) -> (RunSummary, Recorder) {
    let mut recorder = Recorder::default();
    let options = Options { fast_forward: false, ..Options::default() };
    let summary = fabricbench_sim::run(spec, options, &mut recorder).expect("the spec can be carried out");
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
        "{:#?}\n{:#?}\n{:#?}\n{:#?}\n{:#?}\n{:#?}\n{:#?}\n{:#?}\n{:#?}\n{:#?}",
        recorder.chunks,
        recorder.channels,
        recorder.ports,
        recorder.priorities,
        recorder.links,
        recorder.paths,
        recorder.reordering,
        recorder.series,
        recorder.connections,
        recorder.events
    )
}

/// Puts a delay line into one of the cables of `spec`.
pub(crate) fn delay(spec: &mut RunSpec, place: usize, delay_ps: u64) {
    let Description { links, .. } = fabricbench_sim::describe(spec).expect("the spec is right");
    let cable = &links[place % links.len()];
    let link = format!("{}-{}:0", cable.from, cable.to);
    spec.fabric.extra_delays.push(ExtraDelaySpec { link, delay_ps });
}

/// TCP traffic between those hosts, in priority 0.
pub(crate) fn tcp(hosts: impl Into<Vec<u32>>, collective: &str, rate_gbps: Option<u64>) -> TcpSpec {
    TcpSpec {
        name: "tcp".into(),
        hosts: hosts.into(),
        collective: collective.into(),
        algorithm: "parallel".into(),
        root: 0,
        stream: 100,
        connections: 1,
        rate_bps: rate_gbps.map(|gbps| gbps * 1_000_000_000),
        outstanding_writes: None,
        write_bytes: 128 << 10,
        start_ps: 0,
        start_spread_ps: 10_000_000,
        duration_ps: Some(2_000_000_000),
        priority: 0,
        dscp: None,
        mtu_bytes: 1500,
        congestion: CongestionKind::Cubic,
        initial_window_segments: 10,
        window_bytes: 2_000_000,
        ack_every: 2,
        delayed_ack_ps: 500_000_000,
        rto_initial_ps: 1_000_000_000,
        rto_min_ps: 1_000_000_000,
        rto_max_ps: 60_000_000_000,
    }
}

/// What fails in a drawn run: numbers that choose kind, place and time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FailureDraw {
    pub(crate) kind: u8,
    pub(crate) place: usize,
    pub(crate) at_ps: u64,
    pub(crate) lasts_ps: u64,
    pub(crate) convergence_ps: u64,
}

/// Has something of the fabric of `spec` fail as drawn, and be repaired if the draw says so.
pub(crate) fn fail(spec: &mut RunSpec, draw: FailureDraw) {
    let Description { nodes, links, .. } = fabricbench_sim::describe(spec).expect("the spec is right");
    let cable = &links[draw.place % links.len()];
    let link = format!("{}-{}", cable.from, cable.to);
    let switches: Vec<_> = nodes.iter().filter(|node| node.kind == "switch").collect();
    let switch = switches[draw.place % switches.len()].name.clone();
    let (at_ps, later) = (draw.at_ps, draw.at_ps + draw.lasts_ps);
    let may_slow = spec.fabric.switch.forwarding == ForwardingSpec::StoreAndForward;
    // The name means all cables between the two, which may differ.
    let ends = |link: &fabricbench_sim::LinkDescription| {
        let (from, to) = (link.from.clone(), link.to.clone());
        if from < to { (from, to) } else { (to, from) }
    };
    let parallel = links.iter().filter(|link| ends(link) == ends(cable));
    let full_bps = parallel.map(|link| link.rate_bps).min().unwrap_or(cable.rate_bps);
    let rate = |at_ps, rate_bps| FailureSpec::LinkRate { at_ps, link: link.clone(), rate_bps };
    spec.fabric.failures = match draw.kind % 7 {
        0 if may_slow => vec![rate(at_ps, full_bps / 3), rate(later, full_bps)],
        1 => vec![
            FailureSpec::SwitchDown { at_ps, switch: switch.clone() },
            FailureSpec::SwitchUp { at_ps: later, switch },
        ],
        2 => vec![FailureSpec::LinkDown { at_ps, link }],
        3 => vec![
            FailureSpec::BitErrors {
                at_ps,
                link: link.clone(),
                errors_1e18: 100_000_000_000 << (draw.kind >> 5),
            },
            FailureSpec::BitErrors { at_ps: later, link, errors_1e18: 0 },
        ],
        5 => {
            let host = (draw.place % nodes.iter().filter(|node| node.kind == "host").count()) as u32;
            let throughput = |at_ps, throughput_ppm| FailureSpec::NicThroughput {
                at_ps,
                host,
                throughput_ppm,
                direction: NicDirection::Both,
            };
            vec![throughput(at_ps, 100_000 + 3_000 * u32::from(draw.kind)), throughput(later, 1_000_000)]
        }
        4 => vec![FailureSpec::FrameLoss { at_ps, link, lost_ppm: 1 << (draw.kind >> 4) }],
        _ => vec![
            FailureSpec::LinkDown { at_ps, link: link.clone() },
            FailureSpec::LinkUp { at_ps: later, link },
        ],
    };
    spec.fabric.convergence_time_ps = draw.convergence_ps;
}

prop_compose! {
    /// Any failure in the first microseconds of a run.
    pub(crate) fn any_failure(within_us: u64)(
        kind: u8,
        place: usize,
        at_ps in 0..within_us * 1_000_000,
        lasts_ps in 1..2 * within_us * 1_000_000,
        convergence_ps in prop_oneof![Just(0_u64), 1..within_us * 1_000_000],
    ) -> FailureDraw {
        FailureDraw { kind, place, at_ps, lasts_ps, convergence_ps }
    }
}

/// The most ranks up to `ranks` that a pattern takes.
pub(crate) fn supported(pattern: (&str, &str), ranks: u32) -> u32 {
    match pattern {
        (_, "halving-doubling" | "rabenseifner") => 1 << ranks.ilog2(),
        ("ping-pong" | "send-receive", _) | (_, "neighbour-exchange") => ranks & !1,
        _ => ranks,
    }
}

/// Two leaves of four hosts and one spine, with fabric links of a quarter of the rate.
pub(crate) fn slow_spine() -> TopologySpec {
    let slow = LinkSpec { rate_bps: 100_000_000_000, cable: CableSpec { delay_ps: 150_000 } };
    TopologySpec::LeafSpine(LeafSpine {
        leaves: 2,
        hosts_per_leaf: 4,
        spines: 1,
        links_per_spine: 1,
        host_link: link(3),
        fabric_link: slow,
    })
}
