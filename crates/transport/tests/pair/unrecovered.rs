//! No recovery: everything is sent once, and whatever arrives is taken.

use crate::checks::{packets_are_cut_and_numbered_right, sequence_near, the_window_is_kept};
use crate::network::Impaired;
use crate::scenario::{Workload, impaired, workload};
use fabricbench_transport::{Disposition, Recovery, Reply};
use proptest::prelude::*;
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn nothing_is_resent_and_whatever_arrives_is_taken(
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
        prop_assert!(history.sent().all(|frame| !frame.transmit.packet.is_retransmission));

        let mut next = 0;
        for (frame, arrival) in history.arrived() {
            let sequence = sequence_near(0, workload.initial_psn, frame.transmit.packet.psn);
            let is_late = sequence < next;
            let taken = if is_late { Disposition::Placed } else { Disposition::Accepted };
            prop_assert_eq!(arrival.disposition, taken);
            next = next.max(sequence + 1);
        }
        prop_assert!(history.replies().all(|reply| matches!(reply, Reply::Ack(_))));
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
