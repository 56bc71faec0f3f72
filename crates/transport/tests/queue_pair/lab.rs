//! Two queue pairs, their memory and the channel between them, in simulated time.

use fabricbench_transport::{
    Completion, Config, Controller, Origin, Outgoing, Placed, QueuePair, Reads, Received, Recovery, Region,
    Settings, Source, Status, Target, UdpPath, WorkId,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::{Ipv4Addr, SocketAddrV4};
use units::{Instant, Seed, Span, Stream};
use wire::Psn;
use wire::aeth::RnrTimer;
use wire::bth::Qpn;

pub(crate) const ADDRESS: u64 = 0x7f00_0000_1000;
pub(crate) const KEY: u32 = 0x1234_5678;
pub(crate) const MTU: usize = 256;

pub(crate) fn config(recovery: Recovery) -> Config {
    Config {
        mtu_bytes: MTU as u32,
        message_bytes: 2_000,
        ack_every: 4,
        window_packets: 32,
        timeout: Span::from_us(200),
        retry_count: 1_000,
        recovery,
    }
}

pub(crate) fn qpn(end: usize) -> Qpn {
    Qpn::new(0x100 + end as u32).unwrap()
}

/// Settings of one end, whose memory has so many bytes.
pub(crate) fn settings(end: usize, config: Config, memory_bytes: usize) -> Settings {
    let first_psn = |end: usize| Psn::new([0xff_fff0, 77][end]);
    Settings {
        config,
        number: qpn(end),
        peer: qpn(1 - end),
        first_psn: first_psn(end),
        peer_first_psn: first_psn(1 - end),
        rate: Controller::LINE_RATE,
        cnp_interval: Some(Span::from_us(50)),
        reads: Reads::NONE,
        memory: Some(Region { address: ADDRESS, bytes: memory_bytes as u64, remote_key: KEY }),
        peer_remote_key: KEY,
        rnr_timer: RnrTimer::new(1).unwrap(),
        rnr_retry_count: 1_000,
    }
}

/// What happens to packets, in thousandths.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Channel {
    pub(crate) lost: u64,
    pub(crate) duplicated: u64,
    pub(crate) marked: u64,
    /// Each copy travels up to so much longer.
    pub(crate) jitter: Span,
}

const LATENCY: Span = Span::from_us(5);

/// One end, with what its driver keeps.
pub(crate) struct End {
    pub(crate) queue_pair: QueuePair,
    pub(crate) memory: Vec<u8>,
    sources: BTreeMap<WorkId, Vec<u8>>,
    pub(crate) receives: BTreeMap<WorkId, Vec<u8>>,
    pub(crate) reads: BTreeMap<WorkId, Vec<u8>>,
    pub(crate) completions: Vec<Completion>,
    /// Immediate data of the peer, with the memory at the moment of its completion.
    pub(crate) told: Vec<(u32, Vec<u8>)>,
}

impl End {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            queue_pair: QueuePair::new(settings).unwrap(),
            memory: vec![0; settings.memory.map_or(0, |memory| memory.bytes as usize)],
            sources: BTreeMap::new(),
            receives: BTreeMap::new(),
            reads: BTreeMap::new(),
            completions: Vec::new(),
            told: Vec::new(),
        }
    }

    pub(crate) fn write(&mut self, offset: usize, bytes: &[u8]) -> WorkId {
        let work = self.queue_pair.post_write(ADDRESS + offset as u64, bytes.len() as u64).unwrap();
        self.sources.insert(work, bytes.to_vec());
        work
    }

    pub(crate) fn write_and_tell(&mut self, offset: usize, bytes: &[u8], immediate: u32) -> WorkId {
        let (address, length) = (ADDRESS + offset as u64, bytes.len() as u64);
        let work = self.queue_pair.post_write_with_immediate(address, length, immediate).unwrap();
        self.sources.insert(work, bytes.to_vec());
        work
    }

    pub(crate) fn send_and_tell(&mut self, bytes: &[u8], immediate: u32) -> WorkId {
        let work = self.queue_pair.post_send_with_immediate(bytes.len() as u64, immediate).unwrap();
        self.sources.insert(work, bytes.to_vec());
        work
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> WorkId {
        let work = self.queue_pair.post_send(bytes.len() as u64).unwrap();
        self.sources.insert(work, bytes.to_vec());
        work
    }

    pub(crate) fn read(&mut self, offset: usize, count: usize) -> WorkId {
        let work = self.queue_pair.post_read(ADDRESS + offset as u64, count as u64).unwrap();
        self.sources.insert(work, Vec::new());
        self.reads.insert(work, vec![0; count]);
        work
    }

    pub(crate) fn receive(&mut self, capacity: usize) -> WorkId {
        let work = self.queue_pair.post_receive(capacity as u64).unwrap();
        self.receives.insert(work, vec![0; capacity]);
        work
    }

    /// The payload of a packet to send.
    pub(crate) fn payload(&self, packet: &Outgoing) -> &[u8] {
        packet.source.filter(|source| source.bytes > 0).map_or(&[], |Source { origin, bytes }| {
            let (buffer, from) = match origin {
                Origin::Work { work, offset_bytes } => (&self.sources[&work], offset_bytes as usize),
                Origin::Memory { address } => (&self.memory, (address - ADDRESS) as usize),
            };
            &buffer[from..from + bytes as usize]
        })
    }

    pub(crate) fn handle(&mut self, packet: &Received<'_>, now: Instant) {
        let handled = self.queue_pair.handle(packet, now);
        if let Some(Placed { target, bytes }) = handled.placed {
            assert_eq!(bytes as usize, packet.payload().len());
            let (buffer, from) = match target {
                Target::Memory { address } => (&mut self.memory, (address - ADDRESS) as usize),
                Target::Read { work, offset_bytes } => {
                    (self.reads.get_mut(&work).unwrap(), offset_bytes as usize)
                }
                Target::Receive { work, offset_bytes } => {
                    (self.receives.get_mut(&work).unwrap(), offset_bytes as usize)
                }
            };
            buffer[from..from + bytes as usize].copy_from_slice(packet.payload());
        }
        self.note_completions();
    }

    pub(crate) fn note_completions(&mut self) {
        while let Some(completion) = self.queue_pair.poll_completion() {
            if let Some(immediate) = completion.immediate {
                self.told.push((immediate, self.memory.clone()));
            }
            self.completions.push(completion);
        }
    }

    pub(crate) fn statuses(&self) -> Vec<(u64, Status)> {
        self.completions.iter().map(|completion| (completion.work.0, completion.status)).collect()
    }
}

