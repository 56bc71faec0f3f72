//! Operation codes of the base transport header: their numbers, and the headers and payload that they imply.

use crate::{Error, Result};

/// The operation codes of reliable and unreliable connections, and the congestion notification packet of
/// RoCEv2.
///
/// IBTA vol. 1, 9.2.1 (bits 7..5 are 000 of a reliable, 001 of an unreliable connection) and annex A17.9.3
/// (0x81). Atomic operations, SEND with invalidate and the other transport services are not supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Opcode {
    /// First packet of a SEND message of several packets.
    SendFirst = 0x00,
    /// Neither first nor last packet of a SEND message.
    SendMiddle = 0x01,
    /// Last packet of a SEND message.
    SendLast = 0x02,
    /// Last packet of a SEND message, with immediate data.
    SendLastWithImmediate = 0x03,
    /// SEND message of one packet.
    SendOnly = 0x04,
    /// SEND message of one packet, with immediate data.
    SendOnlyWithImmediate = 0x05,
    /// First packet of an RDMA WRITE message of several packets; has the RETH.
    WriteFirst = 0x06,
    /// Neither first nor last packet of an RDMA WRITE message.
    WriteMiddle = 0x07,
    /// Last packet of an RDMA WRITE message.
    WriteLast = 0x08,
    /// Last packet of an RDMA WRITE message, with immediate data.
    WriteLastWithImmediate = 0x09,
    /// RDMA WRITE message of one packet; has the RETH.
    WriteOnly = 0x0a,
    /// RDMA WRITE message of one packet, with RETH and immediate data.
    WriteOnlyWithImmediate = 0x0b,
    /// RDMA READ request; has the RETH and no payload.
    ReadRequest = 0x0c,
    /// First packet of an RDMA READ response of several packets; has the AETH.
    ReadResponseFirst = 0x0d,
    /// Neither first nor last packet of an RDMA READ response; has no AETH.
    ReadResponseMiddle = 0x0e,
    /// Last packet of an RDMA READ response; has the AETH.
    ReadResponseLast = 0x0f,
    /// RDMA READ response of one packet; has the AETH.
    ReadResponseOnly = 0x10,
    /// Acknowledge: ACK or NAK, depending on the AETH's syndrome.
    Acknowledge = 0x11,
    /// [`Self::SendFirst`] of an unreliable connection.
    UcSendFirst = 0x20,
    /// [`Self::SendMiddle`] of an unreliable connection.
    UcSendMiddle = 0x21,
    /// [`Self::SendLast`] of an unreliable connection.
    UcSendLast = 0x22,
    /// [`Self::SendLastWithImmediate`] of an unreliable connection.
    UcSendLastWithImmediate = 0x23,
    /// [`Self::SendOnly`] of an unreliable connection.
    UcSendOnly = 0x24,
    /// [`Self::SendOnlyWithImmediate`] of an unreliable connection.
    UcSendOnlyWithImmediate = 0x25,
    /// [`Self::WriteFirst`] of an unreliable connection.
    UcWriteFirst = 0x26,
    /// [`Self::WriteMiddle`] of an unreliable connection.
    UcWriteMiddle = 0x27,
    /// [`Self::WriteLast`] of an unreliable connection.
    UcWriteLast = 0x28,
    /// [`Self::WriteLastWithImmediate`] of an unreliable connection.
    UcWriteLastWithImmediate = 0x29,
    /// [`Self::WriteOnly`] of an unreliable connection.
    UcWriteOnly = 0x2a,
    /// [`Self::WriteOnlyWithImmediate`] of an unreliable connection.
    UcWriteOnlyWithImmediate = 0x2b,
    /// Congestion notification packet.
    CongestionNotification = 0x81,
}

impl Opcode {
    /// Every operation code, in the order of their values.
    pub const ALL: [Self; 31] = [
        Self::SendFirst,
        Self::SendMiddle,
        Self::SendLast,
        Self::SendLastWithImmediate,
        Self::SendOnly,
        Self::SendOnlyWithImmediate,
        Self::WriteFirst,
        Self::WriteMiddle,
        Self::WriteLast,
        Self::WriteLastWithImmediate,
        Self::WriteOnly,
        Self::WriteOnlyWithImmediate,
        Self::ReadRequest,
        Self::ReadResponseFirst,
        Self::ReadResponseMiddle,
        Self::ReadResponseLast,
        Self::ReadResponseOnly,
        Self::Acknowledge,
        Self::UcSendFirst,
        Self::UcSendMiddle,
        Self::UcSendLast,
        Self::UcSendLastWithImmediate,
        Self::UcSendOnly,
        Self::UcSendOnlyWithImmediate,
        Self::UcWriteFirst,
        Self::UcWriteMiddle,
        Self::UcWriteLast,
        Self::UcWriteLastWithImmediate,
        Self::UcWriteOnly,
        Self::UcWriteOnlyWithImmediate,
        Self::CongestionNotification,
    ];
    /// First operation code of an unreliable connection, and its index in [`Self::ALL`].
    const UC_FIRST: u8 = Self::UcSendFirst.code();
    const UC_INDEX: usize = 18;

