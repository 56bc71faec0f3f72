//! Collective schedules as data: which rank sends how many bytes to whom, and after what. No clock, no
//! network.
//!
//! In the order in which data passes them:
//!
//! 1. `shape`: what a schedule is made for ([`Shape`]): ranks, data size, root, random draws; `parts`: how
//!    data that does not divide is cut ([`Parts`]); `message`: what a message size means for each collective;
//! 2. `registry`: [`find`] looks a [`Pattern`] up by collective and algorithm; [`schedule_for`] also checks
//!    the shape and builds;
//! 3. `patterns`: one file for each; `patterns::ring` is what the ring algorithms share, `patterns::tree`
//!    what the tree algorithms share;
//! 4. `arrivals`, `open_loop`: messages at given times instead ([`open_loop_for`]), for patterns that have
//!    peers;
//! 5. `closed_form`: schedules of which nothing is stored, as each transfer follows from its number;
//!    `relay`: blocks that go around, of which not even numbers are needed ([`Relay`]);
//! 6. `builder`: [`ScheduleBuilder`] takes the transfers of all others one by one, checks what every schedule
//!    promises, and makes `lists` of them;
//! 7. `schedule`: the finished [`Schedule`] of [`Transfer`]s, of either kind;
//! 8. `rendezvous`: the handshake of MPI before large messages ([`with_rendezvous`]);
//! 9. `phases`: rounds that differ, and barriers between rounds ([`in_phases`]);
//! 10. `volume`: how much that is, told without making it ([`volume_for`]).
//!
//! A new algorithm is a file in `patterns`, its module in `patterns.rs` and a line in `registry`.
//!
//! A transfer waits for the data it needs: each block goes on as soon as it has arrived, and there is no
//! barrier between steps. Algorithms that are programs of blocking sends say so ([`Schedule::is_blocking`]).
//! Left out: the time a reduction takes, copies within a rank, and the finite buffers of a library, which
//! only the double binary tree stands in for.

mod arrivals;
mod builder;
mod closed_form;
mod error;
mod lists;
mod message;
mod open_loop;
mod parts;
mod pattern;
mod patterns;
mod phases;
mod registry;
mod relay;
mod rendezvous;
mod schedule;
mod shape;
mod volume;

pub use arrivals::{Arrivals, Process};
pub use builder::ScheduleBuilder;
pub use error::WorkloadError;
pub use message::shares;
pub use open_loop::{Peer, open_loop_for};
pub use parts::Parts;
pub use pattern::Pattern;
pub use phases::{barrier_transfers, in_phases};
pub use registry::{
    LISTED_TRANSFERS_MAX, TRANSFERS_MAX, check_schedule, check_transfers, find, patterns, schedule_for,
};
pub use relay::Relay;
pub use rendezvous::{HANDSHAKE_TRANSFERS, with_rendezvous};
pub use schedule::{Message, Schedule, Successors, Transfer};
pub use shape::Shape;
pub use volume::{Volume, volume_for};
