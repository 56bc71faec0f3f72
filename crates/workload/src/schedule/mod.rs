//! The finished schedule: transfers, their dependencies, release times and phases, computed from the number
//! of a transfer (closed form) or stored as lists. Submodules build and transform schedules.

mod builder;
mod closed_form;
mod lists;
mod phases;
mod relay;
mod rendezvous;

pub use builder::ScheduleBuilder;
pub(crate) use closed_form::ClosedForm;
pub use phases::{barrier_transfers, in_phases};
pub use relay::Relay;
pub use rendezvous::{HANDSHAKE_TRANSFERS, with_rendezvous};

use lists::Lists;
use std::ops::Range;
use std::sync::Arc;
use units::{Rank, Span, TransferId};

/// One transfer of one data chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Sender.
    pub src: Rank,
    /// Receiver.
    pub dst: Rank,
    /// Payload [bytes]; 0 for a message that only notifies its receiver.
    pub bytes: u64,
    /// Step of the algorithm, from 0.
    pub step: u32,
    /// Channel: transfers of different channels never share a queue pair.
    pub channel: u32,
    /// Block of the collective's data that is sent; the first one, if `bytes` is several blocks. Blocks are
    /// numbered within a rank's buffer; if ranks have different data (gather, incast, permutation,
    /// send-receive) it is the rank whose data it is.
    pub block: u32,
}

/// Times of the ranks around a transfer, apart from those of the software.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankTimes {
    /// From the arrival of all that it waits for to its post.
    pub before: Span,
    /// For which it occupies the receiving rank after its arrival, one transfer after the other.
    pub busy: Span,
    /// After that, until the rank has finished with it.
    pub after: Span,
}

/// Payload of a message that clears a buffer for data: an entry of NCCL's FIFO of clearances (2.30,
/// `src/transport/net_ib`).
pub(crate) const CLEARANCE_BYTES: u64 = 64;

/// Type of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Data of the collective.
    Payload,
    /// Announces the payload that follows: ready to send.
    Rts,
    /// Permits the announced payload: clear to send.
    Cts,
    /// Part of a barrier between rounds.
    Barrier,
}

/// Transfers with their dependencies. A transfer may start once all its dependencies have been delivered to
/// its sender, so every dependency ends at the rank where its successor starts. A rank posts the transfers of
/// one queue pair in the order of their numbers; in this order they can be executed, even one by one.
#[derive(Clone, Debug)]
pub struct Schedule {
    order: Order,
    is_blocking: bool,
    releases: Vec<Span>,
    /// Type of each transfer; empty if all are payload.
    messages: Vec<Message>,
    /// One past the last transfer of each phase; empty if there is only one phase.
    phase_ends: Vec<u32>,
    /// Times of the ranks around each transfer; empty if they need none.
    rank_times: Vec<RankTimes>,
}

/// Transfers and their dependencies.
#[derive(Clone, Debug)]
enum Order {
    Closed(Arc<dyn ClosedForm>),
    Listed(Lists),
}

impl Schedule {
    /// A schedule in closed form.
    pub(crate) fn closed(form: impl ClosedForm + 'static) -> Self {
        Self::new(Order::Closed(Arc::new(form)))
    }

    pub(crate) fn listed(lists: Lists) -> Self {
        Self::new(Order::Listed(lists))
    }

    const fn new(order: Order) -> Self {
        Self {
            order,
            is_blocking: false,
            releases: Vec::new(),
            messages: Vec::new(),
            phase_ends: Vec::new(),
            rank_times: Vec::new(),
        }
    }

    #[cfg(test)]
    pub(crate) fn closed_form(&self) -> Option<&dyn ClosedForm> {
        match &self.order {
            Order::Closed(form) => Some(&**form),
            Order::Listed(_) => None,
        }
    }