/// Bytes behind the headroom of a datagram, to an end.
type Flight = Reverse<(Instant, u64, usize, bool, Vec<u8>)>;

pub(crate) struct Lab {
    pub(crate) ends: [End; 2],
    pub(crate) now: Instant,
    pub(crate) channel: Channel,
    random: Stream,
    flights: BinaryHeap<Flight>,
    sent: u64,
    /// The packet of an end that is lost: how many of its packets leave before it.
    loses: [Option<u32>; 2],
}

impl Lab {
    pub(crate) fn new(settings: &[Settings; 2], channel: Channel, seed: u64) -> Self {
        Self {
            ends: settings.each_ref().map(End::new),
            now: Instant::ZERO,
            channel,
            random: Seed(seed).stream("channel", 0),
            flights: BinaryHeap::new(),
            sent: 0,
            loses: [None; 2],
        }
    }

    /// Loses a packet of that end, the first being 1.
    pub(crate) fn lose_from(&mut self, end: usize, number: u32) {
        self.loses[end] = Some(number - 1);
    }

    /// The next packet of that end is the one to lose.
    fn loses_next(&mut self, end: usize) -> bool {
        let left = self.loses[end];
        self.loses[end] = left.and_then(|left| left.checked_sub(1));
        left == Some(0)
    }

    fn chance(&mut self, permille: u64) -> bool {
        self.random.below(1_000) < permille
    }

    /// Sends what the ends have to send.
    pub(crate) fn transmit(&mut self) {
        for from in [0, 1] {
            while let Some(packet) = self.ends[from].queue_pair.poll_transmit(self.now) {
                let mut buffer = vec![0xee; packet.packet_bytes() + 4];
                let packet_bytes = packet.encode(self.ends[from].payload(&packet), &mut buffer).unwrap();
                path(from).seal(0, &mut buffer, packet_bytes).unwrap();
                self.ends[from].queue_pair.on_sent(&packet);
                if self.loses_next(from) {
                    continue;
                }
                let copies = 1 + u64::from(self.chance(self.channel.duplicated));
                for _ in 0..copies {
                    self.carry(1 - from, &buffer);
                }
            }
            self.ends[from].note_completions();
        }
    }

    fn carry(&mut self, to: usize, datagram: &[u8]) {
        let is_marked = self.chance(self.channel.marked);
        let extra = Span(self.random.below(self.channel.jitter.0 + 1));
        if !self.chance(self.channel.lost) {
            self.sent += 1;
            let arrives = self.now + LATENCY + extra;
            self.flights.push(Reverse((arrives, self.sent, to, is_marked, datagram.to_vec())));
        }
    }

    /// Lets time pass until nothing is left to do, or until `end`.
    pub(crate) fn run(&mut self, end: Instant) {
        loop {
            self.transmit();
            let arrival = self.flights.peek().map_or(Instant::NEVER, |Reverse(flight)| flight.0);
            let deadlines = self.ends.each_ref().map(|end| end.queue_pair.deadline());
            let next = arrival.min(deadlines[0]).min(deadlines[1]);
            if next > end || next == Instant::NEVER {
                return;
            }
            self.now = self.now.max(next);
            while self.flights.peek().is_some_and(|Reverse(flight)| flight.0 <= self.now) {
                self.deliver();
            }
            let now = self.now;
            self.ends.iter_mut().for_each(|end| end.queue_pair.on_timeout(now));
        }
    }

    fn deliver(&mut self) {
        let Some(Reverse((_, _, to, is_marked, datagram))) = self.flights.pop() else { return };
        let bytes = path(1 - to).open(0, &datagram).unwrap();
        let packet = Received::decode(bytes).unwrap().with_mark(is_marked);
        self.ends[to].handle(&packet, self.now);
    }
}

/// The way of datagrams from an end.
fn path(from: usize) -> UdpPath {
    let address = |end: usize| SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, end as u8), 4791);
    UdpPath { source: address(from), destination: address(1 - from) }
}
