//! Driver `roce`: RoCEv2 over UDP sockets. Sends each chunk (the part of a transfer on one queue pair) as
//! RDMA WRITEs; the last one has the chunk number as immediate data. An empty chunk is only that WRITE. On an
//! unreliable connection each message is a WRITE with its number as immediate data (`messages`). Checks the
//! MTU of the paths to peers.
//!
//! A chunk is written to the region of its queue pair from offset 0, repeatedly if it is longer than the
//! region. The content depends only on the seed, the queue pair and the offset in the region, so senders
//! share one read-only buffer.

pub(super) mod memory;
mod pair;
mod peers;

use super::driver::{Driver, Event};
use super::messages::{IN_NETWORK_MAX, Messages};
use super::settings::TIMEOUT_MIN_PS;
use super::share::{LocalPair, Post};
use super::{RunError, Settings};
use crate::{Classes, Clock, Endpoint, Loss, Options, PairId, path};
use jobs::{Jobs, destination_qpn};
use memory::Regions;
use pair::{ReceivingPair, SendingPair};
use peers::{Address, Peers};
use spec::{DscpSpec, LossRecovery, QpType, RunSpec, SpecError, TransportSpec};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;
use transport::{Config, Controller, Reads, Status};
use units::{Instant, Seed, Span};
use wire::aeth::RnrTimer;
use wire::bth::Qpn;

/// Offset of the sender's queue pair number from the receiver's, as one agent may have both ends.
const SENDER_QPN: u32 = 1 << 23;
/// Maximum headers of a packet, from the IPv4 header on: IP 20, UDP 8, BTH 12, RETH 16, immediate 4, ICRC 4.
const HEADERS_BYTES: u32 = 64;
/// Headers that `ping` adds itself: IP and ICMP.
const PING_HEADERS_BYTES: u32 = 28;

/// Driver `roce`.
pub(super) struct Roce {
    spec: Arc<RunSpec>,
    jobs: Arc<Jobs>,
    settings: Settings,
    endpoint: Endpoint,
    controller: Controller,
    /// By index of the endpoint's queue pair.
    roles: Vec<Role>,
    /// By index of the local sending queue pair; `None` if the receiver is on the same host.
    senders: Vec<Option<SendingPair>>,
    receivers: Vec<ReceivingPair>,
    /// Chunks posted to failed queue pairs, not reported yet.
    refused: Vec<u32>,
    /// Whether a chunk was delivered to any peer.
    has_delivered: bool,
    /// Datagrams received, and when their number last changed.
    received: u64,
    received_at: Instant,
    /// Cause of the first queue pair failure.
    failure: String,
    used: Used,
}

/// End of a queue pair, with its index in [`Roce::senders`] or [`Roce::receivers`].
#[derive(Clone, Copy, Debug)]
enum Role {
    Sender(u32),
    Receiver(u32),
}

/// Values in use instead of those of the plan.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    window_packets_min: u32,
    message_bytes: u64,
}

fn classes(DscpSpec { data, ack, cnp }: DscpSpec) -> Classes {
    Classes::default().with_dscp([data, ack, cnp])
}

impl Roce {
    pub(super) fn new(
        spec: &Arc<RunSpec>,
        jobs: &Arc<Jobs>,
        settings: Settings,
        clock: Clock,
    ) -> Result<Self, RunError> {
        let TransportSpec { connection, recovery, .. } = spec.transport;
        if connection == QpType::Rc && recovery == LossRecovery::None {
            let (field, value) = ("transport.recovery".into(), "none".into());
            let allowed = "go_back_n or selective on endpoints".into();
            return Err(SpecError::Value { field, found: value, allowed }.into());
        }
        let loss = Loss::new(settings.loss_one_in, Seed(spec.seed), settings.address.to_bits().into());
        let options = Options {
            classes: classes(settings.dscp_of(spec, None)),
            batch_packets_max: settings.batch_packets_max,
            in_flight_packets_max: settings.in_flight_packets_max,
            rate_limit_bps: settings.rate_limit_bps,
            port_rate_bps: settings.port_rate_bps,
            ..Options::default()
        };
        let at = SocketAddrV4::new(settings.address, settings.port);
        let endpoint = Endpoint::bind_with(at, clock, loss, options)?;
        Ok(Self {
            spec: Arc::clone(spec),
            jobs: Arc::clone(jobs),
            settings,
            endpoint,
            controller: spec
                .transport
                .rate_control
                .config()
                .controller(spec.transport.mtu_bytes, spec.fabric.topology.builder().host_link().rate()),
            roles: Vec::new(),
            senders: Vec::new(),
            receivers: Vec::new(),
            refused: Vec::new(),
            has_delivered: false,
            received: 0,
            received_at: Instant::ZERO,
            failure: String::new(),
            used: Used { window_packets_min: u32::MAX, message_bytes: spec.transport.message_bytes },
        })
    }

