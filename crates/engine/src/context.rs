//! Interface of a node while it is processed: inboxes, sending of messages, reporting of records. Delivers
//! messages within the partition (nodes of one thread), marks their receivers as active, and stores messages
//! to other partitions.

use crate::bits::BitSet;
use crate::mail::RemoteMessages;
use crate::prefetch::prefetch;
use crate::{Inbox, Message, PartitionPlan, Totals, Window};
use std::ops::{Range, RangeInclusive};
use units::{Instant, Span};

/// Above this number of inboxes the partitions of a processor exceed a second-level cache of 1 MiB.
const LARGE_INBOXES: usize = 1_024;

/// Address of the inbox of a directed link, resolved at build time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The partition of the receiving node.
    pub partition: u32,
    /// The inbox within that partition.
    pub inbox: u32,
    /// The node within that partition.
    pub node: u32,
}

/// Interface of a node while it is processed: inboxes, active nodes of the coming windows, and messages to
/// other partitions.
pub struct Context<M, R, T> {
    inboxes: Vec<Inbox<M>>,
    is_large: bool,
    delivery: Delivery<M>,
    /// Records reported in this window.
    pub records: Vec<R>,
    /// Counters since the start.
    pub totals: T,
}

/// State needed to deliver a message, other than its inbox.
struct Delivery<M> {
    partition: u32,
    span: Span,
    /// The first of the windows being processed.
    first: u64,
    /// Active nodes by window: `active[window % active.len()]`.
    active: Vec<BitSet>,
    /// Temporary memory: active nodes of one side.
    on_side: BitSet,
    remote: Vec<RemoteMessages<M>>,
    /// Other partitions with messages sent to them in this window.
    receivers: Vec<u32>,
    /// Earliest arrival among messages to other partitions in this window.
    remote_earliest: Instant,
}

/// Sending end of a link, resolved once for all messages that a node sends on it.
pub struct Outlet<'a, M> {
    to: Destination,
    /// `None` if it is in another partition.
    inbox: Option<&'a mut Inbox<M>>,
    delivery: &'a mut Delivery<M>,
    messages: &'a mut u64,
}

impl<M: Message, R, T: Totals> Context<M, R, T> {
    pub(crate) fn new(plan: PartitionPlan, nodes: usize, inboxes: usize) -> Self {
        let PartitionPlan { index: partition, partitions, sharing, span, slots } = plan;
        assert!(slots.is_power_of_two(), "slots are addressed by masking");
        let delivery = Delivery {
            partition,
            span,
            first: 0,
            active: vec![BitSet::new(nodes); slots],
            on_side: BitSet::new(nodes),
            remote: (0..partitions).map(|_| Vec::new()).collect(),
            receivers: Vec::new(),
            remote_earliest: Instant::NEVER,
        };
        Self {
            inboxes: (0..inboxes).map(|_| Inbox::new()).collect(),
            is_large: inboxes * sharing > LARGE_INBOXES,
            delivery,
            records: Vec::new(),
            totals: T::default(),
        }
    }

    /// Sends `message`, which must arrive after the current window and no sooner than earlier messages of the
    /// link.
    ///
    /// # Panics
    /// If `to` is not an inbox of the world.
    #[inline(always)]
    pub fn send(&mut self, to: Destination, message: M) {
        self.send_with(to, message.at(), || message);
    }

    /// Sends the message built by `make`, which arrives at `at`; it is built directly in the inbox.
    #[inline(always)]
    pub fn send_with(&mut self, to: Destination, at: Instant, make: impl Fn() -> M) {
        self.outlet(to).send_with(at, make);
    }

