//! Extension headers between the base transport header and the payload, determined by the operation code:
//! RETH, AETH, immediate data, reserved bytes of a CNP.

use crate::bytes::{array, put, require};
use crate::{Error, Opcode, Result, aeth, cnp, reth, size};

/// Immediate data: four bytes that the responder passes to the application, in the order of the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Immediate(pub [u8; 4]);

/// The headers between the base transport header and the payload, determined by the operation code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extension {
    /// No header: SEND without immediate data, WRITE Middle and Last, READ response Middle.
    None,
    /// RETH: WRITE First and Only, READ request.
    Reth(reth::Repr),
    /// RETH and immediate data: WRITE Only with immediate.
    RethWithImmediate(reth::Repr, Immediate),
    /// AETH: Acknowledge; READ response First, Last and Only.
    Aeth(aeth::Repr),
    /// Immediate data: SEND and WRITE Last with immediate, SEND Only with immediate.
    Immediate(Immediate),
    /// Reserved bytes: congestion notification packet.
    Notification,
}

impl Extension {
    /// Parses the headers of a packet of `opcode` at the start of `bytes`.
    ///
    /// # Errors
    /// [`Error::Truncated`] if the bytes end before the headers, and the errors of the headers.
    pub fn parse(opcode: Opcode, bytes: &[u8]) -> Result<Self> {
        require(bytes, size::extension_bytes(opcode) as usize)?;
        let reth = || reth::Packet::new(bytes).map(|packet| reth::Repr::parse(&packet));
        Ok(match (opcode.has_reth(), opcode.has_immediate()) {
            (true, true) => Self::RethWithImmediate(reth()?, Immediate(array(bytes, reth::HEADER_BYTES))),
            (true, false) => Self::Reth(reth()?),
            (false, true) => Self::Immediate(Immediate(array(bytes, 0))),
            (false, false) if opcode.has_aeth() => Self::Aeth(aeth::Repr::parse(&aeth::Packet::new(bytes)?)?),
            (false, false) if opcode == Opcode::CongestionNotification => {
                cnp::require_reserved(array(bytes, 0))?;
                Self::Notification
            }
            (false, false) => Self::None,
        })
    }

    /// Writes the headers to the start of `buffer`.
    ///
    /// # Errors
    /// [`Error::Truncated`] if the buffer is shorter than the headers.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<()> {
        match self {
            Self::None => Ok(()),
            Self::Reth(reth) => reth.emit(buffer),
            Self::RethWithImmediate(reth, immediate) => {
                require(buffer, reth::HEADER_BYTES + immediate.0.len())?;
                reth.emit(buffer)?;
                put(&mut buffer[reth::HEADER_BYTES..], [&immediate.0])
            }
            Self::Aeth(aeth) => aeth.emit(buffer),
            Self::Immediate(immediate) => put(buffer, [&immediate.0]),
            Self::Notification => put(buffer, [&[0; cnp::RESERVED_BYTES]]),
        }
    }

    /// Fails unless these are the headers of `opcode`.
    pub(crate) fn require_opcode(&self, opcode: Opcode) -> Result<()> {
        let belongs = match self {
            Self::None => size::extension_bytes(opcode) == 0,
            Self::Reth(_) => opcode.has_reth() && !opcode.has_immediate(),
            Self::RethWithImmediate(..) => opcode.has_reth() && opcode.has_immediate(),
            Self::Aeth(_) => opcode.has_aeth(),
            Self::Immediate(_) => opcode.has_immediate() && !opcode.has_reth(),
            Self::Notification => opcode == Opcode::CongestionNotification,
        };
        if belongs { Ok(()) } else { Err(Error::Extension { opcode }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parse_is_the_inverse_of_emit_and_fills_the_length_that_the_opcode_has(
            (opcode, extension) in testing::opcode_and_extension()
        ) {
            let mut bytes = vec![0xee; size::extension_bytes(opcode) as usize];
            extension.emit(&mut bytes)?;
            prop_assert_eq!(Extension::parse(opcode, &bytes)?, extension);
            let mut again = vec![0; bytes.len()];
            Extension::parse(opcode, &bytes)?.emit(&mut again)?;
            prop_assert_eq!(again, bytes);
        }

        #[test]
        fn short_buffers_are_errors((opcode, extension) in testing::opcode_and_extension()) {
            let need = size::extension_bytes(opcode) as usize;
            for have in 0..need {
                let mut bytes = vec![0; have];
                prop_assert_eq!(extension.emit(&mut bytes), Err(Error::Truncated { need, have }));
                prop_assert_eq!(Extension::parse(opcode, &bytes), Err(Error::Truncated { need, have }));
            }
        }

        #[test]
        fn headers_belong_to_the_opcodes_that_parse_them(
            (own, extension) in testing::opcode_and_extension(), other in testing::opcode()
        ) {
            let mut bytes = [0; 20];
            extension.emit(&mut bytes)?;
            let parsed = Extension::parse(other, &bytes);
            prop_assert!(extension.require_opcode(own).is_ok());
            if extension.require_opcode(other).is_ok() {
                prop_assert_eq!(parsed?, extension);
            } else {
                prop_assert_ne!(parsed, Ok(extension));
            }
        }
    }
}
