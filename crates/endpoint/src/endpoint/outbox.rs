//! Batch of packets for one send call (GSO): collects headers, ICRCs and references to payload in memory, and
//! sends the batch when it is full, or before a packet of another size, destination or traffic class.

use super::pair::Pair;
use crate::options::TrafficClass;
use crate::socket::{CALL_BYTES_MAX, SEGMENTS_MAX, Socket};
use std::io::{self, IoSlice};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::ops::Range;
use transport::{Outgoing, UdpPath};
use wire::icrc;

/// Payload up to this size is copied behind its headers; longer payload is sent from the memory itself.
const COPIED_BYTES_MAX: usize = 256;
/// Header, payload and trailer of each packet, where a trailer and the next header form one slice.
const SLICES_MAX: usize = 2 * SEGMENTS_MAX + 1;
const PADDING: [u8; 3] = [0; 3];

/// Socket, destination and traffic class, which packets of one call have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    /// Index of the socket.
    pub(crate) port: usize,
    pub(crate) to: SocketAddrV4,
    pub(crate) class: TrafficClass,
}

/// Payload sent directly from the memory of a queue pair.
struct Gather {
    /// Offset in the outbox before which it is inserted.
    at: usize,
    /// Index of the queue pair.
    pair: usize,
    part: Range<usize>,
}

/// Packets of one [`Route`] that are sent in one call. All have the size of the first; only the last may be
/// shorter.
pub(crate) struct Outbox {
    /// Headers, short payloads, padding and ICRCs.
    bytes: Vec<u8>,
    gathers: Vec<Gather>,
    /// Total size of all packets.
    filled: usize,
    /// Size of the first; 0 if empty.
    segment_bytes: usize,
    segments: usize,
    segments_max: usize,
    route: Route,
}

impl Outbox {
    /// An empty outbox that sends at most `packets_max` packets per call.
    pub(crate) fn new(packets_max: u16) -> Self {
        let to = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);
        Self {
            bytes: Vec::with_capacity(CALL_BYTES_MAX),
            gathers: Vec::with_capacity(SEGMENTS_MAX),
            filled: 0,
            segment_bytes: 0,
            segments: 0,
            segments_max: usize::from(packets_max).clamp(1, SEGMENTS_MAX),
            route: Route { port: 0, to, class: TrafficClass::default() },
        }
    }

    /// Adds a packet of the queue pair with that index; first flushes packets that it cannot be sent with.
    pub(crate) fn push(
        &mut self,
        sockets: &mut [Socket],
        pairs: &[Pair],
        pair: usize,
        route: Route,
        packet: &Outgoing,
    ) -> io::Result<()> {
        let bytes = packet.packet_bytes() + icrc::BYTES;
        if !sockets[route.port].can_segment() || !self.fits(bytes, route) {
            self.flush(sockets, pairs)?;
            (self.route, self.segment_bytes) = (route, bytes);
        }
        let path = UdpPath { source: sockets[route.port].local(), destination: route.to };
        self.append(&path, pairs, pair, packet).map_err(io::Error::other)?;
        self.filled += bytes;
        self.segments += 1;
        Ok(())
    }

    fn append(&mut self, path: &UdpPath, pairs: &[Pair], pair: usize, packet: &Outgoing) -> wire::Result<()> {
        let start = self.bytes.len();
        self.bytes.resize(start + packet.header_bytes(), 0);
        packet.encode_headers(&mut self.bytes[start..])?;
        let part = pairs[pair].payload(packet);
        let memory = pairs[pair].memory().bytes();
        let padding = &PADDING[..packet.packet_bytes() - packet.header_bytes() - part.len()];
        // The kernel numbers the datagrams of a call from 0 (IPv4 identification).
        let parts = [&self.bytes[start..], &memory[part.clone()], padding];
        let icrc = path.icrc(self.segments as u16, parts)?;
        if part.len() <= COPIED_BYTES_MAX {
            self.bytes.extend_from_slice(&memory[part]);
        } else {
            self.gathers.push(Gather { at: self.bytes.len(), pair, part });
        }
        self.bytes.extend_from_slice(padding);
        // IBTA vol. 1, 7.8.1: least significant byte first.
        self.bytes.extend_from_slice(&icrc.to_le_bytes());
        Ok(())
    }

    /// Whether a packet of this size can be added to the call.
    fn fits(&self, bytes: usize, route: Route) -> bool {
        let is_last_full = self.filled == self.segments * self.segment_bytes;
        self.route == route
            && is_last_full
            && bytes <= self.segment_bytes
            && self.segments < self.segments_max
            && self.filled + bytes <= CALL_BYTES_MAX
    }

    /// Sends all queued packets.
    pub(crate) fn flush(&mut self, sockets: &mut [Socket], pairs: &[Pair]) -> io::Result<()> {
        if self.segments == 0 {
            return Ok(());
        }
        let mut slices = [IoSlice::new(&[]); SLICES_MAX];
        let (mut count, mut sent) = (0, 0);
        for Gather { at, pair, part } in &self.gathers {
            slices[count] = IoSlice::new(&self.bytes[sent..*at]);
            slices[count + 1] = IoSlice::new(&pairs[*pair].memory().bytes()[part.clone()]);
            (count, sent) = (count + 2, *at);
        }
        slices[count] = IoSlice::new(&self.bytes[sent..]);
        let segment_bytes = (self.segments > 1).then_some(self.segment_bytes as u16);
        let result = sockets[self.route.port].send(&slices[..=count], segment_bytes, &self.route);
        self.bytes.clear();
        self.gathers.clear();
        (self.filled, self.segments, self.segment_bytes) = (0, 0, 0);
        result
    }
}
