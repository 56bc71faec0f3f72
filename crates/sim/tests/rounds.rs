//! Jobs that repeat: a number of rounds, or for as long as others run.

use crate::common::{
    collective, collective_of, completion_ps, leaf_spine, pattern_of, run, set_pattern, single_switch, work,
};
use record::ChunkStatus;
use spec::{JobSpec, LossRecovery, QpMode, RatioSpec, RepeatSpec, RunSpec, RunStatus};

/// The job under test on the first four hosts, and a neighbour on the next four that runs until it ends.
fn with_neighbour(data_bytes: u64, neighbour_bytes: u64) -> RunSpec {
    let mut spec = collective(single_switch(8), 4, "all-reduce", "ring", data_bytes);
    let neighbour = JobSpec {
        name: "neighbour".into(),
        stream: 1,
        hosts: vec![4, 5, 6, 7],
        repeat: RepeatSpec::UntilOthersEnd {},
        work: work("all-reduce", "ring", neighbour_bytes),
        ..spec.jobs[0].clone()
    };
    spec.jobs.push(neighbour);
    spec
}

fn repeated(mut spec: RunSpec, rounds: u32) -> RunSpec {
    spec.jobs[0].repeat = RepeatSpec::Rounds { rounds };
    spec
}

#[test]
fn rounds_of_a_ring_take_so_many_times_one_round() {
    for mode in [QpMode::PerPair, QpMode::PerChunk] {
        let mut once = collective(single_switch(4), 4, "all-reduce", "ring", 4 << 20);
        once.transport.qp_mode = mode;
        let one_ps = completion_ps(&run(&once).0);
        let (summary, recorder) = run(&repeated(once, 10));
        // A rank that has what it needs starts its next round while the last acknowledgements of others
        // travel: at most one round trip of 4 us less for each round.
        let ten_ps = completion_ps(&summary);
        assert!(ten_ps <= 10 * one_ps && ten_ps > 10 * (one_ps - 4_000_000), "{ten_ps}, one {one_ps}");
        assert_eq!((summary.jobs[0].rounds, summary.jobs[0].chunks), (10, 10 * 4 * 6));
        assert_eq!(recorder.chunks.len(), 240);
    }
}

#[test]
fn each_chunk_of_each_round_completes_once_under_every_recovery() {
    for recovery in [LossRecovery::GoBackN, LossRecovery::Selective, LossRecovery::None] {
        let mut spec = repeated(collective(leaf_spine(4), 8, "all-to-all", "parallel", 8 << 20), 5);
        spec.transport.recovery = recovery;
        spec.transport.qps_per_rank_pair = 2;
        let (summary, recorder) = run(&spec);
        assert_eq!(summary.status, RunStatus::Complete, "{recovery:?}");
        let mut rounds = vec![Vec::new(); 112];
        for chunk in &recorder.chunks {
            assert_eq!(chunk.payload_bytes, chunk.tx_frames * 4096);
            rounds[(chunk.transfer * 2 + chunk.part) as usize].push(chunk.round);
        }
        assert!(rounds.iter().all(|rounds| *rounds == [0, 1, 2, 3, 4]), "{recovery:?}");
    }
}

#[test]
fn a_rank_starts_its_next_round_when_its_part_of_this_one_is_done() {
    let spec = repeated(collective(leaf_spine(4), 8, "all-gather", "ring", 1 << 20), 3);
    let (_, recorder) = run(&spec);
    for rank in 0..8 {
        for round in 1..3 {
            let before = recorder.chunks.iter().filter(|chunk| chunk.round == round - 1);
            let sent = before.clone().filter(|chunk| chunk.src_rank == rank).map(|chunk| chunk.completed_ps);
            let received = before.filter(|chunk| chunk.dst_rank == rank).map(|chunk| chunk.delivered_ps);
            let mine = |chunk: &&record::ChunkRow| chunk.round == round && chunk.src_rank == rank;
            let started = recorder.chunks.iter().filter(mine).map(|chunk| chunk.start_ps).min();
            assert_eq!(started, sent.chain(received).max(), "rank {rank}, round {round}");
        }
    }
}

