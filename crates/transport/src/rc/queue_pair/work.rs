//! Work requests of a queue pair, their completions, payload locations and counters.

/// Number of a work request on its queue pair, counted from 0 in the order of posting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkId(pub u64);

/// Status of completed work. The names are from IBTA vol. 1, 10.10 and 11.6.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Completed.
    Success,
    /// No answer from the peer during all retries.
    RetryExceeded,
    /// The peer had no receive posted during all retries.
    RnrRetryExceeded,
    /// The peer does not permit access to the memory.
    RemoteAccess,
    /// The peer rejected the request as invalid.
    RemoteInvalidRequest,
    /// The peer failed.
    RemoteOperational,
    /// The peer's response to a READ does not match the request.
    BadResponse,
    /// Not completed, or not known to be: the queue pair failed for another reason.
    Flushed,
}

/// Completion of a work request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The work request.
    pub work: WorkId,
    /// Its status.
    pub status: Status,
    /// Bytes transferred; for a receive the size of the message, which is one packet under selective
    /// recovery. 0 without success.
    pub bytes: u64,
    /// For a receive, the immediate data of the message.
    pub immediate: Option<u32>,
}

impl Completion {
    /// A completion without immediate data.
    pub(super) const fn new(work: WorkId, status: Status, bytes: u64) -> Self {
        Self { work, status, bytes, immediate: None }
    }
}

/// Target of the payload of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// In the registered memory, from this address on; the payload fits.
    Memory {
        /// Address of the first byte.
        address: u64,
    },
    /// In the buffer of a READ; the payload fits.
    Read {
        /// The READ.
        work: WorkId,
        /// Offset of the first byte in the buffer.
        offset_bytes: u64,
    },
    /// In the buffer of a posted receive; the payload fits.
    Receive {
        /// The receive.
        work: WorkId,
        /// Offset of the first byte in the buffer.
        offset_bytes: u64,
    },
}

/// Payload that the driver must copy to its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Target of the payload.
    pub target: Target,
    /// Length: all the payload of the packet [bytes].
    pub bytes: u32,
}

/// Payload bytes of a packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Location of the bytes.
    pub origin: Origin,
    /// Number of bytes; 0 for a READ request.
    pub bytes: u32,
}

/// Location of the payload of a packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// In the buffer of a work request.
    Work {
        /// The work request.
        work: WorkId,
        /// Offset in its buffer.
        offset_bytes: u64,
    },
    /// In the registered memory, which the peer reads.
    Memory {
        /// Address of the first byte.
        address: u64,
    },
}

/// Statistics of a queue pair since its creation, in packets unless stated otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Requests sent: packets of SENDs and WRITEs, and READ requests.
    pub data_sent: u64,
    /// Size of their Ethernet frames, from the destination address to the FCS [bytes].
    pub data_sent_bytes: u64,
    /// Requests sent again.
    pub retransmits: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Requests received, including dropped ones.
    pub data_received: u64,
    /// Size of their Ethernet frames, from the destination address to the FCS [bytes].
    pub data_received_bytes: u64,
    /// Requests received that had been placed before.
    pub duplicates: u64,
    /// Requests received before a missing one, placed or not.
    pub out_of_order: u64,
    /// Requests received that a switch had marked.
    pub marks: u64,
    /// Responses to READs sent.
    pub responses_sent: u64,
    /// Responses to READs received, including dropped ones.
    pub responses_received: u64,
    /// ACKs sent.
    pub acks_sent: u64,
    /// NAKs sent, including RNR NAKs.
    pub naks_sent: u64,
    /// NAKs received, including RNR NAKs.
    pub naks_received: u64,
    /// Congestion notifications sent.
    pub cnps_sent: u64,
    /// Congestion notifications received.
    pub cnps_received: u64,
    /// Packets dropped without inspection: for another queue pair or partition, after a failure, or of a kind
    /// that is not processed.
    pub ignored: u64,
}
