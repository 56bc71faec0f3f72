//! A socket and the queue pairs that share it.

use crate::outbox::Outbox;
use crate::socket::{CALL_BYTES_MAX, Datagrams, SEGMENTS_MAX, Socket};
use crate::{Clock, Loss};
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddrV4;
use std::ops::Range;
use std::{io, mem};
use transport::{
    Completion, Counters, Outgoing, Placed, PostError, QueuePair, Received, Region, Settings, SettingsError,
    Target, UdpPath, WorkId,
};
use units::{Instant, Span};
use wire::icrc::{self, IdentificationBits};
use wire::ipv4::Ecn;

/// Packets that a queue pair sends before the next one has its turn.
const BURST_PACKETS: usize = 8;
/// Calls that receive before something is sent.
const RECEIVED_AT_ONCE: usize = 8;

/// A queue pair of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PairId(usize);

/// Why a queue pair cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
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
}

/// A queue pair with the memory that its work reads and that its peer writes.
#[derive(Debug)]
pub struct Pair {
    queue_pair: QueuePair,
    peer: SocketAddrV4,
    memory: Vec<u8>,
    /// Where in the peer's eyes the memory begins.
    address: u64,
    /// Work that is not completed, in the order in which it was posted, and its part of the memory.
    posted: VecDeque<(WorkId, Range<usize>)>,
    completions: VecDeque<(Instant, Completion)>,
    delivered_bytes: u64,
    delivered: (Instant, Counters),
}

impl Pair {
    /// Its memory.
    #[must_use]
    pub fn memory(&self) -> &[u8] {
        &self.memory
    }

    /// What it has seen so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        self.queue_pair.counters()
    }

    /// Payload that the peer has placed in its memory [bytes].
    #[must_use]
    pub const fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes
    }

    /// When the last of it was placed, and what had been seen by then.
    #[must_use]
    pub const fn delivered(&self) -> &(Instant, Counters) {
        &self.delivered
    }

    /// The next end of a work request, and when it was known.
    pub fn poll_completion(&mut self) -> Option<(Instant, Completion)> {
        self.completions.pop_front()
    }

    /// Part of the memory that a work request reads or fills; it is posted until it is completed.
    fn part_of(&self, work: WorkId) -> Range<usize> {
        self.place_of(work).map_or(0..0, |place| self.posted[place].1.clone())
    }

    fn place_of(&self, work: WorkId) -> Option<usize> {
        self.posted.binary_search_by_key(&work, |(posted, _)| *posted).ok()
    }

    fn place(&mut self, placed: Placed, payload: &[u8], now: Instant) {
        let from = match placed.target {
            Target::Memory { address } => (address - self.address) as usize,
            Target::Receive { work, offset_bytes } => self.part_of(work).start + offset_bytes as usize,
        };
        self.memory[from..from + payload.len()].copy_from_slice(payload);
        self.delivered_bytes += u64::from(placed.bytes);
        self.delivered = (now, *self.queue_pair.counters());
    }

    fn collect_completions(&mut self, now: Instant) {
        while let Some(completion) = self.queue_pair.poll_completion() {
            if let Some(place) = self.place_of(completion.work) {
                self.posted.remove(place);
            }
            self.completions.push_back((now, completion));
        }
    }

    /// The payload of a packet to send.
    fn payload(&self, packet: &Outgoing) -> &[u8] {
        packet.source.map_or(&[], |source| {
            let from = self.part_of(source.work).start + source.offset_bytes as usize;
            &self.memory[from..from + source.bytes as usize]
        })
    }
}

