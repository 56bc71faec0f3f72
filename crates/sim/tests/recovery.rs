//! The three ways of loss recovery in whole runs: what reordering and loss do to each.

use crate::common::{self, Recorder, collective, leaf_spine, pattern_of, run, single_switch};
use fabricbench_sim::capture;
use record::{ChunkRow, ChunkStatus};
use spec::{
    EcmpHash, ImpairmentSpec, LoadBalancing, LossRecovery, NicDirection, PfcSpec, PinSpec, QpMode, RatioSpec,
    RunSpec, RunStatus, XoffSpec,
};

/// One byte at 400 Gb/s [ps].
const BYTE_PS: u64 = 20;
/// Payload of a chunk of the published runs: 6,400 frames.
const CHUNK: u64 = 26_214_400;
/// Preamble, gap and headers of a frame that carries a RETH; an ACK with preamble and gap.
const FRAME_OVERHEAD: u64 = 82 + 16;
const ACK: u64 = 86;

fn sum(recorder: &Recorder, field: fn(&ChunkRow) -> u64) -> u64 {
    recorder.chunks.iter().map(field).sum()
}

/// A ring all-gather of 8 ranks over two leaves, each step of which crosses the spines.
fn all_gather(balancing: LoadBalancing, recovery: LossRecovery, chunk_bytes: u64) -> RunSpec {
    let mut spec = collective(leaf_spine(4), 8, "all-gather", "ring", 8 * chunk_bytes);
    spec.jobs[0].hosts = vec![0, 4, 1, 5, 2, 6, 3, 7];
    spec.fabric.load_balancing = balancing;
    spec.transport.recovery = recovery;
    spec
}

/// Seven steps, each with the frames of a chunk and the ACKs of another on every link, and a path through two
/// leaves and a spine.
fn ring_ps(chunk_bytes: u64, ack_every: u64) -> u64 {
    let frames = chunk_bytes / 4096;
    let bytes = chunk_bytes + frames * FRAME_OVERHEAD + frames / ack_every * ACK;
    let path_ps =
        2 * 400_000 + 2 * 15_000 + 2 * 150_000 + 3 * 500_000 + 3 * (4096 + FRAME_OVERHEAD) * BYTE_PS;
    7 * (bytes * BYTE_PS + path_ps)
}

#[test]
fn sprayed_packets_with_selective_recovery_take_the_time_of_their_bytes() {
    for (balancing, percent) in [
        (LoadBalancing::SprayRandom {}, 95),
        (LoadBalancing::SprayRoundRobin {}, 99),
        (LoadBalancing::Adaptive {}, 99),
    ] {
        let spec = all_gather(balancing.clone(), LossRecovery::Selective, CHUNK);
        let (summary, recorder) = run(&spec);
        let (time, ideal) = (common::completion_ps(&summary), ring_ps(CHUNK, 2));
        println!("{balancing:?}: {time} ps, closed form {ideal} ps");
        assert!(time >= ideal && time * percent <= ideal * 100, "{balancing:?}: {time} against {ideal}");
        assert_eq!((sum(&recorder, |chunk| chunk.retransmits), sum(&recorder, |chunk| chunk.naks)), (0, 0));
        assert!(sum(&recorder, |chunk| chunk.out_of_order) > 10_000, "it does reorder");
        for chunk in &recorder.chunks {
            assert_eq!((chunk.tx_frames, chunk.rx_frames, chunk.latency_frames), (6_400, 6_400, 6_400));
            assert_eq!(chunk.tx_bytes, CHUNK + 6_400 * 78, "every frame carries a RETH");
        }
    }
}

#[test]
fn sprayed_packets_with_go_back_n_are_sent_over_and_over() {
    let spec = all_gather(LoadBalancing::SprayRandom {}, LossRecovery::GoBackN, 2 << 20);
    let (summary, recorder) = run(&spec);
    let (time, ideal) = (common::completion_ps(&summary), ring_ps(2 << 20, 2));
    println!("{time} ps, closed form {ideal} ps, {} resent", sum(&recorder, |chunk| chunk.retransmits));
    assert!(time > 5 * ideal, "{time} against {ideal}");
    assert!(sum(&recorder, |chunk| chunk.retransmits) > 56 * 512, "more than everything once again");
    assert_eq!(summary.frames_lost.total(), 0, "nothing but reordering is the cause");
}

