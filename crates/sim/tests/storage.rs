//! Storage: clients in a closed loop against what can be computed on paper.

use crate::common::{self, collective, leaf_spine, run, run_with, single_switch, storage_work, tables};
use fabricbench_sim::Path;
use proptest::prelude::*;
use record::ChunkRow;
use spec::{
    ForwardingSpec, FullMesh, JobSpec, RepeatSpec, RunSpec, RunStatus, StorageLength, StorageSpec,
    TopologySpec, Work,
};
use std::collections::BTreeMap;

const KIB: u64 = 1 << 10;

/// Clients that write blocks to targets, 16 KB and less with the command.
fn storage(
    topology: TopologySpec,
    clients: u32,
    targets: u32,
    block_bytes: u64,
    depth: u32,
    operations: u64,
) -> RunSpec {
    let mut spec = collective(topology, clients + targets, "all-to-all", "parallel", 1);
    spec.jobs[0].work = Work::Storage(storage_work(clients, depth, operations, block_bytes));
    spec
}

fn of(spec: &mut RunSpec) -> &mut StorageSpec {
    match &mut spec.jobs[0].work {
        Work::Storage(storage) => storage,
        other => panic!("{other:?} is no storage"),
    }
}

fn span(row: &ChunkRow) -> u64 {
    row.completed_ps.expect("complete") - row.start_ps.expect("issued")
}

/// An ACK with preamble and gap [bytes].
const ACK_BYTES: u64 = 86;

#[test]
fn at_depth_one_an_operation_takes_the_unloaded_time_to_the_picosecond() {
    let slow_spine = common::slow_spine();
    let mesh = TopologySpec::FullMesh(FullMesh { hosts: 8, host_link: common::link(3) });
    for (topology, gbps) in [(single_switch(8), 400), (leaf_spine(4), 400), (slow_spine, 100), (mesh, 400)] {
        for block_bytes in [512, 4 * KIB, 8 * KIB, 1024 * KIB, 4096 * KIB] {
            for (read_ppm, forwarding) in [
                (0, ForwardingSpec::StoreAndForward),
                (0, ForwardingSpec::CutThrough),
                (1_000_000, ForwardingSpec::StoreAndForward),
            ] {
                let mut spec = storage(topology.clone(), 1, 1, block_bytes, 1, 5);
                spec.jobs[0].hosts = vec![6, 1];
                spec.fabric.switch.forwarding = forwarding;
                of(&mut spec).read_ppm = read_ppm;
                of(&mut spec).service_time_ps = 3_000_000;
                of(&mut spec).service_rate_bps = Some(50_000_000_000);
                let (summary, recorder) = run(&spec);
                assert_eq!(summary.status, RunStatus::Complete);
                let rows = &recorder.chunks;
                let case = format!("{block_bytes} bytes, {read_ppm}, {forwarding:?}, {topology:?}");
                assert_eq!(rows.len(), 5, "{case}");
                assert_eq!(Some(span(&rows[0])), rows[0].unloaded_ps, "{case}");
                for pair in rows.windows(2) {
                    assert_eq!(pair[1].start_ps, pair[0].completed_ps, "the next is issued at once: {case}");
                    // The ACK of the completion before it leaves first; on a slower link it and that of data
                    // before it may be in the way longer.
                    let longest = if gbps == 400 { ACK_BYTES * 20 } else { 2 * ACK_BYTES * 8_000 / gbps };
                    let waits = ACK_BYTES * 20..=longest;
                    let wait = span(&pair[1]) - pair[1].unloaded_ps.expect("known");
                    assert!(waits.contains(&wait), "{wait} of {waits:?}: {case}");
                }
            }
        }
    }
}

