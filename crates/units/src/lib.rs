//! Units of the simulated world: integer picoseconds, rates, typed ids and named random streams.
//!
//! Nothing in the core uses floating point in a decision: an [`Instant`] and a [`Span`] count picoseconds,
//! sizes are whole bytes and a [`Rate`] turns bytes into picoseconds with integer arithmetic. Every random
//! draw comes from a [`Stream`] that is derived from one [`Seed`] by name, so that an extra draw in one place
//! never moves another. [`NumberMap`] is for keys of such ids, and a [`Cycle`] tells whether a state made of
//! such numbers repeats.

mod cycle;
mod id;
mod number_map;
mod rate;
mod seed;
mod time;

pub use cycle::{Cycle, visit_heap};
pub use id::{AttachmentId, HostId, LinkId, NodeId, Rank, SwitchId, TransferId};
pub use number_map::{NumberHasher, NumberMap};
pub use rate::{ByteTime, Carry, Rate};
pub use seed::{Seed, Stream, StreamFamily, mix64};
pub use time::{Instant, Span};

/// Bytes of an Ethernet frame that occupy the link without being counted as frame bytes:
/// preamble and start delimiter (8) and the inter-frame gap (12). IEEE 802.3-2022, 4.2.3.2 and 4A.4.2.
pub const LINK_OVERHEAD_BYTES: u32 = 20;
