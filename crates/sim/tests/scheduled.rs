//! Scheduled switches against closed forms, and beside Ethernet switches.

use crate::common::{
    self, Recorder, collective, completion_ps, dynamic_pfc, link, pattern_of, run, run_with, scheduled,
    tables, work,
};
use fabricbench_sim::Path;
use proptest::prelude::*;
use spec::{
    ImpairmentSpec, JobSpec, LeafSpine, LoadBalancing, NicDirection, RunSpec, RunStatus, SchedulingSpec,
    SingleSwitch, TopologySpec,
};

/// `leaves` of `hosts`, as many links of 400 Gb/s up from each leaf as hosts, over `spines`.
fn fabric(leaves: u32, hosts: u32, spines: u32) -> TopologySpec {
    TopologySpec::LeafSpine(LeafSpine {
        leaves,
        hosts_per_leaf: hosts,
        spines,
        links_per_spine: hosts / spines,
        host_link: link(3),
        fabric_link: link(30),
    })
}

fn on_scheduled(topology: TopologySpec, ranks: u32, name: &str, bytes: u64) -> RunSpec {
    let mut spec = collective(topology, ranks, name, "parallel", bytes);
    spec.fabric.switch.scheduled = Some(scheduled());
    spec.fabric.switch.pfc = Some(dynamic_pfc());
    spec
}

/// A job of some hosts beside the first.
fn beside(spec: &mut RunSpec, name: &str, hosts: &[u32], bytes: u64) {
    let job = JobSpec {
        name: name.into(),
        stream: spec.jobs.len() as u32,
        hosts: hosts.to_vec(),
        work: work("send-receive", "parallel", bytes),
        ..spec.jobs[0].clone()
    };
    spec.jobs.push(job);
}

/// What a port of 400 Gb/s needs for the frames of so much payload in messages of 128 KiB [ps].
fn line_time_ps(payload_bytes: u64) -> u64 {
    // 32 frames of a message: 133,072 bytes and 20 each on the wire.
    payload_bytes / (128 << 10) * (133_072 + 32 * 20) * 20
}

/// What the chunks of a job carry [bytes], and when its last one was delivered [ps].
fn delivered(recorder: &Recorder, job: u32) -> (u64, u64) {
    let rows = recorder.chunks.iter().filter(|chunk| chunk.job == job);
    rows.fold((0, 0), |(bytes, end), chunk| {
        (bytes + chunk.payload_bytes, end.max(chunk.delivered_ps.expect("it was delivered")))
    })
}

fn assert_close(found: u64, expected: u64, per_mille: u64) {
    assert!(found.abs_diff(expected) * 1_000 <= expected * per_mille, "{found} is not {expected}");
}

/// Six senders on two leaves to host 8 on a third.
fn incast(bytes: u64) -> RunSpec {
    let mut spec = on_scheduled(fabric(3, 4, 2), 7, "incast", bytes);
    spec.jobs[0].hosts = vec![8, 0, 1, 2, 4, 5, 6];
    spec.fabric.switch.buffer.size_bytes = 8 << 20;
    spec
}

#[test]
fn incast_fills_the_port_and_is_shared_evenly() {
    let (summary, recorder) = run(&incast(8 << 20));
    let (bytes, end) = delivered(&recorder, 0);
    // The credit of the first packet takes two ways through the fabric, the packet a third: 5.5 us with all
    // latencies.
    assert!(end > line_time_ps(bytes) && end < line_time_ps(bytes) + 6_000_000, "{end} for {bytes} bytes");
    let ends: Vec<u64> = recorder.chunks.iter().filter_map(|chunk| chunk.delivered_ps).collect();
    // What a leaf gets is shared by its hosts packet by packet: all end within a round of all packets of a
    // message.
    let (first, last) = (ends.iter().min().expect("some"), ends.iter().max().expect("some"));
    assert!((last - first) * 100 < *last, "{ends:?}");
    assert_eq!(summary.frames_lost.total(), 0);
}

#[test]
fn incast_leaves_another_port_of_the_same_leaf_alone_and_ethernet_with_pfc_does_not() {
    let victim = |spec: &RunSpec| delivered(&run(spec).1, 1).1;
    let mut spec = incast(32 << 20);
    beside(&mut spec, "victim", &[3, 9], 4 << 20);
    let mut alone = spec.clone();
    pattern_of(&mut alone.jobs[0]).data_bytes = 4_096;
    let (with, without) = (victim(&spec), victim(&alone));
    assert_close(with, without, 5);
    assert!(without < line_time_ps(4 << 20) * 101 / 100 + 6_000_000, "{without}");
    spec.fabric.switch.scheduled = None;
    spec.fabric.load_balancing = LoadBalancing::SprayRoundRobin {};
    spec.transport.recovery = spec::LossRecovery::Selective;
    spec.transport.ooo_window_packets = 4_096;
    assert!(victim(&spec) > 2 * with, "{} against {with}", victim(&spec));
}

