//! The exact path of a switch: a window replayed in strict order of time, for when a threshold is within reach.

use super::EgressPort;
use super::buffer::SharedBuffer;
use crate::kernel::{Context, Message};
use crate::packet::Packet;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::Instant;

/// Scratch space of a replay; empty between windows.
#[derive(Debug, Default)]
pub(super) struct Replay {
    /// Arrivals with their egress port, ordered by (time, ingress port, sequence).
    arrivals: Vec<(Packet, u16)>,
    /// The first arrival not yet replayed.
    next: usize,
    /// Ports with a backlog, by the time they send next.
    departures: BinaryHeap<Reverse<(Instant, u16)>>,
}

impl Replay {
    /// Takes an arrival with the egress port it is bound for; call in order of ingress port and sequence.
    pub(super) fn push(&mut self, packet: Packet, egress: u16) {
        self.arrivals.push((packet, egress));
    }

    /// Replays the window that ends at `end`. At equal times arrivals come before departures, and ports in order.
    pub(super) fn run<R>(
        &mut self,
        ports: &mut [EgressPort],
        buffer: &mut SharedBuffer,
        end: Instant,
        context: &mut Context<Packet, R>,
    ) {
        // Stable: equal times keep the order of ingress port and sequence.
        self.arrivals.sort_by_key(|(packet, _)| packet.at());
        let backlogged = ports.iter().enumerate().filter(|(_, port)| port.has_backlog());
        self.departures.extend(backlogged.map(|(index, port)| Reverse((port.free_at(), index as u16))));
        loop {
            let arrival = self.arrivals.get(self.next).map_or(Instant::NEVER, |(packet, _)| packet.at());
            let departure = self.departures.peek().map_or(Instant::NEVER, |&Reverse((at, _))| at);
            if arrival.min(departure) >= end {
                break;
            }
            if arrival <= departure {
                self.arrive(ports, buffer);
            } else {
                self.depart(ports, buffer, context);
            }
        }
        debug_assert_eq!(self.next, self.arrivals.len(), "every arrival lies in the window");
        self.arrivals.clear();
        self.next = 0;
        self.departures.clear();
    }

    fn arrive(&mut self, ports: &mut [EgressPort], buffer: &mut SharedBuffer) {
        let (packet, egress) = self.arrivals[self.next];
        self.next += 1;
        let port = &mut ports[usize::from(egress)];
        let bytes = u64::from(packet.frame_bytes());
        if !buffer.fits(bytes) {
            port.drop_frame(&packet);
            return;
        }
        if !port.has_backlog() {
            self.departures.push(Reverse((port.free_at().max(packet.at()), egress)));
        }
        buffer.take(bytes);
        port.enqueue(packet);
    }

    fn depart<R>(
        &mut self,
        ports: &mut [EgressPort],
        buffer: &mut SharedBuffer,
        context: &mut Context<Packet, R>,
    ) {
        let Some(Reverse((start, egress))) = self.departures.pop() else { return };
        let port = &mut ports[usize::from(egress)];
        buffer.release(port.send_next(start, context));
        if port.has_backlog() {
            self.departures.push(Reverse((port.free_at(), egress)));
        }
    }
}
