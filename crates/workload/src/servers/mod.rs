//! Collectives as NCCL runs them over servers with GPUs: rings and trees over servers on channels,
//! each with its adapter, and messages between peers that change the rail inside the server (PXN).
//!
//! Only messages between servers are transfers of the schedule, and those that change the rail. Within a
//! server a channel passes data from GPU to GPU over the scale-up domain at its own rate; this costs time
//! before and after a transfer ([`crate::RankTimes`]), but no messages. On each server a channel is represented by
//! one rank, that of its GPU nearest to the adapter.
//!
//! A collective on one server has no network: its messages are copies over the scale-up domain ([`NcclOneServer`]).
//!
//! Approximations: all servers have the same channels; a channel has its rate of the scale-up domain for
//! itself, which is what NCCL's graph search assumes; GPUs inside a server never hold back those before them.

mod connection;
mod one_server;
mod peers;
mod ring;
mod tree;

use crate::schedule::CLEARANCE_BYTES;
use crate::{Schedule, Shape, Volume, WorkloadError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use units::{Rank, Rate, Span};

/// A collective as NCCL runs it, with the choices of its rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum NcclConfig {
    /// Rings over the servers: all-reduce, all-gather, reduce-scatter, broadcast, reduce.
    Ring(NcclChannels),
    /// Double binary trees over the servers: all-reduce.
    Tree(NcclChannels),
    /// Messages from rank to rank: all-to-all, send-receive, gather, scatter.
    Peers(NcclPeers),
    /// Rings, trees and NVLS on one server, over its scale-up domain.
    OneServer(NcclOneServer),
}

impl NcclConfig {
    /// The channels, if it has rings or trees.
    #[must_use]
    pub const fn channels(&self) -> Option<&NcclChannels> {
        match self {
            Self::Ring(channels) | Self::Tree(channels) => Some(channels),
            Self::Peers(_) | Self::OneServer(_) => None,
        }
    }

    /// Copies between GPUs of a server, if it has some.
    #[must_use]
    pub const fn copies(&self) -> Option<ScaleUpCopies> {
        match self {
            Self::Ring(_) | Self::Tree(_) => None,
            Self::Peers(peers) => Some(peers.scale_up),
            Self::OneServer(one_server) => Some(one_server.scale_up),
        }
    }

    /// Protocol.
    #[must_use]
    pub const fn protocol(&self) -> NcclProtocol {
        match self {
            Self::Ring(channels) | Self::Tree(channels) => channels.protocol,
            Self::Peers(peers) => peers.protocol,
            Self::OneServer(one_server) => one_server.protocol,
        }
    }

    /// Bytes that the GPUs of each server send over its scale-up domain on a channel of a ring or tree that sends
    /// `network_bytes` between all servers; 0 where copies are transfers of the schedule.
    ///
    /// A ring that goes round has as many connections as servers, a chain one less, and a tree one less in each
    /// direction. All data pass the GPUs of each server once, in a tree once in each direction.
    #[must_use]
    pub fn scale_up_bytes(&self, collective: &str, servers: u64, gpus: u32, network_bytes: u64) -> u64 {
        let Some(channels) = self.channels() else { return 0 };
        let connections = if self.cycles(collective).is_some() { servers } else { servers - 1 };
        let hops = u64::from(channels.scale_up.hops);
        let is_multicast = matches!(self, Self::Tree(_)) && hops < u64::from(gpus) - 1;
        // With NVLS all GPUs send data to the switches, and one of them the sums.
        let sent =
            if is_multicast { (u64::from(gpus) + 1) * network_bytes / 2 } else { hops * network_bytes };
        sent / connections
    }

    /// How often the blocks of a collective go round its rings over servers; `None` if they do not.
    #[must_use]
    pub fn cycles(&self, collective: &str) -> Option<u32> {
        match self {
            Self::Ring(_) => cycles_of(collective),
            _ => None,
        }
    }
}

/// How often the blocks of a collective go round a ring; `None` if its data pass it once.
fn cycles_of(collective: &str) -> Option<u32> {
    match collective {
        "all-reduce" => Some(2),
        "all-gather" | "reduce-scatter" => Some(1),
        _ => None,
    }
}

/// Channels of a ring or tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NcclChannels {
    /// Protocol, which determines the bytes on the wire.
    pub protocol: NcclProtocol,
    /// The channels; the data is divided evenly among them.
    pub channels: Vec<NcclChannel>,
    /// Maximum data of a step of a channel [bytes].
    #[schemars(range(min = 1))]
    pub chunk_bytes: u64,
    /// Maximum data of a message [bytes].
    #[schemars(range(min = 1))]
    pub slice_bytes: u64,
    /// Messages of a connection for which the receiver has buffers; each further one waits until the receiver
    /// has cleared it (CTS).
    #[schemars(range(min = 1, max = 1_024))]
    pub window_messages: u32,
    /// Hops of the data of a channel through a server.
    pub scale_up: ScaleUpHops,
}

