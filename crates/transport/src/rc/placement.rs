//! Responder under selective recovery: accepts packets in any order within a window, acknowledges them in
//! groups and reports losses.

use crate::{Arrival, Config, Disposition, Reply};
use units::State;
use wire::Psn;

/// Windows up to this size need no separate allocation.
const NEAR_PACKETS: usize = 256;
/// No distance; greater than any.
const NONE: u32 = u32::MAX;

/// The responder of selective recovery: accepts packets within the window that starts at the first missing
/// one.
///
/// All distances are relative to the first missing packet, `expected`. The state for an ordinary packet fits
/// into one cache line.
#[derive(Clone, Debug, State)]
#[repr(C, align(64))]
pub struct Placement {
    /// The first missing packet.
    expected: Psn,
    #[state(skip)]
    window: u32,
    /// Packets from the first missing one to one past the highest placed; 0 if none is placed beyond it.
    // Only loss, which does not repeat, leaves packets behind a missing one.
    #[state(only_if = is_zero)]
    ahead: u32,
    /// Packets in order since the last acknowledgement.
    unacknowledged: u32,
    /// Holes must be checked and reported while `ahead` exceeds this: all holes before packet `report_beyond`
    /// minus [`Self::threshold`] have been reported.
    report_beyond: u32,
    /// Distance to the first placed packet that requests an acknowledgement; [`NONE`] if there is none.
    first_ack_request: u32,
    /// Bitmap of the packets placed beyond the first missing one, indexed by the low bits of the PSN.
    // Empty while `ahead` is 0, as is `more`.
    #[state(skip)]
    near: [u64; NEAR_PACKETS / 64],
    #[state(skip)]
    more: Option<Box<More>>,
}

/// State that few queue pairs need.
#[derive(Clone, Debug)]
struct More {
    /// Replaces `near` for longer windows.
    placed: Vec<u64>,
    /// Bitmap and number of the placed packets that request an acknowledgement, without the first of them.
    /// With messages as long as the window there are hardly ever two.
    ack_requests: Vec<u64>,
    ack_request_count: u32,
}

impl More {
    fn new(placed: Vec<u64>) -> Self {
        Self { placed, ack_requests: Vec::new(), ack_request_count: 0 }
    }
}

const _: () = assert!(size_of::<Placement>() == 64, "a packet touches one cache line");

impl Placement {
    /// A queue pair whose first packet has PSN `initial_psn`, and which accepts packets out of order within a
    /// window of `window_packets`, at most [`Psn::WINDOW_MAX`].
    #[must_use]
    pub fn new(initial_psn: Psn, window_packets: u32) -> Self {
        let mut placement = Self {
            expected: initial_psn,
            window: window_packets,
            ahead: 0,
            unacknowledged: 0,
            report_beyond: 0,
            first_ack_request: NONE,
            near: [0; _],
            more: None,
        };
        placement.report_beyond = placement.threshold();
        if !placement.is_near() {
            placement.more = Some(Box::new(More::new(ring(window_packets))));
        }
        placement
    }

    /// Whether [`Self::on_packet`] would place this packet: it is within the window and not placed yet.
    #[must_use]
    pub fn is_new(&self, psn: Psn) -> bool {
        psn.distance_from(self.expected).cast_unsigned() < self.window && !contains(self.placed(), psn)
    }

    /// The packet before the first missing one.
    #[must_use]
    pub const fn newest(&self) -> Psn {
        // Minus one, modulo 2^24.
        self.expected.add(u32::MAX)
    }

    /// Processes an arrived packet.
    #[inline(always)]
    pub fn on_packet(&mut self, config: &Config, psn: Psn, ack_request: bool) -> Arrival {
        let distance = psn.distance_from(self.expected);
        if distance == 0 {
            let ack_requested = self.advance() || ack_request;
            return Arrival { disposition: Disposition::Accepted, reply: self.answer(config, ack_requested) };
        }
        let distance = distance.cast_unsigned();
        if distance >= self.window {
            return self.reject(distance.cast_signed() < 0, ack_request);
        }
        if !self.place(psn) {
            return self.reject(true, ack_request);
        }
        if ack_request {
            self.note_ack_request(distance);
        }
        self.ahead = self.ahead.max(distance + 1);
        // `unacknowledged` is below `ack_every` as before this packet: no acknowledgement is due.
        Arrival { disposition: Disposition::Placed, reply: self.report_loss() }
    }

    /// Processes a packet that is already placed or beyond the window.
    #[cold]
    fn reject(&mut self, is_placed: bool, ack_request: bool) -> Arrival {
        if !is_placed {
            return Arrival { disposition: Disposition::OutOfOrder, reply: None };
        }
        // A requester resends an arrived packet only if it missed the acknowledgement.
        let reply = ack_request.then(|| self.acknowledge());
        Arrival { disposition: Disposition::Duplicate, reply }
    }