    /// The same schedule with [`Schedule::message`].
    pub(crate) fn of_messages(self, messages: Vec<Message>) -> Self {
        assert!([0, self.transfers().len()].contains(&messages.len()), "one for each transfer, or none");
        let is_payload = messages.iter().all(|&message| message == Message::Payload);
        Self { messages: if is_payload { Vec::new() } else { messages }, ..self }
    }

    /// The same schedule with [`Schedule::rank_times`].
    pub(crate) fn of_rank_times(self, rank_times: Vec<RankTimes>) -> Self {
        assert!([0, self.transfers().len()].contains(&rank_times.len()), "one for each transfer, or none");
        Self { rank_times, ..self }
    }

    /// Times of the ranks around a transfer.
    #[inline]
    #[must_use]
    pub fn rank_times(&self, transfer: TransferId) -> RankTimes {
        self.rank_times.get(transfer.index()).copied().unwrap_or_default()
    }

    /// Whether ranks need time around any transfer.
    #[must_use]
    pub const fn has_rank_times(&self) -> bool {
        !self.rank_times.is_empty()
    }

    /// The same schedule with [`Schedule::phases`].
    pub(crate) fn of_phases(self, phase_ends: Vec<u32>) -> Self {
        assert!(
            phase_ends.last().map(|&end| end as usize) == Some(self.transfers().len()),
            "phases cover it"
        );
        Self { phase_ends, ..self }
    }

