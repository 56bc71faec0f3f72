//! Encodes the captured frames of TCP connections in full.
//!
//! Each connection starts at a random sequence number; timestamps are in microseconds. The receiving end
//! sends no payload: its sequence number is constant. Its window is in units of 128 bytes, as if this scale
//! had been negotiated in a handshake, which no capture contains.

use super::CapturedFrame;
use crate::record::{TcpFrame, TcpFrameKind};
use crate::setup::{Connection, Fabric, TCP_DESTINATION_PORT};
use spec::{CongestionKind, RunSpec, TcpSpec};
use transport::tcp::{Acknowledgement, sequence_number};
use units::{AttachmentId, Instant};
use wire::ethernet::{EtherType, MacAddress};
use wire::tcp::{Flags, Timestamps};
use wire::{ethernet, ipv4, tcp};

const TTL: u8 = 64;
/// Shift of the receive window (RFC 7323, 2).
const WINDOW_SHIFT: u32 = 7;
const PS_PER_US: u64 = 1_000_000;

/// Encodes the frames of connections.
pub(crate) struct TcpWriter<'a> {
    spec: &'a RunSpec,
    fabric: &'a Fabric,
    connections: &'a [Connection],
    /// Number of the first connection, after those of the queue pairs.
    first: u32,
}

impl<'a> TcpWriter<'a> {
    pub(crate) const fn new(
        spec: &'a RunSpec,
        fabric: &'a Fabric,
        connections: &'a [Connection],
        first: u32,
    ) -> Self {
        Self { spec, fabric, connections, first }
    }

    pub(crate) fn write_out(&self, frames: &[TcpFrame]) -> impl Iterator<Item = CapturedFrame> {
        frames.iter().map(|frame| self.frame(frame))
    }

    fn frame(&self, frame: &TcpFrame) -> CapturedFrame {
        let each = &self.connections[frame.connection as usize];
        let (from, to) = (each.src_attachment, each.dst_attachment);
        let (header, payload_bytes, (from, to)) = match frame.kind {
            TcpFrameKind::Data { offset, bytes } => {
                (self.data(each, frame.sent, offset), bytes as usize, (from, to))
            }
            TcpFrameKind::Ack { ack, echo } => (self.ack(each, frame.sent, &ack, echo), 0, (to, from)),
        };
        let mut bytes = self.bytes(header, payload_bytes, from, to, each);
        super::tag(&mut bytes, self.spec, self.traffic(each).priority);
        CapturedFrame {
            at: frame.sent,
            host: self.fabric.graph.attachment(from).host.0,
            queue_pair: self.first + frame.connection,
            bytes,
        }
    }

    fn traffic(&self, each: &Connection) -> &TcpSpec {
        &self.spec.tcp[each.tcp as usize]
    }

    fn data(&self, each: &Connection, sent: Instant, offset: u64) -> tcp::Repr {
        tcp::Repr {
            source_port: each.source_port,
            destination_port: TCP_DESTINATION_PORT,
            sequence: sequence_number(each.first_sequence, offset),
            acknowledgement: peer_sequence(each),
            flags: Flags::ACK.with(Flags::PSH),
            window: self.window(each),
            checksum: 0,
            timestamps: Timestamps { value: microseconds(sent), echo: 0 },
            sack: [None; tcp::SACK_BLOCKS_MAX],
        }
    }

    fn ack(&self, each: &Connection, sent: Instant, ack: &Acknowledgement, echo: Instant) -> tcp::Repr {
        let number = |offset| sequence_number(each.first_sequence, offset);
        let blocks = ack.sack.as_slice();
        let block = |index: usize| blocks.get(index).map(|block| (number(block.start), number(block.end)));
        let echoes = if ack.congestion_echo { Flags::ECE } else { Flags::default() };
        tcp::Repr {
            source_port: TCP_DESTINATION_PORT,
            destination_port: each.source_port,
            sequence: peer_sequence(each),
            acknowledgement: number(ack.offset),
            flags: Flags::ACK.with(echoes),
            window: self.window(each),
            checksum: 0,
            timestamps: Timestamps { value: microseconds(sent), echo: microseconds(echo) },
            sack: std::array::from_fn(block),
        }
    }

    fn window(&self, each: &Connection) -> u16 {
        (self.traffic(each).window_bytes >> WINDOW_SHIFT).min(u16::MAX.into()) as u16
    }

    fn bytes(
        &self,
        mut header: tcp::Repr,
        payload_bytes: usize,
        from: AttachmentId,
        to: AttachmentId,
        each: &Connection,
    ) -> Vec<u8> {
        let traffic = self.traffic(each);
        let is_ecn_capable = payload_bytes > 0 && traffic.congestion == CongestionKind::Dctcp;
        let (source, destination) = (self.fabric.graph.attachment(from), self.fabric.graph.attachment(to));
        let mut segment = vec![0; header.header_bytes() + payload_bytes];
        let legal = "every frame the transport makes is legal";
        header.emit(&mut segment).expect(legal);
        header.checksum = tcp::checksum(source.ip, destination.ip, &segment).expect(legal);
        header.emit(&mut segment).expect(legal);
        let ip = ipv4::Repr {
            source: source.ip,
            destination: destination.ip,
            protocol: tcp::PROTOCOL,
            dscp: traffic.dscp.and_then(ipv4::Dscp::new).unwrap_or_default(),
            ecn: if is_ecn_capable { ipv4::Ecn::Ect0 } else { ipv4::Ecn::NotEct },
            ttl: TTL,
            identification: 0,
            dont_fragment: true,
            payload_bytes: segment.len() as u16,
        };
        let link = ethernet::Repr {
            destination: MacAddress(source.next_mac(destination)),
            source: MacAddress(source.mac),
            ethertype: EtherType::IPV4,
        };
        let mut bytes = vec![0; ethernet::HEADER_BYTES + ipv4::HEADER_BYTES];
        link.emit(&mut bytes).expect(legal);
        ip.emit(&mut bytes[ethernet::HEADER_BYTES..]).expect(legal);
        bytes.extend(segment);
        bytes
    }
}

/// The constant sequence number of the receiving end; any value is valid.
const fn peer_sequence(each: &Connection) -> u32 {
    each.first_sequence ^ 0x5555_5555
}

const fn microseconds(at: Instant) -> u32 {
    (at.0 / PS_PER_US) as u32
}