/// A channel, equal on all servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NcclChannel {
    /// GPU nearest to its adapters.
    pub gpu: u32,
    /// Adapter on which a server receives.
    pub receive_nic: u16,
    /// Adapter on which a server sends.
    pub send_nic: u16,
}

/// Hops of the data of a channel between GPUs of a server, from one network transfer to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScaleUpHops {
    /// Number of hops.
    pub hops: u32,
    /// Rate of the channel [bit/s].
    #[schemars(range(min = 1_000_000))]
    pub rate_bps: u64,
    /// Latency of each hop [ps].
    #[schemars(range(max = 1_000_000_000_000_u64))]
    pub latency_ps: u64,
}

impl ScaleUpHops {
    /// Time for which `bytes` occupy each hop.
    fn hop(&self, bytes: u64) -> Span {
        Rate::from_bps(self.rate_bps).span_of(bytes)
    }
}

impl NcclChannels {
    /// Time from the start of the first of `hops` hops to the end of the last. With Simple a GPU forwards whole
    /// messages; with the other protocols, whose flags are next to the data, what has arrived.
    fn through(&self, hops: u32, bytes: u64) -> Span {
        let messages = match self.protocol {
            NcclProtocol::Simple => hops,
            NcclProtocol::Ll | NcclProtocol::Ll128 => hops.min(1),
        };
        let ScaleUpHops { latency_ps, .. } = self.scale_up;
        Span(self.scale_up.hop(bytes).0 * u64::from(messages) + latency_ps * u64::from(hops))
    }

    /// Time for which `bytes` of a channel occupy the GPU that represents it, which serves all its channels at
    /// their rates together; none without hops, as the only GPU of a server is far faster than its adapters.
    fn busy(&self, channel: u32, bytes: u64) -> Span {
        let gpu = self.channels[channel as usize].gpu;
        let sharing = self.channels.iter().filter(|other| other.gpu == gpu).count() as u64;
        Span(self.scale_up.hop(bytes).0 * u64::from(self.scale_up.hops.min(1)) / sharing)
    }
}

/// Messages between ranks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NcclPeers {
    /// Protocol, which determines the bytes on the wire.
    pub protocol: NcclProtocol,
    /// Peers to which a rank sends at the same time.
    #[schemars(range(min = 1))]
    pub concurrent: u32,
    /// Channels for each peer, with separate queue pairs; messages take them in turn.
    #[schemars(range(min = 1, max = 64))]
    pub channels: u32,
    /// Maximum data of a message [bytes].
    #[schemars(range(min = 1))]
    pub chunk_bytes: u64,
    /// Data for a GPU on another rail first goes to the GPU of this rail in the sender's server (PXN).
    pub pxn: bool,
    /// Copies between GPUs of a server.
    pub scale_up: ScaleUpCopies,
}

/// Rings, a tree or NVLS on one server. All channels have equal parts of the data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NcclOneServer {
    /// Algorithm.
    pub algorithm: NcclAlgorithm,
    /// Protocol, which determines the bytes that GPUs send.
    pub protocol: NcclProtocol,
    /// Number of channels.
    #[schemars(range(min = 1, max = 64))]
    pub channels: u32,
    /// Maximum data of a step of a channel [bytes].
    #[schemars(range(min = 1))]
    pub chunk_bytes: u64,
    /// Maximum data of a message of a channel [bytes].
    #[schemars(range(min = 1))]
    pub slice_bytes: u64,
    /// Messages of a tree or of NVLS for which there are buffers.
    #[schemars(range(min = 1, max = 1_024))]
    pub window_messages: u32,
    /// GPUs that the sums of NVLS are divided among; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 64))]
    pub heads: Option<u32>,
    /// Copies between its GPUs.
    pub scale_up: ScaleUpCopies,
}

/// Algorithm on one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NcclAlgorithm {
    /// Rings: all-reduce, all-gather, reduce-scatter, broadcast, reduce.
    Ring,
    /// A chain: all-reduce.
    Tree,
    /// Reductions and multicasts of the switches: all-reduce, all-gather, reduce-scatter.
    Nvls,
}

/// Copies between GPUs of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScaleUpCopies {
    /// Rate of a GPU, one message at a time [bit/s].
    #[schemars(range(min = 1_000_000))]
    pub rate_bps: u64,
    /// Latency from the end of a copy to the receiver [ps].
    #[schemars(range(max = 1_000_000_000_000_u64))]
    pub latency_ps: u64,
}

/// Protocol of NCCL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NcclProtocol {
    /// Half of the bytes are flags.
    Ll,
    /// 8 of 128 bytes are flags.
    Ll128,
    /// Data only.
    Simple,
}

