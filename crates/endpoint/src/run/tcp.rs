//! Driver `tcp`: each queue pair is a kernel TCP connection. Collective libraries similarly open several
//! connections between two ranks where there is no RDMA (NCCL: `NCCL_NSOCKS_PERTHREAD`).
//!
//! In the order of the data path: `establish` establishes the connections; `sender` writes chunks; [`frames`]
//! defines the byte stream; `receiver` reads chunks and acknowledges each with four bytes; `poller` waits
//! for sockets, `socket` sets their options and reads kernel statistics.
//!
//! # Timestamps
//! A chunk is delivered when its last byte was read into process memory, and completed when the sender has
//! read the acknowledgement: a round trip between the software of both ends, as with NCCL's own credits, not
//! between the TCP stacks. Frames, losses and marks are not attributed to chunks: the counters have the
//! kernel's statistics, summed over all connections.
//!
//! # Limitations
//! Payload is read into one buffer for all connections, and verified there if enabled; an application would
//! place it in its memory. One thread serves all connections of a run. Timers, windows and congestion control
//! are those of the kernel, not of the plan.

mod establish;
pub mod frames;
mod poller;
mod receiver;
mod sender;
mod socket;

use super::driver::{Driver, Event, SentCounts};
use super::peers::Peers;
use super::roce::memory::Regions;
use super::round_robin::RoundRobin;
use super::share::{LocalPair, Post, planned_bytes};
use super::{RunError, Settings};
use crate::Clock;
use crate::limit::RateLimit;
use establish::{Established, Incoming, Listening, Outgoing, establish};
use frames::{Hello, TOKEN_BYTES, Token};
use jobs::Jobs;
use poller::{Poller, Ready};
use receiver::Receiver;
use rustix::rand::{GetRandomFlags, getrandom};
use sender::Sender;
use serde::{Deserialize, Serialize};
use socket::Totals;
use spec::RunSpec;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::sync::Arc;
use units::{Instant, Span};

/// Maximum bytes a connection writes or reads before others are served.
const CALL_BYTES: usize = 256 << 10;
/// Interval of reading the kernel's statistics, per connection; reading takes about a hundredth of it.
const STATISTICS_INTERVAL: Span = Span::from_us(100);

/// Connection data of an agent, sent to its peers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Address {
    address: Ipv4Addr,
    port: u16,
    token: Token,
}

/// Driver `tcp`.
pub(super) struct Tcp {
    spec: Arc<RunSpec>,
    jobs: Arc<Jobs>,
    settings: Settings,
    clock: Clock,
    /// Until all connections are established.
    listener: Option<TcpListener>,
    address: Address,
    poller: Poller,
    /// By index of the local sending queue pair; `None` if its receiver is on the same host, or it failed.
    senders: Vec<Option<Sender>>,
    /// By index of the queue pair received from other hosts; `None` if closed.
    receivers: Vec<Option<Receiver>>,
    /// Queue pair number of each receiver.
    received_pairs: Vec<u32>,
    to_write: RoundRobin,
    to_read: RoundRobin,
    limit: Option<RateLimit>,
    write_bytes: usize,
    buffer: Vec<u8>,
    /// Chunks posted to failed connections, not reported yet.
    refused: Vec<u32>,
    counts: Counts,
}

/// Counters of the driver.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    connections: u64,
    refused_connections: u64,
    failed_connections: u64,
    closed_connections: u64,
    refused_streams: u64,
    wrong_bytes: u64,
    /// Kernel statistics of closed connections.
    closed: Totals,
    /// Kernel statistics of all connections, as of `read_at`.
    totals: Totals,
    read_at: Instant,
}

impl Tcp {
    pub(super) fn new(
        spec: &Arc<RunSpec>,
        jobs: &Arc<Jobs>,
        settings: Settings,
        clock: Clock,
    ) -> Result<Self, RunError> {
        let (listener, at) = socket::listen(&settings)?;
        let mut token: Token = [0; TOKEN_BYTES];
        getrandom(&mut token, GetRandomFlags::empty()).map_err(io::Error::from)?;
        Ok(Self {
            spec: Arc::clone(spec),
            jobs: Arc::clone(jobs),
            limit: settings.rate_limit_bps.map(RateLimit::new),
            write_bytes: settings
                .rate_limit_bps
                .map_or(CALL_BYTES, |bps| RateLimit::call_bytes(bps).min(CALL_BYTES as u64) as usize),
            settings,
            clock,
            listener: Some(listener),
            address: Address { address: *at.ip(), port: at.port(), token },
            poller: Poller::new()?,
            senders: Vec::new(),
            receivers: Vec::new(),
            received_pairs: Vec::new(),
            to_write: RoundRobin::default(),
            to_read: RoundRobin::default(),
            buffer: vec![0; CALL_BYTES],
            refused: Vec::new(),
            counts: Counts::default(),
        })
    }

