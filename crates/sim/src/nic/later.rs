//! Queue pairs that are made when they are first needed and forgotten when they are done.
//!
//! Where each chunk has a queue pair of its own and ranks pass data on step by step, a run has a hundred
//! million of them and uses few at a time. What a host would know of one before it is used follows from its
//! number; afterwards nothing that comes for it changes anything at its sender, and its receiver answers
//! duplicates as one does that has received it all.

use super::Host;
use super::queue_pairs::{QueuePairEnd, QueuePairSettings};
use super::receiver::Receiver;
use super::sender::Sender;
use super::standing::Standing;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use transport::Controller;
use units::{Cycle, Instant};

/// How the queue pairs of a host are set up, by number.
pub(crate) trait QueuePairEnds: Debug + Send + Sync {
    /// The end at which data begins.
    fn sender(&self, number: u32) -> QueuePairEnd;

    /// The end at which data ends.
    fn receiver(&self, number: u32) -> QueuePairEnd;
}

/// What the senders of a host are made from.
#[derive(Debug)]
pub(super) struct LaterSenders {
    ends: Arc<dyn QueuePairEnds>,
    /// How those of each port are paced as they begin; empty where they are not.
    controllers: Vec<Controller>,
}

impl LaterSenders {
    pub(super) fn new(ends: Arc<dyn QueuePairEnds>, settings: &QueuePairSettings) -> Self {
        let is_paced = settings.controllers.iter().any(Controller::is_paced);
        Self { ends, controllers: if is_paced { settings.controllers.clone() } else { Vec::new() } }
    }
}

impl Host {
    /// Makes the senders that were not made yet up to number `last`, and forgets some that are done.
    #[cold]
    #[inline(never)]
    pub(super) fn make_senders(&mut self, last: u32) {
        let Self { senders, pacers, sends, later, .. } = self;
        let LaterSenders { ends, controllers } =
            &**later.as_ref().expect("a sender that is made later has what it is made from");
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

/// What the receivers of a host are made from, and those that are done and were needed again.
#[derive(Debug)]
pub(super) struct LaterReceivers {
    ends: Arc<dyn QueuePairEnds>,
    recalled: BTreeMap<u32, Receiver>,
}

impl LaterReceivers {
    pub(super) const fn new(ends: Arc<dyn QueuePairEnds>) -> Self {
        Self { ends, recalled: BTreeMap::new() }
    }

    /// Makes those that were not made yet up to number `last`, of whose first chunk `packets` tells the
    /// packets, and forgets some that are done.
    pub(super) fn make(
        &mut self,
        standing: &mut Standing<Receiver>,
        last: u32,
        now: Instant,
        packets: impl Fn(u32) -> u64,
    ) {
        while standing.end() <= last {
            let done = standing.count_done(|_, receiver| receiver.is_done(now));
            let late = standing.take_first(done).filter(|(_, receiver)| receiver.late().frames > 0);
            self.recalled.extend(late);
            let number = standing.end();
            standing.push(Receiver::new(&self.ends.receiver(number), Some(packets(number))));
        }
    }

    /// Has the receiver of a chunk of so many packets and messages, that is done, answer duplicates at `now`.
    pub(super) fn recall(&mut self, number: u32, packets: u64, messages: u64, now: Instant) {
        let Self { ends, recalled } = self;
        let done = || Receiver::done(&ends.receiver(number), packets, messages, now);
        recalled.entry(number).or_insert_with(done);
    }

    /// Those that were recalled, by number.
    pub(super) fn recalled(&self) -> impl Iterator<Item = (u32, &Receiver)> {
        self.recalled.iter().map(|(&number, receiver)| (number, receiver))
    }

    /// See [`Cycle`].
    pub(super) fn visit(&mut self, cycle: &mut Cycle) {
        cycle.same_list(self.recalled.keys().copied().map(u64::from));
        self.recalled.values_mut().for_each(|receiver| receiver.visit(cycle));
    }
}

/// A receiver that stands or was recalled.
#[inline]
pub(super) fn receiver<'a>(
    standing: &'a Standing<Receiver>,
    later: Option<&'a LaterReceivers>,
    number: u32,
) -> &'a Receiver {
    let recalled = || later.and_then(|later| later.recalled.get(&number));
    standing.get(number).or_else(recalled).expect("a receiver is there when something comes for it")
}

/// The same, to be changed.
#[inline]
pub(super) fn receiver_mut<'a>(
    standing: &'a mut Standing<Receiver>,
    later: Option<&'a mut LaterReceivers>,
    number: u32,
) -> &'a mut Receiver {
    let recalled = || later.and_then(|later| later.recalled.get_mut(&number));
    standing.get_mut(number).or_else(recalled).expect("a receiver is there when something comes for it")
}
