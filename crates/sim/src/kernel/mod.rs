//! The event engine: time windows, inboxes and activity. It knows no networks.
//!
//! Nothing that happens at one node reaches another sooner than the smallest link latency, so simulated time
//! advances in windows of that length. In a window every active node is processed once, alone; what it sends
//! lands in inboxes of later windows. There is no global event queue, and the order of processing inside a
//! window cannot matter: a node reads and writes only its own state and its outgoing messages. Where links join two
//! sides of the world, these take turns of two windows each; see [`turns`].
//!
//! Each directed link has its own inbox, a queue: what is sent later arrives no sooner. A node orders its arrivals by
//! (time, inbox, sequence); that rule, not the order of processing, decides ties.

mod bits;
mod context;
mod inbox;
mod partition;
mod threads;
mod turns;

#[cfg(test)]
mod tests;

pub(crate) use context::{Context, Destination, Outlet, Totals};
pub(crate) use inbox::Inbox;
pub(crate) use partition::{Partition, PartitionPlan};
pub(crate) use threads::{Hooks, run};
pub(crate) use turns::Side;

use std::ops::Range;
use units::{Instant, Span};

/// A value that travels between nodes.
pub(crate) trait Message: Copy + Send {
    /// When the receiving node acts on it, fixed latencies included.
    fn at(&self) -> Instant;
}

/// A node of the simulated world.
pub(crate) trait Node: Send {
    /// What travels.
    type Message: Message;
    /// What a node reports while running.
    type Record: Send;
    /// Memory that nodes use while they are processed and leave as they found it: one for all of a partition, so that
    /// it stays in the nearest cache.
    type Scratch: Default + Send;

    /// Acts on everything in `[window.start, window.end)`, and takes what arrives in it out of its `inboxes`, which
    /// `context` holds. Returns when the node next has something to do of its own; [`Instant::NEVER`] if it only waits
    /// for messages.
    fn process(
        &mut self,
        window: Window,
        inboxes: Range<u32>,
        scratch: &mut Self::Scratch,
        context: &mut Context<Self::Message, Self::Record>,
    ) -> Instant;

    /// Asks for the memory that processing it will need: the node is one of the next. `stage` 0 comes first, when
    /// nothing of the node may be read without waiting; then 1 and 2, when what the stage before asked for is there.
    fn prefetch(&self, stage: usize, inboxes: &[Inbox<Self::Message>]) {
        let _ = (stage, inboxes);
    }
}

/// Watches the nodes of a partition between windows.
pub(crate) trait Probe<N>: Send {
    /// Called before each window is processed that begins when [`Self::due`] says or later, with what the partition has
    /// counted so far.
    fn observe(&mut self, window: Window, nodes: &[N], totals: Totals);

    /// When it looks next. The same in every partition.
    fn due(&self) -> Instant;

    /// Whether what it sees depends on each of `nodes`.
    fn sees(&self, nodes: &[N]) -> Vec<bool>;
}

/// A half-open span of simulated time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// Number since the start of the run; of several in one, that of the last.
    pub(crate) index: u64,
    /// First instant.
    pub(crate) start: Instant,
    /// First instant of the last, if it is several in one.
    pub(crate) last_start: Instant,
    /// First instant of the next window.
    pub(crate) end: Instant,
}

impl Window {
    /// Window `index` of windows of length `span`.
    pub(crate) const fn new(index: u64, span: Span) -> Self {
        let start = Instant(index * span.0);
        Self { index, start, last_start: start, end: Instant((index + 1) * span.0) }
    }

    /// What is left of the window of length `span` that `start` lies in.
    pub(crate) const fn from(start: Instant, span: Span) -> Self {
        Self { start, ..Self::new(start.0 / span.0, span) }
    }
}
