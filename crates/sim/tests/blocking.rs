//! Programs of blocking sends take their steps one after the other.

use crate::common::{collective, completion_ps, run, single_switch};

/// Time of a collective of 8 ranks, in thousandths of the time in which one rank sends its data to another.
fn thousandths_of_one_transfer(name: &str, algorithm: &str) -> u64 {
    let time = |ranks, name, algorithm| {
        completion_ps(&run(&collective(single_switch(ranks), ranks, name, algorithm, 32 << 20)).0)
    };
    time(8, name, algorithm) * 1000 / time(2, "broadcast", "parallel")
}

#[test]
fn a_binomial_tree_takes_one_transfer_for_each_doubling() {
    for name in ["broadcast", "reduce"] {
        let thousandths = thousandths_of_one_transfer(name, "tree");
        assert!(thousandths.abs_diff(3_000) < 10, "{name}: {thousandths}");
    }
}

/// 7 steps of 1/8 each, in both directions at once, so that acknowledgements take their 1 % of the link.
#[test]
fn a_pairwise_all_to_all_takes_its_share_for_each_peer() {
    let thousandths = thousandths_of_one_transfer("all-to-all", "pairwise");
    assert!((875..925).contains(&thousandths), "{thousandths}");
}
