//! One seed gives one result: on the fast path and the exact path, on one thread and several.

use crate::common::{
    self, collective, collective_of, leaf_spine, pattern_of, run, run_with, set_pattern, single_switch,
    supported, switch_ring, tables,
};
use fabricbench_sim::Path;
use proptest::prelude::*;
use spec::{
    ArrivalProcess, ChunksObserved, CollectiveSpec, CongestionKind, Custom, CustomLink, CustomSwitch,
    EcmpHash, FatTree, ForwardingSpec, ImpairmentSpec, JobSpec, LinkSpec, LoadBalancing, LossRecovery,
    MultiPlane, NicDirection, QpMode, RailOptimised, RailPods, RatioSpec, RendezvousSpec, RepeatSpec,
    RunSpec, RunStatus, SchedulingSpec, StormActionSpec, TopologySpec, WatchdogSpec,
};

fn fat_tree() -> TopologySpec {
    TopologySpec::FatTree(FatTree {
        pods: 2,
        leaves_per_pod: 2,
        hosts_per_leaf: 3,
        aggs_per_pod: 2,
        cores_per_agg: 2,
        host_link: common::link(3),
        fabric_link: common::link(30),
        core_link: common::link(300),
    })
}

fn rails() -> TopologySpec {
    TopologySpec::RailOptimised(RailOptimised {
        servers: 3,
        rails: 4,
        spines: 2,
        links_per_spine: 2,
        host_link: common::link(3),
        fabric_link: common::link(50),
        scale_up_link: Some(common::link(1)),
    })
}

/// Two pods of rails, with a core of their own for each spine.
fn rail_pods() -> TopologySpec {
    TopologySpec::RailPods(RailPods {
        pods: 2,
        servers_per_pod: 2,
        rails: 3,
        spines_per_rail: 2,
        links_per_spine: 1,
        cores_per_spine: 1,
        links_per_core: 2,
        host_link: common::link(3),
        fabric_link: common::link(50),
        core_link: common::link(300),
        scale_up_link: Some(common::link(1)),
    })
}

/// Three fabrics of two leaves, one for each port of a host.
fn planes() -> TopologySpec {
    TopologySpec::MultiPlane(MultiPlane {
        planes: 3,
        leaves: 2,
        hosts_per_leaf: 6,
        spines: 2,
        links_per_spine: 1,
        host_link: common::link(3),
        fabric_link: common::link(50),
    })
}

/// Three switches in a row: the middle one has faster ports and slower ones, and two links to one side.
fn mixed_rates() -> TopologySpec {
    let switch = |name: &str| CustomSwitch { name: name.into(), hosts: 4 };
    let link = |a: &str, b: &str, count, gbps: u64| CustomLink {
        between: [a.into(), b.into()],
        count,
        link: LinkSpec { rate_bps: gbps * 1_000_000_000, ..common::link(30) },
    };
    TopologySpec::Custom(Custom {
        switches: ["a", "b", "c"].map(switch).to_vec(),
        links: vec![link("a", "b", 1, 800), link("b", "c", 2, 100)],
        host_link: common::link(3),
    })
}

fn topologies() -> Vec<TopologySpec> {
    vec![
        leaf_spine(6),
        single_switch(12),
        fat_tree(),
        rails(),
        switch_ring(6, 2),
        mixed_rates(),
        rail_pods(),
        planes(),
    ]
}

fn balancings() -> Vec<LoadBalancing> {
    vec![
        LoadBalancing::Ecmp { hash: EcmpHash::Crc, include_qp: false },
        LoadBalancing::Ecmp { hash: EcmpHash::Toeplitz, include_qp: true },
        LoadBalancing::Flowlet { gap_ps: 1_000_000 },
        LoadBalancing::SprayRandom {},
        LoadBalancing::SprayRoundRobin {},
        LoadBalancing::Adaptive {},
        LoadBalancing::Weighted { weights: vec![3, 1] },
    ]
}

