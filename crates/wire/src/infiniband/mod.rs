//! A complete InfiniBand packet within a subnet: local route header, base transport header, extension
//! headers, payload, ICRC, VCRC. IBTA vol. 1, 5.2.

use crate::bytes::{array, require};
use crate::frame::{payload, require_length, require_payload};
use crate::size::Framing;
use crate::{Error, Extension, Opcode, Result, bth, icrc, size};
use lrh::Route;

pub mod flow_control;
pub mod lrh;
pub mod vcrc;

const BTH_OFFSET: usize = lrh::HEADER_BYTES;
const EXTENSION_OFFSET: usize = BTH_OFFSET + bth::HEADER_BYTES;

/// A packet whose headers and payload match its operation code. Lengths, pad count and both CRCs are derived
/// from the rest and not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InfinibandPacket<'a> {
    /// Fields of the local route header.
    pub route: Route,
    bth: bth::Repr,
    extension: Extension,
    payload: &'a [u8],
}

impl<'a> InfinibandPacket<'a> {
    /// A packet of these parts. The pad count is computed; that of `bth` is ignored.
    ///
    /// # Errors
    /// [`Error::Opcode`] for RoCEv2's congestion notification, [`Error::Extension`] if the headers do not
    /// match the operation code, [`Error::Payload`] if it does not allow the length of the payload.
    pub fn new(route: Route, bth: bth::Repr, extension: Extension, payload: &'a [u8]) -> Result<Self> {
        if bth.opcode == Opcode::CongestionNotification {
            return Err(Error::Opcode(bth.opcode.code()));
        }
        let bth = bth::Repr { pad_count: bth::PadCount::of(payload.len()), ..bth };
        extension.require_opcode(bth.opcode)?;
        require_payload(bth.opcode, payload.len())?;
        Ok(Self { route, bth, extension, payload })
    }

    /// The base transport header.
    #[must_use]
    pub const fn bth(&self) -> &bth::Repr {
        &self.bth
    }

    /// The extension headers.
    #[must_use]
    pub const fn extension(&self) -> &Extension {
        &self.extension
    }

    /// The payload, without its padding.
    #[must_use]
    pub const fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The size of the packet, from the local route header to the VCRC.
    #[must_use]
    pub const fn packet_bytes(&self) -> usize {
        Framing::Infiniband.frame_bytes(self.bth.opcode, self.payload.len() as u32) as usize
    }

    /// Writes the packet to the start of `buffer` and returns its length.
    ///
    /// # Errors
    /// [`Error::Truncated`] if the buffer is shorter than the packet.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<usize> {
        let packet_bytes = self.packet_bytes();
        require(buffer, packet_bytes)?;
        let packet = &mut buffer[..packet_bytes];
        packet.fill(0);
        self.lrh().emit(packet)?;
        self.bth.emit(&mut packet[BTH_OFFSET..])?;
        self.extension.emit(&mut packet[EXTENSION_OFFSET..])?;
        let payload_offset = EXTENSION_OFFSET + size::extension_bytes(self.bth.opcode) as usize;
        packet[payload_offset..payload_offset + self.payload.len()].copy_from_slice(self.payload);
        let vcrc_offset = packet_bytes - vcrc::BYTES;
        let icrc_offset = vcrc_offset - icrc::BYTES;
        let icrc = icrc::of_local_packet(&packet[..icrc_offset])?;
        packet[icrc_offset..vcrc_offset].copy_from_slice(&icrc.to_le_bytes());
        let vcrc = vcrc::vcrc(&packet[..vcrc_offset]);
        packet[vcrc_offset..].copy_from_slice(&vcrc.to_le_bytes());
        Ok(packet_bytes)
    }

    /// Parses the packet in `bytes`, which end with its VCRC.
    ///
    /// # Errors
    /// The first error from the outermost header to the innermost; both CRCs are checked before the transport
    /// headers are read.
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        let lrh = lrh::Repr::parse(&lrh::Packet::new(bytes)?)?;
        let packet_bytes = usize::from(lrh.packet_bytes) + vcrc::BYTES;
        require(bytes, packet_bytes.max(EXTENSION_OFFSET + icrc::BYTES + vcrc::BYTES))?;
        require_length("packet", packet_bytes, bytes.len())?;
        let transport = check_crcs(bytes)?;
        let bth = bth::Repr::parse(&bth::Packet::new(transport)?)?;
        let body = &transport[bth::HEADER_BYTES..];
        let extension = Extension::parse(bth.opcode, body)?;
        let payload = payload(&bth, &body[size::extension_bytes(bth.opcode) as usize..])?;
        Self::new(lrh.route, bth, extension, payload)
    }

    const fn lrh(&self) -> lrh::Repr {
        lrh::Repr { route: self.route, packet_bytes: (self.packet_bytes() - vcrc::BYTES) as u16 }
    }
}

