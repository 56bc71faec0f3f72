//! Creates the queue pairs of a host at first use, drops them when they are done, and recreates a dropped
//! receiver to answer duplicates.
//!
//! If each chunk has its own queue pair and ranks forward data step by step, a run may have a hundred million
//! queue pairs, and uses few at a time. The initial state of a queue pair follows from its number. After its
//! end, packets for it change nothing at its sender, and its receiver answers duplicates as one that has
//! received everything.

use super::queue_pairs::{QueuePairEnd, QueuePairSettings};
use super::receiver::Receiver;
use super::resident_queue_pairs::ResidentQueuePairs;
use super::sender::Sender;
use crate::nic::Host;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use transport::{Controller, RateControl};
use units::{Instant, State};

/// Parameters of the queue pairs of a host, by number.
pub(crate) trait QueuePairEnds: Debug + Send + Sync {
    /// The sending end.
    fn sender(&self, number: u32) -> QueuePairEnd;

    /// The receiving end.
    fn receiver(&self, number: u32) -> QueuePairEnd;
}

/// Parameters of the senders of a host.
#[derive(Debug)]
pub(crate) struct LazySenders {
    ends: Arc<dyn QueuePairEnds>,
    /// Initial rate controller of a sender of each port; empty at line rate.
    controllers: Vec<Controller>,
}

impl LazySenders {
    pub(crate) fn new(ends: Arc<dyn QueuePairEnds>, settings: &QueuePairSettings) -> Self {
        let is_paced = settings.controllers.iter().any(Controller::is_paced);
        Self { ends, controllers: if is_paced { settings.controllers.clone() } else { Vec::new() } }
    }
}

impl Host {
    /// Creates the missing senders up to number `last`, and drops some that are done.
    #[cold]
    #[inline(never)]
    pub(crate) fn make_senders(&mut self, last: u32) {
        let Self { senders, pacers, sends, lazy, .. } = self;
        let LazySenders { ends, controllers } = &**lazy.as_ref().expect("a lazy sender has its parameters");
        while senders.end() <= last {
            let done = senders.count_done(|number, sender| sender.is_done(number, sends));
            senders.take_first(done).for_each(drop);
            let end = ends.sender(senders.end());
            if !controllers.is_empty() {
                pacers.take_first(done).for_each(drop);
                pacers.push(controllers[usize::from(end.port)].clone());
            }
            senders.push(Sender::new(&end, sends.queue(senders.end())));
        }
    }
}

/// Parameters of the receivers of a host, and receivers that were needed again after their end.
#[derive(Debug, State)]
pub(crate) struct LazyReceivers {
    #[state(skip)]
    ends: Arc<dyn QueuePairEnds>,
    recalled: BTreeMap<u32, Receiver>,
}

impl LazyReceivers {
    pub(crate) const fn new(ends: Arc<dyn QueuePairEnds>) -> Self {
        Self { ends, recalled: BTreeMap::new() }
    }

    /// Creates the missing receivers up to number `last`, and drops some that are done. `packets` returns the
    /// packets of a receiver's first chunk.
    pub(crate) fn make(
        &mut self,
        resident: &mut ResidentQueuePairs<Receiver>,
        last: u32,
        now: Instant,
        packets: impl Fn(u32) -> u64,
    ) {
        while resident.end() <= last {
            let done = resident.count_done(|_, receiver| receiver.is_done(now));
            let late = resident.take_first(done).filter(|(_, receiver)| receiver.late().frames > 0);
            self.recalled.extend(late);
            let number = resident.end();
            resident.push(Receiver::new(&self.ends.receiver(number), Some(packets(number))));
        }
    }

    /// Recalls a finished receiver, whose chunk had `packets` packets and `messages` messages, so that it
    /// answers duplicates at `now`.
    pub(crate) fn recall(&mut self, number: u32, packets: u64, messages: u64, now: Instant) {
        let Self { ends, recalled } = self;
        let done = || Receiver::done(&ends.receiver(number), packets, messages, now);
        recalled.entry(number).or_insert_with(done);
    }

    pub(crate) fn recalled(&self) -> impl Iterator<Item = (u32, &Receiver)> {
        self.recalled.iter().map(|(&number, receiver)| (number, receiver))
    }
}

/// A receiver that is resident or recalled.
#[inline]
pub(crate) fn receiver<'a>(
    resident: &'a ResidentQueuePairs<Receiver>,
    lazy: Option<&'a LazyReceivers>,
    number: u32,
) -> &'a Receiver {
    let recalled = || lazy.and_then(|lazy| lazy.recalled.get(&number));
    resident.get(number).or_else(recalled).expect("a receiver of an arriving packet exists")
}

/// Same, mutable.
#[inline]
pub(crate) fn receiver_mut<'a>(
    resident: &'a mut ResidentQueuePairs<Receiver>,
    lazy: Option<&'a mut LazyReceivers>,
    number: u32,
) -> &'a mut Receiver {
    let recalled = || lazy.and_then(|lazy| lazy.recalled.get_mut(&number));
    resident.get_mut(number).or_else(recalled).expect("a receiver of an arriving packet exists")
}
