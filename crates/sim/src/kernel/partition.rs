//! A group of nodes that one thread processes.

use super::context::Totals;
use super::{Context, Destination, Node, Probe, Window};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use units::{Cycle, Instant, Span};

/// How many nodes ahead each stage of [`Node::prefetch`] is.
const PREFETCH_AHEAD: [usize; 3] = [6, 3, 1];

/// How a partition is laid out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartitionPlan {
    /// This partition.
    pub(crate) index: u32,
    /// How many there are.
    pub(crate) partitions: usize,
    /// Length of a window: at most the smallest latency of any link.
    pub(crate) span: Span,
    /// Windows that inboxes are kept for: a power of two above the largest latency in windows.
    pub(crate) slots: usize,
}

/// Nodes, their inboxes and their wake-up times.
pub(crate) struct Partition<N: Node, P> {
    nodes: Vec<N>,
    /// The inboxes of node `i` are `first_inbox[i]..first_inbox[i + 1]`.
    first_inbox: Vec<u32>,
    context: Context<N::Message, N::Record>,
    /// Wake-ups beyond the horizon, as (window, node).
    sleepers: BinaryHeap<Reverse<(u64, u32)>>,
    /// The earliest entry of each node in `sleepers`.
    sleeping_until: Vec<u64>,
    span: Span,
    probe: P,
    activations: u64,
    scratch: N::Scratch,
    /// Scratch space: who is active in this window.
    turn: Vec<u32>,
}

impl<N: Node, P: Probe<N>> Partition<N, P> {
    /// A partition of `nodes`, each with its number of inboxes; all of them are active in window 0.
    pub(crate) fn new(plan: PartitionPlan, nodes: Vec<N>, inboxes: &[u32], probe: P) -> Self {
        let mut first_inbox = vec![0];
        for count in inboxes {
            first_inbox.push(first_inbox[first_inbox.len() - 1] + count);
        }
        let total = first_inbox[inboxes.len()] as usize;
        let mut context =
            Context::new(plan.index, plan.partitions, nodes.len(), total, plan.span, plan.slots);
        for node in 0..nodes.len() {
            context.wake(0, node as u32);
        }
        Self {
            sleeping_until: vec![u64::MAX; nodes.len()],
            nodes,
            first_inbox,
            context,
            sleepers: BinaryHeap::new(),
            span: plan.span,
            probe,
            activations: 0,
            scratch: N::Scratch::default(),
            turn: Vec::new(),
        }
    }

    /// Processes every active node once.
    pub(crate) fn process(&mut self, window: Window) {
        self.probe.observe(window, &self.nodes, self.context.totals);
        let mut turn = std::mem::take(&mut self.turn);
        self.wake_sleepers(window);
        self.context.enter(window, &mut turn);
        for (place, &node) in turn.iter().enumerate() {
            if self.context.is_large() {
                self.prefetch_nodes(&turn[place..]);
            }
            self.process_node(node, window);
        }
        turn.clear();
        self.turn = turn;
    }

    /// Processes every node once in what is left of a window, of which the part before was processed.
    pub(crate) fn process_rest(&mut self, window: Window) {
        self.context.enter(window, &mut self.turn);
        self.turn.clear();
        for node in 0..self.nodes.len() as u32 {
            self.process_node(node, window);
        }
    }

    /// See [`Cycle`]: everything between two windows, or parts of one.
    pub(crate) fn visit(&mut self, cycle: &mut Cycle) {
        self.nodes.iter_mut().for_each(|node| node.visit(cycle));
        self.context.visit(cycle);
    }

    /// Time has jumped to the start of `window`, which goes to [`Self::process_rest`] next.
    pub(crate) fn jump(&mut self, window: Window) {
        self.sleepers.clear();
        self.sleeping_until.fill(u64::MAX);
        self.context.clear_active(window);
        for node in 0..self.nodes.len() as u32 {
            self.context.wake_for_messages(window, inboxes_of(&self.first_inbox, node), node);
        }
    }

    /// Asks for the memory of the nodes that follow the first of `turn`.
    #[inline]
    fn prefetch_nodes(&mut self, turn: &[u32]) {
        for (stage, ahead) in PREFETCH_AHEAD.into_iter().enumerate() {
            if let Some(&node) = turn.get(ahead) {
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
        // What is due in the rest of a window that was cut will be seen there.
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

    fn wake_sleepers(&mut self, window: Window) {
        while let Some(&Reverse((due, node))) = self.sleepers.peek() {
            if due > window.index {
                break;
            }
            self.sleepers.pop();
            if self.sleeping_until[node as usize] == due {
                self.sleeping_until[node as usize] = u64::MAX;
                self.context.wake(window.index, node);
            }
        }
    }

    /// The next window in which anything happens, as far as this partition knows.
    pub(crate) fn next_window(&self) -> Option<u64> {
        let sleeper = self.sleepers.peek().map(|&Reverse((window, _))| window);
        [self.context.next_active(), self.context.next_remote(), sleeper].into_iter().flatten().min()
    }

    /// Takes in messages from another partition.
    pub(crate) fn receive(&mut self, mail: &mut Vec<(Destination, N::Message)>) {
        for (to, message) in mail.drain(..) {
            self.context.receive(to, message);
        }
    }

    /// What leaves for `partition`.
    pub(crate) fn outgoing(&mut self, partition: usize) -> &mut Vec<(Destination, N::Message)> {
        self.context.outgoing(partition)
    }

    /// What the nodes reported since this was last drained.
    pub(crate) fn records(&mut self) -> &mut Vec<N::Record> {
        &mut self.context.records
    }

    /// The nodes, in order.
    pub(crate) fn nodes_mut(&mut self) -> &mut [N] {
        &mut self.nodes
    }

    /// The nodes, in order.
    pub(crate) fn nodes(&self) -> &[N] {
        &self.nodes
    }

    /// The probe.
    pub(crate) const fn probe(&self) -> &P {
        &self.probe
    }

    /// The probe.
    pub(crate) const fn probe_mut(&mut self) -> &mut P {
        &mut self.probe
    }

    /// Length of a window.
    pub(crate) const fn span(&self) -> Span {
        self.span
    }

    /// When the first of the messages that no node has seen yet arrives.
    pub(crate) fn next_arrival(&self) -> Instant {
        self.context.first_arrival()
    }

    /// Node activations so far.
    pub(crate) const fn activations(&self) -> u64 {
        self.activations
    }

    /// Sent and achieved so far.
    pub(crate) const fn totals(&self) -> Totals {
        self.context.totals
    }

    /// Messages that no node has seen yet and that `counts` tells to count.
    pub(crate) fn in_flight(&self, counts: impl Fn(&N::Message) -> bool) -> u64 {
        self.context.in_flight(counts)
    }
}

/// The inboxes of a node.
#[inline]
fn inboxes_of(first_inbox: &[u32], node: u32) -> Range<u32> {
    first_inbox[node as usize]..first_inbox[node as usize + 1]
}
