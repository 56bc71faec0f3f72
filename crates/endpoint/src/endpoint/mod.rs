//! UDP sockets and the RoCE queue pairs that share them: connections, work requests, completions, counters,
//! and the event loop. Modules: `receive` and `transmit` are its two halves; `schedule` has the queue pairs
//! with pending work, `transmitter` the port with a configured rate, `outbox` the packets of one send call,
//! `pair` a queue pair with its memory.

mod outbox;
mod pair;
mod receive;
mod schedule;
mod transmit;
mod transmitter;

pub use pair::{Ended, Pair, PairId, Sent};

use crate::limit::RateLimit;
use crate::socket::{RECEIVE_BYTES_MAX, Socket};
use crate::{Classes, Clock, Loss, Memory, Options};
use outbox::Outbox;
pub(crate) use outbox::Route;
use receive::{Identifications, Numbers};
use schedule::Schedule;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddrV4;
use std::ops::Range;
use transmitter::Transmitter;
use transport::{PostError, QueuePair, Region, Settings, SettingsError, WorkId};
use units::{Instant, Span};

/// Error of adding a queue pair.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// Invalid queue pair settings.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The registered region is larger than the memory.
    #[error("{registered} bytes are registered of {bytes} bytes of memory")]
    Memory {
        /// Size of the region in the settings.
        registered: u64,
        /// Size of the memory.
        bytes: usize,
    },
    /// Another queue pair of the endpoint has this number.
    #[error("queue pair number {0:#x} is taken")]
    Number(u32),
    /// The UDP source port cannot be opened.
    #[error("UDP source port {port}: {error}")]
    SourcePort {
        /// The port.
        port: u16,
        /// Error of the operating system.
        error: String,
    },
}

/// An RDMA request that sends or reads data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Operation.
    pub operation: Operation,
    /// Range of the local memory.
    pub part: Range<usize>,
    /// Immediate data, which completes the oldest receive of the peer; ignored for READ.
    pub immediate: Option<u32>,
}

/// RDMA operation of a request, with the remote address where it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// WRITE to memory of the peer.
    Write(u64),
    /// READ of memory of the peer; the local range is filled when the request completes.
    Read(u64),
    /// SEND into a receive of the peer.
    Send,
}

impl Operation {
    /// The request of this operation on a range of the local memory, without immediate data.
    pub const fn of(self, part: Range<usize>) -> Request {
        Request { operation: self, part, immediate: None }
    }

    /// The request of this operation with immediate data.
    pub const fn with_immediate(self, part: Range<usize>, immediate: u32) -> Request {
        Request { operation: self, part, immediate: Some(immediate) }
    }
}

/// UDP sockets and the queue pairs that share them, served round robin in bursts of packets.
///
/// - Constructors: [`bind`](Self::bind), [`bind_with`](Self::bind_with); queue pairs are added by
///   [`connect`](Self::connect) and [`connect_from`](Self::connect_from).
/// - Work requests: [`post`](Self::post), [`post_receive`](Self::post_receive).
/// - Progress: [`poll`](Self::poll), to be called in a loop.
/// - Completions: [`poll_completion`](Self::poll_completion), or per queue pair with
///   [`pair_mut`](Self::pair_mut).
/// - Counters: [`received_datagrams`](Self::received_datagrams),
///   [`refused_datagrams`](Self::refused_datagrams), [`socket_drops`](Self::socket_drops),
///   [`unsent`](Self::unsent), [`dropped_packets`](Self::dropped_packets),
///   [`wrong_bytes`](Self::wrong_bytes).
pub struct Endpoint {
    /// The first receives all datagrams; each sends the packets of the queue pairs assigned to it.
    sockets: Vec<Socket>,
    options: Options,
    clock: Clock,
    loss: Loss,
    pairs: Vec<Pair>,
    numbers: Numbers,
    schedule: Schedule,
    limit: Option<RateLimit>,
    /// Transmitter of the port, if [`Options::port_rate_bps`] is set.
    transmitter: Option<Transmitter>,
    /// In-flight packets reached their limit, so ready queue pairs could not send.
    was_full: bool,
    outbox: Outbox,
    inbox: Vec<u8>,
    identifications: Identifications,
    /// Queue pairs with completions to poll; may contain duplicates.
    completed: VecDeque<PairId>,
    received_datagrams: u64,
    refused_datagrams: u64,
    dropped_packets: u64,
}

impl Endpoint {
    /// Creates an endpoint bound to an address of the host; port 0 selects any free port. `loss` selects the
    /// outgoing packets that are dropped on purpose.
    ///
    /// # Errors
    /// Error of the operating system; `InvalidInput` for the unspecified address (0.0.0.0).
    pub fn bind(local: SocketAddrV4, clock: Clock, loss: Loss) -> io::Result<Self> {
        Self::bind_with(local, clock, loss, Options::default())
    }

