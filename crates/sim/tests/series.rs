//! Series of pauses and rates, and the counters of each priority.

use crate::common::{collective, dcqcn, dynamic_pfc, ecn, leaf_spine, run, single_switch, tcp};
use record::SeriesRow;
use spec::{RunSpec, TcpSpec};
use std::collections::BTreeSet;

/// Seven hosts into one: pauses and marks.
fn congested() -> RunSpec {
    let mut spec = collective(leaf_spine(4), 8, "incast", "parallel", 4 << 20);
    spec.fabric.switch.pfc = Some(dynamic_pfc());
    spec.fabric.switch.buffer.size_bytes = 8 << 20;
    spec.fabric.switch.ecn = Some(ecn(20_000, 80_000));
    spec.transport.rate_control = dcqcn();
    spec
}

fn of<'a>(rows: &'a [SeriesRow], metric: &str) -> Vec<&'a SeriesRow> {
    rows.iter().filter(|row| row.metric == metric).collect()
}

#[test]
fn rates_are_sampled_while_a_queue_pair_has_something_to_send() {
    let (_, recorder) = run(&congested());
    let rates = of(&recorder.series, "rate_bps");
    let pairs: BTreeSet<_> =
        rates.iter().map(|row| row.qp.expect("a rate is that of a queue pair")).collect();
    assert_eq!(pairs.len(), 7);
    assert!(rates.iter().all(|row| (100_000_000..=400_000_000_000).contains(&row.value)));
    assert!(rates.iter().any(|row| row.value < 200_000_000_000), "seven into one must slow down");
    for row in rates {
        let chunk = recorder.chunks.iter().find(|chunk| Some(chunk.qp) == row.qp).expect("it sent a chunk");
        assert_eq!(*row.node, *format!("host{}", chunk.src_host));
        assert!((chunk.start_ps..=chunk.completed_ps).contains(&Some(row.time_ps)));
    }
}

#[test]
fn queue_pairs_are_taken_evenly_and_none_without_a_controller() {
    let mut spec = congested();
    spec.observe.series_qps = 3;
    let pairs = |spec: &RunSpec| -> BTreeSet<Option<u32>> {
        of(&run(spec).1.series, "rate_bps").iter().map(|row| row.qp).collect()
    };
    assert_eq!(pairs(&spec), BTreeSet::from([Some(0), Some(3), Some(6)]));
    spec.observe.series_qps = 0;
    assert!(pairs(&spec).is_empty());
    spec.observe.series_qps = 16;
    spec.transport.rate_control = spec::RateControlSpec::LINE_RATE;
    assert!(pairs(&spec).is_empty());
}

#[test]
fn tcp_deliveries_grow_to_what_each_connection_delivered() {
    let mut spec = congested();
    spec.tcp =
        vec![TcpSpec { duration_ps: Some(2_000_000_000), ..tcp([0, 1, 2, 3], "permutation", Some(20)) }];
    let (_, recorder) = run(&spec);
    let sampled = of(&recorder.series, "tcp_delivered_bytes");
    assert_eq!(recorder.connections.len(), 4);
    for row in &recorder.connections {
        let own: Vec<_> = sampled.iter().filter(|sample| sample.qp == Some(row.connection)).collect();
        assert!(own.iter().all(|sample| *sample.node == *format!("host{}", row.dst_host)));
        assert!(
            own.windows(2).all(|pair| pair[0].value <= pair[1].value && pair[0].time_ps < pair[1].time_ps)
        );
        let last = own.last().expect("every connection is sampled").value;
        assert!(last <= row.delivered_bytes && 10 * last > 9 * row.delivered_bytes, "{last} of {row:?}");
    }
    for (series_qps, pairs) in [(2, vec![Some(0), Some(2)]), (0, vec![])] {
        spec.observe.series_qps = series_qps;
        let found: BTreeSet<_> =
            of(&run(&spec).1.series, "tcp_delivered_bytes").iter().map(|row| row.qp).collect();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), pairs);
    }
}

