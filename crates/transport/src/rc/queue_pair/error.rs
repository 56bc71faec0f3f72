//! Errors of a queue pair: invalid settings, rejected work, bytes that are no transport packet.

use crate::ConfigError;

/// Invalid settings of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant explains its fields")]
pub enum SettingsError {
    /// A field outside its range.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// An MTU that RoCE does not have.
    #[error("mtu_bytes is {found}; 256, 512, 1024, 2048 and 4096 are allowed")]
    Mtu { found: u32 },
    /// An unreliable connection, which has no recovery, has no acknowledgements either.
    #[error("recovery is none with a rate control that follows acknowledgements")]
    Recovery,
    /// Responses to READs are accepted in order only, and do not measure a round trip.
    #[error("READ needs go-back-N recovery, and a rate control that does not follow round-trip times")]
    Reads,
    /// The registered memory extends beyond the last address.
    #[error("memory of {bytes} bytes at {address:#x} reaches beyond the last address")]
    Memory { address: u64, bytes: u64 },
}

/// Work that a queue pair rejects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant explains its fields")]
pub enum PostError {
    /// The queue pair is in error: its work was flushed, and it accepts no more.
    #[error("the queue pair is in error")]
    Failed,
    /// Longer than a work request may be, or than one message for a SEND.
    #[error("{bytes} bytes are too long; {max} at the most")]
    TooLong { bytes: u64, max: u64 },
    /// The memory to write extends beyond the last address.
    #[error("{bytes} bytes at {address:#x} reach beyond the last address")]
    Address { address: u64, bytes: u64 },
    /// [`Reads::requested_max`](crate::Reads::requested_max) is 0.
    #[error("the queue pair was made without READs")]
    NoReads,
    /// Under selective recovery each packet has its own address, which a SEND packet lacks.
    #[error("SEND needs go-back-N recovery")]
    NeedsOrder,
}

/// Bytes that are not a transport packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant explains its fields")]
pub enum DecodeError {
    /// A header is truncated or illegal.
    #[error(transparent)]
    Header(#[from] wire::Error),
    /// The length of payload and padding is not a multiple of four, or shorter than the padding.
    #[error("{found} bytes of payload with {pad} bytes of padding")]
    Padding { found: usize, pad: usize },
}
