//! RoCEv2 reliable connections (RC) without I/O and without a clock.
//!
//! The same state machines serve the simulator and real endpoints. In the order in which data passes them:
//!
//! 1. [`Config`]: what every queue pair of a host agrees on.
//! 2. [`Requester`]: work is posted, packets come out ([`Requester::poll_transmit`]), ACKs and NAKs go in.
//! 3. [`RateControl`]: when the requester may send next.
//! 4. [`Responder`]: packets go in, each is judged ([`Arrival`]) and may be answered ([`Reply`]).
//!
//! The caller polls in this order: deliver what arrived (`on_*`), then fire a due timer ([`Requester::deadline`],
//! [`Requester::on_timeout`]), then drain [`Requester::poll_transmit`] until it returns `None`.
//!
//! Models go-back-N recovery with coalesced ACKs and one NAK per gap (IBTA Volume 1 release 1.7, chapter 9.7).
//! Leaves out: end-to-end credits (RNR NAK), memory keys and protection, path migration, atomics, READ. An
//! application that reads its data sees no difference; one that posts more receives than it owns buffers would.

mod config;
mod dcqcn;
mod rate;
mod requester;
mod responder;

pub use config::Config;
pub use dcqcn::{Dcqcn, DcqcnConfig};
pub use rate::{Controller, LineRate, RateControl};
pub use requester::{AckOutcome, Position, Requester, TimeoutOutcome, Transmit};
pub use responder::{Arrival, Disposition, Reply, Responder};
