//! Collective schedules as data: which rank sends how many bytes to which rank, after which transfers. No
//! clock, no network.
//!
//! In the order of data flow:
//!
//! 1. `shape`: parameters of a schedule ([`Shape`]): ranks, data size, root, random draws; relation of
//!    message size and data size ([`shares`]); `parts`: division of data into nearly equal parts ([`Parts`]);
//! 2. `registry`: [`find`] returns an [`Algorithm`] by name; [`schedule_for`] also checks
//!    the shape and builds the schedule;
//! 3. `patterns`: all [`algorithms`], one file for each [`Pattern`];
//! 4. `open_loop`: messages at given times instead ([`open_loop_for`], [`Arrivals`]), for patterns that have
//!    peers;
//! 5. `schedule`: the finished [`Schedule`] of [`Transfer`]s, in closed form or as lists that a
//!    [`ScheduleBuilder`] checks; the handshake of MPI before large messages ([`with_rendezvous`]); rounds
//!    that differ, with barriers ([`in_phases`]); rings too large for numbered transfers ([`Relay`]);
//! 6. `servers`: collectives as NCCL runs them over servers with GPUs ([`nccl_schedule`]);
//! 7. `volume`: size of a schedule, computed without building it ([`volume_for`]).
//!
//! A new algorithm is a file in `patterns`, with its module and its entry in `patterns/mod.rs`.
//!
//! A transfer depends on the data it sends: each block is forwarded as soon as it has arrived, without
//! barriers between steps. Algorithms that are programs of blocking sends are marked
//! ([`Schedule::is_blocking`]). Not modelled: the time of a reduction, copies within a rank, and the finite
//! buffers of a library, which only the double binary tree approximates.

mod error;
mod open_loop;
mod parts;
mod patterns;
mod registry;
mod schedule;
mod servers;
mod shape;
mod volume;

pub use error::WorkloadError;
pub use open_loop::{Arrivals, Peer, Process, open_loop_for};
pub use parts::Parts;
pub use patterns::{Algorithm, Pattern, algorithms};
pub use registry::{
    LISTED_TRANSFERS_MAX, TRANSFERS_MAX, check_schedule, check_transfers, find, schedule_for,
};
pub use schedule::{
    HANDSHAKE_TRANSFERS, Message, RankTimes, Relay, Schedule, ScheduleBuilder, Successors, Transfer,
    barrier_transfers, in_phases, with_rendezvous,
};
pub use servers::{
    NcclAlgorithm, NcclChannel, NcclChannels, NcclConfig, NcclOneServer, NcclPeers, NcclProtocol,
    ScaleUpCopies, ScaleUpHops, ServerRanks, nccl_schedule, nccl_volume,
};
pub use shape::{Shape, shares};
pub use volume::{Volume, volume_for};
