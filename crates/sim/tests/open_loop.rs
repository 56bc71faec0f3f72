//! Open-loop traffic: messages are offered at their time, whatever became of those before.

use crate::common::{self, collective, leaf_spine, offer, pattern_of, run, single_switch};
use spec::{
    ArrivalProcess, ForwardingSpec, FullMesh, LossRecovery, QpMode, RunSpec, RunStatus, TopologySpec,
};

/// Traffic of 8 KB messages at `rate_gbps` for 200 us.
fn traffic(topology: TopologySpec, ranks: u32, pattern: &str, rate_gbps: u64) -> RunSpec {
    let mut spec = collective(topology, ranks, pattern, "parallel", 8 << 10);
    offer(&mut spec.jobs[0], ArrivalProcess::Poisson, rate_gbps * 1_000_000_000, 200_000_000);
    spec.transport.qp_mode = QpMode::PerPair;
    spec
}

#[test]
fn each_message_is_a_chunk_that_starts_when_it_is_offered() {
    for mode in [QpMode::PerPair, QpMode::PerChunk] {
        let mut spec = traffic(leaf_spine(4), 8, "uniform-random", 100);
        spec.jobs[0].start_ps = 7_000_000;
        spec.transport.qp_mode = mode;
        let (summary, recorder) = run(&spec);
        assert_eq!(summary.status, RunStatus::Complete);
        // 8 KB at 100 Gb/s: one in 655.36 ns, 305 of each rank.
        assert!((2_200..2_700).contains(&recorder.chunks.len()), "{}", recorder.chunks.len());
        let mut chunks = recorder.chunks.clone();
        chunks.sort_by_key(|chunk| chunk.transfer);
        assert!(chunks.is_sorted_by_key(|chunk| chunk.start_ps), "transfers are numbered by their offer");
        assert!(chunks.iter().all(|chunk| (Some(7_000_000)..Some(207_000_000)).contains(&chunk.start_ps)));
        let queue_pairs: std::collections::BTreeSet<u32> = chunks.iter().map(|chunk| chunk.qp).collect();
        let expected = if mode == QpMode::PerPair { 56 } else { chunks.len() };
        assert_eq!(queue_pairs.len(), expected);
    }
}

#[test]
fn a_message_waits_for_those_before_it_from_its_offer_on() {
    // Twice what the root's port takes: the last message waits about as long as there was an offer.
    let (summary, recorder) = run(&traffic(single_switch(5), 5, "incast", 200));
    let job = &summary.jobs[0];
    assert!(job.end_ps > Some(380_000_000) && job.end_ps < Some(430_000_000), "{:?}", job.end_ps);
    let fct =
        |chunk: &record::ChunkRow| chunk.completed_ps.zip(chunk.start_ps).map(|(end, start)| end - start);
    let longest = recorder.chunks.iter().filter_map(fct).max();
    assert!(longest > Some(150_000_000), "{longest:?}");
}

#[test]
fn constant_traffic_has_equal_gaps_out_of_step() {
    let mut spec = traffic(single_switch(4), 4, "permutation", 100);
    offer(&mut spec.jobs[0], ArrivalProcess::Constant, 100_000_000_000, 200_000_000);
    let (_, recorder) = run(&spec);
    let mut phases = Vec::new();
    for rank in 0..4 {
        let mut starts: Vec<u64> = recorder
            .chunks
            .iter()
            .filter(|chunk| chunk.src_rank == rank)
            .filter_map(|chunk| chunk.start_ps)
            .collect();
        starts.sort_unstable();
        assert!(starts.windows(2).all(|pair| pair[1] - pair[0] == 655_360), "rank {rank}");
        phases.push(starts[0]);
    }
    phases.sort_unstable();
    assert!(phases.windows(2).all(|pair| pair[0] != pair[1]) && phases[3] < 655_360, "{phases:?}");
}

#[test]
fn a_message_alone_takes_the_unloaded_time_to_the_picosecond() {
    let slow_spine = common::slow_spine();
    let mesh = TopologySpec::FullMesh(FullMesh { hosts: 8, host_link: common::link(3) });
    for topology in [single_switch(8), leaf_spine(4), slow_spine, mesh] {
        for bytes in [100, 4096, 10_000, 400 << 10] {
            for (recovery, forwarding) in [
                (LossRecovery::GoBackN, ForwardingSpec::StoreAndForward),
                (LossRecovery::GoBackN, ForwardingSpec::CutThrough),
                (LossRecovery::Selective, ForwardingSpec::CutThrough),
            ] {
                let mut spec = traffic(topology.clone(), 2, "incast", 1);
                spec.jobs[0].hosts = vec![6, 1];
                pattern_of(&mut spec.jobs[0]).data_bytes = bytes;
                // One message in each third of 10 ms; a window that never closes.
                let rate_bps = bytes * 8 * 300;
                offer(&mut spec.jobs[0], ArrivalProcess::Constant, rate_bps, 10_000_000_000);
                spec.transport.recovery = recovery;
                spec.transport.ooo_window_packets = 10_000;
                spec.fabric.switch.forwarding = forwarding;
                let (_, recorder) = run(&spec);
                assert_eq!(recorder.chunks.len(), 3);
                for chunk in recorder.chunks {
                    let fct_ps = chunk.completed_ps.zip(chunk.start_ps).map(|(end, start)| end - start);
                    assert_eq!(
                        fct_ps, chunk.unloaded_ps,
                        "{bytes} bytes, {recovery:?}, {forwarding:?}, {topology:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_pattern_that_is_no_traffic_is_refused() {
    let spec = traffic(single_switch(4), 4, "all-to-all", 100);
    let error = fabricbench_sim::check(&spec).unwrap_err().to_string();
    assert_eq!(
        error,
        "jobs[0].work.pattern.collective: all-to-all with arrivals; allowed: incast, permutation, uniform-random"
    );
}
