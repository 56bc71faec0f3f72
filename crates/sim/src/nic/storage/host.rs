//! Methods of `Host` for storage: pass received packets and timers to the client or target of the host, and
//! send packets of its connections when a port serves them.

use super::connection::Connection;
use super::tag::{Tag, connection_of};
use super::{Inbound, Storage};
use crate::nic::Context;
use crate::nic::port::Control;
use crate::nic::{Host, Timer};
use crate::packet::{ConnectionId, ConnectionKind, Packet, StorageMessage};
use engine::Message;
use transport::Position;
use units::{Instant, Span};

/// Number of a storage connection.
const fn id_of(index: usize) -> ConnectionId {
    ConnectionId::new(ConnectionKind::Storage, index as u32)
}

impl Host {
    /// A packet of a storage connection with a position in a message reaches its end at `now`.
    #[cold]
    pub(crate) fn receive_storage(
        &mut self,
        packet: &Packet,
        (message, position): (StorageMessage, Position),
        now: Instant,
        context: &mut Context,
    ) {
        let Some(storage) = &mut self.storage else { return };
        let tag = Tag::of(packet, message);
        let latency = Span(packet.at().0 - self.latency.0 - packet.sent().0);
        let inbound = Inbound { packet, position, tag, verb: message.verb, now, latency, is_notified: false };
        let taken = storage.take(&self.config, inbound, &mut context.records);
        self.delivered_bytes += u64::from(taken.payload_bytes);
        if let Some(delivery) = self.deliveries.iter_mut().find(|delivery| delivery.job == storage.job) {
            delivery.bytes += u64::from(taken.payload_bytes);
        }
        context.totals.delivered += u64::from(taken.payload_bytes);
        if !storage.is_background {
            context.totals.add_progress(taken.payload_bytes.into(), now);
        }
        let index = connection_of(packet);
        let plan = storage.connections[index].plan();
        let (port, is_captured) = (usize::from(plan.port), plan.is_captured);
        for reply in taken.replies.into_iter().flatten() {
            let control = Control { packet: reply, connection: id_of(index), is_captured };
            self.ports[port].enqueue_control(control, now);
        }
        self.wake_storage(now);
    }

    /// An ACK or NAK of a storage connection has arrived.
    #[cold]
    pub(crate) fn acknowledge_storage(&mut self, packet: &Packet, is_nak: bool, context: &mut Context) {
        let Some(storage) = &mut self.storage else { return };
        storage.take_acknowledgement(&self.config, packet, is_nak, &mut context.records);
        self.wake_storage(packet.at());
    }

    /// A congestion notification of a storage connection has arrived.
    #[cold]
    pub(crate) fn notify_storage(&mut self, packet: &Packet) {
        if let Some(storage) = &mut self.storage {
            storage.on_cnp(packet);
        }
    }

    /// The storage timer has fired.
    pub(crate) fn fire_storage(&mut self, now: Instant, context: &mut Context) {
        let Some(storage) = &mut self.storage else { return };
        storage.is_timed = false;
        storage.fire(&self.config, now, &mut context.records);
        self.wake_storage(now);
    }

    /// The retransmission deadline of a storage connection may be due.
    pub(crate) fn check_storage_deadline(&mut self, index: u32, now: Instant, context: &mut Context) {
        let Some(storage) = &mut self.storage else { return };
        let index = index as usize;
        storage.check_deadline(&self.config, index, now, &mut context.records);
        self.arm_storage_timer(index);
        self.wake_storage(now);
    }

    /// Adds the connections that may send again to their ports' rounds, and sets the timer for the end of the
    /// next service.
    fn wake_storage(&mut self, now: Instant) {
        let Some(storage) = &mut self.storage else { return };
        let Storage { touched, connections, .. } = &mut **storage;
        for index in touched.drain(..) {
            let connection: &mut Connection = &mut connections[index as usize];
            if connection.becomes_active(&self.config) {
                let port = usize::from(connection.plan().port);
                let priority = connection.plan().priority;
                self.ports[port].enqueue(id_of(index as usize), priority, now);
            }
        }
        if let Some(at) = storage.next_served()
            && !std::mem::replace(&mut storage.is_timed, true)
        {
            self.timers.push(at, Timer::Storage);
        }
    }

    /// Serves a storage connection that is no longer active at `port`.
    #[cold]
    pub(crate) fn send_storage(&mut self, port: usize, index: u32, now: Instant, context: &mut Context) {
        let Some(storage) = &mut self.storage else { return };
        let (index, sent) = (index as usize, now + self.latency);
        if storage.connections[index].ready_at() <= now
            && let Some(packet) = storage.next_packet(&self.config, index, now, sent, &mut context.records)
        {
            self.ports[port].transmit_data(&packet.leaving(sent), now, context);
        }
        let connection = &mut storage.connections[index];
        if connection.stays_active(&self.config) {
            self.ports[port].enqueue_or_defer(
                id_of(index),
                connection.plan().priority,
                connection.ready_at(),
                now,
            );
        }
        self.arm_storage_timer(index);
    }

    /// Maintains one timer entry for each connection with requests outstanding; its deadline is checked when
    /// the timer fires.
    fn arm_storage_timer(&mut self, index: usize) {
        let Some(storage) = &mut self.storage else { return };
        let connection = &mut storage.connections[index];
        let deadline = connection.requester.deadline();
        if !connection.is_timed && deadline != Instant::NEVER {
            connection.is_timed = true;
            self.timers.push(deadline, Timer::Sender(id_of(index)));
        }
    }

    /// Records a reply of a storage connection that leaves at `sent`.
    pub(crate) fn note_storage_reply(&self, control: &Control, sent: Instant, context: &mut Context) {
        if let Some(storage) = &self.storage {
            let connection = &storage.connections[control.connection.index() as usize];
            connection.note_reply(&control.packet, sent, &mut context.records);
        }
    }
}
