//! Whatever the network does, every byte arrives once and in order.

use crate::network::{Net, Way, config};
use fabricbench_transport::tcp::CongestionKind;
use proptest::prelude::*;
use units::{Instant, Rate, Span};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn every_byte_arrives_once_and_in_order(
        kind in prop::sample::select(vec![CongestionKind::NewReno, CongestionKind::Cubic, CongestionKind::Dctcp]),
        bytes in 1_u64..3_000_000,
        loss_ppm in 0_u64..200_000,
        reply_loss_ppm in 0_u64..200_000,
        duplicate_ppm in 0_u64..100_000,
        jitter_us in prop::sample::select(vec![0_u64, 1, 30, 300]),
        queue_bytes_max in prop::sample::select(vec![8_000_u64, 60_000, u64::MAX]),
        window_bytes in prop::sample::select(vec![1448_u64, 100_000, 1 << 30]),
        ack_every in 1_u32..4,
        seed: u64,
    ) {
        let way = Way {
            jitter: Span::from_us(jitter_us),
            loss_ppm,
            reply_loss_ppm,
            duplicate_ppm,
            rate: Some(Rate::from_gbps(10)),
            queue_bytes_max,
            mark_bytes: 20_000,
            ..Way::clean(Span::from_us(50))
        };
        let mut config = config(kind);
        (config.window_bytes, config.ack_every) = (window_bytes, ack_every);
        let mut net = Net::new(config, way, 2, Some(bytes), seed);
        // Back-off stays short, so that a bad row of losses ends.
        net.config.rto_max = Span::from_us(20_000);
        net.run(Instant(u64::MAX - 1));
        for flow in &net.flows {
            prop_assert_eq!((flow.receiver.delivered(), flow.sender.acked()), (bytes, bytes));
            prop_assert_eq!(flow.sender.deadline(), Instant::NEVER);
        }
    }
}
