//! Sizes from one byte: parts that are uneven or empty, and what they cost on the wire.

use crate::common::{collective, leaf_spine, run, single_switch};
use record::ChunkRow;
use spec::{LossRecovery, QpMode, RunSpec, RunStatus};

/// Bytes of a frame with payload of 1 to 4 bytes, and of one without: RETH included, no preamble.
const FRAME_OF_A_BYTE: u64 = 82;
const FRAME_OF_NOTHING: u64 = 78;

fn chunks(spec: &RunSpec) -> Vec<ChunkRow> {
    let (summary, recorder) = run(spec);
    assert_eq!(summary.jobs[0].status, RunStatus::Complete, "{}", summary.jobs[0].reason);
    recorder.chunks
}

#[test]
fn one_byte_around_a_ring_takes_every_step_and_empty_parts_are_headers() {
    let ranks = 8;
    for recovery in [LossRecovery::GoBackN, LossRecovery::Selective, LossRecovery::None] {
        for qp_mode in [QpMode::PerPair, QpMode::PerChunk] {
            let mut spec = collective(leaf_spine(4), ranks, "all-reduce", "ring", 1);
            spec.transport.recovery = recovery;
            spec.transport.qp_mode = qp_mode;
            let chunks = chunks(&spec);
            assert_eq!(chunks.len() as u32, 2 * (ranks - 1) * ranks);
            for chunk in chunks {
                let expected = if chunk.block == 0 { (1, FRAME_OF_A_BYTE) } else { (0, FRAME_OF_NOTHING) };
                assert_eq!((chunk.payload_bytes, chunk.tx_bytes), expected);
                assert_eq!((chunk.tx_frames, chunk.rx_frames, chunk.latency_frames), (1, 1, 1));
            }
        }
    }
}

#[test]
fn a_byte_split_over_four_queue_pairs_is_one_message_with_it_and_three_without() {
    let mut spec = collective(single_switch(2), 2, "send-receive", "parallel", 1);
    spec.transport.qps_per_rank_pair = 4;
    let mut sizes: Vec<_> = chunks(&spec).iter().map(|chunk| (chunk.part, chunk.payload_bytes)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    assert_eq!(sizes, [(0, 1), (1, 0), (2, 0), (3, 0)]);
}

#[test]
fn every_pattern_takes_its_smallest_message() {
    for (name, algorithm) in fabricbench_sim::patterns() {
        let size = fabricbench_sim::shares(name, 8);
        let payload: u64 = chunks(&collective(leaf_spine(4), 8, name, algorithm, size))
            .iter()
            .map(|chunk| chunk.payload_bytes)
            .sum();
        assert!(payload >= 7 || name == "send-receive", "{name} {algorithm} moves {payload} bytes");
    }
}

#[test]
fn a_pong_starts_when_its_ping_has_arrived() {
    let mut spec = collective(single_switch(4), 4, "ping-pong", "parallel", 4096);
    spec.jobs[0].repeat = spec::RepeatSpec::Rounds { rounds: 3 };
    let mut chunks = chunks(&spec);
    chunks.sort_unstable_by_key(|chunk| (chunk.src_rank / 2, chunk.round, chunk.step));
    for round in chunks.chunks(2) {
        let [ping, pong] = round else { panic!("a round of a pair has two messages") };
        assert_eq!((ping.src_rank, pong.src_rank), (ping.dst_rank - 1, ping.dst_rank));
        assert_eq!(pong.start_ps, ping.delivered_ps);
    }
    // The next ping waits for the pong, not for the acknowledgement of the pong.
    assert_eq!((chunks[2].round, chunks[2].start_ps), (1, chunks[1].delivered_ps));
}

#[test]
fn rounds_of_empty_messages_repeat() {
    let mut spec = collective(single_switch(4), 4, "all-reduce", "halving-doubling", 1);
    spec.jobs[0].repeat = spec::RepeatSpec::Rounds { rounds: 50 };
    assert_eq!(chunks(&spec).len(), 50 * 4 * 4);
}
