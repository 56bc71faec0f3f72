//! Rounds as MPI benchmarks make them: some to warm up, a root that moves on, a barrier in between.

use crate::common::{self, collective, collective_of, leaf_spine, pattern_of, run, single_switch, tables};
use proptest::prelude::*;
use record::ChunkRow;
use spec::{JobSummary, QpMode, RankTimes, RendezvousSpec, RepeatSpec, RoundTimes, RunSpec, RunStatus};

fn repeated(mut spec: RunSpec, rounds: u32) -> RunSpec {
    spec.transport.qp_mode = QpMode::PerPair;
    spec.jobs[0].repeat = RepeatSpec::Rounds { rounds };
    spec
}

fn outcome(spec: &RunSpec) -> (JobSummary, Vec<ChunkRow>) {
    let (summary, recorder) = run(spec);
    let job = summary.jobs[0].clone();
    assert_eq!(job.status, RunStatus::Complete, "{}", job.reason);
    (job, recorder.chunks)
}

fn of_round(chunks: &[ChunkRow], round: u32) -> impl Iterator<Item = &ChunkRow> + Clone {
    chunks.iter().filter(move |chunk| chunk.round == round)
}

/// When a rank is done with a round: what it sends is acknowledged, what it receives has arrived.
fn end_at(chunks: &[ChunkRow], round: u32, rank: u32) -> u64 {
    let sent = of_round(chunks, round).filter(|chunk| chunk.src_rank == rank).map(|chunk| chunk.completed_ps);
    let received =
        of_round(chunks, round).filter(|chunk| chunk.dst_rank == rank).map(|chunk| chunk.delivered_ps);
    sent.chain(received).max().flatten().expect("the rank takes part")
}

#[test]
fn rounds_to_warm_up_are_rounds_that_do_not_count() {
    let all = repeated(collective(leaf_spine(4), 8, "all-gather", "ring", 1 << 20), 5);
    let mut some = repeated(all.clone(), 3);
    collective_of(&mut some.jobs[0]).warm_up_rounds = 2;
    let ((of_all, chunks), (of_some, _)) = (outcome(&all), outcome(&some));
    assert_eq!(tables(&run(&all).1), tables(&run(&some).1));
    assert_eq!([of_all.rounds, of_all.warm_up_rounds, of_some.rounds, of_some.warm_up_rounds], [5, 0, 3, 2]);
    // Each rank begins its next round when it has ended the one before.
    let time = |rank, first, last| end_at(&chunks, last, rank) - end_at(&chunks, first, rank);
    let slowest = |first, last| (0..8).map(|rank| time(rank, first, last)).max();
    let times: Vec<u64> = (2..5).filter_map(|round| slowest(round - 1, round)).collect();
    let RoundTimes { sum_ps, min_ps, max_ps } = of_some.round_times.expect("three are complete");
    assert_eq!(Some(sum_ps), slowest(1, 4));
    assert_eq!((Some(&min_ps), Some(&max_ps)), (times.iter().min(), times.iter().max()));
    assert_eq!(of_all.round_times.map(|times| times.sum_ps), of_all.end_ps);
    assert_eq!(of_all.end_ps, of_some.end_ps);
}

#[test]
fn a_round_takes_at_least_as_long_as_its_slowest_chunk_though_rounds_overlap() {
    for (name, algorithm, shifts) in [("incast", "parallel", false), ("broadcast", "parallel", true)] {
        let mut spec = repeated(collective(single_switch(4), 4, name, algorithm, 1 << 16), 3);
        (collective_of(&mut spec.jobs[0]).root_shift, collective_of(&mut spec.jobs[0]).warm_up_rounds) =
            (shifts, 2);
        let (job, chunks) = outcome(&spec);
        let fct = |chunk: &ChunkRow| chunk.completed_ps.unwrap() - chunk.start_ps.unwrap();
        let slowest = |round| of_round(&chunks, round).map(fct).max().unwrap();
        let RoundTimes { sum_ps, min_ps, max_ps } = job.round_times.expect("three are complete");
        assert!(max_ps >= (2..5).map(slowest).max().unwrap(), "{name}");
        assert!(min_ps >= (2..5).map(slowest).min().unwrap() && sum_ps >= max_ps, "{name}");
        assert!(sum_ps < job.end_ps.unwrap(), "rounds to warm up do not count");
    }
}

