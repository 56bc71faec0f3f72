//! What is posted to a queue pair, and what it tells of it.

/// A work request of a queue pair: counted up from 0 in the order in which they were posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkId(pub u64);

/// How work ended. IBTA vol. 1, 10.10 and 11.6.2 have the names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Carried out.
    Success,
    /// Nothing was heard of the peer for all retries.
    RetryExceeded,
    /// The peer had no receive posted for all retries.
    RnrRetryExceeded,
    /// The peer does not give access to that memory.
    RemoteAccess,
    /// The peer could make nothing of the request.
    RemoteInvalidRequest,
    /// The peer failed.
    RemoteOperational,
    /// The peer answered a READ with something else than what was asked for.
    BadResponse,
    /// Not carried out, or not known to be: the queue pair failed over something else.
    Flushed,
}

/// The end of a work request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Which one.
    pub work: WorkId,
    /// How it ended.
    pub status: Status,
    /// What it moved: of a receive, the size of the message, which is a packet under selective recovery
    /// [bytes]. 0 without success.
    pub bytes: u64,
    /// Of a receive, what the peer has sent beside the message.
    pub immediate: Option<u32>,
}

impl Completion {
    /// The end of a work request without immediate data.
    pub(super) const fn new(work: WorkId, status: Status, bytes: u64) -> Self {
        Self { work, status, bytes, immediate: None }
    }
}

/// Where the payload of a packet belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// From this address of the registered memory on, in which all of it lies.
    Memory {
        /// Address of its first byte.
        address: u64,
    },
    /// In what a READ fills, which has room for it.
    Read {
        /// The READ.
        work: WorkId,
        /// Place of its first byte.
        offset_bytes: u64,
    },
    /// In the buffer of a posted receive, in which all of it lies.
    Receive {
        /// The receive.
        work: WorkId,
        /// Place of its first byte in the buffer.
        offset_bytes: u64,
    },
}

/// Payload for the driver to copy to its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Where it belongs.
    pub target: Target,
    /// How much it is: all the payload of the packet [bytes].
    pub bytes: u32,
}

/// Which bytes a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Where they are.
    pub origin: Origin,
    /// How many; a READ request brings none.
    pub bytes: u32,
}

/// Where the bytes of a packet are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// In a work request.
    Work {
        /// Which one.
        work: WorkId,
        /// From where on in it.
        offset_bytes: u64,
    },
    /// In the registered memory: the peer reads them.
    Memory {
        /// Address of the first.
        address: u64,
    },
}

/// What a queue pair has seen since it was made, in packets unless said otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Requests sent: packets of SENDs and WRITEs, and those that ask for a READ.
    pub data_sent: u64,
    /// Their Ethernet frames, from the destination address to the FCS [bytes].
    pub data_sent_bytes: u64,
    /// Those of them that had been sent before.
    pub retransmits: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Requests received, whatever became of them.
    pub data_received: u64,
    /// Their Ethernet frames, from the destination address to the FCS [bytes].
    pub data_received_bytes: u64,
    /// Those of them that had been placed before.
    pub duplicates: u64,
    /// Those of them that came ahead of a missing one, placed or not.
    pub out_of_order: u64,
    /// Those of them that a switch had marked.
    pub marks: u64,
    /// Responses to READs sent.
    pub responses_sent: u64,
    /// Responses to READs received, whatever became of them.
    pub responses_received: u64,
    /// ACKs sent.
    pub acks_sent: u64,
    /// NAKs sent, those of receivers that are not ready included.
    pub naks_sent: u64,
    /// NAKs received, those of receivers that are not ready included.
    pub naks_received: u64,
    /// Congestion notifications sent.
    pub cnps_sent: u64,
    /// Congestion notifications received.
    pub cnps_received: u64,
    /// Dropped without a look: for another queue pair or partition, after a failure, or nothing that is
    /// answered.
    pub ignored: u64,
}
