//! Basic types of the simulation: time in integer picoseconds, bit rates, typed ids, named random streams;
//! detection of a state that repeats.
//!
//! No decision in the core uses floating point: an [`Instant`] and a [`Span`] count picoseconds, sizes are
//! whole bytes and a [`Rate`] converts bytes to picoseconds with integer arithmetic. Every random number is
//! drawn from a [`Stream`] derived from one [`Seed`] by name, so that an additional draw from one stream
//! never changes another. [`NumberMap`] is a map with such ids as keys. A [`State`] is a part of the state
//! of a simulation, and a [`Cycle`] detects whether it repeats.

// Derived code names this crate.
extern crate self as units;

mod cycle;
mod id;
mod rate;
mod seed;
mod state;
mod time;

pub use cycle::Cycle;
pub use id::{AttachmentId, HostId, LinkId, NodeId, NumberHasher, NumberMap, Rank, SwitchId, TransferId};
pub use rate::{ByteTime, Carry, RATE_BPS_MAX, Rate};
pub use seed::{Seed, Stream, StreamFamily, mix64};
pub use state::{Counter, State};
pub use state_derive::State;
pub use time::{DURATION_PS_MAX, Instant, Span};

/// Bytes of an Ethernet frame that occupy the link without being counted as frame bytes:
/// preamble and start delimiter (8) and the inter-frame gap (12). IEEE 802.3-2022, 4.2.3.2 and 4A.4.2.
pub const LINK_OVERHEAD_BYTES: u32 = 20;