    fn is_unreliable(&self) -> bool {
        self.spec.transport.connection == QpType::Uc
    }

    fn timeout(&self) -> Span {
        Span(self.spec.transport.timeout_ps.max(self.settings.timeout_min_ps.unwrap_or(TIMEOUT_MIN_PS)))
    }

    /// Settings common to all queue pairs, with the given window.
    fn config(&self, window_packets: u32, region_bytes: u64) -> Config {
        let config = self.spec.transport.connection();
        Config {
            message_bytes: config.message_bytes.min(region_bytes),
            ack_every: config.ack_every.min(window_packets),
            window_packets,
            timeout: self.timeout(),
            ..config
        }
    }

    /// Transport settings of one end of a queue pair.
    fn end(&self, pair: &LocalPair, end: End, window_packets: u32, region_bytes: u64) -> transport::Settings {
        let number = |end: End| {
            let at_receiver = destination_qpn(pair.queue_pair.number).value();
            let number = match end {
                End::Sender => at_receiver + SENDER_QPN,
                End::Receiver => at_receiver,
            };
            Qpn::new(number).unwrap_or_else(|| unreachable!("queue pairs are counted in 23 bits"))
        };
        let first_psn = pair.queue_pair.initial_psn();
        transport::Settings {
            config: self.config(window_packets, region_bytes),
            number: number(end),
            peer: number(end.other()),
            first_psn,
            peer_first_psn: first_psn,
            rate: self.controller.clone(),
            cnp_interval: self.spec.transport.rate_control.config().cnp_interval(),
            reads: Reads::NONE,
            memory: match end {
                End::Sender => None,
                End::Receiver => Some(memory::region(pair, region_bytes)),
            },
            peer_remote_key: pair.queue_pair.number,
            rnr_timer: RnrTimer::new(RNR_TIMER).unwrap_or_default(),
            // Receives are reposted as soon as they are consumed.
            rnr_retry_count: u32::MAX,
        }
    }

    fn add_sender(
        &mut self,
        index: u32,
        pair: &LocalPair,
        peer: Peer,
        regions: &Regions,
    ) -> Result<(), RunError> {
        let region_bytes = regions.of(pair);
        let settings = self.end(pair, End::Sender, peer.window_packets, region_bytes);
        self.used.window_packets_min = self.used.window_packets_min.min(peer.window_packets);
        self.used.message_bytes = self.used.message_bytes.min(settings.config.message_bytes);
        let port = pair.queue_pair.udp_source_port();
        let id = self.endpoint.connect_from(port, &settings, peer.at, regions.source(pair))?;
        self.set_classes(id, pair);
        self.add_role(id, Role::Sender(index));
        let part_bytes = if self.is_unreliable() { settings.config.message_bytes } else { region_bytes };
        self.senders[index as usize] = Some(SendingPair::new(id, part_bytes, self.is_unreliable()));
        Ok(())
    }

    fn add_receiver(&mut self, pair: &LocalPair, peer: Peer, regions: &Regions) -> Result<(), RunError> {
        let settings = self.end(pair, End::Receiver, peer.window_packets, regions.of(pair));
        let id =
            self.endpoint.connect(&settings, peer.at, regions.destination(pair, self.settings.verify))?;
        self.set_classes(id, pair);
        self.add_role(id, Role::Receiver(self.receivers.len() as u32));
        let (queue_pair, message_bytes) = (pair.queue_pair.number, settings.config.message_bytes);
        let messages = self.is_unreliable().then(|| Messages::new(&self.jobs, queue_pair, message_bytes));
        self.receivers.push(ReceivingPair::new(&mut self.endpoint, id, self.settings.verify, messages));
        Ok(())
    }

