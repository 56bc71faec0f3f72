//! The event engine: time windows, inboxes and activity. It knows no networks.
//!
//! Nothing that happens at one node reaches another sooner than the smallest link latency, so simulated time
//! advances in windows of that length. In a window every active node is processed once, alone; what it sends
//! lands in inboxes of later windows. There is no global event queue, and the order of processing inside a
//! window cannot matter: a node reads and writes only its own state and its outgoing messages. Where links
//! join two sides of the world, these take turns of two windows each; see [`Side`].
//!
//! Each directed link has its own inbox, a queue: what is sent later arrives no sooner. A node orders its
//! arrivals by (time, inbox, sequence); that rule, not the order of processing, decides ties.
//!
//! In the order in which a run passes them:
//!
//! 1. [`Node`], [`Message`] and [`Totals`]: what the world is made of, which is the caller's;
//! 2. [`Partition`]: nodes with their inboxes and wake-up times, one for each thread; it is laid out by a
//!    [`PartitionPlan`], and [`on_threads`] builds several at once;
//! 3. [`run`]: processes partitions window by window until the [`Hooks`] end it or nothing more can happen;
//! 4. [`Context`]: what a node may do meanwhile: take from its [`Inbox`]es, send to a [`Destination`],
//!    report;
//! 5. [`Probe`]: looks at the nodes between windows.
//!
//! [`Ring`] is the queue of an inbox, and [`prefetch`] asks for memory before it is needed; nodes may use
//! both.
//!
//! The same nodes see the same messages in the same windows for any number of partitions. What is left out:
//! links without latency, and messages of one link that overtake each other.

mod bits;
mod context;
mod inbox;
mod mail;
mod meeting;
mod on_threads;
mod partition;
pub mod prefetch;
mod ring;
mod threads;
mod turns;

#[cfg(test)]
mod tests;

pub use context::{Context, Destination, Outlet};
pub use inbox::Inbox;
pub use on_threads::on_threads;
pub use partition::{Partition, PartitionPlan, State};
pub use ring::Ring;
pub use threads::{Hooks, Outcome, run};
pub use turns::Side;

use std::iter::Sum;
use std::ops::Range;
use units::{Instant, Span};

/// A value that travels between nodes.
pub trait Message: Copy + Send {
    /// When the receiving node acts on it, fixed latencies included.
    fn at(&self) -> Instant;
}

/// What the nodes of a partition count for the outside from the start of a run on; the sum over all
/// partitions is that of the run.
pub trait Totals: Copy + Default + Send + Sum {
    /// How many messages nodes sent: the engine adds to it.
    fn messages_mut(&mut self) -> &mut u64;
}

/// A node of the simulated world.
pub trait Node: Send {
    /// What travels.
    type Message: Message;
    /// What a node reports while running.
    type Record: Send;
    /// What nodes count from the start on.
    type Totals: Totals;
    /// Memory that nodes use while they are processed and leave as they found it: one for all of a partition,
    /// so that it stays in the nearest cache.
    type Scratch: Default + Send;

    /// Acts on everything in `[window.start, window.end)`, and takes what arrives in it out of its `inboxes`,
    /// which `context` holds. Returns when the node next has something to do of its own; [`Instant::NEVER`]
    /// if it only waits for messages.
    fn process(
        &mut self,
        window: Window,
        inboxes: Range<u32>,
        scratch: &mut Self::Scratch,
        context: &mut Context<Self::Message, Self::Record, Self::Totals>,
    ) -> Instant;

    /// Asks for the memory that processing it will need: the node is one of the next. `stage` 0 comes first,
    /// when nothing of the node may be read without waiting; then 1 and 2, when what the stage before asked
    /// for is there.
    fn prefetch(&self, stage: usize, inboxes: &[Inbox<Self::Message>]) {
        let _ = (stage, inboxes);
    }
}

/// Watches the nodes of a partition between windows.
pub trait Probe<N: Node>: Send {
    /// Called before each window is processed that begins when [`Self::due`] says or later, with what the
    /// partition has counted so far.
    fn observe(&mut self, window: Window, nodes: &[N], totals: N::Totals);

    /// When it looks next. The same in every partition.
    fn due(&self) -> Instant;

    /// Whether what it sees depends on each of `nodes`.
    fn sees(&self, nodes: &[N]) -> Vec<bool>;
}

/// A half-open span of simulated time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Number since the start of the run; of several in one, that of the last.
    pub index: u64,
    /// First instant.
    pub start: Instant,
    /// First instant of the last, if it is several in one.
    pub last_start: Instant,
    /// First instant of the next window.
    pub end: Instant,
}

impl Window {
    /// Window `index` of windows of length `span`.
    #[inline]
    #[must_use]
    pub const fn new(index: u64, span: Span) -> Self {
        let start = Instant(index * span.0);
        Self { index, start, last_start: start, end: Instant((index + 1) * span.0) }
    }

    /// What is left of the window of length `span` that `start` lies in.
    ///
    /// # Panics
    /// When `span` is zero.
    #[inline]
    #[must_use]
    pub const fn from(start: Instant, span: Span) -> Self {
        Self { start, ..Self::new(start.0 / span.0, span) }
    }
}
