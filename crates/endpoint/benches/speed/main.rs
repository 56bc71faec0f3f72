//! Benchmark of throughput and processor time between two processes: RDMA WRITEs on the queue pairs of an
//! [`Endpoint`], or, for comparison, datagrams of bare UDP sockets (`bare`).
//!
//! Each process is one end: `speed ROLE WAY LOCAL PEER PAIRS BYTES SECONDS`. ROLE is `send` or `receive`; WAY
//! is `write` (WRITEs of BYTES on each of PAIRS queue pairs) or `bare` (a UDP socket with packets of the same
//! size). The sender sends for SECONDS; the receiver ends when no packet has arrived for a second; both print
//! a line of JSON. `tools/bench_endpoint.py` runs both ends, each on a core and in a network namespace of its
//! own.
//!
//! Each end is one thread. Not covered: a fabric, and other work of the host.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on ends")]
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

mod bare;

use endpoint::{Clock, Endpoint, Loss, Operation, PairId};
use std::net::SocketAddrV4;
use transport::{Config, Controller, Reads, Recovery, Region, Settings, Status};
use units::{Instant, Seed, Span};
use wire::Psn;
use wire::aeth::RnrTimer;
use wire::bth::Qpn;

const ADDRESS: u64 = 0x1000_0000;
const FIRST_QPN: u32 = 0x100;
const PATIENCE: Span = Span::from_us(1_000);
const SILENCE: Span = Span::from_us(1_000_000);
/// Work posted at a time on all queue pairs together, at the least, in bytes and in requests.
const POSTED_BYTES: u64 = 8 << 20;
const POSTED_REQUESTS: u64 = 256;

/// Arguments of the command line.
pub(crate) struct Task {
    pub(crate) local: SocketAddrV4,
    pub(crate) peer: SocketAddrV4,
    pairs: u32,
    bytes: usize,
    pub(crate) span: std::time::Duration,
}

impl Task {
    fn settings(&self, pair: u32, is_sender: bool) -> Settings {
        let window_packets = (4_096 / self.pairs).clamp(16, 512);
        let number = |sends: bool| Qpn::new(FIRST_QPN + pair + if sends { 0 } else { 1 << 20 }).unwrap();
        Settings {
            config: Config {
                mtu_bytes: 4096,
                message_bytes: 1 << 20,
                ack_every: window_packets / 8,
                window_packets,
                timeout: Span::from_us(100_000),
                retry_count: 7,
                recovery: Recovery::GoBackN,
            },
            number: number(is_sender),
            peer: number(!is_sender),
            first_psn: Psn::new(pair),
            peer_first_psn: Psn::new(pair),
            rate: Controller::LINE_RATE,
            cnp_interval: None,
            reads: Reads::NONE,
            memory: (!is_sender).then_some(Region {
                address: ADDRESS,
                bytes: self.bytes as u64,
                remote_key: 1,
            }),
            peer_remote_key: 1,
            rnr_timer: RnrTimer::default(),
            rnr_retry_count: 0,
        }
    }

    fn endpoint(&self, is_sender: bool) -> (Endpoint, Vec<PairId>) {
        let loss = Loss::new(0, Seed(1), 0);
        let mut endpoint = Endpoint::bind(self.local, Clock::start(), loss).unwrap();
        let content = vec![0x5a; self.bytes];
        let connect =
            |pair| endpoint.connect(&self.settings(pair, is_sender), self.peer, content.clone()).unwrap();
        let pairs = (0..self.pairs).map(connect).collect();
        (endpoint, pairs)
    }

    /// Requests posted at a time on each queue pair.
    fn depth(&self) -> u64 {
        let bytes = (self.bytes as u64).max(1);
        let depth = (POSTED_BYTES / bytes).min(POSTED_REQUESTS).div_ceil(u64::from(self.pairs));
        depth.clamp(2, 256)
    }