/// A socket and the queue pairs that share it: they take turns of some packets each.
pub struct Endpoint {
    socket: Socket,
    clock: Clock,
    loss: Loss,
    pairs: Vec<Pair>,
    /// By their number.
    places: HashMap<u32, usize>,
    outbox: Outbox,
    inbox: Vec<u8>,
    identifications: Identifications,
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
        Ok(Self {
            socket: Socket::bind(local)?,
            clock,
            loss,
            pairs: Vec::new(),
            places: HashMap::new(),
            outbox: Outbox::default(),
            inbox: vec![0; CALL_BYTES_MAX],
            identifications: Identifications::default(),
            refused_datagrams: 0,
            dropped_packets: 0,
        })
    }

    /// The address that it is bound to.
    #[must_use]
    pub const fn local(&self) -> SocketAddrV4 {
        self.socket.local()
    }

    /// Adds a queue pair whose peer is at that address. Its work reads and fills `memory`, of which the peer
    /// may write to the first [`Region::bytes`] of [`Settings::memory`].
    ///
    /// # Errors
    /// [`ConnectError`], without side effect.
    pub fn connect(
        &mut self,
        settings: &Settings,
        peer: SocketAddrV4,
        memory: Vec<u8>,
    ) -> Result<PairId, ConnectError> {
        let Region { address, bytes: registered, .. } =
            settings.memory.unwrap_or(Region { address: 0, bytes: 0, remote_key: 0 });
        if registered > memory.len() as u64 {
            return Err(ConnectError::Memory { registered, bytes: memory.len() });
        }
        let queue_pair = QueuePair::new(settings)?;
        let (number, place) = (settings.number.value(), self.pairs.len());
        if self.places.contains_key(&number) {
            return Err(ConnectError::Number(number));
        }
        self.places.insert(number, place);
        self.pairs.push(Pair {
            queue_pair,
            peer,
            memory,
            address,
            posted: VecDeque::new(),
            completions: VecDeque::new(),
            delivered_bytes: 0,
            delivered: (Instant::ZERO, Counters::default()),
        });
        Ok(PairId(place))
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
        self.post(pair, part, QueuePair::post_receive)
    }

    fn post(
        &mut self,
        pair: PairId,
        part: Range<usize>,
        post: impl FnOnce(&mut QueuePair, u64) -> Result<WorkId, PostError>,
    ) -> Result<WorkId, PostError> {
        let pair = &mut self.pairs[pair.0];
        let work = post(&mut pair.queue_pair, pair.memory[part.clone()].len() as u64)?;
        pair.posted.push_back((work, part));
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
        let deadline = self.pairs.iter().map(|pair| pair.queue_pair.deadline()).min();
        let wait = deadline.unwrap_or(Instant::NEVER).since(self.clock.now());
        if wait > Span::ZERO { self.socket.wait(wait.min(patience)) } else { Ok(()) }
    }

    /// Takes in what has arrived, up to some calls; returns how many packets.
    fn receive(&mut self) -> io::Result<usize> {
        let mut inbox = mem::take(&mut self.inbox);
        let received = self.receive_into(&mut inbox);
        self.inbox = inbox;
        received
    }

    fn receive_into(&mut self, inbox: &mut [u8]) -> io::Result<usize> {
        let mut received = 0;
        for _ in 0..RECEIVED_AT_ONCE {
            let Some(datagrams) = self.socket.receive(inbox)? else { break };
            // What was cut apart for the way is numbered from 0, and put together again in this order.
            let mut identification = 0;
            for datagram in inbox[..datagrams.bytes].chunks(datagrams.segment_bytes.max(1)) {
                match self.handle(datagram, identification, &datagrams) {
                    Some(found) => identification = found.wrapping_add(1),
                    None => self.refused_datagrams += 1,
                }
                received += 1;
            }
        }
        Ok(received)
    }

    /// Hands one of some datagrams to its queue pair and returns its IPv4 identification, which is `likely`
    /// that one; none if it is not for any.
    fn handle(&mut self, datagram: &[u8], likely: u16, datagrams: &Datagrams) -> Option<u16> {
        let path = UdpPath { source: datagrams.from, destination: self.socket.local() };
        let (packet, identification) = self.identifications.open(&path, likely, datagram)?;
        let packet = Received::decode(packet).ok()?.with_mark(datagrams.ecn == Ecn::CongestionExperienced);
        let pair = &mut self.pairs[*self.places.get(&packet.destination().value())?];
        // As a connection has two ends, others have no part in it.
        if pair.peer != datagrams.from {
            return None;
        }
        let now = self.clock.now();
        if let Some(placed) = pair.queue_pair.handle(&packet, now).placed {
            pair.place(placed, packet.payload(), now);
        }
        pair.collect_completions(now);
        Some(identification)
    }

    /// Sends what queue pairs may send, up to some packets each; returns how many.
    fn transmit(&mut self) -> io::Result<usize> {
        let mut sent = 0;
        for place in 0..self.pairs.len() {
            let pair = &mut self.pairs[place];
            let now = self.clock.now();
            if pair.queue_pair.deadline() > now {
                continue;
            }
            pair.queue_pair.on_timeout(now);
            pair.collect_completions(now);
            for _ in 0..BURST_PACKETS {
                let now = self.clock.now();
                let Some(packet) = self.pairs[place].queue_pair.poll_transmit(now) else { break };
                self.send(place, &packet)?;
                sent += 1;
            }
        }
        self.outbox.flush(&mut self.socket)?;
        Ok(sent)
    }

    fn send(&mut self, place: usize, packet: &Outgoing) -> io::Result<()> {
        if self.loss.drops_next() {
            self.dropped_packets += 1;
            return Ok(());
        }
        let pair = &self.pairs[place];
        self.outbox.push(&mut self.socket, pair.peer, packet, pair.payload(packet))
    }
}

/// Opens packets whose IPv4 identification is not known.
#[derive(Default)]
struct Identifications {
    /// By length of the packet.
    bits: HashMap<usize, IdentificationBits>,
}

impl Identifications {
    /// The transport packet in a datagram, and its identification: `likely`, or the one below the number of
    /// segments of a call with which the ICRC matches. That it may be any of these costs 6 of the 32 bits of
    /// the ICRC where the first guess is wrong.
    fn open<'a>(&mut self, path: &UdpPath, likely: u16, datagram: &'a [u8]) -> Option<(&'a [u8], u16)> {
        let difference = match path.open(likely, datagram) {
            Ok(packet) => return Some((packet, likely)),
            Err(wire::Error::BadIcrc { expected, found }) => expected ^ found,
            Err(_) => return None,
        };
        let packet_bytes = datagram.len() - icrc::BYTES;
        let bits = self.bits.entry(packet_bytes).or_insert_with(|| IdentificationBits::new(packet_bytes));
        let identification = likely ^ bits.behind(difference)?;
        (usize::from(identification) < SEGMENTS_MAX).then_some((&datagram[..packet_bytes], identification))
    }
}
