//! Loopback test: description, run and results of transfers between two endpoints of one host, one thread
//! each; received data is compared byte by byte.

use crate::{Clock, ConnectError, Ended, Endpoint, Loss, Operation, Pair, PairId};
use serde::{Deserialize, Serialize};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::atomic::{AtomicBool, Ordering};
use transport::{
    Config, Controller, Counters, DcqcnConfig, PostError, RateControlConfig, Reads, Recovery, Region,
    Settings, Status,
};
use units::{Instant, Rate, Seed, Span};
use wire::Psn;
use wire::aeth::RnrTimer;
use wire::bth::Qpn;

/// Queue pair numbers 0 and 1 are reserved (IBTA vol. 1, 10.2.4.5).
const FIRST_QPN: u32 = 0x100;
const ADDRESS: u64 = 0x1000_0000;
const ANY_PORT: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
/// Minimum interval between congestion notifications (default of ConnectX adapters).
const CNP_INTERVAL: Span = Span::from_us(4);
/// How long an idle endpoint waits before it checks whether the other has finished.
const PATIENCE: Span = Span::from_us(1_000);

/// Transfers and transport settings of a loopback test. Names, units and ranges are those of a run spec.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// Seed of contents, first PSNs and lost packets.
    pub seed: u64,
    /// Each end drops one in `loss_one_in` of its packets, replies included; 0 drops none.
    pub loss_one_in: u64,
    /// RoCE MTU [bytes].
    pub mtu_bytes: u32,
    /// Size of a full RDMA message [bytes].
    pub message_bytes: u64,
    /// Number of packets per acknowledgement.
    pub ack_every: u32,
    /// Maximum in-flight packets per transfer.
    pub window_packets: u32,
    /// Loss recovery.
    pub recovery: LossRecovery,
    /// Selective recovery: packets accepted beyond the first missing one.
    pub ooo_window_packets: u32,
    /// Retransmission timeout without progress [ps].
    pub timeout_ps: u64,
    /// Retransmissions without progress before a transfer fails.
    pub retry_count: u32,
    /// Time limit of the test, whether complete or not [ps].
    pub limit_ps: u64,
    /// Initial rate of each transfer, controlled by DCQCN [bit/s]. Without it, transfers are not paced and
    /// congestion marks are not notified.
    #[serde(default)]
    pub line_rate_bps: Option<u64>,
    /// UDP source port of the first transfer; later transfers use consecutive ports. Default: the sending
    /// socket's port.
    #[serde(default)]
    pub first_source_port: Option<u16>,
    /// Transfers, all started at once, each on its own queue pair.
    pub transfers: Vec<Transfer>,
}

/// Loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossRecovery {
    /// Go-back-N.
    GoBackN,
    /// Selective retransmission.
    Selective,
}

/// RDMA operation of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    /// WRITE to memory of the receiver.
    Write,
    /// WRITE with immediate data, which notifies the receiver.
    WriteWithImmediate,
    /// SEND into a posted receive: at most one message, and with go-back-N only.
    Send,
}

/// A transfer of random bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// Operation.
    pub verb: Verb,
    /// Size; at least one byte.
    pub bytes: usize,
}

/// Results of a loopback test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Facts {
    /// Results per transfer, in the order of the description.
    pub transfers: Vec<TransferFacts>,
    /// From the first posted work to the last completion [ps].
    pub duration_ps: u64,
    /// Bytes of complete transfers, divided by the duration [bit/s].
    pub goodput_bps: u64,
    /// UDP ports of the sending and the receiving end.
    pub udp_ports: [u16; 2],
    /// Packets of both ends that were dropped on purpose, replies included.
    pub dropped_packets: u64,
    /// Datagrams at both ends that do not belong to these transfers.
    pub refused_datagrams: u64,
}

