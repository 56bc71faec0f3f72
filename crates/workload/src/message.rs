//! Relation of message size and data size of each collective.

/// Collectives in which every rank has, sends or receives an equal share of the data. Benchmarks use the
/// share as the message size; unequal shares are a different call (`MPI_Alltoallv`).
const SHARED: [&str; 4] = ["all-gather", "all-to-all", "gather", "scatter"];

/// Number of messages in the data size of a collective of `ranks` ranks. A message is the data that each
/// process sends to every other, or contributes, as swept by the Intel MPI Benchmarks and the OSU
/// micro-benchmarks. The data size is a multiple of this number. It is 1 for collectives whose message is the
/// whole buffer.
#[must_use]
pub fn shares(collective: &str, ranks: u32) -> u64 {
    if SHARED.contains(&collective) { ranks.into() } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shared_collective_is_a_known_one() {
        let is_collective =
            |name: &&str| crate::patterns().iter().any(|pattern| pattern.collective() == *name);
        assert!(SHARED.iter().all(is_collective));
        assert_eq!((shares("all-to-all", 32), shares("reduce-scatter", 32)), (32, 1));
    }
}
