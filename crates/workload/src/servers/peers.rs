//! Messages between peers over servers: all-to-all, send-receive, gather, scatter.
//!
//! In round k of an all-to-all each rank sends to the k-th rank after it and receives from the k-th before
//! it; NCCL works on a number of rounds at the same time, and starts the next when one has ended. With PXN
//! data for a GPU on another rail first goes through the scale-up domain to the GPU of that rail, whose
//! adapter sends it: the network carries it inside the rail. Messages inside a server are copies.

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
    let rounds = rounds(collective, shape, ranks)?;
    let Counts { bytes, messages, transfers } = Counts::new(peers, collective, shape, ranks, &rounds);
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

/// Data of a pair, its messages, and all transfers.
struct Counts {
    bytes: u64,
    messages: u64,
    transfers: u64,
}

impl Counts {
    fn new(
        peers: &NcclPeers,
        collective: &str,
        shape: &Shape,
        ranks: u32,
        rounds: &[Vec<[Rank; 2]>],
    ) -> Self {
        let bytes = shape.data_bytes / shares(collective, ranks);
        let pairs: u64 = rounds.iter().map(|pairs| pairs.len() as u64).sum();
        let messages = bytes.div_ceil(peers.chunk_bytes).clamp(1, (MESSAGES_MAX / pairs).max(1));
        Self { bytes, messages, transfers: pairs * messages * if peers.pxn { 2 } else { 1 } }
    }
}

pub(super) fn schedule(
    peers: &NcclPeers,
    collective: &str,
    shape: &Shape,
    servers: &ServerRanks,
) -> Result<Schedule, WorkloadError> {
    let ranks = servers.ranks();
    let rounds = rounds(collective, shape, ranks)?;
    let Counts { bytes, messages, transfers } = Counts::new(peers, collective, shape, ranks, &rounds);
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
            for &[src, dst] in pairs {
                let last = writer.push(src, dst, round as u32, message, ended[src.index()]);
                arrived[round % concurrent][dst.index()] = Some(last);
            }
        }
    }
    Ok(writer.builder.finish())
}

/// Sender and receiver of each message of each round.
fn rounds(collective: &str, shape: &Shape, ranks: u32) -> Result<Vec<Vec<[Rank; 2]>>, WorkloadError> {
    let shifted = |round: u32| (0..ranks).map(move |rank| [rank, (rank + round) % ranks].map(Rank)).collect();
    let others = |root: Rank| (1..ranks).map(move |round| Rank((root.0 + round) % ranks));
    match collective {
        "all-to-all" => Ok((1..ranks).map(shifted).collect()),
        // As without NCCL: between pairs.
        "send-receive" if ranks.is_multiple_of(2) => {
            Ok(vec![(0..ranks).map(|rank| [rank, rank ^ 1].map(Rank)).collect()])
        }
        "send-receive" => Err(WorkloadError::OddRanks { ranks }),
        "gather" => Ok(others(shape.root).map(|other| vec![[other, shape.root]]).collect()),
        _ => Ok(others(shape.root).map(|other| vec![[shape.root, other]]).collect()),
    }
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
        let ((server, _), (to_server, gpu)) = (self.of_rank[src.index()], self.of_rank[dst.index()]);
        if server == to_server { src } else { self.servers.rank(server, gpu).unwrap_or(src) }
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
    fn push(
        &mut self,
        src: Rank,
        dst: Rank,
        round: u32,
        message: u64,
        after: Option<TransferId>,
    ) -> TransferId {
        let transfer = Transfer {
            src,
            dst,
            bytes: self.peers.protocol.wire_bytes(self.parts.of(message)),
            step: round,
            channel: (message % u64::from(self.peers.channels)) as u32,
            block: src.0,
        };
        let proxy = if self.peers.pxn { self.places.proxy(src, dst) } else { src };
        if proxy == src {
            return self.builder.push(transfer, after.as_slice());
        }
        let copied = self.builder.push(Transfer { dst: proxy, ..transfer }, after.as_slice());
        self.builder.push(Transfer { src: proxy, ..transfer }, &[copied])
    }
}