#[test]
fn a_small_write_on_one_switch_takes_the_sum_of_its_parts() {
    // Two links of 15 ns, 500 ns in the switch, 400 ns in each NIC: 1,330 ns one way, and every frame twice
    // on a link.
    let one_way = 2 * 400_000 + 2 * 15_000 + 500_000;
    let on_link = |frame_bytes: u64| (frame_bytes + 20) * 20;
    let (summary, recorder) = run(&storage(single_switch(2), 1, 1, 4 * KIB, 1, 1));
    // SEND First of 4,096 bytes, Last of the other 64; they follow each other.
    let command = one_way + 2 * on_link(4096 + 62) + on_link(64 + 62);
    let completion = one_way + on_link(66) + 2 * on_link(16 + 62);
    assert_eq!(summary.jobs[0].end_ps, Some(command + completion));
    let row = &recorder.chunks[0];
    assert_eq!(row.delivered_ps, Some(command));
    assert_eq!((row.tx_frames, row.rx_frames, row.tx_bytes), (2, 2, 4096 + 64 + 2 * 62));
}

#[test]
fn little_holds_for_each_client_to_the_picosecond() {
    for (block_bytes, depth, read_ppm) in [(4 * KIB, 1, 0), (4 * KIB, 32, 300_000), (64 * KIB, 7, 500_000)] {
        let mut spec = storage(leaf_spine(4), 5, 3, block_bytes, depth, 1);
        let duration_ps = 300_000_000;
        of(&mut spec).length = StorageLength::Duration { duration_ps };
        of(&mut spec).read_ppm = read_ppm;
        let (summary, recorder) = run(&spec);
        assert_eq!(summary.status, RunStatus::Complete);
        let mut outstanding: BTreeMap<u32, u64> = BTreeMap::new();
        for row in &recorder.chunks {
            let until = row.completed_ps.expect("complete").min(duration_ps);
            *outstanding.entry(row.src_rank).or_default() += until - row.start_ps.expect("issued");
        }
        let expected: BTreeMap<u32, u64> =
            (0..5).map(|client| (client, u64::from(depth) * duration_ps)).collect();
        assert_eq!(outstanding, expected, "the integral of what is outstanding is depth times time");
        assert!(recorder.chunks.iter().all(|row| row.start_ps < Some(duration_ps)));
    }
}

/// Payload rate between two times [bit/s].
fn rate_bps(rows: &[ChunkRow], from_ps: u64, until_ps: u64) -> u64 {
    let in_time = |row: &&ChunkRow| (Some(from_ps)..Some(until_ps)).contains(&row.delivered_ps);
    let bytes: u64 = rows.iter().filter(in_time).map(|row| row.payload_bytes).sum();
    (u128::from(bytes) * 8_000_000_000_000 / u128::from(until_ps - from_ps)) as u64
}

fn saturated(block_bytes: u64, change: impl Fn(&mut StorageSpec)) -> u64 {
    let mut spec = storage(single_switch(12), 11, 1, block_bytes, 128, 1);
    of(&mut spec).length = StorageLength::Duration { duration_ps: 2_000_000_000 };
    change(of(&mut spec));
    let (summary, recorder) = run(&spec);
    assert_eq!(summary.status, RunStatus::Complete);
    rate_bps(&recorder.chunks, 1_000_000_000, 2_000_000_000)
}