#[test]
fn the_root_moves_on_from_round_to_round() {
    for (name, algorithm) in
        [("gather", "parallel"), ("gather", "tree"), ("reduce", "tree"), ("reduce", "rabenseifner")]
    {
        for rounds in [3, 11] {
            let mut spec = repeated(collective(single_switch(4), 4, name, algorithm, 1 << 16), rounds);
            (pattern_of(&mut spec.jobs[0]).root, collective_of(&mut spec.jobs[0]).root_shift) = (2, true);
            let (job, chunks) = outcome(&spec);
            assert_eq!((job.rounds, job.chunks), (rounds, chunks.len() as u64));
            for round in 0..rounds {
                let mut alone = repeated(spec.clone(), 1);
                (pattern_of(&mut alone.jobs[0]).root, collective_of(&mut alone.jobs[0]).root_shift) =
                    ((2 + round) % 4, false);
                let key =
                    |chunk: &ChunkRow| (chunk.src_rank, chunk.dst_rank, chunk.step, chunk.payload_bytes);
                let mut found: Vec<_> = of_round(&chunks, round).map(key).collect();
                let mut expected: Vec<_> = outcome(&alone).1.iter().map(key).collect();
                found.sort_unstable();
                expected.sort_unstable();
                assert_eq!(found, expected, "{name} {algorithm}, round {round}");
            }
        }
    }
}

#[test]
fn rounds_of_other_roots_may_have_other_numbers_of_handshakes() {
    for rounds in [3, 7] {
        let mut spec = repeated(collective(single_switch(4), 3, "gather", "parallel", 3 << 16), rounds);
        // Ranks 0 and 1 share a host: only transfers to and from rank 2 have a handshake.
        spec.jobs[0].hosts = vec![0, 0, 1];
        collective_of(&mut spec.jobs[0]).root_shift = true;
        spec.transport.qp_mode = QpMode::PerPair;
        collective_of(&mut spec.jobs[0]).rendezvous =
            Some(RendezvousSpec { threshold_bytes: 1, control_bytes: 64 });
        let (job, chunks) = outcome(&spec);
        assert_eq!((job.rounds, job.chunks), (rounds, chunks.len() as u64));
        // Handshakes are no rows: each round has its two payload chunks.
        for round in 0..rounds {
            assert_eq!(of_round(&chunks, round).count(), 2, "round {round}");
        }
    }
}

#[test]
fn queue_pairs_are_those_of_the_ranks_whatever_the_root() {
    let mut spec = repeated(collective(single_switch(4), 4, "gather", "parallel", 1 << 16), 12);
    collective_of(&mut spec.jobs[0]).root_shift = true;
    let (_, chunks) = outcome(&spec);
    let mut pairs: Vec<_> = chunks.iter().map(|chunk| (chunk.src_rank, chunk.dst_rank, chunk.qp)).collect();
    pairs.sort_unstable();
    pairs.dedup();
    assert_eq!(pairs.len(), 12);
}

#[test]
fn nobody_begins_a_round_before_all_have_ended_the_one_before() {
    let begin = |chunks: &[ChunkRow], round| {
        of_round(chunks, round).map(|chunk| chunk.start_ps.unwrap()).min().unwrap()
    };
    let end = |chunks: &[ChunkRow], round| (0..8).map(|rank| end_at(chunks, round, rank)).max().unwrap();
    for (name, algorithm) in [("gather", "parallel"), ("gather", "tree"), ("all-to-all", "pairwise")] {
        let mut spec = repeated(collective(leaf_spine(4), 8, name, algorithm, 8 << 16), 4);
        let (_, free) = outcome(&spec);
        assert!((1..4).any(|round| begin(&free, round) < end(&free, round - 1)), "{name} {algorithm}");
        collective_of(&mut spec.jobs[0]).barrier = true;
        let (job, chunks) = outcome(&spec);
        // A hop there takes 400 + 500 + 400 ns and more, and there are three steps.
        assert!(
            (1..4).all(|round| begin(&chunks, round) > end(&chunks, round - 1) + 3 * 1_300_000),
            "{name}"
        );
        assert_eq!((job.chunks, job.rounds), (chunks.len() as u64, 4));
        let measured = job.round_times.expect("rounds are complete");
        let times =
            (0..4).map(|round| end(&chunks, round) - if round == 0 { 0 } else { begin(&chunks, round) });
        let times: Vec<u64> = times.collect();
        // The root of a gather posts nothing, and may be the first to leave a barrier.
        assert!(measured.sum_ps >= times.iter().sum() && measured.max_ps >= *times.iter().max().unwrap());
        assert!(name == "gather" || measured.sum_ps == times.iter().sum::<u64>(), "{times:?}, {measured:?}");
        assert!(name == "gather" || Some(&measured.min_ps) == times.iter().min());
    }
}

