//! A socket and the queue pairs that share it.

use crate::identifications::Identifications;
use crate::limit::RateLimit;
use crate::numbers::Numbers;
use crate::outbox::{Outbox, Way};
use crate::pair::{Ended, Pair, PairId};
use crate::schedule::Schedule;
use crate::socket::{Datagrams, RECEIVE_BYTES_MAX, Socket};
use crate::transmitter::Transmitter;
use crate::{Classes, Clock, Loss, Memory, Options};
use std::collections::VecDeque;
use std::net::SocketAddrV4;
use std::ops::Range;
use std::{io, mem};
use transport::{Outgoing, PostError, QueuePair, Received, Region, Settings, SettingsError, UdpPath, WorkId};
use units::{Instant, Span};
use wire::Opcode;
use wire::ipv4::Ecn;

/// Packets that a queue pair sends before the next one has its turn: what one call takes of full ones.
const BURST_PACKETS: usize = 16;
/// Bursts that are sent before something is received.
const SENT_AT_ONCE: usize = 16;
/// Calls that receive before something is sent.
const RECEIVED_AT_ONCE: usize = 16;

/// Why a queue pair cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// Settings that no queue pair can have.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// More memory is registered than there is.
    #[error("{registered} bytes are registered of {bytes} bytes of memory")]
    Memory {
        /// Size of the region in the settings.
        registered: u64,
        /// Size of the memory.
        bytes: usize,
    },
    /// A queue pair of the endpoint has the number already.
    #[error("queue pair number {0:#x} is taken")]
    Number(u32),
    /// The UDP source port cannot be had.
    #[error("UDP source port {port}: {error}")]
    SourcePort {
        /// The port.
        port: u16,
        /// What the host says.
        error: String,
    },
}

/// A socket and the queue pairs that share it: they take turns of some packets each.
pub struct Endpoint {
    /// The first receives everything; each sends the packets of some queue pairs.
    sockets: Vec<Socket>,
    options: Options,
    clock: Clock,
    loss: Loss,
    pairs: Vec<Pair>,
    numbers: Numbers,
    schedule: Schedule,
    limit: Option<RateLimit>,
    /// The transmitter of the port, if a rate of the port is set.
    transmitter: Option<Transmitter>,
    /// Packets in flight reached their limit, so that ready queue pairs could not send.
    was_full: bool,
    outbox: Outbox,
    inbox: Vec<u8>,
    identifications: Identifications,
    /// Queue pairs with completions to poll, perhaps more than once.
    completed: VecDeque<PairId>,
    received_datagrams: u64,
    refused_datagrams: u64,
    dropped_packets: u64,
}

impl Endpoint {
    /// One that is bound to an address of the host; port 0 takes any. `loss` says which of its packets it
    /// drops on purpose.
    ///
    /// # Errors
    /// What the host says, and `InvalidInput` for the address of all interfaces.
    pub fn bind(local: SocketAddrV4, clock: Clock, loss: Loss) -> io::Result<Self> {
        Self::bind_with(local, clock, loss, Options::default())
    }

    /// The same, told more.
    ///
    /// # Errors
    /// As for [`Self::bind`].
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

    /// The address that it is bound to.
    #[must_use]
    pub fn local(&self) -> SocketAddrV4 {
        self.sockets[0].local()
    }

    /// Adds a queue pair whose peer is at that address. Its work reads and fills `memory`, of which the peer
    /// may write to, and read if [`Settings::reads`] says so, the first [`Region::bytes`] of [`Settings::memory`].
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

