//! Errors of schedules: unknown algorithms, invalid shapes, schedules that are too large.

use thiserror::Error;

/// Why a schedule cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the message of each variant explains its fields")]
pub enum WorkloadError {
    /// No such collective, or no such algorithm for it.
    #[error("no algorithm {algorithm:?} for collective {collective:?}; known: {known}")]
    Unknown { collective: String, algorithm: String, known: String },
    /// The collective needs data that divides equally among the ranks.
    #[error("{data_bytes} bytes are not one equal share for each of {shares} ranks")]
    Indivisible { data_bytes: u64, shares: u64 },
    /// The data size is 0.
    #[error("the data size is 0 bytes; it must be positive")]
    NoData,
    /// A collective needs at least 2 ranks.
    #[error("{ranks} ranks; a collective needs at least 2")]
    TooFewRanks { ranks: u32 },
    /// The algorithm halves the ranks repeatedly.
    #[error("{ranks} ranks; the algorithm needs a power of two, such as {below} or {above}")]
    NotPowerOfTwo { ranks: u32, below: u32, above: u32 },
    /// The algorithm pairs the ranks.
    #[error("{ranks} ranks; the algorithm pairs them and needs an even number")]
    OddRanks { ranks: u32 },
    /// The root is not one of the ranks.
    #[error("root {root} is not one of the ranks 0..{ranks}")]
    NoSuchRoot { root: u32, ranks: u32 },
    /// The collective is more than messages between peers.
    #[error("{collective} has no open-loop form; those that have: {open}")]
    ClosedLoop { collective: String, open: String },
    /// Open-loop traffic so sparse, or so short, that it has no message.
    #[error("no message falls within the duration")]
    NoMessages,
    /// The schedule would not fit in memory.
    #[error("{transfers} transfers; a schedule has at most {limit}")]
    TooManyTransfers { transfers: u64, limit: u64 },
    /// NCCL has no such schedule over these servers.
    #[error("{reason}")]
    Servers { reason: String },
}
