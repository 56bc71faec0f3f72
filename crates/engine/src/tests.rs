//! Tests of the engine with a ring of nodes that pass on tokens and record them.

use crate::{
    Context, Destination, Hooks, Message, Node, Partition, PartitionPlan, Probe, Side, Totals, Window, run,
};
use std::iter::Sum;
use std::ops::{ControlFlow, Range};
use units::{Instant, Span};

const SPAN: Span = Span(100);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Token {
    at: Instant,
    name: u32,
    hops_left: u32,
}

impl Message for Token {
    fn at(&self) -> Instant {
        self.at
    }
}

/// Tokens sent.
#[derive(Clone, Copy, Debug, Default)]
struct Sent(u64);

impl Sum for Sent {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        Self(parts.map(|part| part.0).sum())
    }
}

impl Totals for Sent {
    fn messages_mut(&mut self) -> &mut u64 {
        &mut self.0
    }
}

/// A token at a node: (time, node, inbox, token).
type Sighting = (Instant, u32, usize, u32);

/// Passes a token to both neighbours, to one of them after a long time.
struct Relay {
    node: u32,
    neighbours: [Destination; 2],
    delays: [Span; 2],
    starts: Option<Instant>,
    panics: bool,
}

impl Node for Relay {
    type Message = Token;
    type Record = Sighting;
    type Totals = Sent;
    type Scratch = ();

    fn process(
        &mut self,
        window: Window,
        inboxes: Range<u32>,
        (): &mut (),
        context: &mut Context<Token, Sighting, Sent>,
    ) -> Instant {
        assert!(!self.panics, "as the test wants");
        if let Some(at) = self.starts.filter(|at| *at < window.end) {
            self.starts = None;
            self.pass(Token { at, name: self.node, hops_left: 6 }, context);
        }
        let mut arrivals: Vec<(usize, Token)> = Vec::new();
        for (inbox, tokens) in context.inboxes(inboxes).iter_mut().enumerate() {
            while let Some(token) = tokens.take_before(window.end) {
                assert!(token.at >= window.start, "it should have been seen before");
                arrivals.push((inbox, token));
            }
        }
        // Equal times keep the order of inbox and sequence.
        arrivals.sort_by_key(|(_, token)| token.at);
        for (inbox, token) in arrivals {
            context.records.push((token.at, self.node, inbox, token.name));
            self.pass(token, context);
        }
        self.starts.unwrap_or(Instant::NEVER)
    }
}

impl Relay {
    fn pass(&self, token: Token, context: &mut Context<Token, Sighting, Sent>) {
        if token.hops_left == 0 {
            return;
        }
        for (to, delay) in self.neighbours.into_iter().zip(self.delays) {
            context.send(to, Token { at: token.at + delay, hops_left: token.hops_left - 1, ..token });
        }
    }
}

struct Blind;

impl Probe<Relay> for Blind {
    fn observe(&mut self, _: Window, _: &[Relay], _: Sent) {}

    fn due(&self) -> Instant {
        Instant::NEVER
    }

    fn sees(&self, nodes: &[Relay]) -> Vec<bool> {
        vec![false; nodes.len()]
    }
}

#[derive(Default)]
struct Witness {
    seen: Vec<Sighting>,
    windows: Vec<u64>,
    stop_after: Option<usize>,
    panics: bool,
    activations: u64,
    /// Time until which the sides may alternate.
    unobserved_until: Instant,
}

impl Hooks<Relay, Blind> for Witness {
    fn unobserved_until(&self, _: Sent) -> Instant {
        self.unobserved_until
    }

