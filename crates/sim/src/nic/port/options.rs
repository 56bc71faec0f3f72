//! State of the features that most ports of NICs do not use: pause frames to send, credits of InfiniBand,
//! lanes of other connections, an impaired rate, and scheduling that sends several packets of a queue pair in a row, spaces
//! messages, or delays frames at random.

use super::lane::Lanes;
use crate::link::credits::Credits;
use crate::packet::{Packet, Priority};
use engine::Ring;
use units::{ByteTime, Carry, Instant, Rate, Span, State, Stream};

/// State of the features that most ports do not use.
#[derive(Debug, Default, State)]
pub(super) struct PortOptions {
    /// Pause frames, sent before everything else.
    pub(super) urgent: Ring<Packet>,
    /// On InfiniBand.
    pub(super) credits: Option<Credits>,
    /// Connections of other kinds and priorities.
    #[state(only_if = Lanes::are_empty)]
    pub(super) lanes: Lanes,
    /// Maximum rate of payload of an impaired NIC.
    pub(super) pace: Option<Rate>,
    /// Time from which payload may be sent again.
    pub(super) data_at: Instant,
    pub(super) scheduling: Option<Box<Scheduling>>,
    /// Pause frames requested with quanta other than zero, and with zero quanta, by priority.
    #[state(count)]
    pub(super) pauses_sent: [u64; Priority::COUNT],
    #[state(count)]
    pub(super) resumes_sent: [u64; Priority::COUNT],
    #[state(count)]
    pub(super) pause_frames_sent: u64,
}

impl PortOptions {
    /// Time of the next transmission of a port that would send a control packet or payload at `next`, with the
    /// priorities in `paused` paused.
    #[cold]
    pub(super) fn next_send(&self, next: Instant, now: Instant, is_control: bool, paused: u8) -> Instant {
        let next = if is_control || next == Instant::NEVER { next } else { next.max(self.data_at) };
        let urgent = if self.urgent.is_empty() { Instant::NEVER } else { now };
        let ready = if self.lanes.are_ready(paused) { now } else { self.lanes.next_deferred().max(now) };
        let in_lanes = if ready == Instant::NEVER { ready } else { ready.max(self.data_at) };
        let update = self.credits.as_ref().map_or(Instant::NEVER, Credits::update_due).max(now);
        next.min(urgent).min(in_lanes).min(update)
    }
}

/// Parameters of the scheduling of payload at a port, unless it is packet by packet without delays.
#[derive(Clone, Debug)]
pub(crate) struct SchedulingPlan {
    /// Packets that a queue pair sends before the next one is served.
    pub(crate) packets: u32,
    /// Minimum time between the first frames of consecutive messages.
    pub(crate) message_interval: Span,
    /// Upper limit of the random delay of each frame.
    pub(crate) jitter: Span,
    /// Random stream of the delays.
    pub(crate) stream: Stream,
    /// The byte time is no whole number of picoseconds, and the remainder is compensated.
    pub(crate) is_exact: bool,
}

/// State of the scheduling of payload at a port.
#[derive(Debug, State)]
pub(super) struct Scheduling {
    #[state(skip)]
    pub(super) plan: SchedulingPlan,
    /// Packets that the first active sender has sent since it became the first.
    pub(super) sent: u32,
    /// Fractions of a picosecond left over: on the link, and in the pacing of an impaired NIC.
    pub(super) link_remainder: Carry,
    pacing: Carry,
    /// Time of the next frame if the earlier ones had no jitter.
    pub(super) due: Instant,
    /// Time, before jitter, of the frame for which jitter was drawn.
    pub(super) drawn: Option<Instant>,
}

impl Scheduling {
    pub(super) fn new(plan: SchedulingPlan) -> Self {
        let (link_remainder, pacing) = (Carry::default(), Carry::default());
        Self { plan, sent: 0, link_remainder, pacing, due: Instant::ZERO, drawn: None }
    }

    /// Counts a packet sent by the served queue pair; returns whether it sends the next one, too.
    pub(super) const fn continues(&mut self) -> bool {
        self.sent += 1;
        let continues = self.sent < self.plan.packets;
        if !continues {
            self.sent = 0;
        }
        continues
    }

    /// Time at which a frame leaves that could leave at `now`, if other frames occupied the port until
    /// `held_until`.
    pub(super) fn departure(&mut self, now: Instant, held_until: Instant) -> Instant {
        if self.plan.jitter == Span::ZERO || self.drawn.is_some() {
            return now;
        }
        // A frame that had to wait for others is due when they would have finished without jitter.
        let due = if now <= held_until { self.due.min(now) } else { now };
        self.drawn = Some(due);
        (due + Span(self.plan.stream.below(self.plan.jitter.0 + 1))).max(now)
    }

    /// Remainder of the pacing time of a frame of an impaired NIC.
    pub(super) const fn pace_remainder(&mut self, pace: ByteTime, bytes: u32) -> Span {
        if self.plan.is_exact { self.pacing.next(pace, bytes) } else { Span::ZERO }
    }
}