    /// The sending end of the link to `to`.
    #[inline(always)]
    pub fn outlet(&mut self, to: Destination) -> Outlet<'_, M> {
        let Self { inboxes, delivery, totals, .. } = self;
        let inbox =
            if to.partition == delivery.partition { Some(&mut inboxes[to.inbox as usize]) } else { None };
        Outlet { to, inbox, delivery, messages: totals.messages_mut() }
    }

    /// Delivers messages from another partition.
    pub(crate) fn receive_all(&mut self, messages: &mut RemoteMessages<M>) {
        for (to, message) in messages.iter() {
            self.delivery.put(&mut self.inboxes[to.inbox as usize], to.node, message.at(), || *message);
        }
        messages.clear();
    }

    /// Arrival of the first message in an inbox of the node being processed; never if it is empty.
    ///
    /// # Panics
    /// If there is no such inbox, as in the next two methods.
    #[inline]
    pub fn next_arrival(&self, inbox: u32) -> Instant {
        self.inboxes[inbox as usize].next_arrival()
    }

    /// An inbox of the node being processed.
    #[inline]
    pub fn inbox(&mut self, inbox: u32) -> &mut Inbox<M> {
        &mut self.inboxes[inbox as usize]
    }

    /// The inboxes of a node.
    #[inline]
    pub fn inboxes(&mut self, inboxes: Range<u32>) -> &mut [Inbox<M>] {
        &mut self.inboxes[inboxes.start as usize..inboxes.end as usize]
    }

    /// Whether prefetching is worth its instructions: the world exceeds the nearer caches.
    #[inline]
    pub const fn is_large(&self) -> bool {
        self.is_large
    }

    /// Prefetches an inbox before a message is sent to it.
    #[inline]
    pub fn prefetch(&self, to: Destination) {
        if to.partition == self.delivery.partition {
            prefetch(&self.inboxes, to.inbox as usize);
        }
    }

    /// Prefetches the memory of the next `messages` messages to an inbox, once the inbox itself is loaded.
    #[inline]
    pub fn prefetch_next(&self, to: Destination, messages: usize) {
        if to.partition == self.delivery.partition {
            self.inboxes[to.inbox as usize].prefetch_next(messages);
        }
    }

    /// Makes `node` active in `window`, which must be within the horizon.
    #[inline]
    pub(crate) fn wake(&mut self, window: u64, node: u32) {
        self.delivery.wake(window, node);
    }

    /// One past the last window that has a slot, relative to the current one.
    pub(crate) const fn horizon(&self) -> u64 {
        self.delivery.first + self.delivery.active.len() as u64
    }

    /// Enters `window` and appends its active nodes to `nodes`, in ascending order.
    pub(crate) fn enter(&mut self, window: u64, nodes: &mut Vec<u32>) {
        self.delivery.begin(window);
        let slot = self.delivery.slot(window);
        self.delivery.active[slot].drain(|node| nodes.push(node));
    }

    /// Enters `windows` and appends the nodes of `side` that are active in any of them to `nodes`, in
    /// ascending order.
    pub(crate) fn enter_side(&mut self, windows: RangeInclusive<u64>, side: &BitSet, nodes: &mut Vec<u32>) {
        let delivery = &mut self.delivery;
        delivery.begin(*windows.start());
        for window in windows {
            let slot = delivery.slot(window);
            delivery.active[slot].move_among(side, &mut delivery.on_side);
        }
        delivery.on_side.drain(|node| nodes.push(node));
    }

    /// The next window with an active node in this partition.
    pub(crate) fn next_active(&self) -> Option<u64> {
        let delivery = &self.delivery;
        (delivery.first..self.horizon()).find(|&window| !delivery.active[delivery.slot(window)].is_empty())
    }

    /// Whether `window`, which was not entered yet, has an active node or a message to another partition.
    pub(crate) fn is_active(&self, window: u64) -> bool {
        let delivery = &self.delivery;
        let is_near = (delivery.first..self.horizon()).contains(&window);
        (is_near && !delivery.active[delivery.slot(window)].is_empty()) || self.next_remote() == Some(window)
    }

    /// Arrival of the first of all messages.
    pub(crate) fn first_arrival(&self) -> Instant {
        self.inboxes.iter().map(Inbox::next_arrival).min().unwrap_or(Instant::NEVER)
    }

    /// Window of the earliest message to another partition.
    pub(crate) fn next_remote(&self) -> Option<u64> {
        let Delivery { remote_earliest, span, .. } = self.delivery;
        (remote_earliest != Instant::NEVER).then(|| remote_earliest.0 / span.0)
    }

    /// A partition with messages to it, and the messages; the caller drains them.
    pub(crate) fn next_remote_messages(&mut self) -> Option<(u32, &mut RemoteMessages<M>)> {
        let to = self.delivery.receivers.pop()?;
        Some((to, &mut self.delivery.remote[to as usize]))
    }

    /// All inboxes, and the totals.
    pub(crate) fn state_mut(&mut self) -> (&mut [Inbox<M>], &mut T) {
        (&mut self.inboxes, &mut self.totals)
    }

    /// Marks `node` as active in the windows in which the messages of `inboxes` arrive. Called for every node
    /// after time has jumped to `window`.
    pub(crate) fn wake_for_messages(&mut self, window: Window, inboxes: Range<u32>, node: u32) {
        for inbox in inboxes {
            let span = self.delivery.span;
            let arrivals: Vec<u64> =
                self.inboxes[inbox as usize].iter().map(|message| message.at().0 / span.0).collect();
            let last = arrivals.last().map_or(window.index, |&last| last.max(window.index));
            self.inboxes[inbox as usize].active_until = Window::new(last, span).end;
            arrivals.into_iter().filter(|&at| at > window.index).for_each(|at| self.wake(at, node));
        }
    }

    /// Removes all active nodes from all windows.
    pub(crate) fn clear_active(&mut self, window: Window) {
        self.delivery.first = window.index;
        self.delivery.active.iter_mut().for_each(|nodes| nodes.drain(|_| ()));
    }

    /// Messages in an inbox.
    pub(crate) fn messages_to(&self, inbox: u32) -> impl Iterator<Item = &M> {
        self.inboxes[inbox as usize].iter()
    }

    /// Number of messages not received yet for which `counts` is true.
    pub(crate) fn in_flight(&self, counts: impl Fn(&M) -> bool) -> u64 {
        let waiting = self.inboxes.iter().flat_map(Inbox::iter).filter(|message| counts(message)).count();
        let leaving = self.delivery.remote.iter().flatten().filter(|(_, message)| counts(message)).count();
        (waiting + leaving) as u64
    }
}

