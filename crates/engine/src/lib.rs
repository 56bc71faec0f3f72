//! Event engine: time windows, inboxes and activity of nodes. It has no knowledge of networks.
//!
//! An event at one node reaches another after the smallest link latency at the earliest, so simulated time
//! advances in windows of that length. In a window every active node is processed once, independently; its
//! messages arrive in inboxes for later windows. There is no global event queue, and the order of processing
//! within a window does not matter: a node reads and writes only its own state and its outgoing messages. If
//! all links connect two sides of the world, the sides may alternate in steps of two windows; see [`Side`].
//!
//! Each directed link has its own inbox, a FIFO queue: a message sent later arrives no sooner. A node orders
//! its arrivals by (time, inbox, sequence); this rule, not the order of processing, decides ties.
//!
//! In the order of a run:
//!
//! 1. [`Node`], [`Message`] and [`Totals`]: the world, defined by the caller;
//! 2. [`Partition`]: nodes with their inboxes and wake-up times, one partition per thread, laid out by a
//!    [`PartitionPlan`]; [`on_threads`] builds several in parallel;
//! 3. [`run`]: processes partitions window by window until the [`Hooks`] end the run or no events are left;
//! 4. [`Context`]: operations of a node while it is processed: receive from its [`Inbox`]es, send to a
//!    [`Destination`], report records;
//! 5. [`Probe`]: observes the nodes between windows.
//!
//! [`Ring`] is the queue of an inbox, and [`prefetch`] loads memory before it is used; nodes may use both.
//!
//! The same nodes receive the same messages in the same windows for any number of partitions. Not supported:
//! links without latency, and messages of one link that overtake each other.

mod barrier;
mod bits;
mod context;
mod inbox;
mod mail;
mod partition;
pub mod prefetch;
mod ring;
mod steps;
mod threads;

#[cfg(test)]
mod tests;

pub use context::{Context, Destination, Outlet};
pub use inbox::Inbox;
pub use partition::{Partition, PartitionPlan, State};
pub use ring::Ring;
pub use steps::Side;
pub use threads::{Hooks, Outcome, on_threads, run};

use std::iter::Sum;
use std::ops::Range;
use units::{Instant, Span};

/// A message between nodes.
pub trait Message: Copy + Send {
    /// Time at which the receiving node acts on it, including fixed latencies.
    fn at(&self) -> Instant;
}

/// Counters of the nodes of a partition since the start of a run. The sum over all partitions is the total of
/// the run.
pub trait Totals: Copy + Default + Send + Sum {
    /// Number of messages sent by nodes; the engine increments it.
    fn messages_mut(&mut self) -> &mut u64;
}

/// A node of the simulated world.
pub trait Node: Send {
    /// Type of messages between nodes.
    type Message: Message;
    /// Type of records that nodes report during a run.
    type Record: Send;
    /// Counters of nodes since the start.
    type Totals: Totals;
    /// Temporary memory for processing a node, left as it was before. Shared by all nodes of a partition, so
    /// that it stays in the nearest cache.
    type Scratch: Default + Send;

    /// Processes all events in `[window.start, window.end)`, and removes the messages that arrive in it from
    /// its `inboxes` in `context`. Returns the time of the node's next own event; [`Instant::NEVER`] if it
    /// only waits for messages.
    fn process(
        &mut self,
        window: Window,
        inboxes: Range<u32>,
        scratch: &mut Self::Scratch,
        context: &mut Context<Self::Message, Self::Record, Self::Totals>,
    ) -> Instant;

    /// Prefetches the memory needed to process this node soon. Stage 0 is first, when no memory of the node
    /// may be read without a stall; then 1 and 2, when the memory prefetched by the previous stage is
    /// available.
    fn prefetch(&self, stage: usize, inboxes: &[Inbox<Self::Message>]) {
        let _ = (stage, inboxes);
    }
}

/// Observes the nodes of a partition between windows.
pub trait Probe<N: Node>: Send {
    /// Called before each window that starts at [`Self::due`] or later is processed, with the totals of the
    /// partition so far.
    fn observe(&mut self, window: Window, nodes: &[N], totals: N::Totals);

    /// Time of the next observation; the same in every partition.
    fn due(&self) -> Instant;

    /// For each of `nodes`, whether the observations depend on its state.
    fn sees(&self, nodes: &[N]) -> Vec<bool>;
}

/// A half-open span of simulated time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Number since the start of the run; for several windows in one, the number of the last.
    pub index: u64,
    /// First instant.
    pub start: Instant,
    /// Start of the last window, for several windows in one.
    pub last_start: Instant,
    /// Start of the next window.
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

    /// The rest, from `start` on, of the window of length `span` that contains `start`.
    ///
    /// # Panics
    /// If `span` is zero.
    #[inline]
    #[must_use]
    pub const fn from(start: Instant, span: Span) -> Self {
        Self { start, ..Self::new(start.0 / span.0, span) }
    }
}
