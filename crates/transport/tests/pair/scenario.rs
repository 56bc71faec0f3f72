//! Random parameters of a run.

use crate::driver::Pair;
use crate::network::{Impaired, Network};
use fabricbench_transport::{Config, Recovery};
use proptest::prelude::*;
use units::{Instant, Seed, Span};
use wire::Psn;

/// One way of the network, at the least.
pub(crate) const LATENCY: Span = Span(1_000_000);

/// Parameters of a queue pair and what is posted to it.
#[derive(Clone, Debug)]
pub(crate) struct Workload {
    pub(crate) config: Config,
    pub(crate) initial_psn: Psn,
    /// When each work request is posted, and its bytes.
    pub(crate) posts: Vec<(Instant, u64)>,
}

impl Workload {
    /// A pair over `network` to which everything is posted.
    pub(crate) fn pair<N: Network>(&self, network: N) -> Pair<N> {
        let mut pair = Pair::new(self.config.clone(), self.initial_psn, network);
        for &(at, bytes) in &self.posts {
            pair.post_at(at, bytes);
        }
        pair
    }
}

/// Any configuration, with up to six work requests of up to `packets_max` packets.
pub(crate) fn workload(packets_max: u64) -> impl Strategy<Value = Workload> {
    let posts = prop::collection::vec((0u64..100_000_000, any::<u64>()), 1..=6);
    (config(), initial_psn(), posts).prop_map(move |(config, initial_psn, posts)| {
        let packet_bytes = config.message_bytes.min(u64::from(config.mtu_bytes));
        let bytes_max = packets_max * packet_bytes;
        let posts = posts.into_iter().map(|(at, size)| (Instant(at), 1 + size % bytes_max));
        Workload { config, initial_psn, posts: posts.collect() }
    })
}

/// Any initial PSN, often just before the wrap.
fn initial_psn() -> impl Strategy<Value = Psn> {
    prop_oneof![0u32..1 << 24, (1u32 << 24) - 100..1 << 24].prop_map(Psn::new)
}

fn config() -> impl Strategy<Value = Config> {
    let mtu_bytes = prop::sample::select(vec![256u32, 512, 1024, 2048, 4096]);
    let window_packets = prop_oneof![1u32..=4, 5u32..=100, Just(Psn::WINDOW_MAX)];
    let grouped = window_packets.prop_flat_map(|window| (Just(window), 1..=window.min(32)));
    (mtu_bytes, 1u64..40_000, grouped, 1u64..20, 1000u32..2000).prop_map(
        |(mtu_bytes, message_bytes, (window_packets, ack_every), timeout_us, retry_count)| Config {
            mtu_bytes,
            message_bytes,
            ack_every,
            window_packets,
            timeout: Span::from_us(timeout_us),
            retry_count,
            recovery: Recovery::GoBackN,
        },
    )
}

/// A network with faults, up to `loss_permille_max`.
pub(crate) fn impaired(loss_permille_max: u64) -> impl Strategy<Value = Impaired> {
    let jitter = prop_oneof![Just(0), 0..LATENCY.0 * 3];
    (0..=loss_permille_max, 0u64..=200, jitter, any::<u64>()).prop_map(
        |(loss_permille, duplicate_permille, jitter_ps, seed)| Impaired {
            latency: LATENCY,
            jitter: Span(jitter_ps),
            loss_permille,
            duplicate_permille,
            random: Seed(seed).stream("test.network", 0),
        },
    )
}
