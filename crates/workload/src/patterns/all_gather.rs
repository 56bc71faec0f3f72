//! All-gather: every rank ends with the blocks of all ranks.
//!
//! S is the whole buffer of a rank, which initially contains block r of size S/n. There are n - 1 steps; at
//! step k rank r sends block (r - k) mod n, its own block first.

use super::ring::{Directions, Ring};

pub(crate) const RING: Ring = Ring { directions: Directions::One, cycles: 1, first_block_back: 0 };

pub(crate) const RING_BIDIRECTIONAL: Ring = Ring { directions: Directions::Both, ..RING };