    /// Waits for sockets at most `patience`, and not at all while a connection can be read or written.
    fn wait(&mut self, patience: Span, events: &mut Vec<Event>) -> io::Result<()> {
        let can_act = !self.to_read.waiting.is_empty() || !events.is_empty();
        let patience = match (can_act, self.to_write.waiting.is_empty()) {
            (true, _) => Span::ZERO,
            (false, true) => patience,
            (false, false) => patience.min(self.limited_for()),
        };
        let Self { poller, senders, receivers, to_write, to_read, clock, .. } = self;
        let mut failed = Vec::new();
        for Ready { key, can_read, can_write, is_closing } in poller.wait(patience)? {
            let index = (key >> 1) as u32;
            if key & 1 == RECEIVER {
                let Some(receiver) = &mut receivers[index as usize] else { continue };
                if is_closing {
                    receiver.close();
                }
                // Reading had stopped because acknowledgements did not fit into the send buffer.
                let has_resumed = can_write && receiver.acknowledge().unwrap_or(true);
                if can_read || has_resumed {
                    to_read.add(index);
                }
                continue;
            }
            let Some(sender) = &mut senders[index as usize] else { continue };
            if can_read && sender.read(*clock, events).is_err() {
                failed.push(index);
            } else if can_write && sender.has_work() {
                to_write.add(index);
            }
        }
        failed.into_iter().for_each(|index| self.fail(index, events));
        Ok(())
    }

    /// Time until the rate limit permits writing.
    fn limited_for(&self) -> Span {
        self.limit.as_ref().map_or(Span::ZERO, |limit| limit.ready_at().since(self.clock.now()))
    }

    /// Reads once from each connection with pending data.
    fn read(&mut self, events: &mut Vec<Event>) {
        for _ in 0..self.to_read.waiting.len() {
            let Some(index) = self.to_read.next() else { return };
            let Some(receiver) = &mut self.receivers[index as usize] else { continue };
            let (jobs, pair) = (&self.jobs, self.received_pairs[index as usize]);
            let planned = |chunk: u32| planned_bytes(jobs, pair, chunk);
            match receiver.read(&mut self.buffer, planned, self.clock, events) {
                Ok(true) => self.to_read.add(index),
                Ok(false) => {}
                Err(error) => self.close(index, error.kind()),
            }
        }
    }

    /// Writes once to each connection with queued chunks, as long as the rate limit permits.
    fn write(&mut self, events: &mut Vec<Event>) {
        for _ in 0..self.to_write.waiting.len() {
            if self.limit.is_some() && self.limited_for() > Span::ZERO {
                return;
            }
            let Some(index) = self.to_write.next() else { return };
            let Some(sender) = &mut self.senders[index as usize] else { continue };
            match sender.write(self.write_bytes) {
                Ok(written) => {
                    if let Some(limit) = &mut self.limit {
                        limit.on_sent(written.payload_bytes, self.clock.now());
                    }
                    if !written.is_full && sender.has_work() {
                        self.to_write.add(index);
                    }
                }
                Err(_) => self.fail(index, events),
            }
        }
    }

    /// Removes a failed sending connection; all its chunks in flight fail.
    fn fail(&mut self, index: u32, events: &mut Vec<Event>) {
        if let Some(sender) = self.senders[index as usize].take() {
            self.counts.failed_connections += 1;
            self.counts.closed.add(sender.stream());
            sender.failed(events);
        }
    }

    /// Removes a receiving connection that the peer has closed or whose stream is invalid.
    fn close(&mut self, index: u32, why: ErrorKind) {
        if let Some(receiver) = self.receivers[index as usize].take() {
            self.counts.wrong_bytes += receiver.wrong_bytes();
            self.counts.closed_connections += 1;
            self.counts.refused_streams += u64::from(why == ErrorKind::InvalidData);
        }
    }

    /// Reads the kernel's statistics.
    fn read_statistics(&mut self, now: Instant) {
        let mut totals = self.counts.closed;
        self.senders.iter().flatten().for_each(|sender| totals.add(sender.stream()));
        (self.counts.totals, self.counts.read_at) = (totals, now);
    }

    /// The address of a host, if peers at that address are allowed.
    fn allowed(&self, peers: &Peers<Address>, host: u32) -> Result<Address, RunError> {
        let address = *peers.of(host)?;
        self.settings.check_peer(host, SocketAddrV4::new(address.address, address.port))?;
        Ok(address)
    }

    fn incoming(&self, receivers: &[LocalPair], peers: &Peers<Address>) -> Result<Vec<Incoming>, RunError> {
        let remote = receivers.iter().map(|pair| pair.queue_pair).filter(|pair| !pair.is_local());
        let connection = |pair: jobs::QueuePair| {
            let host = pair.src_host.0;
            let from = self.allowed(peers, host)?.address;
            Ok(Incoming { queue_pair: pair.number, host, from })
        };
        remote.map(connection).collect()
    }

    fn outgoing(&self, senders: &[LocalPair], peers: &Peers<Address>) -> Result<Vec<Outgoing>, RunError> {
        let remote = senders.iter().map(|pair| pair.queue_pair).filter(|pair| !pair.is_local());
        let connection = |pair: jobs::QueuePair| {
            let host = pair.dst_host.0;
            let Address { address, port, token } = self.allowed(peers, host)?;
            let hello = Hello { token, queue_pair: pair.number };
            Ok(Outgoing { host, to: SocketAddrV4::new(address, port), hello })
        };
        remote.map(connection).collect()
    }