#[test]
fn saturated_the_target_takes_what_its_port_or_its_service_takes() {
    // 4,096 bytes in frames of 4,158 and 126 bytes, each with 20 more on the link, and the ACK of the
    // completion.
    let port_bps = 400_000_000_000 * 4_096 / (4_158 + 126 + 40 + ACK_BYTES);
    let close = |found: u64, expected: u64| found.abs_diff(expected) * 500 <= expected;
    let found = saturated(4 * KIB, |_| {});
    assert!(close(found, port_bps), "{found} of {port_bps}");
    let found = saturated(4 * KIB, |storage| storage.service_rate_bps = Some(100_000_000_000));
    assert!(close(found, 100_000_000_000), "{found}");
    // 1 us for each operation: a million of them in a second.
    let found = saturated(4 * KIB, |storage| storage.service_time_ps = 1_000_000);
    assert!(close(found, 4_096 * 8_000_000), "{found}");
    // READ responses of 4,096 bytes: First and Last carry 4 bytes more, 32 make a message.
    let read_bps = 400_000_000_000 * 4_096 * 32 / (32 * (4_158 + 20) + 8 + 146 + ACK_BYTES);
    let found = saturated(128 * KIB, |storage| storage.depth = 4);
    // Eleven clients share the port evenly, so their operations end together.
    assert!(found.abs_diff(read_bps) <= 11 * 128 * KIB * 8 * 1_000, "{found} of {read_bps}");
    // Data of reads leave by the target's port: WRITEs and the completion.
    let write_bps = 400_000_000_000 * 4_096 / (4_174 + 78 + 40 + ACK_BYTES);
    let found = saturated(4 * KIB, |storage| storage.read_ppm = 1_000_000);
    assert!(close(found, write_bps), "{found} of {write_bps}");
}

fn incast() -> RunSpec {
    let mut spec = storage(leaf_spine(6), 11, 1, 4 * KIB, 128, 200);
    spec.fabric.switch.buffer.size_bytes = 8 << 20;
    spec.fabric.switch.pfc = Some(common::dynamic_pfc());
    spec.fabric.switch.ecn = Some(common::ecn(20_000, 80_000));
    spec.transport.rate_control = common::dcqcn();
    spec
}

#[test]
fn an_incast_of_eleven_clients_loses_nothing_and_is_marked() {
    let (summary, recorder) = run(&incast());
    assert_eq!(summary.status, RunStatus::Complete);
    assert_eq!(summary.frames_lost.total(), 0);
    assert_eq!((summary.jobs[0].chunks, summary.jobs[0].chunks_complete), (2_200, 2_200));
    let sum = |field: fn(&ChunkRow) -> u64| recorder.chunks.iter().map(field).sum::<u64>();
    assert!(sum(|row| row.ecn_ce_rx) > 0 && sum(|row| row.cnp_tx) > 0 && sum(|row| row.cnp_rx) > 0);
    assert_eq!(sum(|row| row.tx_frames), sum(|row| row.rx_frames));
    assert_eq!(sum(|row| row.retransmits), 0);
}

/// Each client has its operations once, numbered without a gap on each connection.
fn check_conservation(spec: &RunSpec, rows: &[ChunkRow]) {
    let mut numbers: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for row in rows {
        assert!(row.start_ps < row.delivered_ps && row.delivered_ps < row.completed_ps, "{row:?}");
        numbers.entry(row.qp).or_default().push(row.transfer);
    }
    for of_pair in numbers.values_mut() {
        of_pair.sort_unstable();
        assert!((0..).zip(of_pair.iter()).all(|(number, &found)| number == found));
    }
    if let Some(StorageSpec { length: StorageLength::Operations { operations }, clients, .. }) =
        spec.jobs[0].work.storage()
    {
        assert_eq!(rows.len() as u64, operations * u64::from(*clients));
    }
}

#[test]
fn a_lossy_fabric_costs_time_and_no_operation() {
    for (block_bytes, read_ppm) in
        [(4 * KIB, 500_000), (64 * KIB, 500_000), (256 * KIB, 0), (256 * KIB, 800_000)]
    {
        let mut spec = storage(leaf_spine(4), 6, 2, block_bytes, 16, 60);
        spec.fabric.switch.buffer.size_bytes = if block_bytes > 4 * KIB { 60_000 } else { 25_000 };
        spec.transport.timeout_ps = 100_000_000;
        // Two frames of three are lost while all send at once.
        spec.transport.retry_count = 100;
        of(&mut spec).read_ppm = read_ppm;
        let (summary, recorder) = run(&spec);
        assert!(summary.frames_lost.total() > 0, "{block_bytes} bytes, {read_ppm}");
        assert_eq!(summary.status, RunStatus::Complete, "{}", summary.jobs[0].reason);
        check_conservation(&spec, &recorder.chunks);
        assert!(recorder.chunks.iter().map(|row| row.retransmits).sum::<u64>() > 0);
    }
}

