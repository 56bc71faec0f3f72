//! SEND, WRITE and READ between two ends over a network that loses, duplicates and reorders.

use fabricbench_transport::{
    Config, Disposition, Position, ReadResponses, Recovery, Reply, Responder, TimeoutOutcome, Verb,
    VerbRequester, read_range,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use units::{Instant, Seed, Span, Stream};
use wire::Psn;

const LATENCY: Span = Span::from_us(2);
const TIMEOUT: Span = Span::from_us(40);

fn config() -> Config {
    Config {
        mtu_bytes: 256,
        message_bytes: 1024,
        ack_every: 2,
        window_packets: 8,
        timeout: TIMEOUT,
        retry_count: 1_000,
        recovery: Recovery::GoBackN,
    }
}

#[derive(Clone, Copy, Debug)]
enum Packet {
    Request { verb: Verb, work: usize, psn: Psn, position: Position, asks: bool },
    Response { psn: Psn },
    Ack(Psn),
    Nak(Psn),
}

/// What is asked of the requester, and how bad the network is.
#[derive(Clone, Debug)]
struct Case {
    work: Vec<(Verb, u64)>,
    loss_permille: u64,
    jitter: Span,
    reads_max: usize,
    first_psn: u32,
    seed: u64,
}

struct Pair {
    config: Config,
    case: Case,
    random: Stream,
    requester: VerbRequester,
    responder: Responder,
    responses: ReadResponses,
    /// First packet sequence number of each READ, as its responder learnt it.
    reads: BTreeMap<usize, Psn>,
    /// On the way, by arrival.
    packets: BTreeMap<(Instant, u64), Packet>,
    sent: u64,
    /// Packets placed of each work request, at the end that receives the data.
    placed: Vec<u64>,
    completed: usize,
}

impl Pair {
    fn new(case: Case) -> Self {
        let first = Psn::new(case.first_psn);
        let mut requester = VerbRequester::new(first, case.reads_max);
        case.work.iter().for_each(|&(verb, bytes)| requester.post(&config(), verb, bytes));
        Self {
            config: config(),
            random: Seed(case.seed).stream("network", 0),
            requester,
            responder: Responder::new(first),
            responses: ReadResponses::default(),
            reads: BTreeMap::new(),
            packets: BTreeMap::new(),
            sent: 0,
            placed: vec![0; case.work.len()],
            completed: 0,
            case,
        }
    }

    fn send(&mut self, now: Instant, packet: Packet) {
        self.sent += 1;
        if self.random.below(1_000) >= self.case.loss_permille {
            let late = Span(self.random.below(self.case.jitter.0 + 1));
            self.packets.insert((now + LATENCY + late, self.sent), packet);
        }
    }

    fn transmit(&mut self, now: Instant) {
        while let Some(request) = self.requester.poll_transmit(&self.config, now) {
            let transmit = request.transmit;
            let work = self.completed + transmit.packet.work;
            let (verb, psn, position) = (request.verb, transmit.packet.psn, transmit.packet.position);
            assert_eq!(verb, self.case.work[work].0);
            self.send(now, Packet::Request { verb, work, psn, position, asks: transmit.packet.ack_request });
        }
        while let Some(response) = self.responses.poll(&self.config) {
            self.send(now, Packet::Response { psn: response.psn });
        }
    }

    fn arrive(&mut self, now: Instant, packet: Packet) {
        match packet {
            Packet::Request { verb: Verb::Read, work, psn, .. } => self.take_read(now, work, psn),
            Packet::Request { work, psn, position, asks, .. } => {
                let arrival = self.responder.on_packet(&self.config, psn, position, asks);
                self.placed[work] += u64::from(arrival.disposition == Disposition::Accepted);
                self.reply(now, arrival.reply);
            }
            Packet::Response { psn } => {
                let outcome = self.requester.on_read_response(&self.config, now, psn);
                if outcome.is_placed {
                    let reading = (self.completed..).find(|&work| self.is_reading(work));
                    self.placed[reading.expect("a response is to a READ")] += 1;
                }
                self.complete(outcome.completed.completed);
            }
            Packet::Ack(psn) => {
                let outcome = self.requester.on_ack(&self.config, now, psn);
                self.complete(outcome.completed);
            }
            Packet::Nak(psn) => {
                let outcome = self.requester.on_nak(&self.config, now, psn);
                self.complete(outcome.completed);
            }
        }
    }

    /// Whether a READ has not had all its responses: they come in order.
    fn is_reading(&self, work: usize) -> bool {
        let (verb, bytes) = self.case.work[work];
        verb == Verb::Read && self.placed[work] < self.config.packets(bytes)
    }

    fn take_read(&mut self, now: Instant, work: usize, psn: Psn) {
        let distance = self.reads.get(&work).map_or(0, |&first| psn.distance_from(first));
        let Some(range) = read_range(&self.config, self.case.work[work].1, distance as u64) else { return };
        let arrival = self.responder.on_read_request(psn, range.packets);
        if arrival.disposition != Disposition::OutOfOrder {
            self.reads.entry(work).or_insert(psn);
            self.responses.answer(psn, range.bytes, work as u32);
        }
        self.reply(now, arrival.reply);
    }

    fn reply(&mut self, now: Instant, reply: Option<Reply>) {
        match reply {
            Some(Reply::Ack(psn)) => self.send(now, Packet::Ack(psn)),
            Some(Reply::Nak(psn)) => self.send(now, Packet::Nak(psn)),
            None => {}
            Some(other) => unreachable!("{other:?} with go-back-N"),
        }
    }

    /// Work completes in order, and only when all of it is there.
    fn complete(&mut self, count: u32) {
        for _ in 0..count {
            let (verb, bytes) = self.case.work[self.completed];
            let expected = self.config.packets(bytes);
            assert_eq!(self.placed[self.completed], expected, "work {} ({verb:?})", self.completed);
            self.completed += 1;
        }
    }

    fn run(&mut self) {
        let mut now = Instant::ZERO;
        while self.completed < self.case.work.len() {
            self.transmit(now);
            let arrival = self.packets.keys().next().map_or(Instant::NEVER, |&(at, _)| at);
            let deadline = self.requester.deadline();
            now = arrival.min(deadline);
            assert_ne!(now, Instant::NEVER, "nothing is under way and no timer runs");
            if arrival <= deadline {
                let packet = self.packets.pop_first().map(|(_, packet)| packet);
                self.arrive(now, packet.expect("there is an arrival"));
            } else {
                assert_eq!(self.requester.on_timeout(&self.config, now), TimeoutOutcome::Resend);
            }
        }
    }
}

fn verb() -> impl Strategy<Value = Verb> {
    prop::sample::select(vec![Verb::Send, Verb::Write, Verb::Read])
}

fn work() -> impl Strategy<Value = (Verb, u64)> {
    // A SEND fits one message.
    (verb(), 1_u64..6_000)
        .prop_map(|(verb, bytes)| (verb, if verb == Verb::Send { bytes % 1024 + 1 } else { bytes }))
}

prop_compose! {
    fn any_case()(
        work in prop::collection::vec(work(), 1..30),
        loss_permille in prop_oneof![Just(0_u64), 0_u64..200],
        jitter_ns in prop_oneof![Just(0_u64), 0_u64..6_000],
        reads_max in 1_usize..5,
        first_psn in prop_oneof![Just(0_u32), 0xff_ff00_u32..=0xff_ffff],
        seed: u64,
    ) -> Case {
        Case { work, loss_permille, jitter: Span(jitter_ns * 1_000), reads_max, first_psn, seed }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_verb_completes_in_order_whatever_the_network_does(case in any_case()) {
        let mut pair = Pair::new(case);
        pair.run();
        prop_assert_eq!(pair.completed, pair.case.work.len());
    }
}

#[test]
fn reads_beyond_the_limit_wait_and_hold_up_what_follows() {
    let mut requester = VerbRequester::new(Psn::new(7), 2);
    let config = config();
    for verb in [Verb::Read, Verb::Read, Verb::Read, Verb::Send] {
        requester.post(&config, verb, 1024);
    }
    let psn = |requester: &mut VerbRequester| {
        requester.poll_transmit(&config, Instant::ZERO).map(|request| request.transmit.packet.psn.value())
    };
    // Each takes four numbers, those of its responses.
    assert_eq!([psn(&mut requester), psn(&mut requester), psn(&mut requester)], [Some(7), Some(11), None]);
    for response in 7..11 {
        assert!(requester.on_read_response(&config, Instant::ZERO, Psn::new(response)).is_placed);
    }
    assert_eq!(
        [psn(&mut requester), psn(&mut requester), psn(&mut requester)],
        [Some(15), Some(19), Some(20)]
    );
}

#[test]
fn an_acknowledgement_beyond_a_read_completes_nothing_before_its_responses() {
    let mut requester = VerbRequester::new(Psn::new(0), 16);
    let config = config();
    requester.post(&config, Verb::Read, 512);
    requester.post(&config, Verb::Send, 16);
    while requester.poll_transmit(&config, Instant::ZERO).is_some() {}
    assert_eq!(requester.on_ack(&config, Instant::ZERO, Psn::new(2)).completed, 0);
    assert_eq!(requester.on_read_response(&config, Instant::ZERO, Psn::new(0)).completed.completed, 0);
    assert_eq!(requester.on_read_response(&config, Instant::ZERO, Psn::new(1)).completed.completed, 2);
    assert_eq!(requester.deadline(), Instant::NEVER);
}