/// Makes open-loop traffic of a job: about 20 messages of each rank, so many that long ones take long.
fn offer(job: &mut JobSpec, load_percent: u64, seed: u64) {
    let rate_bps = 4_000_000_000 * load_percent;
    let process = if seed & 1 == 0 { ArrivalProcess::Poisson } else { ArrivalProcess::Constant };
    let duration_ps = 20 * pattern_of(job).data_bytes * 8_000_000 / (rate_bps / 1_000_000);
    common::offer(job, process, rate_bps, duration_ps);
    job.repeat = RepeatSpec::Rounds { rounds: 1 };
    // Nothing is received in turn.
    pattern_of(job).algorithm = "parallel".into();
}

/// Rounds as a benchmark makes them: some to warm up, other roots, barriers in between.
fn vary_rounds(job: &mut JobSpec, warm_up_rounds: u32, root_shift: bool, barrier: bool) {
    let work = collective_of(job);
    let is_rooted =
        matches!(&*work.pattern.collective, "gather" | "scatter" | "broadcast" | "reduce" | "incast");
    (work.warm_up_rounds, work.root_shift, work.barrier) = (warm_up_rounds, root_shift && is_rooted, barrier);
}

/// Makes an MPI program of a job: a handshake for large messages, and a copy of the own block where ranks
/// have one.
fn add_handshake(spec: &mut RunSpec, threshold_bytes: u64, control_bytes: u64) {
    let work = collective_of(&mut spec.jobs[0]);
    work.copies_own_block = matches!(&*work.pattern.collective, "all-to-all" | "all-gather");
    if spec.transport.qp_mode == QpMode::PerPair {
        let control_bytes = control_bytes.min(4_096);
        work.rendezvous = Some(RendezvousSpec { threshold_bytes, control_bytes });
    }
}

/// A job on the other hosts that goes on until this one has ended.
fn neighbour_of(job: &JobSpec, collective: &str, algorithm: &str, hosts: &[u32]) -> JobSpec {
    let mut neighbour = JobSpec {
        name: "neighbour".into(),
        stream: 1,
        hosts: hosts.to_vec(),
        start_ps: 3_000_000,
        repeat: RepeatSpec::UntilOthersEnd {},
        work: common::work(collective, algorithm, 40_961 * hosts.len() as u64),
        ..job.clone()
    };
    if let Some(like) = job.work.collective() {
        let plain = collective_of(&mut neighbour);
        let pattern = plain.pattern.clone();
        let root_shift = like.root_shift && collective == like.pattern.collective;
        *plain = CollectiveSpec {
            pattern,
            root_shift,
            copies_own_block: false,
            warm_up_rounds: 0,
            ..like.clone()
        };
    }
    neighbour
}

/// Scheduled switches in place of Ethernet ones, without what does not go with them.
fn schedule(spec: &mut RunSpec) {
    spec.fabric.extra_delays.clear();
    let switch = &mut spec.fabric.switch;
    switch.scheduled = Some(common::scheduled());
    switch.forwarding = ForwardingSpec::StoreAndForward;
    switch.ecn = None;
    switch.markers.clear();
    if let Some(pfc) = &mut switch.pfc {
        pfc.watchdog = None;
        pfc.reaction_ps = None;
    }
}

