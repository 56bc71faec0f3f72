//! Byte stream of a TCP connection that transports chunks (parts of transfers): messages, their encoding, and
//! an incremental decoder.
//!
//! The sender connects and identifies its queue pair with a [`Hello`]. Chunks follow: a [`Header`], then the
//! payload. The receiver acknowledges each complete chunk with its number (4 bytes). All numbers are in
//! network byte order.
//!
//! The peer is not trusted: bytes may arrive in segments of any size, and data that does not match the run is
//! refused.

/// Size of a [`Hello`].
pub const HELLO_BYTES: usize = 28;
/// Size of a [`Header`].
pub const HEADER_BYTES: usize = 12;
/// Size of an acknowledgement.
pub const ACKNOWLEDGEMENT_BYTES: usize = 4;
/// Size of a [`Token`].
pub const TOKEN_BYTES: usize = 16;

/// First bytes of every hello; the last one is the version.
const MAGIC: [u8; 8] = *b"fbchunk\x01";

/// Random secret of a receiver, which its peers get from the controller.
pub type Token = [u8; TOKEN_BYTES];

/// First message of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Token of the receiver.
    pub token: Token,
    /// Number of the queue pair in the run.
    pub queue_pair: u32,
}

impl Hello {
    /// Encodes it.
    pub fn emit(&self) -> [u8; HELLO_BYTES] {
        let mut bytes = [0; HELLO_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..24].copy_from_slice(&self.token);
        bytes[24..].copy_from_slice(&self.queue_pair.to_be_bytes());
        bytes
    }

    /// Decodes it; `None` if the magic does not match.
    pub fn parse(bytes: &[u8; HELLO_BYTES]) -> Option<Self> {
        let (magic, rest) = bytes.split_first_chunk()?;
        let (token, rest) = rest.split_first_chunk()?;
        let queue_pair = u32::from_be_bytes(*rest.first_chunk()?);
        (*magic == MAGIC).then_some(Self { token: *token, queue_pair })
    }
}

/// Header of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Number of the chunk in the run.
    pub chunk: u32,
    /// Payload size [bytes].
    pub bytes: u64,
}

impl Header {
    /// Encodes it.
    pub fn emit(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(&self.chunk.to_be_bytes());
        bytes[4..].copy_from_slice(&self.bytes.to_be_bytes());
        bytes
    }

    /// Decodes it; any bytes are valid.
    pub fn parse(bytes: &[u8; HEADER_BYTES]) -> Self {
        let [a, b, c, d, length @ ..] = *bytes;
        Self { chunk: u32::from_be_bytes([a, b, c, d]), bytes: u64::from_be_bytes(length) }
    }
}

/// Reassembly buffer for a field of fixed size.
#[derive(Clone, Debug)]
pub struct Collected<const N: usize> {
    bytes: [u8; N],
    filled: usize,
}

impl<const N: usize> Default for Collected<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> Collected<N> {
    /// An empty buffer.
    pub const fn new() -> Self {
        Self { bytes: [0; N], filled: 0 }
    }

    /// Number of missing bytes.
    pub const fn missing(&self) -> usize {
        N - self.filled
    }

    /// Consumes missing bytes from the front of `bytes`; when complete, returns the field and resets the
    /// buffer.
    pub fn take(&mut self, bytes: &mut &[u8]) -> Option<[u8; N]> {
        let count = self.missing().min(bytes.len());
        let (taken, rest) = bytes.split_at(count);
        self.bytes[self.filled..self.filled + count].copy_from_slice(taken);
        (self.filled, *bytes) = (self.filled + count, rest);
        if self.filled < N {
            return None;
        }
        self.filled = 0;
        Some(self.bytes)
    }
}

/// Error of a stream that does not match the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// A chunk of another queue pair.
    #[error("chunk {chunk} is not of this queue pair")]
    Chunk {
        /// Number of the chunk.
        chunk: u32,
    },
    /// A chunk whose size differs from the plan.
    #[error("chunk {chunk} of {found} bytes instead of {planned}")]
    Length {
        /// Number of the chunk.
        chunk: u32,
        /// Size in the header [bytes].
        found: u64,
        /// Planned size [bytes].
        planned: u64,
    },
}

/// An element of the received stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element<'a> {
    /// Payload of the current chunk.
    Payload {
        /// Offset in the chunk [bytes].
        offset: u64,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// A chunk is complete.
    End {
        /// Number of the chunk.
        chunk: u32,
    },
}

/// Incremental decoder of a connection's chunks.
#[derive(Clone, Debug, Default)]
pub struct Chunks {
    header: Collected<HEADER_BYTES>,
    /// The current chunk, and how much of it has arrived [bytes].
    present: Option<(Header, u64)>,
}

