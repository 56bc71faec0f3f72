//! SEND, WRITE and READ on one reliable connection, for storage.
//!
//! [`crate::Requester`] is optimised for bulk WRITEs, a million per run; this module supports every verb,
//! processed one after another in the order of posting. A READ is one request packet that takes as many
//! packet sequence numbers as it has responses (IBTA 9.7.3); the responses acknowledge it and everything
//! before it. Recovery is go-back-N.
//!
//! It differs from the standard in points that are visible only in a capture of a lossy fabric:
//!
//! - Acknowledgements do not wait for the responses of earlier READs, as they have a separate priority; the
//!   requester still completes work in order. So an ACK beyond a READ is no implied NAK of it (9.7.5.1.1):
//!   responses missing at the end of a READ are requested again after the timeout, others when the next
//!   response arrives.
//! - When a READ is requested again, the responder drops its unsent responses from that PSN on: the requester
//!   went back and requests them again.

mod requester;
mod responses;

pub(crate) use requester::Awaited;
pub use requester::{ResponseOutcome, VerbRequester, VerbTransmit};
pub use responses::{ReadRange, ReadResponse, ReadResponses, read_range};

use crate::Position;
use wire::Opcode;

/// Operation of a work request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Writes to a receive buffer posted by the responder.
    Send,
    /// Writes to memory of the responder.
    Write,
    /// Reads memory of the responder.
    Read,
}

impl Verb {
    /// Operation code of a request packet at this position of its message.
    #[must_use]
    pub const fn opcode(self, position: Position) -> Opcode {
        let (first, last) = (position.starts_message(), position.ends_message());
        match self {
            Self::Send => Opcode::send(first, last),
            Self::Write => Opcode::write(first, last),
            Self::Read => Opcode::ReadRequest,
        }
    }
}
