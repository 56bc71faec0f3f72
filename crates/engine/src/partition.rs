//! A partition: nodes that one thread processes, with their inboxes, wake-up times and sides (two sets such
//! that every link leads from one to the other). Processes windows and steps, runs the probe, jumps in time.

use crate::bits::BitSet;
use crate::mail::RemoteMessages;
use crate::steps::{Due, Side, Step, window_from};
use crate::{Context, Inbox, Node, Probe, Window};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use units::{Instant, Span};

/// Distance in nodes between the one being processed and the one prefetched, per stage of [`Node::prefetch`].
const PREFETCH_AHEAD: [usize; 3] = [6, 3, 1];

/// Layout of a partition.
#[derive(Clone, Copy, Debug)]
pub struct PartitionPlan {
    /// Index of this partition.
    pub index: u32,
    /// Number of partitions.
    pub partitions: usize,
    /// Number of partitions per processor, which share its caches.
    pub sharing: usize,
    /// Length of a window: at most the smallest latency of any link.
    pub span: Span,
    /// Windows with a slot for active nodes: a power of two above the largest latency in windows.
    pub slots: usize,
}

/// State of a partition between two windows, or between parts of one.
pub struct State<'a, N: Node> {
    /// The nodes, in order.
    pub nodes: &'a mut [N],
    /// Messages in flight to the nodes.
    pub inboxes: &'a mut [Inbox<N::Message>],
    /// Counters so far.
    pub totals: &'a mut N::Totals,
}

/// Nodes with their inboxes and wake-up times, processed by one thread.
pub struct Partition<N: Node, P> {
    nodes: Vec<N>,
    /// The inboxes of node `i` are `first_inbox[i]..first_inbox[i + 1]`.
    first_inbox: Vec<u32>,
    context: Context<N::Message, N::Record, N::Totals>,
    /// The nodes of each side, if there are two.
    sides: Option<[BitSet; 2]>,
    /// Whether the probe observes each node, if there are two sides.
    seen: Vec<bool>,
    /// Wake-ups beyond the horizon, as (window, node).
    sleepers: BinaryHeap<Reverse<(u64, u32)>>,
    /// The earliest entry of each node in `sleepers`.
    sleeping_until: Vec<u64>,
    span: Span,
    probe: P,
    activations: u64,
    scratch: N::Scratch,
    /// Temporary memory: nodes active in this window.
    active: Vec<u32>,
}

impl<N: Node, P: Probe<N>> Partition<N, P> {
    /// A partition of `nodes`, each with its number of inboxes; all of them are active in window 0.
    ///
    /// # Panics
    /// If `slots` of the plan is not a power of two.
    pub fn new(plan: PartitionPlan, nodes: Vec<N>, inboxes: &[u32], probe: P) -> Self {
        let mut first_inbox = vec![0];
        for count in inboxes {
            first_inbox.push(first_inbox[first_inbox.len() - 1] + count);
        }
        let total = first_inbox[inboxes.len()] as usize;
        let mut context = Context::new(plan, nodes.len(), total);
        for node in 0..nodes.len() {
            context.wake(0, node as u32);
        }
        Self {
            sleeping_until: vec![u64::MAX; nodes.len()],
            nodes,
            first_inbox,
            context,
            sides: None,
            seen: Vec::new(),
            sleepers: BinaryHeap::new(),
            span: plan.span,
            probe,
            activations: 0,
            scratch: N::Scratch::default(),
            active: Vec::new(),
        }
    }

    /// Assigns the nodes to two sides, which may then alternate; every link must lead from one side to the
    /// other.
    pub fn set_sides(&mut self, sides: impl Iterator<Item = Side>) {
        let mut members = [(); 2].map(|()| BitSet::new(self.nodes.len()));
        (0..).zip(sides).for_each(|(node, side)| members[side.index()].insert(node));
        self.sides = Some(members);
        self.seen = self.probe.sees(&self.nodes);
    }

