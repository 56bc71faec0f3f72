//! Finite buffers: what is lost, and what go-back-N makes of it.

use crate::common::{self, collective, run, single_switch};
use record::ChunkStatus;
use spec::RunStatus;

#[test]
fn an_incast_beyond_the_buffer_loses_frames_and_still_delivers_every_byte() {
    let mut spec = collective(single_switch(5), 5, "incast", "parallel", 4 << 20);
    spec.fabric.switch.buffer.size_bytes = 256 << 10;
    spec.transport.timeout_ps = 100_000_000;
    let (summary, recorder) = run(&spec);
    assert_eq!(summary.status, RunStatus::Complete);
    assert!(summary.frames_lost.buffer_full > 0);
    assert!(summary.exact_windows > 0 && summary.fast_windows > 0, "{summary:?}");
    let retransmits: u64 = recorder.chunks.iter().map(|chunk| chunk.retransmits).sum();
    assert!(retransmits >= summary.frames_lost.buffer_full, "go-back-N resends at least what was lost");
    for chunk in &recorder.chunks {
        assert_eq!(chunk.status, ChunkStatus::Complete);
        assert_eq!(chunk.latency_frames, 1024, "each packet is accepted once");
        assert_eq!(chunk.tx_frames, 1024 + chunk.retransmits);
    }
    let dropped: u64 = recorder.ports.iter().map(|port| port.dropped_frames).sum();
    assert_eq!(dropped, summary.frames_lost.buffer_full);
    let deepest = recorder.ports.iter().map(|port| port.queue_max_bytes).max();
    assert!(deepest.is_some_and(|bytes| bytes <= 256 << 10), "a queue is never larger than the buffer");
}

#[test]
fn a_fabric_that_passes_nothing_fails_its_queue_pairs_and_says_so() {
    let mut spec = collective(single_switch(3), 3, "all-reduce", "ring", 3 << 20);
    spec.fabric.switch.buffer.size_bytes = 64;
    spec.transport.timeout_ps = 10_000_000;
    spec.transport.retry_count = 2;
    let (summary, recorder) = run(&spec);
    assert_eq!(summary.status, RunStatus::Incomplete);
    let job = &summary.jobs[0];
    assert_eq!((job.end_ps, job.chunks, job.chunks_complete, job.chunks_failed), (None, 12, 0, 3));
    assert!(job.reason.contains("3 of 12 chunks failed and 9 never completed"), "{}", job.reason);
    assert_eq!(recorder.chunks.len(), 12, "every chunk has its row");
    let unfinished = recorder.chunks.iter().filter(|chunk| chunk.status == ChunkStatus::Unfinished);
    assert!(unfinished.clone().all(|chunk| chunk.start_ps.is_none() && chunk.tx_frames == 0));
    assert_eq!(unfinished.count(), 9);
    assert_eq!(recorder.events.len(), 3);
    assert!(recorder.events.iter().all(|event| event.kind == "qp_failed"));
}

#[test]
fn a_window_of_one_packet_is_a_round_trip_for_each() {
    let mut spec = collective(single_switch(2), 2, "incast", "parallel", 64 << 10);
    spec.transport.window_packets = 1;
    spec.transport.ack_every = 1;
    let (summary, recorder) = run(&spec);
    let one = recorder.chunks[0].latency_min_ps.expect("frames arrived");
    let end = common::completion_ps(&summary);
    // Frame latency excludes the NICs (800 ns each way); the way back takes an ACK of 66 bytes.
    let round_trip = one + 2 * 800_000 + 2 * 86 * 20 + 530_000;
    assert!(end.abs_diff(16 * round_trip) < 16 * 1_000, "{end} against {}", 16 * round_trip);
}

#[test]
fn several_queue_pairs_share_a_chunk() {
    let mut spec = collective(single_switch(4), 4, "all-gather", "ring", 4 << 20);
    spec.transport.qps_per_rank_pair = 4;
    let (summary, recorder) = run(&spec);
    assert_eq!(summary.status, RunStatus::Complete);
    assert_eq!(recorder.chunks.len(), 4 * 3 * 4);
    assert!(recorder.chunks.iter().all(|chunk| chunk.payload_bytes == 256 << 10));
    let queue_pairs: std::collections::HashSet<_> = recorder.chunks.iter().map(|chunk| chunk.qp).collect();
    assert_eq!(queue_pairs.len(), 48);
    spec.transport.qp_mode = spec::QpMode::PerPair;
    let (_, recorder) = run(&spec);
    let queue_pairs: std::collections::HashSet<_> = recorder.chunks.iter().map(|chunk| chunk.qp).collect();
    assert_eq!(queue_pairs.len(), 16, "one for each rank pair and part, reused in every step");
}