/// Results of a transfer. Times in picoseconds since the start of the program's clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TransferFacts {
    /// `success` or the error status of its work; `unfinished` at the time limit.
    pub status: &'static str,
    /// Every byte arrived as sent, and the receiver was notified if the operation has immediate data.
    pub is_equal: bool,
    /// Size.
    pub bytes: u64,
    /// When the work was posted.
    pub start_ps: u64,
    /// When the last byte was placed; `None` if any is missing.
    pub delivered_ps: Option<u64>,
    /// When the sender received the completion; `None` without success.
    pub completed_ps: Option<u64>,
    /// Data packets sent, including those dropped on purpose.
    pub sent_frames: u64,
    /// The same in bytes of Ethernet frames.
    pub sent_bytes: u64,
    /// Data packets received until the last byte was placed.
    pub received_frames: u64,
    /// The same in bytes of Ethernet frames.
    pub received_bytes: u64,
    /// Retransmitted data packets.
    pub retransmits: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// NAKs received by the sender.
    pub naks: u64,
    /// Data packets received out of order (ahead of a missing one).
    pub out_of_order: u64,
    /// Data packets received with ECN congestion experienced.
    pub marks: u64,
    /// Congestion notifications that reduced the sender's rate.
    pub cnps: u64,
}

/// Error of a loopback test.
#[derive(Debug, thiserror::Error)]
pub enum LoopbackError {
    /// A queue pair cannot be added.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// A transfer cannot be posted.
    #[error("transfers[{index}]: {error}")]
    Post {
        /// Index of the transfer.
        index: usize,
        /// Cause.
        error: PostError,
    },
    /// An empty transfer, whose arrival could not be detected.
    #[error("transfers[{index}] has no bytes; at least 1 is needed")]
    Empty {
        /// Index of the transfer.
        index: usize,
    },
    /// Error of the operating system.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Transfer {
    /// Whether the receiver got the immediate data of transfer `index`, or none was due.
    fn is_notified(&self, index: u32, received: &mut Pair) -> bool {
        self.verb != Verb::WriteWithImmediate
            || received.poll_completion().is_some_and(|ended| ended.completion.immediate == Some(index))
    }
}

/// DCQCN with the defaults of ConnectX adapters and this line rate.
fn dcqcn(mtu_bytes: u32, line_rate_bps: u64) -> Controller {
    let config = DcqcnConfig {
        g_2e20: (1 << 20) * 5 / 1024,
        initial_alpha_2e20: None,
        alpha_timer_ps: 1_000_000,
        rate_cut_period_ps: 4_000_000,
        increase_timer_ps: 300_000_000,
        byte_counter_bytes: 32 << 10,
        fast_recovery_rounds: 1,
        additive_increase_bps: 5_000_000,
        hyper_increase_bps: 50_000_000,
        rate_min_bps: 1_000_000,
        clamp_target_rate: false,
        cnp_interval_ps: CNP_INTERVAL.0,
    };
    config.controller(mtu_bytes, Rate::from_bps(line_rate_bps))
}

impl Description {
    fn settings(&self, end: u32, index: usize) -> Settings {
        let mut psns = Seed(self.seed).stream("loopback.psn", index as u64);
        let first_psns = [Psn::new(psns.next_u32()), Psn::new(psns.next_u32())];
        let number = |end: u32| Qpn::new(FIRST_QPN + 2 * index as u32 + end).unwrap_or_default();
        let memory = (end == 1).then(|| Region {
            address: ADDRESS,
            bytes: self.transfers[index].bytes as u64,
            remote_key: index as u32,
        });
        Settings {
            config: self.config(),
            number: number(end),
            peer: number(1 - end),
            first_psn: first_psns[end as usize],
            peer_first_psn: first_psns[1 - end as usize],
            rate: self.line_rate_bps.map_or(Controller::LINE_RATE, |bps| dcqcn(self.mtu_bytes, bps)),
            cnp_interval: self.line_rate_bps.map(|_| CNP_INTERVAL),
            reads: Reads::NONE,
            memory,
            peer_remote_key: index as u32,
            rnr_timer: RnrTimer::default(),
            rnr_retry_count: 0,
        }
    }

    fn config(&self) -> Config {
        Config {
            mtu_bytes: self.mtu_bytes,
            message_bytes: self.message_bytes,
            ack_every: self.ack_every,
            window_packets: self.window_packets,
            timeout: Span(self.timeout_ps),
            retry_count: self.retry_count,
            recovery: match self.recovery {
                LossRecovery::GoBackN => Recovery::GoBackN,
                LossRecovery::Selective => {
                    Recovery::Selective { ooo_window_packets: self.ooo_window_packets }
                }
            },
        }
    }

