//! Rendezvous protocol of MPI libraries for large messages: announcement, clearance, payload.
//!
//! The sender announces a message (RTS), the receiver clears it (CTS) once it has a buffer for it, then the
//! payload is sent. Announcements and clearances are separate transfers on separate queue pairs, so that they
//! do not wait behind payload of the same pair. A program of blocking calls ([`Schedule::is_blocking`]) posts
//! one receive after the other, in the order of the schedule; any other has posted all its receives when a
//! round starts, and clears at once.
//!
//! Not modelled: RDMA READ by the receiver instead of a clearance, as in some libraries (a READ request takes
//! the same path, but its data is not acknowledged, and the sender is notified at the end), and clearances
//! that wait behind payload on a common queue pair.

use crate::{Message, Schedule, ScheduleBuilder, Transfer};
use units::TransferId;

/// Transfers of a message with a handshake: announcement, clearance, payload.
pub const HANDSHAKE_TRANSFERS: u64 = 3;

/// Inserts a handshake of two messages of `control_bytes` before each large transfer: `rts`, `cts` and
/// payload are consecutive in the list.
#[must_use]
pub fn with_rendezvous(
    schedule: &Schedule,
    control_bytes: u64,
    is_large: impl Fn(&Transfer) -> bool,
) -> Schedule {
    let mut writer = Writer::new(schedule, control_bytes);
    for (transfer, before) in schedule.transfers().zip(Predecessors::of(schedule).iter()) {
        writer.push(&transfer, before, is_large(&transfer));
    }
    writer.finish(schedule.is_blocking())
}

/// The transfers that each transfer waits for.
pub(crate) struct Predecessors {
    starts: Vec<usize>,
    list: Vec<TransferId>,
}

impl Predecessors {
    pub(crate) fn of(schedule: &Schedule) -> Self {
        let ids = || (0..schedule.transfers().len()).map(TransferId::from_index);
        let mut starts = vec![0];
        starts.extend(ids().scan(0, |end, id| {
            *end += schedule.dependencies(id) as usize;
            Some(*end)
        }));
        let mut free = starts.clone();
        let mut list = vec![TransferId(0); starts[starts.len() - 1]];
        for (before, after) in ids().flat_map(|id| schedule.successors(id).map(move |after| (id, after))) {
            list[free[after.index()]] = before;
            free[after.index()] += 1;
        }
        Self { starts, list }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[TransferId]> {
        self.starts.windows(2).map(|range| &self.list[range[0]..range[1]])
    }
}

/// Builder of a schedule with handshakes.
struct Writer {
    builder: ScheduleBuilder,
    messages: Vec<Message>,
    /// New number of each old transfer.
    renamed: Vec<TransferId>,
    /// By rank of a program of blocking calls: the transfer it received last.
    received: Option<Vec<Option<TransferId>>>,
    control_bytes: u64,
    /// First channel that is not used for payload.
    channel: u32,
    /// Scratch space.
    after: Vec<TransferId>,
}

impl Writer {
    fn new(schedule: &Schedule, control_bytes: u64) -> Self {
        let transfers = schedule.transfers();
        let count = transfers.len() as u64 * HANDSHAKE_TRANSFERS;
        let ranks = transfers.clone().map(|transfer| transfer.dst.index() + 1).max().unwrap_or(0);
        Self {
            builder: ScheduleBuilder::with_capacity(count, count),
            messages: Vec::with_capacity(count as usize),
            renamed: Vec::with_capacity(schedule.transfers().len()),
            received: schedule.is_blocking().then(|| vec![None; ranks]),
            control_bytes,
            channel: transfers.map(|transfer| transfer.channel + 1).max().unwrap_or(0),
            after: Vec::new(),
        }
    }

    fn push(&mut self, transfer: &Transfer, before: &[TransferId], is_large: bool) {
        self.after.clear();
        self.after.extend(before.iter().map(|id| self.renamed[id.index()]));
        if is_large {
            self.push_handshake(transfer);
        }
        let id = self.add(*transfer, Message::Payload);
        self.renamed.push(id);
        if let Some(received) = &mut self.received {
            received[transfer.dst.index()] = Some(id);
        }
    }