    /// Sets the DSCP of a connection to that of its job's data; acknowledgements have the same.
    fn set_dscp(&self, stream: &TcpStream, pair: &LocalPair) -> io::Result<()> {
        socket::set_dscp(stream, self.settings.dscp_of(&self.spec, Some(pair.queue_pair.job)).data)
    }

    /// Creates senders and receivers from the established connections.
    fn add_connections(
        &mut self,
        established: Established,
        senders: &[LocalPair],
        receivers: &[LocalPair],
    ) -> Result<(), RunError> {
        let regions = Regions::new(&self.jobs, &self.spec, |host| host);
        let Established { outgoing, incoming, refused } = established;
        self.counts.refused_connections = refused;
        self.counts.connections = (outgoing.len() + incoming.len()) as u64;
        self.to_write = RoundRobin::of(senders.len());
        self.to_read = RoundRobin::of(incoming.len());
        let mut outgoing = outgoing.into_iter();
        for (index, pair) in (0..).zip(senders) {
            let stream = if pair.queue_pair.is_local() { None } else { outgoing.next() };
            if let Some(stream) = &stream {
                self.set_dscp(stream, pair)?;
                self.poller.add(stream, index << 1 | SENDER)?;
            }
            self.senders.push(stream.map(|stream| Sender::new(stream, regions.pattern(pair))));
        }
        let remote = receivers.iter().filter(|pair| !pair.queue_pair.is_local());
        for (index, (pair, stream)) in (0..).zip(remote.zip(incoming)) {
            self.set_dscp(&stream, pair)?;
            self.poller.add(&stream, index << 1 | RECEIVER)?;
            self.received_pairs.push(pair.queue_pair.number);
            let expected = self.settings.verify.then(|| regions.pattern(pair));
            self.receivers.push(Some(Receiver::new(stream, expected)));
        }
        Ok(())
    }
}

/// Lowest bit of poller keys: which end the socket is.
const SENDER: u64 = 0;
const RECEIVER: u64 = 1;

impl Driver for Tcp {
    fn addresses(&self) -> Vec<u8> {
        serde_json::to_vec(&self.address).unwrap_or_else(|error| unreachable!("plain numbers: {error}"))
    }

    fn connect(
        &mut self,
        peers: &BTreeMap<u32, Vec<u8>>,
        senders: &[LocalPair],
        receivers: &[LocalPair],
    ) -> Result<(), RunError> {
        let Some(listener) = self.listener.take() else {
            return Err(RunError::Order("connections are made once"));
        };
        let peers = Peers::read(peers)?;
        let (outgoing, incoming) = (self.outgoing(senders, &peers)?, self.incoming(receivers, &peers)?);
        socket::allow_connections(outgoing.len() + incoming.len())?;
        let listening =
            Listening { listener: &listener, settings: &self.settings, token: self.address.token };
        let established = establish(&listening, &outgoing, &incoming)?;
        self.add_connections(established, senders, receivers)
    }

    fn post(&mut self, post: &Post) {
        match &mut self.senders[post.pair as usize] {
            None => self.refused.push(post.send),
            Some(sender) => {
                // If it waits for buffer space, the poller will report when there is some.
                let waits_for_room = sender.has_work();
                sender.post(post);
                if !waits_for_room {
                    self.to_write.add(post.pair);
                }
            }
        }
    }

    fn poll(&mut self, patience: Span, events: &mut Vec<Event>) -> io::Result<()> {
        let seen = SentCounts::default();
        events.extend(self.refused.drain(..).map(|send| Event::Failed { send, seen }));
        self.wait(patience, events)?;
        self.read(events);
        self.write(events);
        let now = self.clock.now();
        if now.since(self.counts.read_at).0 > STATISTICS_INTERVAL.0 * self.counts.connections.max(100) {
            self.read_statistics(now);
        }
        Ok(())
    }

    fn quiet_span(&self) -> Span {
        Span(self.settings.peer_timeout_ps)
    }

    fn stopped(&mut self) {
        self.read_statistics(self.clock.now());
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let Counts { totals, .. } = self.counts;
        let wrong_bytes: u64 = self.receivers.iter().flatten().map(Receiver::wrong_bytes).sum();
        vec![
            ("connections", self.counts.connections),
            ("refused_connections", self.counts.refused_connections),
            ("failed_connections", self.counts.failed_connections),
            ("closed_connections", self.counts.closed_connections),
            ("refused_streams", self.counts.refused_streams),
            ("wrong_bytes", self.counts.wrong_bytes + wrong_bytes),
            ("tcp_segments_sent", totals.segments),
            ("tcp_segments_retransmitted", totals.retransmitted),
            ("tcp_timeouts", totals.timeouts),
            ("tcp_segments_delivered", totals.delivered),
            ("tcp_segments_delivered_ce", totals.delivered_ce),
            ("tcp_rtt_us_min", totals.rtt_us_min.unwrap_or(0)),
            ("tcp_rtt_us_max", totals.rtt_us_max),
        ]
    }
}
