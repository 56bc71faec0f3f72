//! What holds over any network.

use crate::checks::{check, check_complete};
use crate::network::Impaired;
use crate::scenario::{LATENCY, Workload, impaired, workload};
use fabricbench_transport::{Config, Recovery, TimeoutOutcome};
use proptest::prelude::*;
use units::{Instant, Seed, Span};
use wire::Psn;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_byte_arrives_once_and_in_order(workload in workload(40), network in impaired(300)) {
        let history = workload.pair(network).run(2_000_000);
        check(&history, &workload.config, workload.initial_psn);
        check_complete(&history, &workload.config);
    }

    #[test]
    fn a_run_that_may_give_up_completes_or_fails(
        mut workload in workload(20),
        network in impaired(700),
        retry_count in 0u32..=7,
    ) {
        workload.config.retry_count = retry_count;
        let history = workload.pair(network).run(2_000_000);
        check(&history, &workload.config, workload.initial_psn);
        match history.timeouts().last() {
            Some((_, TimeoutOutcome::Failed)) => prop_assert!(history.completed() < workload.posts.len()),
            _ => check_complete(&history, &workload.config),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]

    #[test]
    fn a_network_that_loses_nine_of_ten_only_delays(mut workload in workload(4), network in impaired(0)) {
        let network = Impaired { loss_permille: 900, ..network };
        workload.config.retry_count = u16::MAX.into();
        let history = workload.pair(network).run(5_000_000);
        check(&history, &workload.config, workload.initial_psn);
        check_complete(&history, &workload.config);
    }
}

#[test]
fn a_long_run_over_a_bad_network_ends() {
    let config = Config {
        mtu_bytes: 4096,
        message_bytes: 128 << 10,
        ack_every: 4,
        window_packets: 64,
        timeout: Span::from_us(20),
        retry_count: 100,
        recovery: Recovery::GoBackN,
    };
    let posts = (0..10).map(|number| (Instant(number * 1_000_000_000), 4 << 20)).collect();
    let workload = Workload { config, initial_psn: Psn::new(0xff_f000), posts };
    let network = Impaired {
        latency: LATENCY,
        jitter: Span::from_ns(50),
        loss_permille: 50,
        duplicate_permille: 20,
        random: Seed(1).stream("test.network", 0),
    };
    let history = workload.pair(network).run(2_000_000);
    check(&history, &workload.config, workload.initial_psn);
    check_complete(&history, &workload.config);
    assert!(history.sent().any(|frame| frame.transmit.packet.is_retransmission));
}