    /// Same as [`Self::bind`], with options.
    pub fn bind_with(local: SocketAddrV4, clock: Clock, loss: Loss, options: Options) -> io::Result<Self> {
        Ok(Self {
            sockets: vec![Socket::bind(local, options.classes.data)?],
            options,
            clock,
            loss,
            pairs: Vec::new(),
            numbers: Numbers::default(),
            schedule: Schedule::new(options.in_flight_packets_max),
            limit: options.rate_limit_bps.map(RateLimit::new),
            transmitter: options.port_rate_bps.map(Transmitter::new),
            was_full: false,
            outbox: Outbox::new(options.batch_packets_max),
            inbox: vec![0; RECEIVE_BYTES_MAX],
            identifications: Identifications::default(),
            completed: VecDeque::new(),
            received_datagrams: 0,
            refused_datagrams: 0,
            dropped_packets: 0,
        })
    }

    /// Local address of the receiving socket.
    pub fn local(&self) -> SocketAddrV4 {
        self.sockets[0].local()
    }

    /// Adds a queue pair connected to `peer`. Its work requests read and fill `memory`. The peer may write to
    /// the first [`Region::bytes`] of [`Settings::memory`], and read them if [`Settings::reads`] permits.
    ///
    /// # Errors
    /// [`ConnectError`], without side effect.
    pub fn connect(
        &mut self,
        settings: &Settings,
        peer: SocketAddrV4,
        memory: impl Into<Memory>,
    ) -> Result<PairId, ConnectError> {
        self.connect_from(self.local().port(), settings, peer, memory)
    }

    /// Same as [`Self::connect`], with a UDP source port, by which switches select the path (ECMP). Packets
    /// of the peer still arrive at the endpoint's own port. If [`Options::source_ports_max`] ports are open,
    /// the queue pair uses one of those.
    ///
    /// # Errors
    /// [`ConnectError`]; the only side effect may be an open port.
    pub fn connect_from(
        &mut self,
        source_port: u16,
        settings: &Settings,
        peer: SocketAddrV4,
        memory: impl Into<Memory>,
    ) -> Result<PairId, ConnectError> {
        let Region { address, bytes: registered, .. } =
            settings.memory.unwrap_or(Region { address: 0, bytes: 0, remote_key: 0 });
        let memory = memory.into();
        let bytes = memory.writable_bytes();
        if registered > bytes as u64 {
            return Err(ConnectError::Memory { registered, bytes });
        }
        let queue_pair = QueuePair::new(settings)?;
        let (number, index) = (settings.number.value(), self.pairs.len());
        if self.numbers.index(number).is_some() {
            return Err(ConnectError::Number(number));
        }
        let port = self.open_port(source_port)?;
        self.numbers.insert(number, index);
        self.pairs.push(Pair::new(queue_pair, peer, port, self.options.classes, memory, address));
        Ok(PairId(index))
    }

    /// Sets the traffic classes of packets that a queue pair sends from now on.
    ///
    /// # Panics
    /// When the queue pair does not belong to this endpoint.
    pub fn set_classes(&mut self, pair: PairId, classes: Classes) {
        self.pairs[pair.0].classes = classes;
    }

    /// Index of the socket that sends from that port; opens it if necessary.
    fn open_port(&mut self, port: u16) -> Result<usize, ConnectError> {
        if let Some(index) = self.sockets.iter().position(|socket| socket.local().port() == port) {
            return Ok(index);
        }
        if self.sockets.len() >= self.options.source_ports_max.max(1) {
            return Ok(usize::from(port) % self.sockets.len());
        }
        let local = SocketAddrV4::new(*self.local().ip(), port);
        let socket = Socket::bind(local, self.options.classes.data)
            .map_err(|error| ConnectError::SourcePort { port, error: error.to_string() })?;
        self.sockets.push(socket);
        Ok(self.sockets.len() - 1)
    }

    /// Posts a request.
    ///
    /// # Panics
    /// When the range exceeds the memory, or a READ fills memory that several queue pairs share.
    pub fn post(&mut self, pair: PairId, request: Request) -> Result<WorkId, PostError> {
        let posted = &mut self.pairs[pair.0];
        let (queue_pair, memory, part) = (&mut posted.queue_pair, posted.memory.bytes(), request.part);
        let bytes = memory[part.clone()].len() as u64;
        let work = match (request.operation, request.immediate) {
            (Operation::Write(address), None) => queue_pair.post_write(address, bytes),
            (Operation::Write(address), Some(immediate)) => {
                queue_pair.post_write_with_immediate(address, bytes, immediate)
            }
            (Operation::Read(address), _) => {
                assert!(part.end <= posted.memory.writable_bytes(), "READ fills private memory");
                queue_pair.post_read(address, bytes)
            }
            (Operation::Send, None) => queue_pair.post_send(bytes),
            (Operation::Send, Some(immediate)) => queue_pair.post_send_with_immediate(bytes, immediate),
        }?;
        posted.sends().push(work, part);
        // Ready at some later time; the scheduler finds out when it serves the queue pair.
        self.update(pair.0, Instant(u64::MAX - 1));
        Ok(work)
    }