#[test]
fn a_permutation_across_leaves_runs_at_line_rate() {
    let mut spec = on_scheduled(fabric(4, 4, 2), 16, "permutation", 8 << 20);
    // Ranks that differ by 4 are on different leaves: every leaf sends to another alone.
    pattern_of(&mut spec.jobs[0]).collective = "send-receive".into();
    spec.jobs[0].hosts = (0..4).flat_map(|pair| [pair, pair + 4, pair + 8, pair + 12]).collect();
    let (summary, recorder) = run(&spec);
    for chunk in &recorder.chunks {
        let took = chunk.delivered_ps.expect("delivered") - chunk.start_ps.expect("started");
        let line = line_time_ps(chunk.payload_bytes);
        assert!(took < line + 6_000_000 + line * 15 / 1_000, "{took} for {line}");
    }
    assert!(completion_ps(&summary) > line_time_ps(8 << 20));
}

/// Hosts of one leaf acknowledge what host 0 of another sent them at once, all in the virtual output queue of
/// its port: the second acknowledgement must not wait until the first has its credit.
#[test]
fn a_small_packet_does_not_wait_for_the_credit_of_the_one_before_it() {
    let completed = |hosts: &[u32]| {
        let mut spec = on_scheduled(fabric(2, 4, 2), hosts.len() as u32, "broadcast", 1);
        spec.jobs[0].hosts = hosts.to_vec();
        completion_ps(&run(&spec).0)
    };
    let (alone, all) = (completed(&[0, 4]), completed(&[0, 4, 5, 6, 7]));
    assert!(all < alone + 200_000, "{all} beside {alone}");
}

#[test]
fn a_leaf_alone_needs_no_fabric() {
    let mut spec = on_scheduled(
        TopologySpec::SingleSwitch(SingleSwitch { hosts: 4, host_link: link(3) }),
        4,
        "all-to-all",
        8 << 20,
    );
    let (summary, recorder) = run(&spec);
    spec.fabric.switch.scheduled = None;
    assert_close(completion_ps(&summary), completion_ps(&run(&spec).0), 5);
    assert!(recorder.ports.iter().all(|port| port.reassembly_max_bytes == 0));
}

#[test]
fn voqs_are_bounded_by_pauses_of_hosts_and_nothing_is_lost() {
    let mut spec = incast(16 << 20);
    spec.fabric.switch.buffer.size_bytes = 1 << 20;
    let (summary, recorder) = run(&spec);
    assert_eq!((summary.status, summary.frames_lost.total()), (RunStatus::Complete, 0));
    let paused = |row: &&record::PortRow| row.tier == 0 && row.pfc_rx > Some(0);
    assert_eq!(recorder.ports.iter().filter(paused).count(), 6, "every sender, and nobody else");
    assert!(recorder.ports.iter().all(|port| port.voq_max_bytes < 1 << 20));
    let deepest = recorder.series.iter().filter(|row| row.metric == "voq_bytes").map(|row| row.value).max();
    assert!(deepest.is_some_and(|bytes| bytes > 100_000 && bytes < 1 << 20), "{deepest:?}");
}

#[test]
fn a_slow_receiver_slows_its_own_job_only() {
    let mut spec = on_scheduled(fabric(4, 4, 2), 8, "all-to-all", 8 << 20);
    spec.jobs[0].hosts = (0..16).step_by(2).collect();
    let mut other = JobSpec { name: "other".into(), stream: 1, ..spec.jobs[0].clone() };
    other.hosts = (1..16).step_by(2).collect();
    spec.jobs.push(other);
    let time = |spec: &RunSpec, job: usize| run(spec).0.jobs[job].end_ps.expect("complete");
    let before = [time(&spec, 0), time(&spec, 1)];
    spec.fabric.nic.impairments = (0..16)
        .step_by(2)
        .map(|host| ImpairmentSpec { host, throughput_ppm: 500_000, direction: NicDirection::Both })
        .collect();
    assert!(time(&spec, 0) * 100 > before[0] * 185, "{} after {}", time(&spec, 0), before[0]);
    assert_close(time(&spec, 1), before[1], 10);
}

#[test]
fn a_fabric_that_is_too_slow_is_the_bottleneck_and_loses_nothing() {
    let mut spec = on_scheduled(fabric(2, 4, 4), 8, "send-receive", 8 << 20);
    spec.jobs[0].hosts = vec![0, 4, 1, 5, 2, 6, 3, 7];
    let mut half = spec.clone();
    half.fabric.switch.scheduled = Some(spec::ScheduledSpec { fabric_speedup_ppm: 500_000, ..scheduled() });
    let (full_ps, half_ps) = (completion_ps(&run(&spec).0), completion_ps(&run(&half).0));
    // A frame of 4,158 bytes takes 18 cells of 16 bytes more: 4,446 bytes; request and grant take 32, and
    // half of an acknowledgement the other way 57. The last of these needs a credit of its own: twice 5.5 us
    // in all.
    let cells_ps = line_time_ps(8 << 20) * 2 * 4_535 / 4_178;
    assert_close(full_ps, line_time_ps(8 << 20) * 101 / 100 + 11_000_000, 5);
    assert_close(half_ps, cells_ps + 11_000_000, 10);
    assert_eq!(run(&half).0.frames_lost.total(), 0);
}