impl<M: Message> Delivery<M> {
    /// Starts to process the windows from `first` on.
    const fn begin(&mut self, first: u64) {
        self.first = first;
        self.remote_earliest = Instant::NEVER;
    }

    /// Appends the message built by `make`, which arrives at `at`, to the inbox of `node`.
    #[inline(always)]
    fn put(&mut self, inbox: &mut Inbox<M>, node: u32, at: Instant, make: impl Fn() -> M) {
        inbox.push_with(make);
        if at >= inbox.active_until {
            inbox.active_until = self.announce(at, node);
        }
    }

    /// Marks `node` as active for the first message of a window on a link, which arrives at `at`. Returns the
    /// end of that window. Not inlined, since the loops that send need the registers.
    #[inline(never)]
    fn announce(&mut self, at: Instant, node: u32) -> Instant {
        let window = at.0 / self.span.0;
        self.wake(window, node);
        Window::new(window, self.span).end
    }

    #[inline]
    fn wake(&mut self, window: u64, node: u32) {
        let slot = self.slot(window);
        self.active[slot].insert(node);
    }

    const fn slot(&self, window: u64) -> usize {
        window as usize & (self.active.len() - 1)
    }

    #[inline(never)]
    fn send_remote(&mut self, to: Destination, message: M) {
        self.remote_earliest = self.remote_earliest.min(message.at());
        let messages = &mut self.remote[to.partition as usize];
        if messages.is_empty() {
            self.receivers.push(to.partition);
        }
        messages.push((to, message));
    }
}

impl<M: Message> Outlet<'_, M> {
    /// Sends the message built by `make`; see [`Context::send_with`].
    #[inline(always)]
    pub fn send_with(&mut self, at: Instant, make: impl Fn() -> M) {
        debug_assert!(at.0 / self.delivery.span.0 > self.delivery.first, "a message outran the lookahead");
        *self.messages += 1;
        match &mut self.inbox {
            Some(inbox) => self.delivery.put(inbox, self.to.node, at, make),
            None => self.delivery.send_remote(self.to, make()),
        }
    }
}
