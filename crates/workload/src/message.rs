//! What a message size means for each collective.

/// Collectives of which every rank has, gives or gets an equal share of the data: benchmarks name the share
/// as their message size, and a call that made shares unequal would be another one (`MPI_Alltoallv`).
const SHARED: [&str; 4] = ["all-gather", "all-to-all", "gather", "scatter"];

/// How many messages the data size of a collective of `ranks` ranks is: what each process gives to every
/// other, or puts in, as the Intel MPI Benchmarks and the OSU micro-benchmarks sweep it. The data size is a
/// multiple of it. It is 1 for collectives whose message is the whole buffer.
#[must_use]
pub fn shares(collective: &str, ranks: u32) -> u64 {
    if SHARED.contains(&collective) { ranks.into() } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shared_collective_is_a_known_one() {
        let known = |name: &&str| crate::patterns().iter().any(|pattern| pattern.collective() == *name);
        assert!(SHARED.iter().all(known));
        assert_eq!((shares("all-to-all", 32), shares("reduce-scatter", 32)), (32, 1));
    }
}