#[test]
fn pauses_over_time_grow_to_what_the_priorities_count() {
    let mut spec = congested();
    spec.transport.rate_control = spec::RateControlSpec::LINE_RATE;
    let (_, recorder) = run(&spec);
    let paused = of(&recorder.series, "paused_ps");
    assert!(!paused.is_empty() && paused.iter().all(|row| row.priority == Some(3)));
    assert!(paused.windows(2).all(|pair| {
        (&pair[0].node, pair[0].port) != (&pair[1].node, pair[1].port) || pair[0].value <= pair[1].value
    }));
    for row in &recorder.priorities {
        let mut of_port =
            paused.iter().filter(|sample| (&*sample.node, sample.port) == (&*row.node, row.port));
        let last = of_port.next_back().map_or(0, |sample| sample.value);
        assert!(Some(last) <= row.paused_ps, "{} port {}", row.node, row.port);
    }
}

#[test]
fn priorities_add_up_to_their_ports() {
    let mut lossy = congested();
    lossy.fabric.switch.pfc = None;
    lossy.fabric.switch.buffer.size_bytes = 1 << 20;
    for (spec, loses) in [(congested(), false), (lossy, true)] {
        let (_, recorder) = run(&spec);
        let sum = |count: fn(&record::PriorityRow) -> u64| recorder.priorities.iter().map(count).sum::<u64>();
        let ports = |count: fn(&record::PortRow) -> u64| recorder.ports.iter().map(count).sum::<u64>();
        assert_eq!(sum(|row| row.pfc_tx.unwrap_or(0)), ports(|row| row.pfc_tx.unwrap_or(0)));
        assert_eq!(sum(|row| row.pfc_rx.unwrap_or(0)), ports(|row| row.pfc_rx.unwrap_or(0)));
        assert_eq!(sum(|row| row.paused_ps.unwrap_or(0)), ports(|row| row.paused_ps.unwrap_or(0)));
        assert_eq!(sum(|row| row.dropped_frames), ports(|row| row.dropped_frames));
        assert_eq!(sum(|row| row.dropped_frames) > 0, loses);
        assert_eq!(sum(|row| row.pfc_rx.unwrap_or(0)) > 0, !loses);
    }
}

#[test]
fn what_a_job_was_delivered_counts_each_host_once_however_many_ranks_it_has() {
    let mut spec = collective(single_switch(2), 4, "all-to-all", "parallel", 16 << 20);
    spec.jobs[0].hosts = vec![0, 0, 1, 1];
    spec.observe.series_points = 1_000;
    let (_, recorder) = run(&spec);
    let delivered = recorder.series.iter().filter(|row| row.metric == "delivered_bytes").map(|row| row.value);
    let payload: u64 = recorder.chunks.iter().map(|chunk| chunk.payload_bytes).sum();
    let last = delivered.max().expect("sampled");
    assert!(last <= payload && last * 10 > payload * 6, "{last} of {payload}");
}

/// Sixteen hosts send to the last one: where not all ports are sampled, uplinks and the busiest ports are.
#[test]
fn uplinks_and_the_ports_with_most_queue_pairs_are_sampled_first() {
    let mut spec = collective(leaf_spine(16), 32, "incast", "parallel", 4 << 20);
    spec.observe.series_ports = 4;
    let (_, recorder) = run(&spec);
    let sampled: BTreeSet<(String, u32)> = recorder
        .series
        .iter()
        .filter(|row| row.metric == "queue_bytes")
        .map(|row| (row.node.to_string(), row.port))
        .collect();
    let ports = recorder.ports.iter().filter(|port| port.tier > 0);
    let peers: Vec<&str> = ports
        .filter(|port| sampled.contains(&(port.node.clone(), port.port)))
        .map(|port| port.peer.as_str())
        .collect();
    assert_eq!(peers.len(), 4);
    assert_eq!(peers.iter().filter(|peer| peer.starts_with("host")).count(), 2, "{peers:?}");
    let root = recorder.chunks[0].dst_host;
    assert!(peers.contains(&format!("host{root}").as_str()), "{peers:?}");
}
