//! RoCEv2 and InfiniBand headers and frames: byte views and representations.
//!
//! # The two types of each header
//! - A *view* (`Packet`, or `Frame` where it starts with Ethernet) wraps bytes and reads fields. It knows
//!   that the bytes are enough for the header and judges nothing else.
//! - A `Repr` holds only legal states. `parse` checks a view and makes the `Repr`; `emit` writes it into the
//!   caller's buffer. Both are total: whatever the bytes, there is a result or an [`Error`], never a panic.
//!
//! They are each other's inverse: `parse(emit(r)) == r`, and `emit(parse(b)) == b` for all bytes that parse.
//! Hence reserved fields that are not zero are errors here, although the standards let receivers ignore
//! them: a view reads such bytes, a `Repr` does not hide them. Nothing allocates.
//!
//! # From the outside to the inside
//! [`ethernet`] (header, FCS) - [`ipv4`] - [`udp`] - [`bth`] - [`extension`] ([`reth`], [`aeth`], immediate
//! data, the reserved bytes of [`cnp`]) - payload - [`icrc`]. A [`RoceFrame`] is all of them; a [`pfc`] frame
//! stands alone. An [`InfinibandPacket`] has an [`lrh`] in place of the first three and ends with a [`vcrc`];
//! its link is governed by [`flow_control`] packets. [`Opcode`] says which headers a packet has, [`size`] how
//! long its frame is, without building it, and [`Psn`] is the serial number that orders packets.
//!
//! # What is left out
//! - Ethernet: more than one VLAN tag, a drop-eligible one; 802.3 length frames, global pause (MAC control
//!   opcode 1). A [`vlan`] tag is put into a finished frame and taken out of it again.
//! - IP: IPv6 and the GRH (RoCEv1), IPv4 options and fragments. The ECN of a marked packet is the IPv4 field.
//! - UDP: a checksum. RoCEv2 sends 0; a datagram with another value is refused, not verified.
//! - TCP: SYN and its options, other options than timestamps and SACK, urgent data. [`tcp`] stands beside
//!   [`udp`].
//! - Transport services other than reliable connection; atomic operations, SEND with invalidate, XRC, memory
//!   placement extensions (FLUSH, ATOMIC WRITE).
//! - InfiniBand: the GRH, raw packets, the packets of subnet management.
//!
//! References: InfiniBand Architecture Specification volume 1 (IBTA vol. 1) with annex A17 (RoCEv2); IEEE
//! 802.3-2022; IEEE 802.1Q-2022; RFC 768, 791, 1071, 2018, 2474,
//! 3168, 7323, 9293.

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