#[test]
fn selective_recovery_resends_what_was_lost_and_nothing_else() {
    let mut spec = collective(single_switch(5), 5, "incast", "parallel", 4 << 20);
    spec.fabric.switch.buffer.size_bytes = 1 << 20;
    spec.transport.recovery = LossRecovery::Selective;
    spec.transport.timeout_ps = 500_000_000;
    let (summary, recorder) = run(&spec);
    assert_eq!(summary.status, RunStatus::Complete);
    let (resent, timeouts) =
        (sum(&recorder, |chunk| chunk.retransmits), sum(&recorder, |chunk| chunk.timeouts));
    let lost = summary.frames_lost.total();
    println!("{lost} lost, {resent} resent, {timeouts} timeouts");
    assert!(lost > 0 && resent >= lost && resent <= lost + timeouts, "{lost} {resent} {timeouts}");
    for chunk in &recorder.chunks {
        assert_eq!(chunk.latency_frames, 1024, "each packet is placed once");
        assert_eq!(chunk.tx_frames, 1024 + chunk.retransmits);
    }
}

/// Chunks that follow each other on a queue pair overlap when packets overtake each other.
#[test]
fn chunks_of_one_queue_pair_keep_their_own_counts() {
    let mut spec = all_gather(LoadBalancing::SprayRandom {}, LossRecovery::Selective, 1 << 20);
    spec.transport.qp_mode = QpMode::PerPair;
    let (summary, recorder) = run(&spec);
    assert_eq!(summary.status, RunStatus::Complete);
    for chunk in &recorder.chunks {
        assert_eq!((chunk.tx_frames, chunk.rx_frames, chunk.latency_frames), (256, 256, 256));
    }
}

/// Pins every queue pair between the leaves to an uplink.
fn pin(spec: &mut RunSpec, uplink: impl Fn(&ChunkRow) -> u32) {
    // Which queue pairs cross is known from a run without pins.
    let mut small = spec.clone();
    small.jobs.iter_mut().for_each(|job| pattern_of(job).data_bytes = 8 * 4096);
    let (_, recorder) = run(&small);
    let crossing = recorder.chunks.iter().filter(|chunk| chunk.src_host / 4 != chunk.dst_host / 4);
    let pins = crossing.map(|chunk| PinSpec {
        switch: format!("leaf{}", chunk.src_host / 4),
        qp: chunk.qp,
        uplink: uplink(chunk),
    });
    spec.fabric.load_balancing = LoadBalancing::Pinned { pins: pins.collect() };
}

/// The published case: in one step of a ring, two chunks of 6,400 frames meet on one uplink of each leaf,
/// whose buffer is 32 MB. ACKs are few, so that they take no noticeable share of the senders' links.
fn two_meet() -> RunSpec {
    let mut spec = collective(leaf_spine(4), 8, "all-gather", "ring", 8 * CHUNK);
    // Two queue pairs of each leaf cross in every step.
    spec.jobs[0].hosts = vec![0, 1, 4, 5, 2, 3, 6, 7];
    spec.fabric.switch.buffer.size_bytes = 32_000_000;
    spec.fabric.switch.buffer.lossy_alpha = Some(RatioSpec { numerator: 3, denominator: 1 });
    spec.transport.recovery = LossRecovery::None;
    spec.transport.ack_every = 32;
    pin(&mut spec, |chunk| if chunk.step == 2 { 0 } else { chunk.src_host % 4 });
    spec
}

