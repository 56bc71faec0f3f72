//! The finished schedule.

use units::{Rank, Span, TransferId};

/// One transfer of one data chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Sender.
    pub src: Rank,
    /// Receiver.
    pub dst: Rank,
    /// Payload [bytes]; 0 is a message that only tells its receiver to go on.
    pub bytes: u64,
    /// Step of the algorithm, from 0.
    pub step: u32,
    /// Channel: transfers of different channels never share a queue pair.
    pub channel: u32,
    /// Which block of the collective's data is moved; the first of them, when `bytes` is several blocks.
    /// Blocks are numbered within a rank's buffer; where ranks have different data (gather, incast,
    /// permutation, send-receive) it is the rank whose data it is.
    pub block: u32,
}

/// What a transfer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Data of the collective.
    Payload,
    /// Announces the payload that follows: ready to send.
    Rts,
    /// Lets announced payload come: clear to send.
    Cts,
}

/// Transfers with their dependencies. A transfer may start once all it depends on have been delivered to its
/// sender; so every dependency ends at the rank where its successor starts. A rank posts the transfers of one
/// queue pair in the order of this list, which is an order in which they can be carried out, even one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    transfers: Vec<Transfer>,
    /// What transfer `t` depends on is counted by `dependency_starts[t + 1] - dependency_starts[t]`.
    dependency_starts: Vec<u32>,
    /// The successors of transfer `t` are `successors[successor_starts[t]..successor_starts[t + 1]]`.
    successor_starts: Vec<u32>,
    successors: Vec<TransferId>,
    is_blocking: bool,
    releases: Vec<Span>,
    /// What each transfer is; empty where all are payload.
    messages: Vec<Message>,
}

impl Schedule {
    /// From the predecessors of each transfer: those of `t` are
    /// `dependencies[dependency_starts[t]..dependency_starts[t + 1]]`.
    pub(crate) fn new(
        transfers: Vec<Transfer>,
        dependency_starts: Vec<u32>,
        dependencies: &[TransferId],
    ) -> Self {
        let successor_starts = count_successors(transfers.len(), dependencies);
        let mut free = successor_starts.clone();
        let mut successors = vec![TransferId(0); dependencies.len()];
        for (index, range) in dependency_starts.windows(2).enumerate() {
            for before in &dependencies[range[0] as usize..range[1] as usize] {
                let place = &mut free[before.index()];
                successors[*place as usize] = TransferId::from_index(index);
                *place += 1;
            }
        }
        Self {
            transfers,
            dependency_starts,
            successor_starts,
            successors,
            is_blocking: false,
            releases: Vec::new(),
            messages: Vec::new(),
        }
    }

    /// The same schedule with [`Schedule::message`].
    pub(crate) fn of_messages(self, messages: Vec<Message>) -> Self {
        assert!(messages.len() == self.transfers.len(), "one for each transfer");
        Self { messages, ..self }
    }

    /// Whether some transfers are no payload.
    #[must_use]
    pub const fn has_handshakes(&self) -> bool {
        !self.messages.is_empty()
    }

    /// What a transfer is.
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
            releases.len() == self.transfers.len() && releases.is_sorted(),
            "one for each transfer, in order"
        );
        Self { releases, ..self }
    }

    /// When each transfer is offered, from the start of the job, ascending: open-loop traffic. Empty where
    /// dependencies decide.
    #[must_use]
    pub fn releases(&self) -> &[Span] {
        &self.releases
    }

    /// Whether each rank has at most one transfer under way, as a program of blocking sends does: it posts
    /// the next of its transfers, in the order of the list, once the one before has been acknowledged.
    /// Otherwise it posts each as soon as what it depends on has been delivered.
    #[must_use]
    pub const fn is_blocking(&self) -> bool {
        self.is_blocking
    }

    /// A transfer.
    ///
    /// # Panics
    /// When there is no such transfer.
    #[inline]
    #[must_use]
    pub fn transfer(&self, id: TransferId) -> Transfer {
        self.transfers[id.index()]
    }

    /// Where a transfer is kept, for who wants to ask for that memory ahead; none if there is nothing to ask for.
    #[must_use]
    pub fn place(&self, id: TransferId) -> Option<&Transfer> {
        self.transfers.get(id.index())
    }

    /// All transfers, by [`TransferId`].
    pub fn transfers(&self) -> impl ExactSizeIterator<Item = Transfer> + Clone + '_ {
        self.transfers.iter().copied()
    }

    /// What waits for `transfer` to be delivered, in posting order; each starts at the rank that received it.
    ///
    /// # Panics
    /// When there is no such transfer.
    #[inline]
    pub fn successors(&self, transfer: TransferId) -> impl ExactSizeIterator<Item = TransferId> + '_ {
        let starts = &self.successor_starts[transfer.index()..][..2];
        self.successors[starts[0] as usize..starts[1] as usize].iter().copied()
    }

    /// How many transfers must be delivered before `transfer` may start.
    ///
    /// # Panics
    /// When there is no such transfer.
    #[inline]
    #[must_use]
    pub fn dependencies(&self, transfer: TransferId) -> u32 {
        let starts = &self.dependency_starts[transfer.index()..][..2];
        starts[1] - starts[0]
    }

    /// Sum of all transfers [bytes].
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.transfers.iter().map(|transfer| transfer.bytes).sum()
    }

    /// Size of the schedule itself [bytes].
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.transfers)
            + size_of_val(&*self.dependency_starts)
            + size_of_val(&*self.successor_starts)
            + size_of_val(&*self.successors)
            + size_of_val(&*self.releases)
            + size_of_val(&*self.messages)
    }
}

/// Where the successors of each transfer start, with one past the end behind.
fn count_successors(transfers: usize, dependencies: &[TransferId]) -> Vec<u32> {
    let mut starts = vec![0; transfers + 1];
    for before in dependencies {
        starts[before.index() + 1] += 1;
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    starts
}