    fn set_classes(&mut self, id: PairId, pair: &LocalPair) {
        let dscp = self.settings.dscp_of(&self.spec, Some(pair.queue_pair.job));
        self.endpoint.set_classes(id, classes(dscp));
    }

    fn add_role(&mut self, id: PairId, role: Role) {
        debug_assert_eq!(id.index(), self.roles.len(), "queue pairs are numbered consecutively");
        self.roles.push(role);
    }

    fn on_status(&mut self, id: PairId, status: Status) {
        self.has_delivered |= status == Status::Success;
        if self.failure.is_empty() && !matches!(status, Status::Success | Status::Flushed) {
            self.failure = self.failure_text(*self.endpoint.pair(id).peer.ip(), status);
        }
    }

    /// Checks that packets fit the paths to the hosts, as far as their MTU is known.
    fn check_paths(&self, hosts: impl Iterator<Item = (u32, Ipv4Addr)>) -> Result<(), RunError> {
        let need = self.spec.transport.mtu_bytes + HEADERS_BYTES;
        for (host, to) in hosts {
            // Without a route to the host, sending will fail with a clear error.
            if let Ok(mtu) = path::mtu_bytes(self.settings.address, to)
                && need > mtu
            {
                return Err(RunError::PathMtu { host, from: self.settings.address, to, mtu, need });
            }
        }
        Ok(())
    }

    /// Describes why a queue pair to a peer failed, with a hint.
    fn failure_text(&self, peer: Ipv4Addr, status: Status) -> String {
        let mut text = format!("queue pair from {} to {peer}: ", self.settings.address);
        if status != Status::RetryExceeded {
            return text + &format!("{status:?}");
        }
        let (times, each_ms) = (self.spec.transport.retry_count + 1, self.timeout().0 / 1_000_000_000);
        text += &format!("retries exceeded, nothing was heard for {times} timeouts of {each_ms} ms");
        if let (calls, Some(error)) = self.endpoint.unsent() {
            text += &format!("; {calls} times the host could not send: {error}");
        } else if !self.has_delivered {
            let packet_bytes = self.spec.transport.mtu_bytes + HEADERS_BYTES;
            let size = packet_bytes - PING_HEADERS_BYTES;
            text += &format!(
                "; do packets of {packet_bytes} bytes pass? `ping -M do -s {size} {peer}` tells, and whether a \
                 firewall lets UDP through"
            );
        }
        text
    }

    /// Converts completions to events.
    fn collect(&mut self, events: &mut Vec<Event>) {
        while let Some((id, ended)) = self.endpoint.poll_completion() {
            match self.roles[id.index()] {
                Role::Sender(index) => {
                    self.on_status(id, ended.completion.status);
                    if let Some(pair) = &mut self.senders[index as usize] {
                        events.extend(pair.on_ended(&ended));
                    }
                }
                Role::Receiver(index) => {
                    let pair = &mut self.receivers[index as usize];
                    pair.on_ended(&ended, &mut self.endpoint, events);
                }
            }
        }
    }
}

/// RNR timer code for 10 us, the shortest (IBTA vol. 1, table 45).
const RNR_TIMER: u8 = 1;

/// End of a queue pair.
#[derive(Clone, Copy, Debug)]
enum End {
    Receiver = 0,
    Sender = 1,
}

impl End {
    const fn other(self) -> Self {
        match self {
            Self::Receiver => Self::Sender,
            Self::Sender => Self::Receiver,
        }
    }
}

/// Remote end of a queue pair: address and send window.
#[derive(Clone, Copy, Debug)]
struct Peer {
    at: SocketAddrV4,
    window_packets: u32,
}

impl Driver for Roce {
    fn addresses(&self) -> Vec<u8> {
        let local = self.endpoint.local();
        let receive_buffer_bytes = self.endpoint.receive_buffer_bytes();
        let address = Address { address: *local.ip(), port: local.port(), receive_buffer_bytes };
        serde_json::to_vec(&address).unwrap_or_else(|error| unreachable!("plain numbers: {error}"))
    }

