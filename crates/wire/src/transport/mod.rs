//! Headers and trailer of an InfiniBand transport packet, which RoCEv2 has in a UDP datagram: base transport
//! header, extension headers, invariant CRC. Also operation codes, packet sequence numbers, and congestion
//! notification packets.

pub mod aeth;
pub mod bth;
pub mod cnp;
pub mod extension;
pub mod icrc;
mod opcode;
mod psn;
pub mod reth;

pub use extension::Extension;
pub use opcode::Opcode;
pub use psn::Psn;