    /// Keeps work posted on each queue pair for the span, then waits for its completion.
    fn send(&self) {
        let (mut endpoint, pairs) = self.endpoint(true);
        let start = Watch::start();
        let mut left = 0_u64;
        for pair in pairs {
            for _ in 0..self.depth() {
                endpoint.post(pair, Operation::Write(ADDRESS).of(0..self.bytes)).unwrap();
                left += 1;
            }
        }
        let mut sent = 0_u64;
        while left > 0 {
            endpoint.poll(PATIENCE).unwrap();
            let is_over = start.elapsed() >= self.span;
            while let Some((pair, done)) = endpoint.poll_completion() {
                assert_eq!(done.completion.status, Status::Success);
                sent += 1;
                if is_over {
                    left -= 1;
                } else {
                    endpoint.post(pair, Operation::Write(ADDRESS).of(0..self.bytes)).unwrap();
                }
            }
        }
        start.report(sent * self.bytes as u64, sent);
    }

    /// Receives packets, and measures from the first to the last.
    fn receive(&self) {
        let (mut endpoint, pairs) = self.endpoint(false);
        let clock = endpoint.clock();
        while endpoint.received_datagrams() == 0 {
            endpoint.poll(PATIENCE).unwrap();
        }
        let start = Watch::start();
        let (mut received, mut at, mut watch) = (0, clock.now(), start.stop());
        loop {
            endpoint.poll(PATIENCE).unwrap();
            let (count, now) = (endpoint.received_datagrams(), clock.now());
            if count != received {
                (received, at) = (count, now);
            } else if now.since(at) > SILENCE {
                break;
            } else if watch.at < at {
                watch = start.stop_at(at);
            }
        }
        let bytes: u64 = pairs.iter().map(|&pair| endpoint.pair(pair).delivered_bytes()).sum();
        start.report_until(&watch, bytes, received);
    }
}

/// A time, and the processor time used until then.
struct Stop {
    at: Instant,
    wall_ns: u64,
    cpu_ns: u64,
}

/// Measures real time and processor time of this process.
pub(crate) struct Watch {
    start: std::time::Instant,
    cpu_ns: u64,
}

impl Watch {
    pub(crate) fn start() -> Self {
        Self { start: std::time::Instant::now(), cpu_ns: bare::cpu_ns() }
    }

    pub(crate) fn elapsed(&self) -> std::time::Duration {
        self.start.elapsed()
    }

    fn stop(&self) -> Stop {
        self.stop_at(Instant::ZERO)
    }

    fn stop_at(&self, at: Instant) -> Stop {
        Stop { at, wall_ns: self.elapsed().as_nanos() as u64, cpu_ns: bare::cpu_ns() - self.cpu_ns }
    }

    /// Payload bytes and units (datagrams or messages) until now.
    pub(crate) fn report(&self, bytes: u64, count: u64) {
        self.report_until(&self.stop(), bytes, count);
    }

    fn report_until(&self, stop: &Stop, bytes: u64, count: u64) {
        let Stop { wall_ns, cpu_ns, .. } = stop;
        println!(r#"{{"bytes": {bytes}, "count": {count}, "wall_ns": {wall_ns}, "cpu_ns": {cpu_ns}}}"#);
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let [role, way, local, peer, pairs, bytes, seconds] = &arguments[..] else {
        eprintln!("usage: speed send|receive bare|write LOCAL PEER PAIRS BYTES SECONDS");
        std::process::exit(2);
    };
    let task = Task {
        local: local.parse().unwrap(),
        peer: peer.parse().unwrap(),
        pairs: pairs.parse().unwrap(),
        bytes: bytes.parse().unwrap(),
        span: std::time::Duration::from_secs_f64(seconds.parse().unwrap()),
    };
    match (role.as_str(), way.as_str()) {
        ("send", "bare") => bare::send(&task),
        ("receive", "bare") => bare::receive(&task),
        ("send", _) => task.send(),
        (_, _) => task.receive(),
    }
}
