//! RDMA extended transport header: address, remote key and length of a WRITE or READ. IBTA vol. 1, 9.3.3.

use crate::bytes::{be32, be64, put, view};
use crate::{Result, size};

/// Length of the header.
pub const HEADER_BYTES: usize = size::RETH_BYTES as usize;

view! {
    /// View of an RDMA extended transport header.
    Packet, HEADER_BYTES, {
        /// Virtual address at the responder.
        virtual_address: u64 = |bytes| be64(bytes, 0);
        /// Remote key.
        remote_key: u32 = |bytes| be32(bytes, 8);
        /// Length of the whole message.
        dma_bytes: u32 = |bytes| be32(bytes, 12);
    }
}

/// An RDMA extended transport header: remote address, key and length of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Virtual address at the responder.
    pub virtual_address: u64,
    /// Remote key: permits access to the memory.
    pub remote_key: u32,
    /// Length of the whole message, in bytes.
    pub dma_bytes: u32,
}

impl Repr {
    /// Parses the header; every value of every field is legal.
    pub fn parse<T: AsRef<[u8]>>(packet: &Packet<T>) -> Self {
        Self {
            virtual_address: packet.virtual_address(),
            remote_key: packet.remote_key(),
            dma_bytes: packet.dma_bytes(),
        }
    }

    /// Writes the header to the first [`HEADER_BYTES`] of `buffer`.
    ///
    /// # Errors
    /// [`Truncated`](crate::Error::Truncated) if the buffer is shorter.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<()> {
        let address = self.virtual_address.to_be_bytes();
        put(buffer, [&address, &self.remote_key.to_be_bytes(), &self.dma_bytes.to_be_bytes()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Error, testing};
    use proptest::prelude::*;

    #[test]
    fn every_field_has_its_place() {
        let bytes = [0, 1, 2, 3, 4, 5, 6, 7, 0x10, 0x11, 0x12, 0x13, 0, 2, 0, 0];
        let repr = Repr::parse(&Packet::new(bytes).unwrap());
        assert_eq!(repr.virtual_address, 0x0001_0203_0405_0607);
        assert_eq!((repr.remote_key, repr.dma_bytes), (0x1011_1213, 128 << 10));
    }

    proptest! {
        #[test]
        fn parse_and_emit_are_each_others_inverse(bytes: [u8; HEADER_BYTES], repr in testing::reth()) {
            let mut again = [0; HEADER_BYTES];
            Repr::parse(&Packet::new(bytes)?).emit(&mut again)?;
            prop_assert_eq!(again, bytes);
            repr.emit(&mut again)?;
            prop_assert_eq!(Repr::parse(&Packet::new(again)?), repr);
        }

        #[test]
        fn short_buffers_are_errors(repr in testing::reth(), have in 0..HEADER_BYTES) {
            let mut bytes = [0; HEADER_BYTES];
            let expected = Error::Truncated { need: HEADER_BYTES, have };
            prop_assert_eq!(repr.emit(&mut bytes[..have]), Err(expected));
            prop_assert_eq!(Packet::new(&bytes[..have]).err(), Some(expected));
        }
    }
}
