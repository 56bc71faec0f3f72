//! Messages between peers over servers: all-to-all, send-receive, gather, scatter.
//!
//! In round k of an all-to-all each rank sends to the k-th rank after it and receives from the k-th before
//! it; NCCL works on a number of rounds at the same time, and starts the next when one has ended. With PXN
//! data for a GPU on another rail first goes through the scale-up domain to the GPU of that rail, whose
//! adapter sends it: the network carries it inside the rail. In an NVLink domain of several machines that GPU
//! is in the machine of the sender (NCCL 2.30 `src/graph/topo.cc`). Messages inside a server are copies.
//!
//! If two servers stand for all ([`ServerRanks::representing`]), each sends to the other what it sends to all,
//! and so receives what it receives from all: the message of a pair of ranks arrives at the rank on the same
//! GPU of the other server. Channels keep messages to different servers apart.

use super::{NcclPeers, ServerRanks};
use crate::{
    LISTED_TRANSFERS_MAX, Parts, Schedule, ScheduleBuilder, Shape, Transfer, Volume, WorkloadError,
    check_transfers, shares,
};
use units::{Rank, TransferId};

/// Number of messages above which those to a peer are joined in fewer, larger ones: large data are pipelined over
/// many peers anyway.
const MESSAGES_MAX: u64 = 1 << 21;

/// The volume of [`schedule`]; with PXN as if all data changed the rail.
pub(super) fn volume(
    peers: &NcclPeers,
    collective: &str,
    shape: &Shape,
    servers: &ServerRanks,
) -> Result<Volume, WorkloadError> {
    let ranks = servers.ranks();
    let pairs = rounds(collective, shape, servers)?.iter().map(|pairs| pairs.len() as u64).sum();
    let Counts { bytes, messages } = Counts::new(peers, collective, shape, ranks, pairs);
    let transfers = pairs * messages * transfers_of_message(peers);
    let largest_bytes = peers.protocol.wire_bytes(bytes.div_ceil(messages));
    Ok(Volume {
        transfers,
        payload_bytes: transfers.saturating_mul(largest_bytes),
        largest_bytes,
        connections: transfers / messages * messages.min(peers.channels.into()),
        is_listed: true,
        busy_ranks: ranks,
        is_between_neighbours: false,
        is_periodic: false,
    })
}

/// Transfers of a message, with PXN as if it changed the rail.
fn transfers_of_message(peers: &NcclPeers) -> u64 {
    if peers.pxn { 2 } else { 1 }
}

/// Data of a pair of ranks [bytes], and the number of its messages.
struct Counts {
    bytes: u64,
    messages: u64,
}

impl Counts {
    /// Of a collective with so many `ranks` and `pairs`.
    fn new(peers: &NcclPeers, collective: &str, shape: &Shape, ranks: u32, pairs: u64) -> Self {
        let bytes = shape.data_bytes / shares(collective, ranks);
        let messages = bytes.div_ceil(peers.chunk_bytes).clamp(1, (MESSAGES_MAX / pairs).max(1));
        Self { bytes, messages }
    }
}

pub(super) fn schedule(
    peers: &NcclPeers,
    collective: &str,
    shape: &Shape,
    servers: &ServerRanks,
) -> Result<Schedule, WorkloadError> {
    let ranks = servers.ranks();
    let rounds = rounds(collective, shape, servers)?;
    let pairs: u64 = rounds.iter().map(|pairs| pairs.len() as u64).sum();
    let all = ranks / servers.count() as u32 * servers.represented();
    let Counts { bytes, messages } =
        Counts::new(peers, collective, shape, all, pairs * u64::from(all) / u64::from(ranks));
    let transfers = pairs * messages * transfers_of_message(peers);
    check_transfers(transfers, LISTED_TRANSFERS_MAX)?;
    let places = Places::new(servers, ranks);
    let mut writer = Writer {
        builder: ScheduleBuilder::with_capacity(transfers, transfers),
        peers,
        places: &places,
        parts: Parts::new(bytes, messages),
    };
    // By round modulo the concurrent ones, and by rank: the last message that arrived in it.
    let concurrent = (peers.concurrent as usize).min(rounds.len());
    let mut arrived: Vec<Vec<Option<TransferId>>> = vec![vec![None; ranks as usize]; concurrent];
    for (round, pairs) in rounds.iter().enumerate() {
        let ended = std::mem::replace(&mut arrived[round % concurrent], vec![None; ranks as usize]);
        for message in 0..messages {
            for pair in pairs {
                let last = writer.push(pair, round as u32, message, ended[pair.src.index()]);
                arrived[round % concurrent][pair.dst.index()] = Some(last);
            }
        }
    }
    Ok(writer.builder.finish())
}