impl NcclProtocol {
    /// Name that NCCL uses.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ll => "LL",
            Self::Ll128 => "LL128",
            Self::Simple => "Simple",
        }
    }

    /// Bytes on the wire of `bytes` of data.
    #[must_use]
    pub const fn wire_bytes(self, bytes: u64) -> u64 {
        match self {
            Self::Ll => bytes.next_multiple_of(4) * 2,
            Self::Ll128 => bytes.div_ceil(120) * 128,
            Self::Simple => bytes,
        }
    }
}

/// Ranks of a job on servers: by server, in the order of the first rank of each, the GPU of each rank.
///
/// An NVLink domain of several machines is a server here; its GPUs are those of the machines in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerRanks {
    servers: Vec<Vec<(u32, Rank)>>,
    /// GPUs of each machine of an NVLink domain; none if each server is one.
    machine_gpus: Option<u32>,
    /// Number of servers of the collective, if these stand for more.
    represents: Option<u32>,
}

impl ServerRanks {
    /// From server and GPU of each rank.
    #[must_use]
    pub fn new(places: impl Iterator<Item = (u32, u32)>) -> Self {
        let mut numbers = HashMap::new();
        let mut servers: Vec<Vec<(u32, Rank)>> = Vec::new();
        for (rank, (server, gpu)) in (0..).map(Rank).zip(places) {
            let number = *numbers.entry(server).or_insert(servers.len());
            if number == servers.len() {
                servers.push(Vec::new());
            }
            servers[number].push((gpu, rank));
        }
        Self { servers, machine_gpus: None, represents: None }
    }

    /// The same servers; those that are NVLink domains of several machines have so many GPUs in each.
    #[must_use]
    pub fn of_machines(self, machine_gpus: Option<u32>) -> Self {
        Self { machine_gpus, ..self }
    }

    /// The same servers, which stand for so many equal ones. In rings of all-reduce, all-gather and
    /// reduce-scatter each server does what the one before it does, so these have the steps of all. In an
    /// all-to-all each of two servers, with consecutive ranks, sends and receives as all do.
    #[must_use]
    pub fn representing(self, servers: Option<u32>) -> Self {
        Self { represents: servers, ..self }
    }

    /// Number of servers.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.servers.len()
    }

    /// Number of servers of the collective.
    fn represented(&self) -> u32 {
        self.represents.unwrap_or(self.count() as u32)
    }

    /// Ranks of each server, if all have the same GPUs.
    fn gpus(&self) -> Option<u32> {
        let gpus = |server: &[(u32, Rank)]| {
            let mut gpus: Vec<u32> = server.iter().map(|(gpu, _)| *gpu).collect();
            gpus.sort_unstable();
            gpus
        };
        let first = gpus(self.servers.first()?);
        let are_distinct = first.windows(2).all(|pair| pair[0] < pair[1]);
        let are_equal = self.servers.iter().all(|server| gpus(server) == first);
        (are_distinct && are_equal).then_some(first.len() as u32)
    }

    /// The ranks of the only server.
    fn ranks_of_one(&self) -> Result<Vec<Rank>, WorkloadError> {
        match &self.servers[..] {
            [server] if server.len() > 1 => Ok(server.iter().map(|(_, rank)| *rank).collect()),
            _ => {
                let reason = format!("{} ranks on {} servers as on one", self.ranks(), self.count());
                Err(WorkloadError::Servers { reason })
            }
        }
    }

    /// Number of ranks.
    fn ranks(&self) -> u32 {
        self.servers.iter().map(|server| server.len() as u32).sum()
    }

    /// The server of a rank.
    fn server_of(&self, rank: Rank) -> usize {
        let has = |server: &Vec<(u32, Rank)>| server.iter().any(|(_, other)| *other == rank);
        self.servers.iter().position(has).unwrap_or(0)
    }

    /// The rank of a GPU of a server.
    fn rank(&self, server: usize, gpu: u32) -> Option<Rank> {
        self.servers[server].iter().find(|(of_rank, _)| *of_rank == gpu).map(|(_, rank)| *rank)
    }
}

/// The schedule of `collective` as NCCL runs it over `servers`.
///
/// # Errors
/// When NCCL has no such schedule for the collective, the servers do not have the same GPUs, or there are too
/// many transfers.
pub fn nccl_schedule(
    config: &NcclConfig,
    collective: &str,
    shape: &Shape,
    servers: &ServerRanks,
) -> Result<Schedule, WorkloadError> {
    let gpus = check(config, collective, shape, servers)?;
    let data_bytes = shape.data_bytes;
    match config {
        NcclConfig::Ring(channels) => {
            let first = servers.server_of(shape.root);
            match config.cycles(collective) {
                Some(cycles) => ring::schedule(channels, cycles, data_bytes, servers, gpus),
                None if collective == "broadcast" => ring::chain(channels, data_bytes, servers, first),
                None => ring::chain(channels, data_bytes, servers, first + 1),
            }
        }
        NcclConfig::Tree(channels) => tree::schedule(channels, data_bytes, servers),
        NcclConfig::Peers(peers) => peers::schedule(peers, collective, shape, servers),
        NcclConfig::OneServer(config) => {
            one_server::schedule(config, collective, shape, &servers.ranks_of_one()?)
        }
    }
}