#[test]
fn rank_times_are_those_of_each_rank_from_barrier_to_end() {
    let mut spec = repeated(collective(leaf_spine(4), 8, "all-to-all", "parallel", 8 << 16), 4);
    (collective_of(&mut spec.jobs[0]).barrier, collective_of(&mut spec.jobs[0]).warm_up_rounds) = (true, 1);
    let (job, chunks) = outcome(&spec);
    let begin = |round, rank| {
        let own = of_round(&chunks, round).filter(|chunk| chunk.src_rank == rank);
        own.map(|chunk| chunk.start_ps.unwrap()).min().unwrap()
    };
    let mean = |rank| (1..5).map(|round| end_at(&chunks, round, rank) - begin(round, rank)).sum::<u64>() / 4;
    let means: Vec<u64> = (0..8).map(mean).collect();
    let expected = RankTimes {
        min_ps: *means.iter().min().unwrap(),
        mean_ps: means.iter().sum::<u64>() / 8,
        max_ps: *means.iter().max().unwrap(),
    };
    assert_eq!(job.rank_times, Some(expected));
}

#[test]
fn the_time_of_a_rank_ends_when_it_has_taken_in_what_arrived() {
    let mut spec = repeated(collective(single_switch(2), 2, "incast", "parallel", 1 << 16), 1);
    let rank_times = |spec: &RunSpec| outcome(spec).0.rank_times.expect("complete");
    let without = rank_times(&spec);
    collective_of(&mut spec.jobs[0]).receive_overhead_ps = 30_000_000;
    let with = rank_times(&spec);
    // The sender has its acknowledgement long before.
    assert_eq!(with.min_ps, without.max_ps);
    assert_eq!(with.max_ps, without.min_ps + 30_000_000);
}

#[test]
fn payload_keeps_its_paths_where_there_are_barriers() {
    let free = repeated(collective(leaf_spine(4), 8, "gather", "tree", 8 << 16), 2);
    let mut with = free.clone();
    collective_of(&mut with.jobs[0]).barrier = true;
    let key =
        |chunk: &ChunkRow| (chunk.round, chunk.src_rank, chunk.dst_rank, chunk.qp, chunk.udp_source_port);
    let keys = |spec: &RunSpec| {
        let mut keys: Vec<_> = outcome(spec).1.iter().map(key).collect();
        keys.sort_unstable();
        keys
    };
    assert_eq!(keys(&free), keys(&with));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_collective_may_wait_between_rounds(
        pattern in prop::sample::select(fabricbench_sim::patterns()),
        (rounds, warm_up_rounds) in (1_u32..4, 0_u32..3),
        processes in 1_u32..3,
        overhead_ns in 0_u64..2_000,
        per_chunk: bool,
    ) {
        let ranks = common::supported(pattern, 8);
        let mut spec = repeated(collective(leaf_spine(4), ranks, pattern.0, pattern.1, 4_096 * u64::from(ranks)), rounds);
        if per_chunk {
            spec.transport.qp_mode = QpMode::PerChunk;
        }
        let job = &mut spec.jobs[0];
        job.hosts = (0..ranks).map(|rank| rank / processes).collect();
        let work = collective_of(job);
        (work.barrier, work.warm_up_rounds, work.receive_overhead_ps) = (true, warm_up_rounds, overhead_ns * 1_000);
        let (job, chunks) = outcome(&spec);
        prop_assert_eq!((job.rounds, job.warm_up_rounds), (rounds, warm_up_rounds));
        prop_assert_eq!(chunks.len() as u64, job.chunks);
        let times = job.round_times.expect("rounds are complete");
        prop_assert!(times.min_ps <= times.max_ps && times.sum_ps <= times.max_ps * u64::from(rounds));
    }
}
