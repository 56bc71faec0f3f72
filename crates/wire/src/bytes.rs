//! Reads and writes big-endian fields; macros that define byte views of headers, and unsigned numbers with a
//! given number of bits.

use crate::{Error, Result};

/// The `N` bytes from `at` on; the caller has checked the length.
pub(crate) fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[at..at + N]);
    array
}

pub(crate) fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(array(bytes, at))
}

pub(crate) fn be24(bytes: &[u8], at: usize) -> u32 {
    let [high, middle, low] = array(bytes, at);
    u32::from_be_bytes([0, high, middle, low])
}

pub(crate) fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(array(bytes, at))
}

pub(crate) fn be64(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(array(bytes, at))
}

/// `top` in bits 31..24 and the low 24 bits of `low` below it.
pub(crate) fn word(top: u8, low: u32) -> [u8; 4] {
    (u32::from(top) << 24 | low & 0xff_ffff).to_be_bytes()
}

/// Fails unless `bytes` has at least `need` bytes.
pub(crate) fn require(bytes: &[u8], need: usize) -> Result<()> {
    match bytes.len() {
        have if have < need => Err(Error::Truncated { need, have }),
        _ => Ok(()),
    }
}

/// Fails unless a reserved field is zero.
pub(crate) fn require_zero(field: &'static str, value: u64) -> Result<()> {
    if value == 0 { Ok(()) } else { Err(Error::Reserved { field, found: value }) }
}

/// Writes `parts` consecutively to the start of `buffer`, or nothing if they do not fit.
pub(crate) fn put<const N: usize>(buffer: &mut [u8], parts: [&[u8]; N]) -> Result<()> {
    require(buffer, parts.iter().map(|part| part.len()).sum())?;
    let mut at = 0;
    for part in parts {
        buffer[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
    Ok(())
}

/// Defines a byte view: a buffer long enough for a header, not validated otherwise. Each field is a method
/// that reads its value from the bytes.
macro_rules! view {
    ($(#[$meta:meta])* $name:ident, $length:expr $(, {
        $($(#[$field_meta:meta])* $field:ident: $value:ty = |$bytes:ident| $read:expr;)+
    })?) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<T>(T);

        impl<T: AsRef<[u8]>> $name<T> {
            /// A view of `buffer`, which may continue after the header.
            ///
            /// # Errors
            /// [`Truncated`](crate::Error::Truncated) if the buffer is shorter than the header.
            pub fn new(buffer: T) -> $crate::Result<Self> {
                $crate::bytes::require(buffer.as_ref(), $length)?;
                Ok(Self(buffer))
            }

            fn bytes(&self) -> &[u8] {
                self.0.as_ref()
            }
            $($(

            $(#[$field_meta])*
            #[must_use]
            pub fn $field(&self) -> $value {
                let $bytes = self.bytes();
                $read
            }
            )+)?
        }
    };
}

/// Defines an unsigned number with the given number of bits.
macro_rules! bounded {
    ($(#[$meta:meta])* $name:ident($int:ty), $bits:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name($int);

        impl $name {
            /// The largest value.
            pub const MAX: Self = Self((1 << $bits) - 1);

            /// The number `value`, unless it has too many bits.
            #[must_use]
            pub const fn new(value: $int) -> Option<Self> {
                if value <= Self::MAX.0 { Some(Self(value)) } else { None }
            }

            /// The number in the low bits of a field.
            #[allow(dead_code, reason = "not every number is read from a field of its own")]
            pub(crate) const fn from_low_bits(value: $int) -> Self {
                Self(value & Self::MAX.0)
            }

            /// The number.
            #[inline]
            #[must_use]
            pub const fn value(self) -> $int {
                self.0
            }
        }
    };
}

pub(crate) use {bounded, view};
