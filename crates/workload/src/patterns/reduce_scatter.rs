//! Reduce-scatter: rank r ends with the sum of all ranks' block r.
//!
//! The first lap of the all-reduce, n - 1 steps with blocks of S/n, with the blocks renumbered so that each
//! ends at the rank of its number: at step k rank r sends block (r - 1 - k) mod n.

use super::ring::{Directions, Ring};

pub(crate) const RING: Ring = Ring { directions: Directions::One, cycles: 1, first_block_back: 1 };

pub(crate) const RING_BIDIRECTIONAL: Ring = Ring { directions: Directions::Both, ..RING };
