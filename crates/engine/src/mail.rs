//! Mailboxes for messages between partitions (nodes of one thread each): passed at the end of a step,
//! delivered at the start of the next.

use crate::{Destination, Node, Partition, Probe};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Messages from one partition to another, with their inboxes.
pub(crate) type RemoteMessages<M> = Vec<(Destination, M)>;

/// Mailboxes: one per pair of partitions, with one writer and one reader; empty ones are not accessed.
/// Messages of a step arrive in a later one, so it makes no difference whether a partition still at the start
/// of the step already receives them.
pub(crate) struct Mail<M> {
    partitions: usize,
    /// `boxes[from * partitions + to]`
    boxes: Vec<Mutex<RemoteMessages<M>>>,
    /// Bit set of the partitions that wrote, per receiver: `writers[to * words + from / 64]`.
    writers: Vec<AtomicU64>,
}

impl<M> Mail<M> {
    pub(crate) fn new(partitions: usize) -> Self {
        Self {
            partitions,
            boxes: (0..partitions * partitions).map(|_| Mutex::default()).collect(),
            writers: (0..partitions * words_for(partitions)).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Passes the outgoing messages of partition `index` to the mailboxes.
    pub(crate) fn send<N, P>(&self, index: usize, partition: &mut Partition<N, P>)
    where
        N: Node<Message = M>,
        P: Probe<N>,
    {
        while let Some((to, sent)) = partition.next_remote_messages() {
            let to = to as usize;
            let mut mailbox = lock(&self.boxes[index * self.partitions + to]);
            if mailbox.is_empty() {
                std::mem::swap(&mut *mailbox, sent);
            } else {
                mailbox.append(sent);
            }
            drop(mailbox);
            let word = to * words_for(self.partitions) + index / 64;
            self.writers[word].fetch_or(1 << (index % 64), Ordering::Release);
        }
    }

    /// Delivers the messages of other partitions to partition `index`.
    pub(crate) fn take<N, P>(&self, index: usize, partition: &mut Partition<N, P>)
    where
        N: Node<Message = M>,
        P: Probe<N>,
    {
        let words = words_for(self.partitions);
        for (word, writers) in self.writers[index * words..][..words].iter().enumerate() {
            let mut left = writers.swap(0, Ordering::Acquire);
            while left != 0 {
                let from = word * 64 + left.trailing_zeros() as usize;
                left &= left - 1;
                partition.receive(&mut lock(&self.boxes[from * self.partitions + index]));
            }
        }
    }
}

const fn words_for(partitions: usize) -> usize {
    partitions.div_ceil(64)
}

/// Locks a mutex even if a previous holder panicked.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