#[test]
fn a_rank_computes_before_it_posts_anything_of_a_round() {
    const COMPUTE_PS: u64 = 30_000_000;
    for (barrier, hosts) in [(false, 8), (true, 8), (false, 2)] {
        let mut spec = repeated(collective(leaf_spine(4), hosts, "all-gather", "ring", 1 << 20), 3);
        collective_of(&mut spec.jobs[0]).barrier = barrier;
        let without_ps = completion_ps(&run(&spec).0);
        collective_of(&mut spec.jobs[0]).compute_ps = COMPUTE_PS;
        let (summary, recorder) = run(&spec);
        let with_ps = completion_ps(&summary);
        // Ranks that end a round some hops later than others also begin the next one later.
        assert!(with_ps.abs_diff(without_ps + 3 * COMPUTE_PS) < 3 * 4_000_000, "{with_ps}, {without_ps}");
        for rank in 0..hosts {
            let mine =
                |round| move |chunk: &&record::ChunkRow| chunk.round == round && chunk.src_rank == rank;
            let begin =
                |round| recorder.chunks.iter().filter(mine(round)).filter_map(|chunk| chunk.start_ps).min();
            assert_eq!(begin(0), Some(COMPUTE_PS), "rank {rank}");
            for round in 1..3 {
                let before = recorder.chunks.iter().filter(|chunk| chunk.round == round - 1);
                let sent =
                    before.clone().filter(|chunk| chunk.src_rank == rank).map(|chunk| chunk.completed_ps);
                let received = before.filter(|chunk| chunk.dst_rank == rank).map(|chunk| chunk.delivered_ps);
                let ended = sent.chain(received).max().flatten().expect("the round is complete");
                let began = begin(round).expect("a rank sends in each round");
                assert!(began >= ended + COMPUTE_PS, "rank {rank}, round {round}: {began}, {ended}");
                assert!(
                    barrier || began == ended + COMPUTE_PS,
                    "rank {rank}, round {round}: {began}, {ended}"
                );
            }
        }
    }
}

#[test]
fn a_computation_that_takes_longer_than_any_message_is_no_stall() {
    let mut spec = repeated(collective(single_switch(4), 4, "all-reduce", "ring", 1 << 20), 2);
    collective_of(&mut spec.jobs[0]).compute_ps = 500_000_000_000;
    let (summary, _) = run(&spec);
    assert_eq!(summary.status, RunStatus::Complete);
    assert!(completion_ps(&summary) > 1_000_000_000_000);
    let times = summary.jobs[0].round_times.expect("times of rounds");
    assert!(times.min_ps > 500_000_000_000 && times.max_ps < 501_000_000_000);
}

#[test]
fn a_neighbour_goes_on_until_the_job_under_test_has_ended() {
    let (summary, recorder) = run(&with_neighbour(64 << 20, 1 << 20));
    let [test, neighbour] = &summary.jobs[..] else { panic!("two jobs") };
    assert_eq!((summary.status, neighbour.status), (RunStatus::Complete, RunStatus::Complete));
    assert!(neighbour.rounds > 40, "{}", neighbour.rounds);
    assert!(neighbour.end_ps <= Some(summary.end_ps) && test.end_ps <= Some(summary.end_ps));
    assert!(summary.frames_in_flight > 0, "the neighbour was cut off");
    let rows = || recorder.chunks.iter().filter(|chunk| chunk.job == 1);
    assert_eq!(rows().count() as u64, neighbour.chunks);
    assert!(rows().all(|chunk| chunk.start_ps.is_some()));
    let cut_off = rows().filter(|chunk| chunk.status == ChunkStatus::Unfinished);
    assert_eq!(cut_off.count() as u64, neighbour.chunks - neighbour.chunks_complete);
    let complete = rows().filter(|chunk| chunk.round < neighbour.rounds);
    assert_eq!(complete.clone().count() as u32, neighbour.rounds * 24);
    assert_eq!(complete.map(|chunk| chunk.completed_ps).max(), Some(neighbour.end_ps));
}

