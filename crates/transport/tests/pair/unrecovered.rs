//! No recovery: everything is sent once, and what is lost is counted.

use crate::checks::{packets_are_cut_and_numbered_right, sequence_near, the_window_is_kept};
use crate::history::History;
use crate::network::Impaired;
use crate::scenario::{Workload, impaired, workload};
use fabricbench_transport::{Disposition, Recovery, Reply};
use proptest::prelude::*;
use std::collections::BTreeSet;
use units::Instant;
use wire::Psn;

/// A traffic generator whose window never holds it back.
fn generator(packets_max: u64) -> impl Strategy<Value = Workload> {
    workload(packets_max).prop_map(|mut workload| {
        workload.config.recovery = Recovery::None;
        workload.config.window_packets = Psn::WINDOW_MAX;
        workload
    })
}

fn sequences_arrived(history: &History, workload: &Workload) -> BTreeSet<usize> {
    let arrived = history.arrived();
    let sequences = arrived.map(|(frame, _)| sequence_near(0, workload.initial_psn, frame.transmit.psn));
    sequences.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn nothing_is_resent_and_exactly_what_is_lost_is_counted(
        workload in generator(60),
        network in impaired(900),
    ) {
        let history = workload.pair(Impaired { duplicate_permille: 0, ..network }).run(100_000);
        packets_are_cut_and_numbered_right(&history, &workload.config, workload.initial_psn);
        the_window_is_kept(&history, &workload.config);
        prop_assert_eq!(history.timeouts(), []);
        let posted = history.posted();
        let packets: u64 = posted.iter().map(|&bytes| workload.config.packets(bytes)).sum();
        prop_assert_eq!(history.sent().count() as u64, packets);
        prop_assert!(history.sent().all(|frame| !frame.transmit.is_retransmission));

        let arrived = sequences_arrived(&history, &workload);
        let taken = |disposition| matches!(disposition, Disposition::Accepted | Disposition::Placed);
        prop_assert!(history.judged().all(|arrival| taken(arrival.disposition)));
        prop_assert!(history.replies().all(|reply| matches!(reply, Reply::Ack(_))));
        let seen = arrived.last().map_or(0, |highest| highest + 1);
        prop_assert_eq!(history.skipped_packets as usize, seen - arrived.len());
    }

    #[test]
    fn a_loss_in_the_middle_delays_nothing(mut workload in generator(60), network in impaired(900)) {
        // One request whose last packet is sent over a network that lets it through.
        workload.posts.truncate(1);
        workload.posts[0].0 = Instant::ZERO;
        let last = workload.config.packets(workload.posts[0].1) - 1;
        let network = LastArrives { inner: Impaired { duplicate_permille: 0, ..network }, last, carried: 0 };
        let history = workload.pair(network).run(100_000);
        prop_assert_eq!(history.completed(), 1);
    }
}

/// Loses anything but the packet of that number and replies.
struct LastArrives {
    inner: Impaired,
    last: u64,
    carried: u64,
}

impl crate::network::Network for LastArrives {
    fn carry(&mut self, now: Instant, direction: crate::network::Direction) -> crate::network::Copies {
        if direction == crate::network::Direction::Reply {
            return [Some(self.inner.latency), None];
        }
        self.carried += 1;
        if self.carried > self.last {
            [Some(self.inner.latency), None]
        } else {
            self.inner.carry(now, direction)
        }
    }
}
