//! Receiving end of a queue pair: receives chunks (parts of transfers), whose numbers are immediate data;
//! verifies them if enabled.
//!
//! A verifying receiver must check bytes before they are overwritten, and must not mistake bytes of an
//! earlier message for those of the current one. Therefore messages use several slots cyclically, and a
//! checked slot is filled with the complement of the expected bytes. The receiver then returns credit: an
//! empty write whose immediate data is the number of messages checked. The sender writes at most one message
//! per slot ahead of it.

use super::address::Target;
use crate::Pattern;
use crate::memory::differences;
use crate::run::driver::{Event, ReceivedCounts};
use crate::run::messages::Messages;
use crate::verbs::{QueuePair, Registered, WorkList, Write};
use std::io;
use units::Instant;

/// Posted receives: writes with immediate data that may arrive before the receiver polls.
pub(super) const RECEIVES: u32 = 64;
/// The same of an unreliable connection, which drops a message for which none is posted.
pub(super) const UNRELIABLE_RECEIVES: u32 = 4_096;
/// Number of slots of a verifying receiver.
pub(super) const SLOTS: u32 = 4;
/// Minimum number of receives that are reposted together.
const RECEIVES_AT_ONCE: u32 = 16;
/// Bytes compared per step.
const COMPARED_BYTES: usize = 64 << 10;

/// Receiving end of a queue pair of the adapter.
pub(super) struct Receiver {
    pub(super) queue_pair: QueuePair,
    /// Number of the queue pair in the run.
    pub(super) number: u32,
    pub(super) target: Target,
    id: u64,
    /// Consumed receives that are not reposted yet.
    used: u32,
    receives: u32,
    check: Option<Check>,
    /// Of an unreliable connection.
    messages: Option<Messages>,
    /// Number of checked messages in the latest credit.
    credited: u32,
    /// Whether a credit is in flight.
    is_credit_in_flight: bool,
}

/// An arrived message.
pub(super) struct Written {
    pub(super) immediate: u32,
    pub(super) bytes: u32,
    /// Size of the chunk whose number is the immediate data; `None` if it is not of this queue pair.
    pub(super) planned: Option<u64>,
}

/// Verification of received messages.
struct Check {
    /// Expected content of each slot.
    expected: Pattern,
    /// Its complement: wrong in every byte.
    wrong: Vec<u8>,
    /// Offset of the first slot in the memory [bytes].
    from: usize,
    messages: u32,
    /// Bytes of the current chunk.
    bytes: u64,
    wrong_bytes: u64,
    /// Wrong bytes of all chunks.
    total_wrong_bytes: u64,
}

impl Receiver {
    /// A receiver; `expected` is the content of its slots and their offset in the memory, if verified.
    pub(super) fn new(
        queue_pair: QueuePair,
        id: u64,
        number: u32,
        target: Target,
        receives: u32,
        expected: Option<(Pattern, usize)>,
    ) -> Self {
        let check = expected.map(|(expected, from)| Check {
            wrong: expected.bytes().iter().map(|byte| !byte).collect(),
            expected,
            from,
            messages: 0,
            bytes: 0,
            wrong_bytes: 0,
            total_wrong_bytes: 0,
        });
        Self {
            queue_pair,
            number,
            target,
            id,
            used: receives,
            receives,
            check,
            messages: None,
            credited: 0,
            is_credit_in_flight: false,
        }
    }

    /// Fills all slots with bytes that cannot pass verification.
    pub(super) fn clear(&self, memory: &Registered) {
        if let Some(check) = &self.check {
            for slot in 0..u64::from(self.target.memory.count) {
                check.clear(
                    memory,
                    (slot * self.target.memory.bytes) as usize,
                    self.target.memory.bytes as usize,
                );
            }
        }
    }

    /// Makes it the receiver of an unreliable connection.
    pub(super) fn set_messages(&mut self, messages: Messages) {
        self.messages = Some(messages);
    }

    /// The run has ended: appends an event for a chunk that an unreliable connection has received in part.
    pub(super) fn end(&mut self, events: &mut Vec<Event>) {
        if let Some(messages) = &mut self.messages {
            messages.on_stop(ReceivedCounts::default(), events);
        }
    }