    /// The expected packet arrived; true if a packet that is now in order had requested an acknowledgement.
    #[inline]
    fn advance(&mut self) -> bool {
        let (mut packets, mut ack_requested) = (1, false);
        if self.ahead > 0 {
            let next = self.expected.add(1);
            packets += self.take_run(next);
            ack_requested = self.pass_ack_requests(packets);
            self.ahead -= packets;
        }
        self.expected = self.expected.add(packets);
        self.unacknowledged += packets;
        self.report_beyond = self.report_beyond.saturating_sub(packets).max(self.threshold());
        ack_requested
    }

    /// Whether the placed packets are in [`Self::near`].
    #[inline]
    const fn is_near(&self) -> bool {
        self.window as usize <= NEAR_PACKETS
    }

    /// Marks a packet beyond the first missing one as placed; false if it was placed already.
    #[inline]
    fn place(&mut self, psn: Psn) -> bool {
        if self.is_near() { insert(&mut self.near, psn) } else { self.place_far(psn) }
    }

    fn place_far(&mut self, psn: Psn) -> bool {
        self.more.as_mut().is_some_and(|more| insert(&mut more.placed, psn))
    }

    /// Clears all packets from `first` to the next hole; returns their number.
    #[inline]
    fn take_run(&mut self, first: Psn) -> u32 {
        if self.is_near() { take_run(&mut self.near, first) } else { self.take_far(first) }
    }

    fn take_far(&mut self, first: Psn) -> u32 {
        self.more.as_mut().map_or(0, |more| take_run(&mut more.placed, first))
    }

    /// The packet at this distance from the first missing one requests an acknowledgement.
    fn note_ack_request(&mut self, distance: u32) {
        let other = self.first_ack_request.max(distance);
        self.first_ack_request = self.first_ack_request.min(distance);
        if other != NONE {
            self.note_further_ack_request(other);
        }
    }

    #[cold]
    fn note_further_ack_request(&mut self, distance: u32) {
        let (window, psn) = (self.window, self.expected.add(distance));
        let more = self.more.get_or_insert_with(|| Box::new(More::new(Vec::new())));
        if more.ack_requests.is_empty() {
            more.ack_requests = ring(window);
        }
        insert(&mut more.ack_requests, psn);
        more.ack_request_count += 1;
    }

    /// Advances by `packets` that are now in order; true if one of them requested an acknowledgement.
    #[inline]
    fn pass_ack_requests(&mut self, packets: u32) -> bool {
        if self.first_ack_request == NONE {
            return false;
        }
        if self.first_ack_request >= packets {
            self.first_ack_request -= packets;
            return false;
        }
        self.first_ack_request = self.next_ack_request(packets);
        true
    }

    /// Removes from the further packets that request an acknowledgement those now in order and the first one
    /// not in order. Returns the distance of the latter from the new first missing packet.
    fn next_ack_request(&mut self, packets: u32) -> u32 {
        let Some(more) = &mut self.more else { return NONE };
        let mut distance = 0;
        while more.ack_request_count > 0 {
            if remove(&mut more.ack_requests, self.expected.add(distance)) {
                more.ack_request_count -= 1;
                if distance >= packets {
                    return distance - packets;
                }
            }
            distance += 1;
        }
        NONE
    }

    /// The answer to a packet in order. A hole to report has priority; its report acknowledges as well.
    #[inline]
    fn answer(&mut self, config: &Config, ack_requested: bool) -> Option<Reply> {
        let loss = self.report_loss();
        if loss.is_some() {
            return loss;
        }
        (ack_requested || self.unacknowledged >= config.ack_every).then(|| self.acknowledge())
    }

    /// Reports the first unreported hole that counts as a loss, if there is one.
    #[inline]
    fn report_loss(&mut self) -> Option<Reply> {
        if self.report_beyond < self.ahead { self.report_next_loss() } else { None }
    }

    #[cold]
    fn report_next_loss(&mut self) -> Option<Reply> {
        let hole = self.next_lost()?;
        self.unacknowledged = 0;
        Some(Reply::SelectiveNak { newest: self.newest(), missing: self.expected.add(hole) })
    }

    /// Distance of an arrived packet from a hole that makes the hole a loss: three quarters of the window.
    /// With random spraying at full load of every path, the queues of the paths diverge until the window
    /// limits the requester; with half the window, late packets were observed to be taken for lost ones, and
    /// resending them made the queues longer still. The last quarter lets the requester continue while a loss
    /// is repaired: 64 of 256 packets last 5 us at 400 Gb/s, a round trip over two tiers.
    #[inline]
    const fn threshold(&self) -> u32 {
        let threshold = (self.window as u64 * 3 / 4) as u32;
        if threshold == 0 { 1 } else { threshold }
    }

