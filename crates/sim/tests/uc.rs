//! Unreliable connections: times without acknowledgements, messages that losses and reordering drop, frames.

use crate::common::{
    self, Recorder, collective, collective_of, completion_ps, leaf_spine, offer, pattern_of, run, run_with,
    single_switch, tables,
};
use fabricbench_sim::{Path, capture};
use proptest::prelude::*;
use record::ChunkStatus;
use spec::{
    ArrivalProcess, ExtraDelaySpec, FailureSpec, FixedConfig, ImpairmentSpec, LoadBalancing, LossRecovery,
    MessageCounts, NicDirection, PfcSpec, QpMode, QpType, RateControlSpec, RendezvousSpec, RepeatSpec,
    RunSpec, RunStatus, XoffSpec,
};
use wire::{Extension, Opcode, RoceFrame};

/// The same run with unreliable connections.
fn unreliable(mut spec: RunSpec) -> RunSpec {
    spec.transport.connection = QpType::Uc;
    spec.transport.recovery = LossRecovery::None;
    spec
}

/// One transfer of `bytes` from host 1 to host 0, in messages of 8 packets.
fn transfer(bytes: u64) -> RunSpec {
    let mut spec = collective(single_switch(2), 2, "incast", "parallel", bytes);
    spec.transport.message_bytes = 8 * 4096;
    spec
}

/// The link of host 1 loses this part of its frames.
fn losing(mut spec: RunSpec, lost_ppm: u32) -> RunSpec {
    spec.fabric.failures = vec![FailureSpec::FrameLoss { at_ps: 0, link: "leaf0-host1".into(), lost_ppm }];
    spec
}

fn messages(summary: &spec::RunSummary) -> MessageCounts {
    summary.jobs[0].messages.expect("they are counted")
}

#[test]
fn a_transfer_takes_serialisation_and_propagation_and_no_acknowledgement() {
    for bytes in [1_u64, 4096, 4097, 8 * 4096, 1 << 20, (1 << 20) + 5] {
        let spec = transfer(bytes);
        let reliable = run(&spec).0;
        let (summary, recorder) = run(&unreliable(spec));
        let [packets, messages_sent] = [4096, 8 * 4096].map(|size| bytes.div_ceil(size));
        // Headers, preamble and gap of each frame, the RETH of each message, padding.
        let wire_bytes = bytes.next_multiple_of(4) + 82 * packets + 16 * messages_sent;
        let wire_bytes = wire_bytes.max(84);
        let first_bytes = (bytes.min(4096).next_multiple_of(4) + 98).max(84);
        // NICs, switch and two cables of 3 m; frames are longest at the start, so that none waits later.
        let propagation_ps = 800_000 + 500_000 + 2 * 15_000;
        assert_eq!(
            completion_ps(&summary),
            (wire_bytes + first_bytes) * 20 + propagation_ps,
            "{bytes} bytes"
        );
        let acknowledgement_ps = 2 * 86 * 20 + propagation_ps;
        assert_eq!(completion_ps(&reliable) - completion_ps(&summary), acknowledgement_ps, "{bytes} bytes");
        assert_eq!(recorder.chunks[0].completed_ps, recorder.chunks[0].delivered_ps);
        assert_eq!(messages(&summary), MessageCounts { sent: messages_sent, received: messages_sent });
        assert_eq!(summary.frames_sent, packets, "nothing but data");
    }
}

