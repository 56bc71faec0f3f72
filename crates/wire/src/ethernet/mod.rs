//! Ethernet II: MAC addresses, header and frame check sequence. Modules: VLAN tags, priority flow control.

use crate::bytes::{array, be16, put, require, view};
use crate::{Error, Result, size};
use std::fmt;

pub mod pfc;
pub mod vlan;

/// Length of the header.
pub const HEADER_BYTES: usize = size::ETHERNET_HEADER_BYTES as usize;
/// Length of the frame check sequence.
pub const FCS_BYTES: usize = size::FCS_BYTES as usize;
/// The shortest frame, without the frame check sequence.
pub const MIN_FRAME_BYTES: usize = size::MIN_FRAME_BYTES as usize - FCS_BYTES;

/// A MAC address, in the order of its bytes on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddress(pub [u8; 6]);

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// The protocol of an Ethernet II frame's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EtherType(u16);

impl EtherType {
    /// IPv4.
    pub const IPV4: Self = Self(0x0800);
    /// MAC control: pause and priority flow control. IEEE 802.3-2022, 31.4.1.3.
    pub const MAC_CONTROL: Self = Self(0x8808);

    /// The EtherType `value`.
    ///
    /// # Errors
    /// [`Error::EtherType`] below 1536, where the field is a length (IEEE 802.3-2022, 3.2.6).
    pub const fn new(value: u16) -> Result<Self> {
        if value < 0x0600 { Err(Error::EtherType(value)) } else { Ok(Self(value)) }
    }

    /// The value on the wire.
    #[must_use]
    pub const fn value(self) -> u16 {
        self.0
    }
}

view! {
    /// View of a frame, starting at its destination address.
    Frame, HEADER_BYTES, {
        /// Destination address.
        destination: MacAddress = |bytes| MacAddress(array(bytes, 0));
        /// Source address.
        source: MacAddress = |bytes| MacAddress(array(bytes, 6));
        /// EtherType or length.
        ethertype: u16 = |bytes| be16(bytes, 12);
        /// Everything after the header.
        payload: &[u8] = |bytes| &bytes[HEADER_BYTES..];
    }
}

/// An Ethernet II header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Destination address.
    pub destination: MacAddress,
    /// Source address.
    pub source: MacAddress,
    /// Protocol of the payload.
    pub ethertype: EtherType,
}

impl Repr {
    /// Parses the header of a frame.
    ///
    /// # Errors
    /// [`Error::EtherType`] if the frame is not Ethernet II.
    pub fn parse<T: AsRef<[u8]>>(frame: &Frame<T>) -> Result<Self> {
        Ok(Self {
            destination: frame.destination(),
            source: frame.source(),
            ethertype: EtherType::new(frame.ethertype())?,
        })
    }

    /// Writes the header to the first [`HEADER_BYTES`] of `buffer`.
    ///
    /// # Errors
    /// [`Error::Truncated`] if the buffer is shorter.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<()> {
        put(buffer, [&self.destination.0, &self.source.0, &self.ethertype.0.to_be_bytes()])
    }
}

/// The frame check sequence of `frame`, from destination address to the end of pad: CRC-32.
/// IEEE 802.3-2022, 3.2.9.
#[must_use]
pub fn fcs(frame: &[u8]) -> u32 {
    crc32fast::hash(frame)
}

/// Appends the frame check sequence of the first `frame_bytes` of `buffer`.
///
/// # Errors
/// [`Error::Truncated`] if the buffer has no room for it.
pub fn emit_fcs(buffer: &mut [u8], frame_bytes: usize) -> Result<()> {
    require(buffer, frame_bytes.saturating_add(FCS_BYTES))?;
    let (frame, rest) = buffer.split_at_mut(frame_bytes);
    // The highest power is sent first, and bytes are sent lowest bit first: least significant byte first.
    put(rest, [&fcs(frame).to_le_bytes()])
}

/// Checks the frame check sequence at the end of `bytes`, and returns the frame before it.
///
/// # Errors
/// [`Error::Truncated`] if there is no frame, [`Error::BadFcs`] if the sequence does not match it.
pub fn check_fcs(bytes: &[u8]) -> Result<&[u8]> {
    require(bytes, HEADER_BYTES + FCS_BYTES)?;
    let (frame, stored) = bytes.split_at(bytes.len() - FCS_BYTES);
    let (expected, stored) = (fcs(frame), u32::from_le_bytes(array(stored, 0)));
    if stored == expected { Ok(frame) } else { Err(Error::BadFcs { expected, stored }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use proptest::prelude::*;

    #[test]
    fn the_check_value_of_crc32_and_its_order_in_the_frame() {
        assert_eq!(fcs(b"123456789"), 0xcbf4_3926);
        let mut frame = *b"123456789-123456789....";
        emit_fcs(&mut frame, 19).unwrap();
        assert_eq!(check_fcs(&frame).unwrap(), b"123456789-123456789");
    }

    #[test]
    fn any_changed_bit_of_the_frame_or_the_sequence_is_noticed() {
        let mut frame = [0x5a_u8; 24];
        emit_fcs(&mut frame, 20).unwrap();
        for bit in 0..frame.len() * 8 {
            let mut changed = frame;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(check_fcs(&changed), Err(Error::BadFcs { .. })));
        }
    }

    #[test]
    fn no_room_for_the_sequence_is_an_error() {
        assert_eq!(emit_fcs(&mut [0; 20], 17), Err(Error::Truncated { need: 21, have: 20 }));
        assert!(emit_fcs(&mut [0; 20], usize::MAX).is_err());
        assert_eq!(check_fcs(&[0; 17]), Err(Error::Truncated { need: 18, have: 17 }));
    }

    #[test]
    fn a_length_is_not_an_ethertype() {
        assert_eq!(EtherType::new(1500), Err(Error::EtherType(1500)));
        assert_eq!(EtherType::new(0x0600).map(EtherType::value), Ok(0x0600));
    }

    proptest! {
        #[test]
        fn parse_is_the_inverse_of_emit(repr in testing::ethernet()) {
            let mut bytes = [0xee; HEADER_BYTES];
            repr.emit(&mut bytes)?;
            prop_assert_eq!(Repr::parse(&Frame::new(bytes)?)?, repr);
        }

        #[test]
        fn emit_is_the_inverse_of_parse(bytes: [u8; HEADER_BYTES]) {
            if let Ok(repr) = Repr::parse(&Frame::new(bytes)?) {
                let mut again = [0; HEADER_BYTES];
                repr.emit(&mut again)?;
                prop_assert_eq!(again, bytes);
            }
        }
    }

    #[test]
    fn a_short_buffer_is_an_error_and_stays_untouched() {
        let repr =
            Repr { destination: MacAddress([1; 6]), source: MacAddress([2; 6]), ethertype: EtherType::IPV4 };
        for have in 0..HEADER_BYTES {
            let mut bytes = vec![0; have];
            assert_eq!(repr.emit(&mut bytes), Err(Error::Truncated { need: HEADER_BYTES, have }));
            assert_eq!(bytes, vec![0; have]);
            assert!(Frame::new(bytes).is_err());
        }
    }
}
