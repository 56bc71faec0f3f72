//! How a host gets from what has arrived or was acknowledged to what is posted next.

use super::{Host, Timer};
use crate::kernel::Context;
use crate::packet::Packet;
use crate::record::Record;
use std::cmp::Reverse;
use std::ops::Range;
use units::{Instant, Span};

impl Host {
    /// Begins the rounds whose turn it is at this host.
    #[inline]
    pub(super) fn start_rounds(&mut self, now: Instant, context: &mut Context<Packet, Record>) {
        let mut started = std::mem::take(&mut self.transfers.started);
        while self.transfers.next_round(&mut started) {
            self.rearm_senders();
            self.start_transfers(started, now, context);
            started = std::mem::take(&mut self.transfers.started);
        }
        self.transfers.started = started;
    }

    fn rearm_senders(&mut self) {
        let mut first = 0;
        for sender in &mut self.senders {
            first = sender.rearm(first);
        }
        for send in &mut self.sends {
            send.is_ready = false;
        }
    }

    /// Starts `outgoing` transfers and gives the list back to be used again.
    #[inline]
    pub(super) fn start_transfers(
        &mut self,
        mut outgoing: Vec<u32>,
        now: Instant,
        context: &mut Context<Packet, Record>,
    ) {
        for transfer in outgoing.drain(..) {
            self.start_transfer(transfer, now, context);
        }
        self.transfers.started = outgoing;
    }

    /// Sends have been acknowledged: starts what waited for that.
    #[inline]
    pub(super) fn acknowledge(
        &mut self,
        sends: Range<u32>,
        now: Instant,
        context: &mut Context<Packet, Record>,
    ) {
        if sends.is_empty() {
            return;
        }
        for send in sends {
            let outgoing = self.sends[send as usize].outgoing;
            if let Some(next) = self.transfers.acknowledge_part(outgoing) {
                self.start_transfer(next, now, context);
            }
        }
        self.start_rounds(now, context);
    }

    /// The dependencies of a transfer have arrived: it is posted once the software overhead has passed.
    pub(super) fn start_transfer(
        &mut self,
        outgoing: u32,
        now: Instant,
        context: &mut Context<Packet, Record>,
    ) {
        let overhead = self.transfers.times.overhead;
        if overhead == Span::ZERO {
            self.post_transfer(outgoing, now, context);
        } else {
            self.timers.push(Reverse((now + overhead, Timer::Post(outgoing))));
        }
    }

    /// Posts what waits for nothing.
    pub(super) fn post_first(&mut self, now: Instant, context: &mut Context<Packet, Record>) {
        let mut first = std::mem::take(&mut self.transfers.started);
        first.extend(self.transfers.initial());
        for transfer in first.drain(..) {
            self.post_transfer(transfer, now, context);
        }
        self.transfers.started = first;
    }

    pub(super) fn post_transfer(
        &mut self,
        outgoing: u32,
        now: Instant,
        context: &mut Context<Packet, Record>,
    ) {
        for part in self.transfers.parts(outgoing) {
            let (sender, chunk) = self.transfers.part(part);
            self.sends[chunk as usize].is_ready = true;
            self.senders[sender as usize].post_ready(
                &self.config,
                &self.sends,
                self.transfers.round(),
                now,
                context,
            );
            self.make_ready(sender, now);
        }
    }
}
