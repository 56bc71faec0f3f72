//! TCP header with the options of an established connection: timestamps (RFC 7323) and SACK (RFC 2018), in
//! the layout of Linux (RFC 7323, appendix A); checksum.

use crate::bytes::{be16, be32, require, require_zero, view};
use crate::{Error, Result, size};
use std::net::Ipv4Addr;

/// Length of the header without options.
pub const HEADER_BYTES: usize = size::TCP_HEADER_BYTES as usize;
/// The longest header: its length field has 4 bits (RFC 9293, 3.1: data offset).
pub const HEADER_BYTES_MAX: usize = 60;
/// Maximum of SACK blocks that fit next to the timestamps.
pub const SACK_BLOCKS_MAX: usize = 3;
/// Protocol number of TCP.
pub const PROTOCOL: u8 = 6;

const TIMESTAMPS_BYTES: usize = size::TCP_TIMESTAMPS_BYTES as usize;
const NO_OPERATION: u8 = 1;
/// Kind and length of the options.
const TIMESTAMPS: [u8; 4] = [NO_OPERATION, NO_OPERATION, 8, 10];
const SACK_KIND: u8 = 5;
const SACK_BLOCK_BYTES: usize = 8;

view! {
    /// View of a segment, starting at its header.
    Packet, HEADER_BYTES, {
        /// Source port.
        source_port: u16 = |bytes| be16(bytes, 0);
        /// Destination port.
        destination_port: u16 = |bytes| be16(bytes, 2);
        /// Sequence number of the first byte of payload.
        sequence: u32 = |bytes| be32(bytes, 4);
        /// Acknowledgement number: the next byte expected.
        acknowledgement: u32 = |bytes| be32(bytes, 8);
        /// Length of the header with its options, from the data offset field.
        header_bytes: usize = |bytes| usize::from(bytes[12] >> 4) * 4;
        /// The reserved bits between length and flags.
        reserved: u8 = |bytes| bytes[12] & 0xf;
        /// The flags: CWR, ECE, URG, ACK, PSH, RST, SYN, FIN.
        flags: Flags = |bytes| Flags(bytes[13]);
        /// Receive window, not scaled.
        window: u16 = |bytes| be16(bytes, 14);
        /// Checksum as stored.
        checksum: u16 = |bytes| be16(bytes, 16);
        /// Urgent pointer.
        urgent: u16 = |bytes| be16(bytes, 18);
    }
}

/// The eight flags (RFC 9293, 3.1, and RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// Congestion window reduced.
    pub const CWR: Self = Self(0x80);
    /// Echo of "congestion experienced".
    pub const ECE: Self = Self(0x40);
    /// The acknowledgement number is valid.
    pub const ACK: Self = Self(0x10);
    /// Push.
    pub const PSH: Self = Self(0x08);

    /// Union of both sets of flags.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Timestamps option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// Clock of the sender.
    pub value: u32,
    /// The value being echoed.
    pub echo: u32,
}

/// A SACK block: sequence numbers of its first byte and of the one after its last.
pub type SackBlock = (u32, u32);

/// A TCP header with timestamps and optional SACK blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// Sequence number of the first byte of payload.
    pub sequence: u32,
    /// Acknowledgement number: the next byte expected.
    pub acknowledgement: u32,
    /// Flags.
    pub flags: Flags,
    /// Receive window, not scaled.
    pub window: u16,
    /// Checksum over pseudo-header, header and payload; [`checksum`] computes it.
    pub checksum: u16,
    /// Timestamps option.
    pub timestamps: Timestamps,
    /// SACK blocks, newest first; all entries after the first `None` are `None`.
    pub sack: [Option<SackBlock>; SACK_BLOCKS_MAX],
}

