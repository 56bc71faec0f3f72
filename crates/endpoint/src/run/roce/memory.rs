//! The memory of queue pairs.

use crate::run::share::LocalPair;
use crate::{Memory, Pattern};
use jobs::Jobs;
use spec::RunSpec;
use std::collections::HashMap;
use std::sync::Arc;
use transport::Region;
use units::Seed;

/// The longest region [bytes].
const REGION_BYTES_MAX: u64 = 1 << 20;
/// Regions of all queue pairs that end at a host together [bytes].
const HOST_BYTES_MAX: u64 = 64 << 20;
/// Where each begins in the eyes of peers.
pub(super) const ADDRESS: u64 = 0x1000_0000;
/// How far the contents of queue pairs with neighbouring numbers are apart: a prime, so that a packet of
/// another one is not what is expected.
const PATTERN_STEP: u64 = 4_099;

/// What a peer may write to.
pub(super) const fn region(pair: &LocalPair, bytes: u64) -> Region {
    Region { address: ADDRESS, bytes, remote_key: pair.queue_pair.number }
}

/// The regions of a run: both ends of a queue pair know how long its one is, and what is to be in it.
pub(in crate::run) struct Regions {
    mtu_bytes: u64,
    message_bytes: u64,
    /// Queue pairs that end at each host.
    ending_at: HashMap<u32, u64>,
    pattern: Arc<[u8]>,
}

impl Regions {
    pub(in crate::run) fn new(jobs: &Jobs, spec: &RunSpec) -> Self {
        let mut ending_at = HashMap::new();
        jobs.each_queue_pair(|pair| {
            if !pair.is_local() {
                *ending_at.entry(pair.dst_host.0).or_insert(0) += 1;
            }
        });
        let mut random = Seed(spec.seed).stream("endpoint.pattern", 0);
        let words = 2 * REGION_BYTES_MAX / 8;
        Self {
            mtu_bytes: spec.transport.mtu_bytes.into(),
            message_bytes: spec.transport.message_bytes,
            ending_at,
            pattern: (0..words).flat_map(|_| random.next_u64().to_le_bytes()).collect(),
        }
    }

    /// How long the region of a queue pair is: as its longest chunk, if there is room; else whole messages,
    /// or packets [bytes].
    pub(super) fn of(&self, pair: &LocalPair) -> u64 {
        let pairs = self.ending_at.get(&pair.queue_pair.dst_host.0).copied().unwrap_or(1);
        let most = (HOST_BYTES_MAX / pairs).clamp(self.mtu_bytes, REGION_BYTES_MAX);
        if pair.chunk_bytes_max <= most {
            return pair.chunk_bytes_max.max(1);
        }
        let unit = if self.message_bytes <= most { self.message_bytes } else { self.mtu_bytes };
        most - most % unit
    }

    /// What is in the region of a queue pair.
    pub(in crate::run) fn pattern(&self, pair: &LocalPair) -> Pattern {
        let from = u64::from(pair.queue_pair.number) * PATTERN_STEP % REGION_BYTES_MAX;
        Pattern::new(Arc::clone(&self.pattern), from as usize..(from + self.of(pair)) as usize)
    }

    /// What the sender of a queue pair reads.
    pub(super) fn source(&self, pair: &LocalPair) -> Memory {
        Memory::Shared(self.pattern(pair))
    }

    /// What the receiver of a queue pair has for it.
    pub(super) fn destination(&self, pair: &LocalPair, verify: bool) -> Memory {
        let bytes = vec![0; self.of(pair) as usize];
        match verify {
            false => Memory::Own(bytes),
            true => Memory::Checked { bytes, expected: self.pattern(pair), wrong_bytes: 0 },
        }
    }
}