#[test]
fn a_neighbour_without_a_complete_round_is_no_failure() {
    let (summary, _) = run(&with_neighbour(1 << 20, 256 << 20));
    let neighbour = &summary.jobs[1];
    assert_eq!((neighbour.status, neighbour.rounds, neighbour.end_ps), (RunStatus::Complete, 0, None));
    assert_eq!(neighbour.reason, "");
}

/// A neighbour whose three senders overrun their share of the buffer; the rest is more than a ring needs.
fn with_lossy_neighbour(recovery: LossRecovery) -> RunSpec {
    let mut spec = with_neighbour(64 << 20, 1 << 20);
    set_pattern(&mut spec.jobs[1], "incast", "parallel");
    spec.fabric.switch.buffer.size_bytes = 200_000;
    spec.fabric.switch.buffer.lossy_alpha = Some(RatioSpec { numerator: 1, denominator: 1 });
    spec.transport.recovery = recovery;
    spec.transport.timeout_ps = 100_000_000;
    spec
}

#[test]
fn a_neighbour_that_loses_frames_for_good_is_incomplete() {
    let (summary, _) = run(&with_lossy_neighbour(LossRecovery::None));
    assert_eq!(summary.jobs[0].status, RunStatus::Complete);
    let neighbour = &summary.jobs[1];
    assert_eq!((neighbour.status, neighbour.rounds), (RunStatus::Incomplete, 0));
    assert!(neighbour.reason.contains("without recovery"), "{}", neighbour.reason);
}

#[test]
fn a_neighbour_that_sends_again_what_was_lost_goes_on() {
    for recovery in [LossRecovery::GoBackN, LossRecovery::Selective] {
        let (summary, _) = run(&with_lossy_neighbour(recovery));
        assert!(summary.frames_lost.total() > 0);
        assert_eq!(summary.status, RunStatus::Complete, "{recovery:?}: {:?}", summary.jobs);
        // The senders of an incast do not wait for each other.
        assert!(summary.jobs[1].chunks_complete > 30, "{recovery:?}: {:?}", summary.jobs);
    }
}

#[test]
fn a_run_whose_job_under_test_never_ends_does_not_go_on_for_its_neighbour() {
    let mut spec = with_lossy_neighbour(LossRecovery::None);
    spec.jobs.swap(0, 1);
    spec.jobs[0].repeat = RepeatSpec::Rounds { rounds: 3 };
    spec.jobs[1].repeat = RepeatSpec::UntilOthersEnd {};
    let (summary, recorder) = run(&spec);
    assert_eq!((summary.status, summary.jobs[0].status), (RunStatus::Incomplete, RunStatus::Incomplete));
    assert!(summary.jobs[0].reason.contains("without recovery"), "{}", summary.jobs[0].reason);
    assert_eq!(summary.jobs[1].status, RunStatus::Complete);
    assert!(recorder.events.is_empty());
}

#[test]
fn a_round_that_lost_frames_for_good_never_completes() {
    let mut spec = repeated(collective(single_switch(4), 4, "incast", "parallel", 1 << 20), 4);
    spec.fabric.switch.buffer.size_bytes = 40_000;
    spec.transport.recovery = LossRecovery::None;
    let (summary, recorder) = run(&spec);
    let job = &summary.jobs[0];
    assert_eq!((job.status, job.rounds, job.end_ps, job.chunks), (RunStatus::Incomplete, 0, None, 12));
    assert!(recorder.chunks.len() <= 12 && recorder.chunks.len() >= 3);
}

/// Sizes of rounds in MiB.
fn sized(spec: &mut RunSpec, job: usize, sizes: &[u64]) {
    let bytes: Vec<_> = sizes.iter().map(|size| size << 20).collect();
    pattern_of(&mut spec.jobs[job]).data_bytes = *bytes.iter().max().expect("sizes");
    collective_of(&mut spec.jobs[job]).round_bytes = Some(bytes);
}