impl Repr {
    /// Parses the header of a segment. The checksum is not verified: it covers more than the header.
    ///
    /// # Errors
    /// [`Error::Truncated`] if the buffer ends before the header, [`Error::TcpOptions`] if there are other
    /// options or they have another layout, [`Error::Reserved`] if a reserved bit or the urgent pointer is
    /// used.
    pub fn parse<T: AsRef<[u8]>>(packet: &Packet<T>) -> Result<Self> {
        let (bytes, header_bytes) = (packet.bytes(), packet.header_bytes());
        let refused = Error::TcpOptions { header_bytes };
        require_zero("TCP reserved bits", packet.reserved().into())?;
        require_zero("TCP urgent pointer", packet.urgent().into())?;
        let sack_bytes = header_bytes.checked_sub(HEADER_BYTES + TIMESTAMPS_BYTES).ok_or(refused)?;
        require(bytes, header_bytes)?;
        let options = &bytes[HEADER_BYTES..header_bytes];
        if options[..4] != TIMESTAMPS {
            return Err(refused);
        }
        Ok(Self {
            source_port: packet.source_port(),
            destination_port: packet.destination_port(),
            sequence: packet.sequence(),
            acknowledgement: packet.acknowledgement(),
            flags: packet.flags(),
            window: packet.window(),
            checksum: packet.checksum(),
            timestamps: Timestamps { value: be32(options, 4), echo: be32(options, 8) },
            sack: parse_sack(&options[TIMESTAMPS_BYTES..], sack_bytes).ok_or(refused)?,
        })
    }

    /// Number of SACK blocks.
    #[must_use]
    pub fn sack_blocks(&self) -> usize {
        self.sack.iter().map_while(|block| *block).count()
    }

    /// Length of the header with its options.
    #[must_use]
    pub fn header_bytes(&self) -> usize {
        HEADER_BYTES + TIMESTAMPS_BYTES + size::tcp_sack_bytes(self.sack_blocks() as u32) as usize
    }

    /// Writes the header to the first [`header_bytes`](Self::header_bytes) of `buffer`.
    ///
    /// # Errors
    /// [`Error::Truncated`] if the buffer is shorter.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<()> {
        let header_bytes = self.header_bytes();
        require(buffer, header_bytes)?;
        let header = &mut buffer[..header_bytes];
        header[..2].copy_from_slice(&self.source_port.to_be_bytes());
        header[2..4].copy_from_slice(&self.destination_port.to_be_bytes());
        header[4..8].copy_from_slice(&self.sequence.to_be_bytes());
        header[8..12].copy_from_slice(&self.acknowledgement.to_be_bytes());
        header[12] = ((header_bytes / 4) << 4) as u8;
        header[13] = self.flags.0;
        header[14..16].copy_from_slice(&self.window.to_be_bytes());
        header[16..18].copy_from_slice(&self.checksum.to_be_bytes());
        header[18..20].fill(0);
        let options = &mut header[HEADER_BYTES..];
        options[..4].copy_from_slice(&TIMESTAMPS);
        options[4..8].copy_from_slice(&self.timestamps.value.to_be_bytes());
        options[8..12].copy_from_slice(&self.timestamps.echo.to_be_bytes());
        self.emit_sack(&mut options[TIMESTAMPS_BYTES..]);
        Ok(())
    }

    fn emit_sack(&self, option: &mut [u8]) {
        let Some((head, blocks)) = option.split_first_chunk_mut::<4>() else { return };
        *head = [NO_OPERATION, NO_OPERATION, SACK_KIND, (2 + SACK_BLOCK_BYTES * self.sack_blocks()) as u8];
        for (bytes, (start, end)) in
            blocks.chunks_exact_mut(SACK_BLOCK_BYTES).zip(self.sack.iter().map_while(|block| *block))
        {
            bytes[..4].copy_from_slice(&start.to_be_bytes());
            bytes[4..].copy_from_slice(&end.to_be_bytes());
        }
    }
}

/// The SACK blocks of an option of `bytes` including its padding; `None` if it has another layout.
fn parse_sack(option: &[u8], bytes: usize) -> Option<[Option<SackBlock>; SACK_BLOCKS_MAX]> {
    let mut sack = [None; SACK_BLOCKS_MAX];
    if bytes == 0 {
        return Some(sack);
    }
    let blocks = bytes.checked_sub(4)? / SACK_BLOCK_BYTES;
    let is_sack = option[..4] == [NO_OPERATION, NO_OPERATION, SACK_KIND, (bytes - 2) as u8];
    if !is_sack || !(1..=SACK_BLOCKS_MAX).contains(&blocks) || 4 + blocks * SACK_BLOCK_BYTES != bytes {
        return None;
    }
    for (slot, block) in sack.iter_mut().zip(option[4..].chunks_exact(SACK_BLOCK_BYTES)) {
        *slot = Some((be32(block, 0), be32(block, 4)));
    }
    Some(sack)
}

