//! Flowlet switching (Sinha, Kandula, Katabi, HotNets 2004): ECMP that draws a new path after each pause of a
//! flow. As in switches, flows share a hash table of fixed size, so two may share an entry.

use super::{Choice, Forward, ForwardPlan, hash_choice};
use crate::packet::Packet;
use engine::Message;
use spec::LoadBalancing;
use units::{Instant, Span, Stream};

/// Entries of the table: a power of two, as in switch chips.
const TABLE_ENTRIES: usize = 4_096;

/// Time of the last packet of the flows of one entry, and the salt that selects their path.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    last: Instant,
    salt: u64,
}

/// Flowlet switching.
#[derive(Debug)]
pub(crate) struct Flowlet {
    gap: Span,
    seed: u64,
    stream: Stream,
    table: Vec<Entry>,
}

impl Forward for Flowlet {
    const CHOICE: Choice = Choice::PerPacket;

    fn new(plan: &ForwardPlan<'_>) -> Self {
        let gap_ps = match plan.spec {
            LoadBalancing::Flowlet { gap_ps } => *gap_ps,
            _ => 0,
        };
        let mut stream = plan.seed.stream("switch.flowlet", u64::from(plan.switch));
        Self {
            gap: Span(gap_ps),
            seed: stream.next_u64(),
            stream,
            table: vec![Entry::default(); TABLE_ENTRIES],
        }
    }

    #[inline]
    fn choose(&mut self, packet: &Packet, hops: &[u16], _loads: &[u64]) -> usize {
        let entry = &mut self.table[packet.entropy as usize % TABLE_ENTRIES];
        if packet.at().since(entry.last) > self.gap {
            entry.salt = self.stream.next_u64();
        }
        entry.last = entry.last.max(packet.at());
        hash_choice(packet.entropy, self.seed ^ entry.salt, hops.len())
    }
}