#[test]
fn a_round_of_each_size_takes_what_that_size_takes_alone() {
    const SIZES: [u64; 4] = [4, 1, 16, 2];
    for mode in [QpMode::PerPair, QpMode::PerChunk] {
        let mut spec = collective(single_switch(4), 4, "all-reduce", "ring", 1 << 20);
        spec.transport.qp_mode = mode;
        let alone = SIZES.map(|size| {
            let mut alone = spec.clone();
            pattern_of(&mut alone.jobs[0]).data_bytes = size << 20;
            completion_ps(&run(&alone).0)
        });
        let mut series = repeated(spec, 8);
        sized(&mut series, 0, &SIZES);
        let (summary, recorder) = run(&series);
        assert_eq!((summary.jobs[0].rounds, summary.jobs[0].chunks), (8, 8 * 24), "{mode:?}");
        let end = |round: u32| {
            let of_round = recorder.chunks.iter().filter(|chunk| chunk.round == round);
            of_round.map(|chunk| chunk.completed_ps.expect("complete")).max().expect("chunks")
        };
        for round in 0..8_u32 {
            let size = SIZES[round as usize % 4];
            let begin = round.checked_sub(1).map_or(0, end);
            let (took, alone) = (end(round) - begin, alone[round as usize % 4]);
            // A round trip of 4 us: see above.
            assert!(took.abs_diff(alone) < 4_000_000, "{mode:?}, round {round}: {took}, alone {alone}");
            let rows = recorder.chunks.iter().filter(|chunk| chunk.round == round);
            assert!(rows.clone().all(|chunk| chunk.payload_bytes == size << 18));
            assert_eq!(rows.count(), 24);
        }
        // Rounds share the queue pairs of the first.
        let pairs: std::collections::HashSet<_> = recorder.chunks.iter().map(|chunk| chunk.qp).collect();
        assert_eq!(pairs.len(), if mode == QpMode::PerPair { 4 } else { 24 });
    }
}

#[test]
fn a_neighbour_of_several_sizes_begins_again_after_the_last() {
    let mut spec = with_neighbour(64 << 20, 1 << 20);
    sized(&mut spec, 1, &[1, 2, 4]);
    let (summary, recorder) = run(&spec);
    assert_eq!(summary.status, RunStatus::Complete);
    assert!(summary.jobs[1].rounds > 12, "{}", summary.jobs[1].rounds);
    for chunk in recorder.chunks.iter().filter(|chunk| chunk.job == 1) {
        assert_eq!(chunk.payload_bytes, [1 << 18, 2 << 18, 4 << 18][chunk.round as usize % 3]);
    }
}

#[test]
fn sizes_that_an_algorithm_cuts_in_different_numbers_of_chunks_are_refused() {
    let mut spec = repeated(collective(single_switch(8), 8, "all-reduce", "double-binary-tree", 1 << 20), 2);
    collective_of(&mut spec.jobs[0]).round_bytes = Some(vec![4096, 1 << 20]);
    let error = fabricbench_sim::check(&spec).expect_err("refused").to_string();
    assert!(error.contains("jobs[0].work.round_bytes"), "{error}");
}

#[test]
fn rounds_of_several_sizes_have_one_root() {
    for (pattern, algorithm) in [("gather", "parallel"), ("broadcast", "tree"), ("reduce", "rabenseifner")] {
        let mut spec = repeated(collective(single_switch(4), 4, pattern, algorithm, 1 << 20), 2);
        pattern_of(&mut spec.jobs[0]).root = 1;
        sized(&mut spec, 0, &[1, 2]);
        let (summary, recorder) = run(&spec);
        assert_eq!((summary.jobs[0].status, summary.jobs[0].rounds), (RunStatus::Complete, 2), "{pattern}");
        let ends = |round: u32| -> Vec<_> {
            let of_round = recorder.chunks.iter().filter(|chunk| chunk.round == round);
            let mut ends: Vec<_> = of_round.map(|chunk| (chunk.qp, chunk.src_rank, chunk.dst_rank)).collect();
            ends.sort_unstable();
            ends
        };
        assert_eq!(ends(0), ends(1), "{pattern}");
    }
}
