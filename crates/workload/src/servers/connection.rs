//! Messages of a connection between two servers: each after the message that clears its buffer, with the type
//! and the times of each transfer.

use super::NcclChannels;
use crate::schedule::CLEARANCE_BYTES;
use crate::{Message, RankTimes, Schedule, ScheduleBuilder, Transfer};
use std::collections::VecDeque;
use units::TransferId;

/// Builder of the schedule, with the type and the times of each transfer.
pub(super) struct Writer {
    builder: ScheduleBuilder,
    messages: Vec<Message>,
    times: Vec<RankTimes>,
}

impl Writer {
    pub(super) fn new(transfers: u64) -> Self {
        Self {
            builder: ScheduleBuilder::with_capacity(transfers, transfers),
            messages: Vec::with_capacity(transfers as usize),
            times: Vec::with_capacity(transfers as usize),
        }
    }

    fn push(
        &mut self,
        transfer: Transfer,
        after: &[TransferId],
        message: Message,
        times: RankTimes,
    ) -> TransferId {
        self.messages.push(message);
        self.times.push(times);
        self.builder.push(transfer, after)
    }

    pub(super) fn finish(self) -> Schedule {
        self.builder.finish().of_messages(self.messages).of_rank_times(self.times)
    }
}

/// A connection of a channel from one server to another.
#[derive(Clone, Default)]
pub(super) struct Connection {
    /// The last messages, as many as the receiver has buffers.
    last: VecDeque<TransferId>,
}

impl Connection {
    /// Adds a message that forwards `received`, if any, and before it the one that clears its buffer.
    pub(super) fn push(
        &mut self,
        writer: &mut Writer,
        channels: &NcclChannels,
        message: Transfer,
        received: Option<TransferId>,
        times: RankTimes,
    ) -> TransferId {
        let freed = match self.last.len() < channels.window_messages as usize {
            true => None,
            false => self.last.pop_front(),
        };
        let cleared = freed.map(|freed| {
            let clearance = Transfer {
                src: message.dst,
                dst: message.src,
                bytes: CLEARANCE_BYTES,
                channel: message.channel + channels.channels.len() as u32,
                ..message
            };
            writer.push(clearance, &[freed], Message::Cts, RankTimes::default())
        });
        let id = match (received, cleared) {
            (Some(received), Some(cleared)) => {
                writer.push(message, &[received, cleared], Message::Payload, times)
            }
            (only, other) => writer.push(message, only.or(other).as_slice(), Message::Payload, times),
        };
        self.last.push_back(id);
        id
    }
}
