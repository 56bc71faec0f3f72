//! Memory regions of queue pairs: sizes, and the random pattern that senders read and receivers may verify.

use crate::run::share::LocalPair;
use crate::{Memory, Pattern};
use jobs::Jobs;
use spec::RunSpec;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;
use transport::Region;
use units::Seed;

/// Maximum size of a region [bytes].
const REGION_BYTES_MAX: u64 = 1 << 20;
/// Maximum size of all regions of an agent [bytes], to keep the agent below 100 MB.
const AGENT_BYTES_MAX: u64 = 16 << 20;
/// Remote address of each region, as peers use it.
pub(super) const ADDRESS: u64 = 0x1000_0000;
/// Offset between the patterns of queue pairs with consecutive numbers: a prime, so that a packet of another
/// queue pair differs from the expected content.
const PATTERN_STEP: u64 = 4_099;

/// The region of a receiver, writable by its peer.
pub(super) const fn region(pair: &LocalPair, bytes: u64) -> Region {
    Region { address: ADDRESS, bytes, remote_key: pair.queue_pair.number }
}

/// Size and content of all regions of a run; both ends of a queue pair compute the same values.
pub(in crate::run) struct Regions {
    mtu_bytes: u64,
    message_bytes: u64,
    /// By host: number of queue pairs received by its agent.
    ending_at: HashMap<u32, u64>,
    pattern: Arc<[u8]>,
}

impl Regions {
    /// `agent_of` identifies the agent of a host; it must group hosts identically at both ends of a queue
    /// pair.
    pub(in crate::run) fn new<A: Eq + Hash>(
        jobs: &Jobs,
        spec: &RunSpec,
        agent_of: impl Fn(u32) -> A,
    ) -> Self {
        let (mut hosts, mut agents) = (HashSet::new(), HashMap::new());
        jobs.each_queue_pair(|pair| {
            if !pair.is_local() {
                hosts.insert(pair.dst_host.0);
                *agents.entry(agent_of(pair.dst_host.0)).or_insert(0) += 1;
            }
        });
        let ending_at = hosts.into_iter().map(|host| (host, agents[&agent_of(host)])).collect();
        let mut random = Seed(spec.seed).stream("endpoint.pattern", 0);
        let words = 2 * REGION_BYTES_MAX / 8;
        Self {
            mtu_bytes: spec.transport.mtu_bytes.into(),
            message_bytes: spec.transport.message_bytes,
            ending_at,
            pattern: (0..words).flat_map(|_| random.next_u64().to_le_bytes()).collect(),
        }
    }

    /// Size of a queue pair's region: its largest chunk if that fits, otherwise a multiple of the message
    /// size, or of the MTU [bytes].
    pub(in crate::run) fn of(&self, pair: &LocalPair) -> u64 {
        let pairs = self.ending_at.get(&pair.queue_pair.dst_host.0).copied().unwrap_or(1);
        let most = (AGENT_BYTES_MAX / pairs).clamp(self.mtu_bytes, REGION_BYTES_MAX);
        if pair.chunk_bytes_max <= most {
            return pair.chunk_bytes_max.max(1);
        }
        let unit = if self.message_bytes <= most { self.message_bytes } else { self.mtu_bytes };
        most - most % unit
    }

    /// The pattern buffer that all regions are parts of.
    pub(in crate::run) fn whole(&self) -> Arc<[u8]> {
        Arc::clone(&self.pattern)
    }

    /// Content of a queue pair's region.
    pub(in crate::run) fn pattern(&self, pair: &LocalPair) -> Pattern {
        let from = u64::from(pair.queue_pair.number) * PATTERN_STEP % REGION_BYTES_MAX;
        Pattern::new(Arc::clone(&self.pattern), from as usize..(from + self.of(pair)) as usize)
    }

    /// Memory that the sender of a queue pair reads.
    pub(super) fn source(&self, pair: &LocalPair) -> Memory {
        Memory::Shared(self.pattern(pair))
    }

    /// Memory that the receiver of a queue pair registers.
    pub(super) fn destination(&self, pair: &LocalPair, verify: bool) -> Memory {
        let bytes = vec![0; self.of(pair) as usize];
        match verify {
            false => Memory::Own(bytes),
            true => Memory::Checked { bytes, expected: self.pattern(pair), wrong_bytes: 0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::host_run::jobs_of;
    use crate::run::share::Share;
    use spec::{CollectiveSpec, Work};

    #[test]
    fn regions_of_an_agent_have_a_bound_however_many_hosts_it_plays() {
        let mut spec = spec::from_json(include_str!("../../../testdata/run.json")).unwrap();
        if let Work::Collective(CollectiveSpec { pattern, .. }) = &mut spec.jobs[0].work {
            pattern.data_bytes = 64 << 20;
        }
        let jobs = Arc::new(jobs_of(&spec).unwrap());
        let hosts: Vec<u32> = (0..8).collect();
        let share = Share::new(&spec, &jobs, &hosts);
        let all_bytes =
            |regions: &Regions| share.receivers().iter().map(|pair| regions.of(pair)).sum::<u64>();
        assert_eq!(all_bytes(&Regions::new(&jobs, &spec, |host| host)), 56 * REGION_BYTES_MAX);
        let of_one = all_bytes(&Regions::new(&jobs, &spec, |_| 0));
        assert!(of_one <= AGENT_BYTES_MAX && of_one > AGENT_BYTES_MAX / 2, "{of_one}");
    }
}