    /// Adds an announcement of `transfer` that has its dependencies, and the clearance that it will wait for.
    fn push_handshake(&mut self, transfer: &Transfer) {
        let control = Transfer { bytes: self.control_bytes, channel: self.channel, ..*transfer };
        let announced = self.add(control, Message::Rts);
        self.after.clear();
        self.after.push(announced);
        self.after.extend(self.received.as_ref().and_then(|received| received[transfer.dst.index()]));
        let back = Transfer { src: transfer.dst, dst: transfer.src, channel: self.channel + 1, ..control };
        let cleared = self.add(back, Message::Cts);
        self.after.clear();
        self.after.push(cleared);
    }

    fn add(&mut self, transfer: Transfer, message: Message) -> TransferId {
        self.messages.push(message);
        self.builder.push(transfer, &self.after)
    }

    fn finish(self, is_blocking: bool) -> Schedule {
        let schedule = if is_blocking { self.builder.finish_blocking() } else { self.builder.finish() };
        schedule.of_messages(self.messages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Shape, schedule_for};
    use units::{Rank, Seed};

    fn schedule(algorithm: &str, ranks: u32) -> Schedule {
        let stream = Seed(1).stream("workload.permutation", 0);
        let shape = Shape { ranks, data_bytes: u64::from(ranks) * 100, root: Rank(0), stream };
        schedule_for("all-to-all", algorithm, &shape).unwrap()
    }

    fn ids(schedule: &Schedule, message: Message) -> Vec<TransferId> {
        let all = (0..schedule.transfers().len()).map(TransferId::from_index);
        all.filter(|&id| schedule.message(id) == message).collect()
    }

    fn successors(schedule: &Schedule, id: TransferId) -> Vec<TransferId> {
        schedule.successors(id).collect()
    }

    #[test]
    fn each_large_message_is_announced_and_cleared() {
        let plain = schedule("parallel", 4);
        let announced = with_rendezvous(&plain, 64, |transfer| transfer.src == Rank(1));
        assert_eq!(announced.total_bytes(), plain.total_bytes() + 3 * 2 * 64);
        let payload: Vec<_> = ids(&announced, Message::Payload);
        let moved: Vec<_> = payload.iter().map(|&id| announced.transfer(id)).collect();
        assert_eq!(moved, plain.transfers().collect::<Vec<_>>());
        for rts in ids(&announced, Message::Rts) {
            let [cts] = successors(&announced, rts)[..] else { panic!("a clearance alone waits for {rts}") };
            let [data] = successors(&announced, cts)[..] else { panic!("payload alone waits for {cts}") };
            let [rts, cts, data] = [rts, cts, data].map(|id| announced.transfer(id));
            assert_eq!((rts.src, rts.dst, rts.bytes), (data.src, data.dst, 64));
            assert_eq!((cts.src, cts.dst, cts.bytes), (data.dst, data.src, 64));
            assert!(data.src == Rank(1) && data.bytes == 100);
            assert_eq!([rts.channel, cts.channel, data.channel], [1, 2, 0]);
        }
    }

    #[test]
    fn what_is_small_stays_as_it_was() {
        let plain = schedule("pairwise", 5);
        let same = with_rendezvous(&plain, 64, |_| false);
        assert!(same.transfers().eq(plain.transfers()));
        for id in (0..plain.transfers().len()).map(TransferId::from_index) {
            assert!(same.successors(id).eq(plain.successors(id)));
        }
        assert!(same.is_blocking());
    }

    #[test]
    fn a_program_of_blocking_calls_takes_one_message_after_the_other() {
        let announced = with_rendezvous(&schedule("pairwise", 4), 64, |_| true);
        let of_rank = |message| -> Vec<TransferId> {
            let all = ids(&announced, message).into_iter();
            all.filter(|&id| announced.transfer(id).dst == Rank(0)).collect()
        };
        let payload = of_rank(Message::Payload);
        for received in payload.windows(2) {
            let cts = TransferId(received[1].0 - 1);
            assert_eq!(announced.message(cts), Message::Cts);
            assert!(successors(&announced, received[0]).contains(&cts));
        }
    }

    #[test]
    fn a_receiver_of_blocking_calls_clears_one_sender_after_the_other() {
        let stream = Seed(1).stream("workload.permutation", 0);
        let shape = Shape { ranks: 4, data_bytes: 100, root: Rank(0), stream };
        for (algorithm, waits) in [("parallel", [1, 1, 1]), ("linear", [1, 2, 2])] {
            let schedule = schedule_for("incast", algorithm, &shape).unwrap();
            let announced = with_rendezvous(&schedule, 64, |_| true);
            let cleared = ids(&announced, Message::Cts);
            assert_eq!(cleared.iter().map(|&id| announced.dependencies(id)).collect::<Vec<_>>(), waits);
        }
    }
}
