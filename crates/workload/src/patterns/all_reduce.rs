//! All-reduce: every rank ends with the sum of all ranks' buffers.
//!
//! Two laps of n - 1 steps with blocks of S/n: the first reduces each block along the ring, the second
//! distributes the reduced blocks. At step k rank r sends block (r - k) mod n.

use super::ring::{Directions, Ring};

pub(crate) const RING: Ring = Ring { directions: Directions::One, cycles: 2, first_block_back: 0 };

pub(crate) const RING_BIDIRECTIONAL: Ring = Ring { directions: Directions::Both, ..RING };
