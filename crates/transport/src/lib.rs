//! Transports of a network adapter and their rate controls, as state machines without I/O and without a
//! clock. The simulator and the real endpoints use the same state machines.
//!
//! 1. `rc`, the RoCEv2 reliable connection. [`Config`]: parameters common to all queue pairs of a host.
//!    - [`Requester`]: work requests in, packets out ([`Requester::poll_transmit`]), ACKs and NAKs in.
//!    - [`Responder`]: packets in; for each one a verdict ([`Arrival`]) and possibly an answer ([`Reply`]).
//!    - [`VerbRequester`] and [`ReadResponses`]: SEND, WRITE and READ on one connection, for storage.
//!    - [`QueuePair`]: requester, responder and rate control in one object for drivers of real packets, with
//!      receives, memory keys, completions and congestion notifications. [`Outgoing`] and [`Received`]
//!      encode and decode its packets.
//! 2. `congestion`, the rate controls of the RDMA transports: a [`RateControl`] is fed by [`Feedback`] and
//!    answers with the send time of the next packet and the number of packets in flight.
//! 3. `uc`, the RoCEv2 unreliable connection: [`UcSender`] and [`UcReceiver`].
//! 4. [`tcp`], for background traffic that shares the fabric with RDMA, with congestion control of its own.

mod congestion;
mod packet;
mod rc;
mod segment;
pub mod tcp;
mod uc;

pub use congestion::*;
pub use packet::{NextPacket, Position, Transmit};
pub use rc::*;
pub use uc::{UcDisposition, UcReceiver, UcSender, UcTransmit};
