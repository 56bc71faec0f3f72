//! State of the features that most ports of NICs do not use: pause frames to send, credits of InfiniBand, TCP,
//! an impaired rate, scheduling with delays.

use super::scheduling::Scheduling;
use crate::link::credits::Credits;
use crate::nic::tcp::TcpLane;
use crate::packet::Packet;
use engine::Ring;
use units::{Instant, Rate, State};

/// State of the features that most ports do not use.
#[derive(Debug, Default, State)]
pub(super) struct PortOptions {
    /// Pause frames, sent before everything else.
    pub(super) urgent: Ring<Packet>,
    /// On InfiniBand.
    pub(super) credits: Option<Credits>,
    /// Queued TCP segments and acknowledgements.
    #[state(only_if = TcpLane::is_empty)]
    pub(super) tcp: TcpLane,
    /// Maximum rate of payload of an impaired NIC.
    pub(super) pace: Option<Rate>,
    /// Time from which payload may be sent again.
    pub(super) data_at: Instant,
    pub(super) scheduling: Option<Box<Scheduling>>,
    #[state(count)]
    pub(super) pauses_sent: u64,
    #[state(count)]
    pub(super) resumes_sent: u64,
    #[state(count)]
    pub(super) pause_frames_sent: u64,
}

impl PortOptions {
    /// Time of the next transmission of a port that would send a control packet or payload at `next`.
    #[cold]
    pub(super) fn next_send(&self, next: Instant, now: Instant, is_control: bool) -> Instant {
        let next = if is_control || next == Instant::NEVER { next } else { next.max(self.data_at) };
        let urgent = if self.urgent.is_empty() { Instant::NEVER } else { now };
        let tcp = if self.tcp.is_empty() { Instant::NEVER } else { now.max(self.data_at) };
        let update = self.credits.as_ref().map_or(Instant::NEVER, Credits::update_due).max(now);
        next.min(urgent).min(tcp).min(update)
    }
}