    /// Whether nodes are assigned to sides, which may alternate.
    pub(crate) const fn has_sides(&self) -> bool {
        self.sides.is_some()
    }

    /// Time of the next observation by the probe.
    pub(crate) fn due(&self) -> Due {
        let window = window_from(self.probe.due(), self.span);
        Due { window, is_active: self.context.is_active(window) }
    }

    /// Processes every active node of the step once.
    pub(crate) fn process_step(&mut self, step: Step) {
        match step.side {
            None => self.process(step.window(self.span)),
            Some(side) => self.process_side(step, side),
        }
    }

    /// Processes every active node of a window once.
    pub(crate) fn process(&mut self, window: Window) {
        self.probe.observe(window, &self.nodes, self.context.totals);
        let mut active = std::mem::take(&mut self.active);
        self.wake_sleepers(window.index);
        self.context.enter(window.index, &mut active);
        self.process_active(active, window);
    }

    /// Processes every active node of a side once.
    fn process_side(&mut self, step: Step, side: Side) {
        let window = step.window(self.span);
        let mut active = std::mem::take(&mut self.active);
        self.wake_sleepers(window.index);
        if let Some(sides) = &self.sides {
            self.context.enter_side(step.first..=window.index, &sides[side.index()], &mut active);
        }
        if step.is_probed {
            self.probe_between(&mut active, window);
        }
        self.process_active(active, window);
    }

    /// Runs the probe before the last window of `window`. The nodes of `active` that the probe observes are
    /// processed up to that time and, after the observation, for the rest, and are removed from `active`.
    #[cold]
    fn probe_between(&mut self, active: &mut Vec<u32>, window: Window) {
        let rest = Window::new(window.index, self.span);
        let seen: Vec<u32> = active.extract_if(.., |node| self.seen[*node as usize]).collect();
        self.process_all(&seen, Window { end: rest.start, ..window });
        self.probe.observe(rest, &self.nodes, self.context.totals);
        self.process_all(&seen, rest);
    }

    /// Processes the nodes of `active`, and keeps its memory for the next step.
    fn process_active(&mut self, mut active: Vec<u32>, window: Window) {
        self.process_all(&active, window);
        active.clear();
        self.active = active;
    }

    /// Processes `nodes`, prefetching the following ones.
    fn process_all(&mut self, nodes: &[u32], window: Window) {
        for (index, &node) in nodes.iter().enumerate() {
            if self.context.is_large() {
                self.prefetch_nodes(&nodes[index..]);
            }
            self.process_node(node, window);
        }
    }

    /// Processes every node once in the rest of a window whose first part was processed.
    pub(crate) fn process_rest(&mut self, window: Window) {
        self.context.enter(window.index, &mut self.active);
        self.active.clear();
        for node in 0..self.nodes.len() as u32 {
            self.process_node(node, window);
        }
    }

