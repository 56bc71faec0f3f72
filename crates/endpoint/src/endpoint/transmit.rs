//! Send path of an endpoint: first replies (ACK, NAK, CNP) and single retransmissions, then bursts of payload
//! from one queue pair after the other (round robin). Payload waits for the rate limit, the limit of packets
//! in flight and, if the port has a configured rate, the end of the previous transmission (`transmitter`).

use super::Endpoint;
use super::outbox::Route;
use super::pair::Pair;
use crate::limit::RateLimit;
use std::io;
use transport::Outgoing;
use units::Instant;
use wire::Opcode;

/// Packets that a queue pair sends before the next one is scheduled: one call with full packets.
const BURST_PACKETS: usize = 16;
/// Bursts sent before the socket is read again.
const SENT_AT_ONCE: usize = 16;

impl Endpoint {
    /// Sends the permitted packets, up to a limit per queue pair; returns their number.
    pub(super) fn transmit(&mut self) -> io::Result<usize> {
        let now = self.clock.now();
        self.open_transmitter(now);
        while let Some((at, index)) = self.schedule.next_expired(now) {
            self.pairs[index].scheduling.leave_timer(at);
            self.pairs[index].queue_pair.on_timeout(now);
            self.refresh(index, now);
        }
        let mut sent = 0;
        for _ in 0..self.schedule.urgent() {
            let Some(index) = self.schedule.next_urgent() else { break };
            self.pairs[index].scheduling.leave_urgent();
            sent += self.send_urgent(index, now)?;
            self.refresh(index, now);
        }
        for _ in 0..SENT_AT_ONCE {
            sent += self.send_transmitted(now)?;
            if now < self.payload_from() {
                break;
            }
            let Some(index) = self.schedule.next_ready() else { break };
            self.pairs[index].scheduling.leave_ready();
            // A transmission polled late has started on time, and so does the next one.
            let start = self.start_at(index, now);
            sent += self.send_burst(index, start, now)?;
            self.collect(index, now);
            self.update(index, start);
        }
        self.outbox.flush(&mut self.sockets, &self.pairs)?;
        Ok(sent)
    }

    /// Sends replies and single retransmissions.
    fn send_urgent(&mut self, index: usize, now: Instant) -> io::Result<usize> {
        let mut sent = 0;
        while let Some(packet) = self.pairs[index].queue_pair.poll_reply() {
            self.send_at_once(index, &packet)?;
            sent += 1;
        }
        while sent < BURST_PACKETS && self.pairs[index].queue_pair.is_resending() {
            let Some(packet) = self.pairs[index].queue_pair.poll_transmit(now) else { break };
            self.send_at_once(index, &packet)?;
            sent += 1;
        }
        Ok(sent)
    }

    fn send_at_once(&mut self, index: usize, packet: &Outgoing) -> io::Result<()> {
        if let Some(transmitter) = &mut self.transmitter {
            transmitter.occupy(packet);
        }
        self.send(index, packet)
    }

    /// After in-flight packets were at their limit: the next transmission starts no earlier than `now`.
    fn open_transmitter(&mut self, now: Instant) {
        let is_full = self.schedule.is_full();
        if let Some(transmitter) = &mut self.transmitter
            && std::mem::replace(&mut self.was_full, is_full)
        {
            transmitter.open(now);
        }
    }

    /// Sends packets whose transmission has finished; returns their number.
    fn send_transmitted(&mut self, now: Instant) -> io::Result<usize> {
        let sent = self.transmitter.as_mut().map_or_else(Vec::new, |each| each.take_sent(now));
        for (index, packet) in &sent {
            self.send(*index, packet)?;
            // The last packet of work without acknowledgements completes it.
            self.collect(*index, now);
        }
        Ok(sent.len())
    }

    /// Start of a queue pair's transmission: now, unless the port has a rate.
    fn start_at(&self, index: usize, now: Instant) -> Instant {
        let ready_since = self.pairs[index].scheduling.ready_since().min(now);
        self.transmitter.as_ref().map_or(now, |transmitter| transmitter.start_at(ready_since))
    }

    fn send_burst(&mut self, index: usize, start: Instant, now: Instant) -> io::Result<usize> {
        // Its timer may have expired since it became ready.
        self.pairs[index].queue_pair.on_timeout(now);
        if self.transmitter.is_some() {
            return Ok(self.transmit_batch(index, start, now));
        }
        for sent in 0..BURST_PACKETS {
            if now < self.payload_from() {
                return Ok(sent);
            }
            let Some(packet) = self.pairs[index].queue_pair.poll_transmit(now) else { return Ok(sent) };
            if let (Some(limit), Some(source)) = (&mut self.limit, packet.source) {
                limit.on_sent(source.bytes.into(), now);
            }
            self.send(index, &packet)?;
        }
        Ok(BURST_PACKETS)
    }

    /// Starts transmission of one batch of a queue pair. `start` may be before `now`: the end of the previous
    /// transmission.
    fn transmit_batch(&mut self, index: usize, start: Instant, now: Instant) -> usize {
        let Some(transmitter) = &mut self.transmitter else { return 0 };
        let queue_pair = &mut self.pairs[index].queue_pair;
        for count in 0..usize::from(self.options.batch_packets_max) {
            // Pacing may have made it ready between `start` and `now`.
            let (packet, start) = match queue_pair.poll_transmit(start) {
                Some(packet) => (packet, start),
                None => match queue_pair.poll_transmit(now) {
                    Some(packet) => (packet, now),
                    None => return count,
                },
            };
            if let (Some(limit), Some(source)) = (&mut self.limit, packet.source) {
                limit.on_sent(source.bytes.into(), now);
            }
            transmitter.push(index, packet, start);
        }
        self.options.batch_packets_max.into()
    }

    /// Earliest time to send new payload; retransmissions are not delayed.
    pub(super) fn payload_from(&self) -> Instant {
        let limited = self.limit.as_ref().map_or(Instant::ZERO, RateLimit::ready_at);
        self.transmitter.as_ref().map_or(limited, |transmitter| limited.max(transmitter.free_at()))
    }

    fn send(&mut self, index: usize, packet: &Outgoing) -> io::Result<()> {
        self.pairs[index].on_sending(packet);
        if self.loss.drops_next() {
            self.dropped_packets += 1;
            return Ok(());
        }
        let Pair { port, peer: to, classes, .. } = self.pairs[index];
        let class = match packet.bth.opcode {
            Opcode::Acknowledge => classes.acknowledgements,
            Opcode::CongestionNotification => classes.notifications,
            _ => classes.data,
        };
        self.outbox.push(&mut self.sockets, &self.pairs, index, Route { port, to, class }, packet)
    }
}
