//! Encoding and decoding of the packets of a queue pair: headers, payload and padding.

use super::{DecodeError, Source};
use wire::bth::{self, PadCount};
use wire::{Error, Extension, Result, reth, size};

/// A packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Base transport header.
    pub bth: bth::Repr,
    /// Headers between the base transport header and the payload.
    pub extension: Extension,
    /// Source of the payload bytes; `None` for a reply.
    pub source: Option<Source>,
    /// It was sent before.
    pub is_retransmission: bool,
}

impl Outgoing {
    /// Bytes from the base transport header to the end of the padding; the ICRC follows, see
    /// [`crate::UdpPath`].
    #[must_use]
    pub const fn packet_bytes(&self) -> usize {
        let payload_bytes = self.payload_bytes();
        self.header_bytes() + payload_bytes + PadCount::of(payload_bytes).value() as usize
    }

    /// Writes only the headers to the start of `buffer` and returns their length. Payload and padding follow;
    /// the total length is [`Self::packet_bytes`].
    ///
    /// # Errors
    /// [`Error::Truncated`] if the buffer is shorter than the headers.
    pub fn encode_headers(&self, buffer: &mut [u8]) -> Result<usize> {
        bth::Repr { pad_count: PadCount::of(self.payload_bytes()), ..self.bth }.emit(buffer)?;
        self.extension.emit(&mut buffer[bth::HEADER_BYTES..])?;
        Ok(self.header_bytes())
    }

    /// Length of the headers [bytes].
    #[must_use]
    pub const fn header_bytes(&self) -> usize {
        bth::HEADER_BYTES + size::extension_bytes(self.bth.opcode) as usize
    }

    const fn payload_bytes(&self) -> usize {
        match self.source {
            Some(source) => source.bytes as usize,
            None => 0,
        }
    }

    /// Writes headers, `payload` and padding to the start of `buffer` and returns their length; see
    /// [`Self::packet_bytes`].
    ///
    /// # Errors
    /// [`Error::Length`] if the length of the payload differs from [`Self::source`], [`Error::Truncated`] if
    /// the buffer is shorter than the packet.
    pub fn encode(&self, payload: &[u8], buffer: &mut [u8]) -> Result<usize> {
        let (header_bytes, payload_bytes) = (self.header_bytes(), self.payload_bytes());
        let need = self.packet_bytes();
        if payload.len() != payload_bytes {
            let (min, max) = (payload_bytes, payload_bytes);
            return Err(Error::Length { field: "payload", min, max, found: payload.len() });
        }
        if buffer.len() < need {
            return Err(Error::Truncated { need, have: buffer.len() });
        }
        self.encode_headers(buffer)?;
        buffer[header_bytes..header_bytes + payload_bytes].copy_from_slice(payload);
        buffer[header_bytes + payload_bytes..need].fill(0);
        Ok(need)
    }
}

/// A packet that arrived, with valid headers; the request in it may still be illegal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received<'a> {
    bth: bth::Repr,
    extension: Extension,
    payload: &'a [u8],
    is_marked: bool,
}

impl<'a> Received<'a> {
    /// The packet in `bytes`, from the base transport header to the end of the padding; the ICRC was checked
    /// and removed before, see [`crate::UdpPath`].
    ///
    /// # Errors
    /// The bytes are not a transport packet. Lengths and keys are checked by the queue pair, which answers a
    /// violation.
    pub fn decode(bytes: &'a [u8]) -> std::result::Result<Self, DecodeError> {
        let bth = bth::Repr::parse(&bth::Packet::new(bytes)?)?;
        let body = &bytes[bth::HEADER_BYTES..];
        let extension = Extension::parse(bth.opcode, body)?;
        let padded = &body[size::extension_bytes(bth.opcode) as usize..];
        let pad = usize::from(bth.pad_count.value());
        match padded.len().checked_sub(pad) {
            Some(payload_bytes) if padded.len().is_multiple_of(4) => {
                Ok(Self { bth, extension, payload: &padded[..payload_bytes], is_marked: false })
            }
            _ => Err(DecodeError::Padding { found: padded.len(), pad }),
        }
    }

    /// The same packet with the mark "congestion experienced" of its IP header, set by a switch, or without
    /// it.
    #[must_use]
    pub const fn with_mark(self, is_marked: bool) -> Self {
        Self { is_marked, ..self }
    }

    /// Base transport header.
    #[must_use]
    pub const fn bth(&self) -> &bth::Repr {
        &self.bth
    }

    /// Headers between base transport header and payload.
    #[must_use]
    pub const fn extension(&self) -> &Extension {
        &self.extension
    }

    /// Target address of a WRITE.
    pub(super) const fn reth(&self) -> Option<&reth::Repr> {
        match &self.extension {
            Extension::Reth(reth) | Extension::RethWithImmediate(reth, _) => Some(reth),
            _ => None,
        }
    }

    /// Immediate data of its message.
    pub(super) const fn immediate(&self) -> Option<u32> {
        match &self.extension {
            Extension::Immediate(immediate) | Extension::RethWithImmediate(_, immediate) => {
                Some(u32::from_be_bytes(immediate.0))
            }
            _ => None,
        }
    }

    /// Payload, without the padding.
    #[must_use]
    pub const fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Whether a switch has marked it.
    #[must_use]
    pub const fn is_marked(&self) -> bool {
        self.is_marked
    }
}
