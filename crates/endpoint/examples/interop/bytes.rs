//! Interoperability test `bytes`: exchanges SENDs, WRITEs and READs with a program on libibverbs
//! (`tests/interop/peer.c`, which describes the control protocol), one case after the other, each with its
//! own queue pair; the receiving end compares every byte.

use crate::control::Control;
use crate::messages::{Message, Messages};
use crate::settings::{End, at, bind, settings};
use endpoint::{Ended, Endpoint, Operation, PairId};
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::time::Instant;
use transport::{PostError, Status};
use units::Span;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Remote address of the memory of this end.
const ADDRESS: u64 = 0x7000_0000_0000;
const PATIENCE: Span = Span::from_us(1_000);

/// Cases that run one at a time with one peer.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Task {
    /// Address of this end.
    address: Ipv4Addr,
    /// TCP port to which the peer connects.
    control_port: u16,
    cases: Vec<Case>,
}

/// Messages of one queue pair in one direction.
#[derive(Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Case {
    verb: Verb,
    /// The peer posts the work, not this end.
    peer_requests: bool,
    mtu_bytes: u32,
    messages: usize,
    /// Work posted at a time.
    depth: usize,
    /// Seed of sizes and contents.
    seed: u64,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verb {
    Write,
    WriteWithImmediate,
    Send,
    SendWithImmediate,
    Read,
}

/// Results of a case.
#[derive(Serialize)]
struct Facts {
    case: Case,
    /// Bytes of all messages.
    bytes: usize,
    seconds: f64,
    /// Bytes of the receiving end that differ from the sent ones, or changed outside of messages.
    wrong_bytes: usize,
    /// Completed receives of this end, and those with a wrong size or immediate data.
    received: usize,
    wrong_receives: usize,
    /// Counters of the queue pair of this end.
    data_sent: u64,
    retransmits: u64,
    timeouts: u64,
    data_received: u64,
    duplicates: u64,
    out_of_order: u64,
    responses_sent: u64,
    responses_received: u64,
    acks_sent: u64,
    naks_sent: u64,
    naks_received: u64,
    ignored: u64,
    /// Refused datagrams.
    refused_datagrams: u64,
    /// Results of the peer, as text.
    peer: String,
}

impl Task {
    pub(crate) fn run(&self) -> Result<()> {
        let listener = TcpListener::bind((self.address, self.control_port))?;
        let (stream, peer) = listener.accept()?;
        let IpAddr::V4(peer) = peer.ip() else { return Err("the peer has no IPv4 address".into()) };
        let mut control = Control::new(stream)?;
        for (index, case) in self.cases.iter().enumerate() {
            let facts = Run::new(case, index, self.address, peer, &mut control)?.run(&mut control)?;
            crate::print(&facts)?;
        }
        Ok(())
    }
}

/// A case with its queue pair.
struct Run<'a> {
    case: &'a Case,
    messages: Messages,
    endpoint: Endpoint,
    pair: PairId,
    peer: End,
    requests: Progress,
    receives: Progress,
    wrong_receives: usize,
}

#[derive(Default)]
struct Progress {
    posted: usize,
    completed: usize,
}

impl<'a> Run<'a> {
    fn new(
        case: &'a Case,
        index: usize,
        own: Ipv4Addr,
        peer_address: Ipv4Addr,
        control: &mut Control,
    ) -> Result<Self> {
        let mut endpoint = bind(own)?;
        let peer = case.introduce(&mut endpoint, control)?;
        let messages = Messages::new(case.seed, case.messages, case.mtu_bytes.into());
        let memory = if case.fills_own() { messages.target() } else { messages.source() };
        let own = End {
            number: 0x100 + index as u32,
            // Near the maximum, after which PSNs wrap around to 0.
            first_psn: 0xff_f000,
            remote_key: 0x1000 + index as u32,
            address: ADDRESS,
        };
        let settings = settings(case.mtu_bytes, own, peer, memory.len());
        let pair = endpoint.connect(&settings, at(peer_address), memory)?;
        let End { number, first_psn, remote_key, address } = own;
        control.send(format!("connect {number} {first_psn} {remote_key} {address}\n").as_bytes())?;
        let (requests, receives) = (Progress::default(), Progress::default());
        Ok(Self { case, messages, endpoint, pair, peer, requests, receives, wrong_receives: 0 })
    }

    fn run(mut self, control: &mut Control) -> Result<Facts> {
        self.post_receives()?;
        expect(&control.receive_line(&mut self.endpoint)?, "connected")?;
        let start = Instant::now();
        control.send(b"go\n")?;
        if self.case.peer_requests {
            self.serve(control)?;
            expect(&control.receive_line(&mut self.endpoint)?, "done")?;
        } else {
            self.request(control)?;
        }
        let seconds = start.elapsed().as_secs_f64();
        control.send(b"done\n")?;
        let line = control.receive_line(&mut self.endpoint)?;
        let peer =
            line.strip_prefix("result ").ok_or_else(|| format!("expected a result, found {line:?}"))?;
        Ok(self.facts(seconds, peer.to_owned()))
    }

