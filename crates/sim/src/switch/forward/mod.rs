//! Load balancing: which of the equal next hops a packet takes. One file each.

mod ecmp;

pub(crate) use ecmp::Ecmp;

use crate::packet::Packet;
use units::Seed;

/// How often a choice is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The same for every packet of a queue pair.
    PerFlow,
}

/// Chooses among equal next hops; one instance per switch.
pub(crate) trait Forward: Send + Sized {
    /// How often a choice is made.
    const CHOICE: Choice;

    /// For the switch number `switch`.
    fn new(seed: Seed, switch: u32) -> Self;

    /// The position in a group of `choices` (2 or more) next hops.
    fn choose(&mut self, packet: &Packet, choices: usize) -> usize;
}