    /// The first unreported hole at least the threshold behind the highest packet.
    fn next_lost(&mut self) -> Option<u32> {
        while self.report_beyond < self.ahead {
            let packet = self.report_beyond - self.threshold();
            self.report_beyond += 1;
            if !contains(self.placed(), self.expected.add(packet)) {
                return Some(packet);
            }
        }
        None
    }

    #[inline]
    const fn acknowledge(&mut self) -> Reply {
        self.unacknowledged = 0;
        // Minus one, modulo 2^24.
        let highest = self.expected.add(self.ahead).add(u32::MAX);
        Reply::SelectiveAck { newest: self.newest(), highest }
    }

    fn placed(&self) -> &[u64] {
        match &self.more {
            Some(more) if !self.is_near() => &more.placed,
            _ => &self.near,
        }
    }
}

const fn is_zero(packets: &u32) -> bool {
    *packets == 0
}

/// An empty bitmap with room for a window.
fn ring(window_packets: u32) -> Vec<u64> {
    vec![0; window_packets.div_ceil(64).next_power_of_two() as usize]
}

/// Word index and bit index of a packet. The number of bits divides the PSN space, so packets within a window
/// have distinct bits.
#[inline]
const fn bit_of(words: &[u64], psn: Psn) -> (usize, u32) {
    ((psn.value() >> 6) as usize & (words.len() - 1), psn.value() & 63)
}

#[inline]
fn contains(words: &[u64], psn: Psn) -> bool {
    let (word, bit) = bit_of(words, psn);
    words[word] >> bit & 1 == 1
}

/// Sets the bit of a packet; false if it was set.
#[inline]
fn insert(words: &mut [u64], psn: Psn) -> bool {
    let (word, bit) = bit_of(words, psn);
    let is_new = words[word] >> bit & 1 == 0;
    words[word] |= 1 << bit;
    is_new
}

/// Clears the bit of a packet; true if it was set.
fn remove(words: &mut [u64], psn: Psn) -> bool {
    let was_in = contains(words, psn);
    let (word, bit) = bit_of(words, psn);
    words[word] &= !(1 << bit);
    was_in
}

/// Clears all packets from `first` to the next hole; returns their number.
#[inline]
fn take_run(words: &mut [u64], first: Psn) -> u32 {
    let mut packets = 0;
    loop {
        let (word, bit) = bit_of(words, first.add(packets));
        let rest = words[word] >> bit;
        let ones = rest.trailing_ones();
        // Adding one to the lowest bit of a run of ones clears the run.
        words[word] &= words[word].wrapping_add(1 << bit);
        packets += ones;
        if bit + ones < 64 || ones == 0 {
            return packets;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_run_is_taken_as_packet_by_packet(
            placed in prop::collection::btree_set(0..250_u32, 0..250),
            start in 0..256_u32,
        ) {
            let first = Psn::new(0xff_ff00).add(start);
            let [mut words, mut expected] = [[0_u64; 4]; 2];
            for &packet in &placed {
                insert(&mut words, first.add(packet));
                insert(&mut expected, first.add(packet));
            }
            let run = (0..).take_while(|&packet| remove(&mut expected, first.add(packet))).count();
            prop_assert_eq!(take_run(&mut words, first), run as u32);
            prop_assert_eq!(words, expected);
        }
    }
    proptest! {
        #[test]
        fn who_asks_is_answered_once_all_before_is_there(
            asks in prop::collection::vec(prop::bool::weighted(0.2), 150),
            keys in prop::collection::vec(0..150_u32, 150),
            is_far in any::<bool>(),
        ) {
            let first = Psn::new(0xff_fff0);
            let config = config(1_000);
            let mut placement = Placement::new(first, if is_far { 1_000 } else { 256 });
            let mut order: Vec<usize> = (0..asks.len()).collect();
            order.sort_by_key(|&packet| keys[packet]);
            let (mut arrived, mut expected) = (vec![false; asks.len()], 0);
            for packet in order {
                prop_assert!(placement.is_new(first.add(packet as u32)));
                arrived[packet] = true;
                let run = arrived[expected..].iter().take_while(|is_there| **is_there).count();
                let ack_requested = asks[expected..expected + run].iter().any(|asks| *asks);
                expected += run;
                let reply = placement.on_packet(&config, first.add(packet as u32), asks[packet]).reply;
                prop_assert!(!placement.is_new(first.add(packet as u32)));
                prop_assert_eq!(reply.is_some(), ack_requested);
                if let Some(Reply::SelectiveAck { newest, .. }) = reply {
                    prop_assert_eq!(newest, first.add(expected as u32).add(u32::MAX));
                }
            }
            prop_assert_eq!(placement.first_ack_request, NONE);
        }
    }

    fn config(ack_every: u32) -> Config {
        Config {
            mtu_bytes: 4_096,
            message_bytes: 4_096,
            ack_every,
            window_packets: 256,
            timeout: units::Span(1_000_000),
            retry_count: 7,
            recovery: crate::Recovery::Selective { ooo_window_packets: 256 },
        }
    }
}