#[test]
fn a_client_keeps_its_targets_beside_others() {
    let spec = storage(single_switch(12), 3, 3, 4 * KIB, 8, 100);
    let mut other = spec.clone();
    let mut neighbour =
        JobSpec { name: "other".into(), stream: 1, hosts: (6..12).collect(), ..spec.jobs[0].clone() };
    neighbour.repeat = RepeatSpec::UntilOthersEnd {};
    other.jobs.push(neighbour);
    let drawn = |spec: &RunSpec| -> BTreeMap<u32, Vec<(Option<u64>, u32)>> {
        let mut targets: BTreeMap<u32, Vec<(Option<u64>, u32)>> = BTreeMap::new();
        for row in run(spec).1.chunks.iter().filter(|row| row.job == 0) {
            targets.entry(row.src_rank).or_default().push((row.start_ps, row.dst_rank));
        }
        targets.values_mut().for_each(|of_client| of_client.sort_unstable());
        targets
    };
    let alone = drawn(&spec);
    // On one switch they do not meet either: even the times are the same.
    assert_eq!(alone, drawn(&other));
    let mut share = BTreeMap::new();
    alone.values().flatten().for_each(|(_, target)| *share.entry(*target).or_insert(0) += 1);
    assert!(share.values().all(|&count| (70..130).contains(&count)), "{share:?}");
}

#[test]
fn a_neighbour_that_goes_on_is_cut_off() {
    let mut spec = storage(leaf_spine(6), 3, 1, 64 * KIB, 4, 50);
    let collective = collective(leaf_spine(6), 4, "all-to-all", "parallel", 8 << 20).jobs.remove(0);
    spec.jobs[0].repeat = RepeatSpec::UntilOthersEnd {};
    spec.jobs.push(JobSpec { name: "test".into(), stream: 1, hosts: vec![6, 7, 8, 9], ..collective });
    spec.jobs[0].name = "storage".into();
    let (summary, recorder) = run(&spec);
    assert_eq!(summary.status, RunStatus::Complete);
    let rows = recorder.chunks.iter().filter(|row| row.job == 0).count() as u64;
    assert_eq!(rows, summary.jobs[0].chunks);
    let open = recorder.chunks.iter().filter(|row| row.job == 0 && row.completed_ps.is_none());
    assert_eq!(open.count(), 12, "three clients with four operations each");
}

#[test]
fn a_dead_link_fails_the_operations_of_its_client() {
    let mut spec = storage(single_switch(3), 2, 1, 4 * KIB, 4, 1_000);
    spec.transport.timeout_ps = 20_000_000;
    spec.transport.retry_count = 1;
    let link = fabricbench_sim::describe(&storage(single_switch(3), 2, 1, 4 * KIB, 4, 1)).unwrap().links;
    let name = format!("{}-{}", link[0].from, link[0].to);
    spec.fabric.failures = vec![spec::FailureSpec::LinkDown { at_ps: 30_000_000, link: name }];
    let (summary, recorder) = run(&spec);
    assert_eq!(summary.status, RunStatus::Incomplete);
    let failed = recorder.chunks.iter().filter(|row| row.status == record::ChunkStatus::Failed);
    assert_eq!(failed.clone().count(), 4);
    assert!(failed.clone().all(|row| row.src_rank == 0));
    let second = recorder.chunks.iter().filter(|row| row.src_rank == 1 && row.completed_ps.is_some());
    assert_eq!(second.count(), 1_000);
    assert!(summary.jobs[0].reason.starts_with("4 of "), "{}", summary.jobs[0].reason);
}