#[test]
fn without_recovery_what_meets_on_an_uplink_is_lost_and_counted() {
    let (summary, recorder) = run(&two_meet());
    let lossy: Vec<_> = recorder.chunks.iter().filter(|chunk| chunk.rx_frames < chunk.tx_frames).collect();
    for chunk in &lossy {
        println!("step {}: {} of {} frames arrived", chunk.step, chunk.rx_frames, chunk.tx_frames);
        assert_eq!((chunk.status, chunk.step, chunk.tx_frames), (ChunkStatus::Failed, 2, 6_400));
        assert_eq!((chunk.completed_ps, chunk.delivered_ps, chunk.retransmits), (None, None, 0));
    }
    let lost: u64 = lossy.iter().map(|chunk| chunk.tx_frames - chunk.rx_frames).sum();
    assert_eq!(lost, summary.frames_lost.buffer_full);
    // Two rates into one: half of 2 x 6,400 frames has left when all have come; 3 / (1 + 3) of the buffer
    // holds of the rest what it can. Published are 666 and 607.
    let expected = 2 * (6_400 - 24_000_000 / (4096 + 62));
    assert!(lost.abs_diff(expected) * 100 < expected, "{lost} lost, {expected} expected");
    assert!(lost.abs_diff(666 + 607) * 100 < (666 + 607) * 5, "{lost} lost");

    let job = &summary.jobs[0];
    println!("{}", job.reason);
    assert_eq!(
        (job.status, job.end_ps, job.chunks_failed),
        (RunStatus::Incomplete, None, lossy.len() as u64)
    );
    assert!(
        job.reason.starts_with(&format!(
            "{lost} of {} frames lost on {} queue pairs",
            6_400 * lossy.len(),
            lossy.len()
        )),
        "{}",
        job.reason
    );
    // Each lost chunk would have been passed on in the steps that follow it.
    let never: Vec<_> = recorder.chunks.iter().filter(|chunk| chunk.start_ps.is_none()).collect();
    assert_eq!(never.len(), 4 * lossy.len());
    assert_eq!(job.chunks_complete, 56 - 5 * lossy.len() as u64);
    assert!(never.iter().all(|chunk| chunk.status == ChunkStatus::Unfinished && chunk.step > 2));
}

#[test]
fn without_recovery_a_chunk_that_loses_its_end_does_not_hang_the_run() {
    let mut spec = collective(single_switch(3), 3, "incast", "parallel", 1 << 20);
    spec.transport.recovery = LossRecovery::None;
    spec.fabric.switch.buffer.size_bytes = 64;
    let (summary, recorder) = run(&spec);
    assert_eq!(summary.frames_lost.buffer_full, 512);
    let counts = |chunk: &ChunkRow| (chunk.status, chunk.tx_frames, chunk.rx_frames);
    assert!(recorder.chunks.iter().all(|chunk| counts(chunk) == (ChunkStatus::Failed, 256, 0)));
    assert!(
        summary.jobs[0].reason.starts_with("512 of 512 frames lost on 2 queue pairs"),
        "{}",
        summary.jobs[0].reason
    );
}

#[test]
fn without_recovery_reordering_is_no_loss() {
    let spec = all_gather(LoadBalancing::SprayRandom {}, LossRecovery::None, 4 << 20);
    let (summary, recorder) = run(&spec);
    assert_eq!(summary.status, RunStatus::Complete);
    assert!(sum(&recorder, |chunk| chunk.out_of_order) > 1_000);
    assert!(recorder.chunks.iter().all(|chunk| (chunk.tx_frames, chunk.rx_frames) == (1024, 1024)));
}

/// Host 1 takes nothing in, so the queue pair to it fails before the next chunk for it is there.
#[test]
fn a_chunk_for_a_failed_queue_pair_fails_at_once() {
    let mut spec = collective(single_switch(4), 4, "all-gather", "ring", 4 << 20);
    spec.transport.qp_mode = QpMode::PerPair;
    spec.transport.timeout_ps = 10_000_000;
    spec.transport.retry_count = 0;
    spec.fabric.nic.receive_buffer_bytes = 64;
    spec.fabric.nic.receive_xoff_bytes = 32;
    spec.fabric.nic.impairments =
        vec![ImpairmentSpec { host: 1, throughput_ppm: 500_000, direction: NicDirection::Both }];
    let (summary, recorder) = run(&spec);
    let to_host_1: Vec<_> = recorder.chunks.iter().filter(|chunk| chunk.dst_host == 1).collect();
    assert_eq!(to_host_1.len(), 3);
    assert!(to_host_1.iter().all(|chunk| chunk.status == ChunkStatus::Failed && chunk.start_ps.is_some()));
    assert_eq!(to_host_1.iter().filter(|chunk| chunk.tx_frames == 0).count(), 2, "they were never sent");
    assert_eq!(summary.jobs[0].chunks_failed, 3);
}

