//! Several ranks on one host: shared memory between them, one NIC to the rest, rounds and overheads of each
//! rank.

use crate::common::{collective, collective_of, leaf_spine, run, single_switch};
use record::ChunkRow;
use spec::{RepeatSpec, RunSpec, RunStatus};

/// Shared memory of `common::collective`: 80 Gb/s, 300 ns.
const COPY_PS_PER_BYTE: u64 = 100;
const COPY_LATENCY_PS: u64 = 300_000;

fn chunks(spec: &RunSpec) -> Vec<ChunkRow> {
    let (summary, recorder) = run(spec);
    assert_eq!(summary.jobs[0].status, RunStatus::Complete, "{}", summary.jobs[0].reason);
    recorder.chunks
}

/// `ranks` ranks, `per_host` on each host, by host.
fn packed(name: &str, algorithm: &str, ranks: u32, per_host: u32, bytes: u64) -> RunSpec {
    let mut spec = collective(leaf_spine(4), ranks, name, algorithm, bytes);
    spec.jobs[0].hosts = (0..ranks).map(|rank| rank / per_host).collect();
    spec
}

fn end(chunks: &[ChunkRow]) -> u64 {
    chunks.iter().filter_map(|chunk| chunk.completed_ps).max().expect("there is one")
}

#[test]
fn what_stays_on_a_host_never_enters_the_network() {
    let spec = packed("all-to-all", "parallel", 8, 4, 8 * 4096);
    let (summary, recorder) = run(&spec);
    let (local, far) =
        recorder.chunks.iter().partition::<Vec<&ChunkRow>, _>(|chunk| chunk.src_host == chunk.dst_host);
    assert_eq!((local.len(), far.len()), (2 * 4 * 3, 2 * 4 * 4));
    assert!(local.iter().all(|chunk| (chunk.tx_frames, chunk.rx_frames, chunk.tx_bytes) == (0, 0, 0)));
    assert!(far.iter().all(|chunk| (chunk.tx_frames, chunk.rx_frames) == (1, 1)));
    // Each frame of data is acknowledged; both cross two links or four.
    assert_eq!(summary.frames_sent, 2 * 32);
}

#[test]
fn a_rank_copies_one_message_after_the_other() {
    let chunks = chunks(&packed("scatter", "parallel", 4, 4, 4 * 8192));
    let mut delivered: Vec<_> =
        chunks.iter().map(|chunk| chunk.delivered_ps.expect("there is one")).collect();
    delivered.sort_unstable();
    let copy = 8192 * COPY_PS_PER_BYTE;
    assert_eq!(delivered, [1, 2, 3].map(|count| count * copy + COPY_LATENCY_PS));
}

#[test]
fn ranks_of_a_host_share_its_port() {
    let bytes = 1 << 20;
    let alone = end(&chunks(&packed("incast", "parallel", 2, 1, bytes)));
    let mut spec = packed("incast", "parallel", 5, 1, bytes);
    spec.jobs[0].hosts = vec![0, 1, 1, 1, 1];
    let shared = end(&chunks(&spec));
    // One after the other through the port, whose latency is paid once.
    assert!(shared > 7 * alone / 2 && shared < 4 * alone, "{alone} {shared}");
}

#[test]
fn each_rank_has_rounds_of_its_own() {
    // Ranks 0 and 1 exchange on host 0, ranks 2 and 3 over the network.
    let mut spec = packed("send-receive", "parallel", 4, 3, 64 * 1024);
    spec.jobs[0].repeat = RepeatSpec::Rounds { rounds: 7 };
    let chunks = chunks(&spec);
    assert_eq!(chunks.len(), 7 * 4);
    let start = |round, rank| {
        let mut own = chunks.iter().filter(|chunk| (chunk.round, chunk.src_rank) == (round, rank));
        own.next().expect("there is one").start_ps.expect("there is one")
    };
    let copy = 64 * 1024 * COPY_PS_PER_BYTE + COPY_LATENCY_PS;
    for round in 0..7 {
        assert_eq!((start(round, 0), start(round, 1)), (u64::from(round) * copy, u64::from(round) * copy));
    }
    assert!(start(1, 2) != start(1, 0) && start(1, 2) == start(1, 3));
}

#[test]
fn a_rank_is_busy_with_each_message_it_sends_and_takes_in() {
    let (send, receive) = (700_000, 900_000);
    let mut spec = collective(single_switch(4), 4, "all-to-all", "parallel", 4 * 1024);
    collective_of(&mut spec.jobs[0]).send_overhead_ps = send;
    collective_of(&mut spec.jobs[0]).receive_overhead_ps = receive;
    let mut starts: Vec<_> = chunks(&spec)
        .iter()
        .filter(|chunk| chunk.src_rank == 0)
        .map(|chunk| chunk.start_ps.expect("there is one"))
        .collect();
    starts.sort_unstable();
    assert_eq!(starts, [send, 2 * send, 3 * send]);
    let mut ring = collective(single_switch(2), 2, "all-reduce", "ring", 2 * 1024);
    let step = |spec: &RunSpec| {
        let of = |step| {
            chunks(spec).into_iter().find(|c| (c.src_rank, c.step) == (0, step)).expect("there is one")
        };
        let before = chunks(spec).into_iter().find(|c| (c.dst_rank, c.step) == (0, 0)).expect("there is one");
        of(1).start_ps.expect("there is one") - before.delivered_ps.expect("there is one")
    };
    assert_eq!(step(&ring), 0);
    collective_of(&mut ring.jobs[0]).send_overhead_ps = send;
    collective_of(&mut ring.jobs[0]).receive_overhead_ps = receive;
    assert_eq!(step(&ring), send + receive);
}
