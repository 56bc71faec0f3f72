//! What happened in a run.

use fabricbench_transport::{AckOutcome, Arrival, Disposition, NextPacket, Reply, TimeoutOutcome, Transmit};
use std::fmt;
use units::{Instant, Span};

/// A data packet under way, with the work request it belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) transmit: Transmit,
    /// Work requests posted before its own.
    pub(crate) request: usize,
}

/// One thing that happened.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// A work request was posted [bytes].
    Posted(u64),
    /// The requester sent a packet and has so many outstanding now.
    Sent { frame: Frame, outstanding: u64 },
    /// A packet reached the responder.
    Arrived { frame: Frame, arrival: Arrival },
    /// A reply reached the requester.
    Heard { reply: Reply, outcome: AckOutcome },
    /// A data packet that nobody sent reached the responder.
    ForgedData(Arrival),
    /// A reply that nobody sent reached the requester.
    ForgedReply(AckOutcome),
    /// The timer went off.
    Expired(TimeoutOutcome),
}

/// Everything that happened, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    pub(crate) steps: Vec<(Instant, Step)>,
}

impl History {
    pub(crate) fn record(&mut self, now: Instant, step: Step) {
        self.steps.push((now, step));
    }

    /// Bytes of each work request.
    pub(crate) fn posted(&self) -> Vec<u64> {
        self.pick(|step| if let Step::Posted(bytes) = step { Some(bytes) } else { None }).collect()
    }

    /// Packets sent.
    pub(crate) fn sent(&self) -> impl Iterator<Item = Frame> {
        self.pick(|step| if let Step::Sent { frame, .. } = step { Some(frame) } else { None })
    }

    /// Judgements of the responder.
    pub(crate) fn judged(&self) -> impl Iterator<Item = Arrival> {
        self.pick(|step| match step {
            Step::Arrived { arrival, .. } | Step::ForgedData(arrival) => Some(arrival),
            _ => None,
        })
    }

    /// Packets that reached the responder, with its judgement.
    pub(crate) fn arrived(&self) -> impl Iterator<Item = (Frame, Arrival)> {
        self.pick(
            |step| {
                if let Step::Arrived { frame, arrival } = step { Some((frame, arrival)) } else { None }
            },
        )
    }

    /// Replies of the responder.
    pub(crate) fn replies(&self) -> impl Iterator<Item = Reply> {
        self.judged().filter_map(|arrival| arrival.reply)
    }

    /// When the timer went off, and what came of it.
    pub(crate) fn timeouts(&self) -> Vec<(Instant, TimeoutOutcome)> {
        let expired = self.steps.iter().filter_map(|&(at, step)| match step {
            Step::Expired(outcome) => Some((at, outcome)),
            _ => None,
        });
        expired.collect()
    }

    /// Work requests completed.
    pub(crate) fn completed(&self) -> usize {
        let outcomes =
            self.pick(|step| if let Step::Heard { outcome, .. } = step { Some(outcome) } else { None });
        outcomes.map(|outcome| outcome.completed as usize).sum()
    }

    /// One line for each step.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.steps.iter().map(|(at, step)| format!("{} {step}", Span(at.0))).collect()
    }

    fn pick<T>(&self, choose: impl Fn(Step) -> Option<T>) -> impl Iterator<Item = T> {
        self.steps.iter().filter_map(move |&(_, step)| choose(step))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Posted(bytes) => write!(f, "post {bytes}"),
            Self::Sent { frame, .. } => {
                let Transmit { packet, offset_bytes, .. } = frame.transmit;
                let NextPacket { psn, position, payload_bytes, .. } = packet;
                let again = if frame.transmit.packet.is_retransmission { " again" } else { "" };
                write!(f, "send {psn} {position:?} {offset_bytes}+{payload_bytes}{again}")
            }
            Self::Arrived { frame, arrival } => {
                write!(f, "data {} {}", frame.transmit.packet.psn, ArrivalText(*arrival))
            }
            Self::Heard { reply, outcome } => {
                write!(f, "hear {}{}", ReplyText(*reply), OutcomeText(*outcome))
            }
            Self::ForgedData(arrival) => write!(f, "forged data {}", ArrivalText(*arrival)),
            Self::ForgedReply(outcome) => write!(f, "forged reply{}", OutcomeText(*outcome)),
            Self::Expired(outcome) => write!(f, "timeout {outcome:?}"),
        }
    }
}

struct ReplyText(Reply);

impl fmt::Display for ReplyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Reply::Ack(psn) => write!(f, "ACK {psn}"),
            Reply::Nak(psn) => write!(f, "NAK {psn}"),
            Reply::SelectiveAck { newest, highest } => write!(f, "ACK {newest} of {highest}"),
            Reply::SelectiveNak { newest, missing } => write!(f, "NAK {missing} after {newest}"),
        }
    }
}

struct ArrivalText(Arrival);

impl fmt::Display for ArrivalText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let disposition = match self.0.disposition {
            Disposition::Accepted => "accepted",
            Disposition::Placed => "placed",
            Disposition::Duplicate => "duplicate",
            Disposition::OutOfOrder => "out of order",
        };
        f.write_str(disposition)?;
        self.0.reply.map_or(Ok(()), |reply| write!(f, ", {}", ReplyText(reply)))
    }
}

struct OutcomeText(AckOutcome);

impl fmt::Display for OutcomeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            AckOutcome { packets: 0, .. } => write!(f, ", nothing new"),
            AckOutcome { completed: 0, .. } => Ok(()),
            AckOutcome { completed, .. } => write!(f, ", completes {completed}"),
        }
    }
}