#[test]
fn a_capture_shows_the_verbs_of_nvme_over_fabrics() {
    use wire::Opcode;
    let mut spec = storage(single_switch(2), 1, 1, 8 * KIB, 1, 2);
    let opcodes = |spec: &RunSpec| -> Vec<(u32, Opcode)> {
        let frames = fabricbench_sim::capture(spec, &[0], 1_000).expect("a run");
        let parse = |bytes: &[u8]| wire::RoceFrame::parse(bytes).expect("legal").bth().opcode;
        frames.iter().map(|frame| (frame.host, parse(&frame.bytes))).collect()
    };
    let (client, target) = (0, 1);
    let write = [
        (client, Opcode::SendOnly),
        (target, Opcode::Acknowledge),
        (target, Opcode::ReadRequest),
        (client, Opcode::ReadResponseFirst),
        (client, Opcode::ReadResponseLast),
        (target, Opcode::SendOnly),
        (client, Opcode::Acknowledge),
    ];
    assert_eq!(opcodes(&spec)[..7], write);
    of(&mut spec).read_ppm = 1_000_000;
    let read = [
        (client, Opcode::SendOnly),
        (target, Opcode::Acknowledge),
        (target, Opcode::WriteFirst),
        (target, Opcode::WriteLast),
        (target, Opcode::SendOnly),
    ];
    assert_eq!(opcodes(&spec)[..5], read);
}

prop_compose! {
    fn any_storage()(
        clients in 1_u32..8,
        targets in 1_u32..5,
        block_kib in prop_oneof![Just(4_u64), 1_u64..300],
        depth in 1_u32..40,
        read_ppm in prop_oneof![Just(0_u32), Just(1_000_000), 0_u32..1_000_000],
        in_capsule_kib in prop_oneof![Just(0_u64), Just(4), Just(64)],
        outstanding_reads in 1_u32..20,
        service_time_ps in prop_oneof![Just(0_u64), 0_u64..5_000_000],
        service_gbps in prop::option::of(1_u64..500),
        qps in 1_u32..3,
        buffer_kib in prop_oneof![Just(1_u64 << 20), 200_u64..4_000],
        congestion in 0_u8..8,
        seed: u64,
    ) -> RunSpec {
        let mut spec = storage(leaf_spine(6), clients, targets, block_kib * KIB, depth, 30);
        spec.seed = seed;
        let storage = of(&mut spec);
        storage.read_ppm = read_ppm;
        storage.in_capsule_bytes = in_capsule_kib * KIB;
        storage.outstanding_reads = outstanding_reads;
        storage.service_time_ps = service_time_ps;
        storage.service_rate_bps = service_gbps.map(|gbps| gbps * 1_000_000_000);
        spec.transport.qps_per_rank_pair = qps;
        spec.transport.timeout_ps = 100_000_000;
        // Without PFC a crowded target drops much: seven timeouts in a row do happen.
        spec.transport.retry_count = 100;
        spec.fabric.switch.buffer.size_bytes = buffer_kib << 10;
        spec.fabric.switch.pfc = (congestion & 1 != 0 && buffer_kib > 1_500).then(common::dynamic_pfc);
        if congestion & 2 != 0 {
            spec.fabric.switch.ecn = Some(common::dynamic_ecn(20_000, 80_000, 10));
            spec.transport.rate_control = common::dcqcn();
        }
        if congestion & 4 != 0 {
            spec.fabric.switch.forwarding = ForwardingSpec::CutThrough;
        }
        spec
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn paths_and_threads_agree_and_every_operation_completes_once(spec in any_storage()) {
        let (summary, recorder) = run(&spec);
        prop_assert!(summary.status == RunStatus::Complete, "{}", summary.jobs[0].reason);
        check_conservation(&spec, &recorder.chunks);
        let expected = tables(&recorder);
        for (threads, path) in [(1, Path::Exact), (2, Path::Auto)] {
            let (other_summary, other) = run_with(&spec, threads, path);
            prop_assert_eq!(&summary.jobs, &other_summary.jobs);
            prop_assert!(tables(&other) == expected, "tables differ with {} threads, {:?}", threads, path);
        }
    }
}
