//! Packets that leave together.

use crate::socket::{CALL_BYTES_MAX, SEGMENTS_MAX, Socket};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use transport::{Outgoing, UdpPath};
use wire::icrc;

/// Packets to one address that are sent in one call: all as long as the first, but the last may be shorter.
pub(crate) struct Outbox {
    buffer: Vec<u8>,
    filled: usize,
    /// Length of the first; 0 where there is none.
    segment_bytes: usize,
    segments: usize,
    to: SocketAddrV4,
}

impl Default for Outbox {
    fn default() -> Self {
        Self {
            buffer: vec![0; CALL_BYTES_MAX],
            filled: 0,
            segment_bytes: 0,
            segments: 0,
            to: SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0),
        }
    }
}

impl Outbox {
    /// Adds a packet; sends first those that it cannot leave with.
    pub(crate) fn push(
        &mut self,
        socket: &mut Socket,
        to: SocketAddrV4,
        packet: &Outgoing,
        payload: &[u8],
    ) -> io::Result<()> {
        let bytes = packet.packet_bytes() + icrc::BYTES;
        if !socket.cuts() || !self.takes(bytes, to) {
            self.flush(socket)?;
            (self.to, self.segment_bytes) = (to, bytes);
        }
        let path = UdpPath { source: socket.local(), destination: to };
        let free = &mut self.buffer[self.filled..];
        // The kernel numbers the datagrams of a call from 0.
        let sealed = packet
            .encode(payload, free)
            .and_then(|packet_bytes| path.seal(self.segments as u16, free, packet_bytes));
        self.filled += sealed.map_err(io::Error::other)?;
        self.segments += 1;
        Ok(())
    }

    /// A packet can leave with the others.
    fn takes(&self, bytes: usize, to: SocketAddrV4) -> bool {
        let is_last_full = self.filled == self.segments * self.segment_bytes;
        self.to == to
            && is_last_full
            && bytes <= self.segment_bytes
            && self.segments < SEGMENTS_MAX
            && self.filled + bytes <= self.buffer.len()
    }

    /// Sends what there is.
    pub(crate) fn flush(&mut self, socket: &mut Socket) -> io::Result<()> {
        let (filled, segment_bytes) = (self.filled, self.segment_bytes);
        (self.filled, self.segments, self.segment_bytes) = (0, 0, 0);
        if filled > 0 { socket.send(&self.buffer[..filled], segment_bytes, self.to) } else { Ok(()) }
    }
}
