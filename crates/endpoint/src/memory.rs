//! Memory of a queue pair: private bytes, a shared read-only pattern, or bytes verified against a pattern.

use std::ops::Range;
use std::sync::Arc;

/// Memory of a queue pair.
#[derive(Clone, Debug)]
pub enum Memory {
    /// Private bytes, readable and writable.
    Own(Vec<u8>),
    /// Part of a buffer that several queue pairs read and nobody writes.
    Shared(Pattern),
    /// Private bytes to which the peer must write a known pattern.
    Checked {
        /// The bytes.
        bytes: Vec<u8>,
        /// The expected bytes, from the first byte on.
        expected: Pattern,
        /// Number of bytes written that differed.
        wrong_bytes: u64,
    },
}

/// Part of a shared, read-only buffer.
#[derive(Clone, Debug)]
pub struct Pattern {
    bytes: Arc<[u8]>,
    part: Range<usize>,
}

impl Pattern {
    /// A part of the buffer.
    ///
    /// # Panics
    /// When the part exceeds the buffer.
    pub fn new(bytes: Arc<[u8]>, part: Range<usize>) -> Self {
        assert!(part.start <= part.end && part.end <= bytes.len(), "the part is within the buffer");
        Self { bytes, part }
    }

    /// The bytes of the part.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.part.clone()]
    }
}

impl From<Vec<u8>> for Memory {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Own(bytes)
    }
}

impl Memory {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Own(bytes) | Self::Checked { bytes, .. } => bytes,
            Self::Shared(pattern) => pattern.bytes(),
        }
    }

    /// Bytes written so far that differ from the expected ones.
    pub const fn wrong_bytes(&self) -> u64 {
        match self {
            Self::Own(_) | Self::Shared(_) => 0,
            Self::Checked { wrong_bytes, .. } => *wrong_bytes,
        }
    }

    /// Number of bytes that a peer may write.
    pub(crate) fn writable_bytes(&self) -> usize {
        match self {
            Self::Own(bytes) | Self::Checked { bytes, .. } => bytes.len(),
            Self::Shared(_) => 0,
        }
    }

    /// Writes a payload at offset `from`.
    pub(crate) fn write(&mut self, from: usize, payload: &[u8]) {
        let part = from..from + payload.len();
        match self {
            Self::Own(bytes) => bytes[part].copy_from_slice(payload),
            Self::Checked { bytes, expected, wrong_bytes } => {
                *wrong_bytes += differences(payload, &expected.bytes()[part.clone()]);
                bytes[part].copy_from_slice(payload);
            }
            Self::Shared(_) => unreachable!("shared memory is not registered for peers"),
        }
    }
}

/// Number of differing bytes of two slices of equal length.
pub(crate) fn differences(bytes: &[u8], expected: &[u8]) -> u64 {
    if bytes == expected {
        return 0;
    }
    bytes.iter().zip(expected).filter(|(byte, expected)| byte != expected).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_not_what_they_were_to_be_are_counted() {
        let expected = Pattern::new((0..=99).collect(), 10..20);
        let mut memory = Memory::Checked { bytes: vec![0; 10], expected, wrong_bytes: 0 };
        memory.write(2, &[12, 13, 14]);
        assert_eq!((memory.wrong_bytes(), &memory.bytes()[..6]), (0, &[0, 0, 12, 13, 14, 0][..]));
        memory.write(3, &[13, 15, 16]);
        assert_eq!((memory.wrong_bytes(), memory.writable_bytes()), (2, 10));
    }
}