    fn connect(
        &mut self,
        peers: &BTreeMap<u32, Vec<u8>>,
        senders: &[LocalPair],
        receivers: &[LocalPair],
    ) -> Result<(), RunError> {
        let peers = Peers::new(&self.jobs, peers)?;
        let at = |host: u32| -> Result<SocketAddrV4, RunError> {
            let Address { address, port, .. } = *peers.of(host)?;
            let at = SocketAddrV4::new(address, port);
            self.settings.check_peer(host, at)?;
            Ok(at)
        };
        let is_remote = |pair: &&LocalPair| !pair.queue_pair.is_local();
        let mut addresses = BTreeMap::new();
        for pair in senders.iter().chain(receivers).filter(is_remote) {
            for host in [pair.queue_pair.src_host.0, pair.queue_pair.dst_host.0] {
                if let Entry::Vacant(entry) = addresses.entry(host) {
                    entry.insert(at(host)?);
                }
            }
        }
        let window =
            |pair: &LocalPair| peers.window_packets(pair.queue_pair.dst_host.0, &self.spec.transport);
        let windows = |pairs: &[LocalPair]| pairs.iter().map(window).collect::<Result<Vec<_>, _>>();
        let (to_peers, from_peers) = (windows(senders)?, windows(receivers)?);
        self.check_paths(addresses.iter().map(|(&host, at)| (host, *at.ip())))?;
        let regions = Regions::new(&self.jobs, &self.spec, |host| peers.agent_of(host));
        self.senders.resize_with(senders.len(), || None);
        for (index, (pair, window_packets)) in (0..).zip(senders.iter().zip(to_peers)) {
            if is_remote(&pair) {
                let peer = Peer { at: addresses[&pair.queue_pair.dst_host.0], window_packets };
                self.add_sender(index, pair, peer, &regions)?;
            }
        }
        for (pair, window_packets) in receivers.iter().zip(from_peers) {
            if is_remote(&pair) {
                let peer = Peer { at: addresses[&pair.queue_pair.src_host.0], window_packets };
                self.add_receiver(pair, peer, &regions)?;
            }
        }
        Ok(())
    }

    fn post(&mut self, post: &Post) {
        let Some(pair) = &mut self.senders[post.pair as usize] else {
            unreachable!("chunks between ranks of a host are not posted")
        };
        if pair.post(&mut self.endpoint, post).is_err() {
            self.refused.push(post.send);
        }
    }

    fn poll(&mut self, patience: Span, events: &mut Vec<Event>) -> io::Result<()> {
        events.extend(self.refused.drain(..).map(|send| Event::Failed { send, seen: Default::default() }));
        self.endpoint.poll(if events.is_empty() { patience } else { Span::ZERO })?;
        self.collect(events);
        if self.received < self.endpoint.received_datagrams() {
            self.received = self.endpoint.received_datagrams();
            self.received_at = self.endpoint.clock().now();
        }
        Ok(())
    }

    fn last_arrival(&self) -> Instant {
        if self.is_unreliable() { self.received_at } else { Instant::ZERO }
    }

    fn end_unfinished(&mut self, events: &mut Vec<Event>) {
        self.senders.iter_mut().flatten().for_each(|pair| pair.end(events));
        self.receivers.iter_mut().for_each(|pair| pair.end(&self.endpoint, events));
    }

    fn quiet_span(&self) -> Span {
        if self.is_unreliable() {
            return IN_NETWORK_MAX;
        }
        Span(self.timeout().0 * (u64::from(self.spec.transport.retry_count) + 1))
    }

    fn failure(&self) -> &str {
        &self.failure
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("unsent_calls", self.endpoint.unsent().0),
            ("refused_datagrams", self.endpoint.refused_datagrams()),
            ("dropped_on_purpose", self.endpoint.dropped_packets()),
            ("socket_drops", self.endpoint.socket_drops()),
            ("wrong_bytes", self.endpoint.wrong_bytes()),
            ("receive_buffer_bytes", self.endpoint.receive_buffer_bytes()),
            ("timeout_ps", self.timeout().0),
            ("window_packets_min", self.used.window_packets_min.into()),
            ("message_bytes", self.used.message_bytes),
        ]
    }
}
