//! What messages cost adapters, receivers that notify by themselves, and clocks of hosts, against closed forms.

use crate::common::{
    Recorder, collective, dcqcn, pattern_of, run, run_in_full, run_with, single_switch, tables,
};
use fabricbench_sim::Path;
use proptest::prelude::*;
use spec::{
    AdapterConfig, ClockSpec, HostClockSpec, ImpairmentSpec, LossRecovery, NicDirection, RunSpec, RunStatus,
};

const FRAMES: u64 = 20_000;
/// A full frame on a link of 400 Gb/s, preamble and gap included [ps].
const FRAME_PS: u64 = (4096 + 62 + 20) * 20;
const NO_START: AdapterConfig = AdapterConfig {
    message_cost_ps: 0,
    message_interval_ps: 0,
    start_bytes: 0,
    start_rate_bps: 400_000_000_000,
};

/// Host 0 sends one chunk to host 1 over one switch.
fn one_flow(bytes: u64, message_bytes: u64) -> RunSpec {
    let mut spec = collective(single_switch(2), 2, "incast", "parallel", bytes);
    pattern_of(&mut spec.jobs[0]).root = 1;
    spec.transport.message_bytes = message_bytes;
    spec
}

fn given(host: u32, offset_ps: u64, rate_ppb: u32) -> ClockSpec {
    let hosts = vec![HostClockSpec { host, offset_ps, rate_ppb }];
    ClockSpec { offset_ps_max: 0, drift_ppb_max: 0, jitter_ps_max: 0, hosts }
}

fn completed_ps(spec: &RunSpec) -> u64 {
    let (summary, recorder) = run(spec);
    assert_eq!(summary.status, RunStatus::Complete);
    recorder.chunks.iter().filter_map(|chunk| chunk.completed_ps).max().expect("a chunk completes")
}

/// Frames of one packet for each message: each begins a cost after the one before it, the first after it was
/// posted.
#[test]
fn short_messages_begin_their_cost_apart() {
    for messages in [1, 2, 7, 500] {
        let ideal = one_flow(messages * 512, 512);
        let cost_ps = 250_000;
        let mut costly = ideal.clone();
        costly.fabric.nic.messages = Some(AdapterConfig { message_cost_ps: cost_ps, ..NO_START });
        let frame_ps = (512 + 78 + 20) * 20;
        let expected = completed_ps(&ideal) + messages * cost_ps - (messages - 1) * frame_ps;
        assert_eq!(completed_ps(&costly), expected, "{messages} messages");
    }
}

/// Two queue pairs of one host with as many frames each: the second ends a turn after the first.
#[test]
fn queue_pairs_take_turns_of_so_many_packets() {
    let mut spec = collective(single_switch(3), 3, "scatter", "parallel", 3 * 64 * 4096);
    for packets in [1, 2, 16, 64, 1000] {
        spec.fabric.nic.packets_per_turn = Some(packets);
        let (_, recorder) = run(&spec);
        let mut delivered: Vec<u64> = recorder.chunks.iter().filter_map(|chunk| chunk.delivered_ps).collect();
        delivered.sort_unstable();
        // All of the second's frames, of which the first of each message has a RETH, if it waits for the first.
        let turn = if packets < 64 { u64::from(packets) * FRAME_PS } else { 64 * FRAME_PS + 2 * 16 * 20 };
        assert_eq!(delivered[1] - delivered[0], turn, "{packets} packets");
        spec.fabric.nic.packets_per_turn = None;
        let alone = run(&spec).1.chunks.iter().filter_map(|chunk| chunk.delivered_ps).max();
        // Up to the RETH of one frame, which the last one may wait for at the switch.
        let difference = delivered[1].abs_diff(alone.expect("a chunk is delivered"));
        assert!(difference <= 16 * 20, "the link is as busy as with turns of one packet: {difference} ps");
    }
}

/// Messages whose bytes take longer than their cost hide all but the first.
#[test]
fn long_messages_pay_once() {
    let ideal = one_flow(100 * 131_072, 131_072);
    let mut costly = ideal.clone();
    costly.fabric.nic.messages = Some(AdapterConfig { message_cost_ps: 900_000, ..NO_START });
    assert_eq!(completed_ps(&costly), completed_ps(&ideal) + 900_000);
}