    /// The state between two windows, or between parts of one. Times in it may be changed only in
    /// [`Hooks::inspect`](crate::Hooks::inspect), which must return the time to which the world has jumped.
    pub fn state_mut(&mut self) -> State<'_, N> {
        let (inboxes, totals) = self.context.state_mut();
        State { nodes: &mut self.nodes, inboxes, totals }
    }

    /// Adjusts activity after time has jumped to the start of `window`, which `process_rest` must process
    /// next.
    pub(crate) fn jump(&mut self, window: Window) {
        self.sleepers.clear();
        self.sleeping_until.fill(u64::MAX);
        self.context.clear_active(window);
        for node in 0..self.nodes.len() as u32 {
            self.context.wake_for_messages(window, inboxes_of(&self.first_inbox, node), node);
        }
    }

    /// Prefetches the memory of the nodes after the first of `active`.
    #[inline]
    fn prefetch_nodes(&mut self, active: &[u32]) {
        for (stage, distance) in PREFETCH_AHEAD.into_iter().enumerate() {
            if let Some(&node) = active.get(distance) {
                let inboxes = self.context.inboxes(inboxes_of(&self.first_inbox, node));
                self.nodes[node as usize].prefetch(stage, inboxes);
            }
        }
    }

    #[inline]
    fn process_node(&mut self, node: u32, window: Window) {
        let inboxes = inboxes_of(&self.first_inbox, node);
        let wake = self.nodes[node as usize].process(window, inboxes, &mut self.scratch, &mut self.context);
        self.activations += 1;
        // Events in the rest of a window that was cut are found when the rest is processed.
        if wake != Instant::NEVER && wake.0 / self.span.0 > window.index {
            self.schedule(node, wake.0 / self.span.0);
        }
    }

    fn schedule(&mut self, node: u32, window: u64) {
        if window < self.context.horizon() {
            self.context.wake(window, node);
        } else if window < self.sleeping_until[node as usize] {
            self.sleeping_until[node as usize] = window;
            self.sleepers.push(Reverse((window, node)));
        }
    }

    /// Wakes the nodes that sleep until window `last` or earlier.
    fn wake_sleepers(&mut self, last: u64) {
        while let Some(&Reverse((due, node))) = self.sleepers.peek() {
            if due > last {
                break;
            }
            self.sleepers.pop();
            if self.sleeping_until[node as usize] == due {
                self.sleeping_until[node as usize] = u64::MAX;
                self.context.wake(due, node);
            }
        }
    }

    /// The next window with events, as far as this partition knows.
    pub(crate) fn next_window(&self) -> Option<u64> {
        let sleeper = self.sleepers.peek().map(|&Reverse((window, _))| window);
        [self.context.next_active(), self.context.next_remote(), sleeper].into_iter().flatten().min()
    }

    /// Delivers messages from another partition.
    pub(crate) fn receive(&mut self, mail: &mut RemoteMessages<N::Message>) {
        self.context.receive_all(mail);
    }

    /// Another partition with messages to it, and the messages; the caller drains them.
    pub(crate) fn next_remote_messages(&mut self) -> Option<(u32, &mut RemoteMessages<N::Message>)> {
        self.context.next_remote_messages()
    }

    /// Records reported by the nodes since this was last drained.
    pub fn records(&mut self) -> &mut Vec<N::Record> {
        &mut self.context.records
    }

    /// The nodes, in order.
    pub fn nodes_mut(&mut self) -> &mut [N] {
        &mut self.nodes
    }

    /// The nodes, in order.
    pub fn nodes(&self) -> &[N] {
        &self.nodes
    }

    /// The probe.
    pub const fn probe(&self) -> &P {
        &self.probe
    }

    /// The probe.
    pub const fn probe_mut(&mut self) -> &mut P {
        &mut self.probe
    }

    /// Length of a window.
    pub const fn span(&self) -> Span {
        self.span
    }

    /// Arrival of the first message that no node has received yet.
    pub fn next_arrival(&self) -> Instant {
        self.context.first_arrival()
    }

    /// Node activations so far.
    pub const fn activations(&self) -> u64 {
        self.activations
    }

    /// Counters so far.
    pub const fn totals(&self) -> N::Totals {
        self.context.totals
    }

    /// Messages in flight to node `node` on its inbox `inbox`.
    ///
    /// # Panics
    /// If there is no such node or inbox.
    pub fn messages_to(&self, node: u32, inbox: usize) -> impl Iterator<Item = &N::Message> {
        let inbox = inboxes_of(&self.first_inbox, node).start + inbox as u32;
        self.context.messages_to(inbox)
    }

    /// Number of messages in flight for which `counts` is true.
    pub fn in_flight(&self, counts: impl Fn(&N::Message) -> bool) -> u64 {
        self.context.in_flight(counts)
    }
}

/// The inboxes of a node.
#[inline]
fn inboxes_of(first_inbox: &[u32], node: u32) -> Range<u32> {
    first_inbox[node as usize]..first_inbox[node as usize + 1]
}
