//! Chunks (parts of transfers) that were acknowledged, in runs without loss recovery, while frames of them
//! were missing at their responder: lists them until an acknowledgement shows that they are complete.
//!
//! The highest sequence number received acknowledges everything before it, so that the window advances in
//! spite of losses. This does not imply that a chunk is complete, so each acknowledgement also has the number
//! of consecutive packets, up to its own, that have all arrived. A chunk is complete with the first
//! acknowledgement that covers all of it. If its last frame to arrive was overtaken by others, it is
//! acknowledged separately. A chunk that lost a frame is never complete; nor is one whose acknowledgement was
//! lost while a gap behind it was open.

use super::WorkId;
use crate::packet::Packet;
use crate::record::SendReport;
use std::collections::BTreeMap;
use units::State;
use wire::Psn;

/// An acknowledgement without recovery: `packets` packets, the last of them `psn`, have all arrived. On the
/// wire this number replaces the message sequence number, which is specific to this implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Vouched {
    pub(crate) psn: Psn,
    pub(crate) packets: u32,
}

impl Vouched {
    /// Everything since the first packet of the queue pair.
    pub(crate) const ALL: u32 = 0xff_ffff;

    /// A number of packets, limited to the range of the field.
    pub(crate) fn packets(packets: u64) -> u32 {
        packets.min(u64::from(Self::ALL) - 1) as u32
    }

    /// The content of an acknowledgement.
    pub(crate) fn of(packet: &Packet) -> Self {
        Self { psn: packet.psn(), packets: packet.message_sequence() }
    }

    /// Whether a chunk of `packets` packets, the last of them `last`, is complete.
    fn covers(self, last: Psn, packets: u64) -> bool {
        let behind = self.psn.distance_from(last);
        let needed = i64::from(behind) + i64::from(Self::packets(packets));
        behind >= 0 && (self.packets == Self::ALL || needed <= i64::from(self.packets))
    }
}

/// A chunk that was acknowledged.
#[derive(Debug)]
pub(crate) struct Acknowledged {
    /// Its last packet, and its number of packets.
    pub(crate) last: Psn,
    pub(crate) packets: u64,
}

impl Acknowledged {
    /// Whether it is complete according to an acknowledgement.
    pub(crate) fn is_whole(&self, vouched: Vouched) -> bool {
        vouched.covers(self.last, self.packets)
    }
}

/// Acknowledged chunks of a host that are not known to be complete.
#[derive(Debug, Default, State)]
pub(crate) struct UnrecoveredChunks {
    #[state(only_if = BTreeMap::is_empty)]
    of_senders: BTreeMap<u32, Vec<(Acknowledged, Open)>>,
    /// Chunks so far behind that wrapped sequence numbers could match them.
    #[state(skip)]
    dropped: Vec<SendReport>,
}

/// A chunk in the ledger, and its report so far.
type Open = (WorkId, SendReport);

impl UnrecoveredChunks {
    /// Half of the range in which sequence numbers are unambiguous.
    const BEHIND_MAX: i32 = (Psn::WINDOW_MAX / 2) as i32;

    pub(crate) fn add(&mut self, sender: u32, chunk: Acknowledged, open: Open) {
        self.of_senders.entry(sender).or_default().push((chunk, open));
    }

    /// Removes the chunks of a sender that are complete according to an acknowledgement.
    pub(crate) fn confirm(&mut self, sender: u32, vouched: Vouched) -> Vec<Open> {
        let Some(chunks) = self.of_senders.get_mut(&sender) else { return Vec::new() };
        let whole = chunks.extract_if(.., |(chunk, _)| chunk.is_whole(vouched));
        let confirmed = whole.map(|(_, open)| open).collect();
        let far = |chunk: &Acknowledged| vouched.psn.distance_from(chunk.last) > Self::BEHIND_MAX;
        self.dropped.extend(chunks.extract_if(.., |(chunk, _)| far(chunk)).map(|(_, (_, report))| report));
        if chunks.is_empty() {
            self.of_senders.remove(&sender);
        }
        confirmed
    }

    /// Reports of these chunks.
    pub(crate) fn reports(&self) -> impl Iterator<Item = SendReport> {
        self.of_senders.values().flatten().map(|(_, (_, report))| *report).chain(self.dropped.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Instant;

    fn vouched(psn: u32, packets: u32) -> Vouched {
        Vouched { psn: Psn::new(psn), packets }
    }

    #[test]
    fn a_chunk_is_confirmed_once_all_of_it_is_covered() {
        let mut unrecovered = UnrecoveredChunks::default();
        // Packets 0xfffffe to 1.
        let chunk = || Acknowledged { last: Psn::new(1), packets: 4 };
        unrecovered.add(3, chunk(), (WorkId::only_of(5), SendReport::new(7, 0, Instant::ZERO)));
        for vouch in [vouched(0, Vouched::ALL), vouched(1, 3), vouched(5, 7), vouched(9, 0)] {
            assert!(unrecovered.confirm(3, vouch).is_empty(), "{vouch:?}");
        }
        assert!(unrecovered.confirm(2, vouched(1, 4)).is_empty(), "another sender");
        assert_eq!(
            unrecovered.confirm(3, vouched(5, 8)).iter().map(|open| open.0).collect::<Vec<_>>(),
            [WorkId::only_of(5)]
        );
        assert_eq!(unrecovered.reports().count(), 0);
        assert!(chunk().is_whole(vouched(1, 4)) && chunk().is_whole(vouched(1, Vouched::ALL)));
    }

    #[test]
    fn a_chunk_beyond_the_range_of_the_field_is_confirmed_by_its_own_acknowledgement() {
        let long = Acknowledged { last: Psn::new(9), packets: 1 << 26 };
        assert!(long.is_whole(Vouched { psn: Psn::new(9), packets: Vouched::packets(long.packets) }));
        assert!(!long.is_whole(vouched(10, Vouched::ALL - 1)));
    }

    #[test]
    fn wrapped_numbers_confirm_no_old_chunk() {
        let mut unrecovered = UnrecoveredChunks::default();
        unrecovered.add(
            0,
            Acknowledged { last: Psn::new(0), packets: 1 },
            (WorkId::only_of(5), SendReport::new(7, 0, Instant::ZERO)),
        );
        for step in 1..=9 {
            assert!(unrecovered.confirm(0, vouched((step << 21) & 0xff_ffff, 1)).is_empty());
        }
        assert_eq!(unrecovered.reports().count(), 1);
    }
}