    /// Handles an arrived message; appends an event if a chunk is complete.
    pub(super) fn on_written(
        &mut self,
        written: &Written,
        memory: &Registered,
        at: Instant,
        events: &mut Vec<Event>,
    ) {
        self.used += 1;
        match &mut self.messages {
            Some(messages) => messages.on_message(written.immediate, at, ReceivedCounts::default(), events),
            None => events.extend(self.chunk_of(written, memory, at)),
        }
    }

    /// The chunk that is complete with an arrived message of a reliable connection.
    fn chunk_of(&mut self, written: &Written, memory: &Registered, at: Instant) -> Option<Event> {
        let &Written { immediate: chunk, bytes, planned } = written;
        let Some(check) = &mut self.check else {
            return Some(Event::Arrived { chunk, at, seen: ReceivedCounts::default() });
        };
        // The count wraps around in step with the slots, because their number is a power of two.
        let slot = u64::from(check.messages % self.target.memory.count);
        check.messages = check.messages.wrapping_add(1);
        check.verify(
            memory,
            (slot * self.target.memory.bytes) as usize,
            u64::from(bytes).min(self.target.memory.bytes),
        );
        if planned.is_some_and(|planned| check.bytes < planned) {
            return None;
        }
        let is_verified = Some(check.wrong_bytes == 0 && planned == Some(check.bytes));
        (check.bytes, check.wrong_bytes) = (0, 0);
        Some(Event::Arrived { chunk, at, seen: ReceivedCounts { is_verified, ..ReceivedCounts::default() } })
    }

    /// Reposts consumed receives if there are enough of them, or few are left.
    pub(super) fn post_receives(&mut self) -> io::Result<()> {
        if self.used < RECEIVES_AT_ONCE.min(self.receives.div_ceil(4)) {
            return Ok(());
        }
        self.queue_pair.post_receives(self.id, std::mem::take(&mut self.used))
    }

    /// Sends the number of checked messages as credit, unless a credit is in flight.
    pub(super) fn send_credit(&mut self, list: &mut WorkList) -> io::Result<()> {
        let Some(check) = self.check.as_ref().filter(|check| check.messages != self.credited) else {
            return Ok(());
        };
        if self.is_credit_in_flight {
            return Ok(());
        }
        (self.is_credit_in_flight, self.credited) = (true, check.messages);
        list.clear();
        list.push(&Write {
            id: self.id,
            from: (0, 0),
            to: (0, 0),
            bytes: 0,
            immediate: Some(check.messages),
            is_signalled: true,
        });
        self.queue_pair.post(list)
    }

    /// Handles the completion of a credit.
    pub(super) fn on_credit_sent(&mut self, list: &mut WorkList) -> io::Result<()> {
        self.is_credit_in_flight = false;
        self.send_credit(list)
    }

    /// Bytes so far that differ from the expected ones.
    pub(super) fn wrong_bytes(&self) -> u64 {
        self.check.as_ref().map_or(0, |check| check.total_wrong_bytes)
    }
}

impl Check {
    /// Compares `bytes` bytes of a slot, then clears it.
    fn verify(&mut self, memory: &Registered, slot: usize, bytes: u64) {
        let mut buffer = [0; COMPARED_BYTES];
        let expected = &self.expected.bytes()[..bytes as usize];
        let mut wrong_bytes = 0;
        for (index, expected) in expected.chunks(COMPARED_BYTES).enumerate() {
            let received = &mut buffer[..expected.len()];
            memory.read(self.from + slot + index * COMPARED_BYTES, received);
            wrong_bytes += differences(received, expected);
        }
        self.clear(memory, slot, bytes as usize);
        self.bytes += bytes;
        self.wrong_bytes += wrong_bytes;
        self.total_wrong_bytes += wrong_bytes;
    }

    fn clear(&self, memory: &Registered, slot: usize, bytes: usize) {
        memory.write(self.from + slot, &self.wrong[..bytes]);
    }
}