#[test]
fn messages_survive_independent_losses_of_their_packets() {
    let sent = 10_000;
    for lost_ppm in [1_000, 20_000, 100_000] {
        let spec = unreliable(losing(transfer(sent * 8 * 4096), lost_ppm));
        let (summary, recorder) = run(&spec);
        let counts = messages(&summary);
        let expected = (1.0 - f64::from(lost_ppm) / 1e6).powi(8);
        let deviation = (expected * (1.0 - expected) / sent as f64).sqrt();
        let survived = counts.received as f64 / counts.sent as f64;
        assert!((survived - expected).abs() < 3.0 * deviation, "{survived} of {expected} at {lost_ppm} ppm");
        assert_eq!((counts.sent, summary.status), (sent, RunStatus::Incomplete));
        let chunk = &recorder.chunks[0];
        assert_eq!((chunk.status, chunk.delivered_ps), (ChunkStatus::Failed, None));
        assert_eq!(chunk.tx_frames, 8 * sent);
        assert_eq!(chunk.tx_frames - chunk.rx_frames, summary.frames_lost.bit_error);
        let lost = format!("{} of {sent} messages lost; ", counts.lost());
        assert!(summary.jobs[0].reason.starts_with(&lost), "{}", summary.jobs[0].reason);
    }
}

#[test]
fn a_reliable_connection_completes_on_the_fabric_on_which_an_unreliable_one_does_not() {
    let mut spec = losing(collective(single_switch(4), 4, "all-reduce", "ring", 4 << 20), 1_000);
    spec.transport.timeout_ps = 100_000_000;
    assert_eq!(run(&spec).0.status, RunStatus::Complete);
    let (summary, recorder) = run(&unreliable(spec.clone()));
    assert_eq!(summary.status, RunStatus::Incomplete);
    // The ring stops at the chunk that lost a message; everything that was sent has left the fabric.
    let job = &summary.jobs[0];
    assert!(job.chunks_failed > 0 && job.chunks_complete + job.chunks_failed < job.chunks, "{job:?}");
    assert_eq!((summary.frames_in_flight, recorder.chunks.len() as u64), (0, job.chunks));
    assert!(messages(&summary).lost() > 0);
    spec.fabric.failures.clear();
    assert_eq!(run(&unreliable(spec)).0.status, RunStatus::Complete);
}

#[test]
fn packets_that_overtake_each_other_drop_messages_although_none_is_lost() {
    let mut spec = unreliable(collective(leaf_spine(4), 8, "all-to-all", "parallel", 8 << 20));
    spec.fabric.load_balancing = LoadBalancing::SprayRoundRobin {};
    spec.fabric.extra_delays = vec![ExtraDelaySpec { link: "leaf0-spine0".into(), delay_ps: 1_000_000 }];
    let (summary, recorder) = run(&spec);
    assert_eq!((summary.status, summary.frames_lost.total()), (RunStatus::Incomplete, 0));
    assert!(messages(&summary).lost() > 0);
    assert!(recorder.chunks.iter().any(|chunk| chunk.out_of_order > 0));
    assert!(!recorder.reordering.is_empty());
    // A message of one packet has no gap.
    spec.transport.message_bytes = 4096;
    let (summary, _) = run(&spec);
    assert_eq!((summary.status, messages(&summary).lost()), (RunStatus::Complete, 0));
}

#[test]
fn messages_that_full_buffers_drop_parts_of_are_lost() {
    let mut spec = unreliable(collective(single_switch(5), 5, "incast", "parallel", 4 << 20));
    spec.fabric.switch.buffer.size_bytes = 256 << 10;
    let (summary, _) = run(&spec);
    assert!(summary.frames_lost.buffer_full > 0 && messages(&summary).lost() > 0);
    assert_eq!(summary.status, RunStatus::Incomplete);
    spec.fabric.switch.pfc =
        Some(PfcSpec { xoff: XoffSpec::Static { bytes: 20_000 }, ..common::dynamic_pfc() });
    spec.fabric.switch.buffer.size_bytes = 16 << 20;
    let (summary, _) = run(&spec);
    assert_eq!((summary.status, messages(&summary).lost()), (RunStatus::Complete, 0), "{summary:?}");
}

#[test]
fn a_fixed_rate_paces_each_queue_pair() {
    let mut spec = unreliable(transfer(1 << 20));
    spec.transport.message_bytes = 4096;
    let at_line_rate = completion_ps(&run(&spec).0);
    spec.transport.rate_control = RateControlSpec::Fixed(FixedConfig { rate_bps: 10_000_000_000 });
    assert_eq!(completion_ps(&run(&spec).0) - at_line_rate, 255 * (4096 + 98) * 780);
}

