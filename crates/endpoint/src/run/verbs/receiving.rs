//! The end of a queue pair that receives: the immediate value of a write tells which chunk has arrived.
//!
//! Whoever looks at bytes must do so before others are written over them, and must not take bytes of an earlier
//! message for those of this one. So a message has one of several slots in turn, and a slot that was looked at is
//! filled with what is wrong everywhere. Then the receiver tells how many messages it has looked at, by a write
//! without bytes whose immediate value that is; the sender writes no further ahead of it than there are slots.

use super::address::Target;
use crate::Pattern;
use crate::memory::differences;
use crate::run::driver::{Event, ReceivedCounts};
use crate::verbs::{QueuePair, Registered, WorkList, Write};
use std::io;
use units::Instant;

/// Writes that may tell of themselves before the receiver has taken it in.
pub(super) const RECEIVES: u32 = 64;
/// Slots of a receiver that verifies.
pub(super) const SLOTS: u32 = 4;
/// Receives are posted again when there are so many of them.
const RECEIVES_AT_ONCE: u32 = 16;
/// Bytes looked at in one go.
const LOOK_BYTES: usize = 64 << 10;

/// The end that receives.
pub(super) struct Receiver {
    pub(super) queue_pair: QueuePair,
    /// Its number in the run, and what peers know of its end.
    pub(super) number: u32,
    pub(super) target: Target,
    id: u64,
    /// Receives that are to be posted again, of all.
    used: u32,
    receives: u32,
    check: Option<Check>,
    /// Messages that the sender knows, or will know, to have been looked at.
    told: u32,
    /// The sender is being told.
    is_telling: bool,
}

/// What somebody looks at.
struct Check {
    /// What each slot is to have.
    expected: Pattern,
    /// What is wrong everywhere.
    wrong: Vec<u8>,
    /// Where the first slot is in the memory [bytes].
    from: usize,
    messages: u32,
    /// Of the chunk that arrives.
    bytes: u64,
    wrong_bytes: u64,
    /// Of all.
    wrong_bytes_in_all: u64,
}

impl Receiver {
    /// One whose slots are at that place of the memory; `expected` is what is in them where somebody looks.
    pub(super) fn new(
        queue_pair: QueuePair,
        id: u64,
        (number, target): (u32, Target),
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
            wrong_bytes_in_all: 0,
        });
        Self { queue_pair, number, target, id, used: receives, receives, check, told: 0, is_telling: false }
    }

    /// Nothing is in its slots yet that could pass for what is to come.
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

    /// A message has arrived; tells if a chunk of `planned` bytes has.
    pub(super) fn on_written(
        &mut self,
        (chunk, bytes): (u32, u32),
        planned: Option<u64>,
        memory: &Registered,
        at: Instant,
    ) -> Option<Event> {
        self.used += 1;
        let Some(check) = &mut self.check else {
            return Some(Event::Arrived { chunk, at, seen: ReceivedCounts::default() });
        };
        // The number wraps around in step with the slots, whose count is a power of two.
        let slot = u64::from(check.messages % self.target.memory.count);
        check.messages = check.messages.wrapping_add(1);
        check.look(
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

    /// Posts receives that were used, if there are enough of them, or few left.
    pub(super) fn post_receives(&mut self) -> io::Result<()> {
        if self.used < RECEIVES_AT_ONCE.min(self.receives.div_ceil(4)) {
            return Ok(());
        }
        self.queue_pair.post_receives(self.id, std::mem::take(&mut self.used))
    }

    /// Tells the sender how many messages were looked at, unless it is being told still.
    pub(super) fn tell(&mut self, list: &mut WorkList) -> io::Result<()> {
        let Some(check) = self.check.as_ref().filter(|check| check.messages != self.told) else {
            return Ok(());
        };
        if self.is_telling {
            return Ok(());
        }
        (self.is_telling, self.told) = (true, check.messages);
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

    /// The sender has been told.
    pub(super) fn on_told(&mut self, list: &mut WorkList) -> io::Result<()> {
        self.is_telling = false;
        self.tell(list)
    }

    /// Bytes so far that were not what they were to be.
    pub(super) fn wrong_bytes(&self) -> u64 {
        self.check.as_ref().map_or(0, |check| check.wrong_bytes_in_all)
    }
}

impl Check {
    /// Compares so many bytes of a slot, and makes them wrong.
    fn look(&mut self, memory: &Registered, slot: usize, bytes: u64) {
        let mut found = [0; LOOK_BYTES];
        let expected = &self.expected.bytes()[..bytes as usize];
        let mut wrong_bytes = 0;
        for (place, expected) in expected.chunks(LOOK_BYTES).enumerate() {
            let found = &mut found[..expected.len()];
            memory.read(self.from + slot + place * LOOK_BYTES, found);
            wrong_bytes += differences(found, expected);
        }
        self.clear(memory, slot, bytes as usize);
        self.bytes += bytes;
        self.wrong_bytes += wrong_bytes;
        self.wrong_bytes_in_all += wrong_bytes;
    }

    fn clear(&self, memory: &Registered, slot: usize, bytes: usize) {
        memory.write(self.from + slot, &self.wrong[..bytes]);
    }
}