    /// The same, of which packets leave from that UDP source port, which switches choose their path by. They
    /// come to the port of the endpoint all the same. Beyond [`Options::source_ports_max`] ports it shares
    /// one that is open.
    ///
    /// # Errors
    /// [`ConnectError`], without side effect but a port that is open.
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
        let (number, place) = (settings.number.value(), self.pairs.len());
        if self.numbers.place(number).is_some() {
            return Err(ConnectError::Number(number));
        }
        let port = self.open_port(source_port)?;
        self.numbers.insert(number, place);
        self.pairs.push(Pair::new(queue_pair, (peer, port), self.options.classes, memory, address));
        Ok(PairId(place))
    }

    /// Sets the traffic classes of the packets that a queue pair sends from now on.
    ///
    /// # Panics
    /// When the queue pair is not of this endpoint.
    pub fn set_classes(&mut self, pair: PairId, classes: Classes) {
        self.pairs[pair.0].classes = classes;
    }

    /// Which of the sockets sends from that port.
    fn open_port(&mut self, port: u16) -> Result<usize, ConnectError> {
        if let Some(found) = self.sockets.iter().position(|socket| socket.local().port() == port) {
            return Ok(found);
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

    /// Posts a WRITE of part of the memory to `remote_address` of the peer's.
    ///
    /// # Errors
    /// See [`QueuePair::post_write`].
    ///
    /// # Panics
    /// When the part is not within the memory.
    pub fn post_write(
        &mut self,
        pair: PairId,
        part: Range<usize>,
        remote_address: u64,
    ) -> Result<WorkId, PostError> {
        self.post(pair, part, |queue_pair, bytes| queue_pair.post_write(remote_address, bytes))
    }

    /// Posts a READ of the peer's memory from `remote_address` on into part of the memory, which is filled when
    /// the work completes.
    ///
    /// # Errors
    /// See [`QueuePair::post_read`].
    ///
    /// # Panics
    /// When the part is not within the memory, or the memory is one that several queue pairs share.
    pub fn post_read(
        &mut self,
        pair: PairId,
        part: Range<usize>,
        remote_address: u64,
    ) -> Result<WorkId, PostError> {
        let writable_bytes = self.pairs[pair.0].memory().writable_bytes();
        assert!(part.end <= writable_bytes, "what is read is put into memory of its own");
        self.post(pair, part, |queue_pair, bytes| queue_pair.post_read(remote_address, bytes))
    }

    /// Posts a SEND of part of the memory.
    ///
    /// # Errors
    /// See [`QueuePair::post_send`].
    ///
    /// # Panics
    /// When the part is not within the memory.
    pub fn post_send(&mut self, pair: PairId, part: Range<usize>) -> Result<WorkId, PostError> {
        self.post(pair, part, QueuePair::post_send)
    }

    /// The same as [`Self::post_write`], with a word for the peer: it completes the oldest receive there.
    ///
    /// # Errors
    /// See [`QueuePair::post_write_with_immediate`].
    ///
    /// # Panics
    /// When the part is not within the memory.
    pub fn post_write_with_immediate(
        &mut self,
        pair: PairId,
        part: Range<usize>,
        remote_address: u64,
        immediate: u32,
    ) -> Result<WorkId, PostError> {
        self.post(pair, part, |queue_pair, bytes| {
            queue_pair.post_write_with_immediate(remote_address, bytes, immediate)
        })
    }

    /// The same as [`Self::post_send`], with a word for the peer.
    ///
    /// # Errors
    /// See [`QueuePair::post_send_with_immediate`].
    ///
    /// # Panics
    /// When the part is not within the memory.
    pub fn post_send_with_immediate(
        &mut self,
        pair: PairId,
        part: Range<usize>,
        immediate: u32,
    ) -> Result<WorkId, PostError> {
        self.post(pair, part, |queue_pair, bytes| queue_pair.post_send_with_immediate(bytes, immediate))
    }

    /// Posts a receive into part of the memory; for a WRITE with immediate, part of no bytes is enough.
    ///
    /// # Errors
    /// See [`QueuePair::post_receive`].
    ///
    /// # Panics
    /// When the part is not within the memory.
    pub fn post_receive(&mut self, pair: PairId, part: Range<usize>) -> Result<WorkId, PostError> {
        let now = self.clock.now();
        let posted = &mut self.pairs[pair.0];
        let capacity_bytes = posted.memory().bytes()[part.clone()].len() as u64;
        let work = posted.queue_pair.post_receive(capacity_bytes)?;
        posted.receives().push(work, part);
        // Under selective recovery the peer's message may have been waiting for it.
        self.collect(pair.0, now);
        Ok(work)
    }

    fn post(
        &mut self,
        pair: PairId,
        part: Range<usize>,
        post: impl FnOnce(&mut QueuePair, u64) -> Result<WorkId, PostError>,
    ) -> Result<WorkId, PostError> {
        let posted = &mut self.pairs[pair.0];
        let bytes = posted.memory().bytes()[part.clone()].len() as u64;
        let work = post(&mut posted.queue_pair, bytes)?;
        posted.sends().push(work, part);
        // Sooner or later; when, its turn shows.
        self.update(pair.0, Instant(u64::MAX - 1));
        Ok(work)
    }

    /// A queue pair.
    #[must_use]
    pub fn pair(&self, pair: PairId) -> &Pair {
        &self.pairs[pair.0]
    }

    /// A queue pair, to poll.
    pub fn pair_mut(&mut self, pair: PairId) -> &mut Pair {
        &mut self.pairs[pair.0]
    }

    /// The next end of a work request of any queue pair.
    pub fn poll_completion(&mut self) -> Option<(PairId, Ended)> {
        while let Some(&pair) = self.completed.front() {
            if let Some(ended) = self.pairs[pair.0].poll_completion() {
                return Some((pair, ended));
            }
            self.completed.pop_front();
        }
        None
    }

    /// Its clock.
    #[must_use]
    pub const fn clock(&self) -> Clock {
        self.clock
    }

    /// Room for what has arrived and was not taken in, as the kernel counts: twice what packets carry, or
    /// more [bytes].
    #[must_use]
    pub fn receive_buffer_bytes(&self) -> u64 {
        self.sockets[0].receive_buffer_bytes()
    }

    /// Datagrams that found no room there.
    #[must_use]
    pub fn socket_drops(&self) -> u64 {
        self.sockets[0].drops()
    }

    /// Bytes that peers have written and that are not what was expected: see [`Memory::Checked`].
    #[must_use]
    pub fn wrong_bytes(&self) -> u64 {
        self.pairs.iter().map(|pair| pair.memory().wrong_bytes()).sum()
    }

    /// Datagrams that have arrived, whatever became of them.
    #[must_use]
    pub const fn received_datagrams(&self) -> u64 {
        self.received_datagrams
    }

    /// Calls that could not send for want of a way, and why one of them could not.
    #[must_use]
    pub fn unsent(&self) -> (u64, Option<String>) {
        let calls = self.sockets.iter().map(|socket| socket.unsent().0).sum();
        (calls, self.sockets.iter().find_map(|socket| socket.unsent().1).map(ToString::to_string))
    }

    /// Datagrams that were no packets for one of its queue pairs.
    #[must_use]
    pub const fn refused_datagrams(&self) -> u64 {
        self.refused_datagrams
    }

    /// Packets that it has dropped on purpose.
    #[must_use]
    pub const fn dropped_packets(&self) -> u64 {
        self.dropped_packets
    }

    /// Takes in what has arrived and sends what may be sent; if there was nothing of either, waits for
    /// something to do, but no longer than `patience`.
    ///
    /// # Errors
    /// What the host says of the socket.
    pub fn turn(&mut self, patience: Span) -> io::Result<()> {
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

    /// Takes in what has arrived, up to some calls; returns how many packets.
    fn receive(&mut self) -> io::Result<usize> {
        let mut inbox = mem::take(&mut self.inbox);
        let received = self.receive_into(&mut inbox);
        self.inbox = inbox;
        received
    }

    fn receive_into(&mut self, inbox: &mut [u8]) -> io::Result<usize> {
        let before = self.received_datagrams;
        for _ in 0..RECEIVED_AT_ONCE {
            let Some(datagrams) = self.sockets[0].receive(inbox)? else { break };
            self.take_in(&inbox[..datagrams.bytes], &datagrams);
        }
        Ok((self.received_datagrams - before) as usize)
    }

    /// Hands datagrams that came in one piece to their queue pairs, of which each is looked at again once.
    fn take_in(&mut self, bytes: &[u8], datagrams: &Datagrams) {
        let now = self.clock.now();
        // What was cut apart for the way is numbered from 0, and put together again in this order.
        let (mut identification, mut touched) = (0, None);
        for datagram in bytes.chunks(datagrams.segment_bytes.max(1)) {
            self.received_datagrams += 1;
            let Some((place, found)) = self.handle(datagram, identification, (datagrams, now)) else {
                self.refused_datagrams += 1;
                continue;
            };
            identification = found.wrapping_add(1);
            if let Some(last) = touched.replace(place).filter(|last| *last != place) {
                self.look_at(last, now);
            }
        }
        if let Some(last) = touched {
            self.look_at(last, now);
        }
    }

    /// Hands a datagram to its queue pair and returns the place of that and the IPv4 identification, which is
    /// `likely` that one; none if it is not for any.
    fn handle(
        &mut self,
        datagram: &[u8],
        likely: u16,
        (datagrams, now): (&Datagrams, Instant),
    ) -> Option<(usize, u16)> {
        let path = UdpPath { source: datagrams.from, destination: self.sockets[0].local() };
        let (packet, identification) = self.identifications.open(&path, likely, datagram)?;
        let packet = Received::decode(packet).ok()?.with_mark(datagrams.ecn == Ecn::CongestionExperienced);
        let place = self.numbers.place(packet.destination().value())?;
        let pair = &mut self.pairs[place];
        // As a connection has two ends, others have no part in it. The source port is the peer's to choose
        // (IBTA annex A17.3.1.2).
        if pair.peer.ip() != datagrams.from.ip() {
            return None;
        }
        if let Some(placed) = pair.queue_pair.handle(&packet, now).placed {
            pair.place(placed, packet.payload(), now);
        }
        Some((place, identification))
    }

    /// Something has happened to a queue pair.
    fn look_at(&mut self, place: usize, now: Instant) {
        self.collect(place, now);
        self.update(place, now);
    }

    fn collect(&mut self, place: usize, now: Instant) {
        if self.pairs[place].collect_completions(now) {
            self.completed.push_back(PairId(place));
        }
    }

    fn update(&mut self, place: usize, now: Instant) {
        let Pair { queue_pair, standing, .. } = &mut self.pairs[place];
        self.schedule.update(place, standing, queue_pair, now);
    }

    /// Sends what queue pairs may send, up to some packets each; returns how many.
    fn transmit(&mut self) -> io::Result<usize> {
        let now = self.clock.now();
        self.open_transmitter(now);
        while let Some((at, place)) = self.schedule.next_expired(now) {
            self.pairs[place].standing.leave_timer(at);
            self.pairs[place].queue_pair.on_timeout(now);
            self.look_at(place, now);
        }
        let mut sent = 0;
        for _ in 0..self.schedule.urgent() {
            let Some(place) = self.schedule.next_urgent() else { break };
            self.pairs[place].standing.leave_urgent();
            sent += self.send_urgent(place, now)?;
            self.look_at(place, now);
        }
        for _ in 0..SENT_AT_ONCE {
            sent += self.send_transmitted(now)?;
            if now < self.payload_from() {
                break;
            }
            let Some(place) = self.schedule.next_ready() else { break };
            self.pairs[place].standing.leave_ready();
            // A transmission polled late began in time, and so does the next one.
            let start = self.start_at(place, now);
            sent += self.send_burst(place, start, now)?;
            self.collect(place, now);
            self.update(place, start);
        }
        self.outbox.flush(&mut self.sockets, &self.pairs)?;
        Ok(sent)
    }

    /// Sends replies, and what is sent again one by one.
    fn send_urgent(&mut self, place: usize, now: Instant) -> io::Result<usize> {
        let mut sent = 0;
        while let Some(packet) = self.pairs[place].queue_pair.poll_reply() {
            self.send_at_once(place, &packet)?;
            sent += 1;
        }
        while sent < BURST_PACKETS && self.pairs[place].queue_pair.is_resending() {
            let Some(packet) = self.pairs[place].queue_pair.poll_transmit(now) else { break };
            self.send_at_once(place, &packet)?;
            sent += 1;
        }
        Ok(sent)
    }

    fn send_at_once(&mut self, place: usize, packet: &Outgoing) -> io::Result<()> {
        if let Some(transmitter) = &mut self.transmitter {
            transmitter.occupy(packet);
        }
        self.send(place, packet)
    }

    /// Lets the next transmission start no sooner than `now` after packets in flight were at their limit.
    fn open_transmitter(&mut self, now: Instant) {
        let is_full = self.schedule.is_full();
        if let Some(transmitter) = &mut self.transmitter
            && std::mem::replace(&mut self.was_full, is_full)
        {
            transmitter.open(now);
        }
    }

    /// Sends the packets whose transmission has ended; returns how many.
    fn send_transmitted(&mut self, now: Instant) -> io::Result<usize> {
        let sent = self.transmitter.as_mut().map_or_else(Vec::new, |each| each.take_sent(now));
        for (place, packet) in &sent {
            self.send(*place, packet)?;
        }
        Ok(sent.len())
    }

    /// When the turn of a queue pair starts: now, unless the port has a rate.
    fn start_at(&self, place: usize, now: Instant) -> Instant {
        let ready_since = self.pairs[place].standing.ready_since().min(now);
        self.transmitter.as_ref().map_or(now, |transmitter| transmitter.start_at(ready_since))
    }

    fn send_burst(&mut self, place: usize, start: Instant, now: Instant) -> io::Result<usize> {
        // Its timer may have been due when it was found ready.
        self.pairs[place].queue_pair.on_timeout(now);
        if self.transmitter.is_some() {
            return Ok(self.transmit_turn(place, start, now));
        }
        for sent in 0..BURST_PACKETS {
            if now < self.payload_from() {
                return Ok(sent);
            }
            let Some(packet) = self.pairs[place].queue_pair.poll_transmit(now) else { return Ok(sent) };
            if let (Some(limit), Some(source)) = (&mut self.limit, packet.source) {
                limit.on_sent(source.bytes.into(), now);
            }
            self.send(place, &packet)?;
        }
        Ok(BURST_PACKETS)
    }

    /// Starts the transmission of a turn of a queue pair: as many packets as leave together. `start` may be
    /// before `now`, when the transmission before ended.
    fn transmit_turn(&mut self, place: usize, start: Instant, now: Instant) -> usize {
        let Some(transmitter) = &mut self.transmitter else { return 0 };
        let queue_pair = &mut self.pairs[place].queue_pair;
        for count in 0..usize::from(self.options.batch_packets_max) {
            // Pacing may have made it ready in between.
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
            transmitter.push(place, packet, start);
        }
        self.options.batch_packets_max.into()
    }

    /// From when on payload may be sent for the first time: what is sent again is not held back.
    fn payload_from(&self) -> Instant {
        let limited = self.limit.as_ref().map_or(Instant::ZERO, RateLimit::ready_at);
        self.transmitter.as_ref().map_or(limited, |transmitter| limited.max(transmitter.free_at()))
    }

    fn send(&mut self, place: usize, packet: &Outgoing) -> io::Result<()> {
        self.pairs[place].on_sending(packet);
        if self.loss.drops_next() {
            self.dropped_packets += 1;
            return Ok(());
        }
        let Pair { port, peer: to, classes, .. } = self.pairs[place];
        let class = match packet.bth.opcode {
            Opcode::Acknowledge => classes.acknowledgements,
            Opcode::CongestionNotification => classes.notifications,
            _ => classes.data,
        };
        self.outbox.push(&mut self.sockets, &self.pairs, (place, Way { port, to, class }), packet)
    }
}