    fn after_window(&mut self, window: Window, records: &mut Vec<Sighting>, _: Sent) -> ControlFlow<()> {
        assert!(!self.panics, "as the test wants");
        self.windows.push(window.index);
        self.seen.append(records);
        let done = self.stop_after.is_some_and(|limit| self.seen.len() >= limit);
        if done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Twelve nodes in a ring over `partitions`, with 8 slots and sleep times far beyond.
fn ring(partitions: u32) -> Vec<Partition<Relay, Blind>> {
    const NODES: u32 = 12;
    let home = |node: u32| (node % partitions, node / partitions);
    let inbox = |node: u32, side: u32| {
        let (partition, place) = home(node);
        Destination { partition, inbox: place * 2 + side, node: place }
    };
    let mut members: Vec<Vec<Relay>> = (0..partitions).map(|_| Vec::new()).collect();
    for node in 0..NODES {
        members[home(node).0 as usize].push(Relay {
            node,
            neighbours: [inbox((node + 1) % NODES, 0), inbox((node + NODES - 1) % NODES, 1)],
            delays: [Span(100 + u64::from(node % 3) * 50), Span(650)],
            starts: (node % 5 == 0).then_some(Instant(u64::from(node) * 10_000)),
            panics: false,
        });
    }
    let count = partitions as usize;
    let plan = |index| PartitionPlan { index, partitions: count, sharing: 1, span: SPAN, slots: 8 };
    let build = |index: usize, nodes: Vec<Relay>| {
        let inboxes = vec![2; nodes.len()];
        let side = |node: u32| if node.is_multiple_of(2) { Side::First } else { Side::Second };
        let sides: Vec<_> = nodes.iter().map(|relay| side(relay.node)).collect();
        let mut partition = Partition::new(plan(index as u32), nodes, &inboxes, Blind);
        partition.set_sides(sides.into_iter());
        partition
    };
    members.into_iter().enumerate().map(|(index, nodes)| build(index, nodes)).collect()
}

fn witness(partitions: u32, unobserved_until: Instant) -> Witness {
    let mut witness = Witness { unobserved_until, ..Witness::default() };
    let mut world = ring(partitions);
    let outcome = run(&mut world, SPAN, &mut witness);
    assert!(!outcome.stopped);
    witness.activations = world.iter().map(Partition::activations).sum();
    witness.seen.sort_unstable();
    witness
}

#[test]
fn every_partition_count_sees_the_same_in_the_same_windows() {
    let alone = witness(1, Instant::ZERO);
    // Three tokens, each doubled at every hop: 2 + 4 + ... + 64 sightings.
    assert_eq!(alone.seen.len(), 3 * 126);
    for partitions in [2, 3, 5] {
        let together = witness(partitions, Instant::ZERO);
        assert_eq!(together.seen, alone.seen);
        assert_eq!(together.windows, alone.windows);
    }
}

#[test]
fn sides_that_take_turns_see_the_same_in_fewer_windows() {
    let whole = witness(1, Instant::ZERO);
    for partitions in [1, 2, 3, 5] {
        // The sides synchronise while tokens are in flight, or never.
        for unobserved_until in [Instant(650), Instant(1_001), Instant::NEVER] {
            let apart = witness(partitions, unobserved_until);
            assert_eq!(apart.seen, whole.seen);
            assert!(apart.activations <= whole.activations);
            let is_apart = unobserved_until == Instant::NEVER;
            assert!(!is_apart || apart.activations < whole.activations, "{}", apart.activations);
        }
    }
}

#[test]
fn windows_in_which_nothing_happens_are_skipped() {
    let windows = witness(1, Instant::ZERO).windows;
    assert!(windows.is_sorted());
    assert!(windows.len() < 120, "{}", windows.len());
    assert!(windows.contains(&500) && windows.contains(&1_000), "the sleepers woke up in time");
}

#[test]
fn the_hooks_end_a_run_after_the_window_they_saw() {
    for (partitions, unobserved_until) in
        [(1, Instant::ZERO), (3, Instant::ZERO), (1, Instant::NEVER), (3, Instant::NEVER)]
    {
        let mut witness = Witness { stop_after: Some(10), unobserved_until, ..Witness::default() };
        let mut world = ring(partitions);
        let outcome = run(&mut world, SPAN, &mut witness);
        assert!(outcome.stopped);
        assert_eq!(witness.windows.last(), Some(&outcome.last.index));
        let in_flight: u64 = world.iter().map(|partition| partition.in_flight(|_| true)).sum();
        let sent: u64 = world.iter().map(|partition| partition.totals().0).sum();
        assert_eq!(sent, in_flight + witness.seen.len() as u64, "nothing is lost on the way");
    }
}

#[test]
fn a_panic_anywhere_ends_the_run_and_is_passed_on() {
    let panics = |partition: Option<usize>, witness: Witness| {
        let mut world = ring(3);
        if let Some(partition) = partition {
            world[partition].nodes_mut()[1].panics = true;
        }
        let mut witness = witness;
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&mut world, SPAN, &mut witness)))
            .is_err()
    };
    for partition in 0..3 {
        assert!(panics(Some(partition), Witness::default()), "in partition {partition}");
    }
    assert!(panics(None, Witness { panics: true, ..Witness::default() }), "in a hook");
}
