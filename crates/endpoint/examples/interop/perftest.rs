//! Interoperability test `perftest`: acts as client or server for `ib_write_bw` and `ib_send_bw` (perftest):
//! TCP handshake, work requests, barriers and results. In the handshake the client sends first in each step
//! and the server replies.

use crate::control::Control;
use crate::settings::{End, at, bind, settings};
use endpoint::{Endpoint, Operation, PairId};
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};
use transport::Status;
use units::Span;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const CONTROL_PORT: u16 = 18_515;
const VERSION: &[u8; 16] = b"6.06\0\0\0\0\0\0\0\0\0\0\0\0";
/// Short messages fill a buffer of this size consecutively, at multiples of a cache line.
const CYCLE_BUFFER_BYTES: u32 = 4_096;
const CACHE_LINE_BYTES: u32 = 64;
/// Size, iterations and three averages.
const REPORTS: usize = 5;
/// Maximum start-up time of a server of the peer, including its machine.
const START: Duration = Duration::from_secs(100);
/// Work posted at a time.
const DEPTH: usize = 64;
const PATIENCE: Span = Span::from_us(1_000);

/// Runs of perftest, one at a time.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Task {
    /// Address of this end.
    address: Ipv4Addr,
    /// Address of the peer.
    peer: Ipv4Addr,
    cases: Vec<Case>,
}

#[derive(Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Case {
    verb: Verb,
    /// The peer is the server of perftest, which receives.
    peer_serves: bool,
    mtu_bytes: u32,
    messages: usize,
    /// Size of each message.
    bytes: usize,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verb {
    Write,
    Send,
}

/// Results of a run.
#[derive(Serialize)]
struct Facts<'a> {
    case: &'a Case,
    seconds: f64,
    /// Payload received and placed.
    delivered_bytes: u64,
    /// Completed work requests or receives of this end.
    completed: usize,
    retransmits: u64,
    naks_sent: u64,
    naks_received: u64,
    ignored: u64,
    refused_datagrams: u64,
}

impl Task {
    pub(crate) fn run(&self) -> Result<()> {
        let listener = TcpListener::bind((self.address, CONTROL_PORT))?;
        for (index, case) in self.cases.iter().enumerate() {
            let stream = if case.peer_serves { self.connect()? } else { listener.accept()?.0 };
            let control = Control::new(stream)?;
            let own = End {
                number: 0x200 + index as u32,
                first_psn: 0xff_ff00,
                remote_key: 0x2000 + index as u32,
                address: 0x6000_0000_0000,
            };
            let run =
                Run { case, keys: keys(own, self.address), own, control, endpoint: bind(self.address)? };
            run.run(self.peer)?;
        }
        Ok(())
    }

    /// Connects to the server of the peer, once it listens.
    fn connect(&self) -> Result<TcpStream> {
        let start = Instant::now();
        loop {
            let to = (self.peer, CONTROL_PORT).into();
            match TcpStream::connect_timeout(&to, Duration::from_secs(1)) {
                Ok(stream) => return Ok(stream),
                Err(error) if start.elapsed() > START => return Err(error.into()),
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }
}

/// A run of perftest with the end of this side.
struct Run<'a> {
    case: &'a Case,
    own: End,
    keys: Vec<u8>,
    control: Control,
    endpoint: Endpoint,
}

impl Run<'_> {
    fn run(mut self, peer: Ipv4Addr) -> Result<()> {
        // The names of IBTA 11.2.5.1 for MTUs count from 1, that of 256 bytes.
        let mtu = (self.case.mtu_bytes / 256).ilog2() + 1;
        self.exchange(VERSION)?;
        self.exchange(&CYCLE_BUFFER_BYTES.to_be_bytes())?;
        self.exchange(&CACHE_LINE_BYTES.to_be_bytes())?;
        self.exchange(format!("{mtu}\0").as_bytes())?;
        let remote = parse_keys(&self.exchange_keys()?)?;
        let memory = vec![0x5a; 2 * self.case.bytes.max(CYCLE_BUFFER_BYTES as usize)];
        let settings = settings(self.case.mtu_bytes, self.own, remote, memory.len());
        let pair = self.endpoint.connect(&settings, at(peer), memory)?;
        if self.case.posts_receives() {
            for _ in 0..self.case.messages {
                self.endpoint.post_receive(pair, 0..self.case.bytes)?;
            }
        }
        // Barriers: queue pairs are connected, receives are posted, both start.
        let is_send = self.case.verb == Verb::Send;
        for _ in 0..2 + usize::from(is_send) {
            self.exchange_keys()?;
        }
        let start = Instant::now();
        let mut completed = if self.case.peer_serves { self.request(pair, remote.address)? } else { 0 };
        // The client has completed its work. With SENDs both ends measure the time themselves.
        self.exchange_keys()?;
        let seconds = start.elapsed().as_secs_f64();
        if !is_send {
            for number in self.report(seconds) {
                self.exchange(&number)?;
            }
            self.exchange_keys()?;
        }
        completed += self.take_completions()?;
        crate::print(&self.facts(pair, seconds, completed))
    }

