//! Parameters common to all queue pairs of a host, among them the recovery from lost packets, with checks of
//! their ranges; number of packets and messages of a work request.

use units::{Instant, Span};
use wire::Psn;

/// Handling of packets that the network loses or reorders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// The responder accepts packets in order only; the requester resends everything from the first missing
    /// packet.
    GoBackN,
    /// Each packet has its own address: the responder accepts packets in any order and reports missing ones.
    Selective {
        /// Window of packets that the responder accepts, counted from the first missing one; at most 2^23.
        ooo_window_packets: u32,
    },
    /// No recovery: a traffic generator that counts losses. The requester never resends and never times out.
    None,
}

impl Recovery {
    /// Whether each packet has its own address.
    #[inline]
    #[must_use]
    pub const fn is_selective(self) -> bool {
        matches!(self, Self::Selective { .. })
    }
}

/// Parameters of a reliable connection. All values come from the run spec; nothing here has a default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// RoCE MTU: payload of a full packet [bytes].
    pub mtu_bytes: u32,
    /// Size of a full RDMA message [bytes]; at most [`Self::MESSAGE_BYTES_MAX`].
    pub message_bytes: u64,
    /// The responder acknowledges at least once per this number of packets; at most the window, or the window
    /// would only reopen after a timeout.
    pub ack_every: u32,
    /// At most this many packets unacknowledged; at most 2^23 (IBTA 9.7.2).
    pub window_packets: u32,
    /// Time without progress after which the requester resends.
    pub timeout: Span,
    /// Resends after a timeout, without progress in between, before the queue pair fails: it fails on timeout
    /// number `retry_count + 1`; at most 65,535 (3 bits in IBTA 11.2.5.2).
    pub retry_count: u32,
    /// Handling of lost packets.
    pub recovery: Recovery,
}

impl Config {
    /// The longest RDMA message: 2^31 bytes (IBTA 9.3.3, the DMA length of the RETH).
    pub const MESSAGE_BYTES_MAX: u64 = 1 << 31;

    /// Number of packets of a full message.
    #[must_use]
    pub const fn packets_per_message(&self) -> u64 {
        self.message_bytes.div_ceil(self.mtu_bytes as u64)
    }

    /// Number of packets of a work request of `bytes`, split into messages; a request of 0 bytes is one
    /// packet without payload.
    #[must_use]
    pub const fn packets(&self, bytes: u64) -> u64 {
        if bytes <= self.mtu_bytes as u64 && bytes <= self.message_bytes {
            return 1;
        }
        let full_messages = bytes / self.message_bytes;
        let rest = bytes % self.message_bytes;
        full_messages * self.packets_per_message() + rest.div_ceil(self.mtu_bytes as u64)
    }

    /// Number of messages of a work request of `bytes`.
    #[must_use]
    pub const fn messages(&self, bytes: u64) -> u64 {
        if bytes == 0 { 1 } else { bytes.div_ceil(self.message_bytes) }
    }

    /// Expiry of a timer that starts at `now`; never without recovery.
    #[inline]
    pub(crate) fn deadline(&self, now: Instant) -> Instant {
        if self.recovery == Recovery::None { Instant::NEVER } else { now + self.timeout }
    }

    /// Checks every field.
    ///
    /// # Errors
    /// The first field outside its documented range.
    pub fn check(&self) -> Result<(), ConfigError> {
        within("mtu_bytes", self.mtu_bytes.into(), 1, u32::MAX.into())?;
        within("message_bytes", self.message_bytes, 1, Self::MESSAGE_BYTES_MAX)?;
        within("window_packets", self.window_packets.into(), 1, Psn::WINDOW_MAX.into())?;
        within("retry_count", self.retry_count.into(), 0, u16::MAX.into())?;
        match self.recovery {
            Recovery::Selective { ooo_window_packets } => {
                within("ooo_window_packets", ooo_window_packets.into(), 1, Psn::WINDOW_MAX.into())
            }
            Recovery::GoBackN | Recovery::None => Ok(()),
        }
    }

    /// Panics if a field is outside its range; the run spec is validated before.
    pub(crate) fn assert_in_range(&self) {
        if let Err(error) = self.check() {
            panic!("{error}");
        }
    }
}

/// A field of [`Config`] outside its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {found}; {min} to {max} are allowed")]
pub struct ConfigError {
    /// Name of the field.
    pub field: &'static str,
    /// Value of the field.
    pub found: u64,
    /// The smallest value allowed.
    pub min: u64,
    /// The largest value allowed.
    pub max: u64,
}

/// Fails unless the value of a field is from `min` to `max`.
pub(crate) const fn within(field: &'static str, value: u64, min: u64, max: u64) -> Result<(), ConfigError> {
    if value < min || value > max {
        return Err(ConfigError { field, found: value, min, max });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: Config = Config {
        mtu_bytes: 1024,
        message_bytes: 4096,
        ack_every: 1,
        window_packets: 64,
        timeout: Span::from_us(1),
        retry_count: 7,
        recovery: Recovery::GoBackN,
    };

    #[test]
    fn the_first_field_outside_its_range_is_named() {
        let bad = [
            (Config { mtu_bytes: 0, ..GOOD }, "mtu_bytes is 0; 1 to 4294967295 are allowed"),
            (
                Config { message_bytes: (1 << 31) + 1, ..GOOD },
                "message_bytes is 2147483649; 1 to 2147483648 are allowed",
            ),
            (Config { window_packets: 0, ..GOOD }, "window_packets is 0; 1 to 8388608 are allowed"),
            (Config { retry_count: 65_536, ..GOOD }, "retry_count is 65536; 0 to 65535 are allowed"),
            (
                Config { recovery: Recovery::Selective { ooo_window_packets: 0 }, ..GOOD },
                "ooo_window_packets is 0; 1 to 8388608 are allowed",
            ),
        ];
        assert_eq!(GOOD.check(), Ok(()));
        for (config, message) in bad {
            assert_eq!(config.check().unwrap_err().to_string(), message);
        }
    }
}