    /// Posts work and collects its completions.
    fn request(&mut self, control: &mut Control) -> Result<()> {
        while self.requests.completed < self.case.messages {
            while self.requests.may_post(self.case) {
                self.post(self.requests.posted)?;
                self.requests.posted += 1;
            }
            self.poll(control)?;
        }
        Ok(())
    }

    /// Posts receives until all have been used.
    fn serve(&mut self, control: &mut Control) -> Result<()> {
        while self.case.posts_receives() && self.receives.completed < self.case.messages {
            self.poll(control)?;
            self.post_receives()?;
        }
        Ok(())
    }

    fn post(&mut self, index: usize) -> std::result::Result<(), PostError> {
        let Message { ref part, immediate } = self.messages.all[index];
        let (part, remote) = (part.clone(), self.peer.address + part.start as u64);
        let request = match self.case.verb {
            Verb::Write => Operation::Write(remote).of(part),
            Verb::WriteWithImmediate => Operation::Write(remote).with_immediate(part, immediate),
            Verb::Send => Operation::Send.of(part),
            Verb::SendWithImmediate => Operation::Send.with_immediate(part, immediate),
            Verb::Read => Operation::Read(remote).of(part),
        };
        self.endpoint.post(self.pair, request).map(drop)
    }

    fn post_receives(&mut self) -> Result<()> {
        while self.case.posts_receives() && self.receives.may_post(self.case) {
            let part = self.messages.all[self.receives.posted].part.clone();
            let is_write = self.case.verb == Verb::WriteWithImmediate;
            self.endpoint.post_receive(self.pair, if is_write { 0..0 } else { part })?;
            self.receives.posted += 1;
        }
        Ok(())
    }

    fn poll(&mut self, control: &mut Control) -> Result<()> {
        control.read()?;
        self.endpoint.poll(PATIENCE)?;
        while let Some((_, Ended { completion, .. })) = self.endpoint.poll_completion() {
            if completion.status != Status::Success {
                return Err(
                    format!("{completion:?} with {:?}", self.endpoint.pair(self.pair).counters()).into()
                );
            }
            if self.case.peer_requests {
                let Message { ref part, immediate } = self.messages.all[self.receives.completed];
                let immediate = (self.case.verb != Verb::Send).then_some(immediate);
                let is_right = (completion.bytes, completion.immediate) == (part.len() as u64, immediate);
                self.wrong_receives += usize::from(!is_right);
                self.receives.completed += 1;
            } else {
                self.requests.completed += 1;
            }
        }
        Ok(())
    }

    fn facts(&self, seconds: f64, peer: String) -> Facts {
        let pair = self.endpoint.pair(self.pair);
        let counters = pair.counters();
        let memory = pair.memory().bytes();
        Facts {
            case: self.case.clone(),
            bytes: self.messages.all.iter().map(|message| message.part.len()).sum(),
            seconds,
            wrong_bytes: if self.case.fills_own() { self.messages.wrong_bytes(memory) } else { 0 },
            received: self.receives.completed,
            wrong_receives: self.wrong_receives,
            data_sent: counters.data_sent,
            retransmits: counters.retransmits,
            timeouts: counters.timeouts,
            data_received: counters.data_received,
            duplicates: counters.duplicates,
            out_of_order: counters.out_of_order,
            responses_sent: counters.responses_sent,
            responses_received: counters.responses_received,
            acks_sent: counters.acks_sent,
            naks_sent: counters.naks_sent,
            naks_received: counters.naks_received,
            ignored: counters.ignored,
            refused_datagrams: self.endpoint.refused_datagrams(),
            peer,
        }
    }
}

impl Case {
    /// Whether the memory of this end is written to.
    fn fills_own(&self) -> bool {
        self.peer_requests != (self.verb == Verb::Read)
    }

    /// Whether this end posts receives.
    fn posts_receives(&self) -> bool {
        self.peer_requests && !matches!(self.verb, Verb::Write | Verb::Read)
    }

    /// Sends the case to the peer; returns the queue pair of the peer.
    fn introduce(&self, endpoint: &mut Endpoint, control: &mut Control) -> Result<End> {
        let verb = serde_json::to_value(self.verb)?;
        let verb = verb.as_str().unwrap_or_default();
        let role = if self.peer_requests { "requester" } else { "responder" };
        let Self { mtu_bytes, messages, depth, seed, .. } = self;
        control.send(format!("case {verb} {role} {mtu_bytes} {messages} {depth} {seed}\n").as_bytes())?;
        let line = control.receive_line(endpoint)?;
        let words: Vec<&str> = line.split(' ').collect();
        let ["ready", number, first_psn, remote_key, address] = words[..] else {
            return Err(format!("expected \"ready\" and four numbers, found {line:?}").into());
        };
        Ok(End {
            number: number.parse()?,
            first_psn: first_psn.parse()?,
            remote_key: remote_key.parse()?,
            address: address.parse()?,
        })
    }
}

impl Progress {
    const fn may_post(&self, case: &Case) -> bool {
        self.posted < case.messages && self.posted - self.completed < case.depth
    }
}

fn expect(line: &str, word: &str) -> Result<()> {
    if line == word { Ok(()) } else { Err(format!("expected {word:?}, found {line:?}").into()) }
}