/// Checks both CRCs of a packet that is long enough for them, and returns the transport packet without them.
fn check_crcs(bytes: &[u8]) -> Result<&[u8]> {
    let (packet, stored) = bytes.split_at(bytes.len() - vcrc::BYTES);
    let (expected, stored) = (vcrc::vcrc(packet), u16::from_le_bytes(array(stored, 0)));
    if stored != expected {
        return Err(Error::BadVcrc { expected, stored });
    }
    let (packet, stored) = packet.split_at(packet.len() - icrc::BYTES);
    let (expected, stored) = (icrc::of_local_packet(packet)?, u32::from_le_bytes(array(stored, 0)));
    if stored != expected {
        return Err(Error::BadIcrc { expected, stored });
    }
    Ok(&packet[BTH_OFFSET..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bth::Qpn;
    use crate::{Psn, reth, testing};
    use proptest::prelude::*;

    /// The sample packet of IBTA vol. 1, 7.8.3 with the ICRC printed there, and the VCRC over both.
    const SAMPLE: &str = "7012375c000e17d2 0a20248700 87b1b3000dec2a 01710a1c015d4002 38f27a050000000e \
                          bb884d85fd5cfba4728bc0690ed40000 9625b75a 45fa";

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
        digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
    }

    #[test]
    fn the_sample_packet_of_the_standard_is_read_and_written_again() {
        let sample = bytes(SAMPLE);
        let packet = InfinibandPacket::parse(&sample).unwrap();
        assert_eq!(packet.bth().opcode, Opcode::WriteOnly);
        assert_eq!(packet.bth().destination_qp, Qpn::new(0x87_b1b3).unwrap());
        assert_eq!(packet.bth().psn, Psn::new(0x0d_ec2a));
        let reth =
            reth::Repr { virtual_address: 0x0171_0a1c_015d_4002, remote_key: 0x38f2_7a05, dma_bytes: 14 };
        assert_eq!((packet.extension(), packet.payload().len()), (&Extension::Reth(reth), 14));
        let mut again = vec![0xa5; packet.packet_bytes()];
        assert_eq!(packet.emit(&mut again), Ok(sample.len()));
        assert_eq!(again, sample);
    }

    #[test]
    fn a_flipped_bit_anywhere_is_found() {
        let sample = bytes(SAMPLE);
        for bit in 0..sample.len() * 8 {
            let mut changed = sample.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(InfinibandPacket::parse(&changed).is_err(), "bit {bit}");
        }
    }

    proptest! {
        #[test]
        fn parse_and_emit_are_each_others_inverse((route, bth, extension, payload) in testing::packet_parts()) {
            let packet = InfinibandPacket::new(route, bth, extension, &payload)?;
            let mut bytes = vec![0xa5; packet.packet_bytes()];
            let length = packet.emit(&mut bytes)?;
            prop_assert_eq!(length, bytes.len());
            prop_assert_eq!(InfinibandPacket::parse(&bytes), Ok(packet));
            for short in 0..length {
                let is_truncated =
                    matches!(InfinibandPacket::parse(&bytes[..short]), Err(Error::Truncated { .. }));
                prop_assert!(is_truncated, "{} of {} bytes", short, length);
                prop_assert!(packet.emit(&mut bytes.clone()[..short]).is_err());
            }
        }
    }
}
