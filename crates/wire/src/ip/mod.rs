//! Headers above Ethernet: IPv4, and UDP or TCP.

pub mod ipv4;
pub mod tcp;
pub mod udp;