/// The checksum of `segment`, header and payload, independent of its checksum field (RFC 9293, 3.1).
///
/// # Errors
/// [`Error::Truncated`] if the header is incomplete, [`Error::Length`] if the segment does not fit into a
/// datagram.
pub fn checksum(source: Ipv4Addr, destination: Ipv4Addr, segment: &[u8]) -> Result<u16> {
    require(segment, HEADER_BYTES)?;
    let max = crate::ipv4::PAYLOAD_BYTES_MAX;
    if segment.len() > max {
        return Err(Error::Length { field: "TCP segment", min: HEADER_BYTES, max, found: segment.len() });
    }
    let pseudo = [
        source.octets(),
        destination.octets(),
        [0, PROTOCOL, (segment.len() >> 8) as u8, segment.len() as u8],
    ];
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
    let words = pseudo.as_flattened().chunks(2).chain(segment[..16].chunks(2)).chain(segment[18..].chunks(2));
    let mut sum: u32 = words.map(word).sum();
    // Fewer than 2^15 words sum to less than 2^32: folding twice adds all carries.
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    Ok(!(sum as u16))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use proptest::prelude::*;

    fn parse(header: &[u8]) -> Result<Repr> {
        Repr::parse(&Packet::new(header)?)
    }

    #[test]
    fn other_options_are_refused() {
        let mut bytes = [0; 60];
        for header_bytes in [20, 24, 32, 36, 40, 44, 60] {
            bytes[12] = ((header_bytes / 4) << 4) as u8;
            assert_eq!(parse(&bytes), Err(Error::TcpOptions { header_bytes }));
        }
    }

    #[test]
    fn a_known_segment_has_its_checksum() {
        // RFC 1071's sum by hand: 10.0.0.1 to 10.0.0.2, protocol 6, 21 bytes, ports 1 and 2, one byte 0xff of
        // payload.
        let mut segment = [0; 21];
        (segment[1], segment[3], segment[12], segment[20]) = (1, 2, 0x50, 0xff);
        let sum: u32 = 0x0a00 + 0x0001 + 0x0a00 + 0x0002 + 0x0006 + 21 + 1 + 2 + 0x5000 + 0xff00;
        let folded = (sum & 0xffff) + (sum >> 16);
        let found = checksum(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2), &segment);
        assert_eq!(found, Ok(!(folded as u16)));
    }

    proptest! {
        #[test]
        fn parse_is_the_inverse_of_emit(repr in testing::tcp()) {
            let mut bytes = [0xee; HEADER_BYTES_MAX];
            repr.emit(&mut bytes)?;
            prop_assert_eq!(parse(&bytes)?, repr);
        }

        #[test]
        fn emit_is_the_inverse_of_parse(repr in testing::tcp(), at in 0..HEADER_BYTES_MAX, value: u8) {
            let mut bytes = [0; HEADER_BYTES_MAX];
            repr.emit(&mut bytes)?;
            bytes[at] = value;
            if let Ok(repr) = parse(&bytes) {
                let mut again = [0; HEADER_BYTES_MAX];
                repr.emit(&mut again)?;
                let length = repr.header_bytes();
                prop_assert_eq!(&again[..length], &bytes[..length]);
            }
        }

        #[test]
        fn short_buffers_are_errors(repr in testing::tcp(), part in 0_usize..1000) {
            let need = repr.header_bytes();
            let have = part * need / 1000;
            let mut bytes = [0; HEADER_BYTES_MAX];
            prop_assert_eq!(repr.emit(&mut bytes[..have]), Err(Error::Truncated { need, have }));
            repr.emit(&mut bytes)?;
            let is_truncated = matches!(parse(&bytes[..have]), Err(Error::Truncated { .. }));
            prop_assert!(is_truncated);
        }

        #[test]
        fn a_segment_with_its_checksum_sums_to_all_ones(
            repr in testing::tcp(),
            payload in prop::collection::vec(any::<u8>(), 0..200),
            addresses: [u32; 2],
        ) {
            let [source, destination] = addresses.map(Ipv4Addr::from);
            let mut segment = vec![0; repr.header_bytes()];
            repr.emit(&mut segment)?;
            segment.extend(payload);
            let checksum = checksum(source, destination, &segment)?;
            segment[16..18].copy_from_slice(&checksum.to_be_bytes());
            let length = (segment.len() as u32).to_be_bytes();
            let mut all = [&source.octets()[..], &destination.octets(), &[0, PROTOCOL], &length[2..], &segment].concat();
            all.resize(all.len().next_multiple_of(2), 0);
            let sum: u64 = all.chunks(2).map(|pair| u64::from(be16(pair, 0))).sum();
            prop_assert_eq!(sum % 0xffff, 0);
        }
    }
}
