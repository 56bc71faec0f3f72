//! Streams longer than the number space.

use super::poster::Poster;
use fabricbench_transport::{Config, Disposition, Recovery, Reply, Responder, TimeoutOutcome};
use units::{Instant, Span};
use wire::Psn;

const PSN_SPACE: u64 = 1 << 24;

/// A requester and a responder without any latency between them; every packet whose turn it is gets lost.
struct Line {
    config: Config,
    requester: Poster,
    responder: Responder,
    transmissions: u64,
    lost: u64,
    accepted: u64,
    completed: u32,
}

impl Line {
    /// Sends one packet, if there is one, and carries it and its answer over.
    fn send(&mut self, lose_every: u64) -> bool {
        let Some(transmit) = self.requester.poll_transmit(&self.config, Instant::ZERO) else { return false };
        self.transmissions += 1;
        if self.transmissions.is_multiple_of(lose_every) {
            self.lost += 1;
            return true;
        }
        let arrival = self.responder.on_packet(
            &self.config,
            transmit.packet.psn,
            transmit.packet.position,
            transmit.packet.ack_request,
        );
        if arrival.disposition == Disposition::Accepted {
            assert_eq!(transmit.offset_bytes, self.accepted * u64::from(self.config.mtu_bytes));
            self.accepted += 1;
        }
        let outcome = match arrival.reply {
            Some(Reply::Ack(psn)) => self.requester.on_ack(&self.config, Instant::ZERO, psn),
            Some(Reply::Nak(psn)) => self.requester.on_nak(&self.config, Instant::ZERO, psn),
            Some(reply) => panic!("{reply:?} belongs to selective recovery"),
            None => return true,
        };
        self.completed += outcome.completed;
        true
    }
}

#[test]
fn a_stream_may_go_round_the_number_space() {
    let packets = PSN_SPACE * 2 + 12_345;
    let config = Config {
        mtu_bytes: 4096,
        message_bytes: 1 << 20,
        ack_every: 4,
        window_packets: 64,
        timeout: Span::from_us(1),
        retry_count: 1,
        recovery: Recovery::GoBackN,
    };
    let initial_psn = Psn::new(0xff_ff00);
    let mut line = Line {
        requester: Poster::new(initial_psn),
        responder: Responder::new(initial_psn),
        config,
        transmissions: 0,
        lost: 0,
        accepted: 0,
        completed: 0,
    };
    line.requester.post(&line.config, packets * 4096);
    while line.completed == 0 {
        if !line.send(9_973) {
            let deadline = line.requester.deadline();
            assert_eq!(line.requester.on_timeout(&line.config, deadline), TimeoutOutcome::Resend);
        }
    }
    assert_eq!(line.accepted, packets);
    assert_eq!(line.requester.outstanding_packets(), 0);
    // Without latency a gap shows with the next packet, so a loss costs the two of them.
    assert!(line.transmissions - packets <= 2 * line.lost, "{} losses", line.lost);
    assert_eq!(u64::from(line.responder.message_sequence()), (packets * 4096).div_ceil(1 << 20));
}