    /// Posts a receive into a range of the memory; an empty range suffices for a WRITE with immediate.
    ///
    /// # Errors
    /// See [`QueuePair::post_receive`].
    ///
    /// # Panics
    /// When the range exceeds the memory.
    pub fn post_receive(&mut self, pair: PairId, part: Range<usize>) -> Result<WorkId, PostError> {
        let now = self.clock.now();
        let posted = &mut self.pairs[pair.0];
        let capacity_bytes = posted.memory().bytes()[part.clone()].len() as u64;
        let work = posted.queue_pair.post_receive(capacity_bytes)?;
        posted.receives().push(work, part);
        // With selective recovery, a message of the peer may have been waiting for this receive.
        self.collect(pair.0, now);
        Ok(work)
    }

    /// A queue pair of this endpoint.
    pub fn pair(&self, pair: PairId) -> &Pair {
        &self.pairs[pair.0]
    }

    /// A queue pair of this endpoint, for polling.
    pub fn pair_mut(&mut self, pair: PairId) -> &mut Pair {
        &mut self.pairs[pair.0]
    }

    /// Next completion of a work request on any queue pair.
    pub fn poll_completion(&mut self) -> Option<(PairId, Ended)> {
        while let Some(&pair) = self.completed.front() {
            if let Some(ended) = self.pairs[pair.0].poll_completion() {
                return Some((pair, ended));
            }
            self.completed.pop_front();
        }
        None
    }

    /// The clock of the endpoint.
    pub const fn clock(&self) -> Clock {
        self.clock
    }

    /// Size of the socket's receive buffer as the kernel accounts it: at least twice the size of the packets
    /// that fit [bytes].
    pub fn receive_buffer_bytes(&self) -> u64 {
        self.sockets[0].receive_buffer_bytes()
    }

    /// Datagrams dropped because the socket's receive buffer was full.
    pub fn socket_drops(&self) -> u64 {
        self.sockets[0].drops()
    }

    /// Bytes written by peers that differ from the expected ones: see [`Memory::Checked`].
    pub fn wrong_bytes(&self) -> u64 {
        self.pairs.iter().map(|pair| pair.memory().wrong_bytes()).sum()
    }

    /// Datagrams received, including refused ones.
    pub const fn received_datagrams(&self) -> u64 {
        self.received_datagrams
    }

    /// Number of send calls that failed for lack of a route, with the error of one of them.
    pub fn unsent(&self) -> (u64, Option<String>) {
        let calls = self.sockets.iter().map(|socket| socket.unsent().0).sum();
        (calls, self.sockets.iter().find_map(|socket| socket.unsent().1).map(ToString::to_string))
    }

    /// Datagrams that were not valid packets for a queue pair of this endpoint.
    pub const fn refused_datagrams(&self) -> u64 {
        self.refused_datagrams
    }

    /// Packets dropped on purpose.
    pub const fn dropped_packets(&self) -> u64 {
        self.dropped_packets
    }

    /// Performs one iteration: receives, then sends as permitted. If there was nothing to do, waits for an
    /// event, at most `patience`.
    pub fn poll(&mut self, patience: Span) -> io::Result<()> {
        let received = self.receive()?;
        let sent = self.transmit()?;
        if received + sent > 0 {
            return Ok(());
        }
        let due = self.schedule.deadline(self.payload_from());
        let leaves = self.transmitter.as_ref().map_or(Instant::NEVER, Transmitter::deadline);
        let wait = due.min(leaves).since(self.clock.now());
        if wait > Span::ZERO { self.sockets[0].wait(wait.min(patience)) } else { Ok(()) }
    }

    /// Collects completions and reschedules a queue pair after an event.
    fn refresh(&mut self, index: usize, now: Instant) {
        self.collect(index, now);
        self.update(index, now);
    }

    fn collect(&mut self, index: usize, now: Instant) {
        if self.pairs[index].collect_completions(now) {
            self.completed.push_back(PairId(index));
        }
    }

    fn update(&mut self, index: usize, now: Instant) {
        let Pair { queue_pair, scheduling, .. } = &mut self.pairs[index];
        self.schedule.update(index, scheduling, queue_pair, now);
    }
}