#[test]
fn captured_frames_of_selective_recovery_are_writes_of_their_own() {
    let mut spec = collective(single_switch(2), 2, "incast", "parallel", 256 << 10);
    spec.transport.recovery = LossRecovery::Selective;
    let frames = capture(&spec, &[0], 100).expect("queue pair 0 is there");
    // Ethernet, IPv4, UDP; then the BTH begins with the opcode.
    let opcode = |bytes: &[u8]| bytes[14 + 20 + 8];
    let data: Vec<_> = frames.iter().filter(|frame| frame.host == 1).collect();
    assert_eq!(data.len(), 64, "of {}", frames.len());
    for (number, frame) in data.iter().enumerate() {
        let bth = &frame.bytes[42..54];
        assert_eq!(opcode(&frame.bytes), 0x0a, "RC WRITE Only");
        assert_eq!(bth[8] >> 7, u8::from(number % 32 == 31), "the last of 128 KB asks for an ACK");
        let reth = &frame.bytes[54..70];
        assert_eq!(reth[..8], (number as u64 * 4096).to_be_bytes());
        assert_eq!(reth[12..], 4096_u32.to_be_bytes());
    }
    let acks: Vec<_> = frames.iter().filter(|frame| opcode(&frame.bytes) == 0x11).collect();
    assert_eq!(acks.len(), 32);
    for ack in acks {
        assert_eq!(ack.bytes[51..54], ack.bytes[55..58], "in order, the newest is the highest");
    }
}

/// The message sequence number of an ACK is that of the time at which it was made, however long it waited.
#[test]
fn captured_acks_count_the_messages_that_they_acknowledge() {
    // ACKs share the priority of data, so they wait while a congested switch pauses it.
    let ecmp = LoadBalancing::Ecmp { hash: EcmpHash::Crc, include_qp: false };
    let mut spec = all_gather(ecmp, LossRecovery::GoBackN, 1 << 20);
    spec.fabric.switch.pfc =
        Some(PfcSpec { xoff: XoffSpec::Static { bytes: 20_000 }, ..common::dynamic_pfc() });
    spec.transport.priorities.ack = 3;
    spec.transport.message_bytes = 4096;
    spec.transport.ack_every = 1;
    let queue_pairs: Vec<u32> = (0..56).collect();
    let frames = capture(&spec, &queue_pairs, usize::MAX).expect("the queue pairs are there");
    let mut first = [None; 56];
    let word = |bytes: &[u8], at: usize| u32::from_be_bytes([0, bytes[at], bytes[at + 1], bytes[at + 2]]);
    for frame in frames {
        let (psn, first) = (word(&frame.bytes, 51), &mut first[frame.queue_pair as usize]);
        if frame.bytes[42] == 0x11 {
            let first: u32 = first.expect("data comes first");
            let messages = (psn.wrapping_sub(first) & 0xff_ffff) + 1;
            assert_eq!(word(&frame.bytes, 55), messages, "queue pair {}", frame.queue_pair);
        } else {
            first.get_or_insert(psn);
        }
    }
}

/// A NAK names the first packet that is missing, so the messages that came whole are those before it.
#[test]
fn captured_naks_count_the_messages_before_the_missing_packet() {
    let mut spec = collective(single_switch(5), 5, "incast", "parallel", 1 << 20);
    spec.fabric.switch.buffer.size_bytes = 256 << 10;
    spec.transport.message_bytes = 4 * 4096;
    spec.transport.timeout_ps = 500_000_000;
    let queue_pairs: Vec<u32> = (0..4).collect();
    let frames = capture(&spec, &queue_pairs, usize::MAX).expect("the queue pairs are there");
    let (mut first, mut naks) = ([None; 4], Vec::new());
    let word = |bytes: &[u8], at: usize| u32::from_be_bytes([0, bytes[at], bytes[at + 1], bytes[at + 2]]);
    for frame in frames {
        let (psn, first) = (word(&frame.bytes, 51), &mut first[frame.queue_pair as usize]);
        if frame.bytes[42] != 0x11 {
            first.get_or_insert(psn);
            continue;
        }
        let is_nak = frame.bytes[54] == 0x60;
        let packets_before = psn.wrapping_sub(first.expect("data comes first")) & 0xff_ffff;
        let messages = (packets_before + u32::from(!is_nak)) / 4;
        assert_eq!(word(&frame.bytes, 55), messages, "queue pair {}", frame.queue_pair);
        if is_nak {
            naks.push(messages);
        }
    }
    assert!(naks.iter().any(|&messages| messages > 1), "{naks:?}");
}
