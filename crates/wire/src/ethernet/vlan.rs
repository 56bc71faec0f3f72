//! VLAN tag of an Ethernet frame (IEEE 802.1Q-2022, 9.3 to 9.6): TPID 0x8100, priority, VLAN identifier.
//!
//! The tag is 4 bytes at [`OFFSET`], between the source address and the EtherType of an untagged frame. The
//! FCS covers it, the ICRC does not.

use crate::bytes::{be16, put, require};
use crate::{Error, Result};

/// Length of the tag.
pub const TAG_BYTES: usize = crate::size::VLAN_TAG_BYTES as usize;
/// Offset of the tag in a frame: after both addresses.
pub const OFFSET: usize = 12;
/// Tag protocol identifier of a C-VLAN tag. IEEE 802.1Q-2022, table 9-1.
pub const TPID: u16 = 0x8100;
/// Valid VLAN identifiers: 0 is a priority tag, 4095 is reserved. 802.1Q-2022, table 9-2.
pub const ID_RANGE: std::ops::RangeInclusive<u16> = 1..=4094;

/// A tag that is not drop-eligible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    priority: u8,
    id: u16,
}

impl Tag {
    /// The tag of a priority code point (0 to 7) and a VLAN identifier ([`ID_RANGE`]).
    ///
    /// # Errors
    /// [`Error::VlanTag`] if one of them is out of range.
    pub fn new(priority: u8, id: u16) -> Result<Self> {
        if priority <= 7 && ID_RANGE.contains(&id) {
            Ok(Self { priority, id })
        } else {
            Err(Error::VlanTag { tpid: TPID, control: u16::from(priority) << 13 | id })
        }
    }

    /// Priority code point.
    #[must_use]
    pub const fn priority(self) -> u8 {
        self.priority
    }

    /// VLAN identifier.
    #[must_use]
    pub const fn id(self) -> u16 {
        self.id
    }

    /// Parses the tag in the first [`TAG_BYTES`] of `bytes`.
    ///
    /// # Errors
    /// [`Error::Truncated`] if there are fewer, [`Error::VlanTag`] if the TPID differs, the identifier is
    /// reserved or the frame is drop-eligible.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        require(bytes, TAG_BYTES)?;
        let (tpid, control) = (be16(bytes, 0), be16(bytes, 2));
        let (priority, is_drop_eligible, id) =
            ((control >> 13) as u8, control >> 12 & 1 == 1, control & 0xfff);
        if tpid != TPID || is_drop_eligible || !ID_RANGE.contains(&id) {
            return Err(Error::VlanTag { tpid, control });
        }
        Ok(Self { priority, id })
    }

    /// Writes the tag to the first [`TAG_BYTES`] of `buffer`.
    ///
    /// # Errors
    /// [`Error::Truncated`] if the buffer is shorter.
    pub fn emit(self, buffer: &mut [u8]) -> Result<()> {
        let control = u16::from(self.priority) << 13 | self.id;
        put(buffer, [&TPID.to_be_bytes(), &control.to_be_bytes()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_tag_of_priority_3_and_vlan_100_has_the_bytes_of_the_standard() {
        let mut bytes = [0; TAG_BYTES];
        Tag::new(3, 100).unwrap().emit(&mut bytes).unwrap();
        assert_eq!(bytes, [0x81, 0x00, 0x60, 0x64]);
    }

    #[test]
    fn reserved_identifiers_are_refused() {
        for (priority, id) in [(0, 0), (0, 4095), (8, 1)] {
            assert!(matches!(Tag::new(priority, id), Err(Error::VlanTag { .. })));
        }
    }

    proptest! {
        #[test]
        fn parse_and_emit_are_inverse(priority in 0_u8..=7, id in ID_RANGE) {
            let (tag, mut bytes) = (Tag::new(priority, id).unwrap(), [0; TAG_BYTES]);
            tag.emit(&mut bytes).unwrap();
            prop_assert_eq!(Tag::parse(&bytes), Ok(tag));
        }

        #[test]
        fn emit_and_parse_are_inverse(bytes in prop::array::uniform4(any::<u8>())) {
            if let Ok(tag) = Tag::parse(&bytes) {
                let mut again = [0; TAG_BYTES];
                tag.emit(&mut again).unwrap();
                prop_assert_eq!(again, bytes);
            }
        }
    }
}
