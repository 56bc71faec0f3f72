//! RoCEv2 reliable connection (RC): requester, responder, their recovery from lost packets, the verbs of
//! storage, and the queue pair that joins them for drivers of real packets.
//!
//! The caller polls in this order: deliver arrived packets (`on_*`), then fire a due timer
//! ([`Requester::deadline`], [`Requester::on_timeout`]), then drain [`Requester::poll_transmit`] until it
//! returns `None`. Any of these may move the deadline, so read it again afterwards.
//!
//! # Model
//! [`Recovery`] chooses one of three. The first is go-back-N with coalesced ACKs and one NAK per gap (IBTA
//! Volume 1 release 1.7, chapter 9.7). It differs from the standard in points that are visible only with a
//! device that makes other choices:
//!
//! - The retry counter counts timeouts. The standard (9.7.6) also counts NAKs, but a responder does not
//!   repeat a NAK before the missing packet has arrived, so a NAK nearly always brings progress, which resets
//!   the counter.
//! - The timer runs whenever a packet is in flight, not only after one that requests an acknowledgement, and
//!   expires after exactly `timeout`; the standard allows up to four times as long (9.7.6.1.3).
//! - Only the last packet of a message requests an acknowledgement. A lost ACK inside a message is covered by
//!   the next ACK, or by the timeout if the window closes first.
//! - Duplicates are acknowledged in groups like new packets, not one by one (9.7.5.1.2 allows both).
//! - A NAK duplicated by the network makes the requester go back twice; some devices ignore the second.
//! - The responder does not check the order of positions (First, Middle, Last; 9.7.4.1); a [`QueuePair`]
//!   does.
//!
//! Selective recovery is not part of the standard, and devices that have it differ. Here every packet is a
//! WRITE Only with its own address, as in IRN (Mittal et al., "Revisiting Network Support for RDMA", SIGCOMM
//! 2018), and work completes in order. Unlike in IRN, the responder, which sees every hole, decides that a
//! packet is lost, not the requester. It reports a hole once, when a packet three quarters of a window beyond
//! it has arrived, so that spraying over several paths causes neither reports nor resends, and it
//! acknowledges in groups; IRN answers each packet. A loss that no report covers (the last packets of a
//! burst, a lost report, a resent packet that is lost again) waits for the timer. The requester then sends
//! the first missing packet, learns from its acknowledgement the highest packet that arrived, resends
//! everything beyond that, and resends the holes before it one by one.
//!
//! Without recovery requester and responder are a traffic generator: every packet that arrives counts, nothing
//! is resent, and the highest PSN seen acknowledges everything before it, so that the window advances. The
//! owner must count the packets that arrived. A [`QueuePair`] without recovery is an unreliable connection.
//!
//! # Not modelled
//! End-to-end credits, path migration, atomics, immediate data. Requester and responder by themselves also
//! omit RNR NAKs and memory keys, and retain the work of a failed queue pair. A [`QueuePair`] has these: it
//! answers a SEND without a posted receive with an RNR NAK, checks length, address and key of every request,
//! fails on requests that the peer is not allowed to make, and flushes posted work. It has READ with
//! go-back-N, sends the responses in the order of the requests, acknowledges nothing before earlier responses
//! are sent, and has one memory region. An application that reads its data sees no difference.

mod config;
mod in_flight;
mod placement;
mod queue_pair;
mod requester;
mod responder;
mod selective;
mod verbs;

pub use config::{Config, ConfigError, Recovery};
pub use placement::Placement;
pub use queue_pair::{
    CnpLimiter, Completion, Counters, DecodeError, Handled, Origin, Outgoing, Placed, PostError, QueuePair,
    Reads, Received, Region, Settings, SettingsError, Source, Status, Target, UdpPath, WorkId,
};
pub use requester::{AckOutcome, Requester, TimeoutOutcome, Unsent};
pub use responder::{Arrival, Disposition, Reply, Responder};
pub use verbs::{
    ReadRange, ReadResponse, ReadResponses, ResponseOutcome, Verb, VerbRequester, VerbTransmit, read_range,
};