#[test]
fn links_of_a_leaf_carry_the_same_to_within_cells() {
    let (_, recorder) = run(&on_scheduled(fabric(4, 4, 2), 16, "all-to-all", 16 << 20));
    let up: Vec<u64> = recorder
        .links
        .iter()
        .filter(|link| link.from == "leaf1" && link.tier == 2)
        .map(|link| link.bytes)
        .collect();
    let (least, most) = (up.iter().min().expect("some"), up.iter().max().expect("some"));
    assert_eq!(up.len(), 4);
    assert!((most - least) * 100 < *most, "{up:?}");
}

prop_compose! {
    fn any_scheduled()(
        shape in prop::sample::select(vec![(2_u32, 6_u32, 2_u32), (3, 4, 4), (6, 2, 1), (4, 3, 3), (1, 12, 4)]),
        pattern in prop::sample::select(fabricbench_sim::patterns()),
        kib_per_part in 1_u64..200,
        hosts in Just((0..12).collect::<Vec<u32>>()).prop_shuffle(),
        credit_bytes in prop::sample::select(vec![256_u32, 1_000, 4_096, 16_384]),
        credit_speedup_ppm in prop::sample::select(vec![900_000_u32, 1_000_000, 1_030_000, 1_500_000]),
        fabric_speedup_ppm in prop::sample::select(vec![400_000_u32, 1_111_111, 2_000_000]),
        cell_bytes in prop::sample::select(vec![64_u32, 128, 256]),
        egress_buffer_bytes in prop::option::of(20_000_u64..200_000),
        buffer_kib in 1_500_u64..20_000,
        weighted: bool,
        slow in prop::option::of(300_000_u32..900_000),
        dcqcn: bool,
        seed in 0_u64..1_000,
    ) -> RunSpec {
        let (leaves, of_leaf, spines) = shape;
        let ranks = common::supported(pattern, 12);
        let parts = fabricbench_sim::shares(pattern.0, ranks);
        let topology = TopologySpec::LeafSpine(LeafSpine {
            leaves,
            hosts_per_leaf: of_leaf,
            spines,
            links_per_spine: 2,
            host_link: link(3),
            fabric_link: link(30),
        });
        let mut spec = on_scheduled(topology, ranks, pattern.0, kib_per_part * 1024 * parts);
        pattern_of(&mut spec.jobs[0]).algorithm = pattern.1.into();
        spec.jobs[0].hosts = hosts[..ranks as usize].to_vec();
        spec.seed = seed;
        spec.fabric.switch.buffer.size_bytes = buffer_kib << 10;
        spec.fabric.switch.scheduled = Some(spec::ScheduledSpec {
            credit_bytes,
            credit_speedup_ppm,
            fabric_speedup_ppm,
            cell_bytes,
            egress_buffer_bytes,
            ..scheduled()
        });
        if weighted {
            spec.fabric.switch.scheduling = SchedulingSpec::Dwrr { quantum_bytes: [4_500; 8] };
        }
        if let Some(throughput_ppm) = slow {
            spec.fabric.nic.impairments = vec![ImpairmentSpec { host: hosts[1], throughput_ppm, direction: NicDirection::Both }];
        }
        if dcqcn {
            spec.transport.rate_control = common::dcqcn();
        }
        spec
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    // That no frame gets lost on the books is checked inside every run.
    #[test]
    fn nothing_is_lost_or_reordered_and_credits_are_what_ports_send(spec in any_scheduled()) {
        let (summary, recorder) = run(&spec);
        prop_assert_eq!(summary.status, RunStatus::Complete);
        prop_assert_eq!(summary.frames_lost.total(), 0);
        prop_assert!(recorder.chunks.iter().all(|chunk| chunk.out_of_order == 0 && chunk.retransmits == 0));
        let of_hosts = |row: &&record::PortRow| row.tier == 1 && row.peer.starts_with("host");
        if !spec.transport.rate_control.config().is_paced() && summary.frames_in_flight == 0 {
            // Pause frames alone leave without credits.
            for row in recorder.ports.iter().filter(of_hosts) {
                let paused = recorder.ports.iter().any(|host| host.node == row.peer && host.pfc_rx > Some(0));
                let sent = row.tx_bytes + 20 * row.tx_frames;
                prop_assert!(paused || row.credit_granted_bytes == sent, "{} granted, {} sent", row.credit_granted_bytes, sent);
            }
        }
        let between = |from: &str| recorder.links.iter().filter(|link| link.tier == 2 && link.from.starts_with(from)).map(|link| link.bytes).sum::<u64>();
        prop_assert!(summary.frames_in_flight > 0 || between("leaf") >= between("spine"));
        for (threads, path) in [(2, Path::Exact), (3, Path::Auto)] {
            let (other_summary, other) = run_with(&spec, threads, path);
            prop_assert_eq!(&summary.jobs, &other_summary.jobs);
            prop_assert!(tables(&other) == tables(&recorder), "tables differ with {} threads", threads);
        }
    }
}
