//! What a queue pair refuses.

use crate::ConfigError;

/// Settings that no queue pair can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// A field outside its range.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// An MTU that RoCE does not have.
    #[error("mtu_bytes is {found}; 256, 512, 1024, 2048 and 4096 are allowed")]
    Mtu {
        /// Its value.
        found: u32,
    },
    /// [`Recovery::None`](crate::Recovery::None) promises nothing of what is delivered.
    #[error("recovery is none; go-back-N and selective are allowed")]
    Recovery,
    /// The responses to READs are taken in order, and are no measure of a round trip.
    #[error("READ needs go-back-N recovery, and a rate control that does not follow round-trip times")]
    Reads,
    /// The registered memory reaches beyond the last address.
    #[error("memory of {bytes} bytes at {address:#x} reaches beyond the last address")]
    Memory {
        /// Its first address.
        address: u64,
        /// Its size.
        bytes: u64,
    },
}

/// Work that a queue pair does not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PostError {
    /// The queue pair is in error: what it had was flushed, and nothing more is taken.
    #[error("the queue pair is in error")]
    Failed,
    /// More than a work request can have, or than a SEND, which is one message.
    #[error("{bytes} bytes are too long; {max} at the most")]
    TooLong {
        /// What was asked for.
        bytes: u64,
        /// The longest.
        max: u64,
    },
    /// The memory written to reaches beyond the last address.
    #[error("{bytes} bytes at {address:#x} reach beyond the last address")]
    Address {
        /// Its first address.
        address: u64,
        /// Its size.
        bytes: u64,
    },
    /// [`Reads::requested_max`](crate::Reads::requested_max) is 0.
    #[error("the queue pair was made without READs")]
    NoReads,
    /// Under selective recovery each packet says itself where it belongs, which one of a SEND cannot.
    #[error("SEND needs go-back-N recovery")]
    NeedsOrder,
}

/// Bytes that are no transport packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// A header is not whole, or not legal.
    #[error(transparent)]
    Header(#[from] wire::Error),
    /// Payload and padding are no multiple of four, or shorter than the padding.
    #[error("{found} bytes of payload with {pad} bytes of padding")]
    Padding {
        /// Bytes behind the headers.
        found: usize,
        /// How many of them are said to be padding.
        pad: usize,
    },
}
