//! Endpoint and queue pair settings for tests with other RoCE implementations, such as Linux soft-RoCE, and
//! the connection data that both ends exchange.

use endpoint::{Clock, Endpoint, Loss, Options};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use transport::{Config, Controller, Reads, Recovery, Region, Settings};
use units::{Seed, Span};
use wire::Psn;
use wire::aeth::RnrTimer;
use wire::bth::Qpn;

/// UDP destination port of RoCEv2 (IBTA annex A17).
const UDP_PORT: u16 = 4791;
/// Maximum message size; those of the tests are shorter.
const MESSAGE_BYTES: u64 = 8 << 20;

/// Connection data of one end, sent to the other.
#[derive(Clone, Copy)]
pub(crate) struct End {
    pub(crate) number: u32,
    pub(crate) first_psn: u32,
    pub(crate) remote_key: u32,
    pub(crate) address: u64,
}

/// An endpoint at the port of RoCEv2.
pub(crate) fn bind(address: Ipv4Addr) -> io::Result<Endpoint> {
    let options = Options { in_flight_packets_max: WINDOW_PACKETS, ..Options::default() };
    let none = Loss::new(0, Seed(0), 0);
    Endpoint::bind_with(SocketAddrV4::new(address, UDP_PORT), Clock::start(), none, options)
}

/// Socket address of a peer.
pub(crate) const fn at(address: Ipv4Addr) -> SocketAddrV4 {
    SocketAddrV4::new(address, UDP_PORT)
}

/// Maximum packets in flight of soft-RoCE (`RXE_MAX_UNACKED_PSNS`).
const WINDOW_PACKETS: u32 = 128;

/// Settings of a queue pair of this end with `memory_bytes` of memory.
pub(crate) fn settings(mtu_bytes: u32, own: End, peer: End, memory_bytes: usize) -> Settings {
    let number = |end: End| Qpn::new(end.number).unwrap_or_default();
    let (bytes, remote_key) = (memory_bytes as u64, own.remote_key);
    Settings {
        config: Config {
            mtu_bytes,
            message_bytes: MESSAGE_BYTES,
            ack_every: 16,
            window_packets: WINDOW_PACKETS,
            timeout: Span::from_us(100_000),
            // A virtual machine without hardware support may pause for seconds.
            retry_count: 300,
            recovery: Recovery::GoBackN,
        },
        number: number(own),
        peer: number(peer),
        first_psn: Psn::new(own.first_psn),
        peer_first_psn: Psn::new(peer.first_psn),
        rate: Controller::LINE_RATE,
        cnp_interval: None,
        reads: Reads { requested_max: 4, served_max: 8 },
        memory: Some(Region { address: own.address, bytes, remote_key }),
        peer_remote_key: peer.remote_key,
        rnr_timer: RnrTimer::default(),
        rnr_retry_count: 1_000,
    }
}