    /// Sends data to the peer and receives as many bytes; the client sends first.
    fn exchange(&mut self, own: &[u8]) -> Result<Vec<u8>> {
        if self.case.peer_serves {
            self.control.send(own)?;
        }
        let reply = self.control.receive(&mut self.endpoint, own.len())?;
        if !self.case.peer_serves {
            self.control.send(own)?;
        }
        Ok(reply)
    }

    fn exchange_keys(&mut self) -> Result<Vec<u8>> {
        let keys = self.keys.clone();
        self.exchange(&keys)
    }

    /// Posts all work and collects its completions.
    fn request(&mut self, pair: PairId, remote: u64) -> Result<usize> {
        let (mut posted, mut completed) = (0, 0);
        while completed < self.case.messages {
            while posted < self.case.messages && posted - completed < DEPTH {
                let part = 0..self.case.bytes;
                let operation = match self.case.verb {
                    Verb::Write => Operation::Write(remote),
                    Verb::Send => Operation::Send,
                };
                self.endpoint.post(pair, operation.of(part))?;
                posted += 1;
            }
            self.endpoint.poll(PATIENCE)?;
            completed += self.take_completions()?;
        }
        Ok(completed)
    }

    fn take_completions(&mut self) -> Result<usize> {
        let mut taken = 0;
        while let Some((_, ended)) = self.endpoint.poll_completion() {
            let completion = ended.completion;
            if (completion.status, completion.bytes) != (Status::Success, self.case.bytes as u64) {
                return Err(format!("{completion:?} with {:?}", ended.counters).into());
            }
            taken += 1;
        }
        Ok(taken)
    }

    /// Results that a passive server prints: size, iterations, peak and average [MB/s], messages [10^6/s].
    fn report(&self, seconds: f64) -> [[u8; 8]; REPORTS] {
        let Case { bytes, messages, .. } = *self.case;
        let nanoseconds = Duration::from_secs_f64(seconds).as_nanos().max(1);
        let rate = (bytes as u128 * messages as u128 * 1_000_000_000 / nanoseconds) >> 20;
        let average = (rate as f64).to_be_bytes();
        let rate_of_messages = (messages as u128 * 1_000 / nanoseconds) as f64;
        let [bytes, messages] = [bytes, messages].map(|number| (number as u64).to_be_bytes());
        [bytes, messages, average, average, rate_of_messages.to_be_bytes()]
    }

    fn facts(&self, pair: PairId, seconds: f64, completed: usize) -> Facts<'_> {
        let counters = self.endpoint.pair(pair).counters();
        Facts {
            case: self.case,
            seconds,
            delivered_bytes: self.endpoint.pair(pair).delivered_bytes(),
            completed,
            retransmits: counters.retransmits,
            naks_sent: counters.naks_sent,
            naks_received: counters.naks_received,
            ignored: counters.ignored,
            refused_datagrams: self.endpoint.refused_datagrams(),
        }
    }
}

impl Case {
    /// Whether this end posts receives.
    fn posts_receives(&self) -> bool {
        !self.peer_serves && self.verb == Verb::Send
    }
}

/// Null-terminated text of hexadecimal numbers: LID, READs, queue pair, PSN, key, address, GID, shared queue.
fn keys(own: End, address: Ipv4Addr) -> Vec<u8> {
    let End { number, first_psn, remote_key, address: virtual_address } = own;
    let gid = address.to_ipv6_mapped().octets().map(|byte| format!("{byte:02x}")).join(":");
    let numbers = format!("0000:0001:{number:06x}:{first_psn:06x}:{remote_key:08x}:{virtual_address:016x}");
    format!("{numbers}:{gid}:00000000:\0").into_bytes()
}

fn parse_keys(bytes: &[u8]) -> Result<End> {
    let text = std::str::from_utf8(bytes)?;
    let numbers: Vec<u64> = text
        .split(':')
        .take(6)
        .map(|word| u64::from_str_radix(word, 16))
        .collect::<std::result::Result<_, _>>()?;
    let [_, _, number, first_psn, remote_key, address] = numbers[..] else {
        return Err(format!("expected six numbers, found {text:?}").into());
    };
    let [number, first_psn, remote_key] = [number, first_psn, remote_key].map(|number| number as u32);
    Ok(End { number, first_psn, remote_key, address })
}
