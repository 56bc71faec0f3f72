//! How the transfers of a host are set up.

use units::{Instant, Span};

/// A transfer that starts at a host.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OutgoingPlan {
    /// Its rank, among those of the host.
    pub(crate) process: u32,
    /// The transfer that waits for its acknowledgement.
    pub(crate) next: Option<u32>,
}

/// A transfer that ends at a host.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InboundPlan {
    /// Its rank, among those of the host.
    pub(crate) process: u32,
    /// What waits for it, in [`TransfersPlan::successors`]: the first, and how many.
    pub(crate) successors: (u32, u32),
}

/// One past the last transfers of a phase.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PhaseEnd {
    pub(crate) outgoing: u32,
    pub(crate) inbound: u32,
}

/// The transfers of a host, in the order of the schedule.
#[derive(Clone, Debug, Default)]
pub(crate) struct TransfersPlan {
    pub(crate) times: JobTimes,
    /// Ranks on the host.
    pub(crate) processes: u32,
    /// Parts of each transfer.
    pub(crate) split: u32,
    pub(crate) outgoing: Vec<OutgoingPlan>,
    pub(crate) inbound: Vec<InboundPlan>,
    /// Outgoing transfers that wait for an inbound one.
    pub(crate) successors: Vec<u32>,
    /// Sender and send of each part, transfer by transfer.
    pub(crate) parts: Vec<(u32, u32)>,
    /// Where the phases of a cycle end; empty where there is one alone.
    pub(crate) phase_ends: Vec<PhaseEnd>,
    /// When each outgoing transfer of open-loop traffic is posted, ascending; empty where dependencies decide.
    pub(crate) releases: Vec<Instant>,
}

/// When and how often the job of a host runs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct JobTimes {
    /// When it starts.
    pub(crate) start: Instant,
    /// Software overhead before each post.
    pub(crate) overhead: Span,
    /// Time for which a rank is busy with each message that it sends.
    pub(crate) send_overhead: Span,
    /// Time for which a rank is busy with each message that has arrived.
    pub(crate) receive_overhead: Span,
    /// Time for which a rank copies its own block at the beginning of a round.
    pub(crate) own_copy: Span,
    /// Phases it runs, rounds and barriers between them; without a number, it is the others that end it.
    pub(crate) phases: Option<u32>,
    /// Its number.
    pub(crate) job: u32,
    /// Rounds that are not measured.
    pub(crate) warm_up_rounds: u32,
    /// Every second phase is a barrier.
    pub(crate) has_barriers: bool,
}

impl JobTimes {
    /// The round that a phase is, unless it is a barrier.
    pub(super) const fn round_of(&self, phase: u32) -> Option<u32> {
        match self.has_barriers {
            false => Some(phase),
            true if phase.is_multiple_of(2) => Some(phase / 2),
            true => None,
        }
    }
}