type TcpDraw = (&'static str, CongestionKind, Option<u64>, Option<u64>);

fn any_tcp() -> impl Strategy<Value = TcpDraw> {
    let collectives = prop::sample::select(vec!["permutation", "incast", "all-to-all"]);
    let kinds =
        prop::sample::select(vec![CongestionKind::NewReno, CongestionKind::Cubic, CongestionKind::Dctcp]);
    (collectives, kinds, prop::option::of(1_u64..60), prop::option::of(10_u64..300))
}

/// TCP between hosts of which some have ranks of jobs as well.
fn add_tcp(
    spec: &mut RunSpec,
    hosts: &[u32],
    collective: &str,
    congestion: CongestionKind,
    rate_gbps: Option<u64>,
    duration_us: Option<u64>,
) {
    let mut tcp = common::tcp(&hosts[6..], collective, rate_gbps);
    tcp.duration_ps = duration_us.map(|us| us * 1_000_000);
    (tcp.write_bytes, tcp.start_ps) = (20_000, 2_000_000);
    (tcp.rto_min_ps, tcp.delayed_ack_ps) = (60_000_000, 20_000_000);
    if let Some(ecn) = spec.fabric.switch.ecn.as_mut().filter(|_| congestion == CongestionKind::Dctcp) {
        ecn.priorities.push(tcp.priority);
        tcp.congestion = congestion;
    } else if congestion == CongestionKind::NewReno {
        tcp.congestion = congestion;
    }
    spec.tcp.push(tcp);
}

prop_compose! {
    fn any_spec()(
        topology in prop::sample::select(topologies()),
        pattern in prop::sample::select(fabricbench_sim::patterns()),
        ranks in 2_u32..=12,
        share_bytes in prop_oneof![4 => 40_u64..300_000, 1 => 1_u64..40],
        buffer_kib in prop_oneof![Just(1 << 20), 16_u64..4_000],
        ack_every in 1_u32..5,
        qps in 1_u32..3,
        seed: u64,
        congestion in (0_u8..16),
        balancing in prop::sample::select(balancings()),
        recovery in prop::sample::select(vec![LossRecovery::GoBackN, LossRecovery::Selective, LossRecovery::None]),
        ooo_window_packets in 1_u32..300,
        per_pair: bool,
        hosts in Just((0..12).collect::<Vec<u32>>()).prop_shuffle(),
        cut_through: bool,
        watchdog in prop::option::of(prop::sample::select(vec![StormActionSpec::Drop, StormActionSpec::Forward])),
        ecn_interval_us in prop::option::of(1_u64..40),
        rounds in prop_oneof![4 => Just(1_u32), 1 => 2_u32..5],
        load_percent in prop::option::weighted(0.6, 1_u64..120),
        neighbour in prop::option::weighted(0.4, prop::sample::select(fabricbench_sim::patterns())),
        failure in prop::option::weighted(0.5, common::any_failure(100)),
        delay in prop::option::weighted(0.3, (any::<usize>(), 1_u64..20_000_000)),
        is_scheduled: bool,
        tcp in prop::option::weighted(0.4, any_tcp()),
        processes in prop_oneof![3 => Just(1_u32), 1 => 2_u32..4],
        overheads_ns in prop::option::weighted(0.3, (0_u64..3_000, 0_u64..3_000)),
        handshake in prop::option::weighted(0.3, (0_u64..200_000, 1_u64..5_000)),
        benchmark in prop::option::weighted(0.4, (0_u32..3, any::<bool>(), any::<bool>())),
        residence in common::any_residence(),
    ) -> RunSpec {
        let (name, algorithm) = pattern;
        let ranks = supported(pattern, ranks);
        // Parts of all-reduce are uneven, and of the smallest sizes empty.
        let shares = if share_bytes < 40 { fabricbench_sim::shares(name, ranks) } else { ranks.into() };
        let mut spec = collective(topology, ranks, name, algorithm, share_bytes * shares);
        let (ranks_per_host, used) = (processes.min(ranks), ranks.div_ceil(processes));
        spec.seed = seed;
        spec.fabric.switch.buffer.size_bytes = buffer_kib << 10;
        spec.transport.ack_every = ack_every;
        spec.transport.qps_per_rank_pair = qps;
        spec.transport.timeout_ps = 50_000_000;
        spec.transport.recovery = recovery;
        spec.transport.ooo_window_packets = ooo_window_packets;
        if per_pair {
            spec.transport.qp_mode = QpMode::PerPair;
        }
        spec.jobs[0].hosts = (0..ranks).map(|rank| hosts[(rank / ranks_per_host) as usize]).collect();
        spec.jobs[0].repeat = RepeatSpec::Rounds { rounds };
        if let Some((send_ns, receive_ns)) = overheads_ns {
            collective_of(&mut spec.jobs[0]).send_overhead_ps = send_ns * 1_000;
            collective_of(&mut spec.jobs[0]).receive_overhead_ps = receive_ns * 1_000;
        }
        if let Some((threshold_bytes, control_bytes)) = handshake {
            add_handshake(&mut spec, threshold_bytes, control_bytes);
        }
        if let Some((warm_up_rounds, root_shift, barrier)) = benchmark {
            vary_rounds(&mut spec.jobs[0], warm_up_rounds, root_shift, barrier);
        }
        if let Some(percent) = load_percent && matches!(name, "incast" | "permutation" | "uniform-random") {
            offer(&mut spec.jobs[0], percent, seed);
        }
        // On other hosts, on some of the same, or on the same.
        let first = [used, used / 2, 0][(seed % 3) as usize];
        if let Some(pattern) = neighbour && first <= 10 {
            let others = &hosts[first as usize..][..supported(pattern, 12 - first) as usize];
            spec.jobs.push(neighbour_of(&spec.jobs[0], pattern.0, pattern.1, others));
        }
        if seed % 5 == 0 {
            let stream = spec.jobs.len() as u32;
            spec.jobs.push(JobSpec { name: "twin".into(), stream, ..spec.jobs[0].clone() });
        }
        spec.fabric.load_balancing = balancing;
        // A lossless fabric needs room for its headrooms.
        spec.fabric.switch.pfc = (congestion & 1 != 0 && buffer_kib > 1_500).then(common::dynamic_pfc);
        if let (Some(pfc), Some(action)) = (&mut spec.fabric.switch.pfc, watchdog) {
            pfc.watchdog = Some(WatchdogSpec { detection_ps: 20_000_000, restoration_ps: 30_000_000, action });
        }
        if cut_through {
            spec.fabric.switch.forwarding = ForwardingSpec::CutThrough;
        }
        common::reside(&mut spec, residence);
        // The headroom for long response times need not fit into so small a buffer.
        if let Some(pfc) = spec.fabric.switch.pfc.as_mut().filter(|_| residence.has_delays()) {
            pfc.headroom_bytes = Some(30_000);
        }
        spec.fabric.switch.ecn = (congestion & 2 != 0).then(|| match ecn_interval_us {
            Some(interval_us) => common::dynamic_ecn(20_000, 80_000, interval_us),
            None => common::ecn(20_000, 80_000),
        });
        if seed % 3 == 1 {
            common::colour(&mut spec);
        }
        if congestion & 2 != 0 {
            spec.transport.rate_control = common::dcqcn();
        }
        if congestion & 4 != 0 {
            spec.fabric.switch.scheduling = SchedulingSpec::Dwrr { quantum_bytes: [4_500; 8] };
        }
        if congestion & 8 != 0 {
            let directions = [NicDirection::Both, NicDirection::Send, NicDirection::Receive];
            let direction = directions[(seed % 3) as usize];
            spec.fabric.nic.impairments = vec![ImpairmentSpec { host: hosts[1], throughput_ppm: 400_000, direction }];
            spec.fabric.switch.buffer.lossy_alpha = Some(RatioSpec { numerator: 1, denominator: 1 });
        }
        if seed % 3 == 0 && spec.transport.recovery != LossRecovery::Selective {
            spec.fabric.nic.messages = Some(common::message_costs());
        }
        if seed % 4 == 1 && !cut_through {
            spec.fabric.clocks = Some(common::clocks());
        }
        if let Some((place, delay_ps)) = delay {
            common::delay(&mut spec, place, delay_ps);
            // The headroom for so long a cable need not fit into so small a buffer.
            if let Some(pfc) = &mut spec.fabric.switch.pfc {
                pfc.headroom_bytes = Some(30_000);
            }
        }
        let is_one_fabric = matches!(spec.fabric.topology, TopologySpec::LeafSpine(_) | TopologySpec::SingleSwitch(_));
        if is_scheduled && is_one_fabric {
            schedule(&mut spec);
        } else if let Some(draw) = failure {
            common::fail(&mut spec, draw);
        }
        if let Some((collective, congestion, rate_gbps, duration_us)) = tcp
            && spec.fabric.switch.scheduled.is_none()
        {
            add_tcp(&mut spec, &hosts, collective, congestion, rate_gbps, duration_us);
        }
        spec
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    // Conservation of frames is checked inside every run.
    #[test]
    fn paths_and_threads_agree_on_every_table(
        spec in any_spec(),
        threads in prop::sample::select(vec![3, 6, 8, 12]),
    ) {
        let (summary, recorder) = run(&spec);
        let expected = tables(&recorder);
        for (threads, path) in [(1, Path::Exact), (2, Path::Auto), (threads, Path::Exact)] {
            let (other_summary, other) = run_with(&spec, threads, path);
            prop_assert_eq!(&summary.jobs, &other_summary.jobs);
            prop_assert_eq!(summary.packet_hops, other_summary.packet_hops);
            prop_assert!(tables(&other) == expected, "tables differ with {} threads, {:?}", threads, path);
            prop_assert_eq!(&recorder.told, &other.told);
        }
        for (index, (job, outcome)) in (0..).zip(spec.jobs.iter().zip(&summary.jobs)) {
            let rows = recorder.chunks.iter().filter(|chunk| chunk.job == index).count() as u64;
            let has_all_rows = job.rounds_planned() == Some(1) || outcome.status == RunStatus::Complete;
            prop_assert!(rows == outcome.chunks || !has_all_rows, "job {}: {} rows", index, rows);
        }
        for chunk in recorder.chunks.iter().filter(|chunk| chunk.completed_ps.is_some()) {
            prop_assert!(chunk.start_ps < chunk.delivered_ps && chunk.start_ps < chunk.completed_ps);
            // Without recovery the last packet acknowledges those that are late.
            let is_ordered = spec.transport.recovery != LossRecovery::None;
            prop_assert!(!is_ordered || chunk.delivered_ps < chunk.completed_ps || chunk.src_host == chunk.dst_host);
        }
    }
}

/// What tables `chunk_steps` and `chunk_times` say, in any order: counts by job, round, step and times.
fn counted(recorder: &common::Recorder) -> (Vec<Vec<u64>>, Vec<String>) {
    let steps = recorder.chunk_steps.iter().map(|row| {
        let key = [row.job, row.round, row.step].map(u64::from);
        let times =
            [row.start_ps, row.delivered_ps, row.completed_ps, row.latency_min_ps, row.latency_max_ps];
        let sums = [
            (row.chunks, row.complete, row.failed),
            (row.tx_frames, row.rx_frames, row.retransmits),
            (row.out_of_order, row.ecn_ce_rx, row.cnp_tx),
            (row.naks, row.timeouts, row.cnp_rx),
            (row.payload_bytes, row.tx_bytes, row.rx_bytes),
        ];
        let times = times.map(|time| time.unwrap_or(u64::MAX));
        key.into_iter().chain(times).chain(sums.into_iter().flat_map(|(a, b, c)| [a, b, c])).collect()
    });
    (steps.collect(), recorder.chunk_times.iter().map(|row| format!("{row:?}")).collect())
}

/// The sums of the rows of all chunks, by job, round and step.
fn summed(recorder: &common::Recorder) -> Vec<Vec<u64>> {
    let mut steps: std::collections::BTreeMap<[u64; 3], Vec<&record::ChunkRow>> = Default::default();
    for row in &recorder.chunks {
        steps.entry([row.job, row.round, row.step].map(u64::from)).or_default().push(row);
    }
    let sum = |rows: &[&record::ChunkRow], value: fn(&record::ChunkRow) -> u64| -> u64 {
        rows.iter().map(|row| value(row)).sum()
    };
    let of_steps = steps.into_iter().map(|(key, rows)| {
        let least =
            |value: fn(&record::ChunkRow) -> Option<u64>| rows.iter().filter_map(|row| value(row)).min();
        let most =
            |value: fn(&record::ChunkRow) -> Option<u64>| rows.iter().filter_map(|row| value(row)).max();
        let times = [
            least(|row| row.start_ps),
            most(|row| row.delivered_ps),
            most(|row| row.completed_ps),
            least(|row| row.latency_min_ps),
            most(|row| row.latency_max_ps),
        ];
        let sums = [
            rows.len() as u64,
            sum(&rows, |row| u64::from(row.status == record::ChunkStatus::Complete)),
            sum(&rows, |row| u64::from(row.status == record::ChunkStatus::Failed)),
            sum(&rows, |row| row.tx_frames),
            sum(&rows, |row| row.rx_frames),
            sum(&rows, |row| row.retransmits),
            sum(&rows, |row| row.out_of_order),
            sum(&rows, |row| row.ecn_ce_rx),
            sum(&rows, |row| row.cnp_tx),
            sum(&rows, |row| row.naks),
            sum(&rows, |row| row.timeouts),
            sum(&rows, |row| row.cnp_rx),
            sum(&rows, |row| row.payload_bytes),
            sum(&rows, |row| row.tx_bytes),
            sum(&rows, |row| row.rx_bytes),
        ];
        let times = times.map(|time| time.unwrap_or(u64::MAX));
        key.into_iter().chain(times).chain(sums).collect()
    });
    of_steps.collect()
}

/// Completion time, payload and round of each complete chunk.
fn times_of_rows(recorder: &common::Recorder) -> Vec<(u32, u32, u64, u64)> {
    let time = |row: &record::ChunkRow| Some(row.completed_ps? - row.start_ps?);
    let complete =
        recorder.chunks.iter().filter_map(|row| Some((row.job, row.round, row.payload_bytes, time(row)?)));
    let mut times: Vec<_> = complete.collect();
    times.sort_unstable();
    times
}

fn times_counted(recorder: &common::Recorder) -> Vec<(u32, u32, u64, u64)> {
    let alike = recorder.chunk_times.iter().filter_map(|row| {
        Some(std::iter::repeat_n((row.job, row.round, row.payload_bytes, row.fct_ps?), row.chunks as usize))
    });
    let mut times: Vec<_> = alike.flatten().collect();
    times.sort_unstable();
    times
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_counted_of_chunks_is_what_their_rows_say(spec in any_spec()) {
        let (all_summary, all) = run(&spec);
        prop_assert!(all.chunk_steps.is_empty() && all.chunk_times.is_empty());
        let mut sampled = spec.clone();
        (sampled.observe.chunks, sampled.observe.chunk_rows) = (ChunksObserved::Sample, 7);
        let mut none = spec;
        none.observe.chunks = ChunksObserved::Summary;
        let (summary, one) = run(&none);
        prop_assert_eq!(&summary.jobs, &all_summary.jobs);
        prop_assert!(one.chunks.is_empty());
        prop_assert_eq!(counted(&one).0, summed(&all));
        prop_assert_eq!(times_counted(&one), times_of_rows(&all));
        let (_, some) = run(&sampled);
        let texts = |rows: &[record::ChunkRow]| rows.iter().map(|row| format!("{row:?}")).collect::<Vec<_>>();
        let everyone: std::collections::BTreeSet<_> = texts(&all.chunks).into_iter().collect();
        prop_assert!(texts(&some.chunks).iter().all(|row| everyone.contains(row)));
        for other in [&some, &run_with(&sampled, 2, Path::Auto).1, &common::run_in_full(&sampled).1] {
            prop_assert!(counted(other) == counted(&one));
            prop_assert_eq!(texts(&other.chunks), texts(&some.chunks));
        }
    }
}

/// The exact path makes all queue pairs at once.
#[test]
fn queue_pairs_that_are_made_when_needed_answer_what_comes_late() {
    let mut late_frames = 0;
    for (algorithm, qps, buffer_kib) in [("ring", 1, 2_000), ("ring-bidirectional", 1, 600), ("ring", 2, 600)]
    {
        let mut spec = collective(leaf_spine(8), 16, "all-reduce", algorithm, 6 << 20);
        // Each rank sends to the other leaf, and waits less than an acknowledgement may take.
        spec.jobs[0].hosts = (0..16).map(|rank| rank / 2 + rank % 2 * 8).collect();
        spec.fabric.switch.buffer.size_bytes = buffer_kib << 10;
        spec.fabric.switch.ecn = Some(common::ecn(20_000, 80_000));
        spec.transport.rate_control = common::dcqcn();
        spec.transport.qps_per_rank_pair = qps;
        spec.transport.timeout_ps = 12_000_000;
        let (expected, at_once) = run_with(&spec, 1, Path::Exact);
        late_frames += expected.jobs[0].late.frames;
        for threads in [1, 2] {
            let (summary, when_needed) = run_with(&spec, threads, Path::Auto);
            assert_eq!(summary.jobs, expected.jobs);
            assert!(
                tables(&when_needed) == tables(&at_once),
                "tables differ: {algorithm}, {threads} threads"
            );
        }
    }
    assert!(late_frames > 1_000, "{late_frames} frames came late");
}

/// Queue pairs of all hosts fail at the same picosecond, handshakes of some among them.
#[test]
fn events_at_the_same_time_have_one_order_on_any_number_of_threads() {
    for is_announced in [false, true] {
        let mut spec = collective(rails(), 12, "all-to-all", "parallel", 12 * 600);
        spec.fabric.switch.pipeline_latency_ps = 3_000_000;
        spec.transport.qp_mode = if is_announced { QpMode::PerPair } else { QpMode::PerChunk };
        (spec.transport.timeout_ps, spec.transport.retry_count) = (2_000_000, 0);
        if is_announced {
            collective_of(&mut spec.jobs[0]).rendezvous =
                Some(RendezvousSpec { threshold_bytes: 1, control_bytes: 64 });
        }
        let (summary, recorder) = run(&spec);
        let times: Vec<u64> = recorder.events.iter().map(|event| event.time_ps).collect();
        assert!(times.windows(2).any(|two| two[0] == two[1]), "{times:?}");
        for threads in 2..13 {
            let (other_summary, other) = run_with(&spec, threads, Path::Auto);
            assert_eq!(summary.jobs, other_summary.jobs, "{threads} threads");
            assert!(tables(&recorder) == tables(&other), "tables differ with {threads} threads");
        }
    }
}

#[test]
fn the_seed_decides_and_nothing_else() {
    let mut spec = collective(leaf_spine(4), 8, "all-to-all", "parallel", 8 << 20);
    let first = tables(&run(&spec).1);
    assert_eq!(first, tables(&run(&spec).1));
    spec.seed = 2;
    assert_ne!(first, tables(&run(&spec).1));
}

#[test]
fn jobs_run_side_by_side() {
    let mut spec = collective(leaf_spine(4), 4, "all-to-all", "parallel", 4 << 20);
    let mut other = spec.jobs[0].clone();
    other.name = "other".into();
    other.stream = 1;
    other.hosts = vec![7, 6, 5, 4];
    set_pattern(&mut other, "all-reduce", "ring");
    other.start_ps = 5_000_000;
    spec.jobs.push(other);
    let (summary, recorder) = run(&spec);
    assert_eq!(summary.jobs.len(), 2);
    assert!(summary.jobs.iter().all(|job| job.end_ps.is_some()));
    assert_eq!(recorder.chunks.iter().filter(|chunk| chunk.job == 1).count(), 24);
    assert!(
        recorder.chunks.iter().filter(|chunk| chunk.job == 1).all(|chunk| chunk.start_ps >= Some(5_000_000))
    );
}

/// The fast path of a port takes in 64 frames at a time.
#[test]
fn more_frames_than_a_port_takes_in_at_a_time_arrive_at_once() {
    for ranks in [65, 66, 130, 200] {
        let spec = collective(single_switch(ranks), ranks, "incast", "parallel", 40 * u64::from(ranks));
        let (summary, recorder) = run(&spec);
        assert!(summary.fast_windows > 0 && summary.exact_windows == 0);
        assert!(tables(&recorder) == tables(&run_with(&spec, 1, Path::Exact).1), "{ranks} ranks");
    }
}

/// Frames of three hosts arrive three at once, and a link four times as fast is idle before the next three.
#[test]
fn frames_that_arrive_at_once_are_taken_in_at_different_times() {
    let switch = |name: &str| CustomSwitch { name: name.into(), hosts: 3 };
    let topology = TopologySpec::Custom(Custom {
        switches: ["a", "b"].map(switch).to_vec(),
        links: vec![CustomLink {
            between: ["a".into(), "b".into()],
            count: 1,
            link: LinkSpec { rate_bps: 1_600_000_000_000, ..common::link(30) },
        }],
        host_link: common::link(3),
    });
    let mut spec = collective(topology, 6, "all-to-all", "parallel", 6 * 40_000);
    spec.transport.mtu_bytes = 256;
    for forwarding in [ForwardingSpec::StoreAndForward, ForwardingSpec::CutThrough] {
        spec.fabric.switch.forwarding = forwarding;
        let (summary, recorder) = run(&spec);
        assert!(summary.fast_windows > 0 && summary.exact_windows == 0);
        assert!(tables(&recorder) == tables(&run_with(&spec, 1, Path::Exact).1), "{forwarding:?}");
    }
}

/// A NIC that takes in less than is sent to it has acknowledgements come later than the timeout: data arrives
/// until the queue pair fails, with seven chunks at once, which are the last.
#[test]
fn a_run_ends_with_a_queue_pair_that_fails_while_data_comes() {
    let mut spec = collective(rails(), 6, "permutation", "parallel", 1_121_622);
    spec.seed = 4168434595035950331;
    spec.fabric.switch.buffer.size_bytes = 1 << 30;
    spec.fabric.switch.buffer.lossy_alpha = Some(RatioSpec { numerator: 1, denominator: 1 });
    spec.fabric.switch.pfc = None;
    spec.fabric.switch.ecn = None;
    let direction = NicDirection::Both;
    spec.fabric.nic.impairments = vec![ImpairmentSpec { host: 1, throughput_ppm: 400_000, direction }];
    spec.fabric.load_balancing = LoadBalancing::Ecmp { hash: EcmpHash::Crc, include_qp: false };
    spec.transport.ack_every = 1;
    spec.transport.qp_mode = QpMode::PerPair;
    spec.transport.timeout_ps = 50_000_000;
    spec.transport.message_bytes = 131_072;
    common::offer(&mut spec.jobs[0], ArrivalProcess::Constant, 176_000_000_000, 1_019_656_363);
    let (summary, recorder) = run(&spec);
    assert_eq!(summary.jobs[0].chunks_failed, 7);
    let (on_two, other) = run_with(&spec, 2, Path::Auto);
    assert_eq!((summary.packet_hops, summary.end_ps), (on_two.packet_hops, on_two.end_ps));
    assert!(tables(&recorder) == tables(&other));
}
