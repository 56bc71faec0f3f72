//! ACK extended transport header: syndrome (ACK with credits, NAK, RNR NAK with its timer) and message
//! sequence number. IBTA vol. 1, 9.3.5 and 9.7.5.

use crate::bytes::{be24, bounded, put, view, word};
use crate::{Error, Result, size};
use units::Span;

/// Length of the header.
pub const HEADER_BYTES: usize = size::AETH_BYTES as usize;

const KIND: u8 = 0xe0;
const VALUE: u8 = 0x1f;
const KIND_ACK: u8 = 0x00;
const KIND_RNR_NAK: u8 = 0x20;
const KIND_NAK: u8 = 0x60;

bounded! {
    /// Message sequence number: number of messages that the responder has completed, modulo 2^24.
    Msn(u32), 24
}

impl Msn {
    /// The number after one more message; the largest is followed by 0.
    #[must_use]
    pub const fn next(self) -> Self {
        Self::from_low_bits(self.0 + 1)
    }
}

bounded! {
    /// Encoded count of the receive buffers a responder grants. IBTA vol. 1, 9.7.7 (end-to-end flow control).
    CreditCount(u8), 5
}

impl CreditCount {
    /// The responder grants no credits: there is no end-to-end flow control.
    pub const UNLIMITED: Self = Self::MAX;
}

bounded! {
    /// Encoded time to wait before a retry if the receiver is not ready.
    RnrTimer(u8), 5
}

/// Time for each code of [`RnrTimer`] [10 us]. IBTA vol. 1, 9.7.5.2 (RNR NAK timer).
const RNR_TIMES_10US: [u64; 32] = [
    65_536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1_024, 1_536, 2_048,
    3_072, 4_096, 6_144, 8_192, 12_288, 16_384, 24_576, 32_768, 49_152,
];

impl RnrTimer {
    /// The time to wait.
    #[must_use]
    pub const fn span(self) -> Span {
        Span::from_us(RNR_TIMES_10US[self.0 as usize] * 10)
    }
}

/// Reason why a responder refuses a request. IBTA vol. 1, 9.7.5 (NAK codes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum NakCode {
    /// A PSN after the expected one: packets are missing.
    PsnSequenceError = 0,
    /// The request is malformed or does not fit the queue pair.
    InvalidRequest = 1,
    /// The remote key does not permit the access.
    RemoteAccessError = 2,
    /// The responder failed.
    RemoteOperationalError = 3,
    /// The request does not fit the reliable datagram service.
    InvalidRdRequest = 4,
}

/// Meaning of an acknowledge packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Syndrome {
    /// Everything up to the packet's PSN has arrived.
    Ack(CreditCount),
    /// The receiver is not ready: retry after this time.
    RnrNak(RnrTimer),
    /// The request with the packet's PSN is refused.
    Nak(NakCode),
}

impl Syndrome {
    /// The syndrome with the value `code`.
    ///
    /// # Errors
    /// [`Error::Syndrome`] if the kind or the NAK code is reserved.
    pub const fn from_code(code: u8) -> Result<Self> {
        match (code & KIND, code & VALUE) {
            (KIND_ACK, credits) => Ok(Self::Ack(CreditCount::from_low_bits(credits))),
            (KIND_RNR_NAK, timer) => Ok(Self::RnrNak(RnrTimer::from_low_bits(timer))),
            (KIND_NAK, 0) => Ok(Self::Nak(NakCode::PsnSequenceError)),
            (KIND_NAK, 1) => Ok(Self::Nak(NakCode::InvalidRequest)),
            (KIND_NAK, 2) => Ok(Self::Nak(NakCode::RemoteAccessError)),
            (KIND_NAK, 3) => Ok(Self::Nak(NakCode::RemoteOperationalError)),
            (KIND_NAK, 4) => Ok(Self::Nak(NakCode::InvalidRdRequest)),
            _ => Err(Error::Syndrome(code)),
        }
    }

    /// The value on the wire.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Ack(credits) => KIND_ACK | credits.value(),
            Self::RnrNak(timer) => KIND_RNR_NAK | timer.value(),
            Self::Nak(code) => KIND_NAK | code as u8,
        }
    }
}