    /// The operation code with the value `code`.
    ///
    /// # Errors
    /// [`Error::Opcode`] if the code is not supported.
    pub fn from_code(code: u8) -> Result<Self> {
        match code {
            0x00..=0x11 => Ok(Self::ALL[usize::from(code)]),
            0x20..=0x2b => Ok(Self::ALL[Self::UC_INDEX + usize::from(code - Self::UC_FIRST)]),
            0x81 => Ok(Self::CongestionNotification),
            code => Err(Error::Opcode(code)),
        }
    }

    /// The value on the wire.
    #[inline]
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The WRITE packet at this position of its message; `first` and `last` together make it Only.
    #[inline]
    #[must_use]
    pub const fn write(first: bool, last: bool) -> Self {
        match (first, last) {
            (true, true) => Self::WriteOnly,
            (true, false) => Self::WriteFirst,
            (false, false) => Self::WriteMiddle,
            (false, true) => Self::WriteLast,
        }
    }

    /// Whether it is of an unreliable connection.
    #[inline]
    #[must_use]
    pub const fn is_unreliable(self) -> bool {
        self.code() >> 5 == Self::UC_FIRST >> 5
    }

    /// The same packet of an unreliable connection, which has SEND and WRITE only.
    #[must_use]
    pub const fn unreliable(self) -> Option<Self> {
        match self.code() {
            code @ 0x00..=0x0b => Some(Self::ALL[Self::UC_INDEX + code as usize]),
            _ => None,
        }
    }

    /// The same packet of a reliable connection; itself if it is of one, or of none.
    #[inline]
    #[must_use]
    pub const fn reliable(self) -> Self {
        if self.is_unreliable() { Self::ALL[(self.code() - Self::UC_FIRST) as usize] } else { self }
    }

    /// The SEND packet at this position of its message; `first` and `last` together make it Only.
    #[inline]
    #[must_use]
    pub const fn send(first: bool, last: bool) -> Self {
        match (first, last) {
            (true, true) => Self::SendOnly,
            (true, false) => Self::SendFirst,
            (false, false) => Self::SendMiddle,
            (false, true) => Self::SendLast,
        }
    }

    /// The same packet with immediate data, which only the last packet of a SEND or WRITE has.
    #[inline]
    #[must_use]
    pub const fn with_immediate(self) -> Self {
        match self {
            Self::SendLast => Self::SendLastWithImmediate,
            Self::SendOnly => Self::SendOnlyWithImmediate,
            Self::WriteLast => Self::WriteLastWithImmediate,
            Self::WriteOnly => Self::WriteOnlyWithImmediate,
            Self::UcSendLast => Self::UcSendLastWithImmediate,
            Self::UcSendOnly => Self::UcSendOnlyWithImmediate,
            Self::UcWriteLast => Self::UcWriteLastWithImmediate,
            Self::UcWriteOnly => Self::UcWriteOnlyWithImmediate,
            other => other,
        }
    }

    /// The READ response packet at this position of its message; `first` and `last` together make it Only.
    #[inline]
    #[must_use]
    pub const fn read_response(first: bool, last: bool) -> Self {
        match (first, last) {
            (true, true) => Self::ReadResponseOnly,
            (true, false) => Self::ReadResponseFirst,
            (false, false) => Self::ReadResponseMiddle,
            (false, true) => Self::ReadResponseLast,
        }
    }

    /// Whether this is the first of several packets of a message.
    #[inline]
    #[must_use]
    pub const fn is_first(self) -> bool {
        matches!(self.reliable(), Self::SendFirst | Self::WriteFirst | Self::ReadResponseFirst)
    }

    /// Whether this is neither the first nor the last packet of a message.
    #[inline]
    #[must_use]
    pub const fn is_middle(self) -> bool {
        matches!(self.reliable(), Self::SendMiddle | Self::WriteMiddle | Self::ReadResponseMiddle)
    }

    /// Whether this is the last of several packets of a message.
    #[inline]
    #[must_use]
    pub const fn is_last(self) -> bool {
        matches!(
            self.reliable(),
            Self::SendLast
                | Self::SendLastWithImmediate
                | Self::WriteLast
                | Self::WriteLastWithImmediate
                | Self::ReadResponseLast
        )
    }

    /// Whether this packet is a complete data message.
    #[inline]
    #[must_use]
    pub const fn is_only(self) -> bool {
        matches!(
            self.reliable(),
            Self::SendOnly
                | Self::SendOnlyWithImmediate
                | Self::WriteOnly
                | Self::WriteOnlyWithImmediate
                | Self::ReadResponseOnly
        )
    }

    /// Whether a data message starts with this packet.
    #[inline]
    #[must_use]
    pub const fn starts_message(self) -> bool {
        self.is_first() || self.is_only()
    }