/// Everything that jobs can have, which unreliable connections do not change.
fn variants() -> Vec<RunSpec> {
    let ring = || collective(leaf_spine(3), 6, "all-reduce", "ring", 3 << 20);
    let mut specs = vec![ring(), collective(leaf_spine(3), 6, "all-to-all", "parallel", 3 << 20)];
    let mut add = |change: fn(&mut RunSpec)| {
        let mut spec = ring();
        change(&mut spec);
        specs.push(spec);
    };
    add(|spec| spec.jobs[0].hosts = vec![0, 0, 1, 1, 2, 3]);
    add(|spec| {
        spec.jobs[0].repeat = RepeatSpec::Rounds { rounds: 3 };
        collective_of(&mut spec.jobs[0]).warm_up_rounds = 1;
        spec.transport.qp_mode = QpMode::PerPair;
    });
    add(|spec| {
        spec.jobs[0].repeat = RepeatSpec::Rounds { rounds: 2 };
        let collective = collective_of(&mut spec.jobs[0]);
        collective.rendezvous = Some(RendezvousSpec { threshold_bytes: 1, control_bytes: 64 });
        collective.barrier = true;
    });
    add(|spec| (spec.transport.qps_per_rank_pair, spec.transport.message_bytes) = (3, 5_000));
    add(|spec| {
        let mut other = spec.jobs[0].clone();
        (other.name, other.stream, other.priority) = ("other".into(), 1, Some(2));
        spec.jobs.push(other);
    });
    add(|spec| spec.fabric.nic.messages = Some(common::message_costs()));
    add(|spec| spec.fabric.nic.packets_per_turn = Some(4));
    add(|spec| {
        let direction = NicDirection::Receive;
        spec.fabric.nic.impairments = vec![ImpairmentSpec { host: 1, throughput_ppm: 500_000, direction }];
        spec.fabric.switch.pfc = Some(common::dynamic_pfc());
        spec.fabric.switch.buffer.size_bytes = 32 << 20;
    });
    specs
}

#[test]
fn every_kind_of_job_completes_where_nothing_is_lost() {
    for spec in variants() {
        let reliable = run(&spec).0;
        let (summary, recorder) = run(&unreliable(spec.clone()));
        assert_eq!(summary.status, RunStatus::Complete, "{summary:?}\n{spec:?}");
        assert!(completion_ps(&summary) <= completion_ps(&reliable), "{spec:?}");
        let counts = messages(&summary);
        assert!(counts.lost() == 0 && counts.sent > 0);
        assert!(recorder.chunks.iter().all(|chunk| chunk.completed_ps == chunk.delivered_ps));
        assert!(recorder.chunks.iter().all(|chunk| chunk.cnp_rx + chunk.naks + chunk.timeouts == 0));
    }
}

#[test]
fn open_loop_traffic_reports_what_arrived() {
    let mut spec = losing(collective(single_switch(4), 4, "permutation", "parallel", 64 << 10), 1_000);
    offer(&mut spec.jobs[0], ArrivalProcess::Poisson, 50_000_000_000, 2_000_000_000);
    let (summary, recorder) = run(&unreliable(spec));
    let waits = recorder
        .chunks
        .iter()
        .filter_map(|chunk| Some(chunk.completed_ps? - chunk.start_ps? - chunk.unloaded_ps?));
    assert_eq!(waits.min(), Some(0), "some are alone");
    let [complete, failed] = [ChunkStatus::Complete, ChunkStatus::Failed]
        .map(|status| recorder.chunks.iter().filter(|chunk| chunk.status == status).count() as u64);
    let job = &summary.jobs[0];
    assert_eq!((job.chunks_complete, job.chunks_failed), (complete, failed));
    assert!(failed > 0 && complete + failed == job.chunks, "{job:?}");
    assert_eq!(messages(&summary).lost(), failed, "a chunk of 64 KB is a message");
}

