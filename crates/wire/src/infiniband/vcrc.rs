//! Variant CRC of InfiniBand packets, and the CRC of link packets: CRC-16, recomputed by every switch. IBTA
//! vol. 1, 7.8.2 and 7.9.4.

use crate::size;

/// Length of the CRC.
pub const BYTES: usize = size::VCRC_BYTES as usize;

/// x^16 + x^12 + x^3 + x + 1, 0x100b, lowest power first.
const POLYNOMIAL: u16 = 0x100b_u16.reverse_bits();
/// CRC table: remainder of each byte.
const TABLE: [u16; 256] = table();

const fn table() -> [u16; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut remainder = byte as u16;
        let mut bit = 0;
        while bit < 8 {
            remainder = if remainder & 1 == 1 { remainder >> 1 ^ POLYNOMIAL } else { remainder >> 1 };
            bit += 1;
        }
        table[byte] = remainder;
        byte += 1;
    }
    table
}

/// The CRC of `bytes`; for a data packet, everything from the local route header to the ICRC. Initialised
/// with ones, complemented, and stored after the packet, least significant byte first, like the ICRC.
#[must_use]
pub fn vcrc(bytes: &[u8]) -> u16 {
    let next = |crc: u16, byte: &u8| crc >> 8 ^ TABLE[usize::from(crc as u8 ^ byte)];
    !bytes.iter().fold(u16::MAX, next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Polynomial division bit by bit in a shift register, as in the standard's figure: without table and
    /// reversed bits.
    fn by_shift_register(bytes: &[u8]) -> u16 {
        let mut register = u16::MAX;
        for bit in bytes.iter().flat_map(|byte| (0..8).map(move |place| u16::from(byte >> place & 1))) {
            let feedback = register >> 15 ^ bit;
            register = (register << 1) ^ (feedback * 0x100b);
        }
        !register.reverse_bits()
    }

    proptest! {
        #[test]
        fn it_is_that_of_the_shift_register(bytes: Vec<u8>) {
            prop_assert_eq!(vcrc(&bytes), by_shift_register(&bytes));
        }
    }
}
