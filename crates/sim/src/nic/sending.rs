//! How a host serves its ports, and keeps watch over what is not acknowledged.

use super::port::{Control, Next, NicPort};
use super::sender::Sender;
use super::storage::is_storage;
use super::tcp_lane::NextTcp;
use super::timers::Timers;
use super::{Host, Timer};
use crate::kernel::Context;
use crate::packet::Packet;
use crate::record::Record;
use transport::{Config, TimeoutOutcome};
use units::Instant;

impl Host {
    #[inline]
    pub(super) fn send(&mut self, port: usize, now: Instant, context: &mut Context<Packet, Record>) {
        let sent = now + self.latency;
        let Self { ports, senders, config, .. } = self;
        match ports[port].pop_next(now, |sender| senders[sender as usize].next_frame_bytes(config)) {
            Next::LinkControl(packet) => self.ports[port].transmit(packet, now, context),
            Next::Control(control) if is_storage(control.receiver) => {
                self.note_storage_reply(&control, sent, context);
                self.ports[port].transmit(control.packet, now, context);
            }
            Next::Control(Control { packet, receiver, is_captured }) => {
                if is_captured {
                    self.receivers[receiver as usize].note_reply(&packet, sent, context);
                }
                self.ports[port].transmit(packet, now, context);
            }
            Next::Sender(sender) if is_storage(sender) => self.send_storage(port, sender, now, context),
            Next::Sender(sender) => {
                if context.is_large()
                    && let Some(ahead) = self.ports[port].senders_ahead().last()
                {
                    self.prefetch_sender(ahead);
                }
                self.send_data(port, sender, now, context);
            }
            Next::Tcp(NextTcp::Ack(waiting)) => self.send_tcp_ack(port, waiting, now, context),
            Next::Tcp(NextTcp::Source(source)) => self.send_tcp_data(port, source, now, context),
            Next::Nothing => {}
        }
        self.ports[port].schedule(now);
    }

    #[inline]
    fn send_data(&mut self, port: usize, sender: u32, now: Instant, context: &mut Context<Packet, Record>) {
        let sent = now + self.latency;
        let Self { ports, senders, config, timers, .. } = self;
        let (port, state) = (&mut ports[port], &mut senders[sender as usize]);
        if state.ready_at() <= now
            && let Some(packet) = state.next_packet(config, now, sent, context)
        {
            port.transmit_data(packet.leaving(sent), now, context);
        }
        if state.stays_in_round(config) {
            port.requeue_sender(sender, state.ready_at(), now);
        }
        arm_timer(timers, sender, state);
    }

    pub(super) fn check_deadline(
        &mut self,
        sender: u32,
        now: Instant,
        context: &mut Context<Packet, Record>,
    ) {
        if is_storage(sender) {
            return self.check_storage_deadline(sender, now, context);
        }
        let Self { ports, senders, config, timers, .. } = self;
        let state = &mut senders[sender as usize];
        state.is_timed = false;
        match state.requester().on_timeout(config, now) {
            TimeoutOutcome::NotDue => {}
            TimeoutOutcome::Resend => state.count_timeout(),
            TimeoutOutcome::Failed => {
                state.count_timeout();
                state.fail(config, now, context);
            }
        }
        arm_timer(timers, sender, state);
        make_ready(ports, config, sender, state, now);
    }
}

/// Puts a sender into its port's round, if it has something to send and is not there yet.
#[inline]
pub(super) fn make_ready(
    ports: &mut [NicPort],
    config: &Config,
    sender: u32,
    state: &mut Sender,
    now: Instant,
) {
    if state.enters_round(config) {
        ports[usize::from(state.port())].enqueue_sender(sender, now);
    }
}

/// Keeps one timer entry per sender with something outstanding; it is looked at again when it comes up.
#[inline]
fn arm_timer(timers: &mut Timers, sender: u32, state: &mut Sender) {
    let deadline = state.requester().deadline();
    if !state.is_timed && deadline != Instant::NEVER {
        state.is_timed = true;
        timers.push(deadline, Timer::Retransmit(sender));
    }
}