    /// Random bytes to send.
    fn content(&self, index: usize) -> Vec<u8> {
        let mut random = Seed(self.seed).stream("loopback.content", index as u64);
        let bytes = self.transfers[index].bytes;
        let mut content = Vec::with_capacity(bytes.next_multiple_of(8));
        while content.len() < bytes {
            content.extend(random.next_u64().to_le_bytes());
        }
        content.truncate(bytes);
        content
    }
}

/// The sending end, with the completion of each transfer.
struct Sender {
    endpoint: Endpoint,
    pairs: Vec<PairId>,
    start: Instant,
    ended: Vec<Option<(Instant, Status)>>,
}

impl Sender {
    fn is_done(&self) -> bool {
        self.ended.iter().all(Option::is_some)
    }

    /// Sends until all transfers have completed, or until `limit`.
    fn run(&mut self, clock: Clock, limit: Instant) -> io::Result<()> {
        while !self.is_done() && clock.now() < limit {
            self.endpoint.poll(PATIENCE)?;
            for (pair, ended) in self.pairs.iter().zip(&mut self.ended) {
                if let Some(Ended { at, completion, .. }) = self.endpoint.pair_mut(*pair).poll_completion() {
                    *ended = Some((at, completion.status));
                }
            }
        }
        Ok(())
    }
}

/// Runs a loopback test.
///
/// # Errors
/// [`LoopbackError`], before anything is sent or when the host fails. A failed transfer is not an error: see
/// [`TransferFacts::status`].
pub fn run(description: &Description) -> Result<Facts, LoopbackError> {
    let clock = Clock::start();
    let bind = |end| {
        Endpoint::bind(ANY_PORT, clock, Loss::new(description.loss_one_in, Seed(description.seed), end))
    };
    let (sending, mut receiving) = (bind(0)?, bind(1)?);
    let pairs = post_receives(&mut receiving, description, sending.local())?;
    let mut sender = post_transfers(sending, description, receiving.local(), clock)?;
    let limit = sender.start + Span(description.limit_ps);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let receiver = scope.spawn(|| -> io::Result<()> {
            while !is_over.load(Ordering::Relaxed) {
                receiving.poll(PATIENCE)?;
            }
            Ok(())
        });
        let sent = sender.run(clock, limit);
        is_over.store(true, Ordering::Relaxed);
        let received = receiver.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        sent.and(received)
    })?;
    let are_notified: Vec<bool> = (0..)
        .zip(&description.transfers)
        .zip(&pairs)
        .map(|((index, transfer), &pair)| transfer.is_notified(index, receiving.pair_mut(pair)))
        .collect();
    Ok(facts(&sender, &receiving, &are_notified, &pairs, clock.now()))
}

/// Creates the queue pairs of the receiving end.
fn post_receives(
    endpoint: &mut Endpoint,
    description: &Description,
    peer: SocketAddrV4,
) -> Result<Vec<PairId>, LoopbackError> {
    let mut pairs = Vec::new();
    for (index, &Transfer { verb, bytes }) in description.transfers.iter().enumerate() {
        let pair = endpoint.connect(&description.settings(1, index), peer, vec![0; bytes])?;
        let receive = match verb {
            Verb::Write => None,
            Verb::WriteWithImmediate => Some(0..0),
            Verb::Send => Some(0..bytes),
        };
        let posted = receive.map_or(Ok(()), |part| endpoint.post_receive(pair, part).map(|_| ()));
        posted.map_err(|error| LoopbackError::Post { index, error })?;
        pairs.push(pair);
    }
    Ok(pairs)
}

