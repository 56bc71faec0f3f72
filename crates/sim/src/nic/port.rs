//! A port of a NIC: control packets first, then the queue pairs round robin.

use crate::egress::{Transmitter, Wire};
use crate::kernel::{Context, Message};
use crate::packet::Packet;
use crate::switch::Received;
use std::collections::VecDeque;
use units::Instant;

/// A control packet waiting to be sent, with the receiver it comes from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Control {
    pub(super) packet: Packet,
    pub(super) receiver: u32,
}

/// A port of a NIC.
#[derive(Debug)]
pub(crate) struct NicPort {
    transmitter: Transmitter,
    control: VecDeque<Control>,
    /// Senders with something to send, in the order of service.
    round: VecDeque<u32>,
    next_send: Instant,
    received: Received,
    /// Arrivals of this window already taken.
    taken: usize,
}

impl NicPort {
    pub(super) fn new(wire: Wire) -> Self {
        Self {
            transmitter: Transmitter::new(wire),
            control: VecDeque::new(),
            round: VecDeque::new(),
            next_send: Instant::NEVER,
            received: Received::default(),
            taken: 0,
        }
    }

    pub(crate) const fn transmitter(&self) -> &Transmitter {
        &self.transmitter
    }

    pub(crate) const fn received(&self) -> Received {
        self.received
    }

    /// Counts what arrives in this window.
    #[inline]
    pub(super) fn start_window(&mut self, packets: &[Packet]) {
        self.taken = 0;
        self.received.frames += packets.len() as u64;
        self.received.bytes += packets.iter().map(|packet| u64::from(packet.frame_bytes())).sum::<u64>();
    }

    #[inline]
    pub(super) fn next_arrival(&self, packets: &[Packet]) -> Instant {
        packets.get(self.taken).map_or(Instant::NEVER, Message::at)
    }

    #[inline]
    pub(super) fn take_arrival(&mut self, packets: &[Packet]) -> Packet {
        self.taken += 1;
        packets[self.taken - 1]
    }

    /// When the next frame starts; never while nothing waits.
    #[inline]
    pub(super) const fn next_send(&self) -> Instant {
        self.next_send
    }

    #[inline]
    pub(super) fn enqueue_control(&mut self, control: Control, now: Instant) {
        self.control.push_back(control);
        self.schedule(now);
    }

    #[inline]
    pub(super) fn enqueue_sender(&mut self, sender: u32, now: Instant) {
        self.round.push_back(sender);
        self.schedule(now);
    }

    /// Puts a sender just served at the end of the round.
    #[inline]
    pub(super) fn requeue_sender(&mut self, sender: u32) {
        self.round.push_back(sender);
    }

    #[inline]
    pub(super) fn pop_control(&mut self) -> Option<Control> {
        self.control.pop_front()
    }

    #[inline]
    pub(super) fn pop_sender(&mut self) -> Option<u32> {
        self.round.pop_front()
    }

    /// Sets the time of the next frame after the queues changed at `now`.
    #[inline]
    pub(super) fn schedule(&mut self, now: Instant) {
        let idle = self.control.is_empty() && self.round.is_empty();
        self.next_send = if idle { Instant::NEVER } else { self.transmitter.free_at().max(now) };
    }

    #[inline]
    pub(super) fn transmit<R>(&mut self, packet: Packet, now: Instant, context: &mut Context<Packet, R>) {
        self.transmitter.transmit(packet, now, context);
    }
}