/// Checks that NCCL has a schedule of `collective`, and returns the GPUs of each server.
fn check(
    config: &NcclConfig,
    collective: &str,
    shape: &Shape,
    servers: &ServerRanks,
) -> Result<u32, WorkloadError> {
    shape.check()?;
    let refuse = |reason: String| WorkloadError::Servers { reason };
    let (supported, by) = match config {
        NcclConfig::Ring(_) => (&RINGS[..], "rings"),
        NcclConfig::Tree(_) => (&["all-reduce"][..], "trees"),
        NcclConfig::Peers(_) => (&PEERS[..], "messages between peers"),
        NcclConfig::OneServer(NcclOneServer { algorithm, .. }) => match algorithm {
            NcclAlgorithm::Ring => (&RINGS[..], "rings"),
            NcclAlgorithm::Tree => (&["all-reduce"][..], "trees"),
            NcclAlgorithm::Nvls => (&RINGS[..3], "NVLS"),
        },
    };
    if !supported.contains(&collective) {
        return Err(refuse(format!("{collective} by {by}")));
    }
    servers.gpus().ok_or_else(|| refuse("the servers of the job have different GPUs".into()))
}

/// Collectives by rings; those of the first three go round.
const RINGS: [&str; 5] = ["all-reduce", "all-gather", "reduce-scatter", "broadcast", "reduce"];
/// Collectives by messages between peers.
const PEERS: [&str; 4] = ["all-to-all", "send-receive", "gather", "scatter"];

/// The volume of [`nccl_schedule`], without making it; messages of blocks that differ by a byte are counted
/// as those of the larger.
///
/// # Errors
/// Those of [`nccl_schedule`] but for too many transfers.
pub fn nccl_volume(
    config: &NcclConfig,
    collective: &str,
    shape: &Shape,
    servers: &ServerRanks,
) -> Result<Volume, WorkloadError> {
    check(config, collective, shape, servers)?;
    match config {
        NcclConfig::Ring(channels) => match config.cycles(collective) {
            Some(cycles) => ring::volume(channels, cycles, shape.data_bytes, servers),
            None => ring::volume_of_chain(channels, shape.data_bytes, servers),
        },
        NcclConfig::Tree(channels) => tree::volume(channels, shape.data_bytes, servers),
        NcclConfig::Peers(peers) => peers::volume(peers, collective, shape, servers),
        NcclConfig::OneServer(config) => {
            Ok(one_server::volume(config, collective, shape, &servers.ranks_of_one()?))
        }
    }
}

/// The volume of `messages` on `connections` of channels, which carry `wire_bytes` in all.
fn volume_of(channels: &NcclChannels, servers: &ServerRanks, messages: Messages) -> Volume {
    let Messages { count, connections, clearances, largest_bytes, wire_bytes } = messages;
    let gpus: HashSet<u32> = channels.channels.iter().map(|channel| channel.gpu).collect();
    Volume {
        transfers: count + clearances,
        payload_bytes: wire_bytes + clearances * CLEARANCE_BYTES,
        largest_bytes,
        connections: connections * if clearances > 0 { 2 } else { 1 },
        is_listed: true,
        busy_ranks: (gpus.len() * servers.count()) as u32,
        is_between_neighbours: false,
        is_periodic: false,
    }
}

/// Messages of a schedule.
#[derive(Clone, Copy)]
struct Messages {
    count: u64,
    connections: u64,
    clearances: u64,
    largest_bytes: u64,
    wire_bytes: u64,
}

/// The rank that represents each channel on each server: by channel, then server.
fn representatives(channels: &NcclChannels, servers: &ServerRanks) -> Result<Vec<Vec<Rank>>, WorkloadError> {
    if channels.channels.is_empty() || servers.count() < 2 {
        let reason = format!("{} channels over {} servers", channels.channels.len(), servers.count());
        return Err(WorkloadError::Servers { reason });
    }
    let of_channel = |channel: &NcclChannel| {
        let of_server = |server| {
            servers.rank(server, channel.gpu).ok_or_else(|| WorkloadError::Servers {
                reason: format!("no rank on GPU {} of each server", channel.gpu),
            })
        };
        (0..servers.count()).map(of_server).collect()
    };
    channels.channels.iter().map(of_channel).collect()
}