/// Whatever the queue pairs, a port begins a message every interval.
#[test]
fn a_port_begins_messages_no_faster_than_its_interval() {
    let mut spec = one_flow(8 * 100 * 512, 512);
    spec.transport.qps_per_rank_pair = 8;
    let ideal_ps = completed_ps(&spec);
    let interval_ps = 60_000;
    spec.fabric.nic.messages = Some(AdapterConfig { message_interval_ps: interval_ps, ..NO_START });
    let frame_ps = (512 + 78 + 20) * 20;
    assert_eq!(completed_ps(&spec), ideal_ps + 799 * (interval_ps - frame_ps));
}

/// The first bytes leave at the rate of the start, once: what follows in flight is at full rate.
#[test]
fn a_transfer_starts_at_the_rate_of_its_start() {
    let mut spec = one_flow(100 * 4096, 1 << 20);
    let ideal_ps = completed_ps(&spec);
    let start_bytes = 8 * 4_178;
    spec.fabric.nic.messages =
        Some(AdapterConfig { start_bytes, start_rate_bps: 200_000_000_000, ..NO_START });
    // The eighth is the last that is slow. The first is longer by 16 bytes, which the port of the switch makes up
    // for meanwhile.
    assert_eq!(completed_ps(&spec), ideal_ps + 8 * FRAME_PS);
}

/// Costs repeat like everything else: skipping what repeats changes nothing, and skips something.
#[test]
fn costs_are_skipped_where_they_repeat() {
    let mut spec = one_flow(FRAMES * 4096, 16_384);
    spec.fabric.nic.messages = Some(AdapterConfig {
        message_cost_ps: 700_000,
        message_interval_ps: 100_000,
        start_bytes: 30_000,
        start_rate_bps: 100_000_000_000,
    });
    let (summary, skipped) = run(&spec);
    let (_, full) = run_in_full(&spec);
    assert!(
        summary.fast_forward_ps > summary.end_ps / 2,
        "{} of {}",
        summary.fast_forward_ps,
        summary.end_ps
    );
    assert_eq!(tables(&skipped), tables(&full));
}

