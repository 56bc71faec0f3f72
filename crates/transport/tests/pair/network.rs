//! What happens to a packet on its way.

use std::collections::BTreeMap;
use units::{Instant, Span, Stream};

/// Which way a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Direction {
    /// From the requester to the responder.
    Data,
    /// From the responder to the requester.
    Reply,
}

/// How long each copy of a packet travels; no copy arrives of a lost one.
pub(crate) type Copies = [Option<Span>; 2];

/// Carries packets.
pub(crate) trait Network {
    /// Decides about a packet that leaves at `now`.
    fn carry(&mut self, now: Instant, direction: Direction) -> Copies;
}

/// Loses nothing and keeps the order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clean {
    pub(crate) latency: Span,
}

impl Network for Clean {
    fn carry(&mut self, _now: Instant, _direction: Direction) -> Copies {
        [Some(self.latency), None]
    }
}

/// Loses, duplicates and delays at random; a delay that differs from packet to packet reorders.
#[derive(Clone, Debug)]
pub(crate) struct Impaired {
    pub(crate) latency: Span,
    /// Each copy travels up to so much longer.
    pub(crate) jitter: Span,
    /// Packets lost of a thousand.
    pub(crate) loss_permille: u64,
    /// Packets duplicated of a thousand.
    pub(crate) duplicate_permille: u64,
    pub(crate) random: Stream,
}

impl Impaired {
    fn copy(&mut self) -> Option<Span> {
        let extra = Span(self.random.below(self.jitter.0 + 1));
        (self.random.below(1000) >= self.loss_permille).then_some(self.latency + extra)
    }
}

impl Network for Impaired {
    fn carry(&mut self, _now: Instant, _direction: Direction) -> Copies {
        let is_duplicated = self.random.below(1000) < self.duplicate_permille;
        [self.copy(), if is_duplicated { self.copy() } else { None }]
    }
}

/// Treats data as the network in it does and replies well.
#[derive(Clone, Debug)]
pub(crate) struct DataOnly(pub(crate) Impaired);

impl Network for DataOnly {
    fn carry(&mut self, now: Instant, direction: Direction) -> Copies {
        match direction {
            Direction::Data => self.0.carry(now, direction),
            Direction::Reply => [Some(self.0.latency), None],
        }
    }
}

/// Carries everything until it breaks, and then nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Severed {
    pub(crate) latency: Span,
    pub(crate) breaks_at: Instant,
}

impl Network for Severed {
    fn carry(&mut self, now: Instant, _direction: Direction) -> Copies {
        [(now < self.breaks_at).then_some(self.latency), None]
    }
}

/// Carries everything with one latency, except for what the script says of the n-th packet of a direction.
#[derive(Clone, Debug)]
pub(crate) struct Scripted {
    latency: Span,
    script: BTreeMap<(Direction, u64), Copies>,
    carried: BTreeMap<Direction, u64>,
}

impl Scripted {
    pub(crate) fn new(latency: Span) -> Self {
        Self { latency, script: BTreeMap::new(), carried: BTreeMap::new() }
    }

    /// The packet of that number, counted from 0, is lost.
    pub(crate) fn lose(mut self, direction: Direction, number: u64) -> Self {
        self.script.insert((direction, number), [None, None]);
        self
    }

    /// The packet of that number takes `latency`.
    pub(crate) fn delay(mut self, direction: Direction, number: u64, latency: Span) -> Self {
        self.script.insert((direction, number), [Some(latency), None]);
        self
    }

    /// The packet of that number arrives a second time `later`.
    pub(crate) fn duplicate(mut self, direction: Direction, number: u64, later: Span) -> Self {
        self.script.insert((direction, number), [Some(self.latency), Some(self.latency + later)]);
        self
    }
}

impl Network for Scripted {
    fn carry(&mut self, _now: Instant, direction: Direction) -> Copies {
        let number = self.carried.entry(direction).or_default();
        let copies = self.script.get(&(direction, *number)).copied();
        *number += 1;
        copies.unwrap_or([Some(self.latency), None])
    }
}