/// Sender and receiver of the messages of a round.
#[derive(Clone, Copy)]
struct Pair {
    src: Rank,
    dst: Rank,
    /// Number of servers from that of the sender on, if two stand for all; 0 otherwise.
    distance: u32,
}

impl Pair {
    fn new(src: u32, dst: u32) -> Self {
        Self { src: Rank(src), dst: Rank(dst), distance: 0 }
    }
}

/// Pairs of each round.
fn rounds(collective: &str, shape: &Shape, servers: &ServerRanks) -> Result<Vec<Vec<Pair>>, WorkloadError> {
    let ranks = servers.ranks();
    let shifted = |round: u32| (0..ranks).map(move |rank| Pair::new(rank, (rank + round) % ranks)).collect();
    let others = |root: Rank| (1..ranks).map(move |round| (root.0 + round) % ranks);
    match collective {
        "all-to-all" if servers.represents.is_some() => Ok(rounds_of_two(servers)),
        "all-to-all" => Ok((1..ranks).map(shifted).collect()),
        // As without NCCL: between pairs.
        "send-receive" if ranks.is_multiple_of(2) => {
            Ok(vec![(0..ranks).map(|rank| Pair::new(rank, rank ^ 1)).collect()])
        }
        "send-receive" => Err(WorkloadError::OddRanks { ranks }),
        "gather" => Ok(others(shape.root).map(|other| vec![Pair::new(other, shape.root.0)]).collect()),
        _ => Ok(others(shape.root).map(|other| vec![Pair::new(shape.root.0, other)]).collect()),
    }
}

/// Pairs of each round of an all-to-all of which two servers stand for all, each with consecutive ranks.
fn rounds_of_two(servers: &ServerRanks) -> Vec<Vec<Pair>> {
    let (ranks, count) = (servers.ranks(), servers.represented());
    let gpus = ranks / 2;
    let pair = |rank: u32, round: u32| {
        let (server, receiver) = (rank / gpus, rank + round);
        let distance = (receiver / gpus - server) % count;
        let receiving = if distance == 0 { server } else { 1 - server };
        Pair { distance, ..Pair::new(rank, receiving * gpus + receiver % gpus) }
    };
    (1..gpus * count).map(|round| (0..ranks).map(|rank| pair(rank, round)).collect()).collect()
}

/// Server and GPU of each rank.
struct Places<'a> {
    servers: &'a ServerRanks,
    of_rank: Vec<(usize, u32)>,
}

impl<'a> Places<'a> {
    fn new(servers: &'a ServerRanks, ranks: u32) -> Self {
        let mut of_rank = vec![(0, 0); ranks as usize];
        for (server, members) in servers.servers.iter().enumerate() {
            members.iter().for_each(|&(gpu, rank)| of_rank[rank.index()] = (server, gpu));
        }
        Self { servers, of_rank }
    }

    /// The rank whose adapter sends data from `src` to `dst`: on the rail of the destination.
    fn proxy(&self, src: Rank, dst: Rank) -> Rank {
        let ((server, own), (to_server, gpu)) = (self.of_rank[src.index()], self.of_rank[dst.index()]);
        let near = self.servers.machine_gpus.map_or(gpu, |gpus| own - own % gpus + gpu % gpus);
        if server == to_server { src } else { self.servers.rank(server, near).unwrap_or(src) }
    }
}

struct Writer<'a> {
    builder: ScheduleBuilder,
    peers: &'a NcclPeers,
    places: &'a Places<'a>,
    /// Messages of a pair.
    parts: Parts,
}

impl Writer<'_> {
    /// Adds a message; returns the transfer that ends at the destination.
    fn push(&mut self, pair: &Pair, round: u32, message: u64, after: Option<TransferId>) -> TransferId {
        let Pair { src, dst, distance } = *pair;
        let NcclPeers { channels, pxn, protocol, .. } = *self.peers;
        let transfer = Transfer {
            src,
            dst,
            bytes: protocol.wire_bytes(self.parts.of(message)),
            step: round,
            channel: distance * channels + (message % u64::from(channels)) as u32,
            block: src.0,
        };
        let proxy = if pxn { self.places.proxy(src, dst) } else { src };
        if proxy == src {
            return self.builder.push(transfer, after.as_slice());
        }
        let copy = Transfer { dst: proxy, channel: transfer.channel % channels, ..transfer };
        let copied = self.builder.push(copy, after.as_slice());
        self.builder.push(Transfer { src: proxy, ..transfer }, &[copied])
    }
}