    /// The transfers of each phase, by number: a rank starts a phase after completing the previous one, and
    /// the first again after the last. Dependencies are within a phase.
    pub fn phases(&self) -> impl ExactSizeIterator<Item = Range<u32>> + '_ {
        let count = self.phase_ends.len().max(1);
        let end = |phase: usize| self.phase_ends.get(phase).copied();
        (0..count).map(move |phase| {
            let first = phase.checked_sub(1).and_then(end).unwrap_or(0);
            first..end(phase).unwrap_or_else(|| self.transfers().len() as u32)
        })
    }

    /// The phase of a transfer, from 0.
    #[inline]
    #[must_use]
    pub fn phase_of(&self, transfer: TransferId) -> u32 {
        self.phase_ends.partition_point(|&end| end <= transfer.0) as u32
    }

    /// Whether some transfers are not payload.
    #[must_use]
    pub const fn has_control_messages(&self) -> bool {
        !self.messages.is_empty()
    }

    /// Type of a transfer.
    #[inline]
    #[must_use]
    pub fn message(&self, transfer: TransferId) -> Message {
        self.messages.get(transfer.index()).copied().unwrap_or(Message::Payload)
    }

    /// The same schedule with [`Schedule::is_blocking`].
    pub(crate) fn blocking(self) -> Self {
        Self { is_blocking: true, ..self }
    }

    /// The same schedule with [`Schedule::releases`].
    pub(crate) fn released(self, releases: Vec<Span>) -> Self {
        assert!(
            releases.len() == self.transfers().len() && releases.is_sorted(),
            "one for each transfer, in order"
        );
        Self { releases, ..self }
    }

    /// Release time of each transfer, from the start of the job, ascending: open-loop traffic. Empty if
    /// transfers are released by dependencies.
    #[must_use]
    pub fn releases(&self) -> &[Span] {
        &self.releases
    }

    /// Whether each rank has at most one transfer in flight, like a program of blocking sends: it posts its
    /// next transfer, in the order of their numbers, once the previous one has been acknowledged. Otherwise
    /// it posts each as soon as its dependencies have been delivered.
    #[must_use]
    pub const fn is_blocking(&self) -> bool {
        self.is_blocking
    }

    /// A transfer.
    ///
    /// # Panics
    /// When a list has no such transfer. A closed form does not check.
    #[inline]
    #[must_use]
    pub fn transfer(&self, id: TransferId) -> Transfer {
        match &self.order {
            Order::Closed(form) => form.transfer(id),
            Order::Listed(lists) => lists.transfers[id.index()],
        }
    }

    /// Payload of a transfer [bytes].
    ///
    /// # Panics
    /// When a list has no such transfer. A closed form does not check.
    #[inline]
    #[must_use]
    pub fn bytes(&self, id: TransferId) -> u64 {
        match &self.order {
            Order::Closed(form) => form.bytes(id),
            Order::Listed(lists) => lists.transfers[id.index()].bytes,
        }
    }

    /// Payload of each transfer [bytes], if all are known to be equal, without dependencies and release
    /// times.
    #[must_use]
    pub fn independent_bytes(&self) -> Option<u64> {
        match &self.order {
            Order::Closed(form) if !self.is_blocking && self.releases.is_empty() => form.independent_bytes(),
            _ => None,
        }
    }

    /// All transfers, by [`TransferId`].
    pub fn transfers(&self) -> impl ExactSizeIterator<Item = Transfer> + Clone + '_ {
        let count = match &self.order {
            Order::Closed(form) => form.count(),
            Order::Listed(lists) => lists.transfers.len() as u32,
        };
        (0..count).map(|id| self.transfer(TransferId(id)))
    }

    /// Calls `visit` with the transfers of `ids`, in order: faster than one by one.
    ///
    /// # Panics
    /// When a list has fewer transfers.
    pub fn each_transfer(&self, ids: Range<u32>, mut visit: impl FnMut(Transfer)) {
        match &self.order {
            Order::Closed(form) => form.each(ids, &mut visit),
            Order::Listed(lists) => {
                lists.transfers[ids.start as usize..ids.end as usize]
                    .iter()
                    .for_each(|&transfer| visit(transfer));
            }
        }
    }

    /// Number of transfers after which the sequence of (sender, receiver, channel) repeats, if known; all are
    /// distinct within a period.
    #[must_use]
    pub fn period(&self) -> Option<u32> {
        match &self.order {
            Order::Closed(form) => Some(form.period()),
            Order::Listed(_) => None,
        }
    }

    /// The transfers that wait for the delivery of `transfer`, in posting order; each starts at the rank that
    /// received it.
    #[inline]
    pub fn successors(&self, transfer: TransferId) -> Successors<'_> {
        match &self.order {
            Order::Closed(form) => Successors { only: form.successor(transfer), listed: &[] },
            Order::Listed(lists) => Successors { only: None, listed: lists.successors(transfer) },
        }
    }

    /// Number of transfers that must be delivered before `transfer` may start.
    #[inline]
    #[must_use]
    pub fn dependencies(&self, transfer: TransferId) -> u32 {
        match &self.order {
            Order::Closed(form) => form.predecessor(transfer).map_or(0, |_| 1),
            Order::Listed(lists) => lists.dependencies(transfer),
        }
    }

    /// Sum of all transfers [bytes].
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        match &self.order {
            Order::Closed(form) => form.total_bytes(),
            Order::Listed(lists) => lists.transfers.iter().map(|transfer| transfer.bytes).sum(),
        }
    }

    /// Size of the schedule itself [bytes].
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let order = match &self.order {
            Order::Closed(form) => size_of_val(&**form),
            Order::Listed(lists) => lists.memory_bytes(),
        };
        order
            + size_of_val(&*self.releases)
            + size_of_val(&*self.messages)
            + size_of_val(&*self.phase_ends)
            + size_of_val(&*self.rank_times)
    }
}

/// Iterator over the transfers that wait for a transfer.
#[derive(Clone, Debug)]
pub struct Successors<'a> {
    only: Option<TransferId>,
    listed: &'a [TransferId],
}

impl Iterator for Successors<'_> {
    type Item = TransferId;

    #[inline]
    fn next(&mut self) -> Option<TransferId> {
        self.only.take().or_else(|| self.listed.split_off_first().copied())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.listed.len() + usize::from(self.only.is_some());
        (left, Some(left))
    }
}

impl ExactSizeIterator for Successors<'_> {}