#[test]
fn what_is_in_flight_when_a_job_is_cut_off_has_not_failed() {
    let mut spec = losing(collective(single_switch(4), 4, "all-reduce", "ring", 4 << 20), 1_000);
    let mut background = spec.jobs[0].clone();
    (spec.jobs[0].hosts, background.hosts) = (vec![0, 2], vec![2, 3]);
    (background.name, background.stream) = ("background".into(), 1);
    background.repeat = RepeatSpec::UntilOthersEnd {};
    pattern_of(&mut background).data_bytes = 64 << 10;
    spec.jobs.push(background);
    let (summary, recorder) = run(&unreliable(spec));
    assert_eq!(summary.jobs[1].status, RunStatus::Complete, "host 1 alone loses frames");
    assert!(recorder.chunks.iter().any(|chunk| chunk.status == ChunkStatus::Unfinished));
    assert!(recorder.chunks.iter().all(|chunk| chunk.status != ChunkStatus::Failed));
}

#[test]
fn captured_frames_are_writes_of_unreliable_connections() {
    let frames = capture(&unreliable(transfer(9 * 4096)), &[0], 100).expect("queue pair 0 is there");
    let mut opcodes = vec![Opcode::UcWriteFirst];
    opcodes.extend([Opcode::UcWriteMiddle; 6]);
    opcodes.extend([Opcode::UcWriteLast, Opcode::UcWriteOnly]);
    assert_eq!(frames.len(), opcodes.len(), "no acknowledgement");
    let reliable = capture(&transfer(9 * 4096), &[0], 100).expect("queue pair 0 is there");
    let reliable: Vec<_> = reliable.iter().filter(|frame| frame.host == 1).collect();
    for ((frame, opcode), reliable) in frames.iter().zip(opcodes).zip(reliable) {
        let decoded = RoceFrame::parse(&frame.bytes).expect("it is legal");
        assert_eq!((decoded.bth().opcode, decoded.bth().ack_request), (opcode, false));
        assert_eq!(matches!(decoded.extension(), Extension::Reth(_)), opcode.starts_message());
        assert_eq!(frame.bytes.len(), reliable.bytes.len());
    }
}

/// Connections, losses and balancing of a run.
fn any_run() -> impl Strategy<Value = RunSpec> {
    (0..variants().len(), 0..3_u8, prop::option::of(common::any_failure(150)), any::<u64>()).prop_map(
        |(variant, balancing, failure, seed)| {
            let mut spec = unreliable(variants().swap_remove(variant));
            spec.seed = seed;
            match balancing {
                0 => spec.fabric.load_balancing = LoadBalancing::SprayRandom {},
                1 => spec.fabric.load_balancing = LoadBalancing::Adaptive {},
                _ => {}
            }
            if let Some(failure) = failure {
                common::fail(&mut spec, failure);
            }
            spec
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Any run ends, on every path and number of threads with the same result, and its messages are those of
    /// its frames.
    #[test]
    fn one_seed_gives_one_result(spec in any_run()) {
        let (summary, recorder) = run(&spec);
        for (threads, path) in [(1, Path::Exact), (3, Path::Auto)] {
            let (again, recorded): (_, Recorder) = run_with(&spec, threads, path);
            prop_assert_eq!(&again.jobs, &summary.jobs);
            prop_assert_eq!(tables(&recorded), tables(&recorder));
        }
        let counts = messages(&summary);
        let is_complete = summary.jobs.iter().all(|job| job.status == RunStatus::Complete);
        prop_assert!(counts.received <= counts.sent);
        prop_assert_eq!(is_complete, summary.status == RunStatus::Complete);
        prop_assert!(!is_complete || counts.lost() == 0);
        prop_assert!(is_complete || summary.frames_lost.total() > 0 || !recorder.reordering.is_empty());
    }
}