view! {
    /// View of an ACK extended transport header.
    Packet, HEADER_BYTES, {
        /// Syndrome.
        syndrome: u8 = |bytes| bytes[0];
        /// Message sequence number.
        msn: u32 = |bytes| be24(bytes, 1);
    }
}

/// An ACK extended transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// ACK, receiver not ready, or NAK.
    pub syndrome: Syndrome,
    /// Message sequence number.
    pub msn: Msn,
}

impl Repr {
    /// Parses the header.
    ///
    /// # Errors
    /// [`Error::Syndrome`] if the syndrome is reserved.
    pub fn parse<T: AsRef<[u8]>>(packet: &Packet<T>) -> Result<Self> {
        Ok(Self { syndrome: Syndrome::from_code(packet.syndrome())?, msn: Msn::from_low_bits(packet.msn()) })
    }

    /// Writes the header to the first [`HEADER_BYTES`] of `buffer`.
    ///
    /// # Errors
    /// [`Error::Truncated`] if the buffer is shorter.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<()> {
        put(buffer, [&word(self.syndrome.code(), self.msn.value())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use proptest::prelude::*;

    fn parse(header: &[u8]) -> Result<Repr> {
        Repr::parse(&Packet::new(header)?)
    }

    #[test]
    fn every_syndrome_leads_back_to_itself_and_reserved_ones_are_rejected() {
        for code in 0..=u8::MAX {
            // Kinds 000 and 001 accept any value in the low bits, 011 the five NAK codes; the rest is
            // reserved.
            let legal = matches!(code, 0x00..=0x3f | 0x60..=0x64);
            let expected = if legal { Ok(code) } else { Err(Error::Syndrome(code)) };
            assert_eq!(Syndrome::from_code(code).map(Syndrome::code), expected);
        }
    }

    #[test]
    fn the_times_to_wait_grow_but_for_the_first_which_is_the_longest() {
        let spans: Vec<Span> = (0..32).map(|code| RnrTimer::new(code).unwrap().span()).collect();
        assert!(spans[1..].is_sorted());
        assert_eq!([0, 1, 12, 31].map(|code| spans[code].0 / 1_000_000), [655_360, 10, 640, 491_520]);
    }

    #[test]
    fn known_headers() {
        let ack = parse(&[0x1f, 0x00, 0x00, 0x2a]).unwrap();
        assert_eq!(ack.syndrome, Syndrome::Ack(CreditCount::UNLIMITED));
        assert_eq!(ack.msn.value(), 42);
        let nak = parse(&[0x60, 0xff, 0xff, 0xff]).unwrap();
        assert_eq!(nak, Repr { syndrome: Syndrome::Nak(NakCode::PsnSequenceError), msn: Msn::MAX });
        let not_ready = parse(&[0x2c, 0, 0, 0]).unwrap();
        assert_eq!(not_ready.syndrome, Syndrome::RnrNak(RnrTimer::new(12).unwrap()));
    }

    #[test]
    fn the_message_after_the_last_number_is_number_zero() {
        assert_eq!(Msn::MAX.next(), Msn::default());
        assert_eq!(Msn::default().next().value(), 1);
    }

    proptest! {
        #[test]
        fn parse_is_the_inverse_of_emit(repr in testing::aeth()) {
            let mut bytes = [0xee; HEADER_BYTES];
            repr.emit(&mut bytes)?;
            prop_assert_eq!(parse(&bytes)?, repr);
        }

        #[test]
        fn emit_is_the_inverse_of_parse(bytes: [u8; HEADER_BYTES]) {
            if let Ok(repr) = parse(&bytes) {
                let mut again = [0; HEADER_BYTES];
                repr.emit(&mut again)?;
                prop_assert_eq!(again, bytes);
            }
        }

        #[test]
        fn short_buffers_are_errors(repr in testing::aeth(), have in 0..HEADER_BYTES) {
            let mut bytes = [0; HEADER_BYTES];
            let expected = Error::Truncated { need: HEADER_BYTES, have };
            prop_assert_eq!(repr.emit(&mut bytes[..have]), Err(expected));
            prop_assert_eq!(parse(&bytes[..have]), Err(expected));
        }
    }
}
