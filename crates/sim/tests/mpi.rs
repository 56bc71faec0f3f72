//! What an MPI library adds to a collective: the handshake before large messages, and the copy of a rank's
//! own block.

use crate::common::{collective, collective_of, leaf_spine, run, single_switch, tables};
use record::ChunkRow;
use spec::{QpMode, RendezvousSpec, RepeatSpec, RunSpec, RunStatus};

/// Shared memory of `common::collective`: 80 Gb/s.
const COPY_PS_PER_BYTE: u64 = 100;
const CONTROL_BYTES: u64 = 64;

fn chunks(spec: &RunSpec) -> Vec<ChunkRow> {
    let (summary, recorder) = run(spec);
    assert_eq!(summary.jobs[0].status, RunStatus::Complete, "{}", summary.jobs[0].reason);
    recorder.chunks
}

fn per_pair(ranks: u32, name: &str, algorithm: &str, bytes: u64) -> RunSpec {
    let mut spec = collective(leaf_spine(4), ranks, name, algorithm, bytes);
    spec.transport.qp_mode = QpMode::PerPair;
    spec
}

fn with_handshake(mut spec: RunSpec, threshold_bytes: u64) -> RunSpec {
    collective_of(&mut spec.jobs[0]).rendezvous =
        Some(RendezvousSpec { threshold_bytes, control_bytes: CONTROL_BYTES });
    spec
}

/// From the post of a single message to its delivery [ps].
fn delivery(spec: &RunSpec) -> u64 {
    let chunks = chunks(spec);
    let [only] = &chunks[..] else { panic!("{} messages", chunks.len()) };
    only.delivered_ps.expect("it was delivered") - only.start_ps.expect("it was posted")
}

#[test]
fn a_handshake_takes_a_round_trip_and_the_software_of_two_messages() {
    let overhead = 300_000;
    let message = |bytes| {
        let mut spec = per_pair(2, "incast", "parallel", bytes);
        spec.jobs[0].hosts = vec![0, 5];
        collective_of(&mut spec.jobs[0]).step_overhead_ps = overhead;
        spec
    };
    // The way back is as long.
    let control = delivery(&message(CONTROL_BYTES));
    for bytes in [1 << 14, (2 << 20) + 1] {
        let (eager, announced) = (message(bytes), with_handshake(message(bytes), 1 << 14));
        assert_eq!(delivery(&announced), delivery(&eager) + 2 * (control + overhead), "{bytes} bytes");
    }
    let frames = |spec: &RunSpec| run(spec).0.frames_sent;
    // Announcement and clearance, each with its acknowledgement.
    assert_eq!(frames(&with_handshake(message(1 << 14), 1)), frames(&message(1 << 14)) + 4);
}

#[test]
fn a_message_below_the_threshold_is_sent_at_once() {
    for algorithm in ["parallel", "pairwise"] {
        let eager = per_pair(8, "all-to-all", algorithm, 8 << 14);
        let below = with_handshake(eager.clone(), (1 << 14) + 1);
        assert_eq!(tables(&run(&eager).1), tables(&run(&below).1));
    }
}

#[test]
fn payload_keeps_its_paths_and_rows_when_it_is_announced() {
    let eager = per_pair(8, "all-to-all", "parallel", 8 << 20);
    let announced = with_handshake(eager.clone(), 1 << 10);
    let ports = |spec: &RunSpec| {
        let key = |chunk: &ChunkRow| (chunk.src_rank, chunk.dst_rank, chunk.channel, chunk.udp_source_port);
        let mut ports: Vec<_> = chunks(spec).iter().map(key).collect();
        ports.sort_unstable();
        ports
    };
    assert_eq!(ports(&eager), ports(&announced));
    let (summary, recorder) = run(&announced);
    assert_eq!((summary.jobs[0].chunks, recorder.chunks.len()), (56, 56));
    let nodes = |spec: &RunSpec| run(spec).1.paths.len();
    assert_eq!(nodes(&eager), nodes(&announced));
}

#[test]
fn what_ranks_of_a_host_copy_has_no_handshake() {
    let mut spec = per_pair(2, "send-receive", "parallel", 1 << 20);
    spec.jobs[0].hosts = vec![3, 3];
    assert_eq!(tables(&run(&spec).1), tables(&run(&with_handshake(spec, 1)).1));
}

#[test]
fn a_blocking_program_clears_one_message_after_the_other() {
    // Rank 3 receives from rank 1 at the second step; whether it is announced or not, not before the first is
    // there.
    let spec = with_handshake(per_pair(4, "all-to-all", "pairwise", 4 << 20), 1);
    let chunks = chunks(&spec);
    for first in chunks.iter().filter(|chunk| chunk.step == 0) {
        let second = chunks.iter().find(|chunk| (chunk.dst_rank, chunk.step) == (first.dst_rank, 1));
        let second = second.expect("each rank receives at each step");
        let sending = 1 << 20;
        // At 400 Gb/s: 20 ps a byte.
        assert!(second.delivered_ps.unwrap() >= first.delivered_ps.unwrap() + sending * 20);
    }
}

#[test]
fn a_rank_copies_its_own_block_before_it_posts() {
    let block = 1 << 16;
    let mut spec = collective(single_switch(4), 4, "all-to-all", "parallel", 4 * block);
    spec.jobs[0].repeat = RepeatSpec::Rounds { rounds: 3 };
    spec.jobs[0].start_ps = 5_000;
    let plain = chunks(&spec);
    collective_of(&mut spec.jobs[0]).copies_own_block = true;
    let copied = chunks(&spec);
    let copy = block * COPY_PS_PER_BYTE;
    for (plain, copied) in plain.iter().zip(&copied) {
        assert_eq!((plain.src_rank, plain.dst_rank), (copied.src_rank, copied.dst_rank));
        let copies = u64::from(plain.round + 1) * copy;
        assert_eq!(copied.start_ps, plain.start_ps.map(|at| at + copies));
        assert_eq!(copied.delivered_ps, plain.delivered_ps.map(|at| at + copies));
    }
}