/// The host takes data out at 90 % of the rate: with a level of its buffer it notifies, without marks.
#[test]
fn a_receiver_notifies_above_a_level_of_its_buffer() {
    let mut spec = one_flow(FRAMES * 4096, 1 << 20);
    spec.transport.rate_control = dcqcn();
    spec.fabric.nic.drain_rate_bps = Some(360_000_000_000);
    let counts = |recorder: &Recorder| {
        let sum = |of: fn(&record::ChunkRow) -> u64| recorder.chunks.iter().map(of).sum::<u64>();
        (sum(|chunk| chunk.cnp_tx), sum(|chunk| chunk.cnp_rx), sum(|chunk| chunk.ecn_ce_rx))
    };
    let (without, recorder) = run(&spec);
    assert_eq!(counts(&recorder), (0, 0, 0));
    spec.fabric.nic.cnp_above_bytes = Some(200_000);
    let (with, recorder) = run(&spec);
    let (sent, received, marked) = counts(&recorder);
    assert!(sent > 0 && marked == 0 && sent.abs_diff(received) <= 1, "{sent} {received} {marked}");
    assert!(with.frames_lost.total() < without.frames_lost.total());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// A lone flow takes its bytes at the rate of its own host's clock: what it takes otherwise is the same.
    #[test]
    fn drift_changes_a_lone_flow_by_its_parts_exactly(ppm in -1_000_i64..=1_000, half in any::<bool>()) {
        let mut spec = one_flow(FRAMES * 4096, 1 << 30);
        let direction = NicDirection::Send;
        if half {
            spec.fabric.nic.impairments = vec![ImpairmentSpec { host: 0, throughput_ppm: 500_000, direction }];
        }
        let right_ps = completed_ps(&spec);
        let rate_ppb = (1_000_000_000 + ppm * 1_000) as u32;
        spec.fabric.clocks = Some(given(0, 0, rate_ppb));
        let own_ps = completed_ps(&spec);
        // A host that is faster than the port of the switch is held up by it. A slower one leaves it time to make
        // up for the 16 bytes by which the first frame is longer.
        if !half && ppm >= 0 {
            prop_assert!(own_ps.abs_diff(right_ps) <= FRAME_PS, "{own_ps} and {right_ps} at {ppm} ppm");
            return Ok(());
        }
        let pace = if half { 2 } else { 1 };
        let own = |span: u64| i128::from(span) * 1_000_000 / i128::from(1_000_000 + ppm) - i128::from(span);
        let before_last = own(((FRAMES - 1) * 4_178 + 16) * 20 * pace);
        let expected = before_last + own(FRAME_PS) - if half { 0 } else { 16 * 20 };
        let found = i128::from(own_ps) - i128::from(right_ps);
        // 2^-21 ps for each byte, as rates are kept, and a picosecond at the beginning and the end.
        let bound = i128::from((FRAMES * 4_178 * pace) >> 21) + 2;
        prop_assert!((found - expected).abs() <= bound, "{found}, expected {expected} within {bound} at {ppm} ppm");
    }

    /// An offset moves all of a flow, and nothing else of it.
    #[test]
    fn an_offset_only_shifts(offset_ps in 0_u64..10_000_000) {
        let spec = one_flow(200 * 4096, 131_072);
        let shifted = RunSpec { fabric: spec::FabricSpec { clocks: Some(given(0, offset_ps, 1_000_000_000)), ..spec.fabric.clone() }, ..spec.clone() };
        let times = |spec: &RunSpec| {
            let (_, recorder) = run(spec);
            let chunk = recorder.chunks[0].clone();
            [chunk.start_ps, chunk.delivered_ps, chunk.completed_ps].map(|at| at.unwrap())
        };
        prop_assert_eq!(times(&shifted), times(&spec).map(|at| at + offset_ps));
    }

    /// Both paths, threads and another run draw the same clocks.
    #[test]
    fn clocks_are_the_same_on_every_path(seed in 0_u64..1_000, jitter_ps_max in 0_u64..300_000) {
        let mut spec = collective(single_switch(5), 5, "incast", "parallel", 100 * 4096);
        spec.seed = seed;
        spec.fabric.switch.buffer.size_bytes = 200_000;
        let hosts = Vec::new();
        spec.fabric.clocks = Some(ClockSpec { offset_ps_max: 1_000_000, drift_ppb_max: 100_000, jitter_ps_max, hosts });
        let (_, recorder) = run(&spec);
        for (threads, path) in [(1, Path::Exact), (2, Path::Auto), (3, Path::Exact)] {
            prop_assert_eq!(tables(&run_with(&spec, threads, path).1), tables(&recorder));
        }
        let jumps = recorder.chunks.iter().filter_map(|chunk| chunk.start_ps).collect::<std::collections::HashSet<_>>();
        prop_assert!(jumps.len() > 1, "every host starts at a time of its own");
    }
}

/// Two senders that start in the same picosecond fill a port: without clocks one of them loses nearly all, with
/// clocks they share.
#[test]
fn senders_share_the_losses_of_a_full_queue() {
    let shares = |clocks: Option<ClockSpec>, seed| {
        let mut spec = collective(single_switch(3), 3, "incast", "parallel", 300_000 * 4096);
        spec.seed = seed;
        spec.fabric.switch.buffer.size_bytes = 200_000;
        spec.transport.recovery = LossRecovery::None;
        let direction = NicDirection::Send;
        let slow = |host| ImpairmentSpec { host, throughput_ppm: 573_000, direction };
        spec.fabric.nic.impairments = vec![slow(1), slow(2)];
        spec.fabric.clocks = clocks;
        let (_, recorder) = run(&spec);
        let lost: Vec<i64> =
            recorder.chunks.iter().map(|chunk| chunk.tx_frames as i64 - chunk.rx_frames as i64).collect();
        let whole: i64 = lost.iter().sum();
        100.0 * lost[0] as f64 / whole as f64
    };
    let alone = shares(None, 1);
    assert!(!(20.0..80.0).contains(&alone), "{alone}");
    let clocks = ClockSpec {
        offset_ps_max: 1_000_000,
        drift_ppb_max: 50_000,
        jitter_ps_max: 146_000,
        hosts: Vec::new(),
    };
    for seed in 1..=20 {
        let share = shares(Some(clocks.clone()), seed);
        assert!((share - 50.0).abs() < 0.6, "{share} % with seed {seed}");
    }
}
