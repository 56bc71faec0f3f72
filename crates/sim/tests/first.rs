//! First light.
mod common;
use common::*;

#[test]
fn alltoall() {
    for (topology, ranks, coll, alg, size) in [
        (leaf_spine(4), 8, "all-to-all", "parallel", 256u64 << 20),
        (single_switch(4), 4, "all-reduce", "ring", 64 << 20),
        (leaf_spine(4), 8, "incast", "parallel", 1 << 20),
    ] {
        let spec = collective(topology, ranks, coll, alg, size);
        let start = std::time::Instant::now();
        let (summary, recorder) = run(&spec);
        let wall = start.elapsed().as_secs_f64();
        println!("{coll} {summary:?}\n wall {wall:.3} {:.1} M hops/s", summary.packet_hops as f64 / wall / 1e6);
        println!("{:?}", recorder.chunks[0]);
        println!("{:?}", recorder.ports.iter().filter(|p| p.tier == 1).map(|p| p.egress_qps).collect::<Vec<_>>());
    }
}
