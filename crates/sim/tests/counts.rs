//! What is counted: frames, bytes, conservation, latency.

use crate::common::{self, collective, leaf_spine, run, single_switch};

#[test]
fn a_chunk_of_2_mib_is_512_frames_and_2_129_152_bytes() {
    let (summary, recorder) = run(&collective(leaf_spine(4), 8, "all-to-all", "parallel", 16 << 20));
    assert_eq!(recorder.chunks.len(), 56);
    for chunk in &recorder.chunks {
        assert_eq!((chunk.tx_frames, chunk.tx_bytes), (512, 2_129_152));
        assert_eq!((chunk.rx_frames, chunk.rx_bytes), (512, 2_129_152));
        assert_eq!(chunk.latency_frames, 512);
    }
    assert_eq!(summary.frames_sent, 56 * (512 + 256), "an ACK for every two data frames");
}

#[test]
fn an_idle_path_has_the_latency_of_its_parts() {
    // Through one leaf: two serialisations of a full frame (83.56 ns), two cables, one pipeline.
    let mut near = collective(leaf_spine(4), 2, "incast", "parallel", 4096);
    let (_, recorder) = run(&near);
    let frame_ps = (4096 + 78 + 20) * 20;
    assert_eq!(recorder.chunks[0].latency_min_ps, Some(2 * frame_ps + 2 * 15_000 + 500_000));
    // Leaf, spine, leaf: about 2.1 us at 400 Gb/s.
    near.jobs[0].hosts = vec![0, 4];
    let (_, recorder) = run(&near);
    let expected = 4 * frame_ps + 2 * 15_000 + 2 * 150_000 + 3 * 500_000;
    assert_eq!(recorder.chunks[0].latency_min_ps, Some(expected));
    assert!((2_000_000..2_300_000).contains(&expected));
}

#[test]
fn links_and_ports_carry_the_same_frames() {
    let (summary, recorder) = run(&collective(leaf_spine(4), 8, "all-to-all", "parallel", 1 << 20));
    let on_links: u64 = recorder.links.iter().map(|link| link.frames).sum();
    let sent: u64 = recorder.ports.iter().map(|port| port.tx_frames).sum();
    let received: u64 = recorder.ports.iter().map(|port| port.rx_frames).sum();
    assert_eq!((on_links, sent, received), (summary.packet_hops, summary.packet_hops, summary.packet_hops));
    for link in &recorder.links {
        assert_eq!(link.busy_ps, (link.bytes + 20 * link.frames) * 20);
    }
}

#[test]
fn queue_pairs_are_counted_where_their_data_leaves() {
    let (_, recorder) = run(&collective(leaf_spine(4), 8, "all-to-all", "parallel", 1 << 20));
    let uplinks = recorder.ports.iter().filter(|port| port.node == "leaf0" && port.port >= 4);
    let by_uplink: Vec<_> = uplinks.collect();
    assert_eq!(by_uplink.iter().map(|port| port.egress_qps).sum::<u32>(), 16, "4 ranks, 4 peers each");
    for port in by_uplink {
        // Data of a queue pair is 32 packets of 4096 here; ACKs of as many queue pairs come the other way.
        assert_eq!(port.egress_qps == 0, port.tx_bytes < 16 * 4096, "{port:?}");
    }
}

#[test]
fn series_keep_within_their_points_and_cover_the_run() {
    let mut spec = collective(single_switch(4), 4, "all-to-all", "parallel", 16 << 20);
    spec.observe.series_points = 10;
    spec.observe.series_interval_ps = 500_000;
    let (summary, recorder) = run(&spec);
    let points: Vec<_> = recorder
        .series
        .iter()
        .filter(|row| row.metric == "tx_bytes" && &*row.node == "leaf0" && row.port == 0)
        .collect();
    assert!((5..=10).contains(&points.len()), "{}", points.len());
    assert!(
        points.windows(2).all(|pair| pair[0].time_ps < pair[1].time_ps && pair[0].value <= pair[1].value)
    );
    assert!(points[points.len() - 1].time_ps * 10 > summary.end_ps * 7, "the last points are near the end");
}

#[test]
fn scale_up_traffic_never_touches_the_fabric() {
    let topology = spec::TopologySpec::RailOptimised(spec::RailOptimised {
        servers: 2,
        rails: 4,
        spines: 2,
        links_per_spine: 1,
        host_link: common::link(3),
        fabric_link: common::link(30),
        scale_up_link: Some(spec::LinkSpec { rate_bps: 3_600_000_000_000, ..common::link(1) }),
    });
    let (_, recorder) = run(&collective(topology, 4, "all-to-all", "parallel", 1 << 20));
    let frames = |name: &str| -> u64 {
        recorder.ports.iter().filter(|port| port.node.starts_with(name)).map(|port| port.rx_frames).sum()
    };
    assert_eq!(frames("rail") + frames("spine"), 0);
    assert!(frames("scaleup0") > 0);
}

/// The same leaf-spine fabric twice.
fn two_planes() -> spec::TopologySpec {
    spec::TopologySpec::MultiPlane(spec::MultiPlane {
        planes: 2,
        leaves: 2,
        hosts_per_leaf: 4,
        spines: 4,
        links_per_spine: 1,
        host_link: common::link(3),
        fabric_link: common::link(30),
    })
}

#[test]
fn two_queue_pairs_carry_a_half_each_in_its_own_plane() {
    let spec = |topology, queue_pairs| {
        let mut spec = collective(topology, 8, "all-reduce", "ring", 8 << 20);
        spec.transport.qps_per_rank_pair = queue_pairs;
        spec
    };
    let (both, recorder) = run(&spec(two_planes(), 2));
    let bytes = |plane: u32| -> u64 {
        let ports = recorder.ports.iter().filter(|port| port.node.starts_with("host"));
        ports.filter(|port| port.port == plane).map(|port| port.tx_bytes).sum()
    };
    assert_eq!(bytes(0), bytes(1));
    // A chunk of half the size on a link of its own takes what it takes where it is alone, but for the
    // acknowledgements that it waits behind.
    let alone = |data_bytes| {
        let one = collective(two_planes(), 8, "all-reduce", "ring", data_bytes);
        run(&one).0.end_ps
    };
    let half = alone(4 << 20);
    assert!(both.end_ps.abs_diff(half) * 1_000 < half, "{} ps instead of {half} ps", both.end_ps);
}

#[test]
fn an_all_to_all_with_one_queue_pair_for_each_pair_loads_the_planes_alike() {
    let (_, recorder) = run(&collective(two_planes(), 8, "all-to-all", "parallel", 8 << 20));
    let ports = recorder.ports.iter().filter(|port| port.node.starts_with("host"));
    let bytes: Vec<_> = ports.map(|port| port.tx_bytes).collect();
    let data: u64 = (8 << 20) / 8;
    // Four peers in the plane of a host's odd sums, three in the other, and their acknowledgements.
    assert!(bytes.iter().all(|&bytes| bytes > 3 * data && bytes < 4 * data * 110 / 100), "{bytes:?}");
}
