//! Packets that nobody sent: acknowledgements of what is not outstanding, data out of place.

use crate::checks::{check, check_complete};
use crate::scenario::{impaired, workload};
use proptest::prelude::*;
use units::{Instant, Seed};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn forged_packets_complete_nothing_and_lose_nothing(
        workload in workload(40),
        network in impaired(300),
        times in prop::collection::vec(0u64..200_000_000, 50),
        seed: u64,
    ) {
        let mut pair = workload.pair(network);
        pair.forge_at(times.into_iter().map(Instant), Seed(seed).stream("test.forger", 0));
        let history = pair.run(2_000_000);
        check(&history, &workload.config, workload.initial_psn);
        check_complete(&history, &workload.config);
    }
}
