//! Random rings without events, compared with the same rings with events.

use super::Rings;
use crate::output::FlowSummary;
use crate::run::{EqualServers, by_events, run};
use crate::set_up::{jobs_of, paths_of};
use crate::testing::Rows;
use proptest::prelude::*;
use spec::{
    ChunksObserved, CollectiveSpec, FatTree, ForwardingSpec, JobSpec, MultiPlane, QpMode, RateControlSpec,
    RunSpec, TopologySpec, Work,
};

/// One ring of eight hosts in two pods of two leaves; senders are paced.
fn ring() -> RunSpec {
    serde_json::from_str(include_str!("ring.json")).expect("it is a spec")
}

/// The collective of a job.
fn collective_of(job: &mut JobSpec) -> &mut CollectiveSpec {
    match &mut job.work {
        Work::Collective(collective) => collective,
        other => panic!("{other:?} is no collective"),
    }
}

fn without_events(spec: &RunSpec) -> (Rows, FlowSummary) {
    let mut told = Rows::default();
    let summary = run(spec, &mut told).unwrap();
    (told, summary)
}

fn with_events(spec: &RunSpec) -> (Rows, FlowSummary) {
    let paths = paths_of(spec).unwrap();
    let jobs = jobs_of(spec, &paths).unwrap();
    let mut all = Rows::default();
    let summary = by_events(spec, paths, jobs, EqualServers::default(), &mut all).unwrap();
    (all, summary)
}

fn is_found(spec: &RunSpec) -> bool {
    Rings::find(spec, &mut paths_of(spec).unwrap()).is_some()
}

/// Whether the ring was found; asserts that its results equal those of events.
fn is_the_same(spec: &RunSpec) -> bool {
    if !is_found(spec) {
        return false;
    }
    for chunks in [ChunksObserved::All, ChunksObserved::Sample, ChunksObserved::Summary] {
        let mut spec = spec.clone();
        (spec.observe.chunks, spec.observe.chunk_rows) = (chunks, 40);
        let (mine, summary) = without_events(&spec);
        let (theirs, other) = with_events(&spec);
        for (mine, theirs) in mine.chunks.iter().zip(&theirs.chunks) {
            assert_eq!(format!("{mine:?}"), format!("{theirs:?}"));
        }
        assert_eq!(mine.chunks.len(), theirs.chunks.len());
        assert_eq!(format!("{:?}", mine.steps), format!("{:?}", theirs.steps));
        assert_eq!(format!("{:?}", mine.times), format!("{:?}", theirs.times));
        assert_eq!((summary.end_ps, summary.jobs), (other.end_ps, other.jobs));
    }
    true
}

#[test]
fn a_ring_over_pods_is_that_of_its_events() {
    let mut spec = ring();
    assert!(is_the_same(&spec));
    spec.transport.qp_mode = QpMode::PerPair;
    assert!(is_the_same(&spec));
    spec.fabric.switch.forwarding = ForwardingSpec::CutThrough;
    assert!(is_the_same(&spec));
}

/// The same eight hosts with a port in each of `planes` planes, and a queue pair for each port.
fn over_planes(mut spec: RunSpec, planes: u32) -> RunSpec {
    let TopologySpec::FatTree(FatTree { host_link, fabric_link, .. }) = spec.fabric.topology else {
        panic!("it is three tiers")
    };
    let (leaves, hosts_per_leaf, spines, links_per_spine) = (4, 2, 2, 1);
    spec.fabric.topology = TopologySpec::MultiPlane(MultiPlane {
        planes,
        leaves,
        hosts_per_leaf,
        spines,
        links_per_spine,
        host_link,
        fabric_link,
    });
    spec.transport.qps_per_rank_pair = planes;
    spec
}

#[test]
fn the_parts_of_a_block_take_planes_of_their_own() {
    for planes in [2, 3] {
        let mut spec = over_planes(ring(), planes);
        assert!(is_the_same(&spec));
        spec.transport.qps_per_rank_pair += 1;
        assert!(!is_found(&spec), "two parts share a port");
    }
}

