//! Messages between ranks on one host: copies them in shared memory, without the NIC, and reports their
//! arrival.
//!
//! Each rank copies one message after the other at the given rate. A message arrives a fixed latency later,
//! when sender and receiver are both notified. Leaves out contention for memory bandwidth among the ranks of
//! a host, and caches that make small copies faster.

use super::ledger::{Frames, WorkId};
use super::{Host, Timer};
use crate::nic::Context;
use units::Instant;

impl Host {
    /// Posts every next chunk of a sender within the host that is ready.
    #[inline(never)]
    pub(super) fn post_local(&mut self, sender: u32, now: Instant) {
        while let Some(send) = self.post_next_local(sender, now) {
            let bytes = self.sends.bytes_of(send);
            let arrival = self.jobs.copy(self.sends.outgoing_of(send), now, bytes);
            self.timers.push(arrival, Timer::Local(sender));
        }
    }

    /// The oldest chunk of a sender within the host has arrived.
    pub(super) fn finish_local(&mut self, sender: u32, now: Instant, context: &mut Context) {
        let (receiver, completed) = self.end_local(sender);
        completed.clone().for_each(|send| self.end_send(send, Frames::default(), now, context));
        let counts = |send: &WorkId| !self.jobs.is_background(self.sends.outgoing_of(*send));
        let bytes = completed.clone().filter(counts).map(|send| self.sends.bytes_of(send).max(1)).sum();
        if bytes > 0 {
            context.totals.add_progress(bytes, now);
        }
        self.deliver_local(receiver, now, context);
        self.acknowledge(completed, now, context);
    }
}