impl Chunks {
    /// Decodes the next bytes and passes their elements to `visit`.
    ///
    /// `planned` returns the size of a chunk, if it belongs to this connection.
    ///
    /// # Errors
    /// [`StreamError`]; the stream cannot be decoded any further.
    pub fn take(
        &mut self,
        mut bytes: &[u8],
        planned: impl Fn(u32) -> Option<u64>,
        mut visit: impl FnMut(Element<'_>),
    ) -> Result<(), StreamError> {
        loop {
            if self.present.is_none() {
                let Some(header) = self.header.take(&mut bytes) else { return Ok(()) };
                self.present = Some((checked(Header::parse(&header), &planned)?, 0));
            }
            let Some((header, offset)) = &mut self.present else { return Ok(()) };
            let count = usize::try_from(header.bytes - *offset).unwrap_or(usize::MAX).min(bytes.len());
            let (payload, rest) = bytes.split_at(count);
            if count > 0 {
                visit(Element::Payload { offset: *offset, bytes: payload });
            }
            *offset += count as u64;
            bytes = rest;
            if *offset < header.bytes {
                return Ok(());
            }
            visit(Element::End { chunk: header.chunk });
            self.present = None;
        }
    }
}

fn checked(header: Header, planned: impl Fn(u32) -> Option<u64>) -> Result<Header, StreamError> {
    let Header { chunk, bytes } = header;
    match planned(chunk) {
        None => Err(StreamError::Chunk { chunk }),
        Some(planned) if planned != bytes => Err(StreamError::Length { chunk, found: bytes, planned }),
        Some(_) => Ok(header),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn stream_of(lengths: &[usize]) -> Vec<u8> {
        let chunk = |(chunk, &bytes): (u32, &usize)| {
            let header = Header { chunk, bytes: bytes as u64 }.emit();
            header.into_iter().chain((0..bytes).map(move |place| (chunk as usize + place) as u8))
        };
        (0..).zip(lengths).flat_map(chunk).collect()
    }

    /// Chunks decoded from a segmented stream, each with its payload.
    fn taken(pieces: &[&[u8]], lengths: &[usize]) -> Result<Vec<(u32, Vec<u8>)>, StreamError> {
        let (mut chunks, mut ended, mut payload) = (Chunks::default(), Vec::new(), Vec::new());
        for piece in pieces {
            let planned = |chunk: u32| lengths.get(chunk as usize).map(|&bytes| bytes as u64);
            chunks.take(piece, planned, |piece| match piece {
                Element::Payload { offset, bytes } => {
                    assert_eq!(offset, payload.len() as u64);
                    payload.extend_from_slice(bytes);
                }
                Element::End { chunk } => ended.push((chunk, std::mem::take(&mut payload))),
            })?;
        }
        Ok(ended)
    }

    proptest! {
        #[test]
        fn any_split_of_a_stream_brings_the_same_chunks(
            lengths in vec(0_usize..60, 0..12),
            mut cuts in vec(0_usize..800, 0..40),
        ) {
            let stream = stream_of(&lengths);
            cuts.extend([0, stream.len()]);
            cuts.iter_mut().for_each(|cut| *cut = (*cut).min(stream.len()));
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &stream[cut[0]..cut[1]]).collect();
            let found = taken(&pieces, &lengths).unwrap();
            prop_assert_eq!(found.len(), lengths.len());
            for ((chunk, payload), (number, &bytes)) in found.iter().zip((0..).zip(&lengths)) {
                prop_assert_eq!(*chunk, number);
                let sent: Vec<u8> = (0..bytes).map(|place| (number as usize + place) as u8).collect();
                prop_assert_eq!(payload, &sent);
            }
        }

        #[test]
        fn noise_never_brings_more_than_it_has(noise in vec(any::<u8>(), 0..400), cut in 0_usize..400) {
            let (first, last) = noise.split_at(cut.min(noise.len()));
            let (mut chunks, mut payload) = (Chunks::default(), 0);
            for piece in [first, last] {
                let planned = |chunk: u32| Some(u64::from(chunk >> 24));
                let outcome = chunks.take(piece, planned, |piece| {
                    if let Element::Payload { bytes, .. } = piece {
                        payload += bytes.len();
                    }
                });
                if outcome.is_err() {
                    break;
                }
            }
            prop_assert!(payload <= noise.len());
        }

        #[test]
        fn a_hello_is_read_as_it_was_said(token in any::<Token>(), queue_pair in any::<u32>(), at in 0_usize..8) {
            let hello = Hello { token, queue_pair };
            let mut bytes = hello.emit();
            prop_assert_eq!(Hello::parse(&bytes), Some(hello));
            bytes[at] ^= 1;
            prop_assert_eq!(Hello::parse(&bytes), None);
        }
    }

    #[test]
    fn a_chunk_of_another_queue_pair_is_refused() {
        let stream = Header { chunk: 2, bytes: 8 }.emit();
        assert_eq!(taken(&[&stream], &[8, 8]), Err(StreamError::Chunk { chunk: 2 }));
    }

    #[test]
    fn a_chunk_of_another_length_is_refused() {
        for found in [0, 7, 9, u64::MAX] {
            let stream = Header { chunk: 1, bytes: found }.emit();
            let refused = StreamError::Length { chunk: 1, found, planned: 8 };
            assert_eq!(taken(&[&stream[..5], &stream[5..]], &[8, 8]), Err(refused));
        }
    }
}