    /// Whether a data message ends with this packet.
    #[inline]
    #[must_use]
    pub const fn ends_message(self) -> bool {
        self.is_last() || self.is_only()
    }

    /// Whether this packet may have payload.
    #[inline]
    #[must_use]
    pub const fn is_data(self) -> bool {
        !matches!(self.reliable(), Self::ReadRequest | Self::Acknowledge | Self::CongestionNotification)
    }

    /// Whether the requester sends this packet.
    #[inline]
    #[must_use]
    pub const fn is_request(self) -> bool {
        self.reliable().code() <= Self::ReadRequest.code()
    }

    /// Whether the responder sends this packet in answer to a request.
    #[inline]
    #[must_use]
    pub const fn is_response(self) -> bool {
        !self.is_request() && !matches!(self.reliable(), Self::CongestionNotification)
    }

    /// Whether an RDMA extended transport header follows the BTH.
    #[inline]
    #[must_use]
    pub const fn has_reth(self) -> bool {
        matches!(
            self.reliable(),
            Self::WriteFirst | Self::WriteOnly | Self::WriteOnlyWithImmediate | Self::ReadRequest
        )
    }

    /// Whether an ACK extended transport header follows the BTH.
    #[inline]
    #[must_use]
    pub const fn has_aeth(self) -> bool {
        // IBTA vol. 1, 9.4 (RDMA READ): a response has the AETH in its first, last and only packet.
        matches!(
            self.reliable(),
            Self::ReadResponseFirst | Self::ReadResponseLast | Self::ReadResponseOnly | Self::Acknowledge
        )
    }

    /// Whether immediate data follows the other headers.
    #[inline]
    #[must_use]
    pub const fn has_immediate(self) -> bool {
        matches!(
            self.reliable(),
            Self::SendLastWithImmediate
                | Self::SendOnlyWithImmediate
                | Self::WriteLastWithImmediate
                | Self::WriteOnlyWithImmediate
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_leads_back_to_itself_and_no_other_is_accepted() {
        let known: Vec<u8> = Opcode::ALL.iter().map(|opcode| opcode.code()).collect();
        for code in 0..=u8::MAX {
            let expected = if known.contains(&code) { Ok(code) } else { Err(Error::Opcode(code)) };
            assert_eq!(Opcode::from_code(code).map(Opcode::code), expected);
        }
    }

    #[test]
    fn a_data_packet_has_exactly_one_place_in_its_message() {
        for opcode in Opcode::ALL {
            let places = [opcode.is_first(), opcode.is_middle(), opcode.is_last(), opcode.is_only()];
            let expected = usize::from(opcode.is_data());
            assert_eq!(places.iter().filter(|&&place| place).count(), expected, "{opcode:?}");
        }
    }

    #[test]
    fn the_place_in_the_message_picks_the_opcode() {
        for (first, last) in [(false, false), (false, true), (true, false), (true, true)] {
            for opcode in
                [Opcode::write(first, last), Opcode::send(first, last), Opcode::read_response(first, last)]
            {
                assert_eq!((opcode.starts_message(), opcode.ends_message()), (first, last), "{opcode:?}");
                assert!(!opcode.has_immediate());
            }
        }
    }

    #[test]
    fn immediate_data_comes_with_the_last_packet_of_a_send_or_write() {
        for opcode in Opcode::ALL {
            let with = opcode.with_immediate();
            let takes = opcode.is_request() && opcode.ends_message();
            assert_eq!(with.has_immediate(), takes, "{opcode:?}");
            assert_eq!((with.is_last(), with.is_only()), (opcode.is_last(), opcode.is_only()));
            assert_eq!(with.has_reth(), opcode.has_reth());
        }
    }

    #[test]
    fn sends_and_writes_of_unreliable_connections_are_like_those_of_reliable_ones() {
        for opcode in Opcode::ALL {
            let Some(unreliable) = opcode.unreliable() else {
                assert!(opcode.is_unreliable() || !opcode.is_request() || opcode == Opcode::ReadRequest);
                continue;
            };
            assert_eq!(unreliable.code(), opcode.code() + 0x20);
            assert!(unreliable.is_unreliable() && !opcode.is_unreliable());
            let properties = |opcode: Opcode| {
                let places = [opcode.is_first(), opcode.is_middle(), opcode.is_last(), opcode.is_only()];
                (places, opcode.is_data(), opcode.has_reth(), opcode.has_immediate(), opcode.has_aeth())
            };
            assert_eq!(properties(unreliable), properties(opcode), "{opcode:?}");
            assert_eq!(Some(unreliable.with_immediate()), opcode.with_immediate().unreliable());
        }
    }

    #[test]
    fn requests_responses_and_notifications_are_apart() {
        let count = |predicate: fn(Opcode) -> bool| Opcode::ALL.into_iter().filter(|&o| predicate(o)).count();
        assert_eq!(count(Opcode::is_request), 25);
        assert_eq!(count(Opcode::is_response), 5);
        assert!(!Opcode::CongestionNotification.is_response());
    }
}
