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
//! - `ethernet`: header and FCS of a frame, [VLAN tag](ethernet::vlan), [PFC frame](ethernet::pfc);
//! - `ip`: [`ipv4`], [`udp`], [`tcp`];
//! - `transport`: [`bth`], [`extension`] headers ([`reth`], [`aeth`], immediate data, the reserved bytes of
//!   [`cnp`]) and, after the payload, the [`icrc`]; [`Opcode`] determines the headers of a packet, [`Psn`] is
//!   the serial number that orders packets;
//! - `infiniband`: an [`InfinibandPacket`] has a [local route header](infiniband::lrh) instead of Ethernet,
//!   IPv4 and UDP and ends with a [variant CRC](infiniband::vcrc); [flow control
//!   packets](infiniband::flow_control) grant credits on its link;
//! - `frame`: a [`RoceFrame`] has Ethernet, IPv4, UDP and transport headers, payload and ICRC;
//! - `size`: length of a frame, without building it.
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
pub mod ethernet;
pub mod frame;
pub mod infiniband;
mod ip;
pub mod size;
#[cfg(test)]
mod testing;
mod transport;

pub use error::{Error, Result};
pub use frame::RoceFrame;
pub use infiniband::InfinibandPacket;
pub use ip::{ipv4, tcp, udp};
pub use size::{Framing, RoceMtu};
pub use transport::{Extension, Opcode, Psn, aeth, bth, cnp, extension, icrc, reth};
