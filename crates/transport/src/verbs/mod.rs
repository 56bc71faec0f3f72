//! SEND, WRITE and READ on one reliable connection, for storage.
//!
//! [`crate::Requester`] is made for bulk WRITEs, of which a run has a million; this one carries every verb,
//! one after the other in the order in which they were posted. A READ is one request packet that takes as
//! many packet sequence numbers as its responses do (IBTA 9.7.3); the responses acknowledge it and everything
//! before it. Recovery is go-back-N.
//!
//! It differs from the standard in points that only a capture of a lossy fabric would show:
//!
//! - Acknowledgements do not wait for the responses of READs before them, as they travel in a priority of
//!   their own; the requester completes work in order all the same. So an ACK beyond a READ is no implied NAK
//!   of it (9.7.5.1.1): what is missing at the end of a READ is asked for again after the timeout, elsewhere
//!   when the next response arrives.
//! - A responder asked again for a READ drops the responses that it has not sent from there on: the
//!   requester, which went back, asks for them again.

mod requester;
mod responses;

pub(crate) use requester::Awaited;
pub use requester::{ResponseOutcome, VerbRequester, VerbTransmit};
pub use responses::{ReadResponse, ReadResponses, Wanted, wanted};

use crate::Position;
use wire::Opcode;

/// What a work request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Fills a buffer that the responder has posted.
    Send,
    /// Fills memory of the responder.
    Write,
    /// Has the responder send from its memory.
    Read,
}

impl Verb {
    /// The operation code of a request at that place of its message.
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
