//! Reordering of the data packets of a queue pair: counts late packets by distance, in buckets of powers of
//! two.
//!
//! A packet is reordered if one with a later sequence number has arrived before it (RFC 4737, section 3). Its
//! distance is its lag behind the newest packet so far, in packets: the buffer that a receiver needs to
//! restore the order. The extent of RFC 4737 counts arrivals in between instead, and so leaves out packets
//! that are later still. All arrivals count, before the transport processes them; so packets resent after a
//! loss, or because go-back-N takes a late packet for a lost one, count as late. Copies of the newest packet
//! do not count.

use std::hint::select_unpredictable;
use units::State;
use wire::Psn;

/// Bucket k counts distances from 2^k to 2^(k+1) - 1; sequence numbers compare within 2^23.
pub(crate) const BUCKETS: usize = 23;

/// Distances of the packets of a queue pair.
#[derive(Clone, Debug, State)]
#[repr(C, align(64))]
pub(crate) struct Reordering {
    newest: Psn,
    /// Largest distance.
    distance_max: u32,
    #[state(skip)]
    queue_pair: u32,
    /// Packets in each bucket; those of distances up to 8,191 are in the same cache line as the rest.
    // A period with late packets does not repeat: packets resent after a loss are late only until they reach
    // the newest one.
    late: [u32; BUCKETS],
}

impl Reordering {
    /// For a queue pair whose first packet has the number `initial_psn`.
    pub(crate) const fn new(queue_pair: u32, initial_psn: Psn) -> Self {
        // One less, modulo 2^24.
        Self { newest: initial_psn.add(u32::MAX), distance_max: 0, queue_pair, late: [0; BUCKETS] }
    }

    /// Queue pair of the run.
    pub(crate) const fn queue_pair(&self) -> u32 {
        self.queue_pair
    }

    /// Counts a packet.
    #[inline]
    pub(crate) fn arrive(&mut self, psn: Psn) {
        // Packets that overtake each other are late as often as not: a branch would be mispredicted.
        let ahead = psn.distance_from(self.newest);
        self.newest = select_unpredictable(ahead > 0, psn, self.newest);
        let distance = ahead.min(0).unsigned_abs();
        let bucket = ((distance | 1).ilog2() as usize).min(BUCKETS - 1);
        self.late[bucket] = self.late[bucket].saturating_add((distance > 0).into());
        self.distance_max = self.distance_max.max(distance);
    }

    /// Non-empty buckets: smallest and largest distance, and number of packets.
    pub(crate) fn distances(&self) -> impl Iterator<Item = (u32, u32, u64)> {
        let counted = (0_u32..).zip(self.late).filter(|&(_, frames)| frames > 0);
        let largest = self.distance_max;
        counted.map(move |(power, frames)| {
            (1 << power, ((2 << power) - 1).min(largest.max(1 << power)), u64::from(frames))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distances(arrivals: &[u32]) -> Vec<(u32, u32, u64)> {
        let start = 0xff_fffe;
        let mut reordering = Reordering::new(7, Psn::new(start));
        arrivals.iter().for_each(|&packet| reordering.arrive(Psn::new(start).add(packet)));
        reordering.distances().collect()
    }

    #[test]
    fn a_packet_is_as_late_as_it_is_behind_the_newest() {
        assert_eq!(distances(&[0, 1, 2, 3, 7]), []);
        // 1 is 1 behind 2; 3 and 4 are 6 and 5 behind 9; 8 is 1 behind 9.
        assert_eq!(distances(&[0, 2, 1, 9, 3, 4, 8]), [(1, 1, 2), (4, 6, 2)]);
        assert_eq!(distances(&[0, 0, 1, 1]), [], "copies of the newest");
    }
}