#[test]
fn a_step_takes_what_its_slowest_way_takes() {
    // Blocks of 1 MB in two messages, as all-gather: each passes every hop but one.
    let mut spec = ring();
    collective_of(&mut spec.jobs[0]).pattern.collective = "all-gather".into();
    let mut told = Rows::default();
    let summary = run(&spec, &mut told).unwrap();
    let alone = |rank: u32| {
        let row = told.chunks.iter().find(|row| row.step == 0 && row.src_rank == rank).unwrap();
        row.delivered_ps.unwrap()
    };
    let hops: Vec<u64> = (0..8).map(alone).collect();
    let sum: u64 = hops.iter().sum();
    let last = hops.iter().map(|hop| sum - hop).max().unwrap();
    let delivered = told.chunks.iter().filter_map(|row| row.delivered_ps).max();
    assert_eq!(delivered, Some(last));
    assert!(summary.end_ps > last);
}

#[test]
fn what_would_share_a_link_is_left_to_events() {
    let mut spec = ring();
    spec.transport.rate_control = RateControlSpec::LINE_RATE;
    assert!(!is_found(&spec), "acknowledgements slow down who sends at line rate");
    let mut spec = ring();
    spec.jobs[0].hosts = vec![0, 4, 1, 5, 2, 6, 3, 7];
    assert!(!is_found(&spec), "four ranks send over two cores of the same links");
    let mut spec = ring();
    collective_of(&mut spec.jobs[0]).pattern.algorithm = "ring-bidirectional".into();
    assert!(!is_found(&spec), "each port sends both ways");
}

#[test]
fn rings_of_several_jobs_go_side_by_side() {
    let mut spec = ring();
    spec.jobs.push(spec.jobs[0].clone());
    (spec.jobs[1].name, spec.jobs[1].stream) = ("other".into(), 1);
    (spec.jobs[0].hosts, spec.jobs[1].hosts) = (vec![0, 1], vec![2, 3]);
    spec.jobs[1].start_ps = 1_234_567;
    collective_of(&mut spec.jobs[1]).pattern.data_bytes = 3 << 20;
    assert!(is_the_same(&spec));
}

#[test]
fn two_rings_that_share_every_port_each_take_twice_as_long() {
    let duration =
        |summary: &FlowSummary, job: usize| summary.jobs[job].end_ps.unwrap() - summary.jobs[job].start_ps;
    let mut spec = ring();
    collective_of(&mut spec.jobs[0]).pattern.data_bytes = 512 << 20;
    let alone = duration(&with_events(&spec).1, 0);
    spec.jobs.push(spec.jobs[0].clone());
    (spec.jobs[1].name, spec.jobs[1].stream) = ("other".into(), 1);
    assert!(!is_found(&spec), "two flows do not fit into a port");
    let (_, summary) = with_events(&spec);
    for job in 0..2 {
        let ratio = duration(&summary, job) as f64 / alone as f64;
        assert!((ratio - 2.0).abs() < 0.02, "job {job}: {ratio}");
    }
}

#[test]
fn many_short_blocks_on_queue_pairs_of_their_own_are_counted() {
    let mut spec = ring();
    if let TopologySpec::FatTree(FatTree { pods, leaves_per_pod, hosts_per_leaf, .. }) =
        &mut spec.fabric.topology
    {
        (*pods, *leaves_per_pod, *hosts_per_leaf) = (128, 16, 64);
    }
    spec.jobs[0].hosts = (0..131_072).collect();
    collective_of(&mut spec.jobs[0]).pattern.data_bytes = 131_072 * 4_096;
    spec.transport.qp_mode = QpMode::PerChunk;
    spec.observe.chunks = ChunksObserved::Summary;
    assert!(crate::check(&spec).is_ok());
    spec.transport.rate_control = RateControlSpec::LINE_RATE;
    assert!(crate::check(&spec).is_err(), "acknowledgements slow them, which takes events");
}

