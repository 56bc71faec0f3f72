//! Collective schedules as data: which rank sends how many bytes to which rank, after which transfers. No
//! clock, no network.
//!
//! In the order of data flow:
//!
//! 1. `shape`: parameters of a schedule ([`Shape`]): ranks, data size, root, random draws; `parts`: division
//!    of data that does not divide equally ([`Parts`]); `message`: relation of message size and data size of
//!    each collective;
//! 2. `registry`: [`find`] returns a [`Pattern`] by collective and algorithm; [`schedule_for`] also checks
//!    the shape and builds the schedule;
//! 3. `patterns`: one file for each; `patterns::ring` is common to the ring algorithms, `patterns::tree` to
//!    the tree algorithms;
//! 4. `arrivals`, `open_loop`: messages at given times instead ([`open_loop_for`]), for patterns that have
//!    peers;
//! 5. `closed_form`: schedules whose transfers are computed from their numbers; `relay`: blocks forwarded
//!    around a ring, whose transfers are not numbered at all ([`Relay`]);
//! 6. `builder`: [`ScheduleBuilder`] collects the transfers of all other schedules, checks the invariants,
//!    and makes `lists` of them;
//! 7. `schedule`: the finished [`Schedule`] of [`Transfer`]s, in closed form or as lists;
//! 8. `rendezvous`: the handshake of MPI before large messages ([`with_rendezvous`]);
//! 9. `phases`: rounds that differ, and barriers between rounds ([`in_phases`]);
//! 10. `volume`: size of a schedule, computed without making it ([`volume_for`]).
//!
//! A new algorithm is a file in `patterns`, its module in `patterns.rs` and a line in `registry`.
//!
//! A transfer depends on the data it sends: each block is forwarded as soon as it has arrived, without
//! barriers between steps. Algorithms that are programs of blocking sends are marked
//! ([`Schedule::is_blocking`]). Not modelled: the time of a reduction, copies within a rank, and the finite
//! buffers of a library, which only the double binary tree approximates.

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
