//! Equal-cost multipath: a hash of the 5-tuple picks the path, so a queue pair keeps to one.
//!
//! The packet carries the CRC-32 of its 5-tuple. A CRC is linear: with a different start value per switch all
//! hashes would differ by one constant and switches would agree on who goes together (polarisation). So the CRC
//! is mixed with the switch's seed by a bijection before it is scaled to the group's size.

use super::{Choice, Forward};
use crate::packet::Packet;
use units::{Seed, mix64};

/// ECMP with a seed per switch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ecmp {
    seed: u64,
}

impl Forward for Ecmp {
    const CHOICE: Choice = Choice::PerFlow;

    fn new(seed: Seed, switch: u32) -> Self {
        Self { seed: seed.stream("switch.ecmp", u64::from(switch)).next_u64() }
    }

    #[inline]
    fn choose(&mut self, packet: &Packet, choices: usize) -> usize {
        let hash = mix64(u64::from(packet.entropy) ^ self.seed) >> 32;
        ((hash * choices as u64) >> 32) as usize
    }
}