#[test]
fn more_transfers_than_numbers_are_counted() {
    let mut spec = ring();
    if let TopologySpec::FatTree(FatTree { pods, leaves_per_pod, hosts_per_leaf, .. }) =
        &mut spec.fabric.topology
    {
        (*pods, *leaves_per_pod, *hosts_per_leaf) = (128, 16, 64);
    }
    spec.jobs[0].hosts = (0..131_072).collect();
    collective_of(&mut spec.jobs[0]).pattern.data_bytes = 131_072 << 20;
    assert!(crate::check(&spec).is_err(), "there are 34,359,476,224 rows");
    spec.observe.chunks = ChunksObserved::Summary;
    crate::check(&spec).unwrap();
    let (told, summary) = without_events(&spec);
    assert_eq!(summary.jobs[0].chunks, 2 * 131_071 * 131_072);
    assert_eq!(told.times.iter().map(|row| row.chunks).sum::<u64>(), summary.jobs[0].chunks);
    // A block passes two cycles of the ring except two hops, which cost the same except the last of each leaf
    // and pod.
    let mut small = ring();
    small.fabric.topology = spec.fabric.topology.clone();
    small.jobs[0].hosts = vec![0, 1, 2];
    collective_of(&mut small.jobs[0]).pattern.data_bytes = 3 << 20;
    let hop = |hosts: [u32; 3]| {
        let mut spec = small.clone();
        spec.jobs[0].hosts = hosts.to_vec();
        let (told, _) = without_events(&spec);
        told.chunks.iter().find(|row| (row.step, row.src_rank) == (0, 0)).unwrap().delivered_ps.unwrap()
    };
    let [within, leaves, pods] = [hop([0, 1, 2]), hop([63, 64, 65]), hop([1_023, 1_024, 1_025])];
    let lap = 131_072 * within + 2_048 * (leaves - within) + 128 * (pods - leaves);
    let delivered = told.steps.iter().filter_map(|row| row.delivered_ps).max().unwrap();
    assert_eq!(delivered, 2 * lap - 2 * within);
}

prop_compose! {
    fn specs()(
        (collective, ranks, bytes) in (0..3_usize, 2..9_usize, 1_u64..3_000_000),
        (order, doubled) in (Just(()).prop_perturb(|(), mut rng| {
            let mut order: Vec<u32> = (0..8).collect();
            // Mostly in order, since few other orders avoid shared links.
            for _ in 0..rng.random_range(0..3) {
                order.swap(rng.random_range(0..8), rng.random_range(0..8));
            }
            order
        }), any::<bool>()),
        overheads in proptest::array::uniform3(prop_oneof![Just(0_u64), 1_u64..3_000_000]),
        (latency, mtu, start) in (0_u64..2_000_000, prop_oneof![Just(1_024_u32), Just(4_096)], 0_u64..5_000_000),
        (per_pair, cut_through, window) in (any::<bool>(), any::<bool>(), any::<bool>()),
        planes in 1..4_u32,
    ) -> RunSpec {
        let mut spec = ring();
        let job = &mut spec.jobs[0];
        job.hosts = order[..ranks].iter().map(|&host| if doubled { host / 2 } else { host }).collect();
        job.start_ps = start;
        let work = collective_of(job);
        work.pattern.collective = ["all-reduce", "all-gather", "reduce-scatter"][collective].into();
        work.pattern.data_bytes = bytes * workload::shares(&work.pattern.collective, ranks as u32);
        [work.step_overhead_ps, work.send_overhead_ps, work.receive_overhead_ps] = overheads;
        spec.fabric.nic.latency_ps = latency;
        spec.transport.mtu_bytes = mtu;
        spec.transport.qp_mode = if per_pair { QpMode::PerPair } else { QpMode::PerChunk };
        if cut_through {
            spec.fabric.switch.forwarding = ForwardingSpec::CutThrough;
        }
        if window {
            spec.transport.window_packets = 64;
            spec.transport.rate_control = RateControlSpec::LINE_RATE;
        }
        if planes > 1 { over_planes(spec, planes) } else { spec }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn what_is_found_is_what_events_give(spec in specs()) {
        is_the_same(&spec);
    }
}
