//! Dispatch by the kind of a connection: the only place where a host tells its kinds of connections apart.
//! Ports and timers know connections by number; the hot path handles reliable connections (RC) first and
//! asks here about all others.
//!
//! Each kind has an arena in [`Host`] and answers the same calls: a part of a transfer is posted, a port
//! serves an active connection, a packet arrives, a deadline is due, a reply leaves.

use super::host_jobs::Process;
use super::ledger::{WorkId, WorkIds};
use super::port::Control;
use super::rc::Sender;
use super::{Context, Host};
use crate::packet::{ConnectionId, ConnectionKind, Kind, Packet};
use engine::Message;
use units::Instant;

impl Host {
    /// Posts a part of an outgoing transfer that is ready to its sender.
    #[inline]
    pub(super) fn post_part(&mut self, sender: u32, outgoing: u32, now: Instant, context: &mut Context) {
        if !self.senders.has(sender) {
            if self.uc.is_some() {
                return self.post_uc(sender, now);
            }
            self.make_senders(sender);
        }
        self.post_ready(sender, outgoing, now, context);
    }

    /// Posts the next chunk of a sender to a rank on the same host, if it is ready.
    pub(super) fn post_next_local(&mut self, sender: u32, now: Instant) -> Option<WorkId> {
        match &mut self.uc {
            None => self.senders[sender].post_local(sender, &mut self.sends, now),
            Some(uc) => uc.post_local(sender, &mut self.sends, now),
        }
    }

    /// The oldest chunk of a sender has been copied to a rank on the same host: ends it, and returns the
    /// receiver.
    pub(super) fn end_local(&mut self, sender: u32) -> (u32, WorkIds) {
        if let Some(uc) = &mut self.uc {
            return uc.end_local(sender);
        }
        let state = &mut self.senders[sender];
        (state.receiver(), state.complete(1))
    }

    /// A chunk has been copied to a receiver from a rank on the same host.
    pub(super) fn deliver_local(&mut self, receiver: u32, now: Instant, context: &mut Context) {
        if self.uc.is_some() {
            return self.deliver_uc(receiver, now, context);
        }
        self.receivers.take_local(receiver);
        self.deliver_chunks(receiver, now, context);
    }

    /// Restarts the sends of a rank.
    pub(super) fn rearm_senders(&mut self, process: Process) {
        let unreliable = self.uc.iter_mut().flat_map(|uc| uc.send_queues());
        let queues = self.senders.iter_mut().map(Sender::queue_mut).chain(unreliable);
        for (number, queue) in (0..).zip(queues) {
            let first = self.sends.first_of(number);
            let rank = first.map(|first| self.jobs.process_of(self.sends.outgoing_of(first)));
            if rank == Some(process) {
                queue.rearm(number, &mut self.sends);
            }
        }
    }

    /// A port serves a connection of a kind other than RC: it sends a packet, and remains active or not.
    pub(super) fn serve_other(
        &mut self,
        port: usize,
        connection: ConnectionId,
        now: Instant,
        context: &mut Context,
    ) {
        let index = connection.index();
        match connection.kind() {
            ConnectionKind::Rc => unreachable!("served before"),
            ConnectionKind::Uc => self.serve_uc(port, index, now, context),
            ConnectionKind::Tcp => {
                self.ports[port].drop_served();
                self.send_tcp_data(port, index, now, context);
            }
            ConnectionKind::Storage => {
                self.ports[port].drop_served();
                self.send_storage(port, index, now, context);
            }
        }
    }

    /// A packet of a connection arrived, except payload and acknowledgements of a reliable connection.
    pub(super) fn receive_packet(&mut self, packet: &Packet, context: &mut Context) {
        let is_storage = packet.connection_kind() == ConnectionKind::Storage;
        match packet.kind() {
            Kind::Ack if is_storage => self.acknowledge_storage(packet, false, context),
            Kind::Nak if is_storage => self.acknowledge_storage(packet, true, context),
            Kind::Cnp if is_storage => self.notify_storage(packet),
            Kind::Storage(message, position) => {
                self.receive_storage(packet, (message, position), packet.at(), context);
            }
            Kind::Uc(position) => self.receive_uc(packet, position, packet.at(), context),
            Kind::Ack => self.receive_ack(*packet, context),
            Kind::Nak => self.receive_nak(packet, context),
            Kind::Cnp => self.receive_cnp(packet),
            Kind::TcpData => self.receive_tcp_data(packet),
            Kind::TcpAck { congestion_echo } => self.receive_tcp_ack(packet, congestion_echo, context),
            Kind::Data(_) | Kind::LinkControl => unreachable!("handled before"),
        }
    }

    /// A part of a message leaves the receive buffer at `now`.
    pub(super) fn receive_buffered(&mut self, packet: &Packet, now: Instant, context: &mut Context) {
        match packet.kind() {
            Kind::Data(position) => self.receive_drained(packet, position, now, context),
            Kind::Uc(position) => self.receive_uc(packet, position, now, context),
            Kind::Storage(message, position) => {
                self.receive_storage(packet, (message, position), now, context);
            }
            _ => unreachable!("only parts of messages are buffered"),
        }
    }

    /// A deadline of the sending end of a connection may be due.
    pub(super) fn check_sender(&mut self, connection: ConnectionId, now: Instant, context: &mut Context) {
        let index = connection.index();
        match connection.kind() {
            ConnectionKind::Rc => self.check_deadline(index, now, context),
            ConnectionKind::Uc => unreachable!("it has no deadlines"),
            ConnectionKind::Tcp => self.fire_tcp_source(index, now, context),
            ConnectionKind::Storage => self.check_storage_deadline(index, now, context),
        }
    }

    /// The deadline of the receiving end of a connection may be due; only TCP delays acknowledgements.
    pub(super) fn check_receiver(&mut self, connection: ConnectionId, now: Instant) {
        if connection.kind() == ConnectionKind::Tcp {
            self.fire_tcp_sink(connection.index(), now);
        }
    }

    /// Records a reply that leaves at `sent`.
    #[cold]
    pub(super) fn note_reply(&self, control: &Control, sent: Instant, context: &mut Context) {
        match control.connection.kind() {
            ConnectionKind::Rc => {
                self.receivers.note_reply(control.connection.index(), &control.packet, sent, context);
            }
            ConnectionKind::Uc => unreachable!("it never replies"),
            ConnectionKind::Tcp => self.note_tcp_ack(control, sent, context),
            ConnectionKind::Storage => self.note_storage_reply(control, sent, context),
        }
    }
}
