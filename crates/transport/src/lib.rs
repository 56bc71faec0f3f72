//! RoCEv2 reliable connections (RC) without I/O and without a clock.
//!
//! The same state machines serve the simulator and real endpoints. In the order in which data passes them:
//!
//! 1. [`Config`]: what every queue pair of a host agrees on.
//! 2. [`Requester`]: work is posted, packets come out ([`Requester::poll_transmit`]), ACKs and NAKs go in.
//! 3. [`RateControl`]: when the requester may send next, and how much; a [`Controller`] is none, [`Dcqcn`],
//!    [`Swift`] or [`Timely`].
//! 4. [`Responder`]: packets go in, each is judged ([`Arrival`]) and may be answered ([`Reply`]).
//! 5. [`VerbRequester`] and [`ReadResponses`]: the same with SEND, WRITE and READ on one connection, for
//!    storage.
//! 6. [`QueuePair`]: requester, responder and rate control as the one object that a driver of real packets
//!    holds, with receives, memory keys, completions and congestion notifications; [`Outgoing`] and
//!    [`Received`] are its packets, to and from bytes.
//!
//! [`tcp`] stands apart: the other transport, for what shares the fabric with RDMA.
//!
//! The caller polls in this order: deliver what arrived (`on_*`), then fire a due timer
//! ([`Requester::deadline`], [`Requester::on_timeout`]), then drain [`Requester::poll_transmit`] until it
//! returns `None`. Any of these may move the deadline; look at it again afterwards.
//!
//! # What is modelled
//! [`Recovery`] chooses one of three. Go-back-N recovery with coalesced ACKs and one NAK per gap (IBTA Volume
//! 1 release 1.7, chapter 9.7). It differs from the standard in points that only a device with other choices
//! would show:
//!
//! - The retry counter counts timeouts. The standard (9.7.6) also counts NAKs, but a responder repeats no NAK
//!   before the missing packet arrived, so a NAK all but always comes with progress, which resets the
//!   counter.
//! - The timer runs whenever a packet is under way, not only behind one that asks for an acknowledgement, and
//!   expires after exactly `timeout`; the standard allows up to four times as long (9.7.6.1.3).
//! - Only the last packet of a message asks for an acknowledgement. A lost ACK inside a message is made good
//!   by the next one, unless the window closes first: then by the timeout.
//! - Duplicates are acknowledged in groups like new packets, not one by one (9.7.5.1.2 allows both).
//! - A NAK that the network duplicated makes the requester go back twice; some devices ignore the second.
//! - The responder does not check that positions follow each other (First, Middle, Last; 9.7.4.1); a
//!   [`QueuePair`] does.
//!
//! Selective recovery is no part of the standard, and devices that have it differ. Here every packet is a
//! WRITE Only that says itself where it belongs, as in IRN (Mittal et al., "Revisiting Network Support for
//! RDMA", SIGCOMM 2018), and work completes in order. It differs from IRN in who decides what is lost: the
//! responder, which knows every hole, not the requester. It reports a hole once, when a packet three quarters
//! of a window beyond it has arrived, so that spraying over several paths causes neither reports nor resends,
//! and acknowledges in groups; IRN answers each packet. What a report does not reach (the last packets of a
//! burst, a report or a resent packet that is lost again) waits for the timer; the requester then sends the
//! first missing packet, learns from the acknowledgement how far the responder got, and resends what is
//! beyond and hole by hole what lies before.
//!
//! Without recovery the pair is a traffic generator: whatever arrives counts, nothing is sent twice, and the
//! highest PSN seen acknowledges everything before it, so that the window moves on. What of that has arrived
//! is the owner's to find out.
//!
//! # What is left out
//! End-to-end credits, path migration, atomics, immediate data. Requester and responder by themselves also
//! leave out RNR NAKs and memory keys, and keep the work of a failed queue pair. A [`QueuePair`] has these:
//! it answers a SEND without receive by an RNR NAK, checks length, place and key of every request, fails over
//! what a peer may not do, and flushes what is posted. It has READ with go-back-N, sends the responses in the
//! order of the requests and acknowledges nothing ahead of them, and has one region of memory. An application
//! that reads its data sees no difference.

mod adapter;
mod config;
mod dcqcn;
mod in_flight;
mod packet;
mod placement;
mod queue_pair;
mod rate;
mod requester;
mod responder;
mod segment;
mod selective;
mod swift;
pub mod tcp;
mod timely;
mod verbs;

pub use adapter::{Adapter, AdapterConfig};
pub use config::{Config, ConfigError, Recovery};
pub use dcqcn::{Dcqcn, DcqcnConfig};
pub use packet::{NextPacket, Position, Transmit};
pub use placement::Placement;
pub use queue_pair::{
    CnpLimiter, Completion, Counters, DecodeError, Handled, Origin, Outgoing, Placed, PostError, QueuePair,
    Reads, Received, Region, Settings, SettingsError, Source, Status, Target, UdpPath, WorkId,
};
pub use rate::{Ack, Controller, DcqcnPacer, Loss, RateControl, Timed};
pub use requester::{AckOutcome, Requester, TimeoutOutcome};
pub use responder::{Arrival, Disposition, Reply, Responder};
pub use swift::{Swift, SwiftConfig};
pub use timely::{Timely, TimelyConfig};
pub use verbs::{
    ReadResponse, ReadResponses, ResponseOutcome, Verb, VerbRequester, VerbTransmit, Wanted, wanted,
};