/// Creates the sending end and posts all transfers.
fn post_transfers(
    mut endpoint: Endpoint,
    description: &Description,
    peer: SocketAddrV4,
    clock: Clock,
) -> Result<Sender, LoopbackError> {
    let mut pairs = Vec::new();
    for index in 0..description.transfers.len() {
        if description.transfers[index].bytes == 0 {
            return Err(LoopbackError::Empty { index });
        }
        let port = description.first_source_port.map(|first| first.wrapping_add(index as u16));
        let (port, settings) = (port.unwrap_or(endpoint.local().port()), description.settings(0, index));
        pairs.push(endpoint.connect_from(port, &settings, peer, description.content(index))?);
    }
    let start = clock.now();
    for (index, &Transfer { verb, bytes }) in description.transfers.iter().enumerate() {
        let request = match verb {
            Verb::Write => Operation::Write(ADDRESS).of(0..bytes),
            Verb::WriteWithImmediate => Operation::Write(ADDRESS).with_immediate(0..bytes, index as u32),
            Verb::Send => Operation::Send.of(0..bytes),
        };
        endpoint.post(pairs[index], request).map_err(|error| LoopbackError::Post { index, error })?;
    }
    Ok(Sender { endpoint, ended: vec![None; pairs.len()], pairs, start })
}

fn facts(
    sender: &Sender,
    receiving: &Endpoint,
    are_notified: &[bool],
    pairs: &[PairId],
    end: Instant,
) -> Facts {
    let ends = [&sender.endpoint, receiving];
    let ended = sender.ended.iter().map(|ended| ended.map_or(end, |(at, _)| at)).max();
    let duration_ps = ended.unwrap_or(sender.start).since(sender.start).0;
    let each = pairs.iter().enumerate().map(|(index, &pair)| transfer_facts(sender, receiving, pair, index));
    let mut transfers: Vec<_> = each.collect();
    transfers
        .iter_mut()
        .zip(are_notified)
        .for_each(|(transfer, &is_notified)| transfer.is_equal &= is_notified);
    let whole = transfers.iter().filter(|transfer| transfer.is_equal);
    let bits = u128::from(whole.map(|transfer| transfer.bytes).sum::<u64>()) * 8;
    Facts {
        transfers,
        duration_ps,
        goodput_bps: (bits * 1_000_000_000_000 / u128::from(duration_ps.max(1))) as u64,
        udp_ports: ends.map(|endpoint| endpoint.local().port()),
        dropped_packets: ends.map(Endpoint::dropped_packets).iter().sum(),
        refused_datagrams: ends.map(Endpoint::refused_datagrams).iter().sum(),
    }
}

fn transfer_facts(sender: &Sender, receiving: &Endpoint, pair: PairId, index: usize) -> TransferFacts {
    let (sent, received) = (sender.endpoint.pair(sender.pairs[index]), receiving.pair(pair));
    let (delivered_at, at_delivery) = *received.delivered();
    let is_whole = received.delivered_bytes() == sent.memory().bytes().len() as u64;
    let Counters { data_sent, data_sent_bytes, retransmits, timeouts, naks_received, cnps_received, .. } =
        *sent.counters();
    let ended = sender.ended[index];
    let is_success = ended.is_some_and(|(_, status)| status == Status::Success);
    TransferFacts {
        status: ended.map_or("unfinished", |(_, status)| name(status)),
        is_equal: is_whole && sent.memory().bytes() == received.memory().bytes(),
        bytes: sent.memory().bytes().len() as u64,
        start_ps: sender.start.0,
        delivered_ps: is_whole.then_some(delivered_at.0),
        completed_ps: ended.filter(|_| is_success).map(|(at, _)| at.0),
        sent_frames: data_sent,
        sent_bytes: data_sent_bytes,
        received_frames: at_delivery.data_received,
        received_bytes: at_delivery.data_received_bytes,
        retransmits,
        timeouts,
        naks: naks_received,
        out_of_order: at_delivery.out_of_order,
        marks: at_delivery.marks,
        cnps: cnps_received,
    }
}

const fn name(status: Status) -> &'static str {
    match status {
        Status::Success => "success",
        Status::RetryExceeded => "retry-exceeded",
        Status::RnrRetryExceeded => "rnr-retry-exceeded",
        Status::RemoteAccess => "remote-access",
        Status::RemoteInvalidRequest => "remote-invalid-request",
        Status::RemoteOperational => "remote-operational",
        Status::BadResponse => "bad-response",
        Status::Flushed => "flushed",
    }
}
