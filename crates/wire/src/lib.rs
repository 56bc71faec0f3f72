//! RoCEv2 and InfiniBand headers and frames: byte views and representations.
//!
//! # Two types per header
//! - A *view* (`Packet`, or `Frame` if it starts with Ethernet) wraps bytes and reads fields. It guarantees
//!   only that the bytes are enough for the header; it does not validate them.
//! - A `Repr` can represent only legal states. `parse` validates a view and returns the `Repr`; `emit` writes
//!   it into the caller's buffer. Both are total: for any bytes they return a result or an [`Error`], and
//!   never panic.
//!
//! They are inverse to each other: `parse(emit(r)) == r`, and `emit(parse(b)) == b` for all bytes that parse.
//! Hence reserved fields that are not zero are errors here, although the standards let receivers ignore them:
//! a view reads such bytes, a `Repr` rejects them. Nothing allocates.
//!
//! # Modules, from the outermost header to the innermost
//! [`ethernet`] (header, FCS) - [`ipv4`] - [`udp`] - [`bth`] - [`extension`] ([`reth`], [`aeth`], immediate
//! data, the reserved bytes of [`cnp`]) - payload - [`icrc`]. A [`RoceFrame`] has all of them; a [`pfc`]
//! frame is separate. An [`InfinibandPacket`] has an [`lrh`] instead of the first three and ends with a
//! [`vcrc`]; its link is controlled by [`flow_control`] packets. [`Opcode`] determines the headers of a
//! packet, [`size`] computes the length of its frame without building it, and [`Psn`] is the serial number
//! that orders packets.
//!
//! # Not supported
//! - Ethernet: more than one VLAN tag, a drop-eligible one; 802.3 length frames, global pause (MAC control
//!   opcode 1). A [`vlan`] tag is inserted into a finished frame and removed from it again.
//! - IP: IPv6 and the GRH (RoCEv1), IPv4 options and fragments. The ECN of a marked packet is the IPv4 field.
//! - UDP: a checksum. RoCEv2 sends 0; a datagram with another value is rejected, not verified.
//! - TCP: SYN and its options, options other than timestamps and SACK, urgent data. [`tcp`] replaces [`udp`]
//!   and all headers after it.
//! - Transport services other than reliable connection; atomic operations, SEND with invalidate, XRC, memory
//!   placement extensions (FLUSH, ATOMIC WRITE).
//! - InfiniBand: the GRH, raw packets, subnet management packets.
//!
//! References: InfiniBand Architecture Specification volume 1 (IBTA vol. 1) with annex A17 (RoCEv2); IEEE
//! 802.3-2022; IEEE 802.1Q-2022; RFC 768, 791, 1071, 2018, 2474, 3168, 7323, 9293.

mod bytes;
mod error;

pub mod aeth;
pub mod bth;
pub mod cnp;
pub mod ethernet;
pub mod extension;
pub mod flow_control;
pub mod frame;
pub mod icrc;
pub mod infiniband;
pub mod ipv4;
pub mod lrh;
pub mod opcode;
pub mod pfc;
pub mod psn;
pub mod reth;
pub mod size;
pub mod tcp;
pub mod udp;
pub mod vcrc;
pub mod vlan;

#[cfg(test)]
mod strategy;

pub use error::{Error, Result};
pub use extension::Extension;
pub use frame::RoceFrame;
pub use infiniband::InfinibandPacket;
pub use opcode::Opcode;
pub use psn::Psn;
pub use size::{Framing, RoceMtu};
