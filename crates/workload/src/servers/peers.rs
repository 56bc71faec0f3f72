//! Messages between peers over servers: all-to-all and send-receive.
//!
//! In round k of an all-to-all each rank sends to the k-th rank after it and receives from the k-th before
//! it; NCCL works on a number of rounds at the same time, and starts the next when one has ended. With PXN
//! data for a GPU on another rail first goes through the scale-up domain to the GPU of that rail, whose
//! adapter sends it: the network carries it inside the rail. Messages inside a server are copies.

use super::{NcclPeers, ServerRanks};
use crate::{
    LISTED_TRANSFERS_MAX, Parts, Schedule, ScheduleBuilder, Transfer, WorkloadError, check_transfers,
};
use units::{Rank, TransferId};

/// Number of messages above which those to a peer are joined in fewer, larger ones: the way of large data is
/// pipelined over many peers anyway.
const MESSAGES_MAX: u64 = 1 << 21;

pub(super) fn schedule(
    peers: &NcclPeers,
    collective: &str,
    data_bytes: u64,
    servers: &ServerRanks,
    gpus: u32,
) -> Result<Schedule, WorkloadError> {
    let ranks = servers.count() as u32 * gpus;
    let (rounds, bytes) = match collective {
        "all-to-all" => (ranks - 1, data_bytes / u64::from(ranks)),
        "send-receive" => (1, data_bytes),
        _ => return Err(WorkloadError::Servers { reason: format!("{collective} between peers") }),
    };
    if collective == "send-receive" && !ranks.is_multiple_of(2) {
        return Err(WorkloadError::OddRanks { ranks });
    }
    let pairs = u64::from(rounds) * u64::from(ranks);
    let messages = bytes.div_ceil(peers.chunk_bytes).clamp(1, (MESSAGES_MAX / pairs).max(1));
    let transfers = pairs * messages * if peers.pxn { 2 } else { 1 };
    check_transfers(transfers, LISTED_TRANSFERS_MAX)?;
    let places = Places::new(servers, ranks);
    let mut writer = Writer {
        builder: ScheduleBuilder::with_capacity(transfers, transfers),
        peers,
        places: &places,
        parts: Parts::new(bytes, messages),
    };
    // By round modulo the concurrent rounds, by rank: the last message that arrived in it.
    let concurrent = (peers.concurrent.min(rounds)) as usize;
    let mut arrived: Vec<Vec<Option<TransferId>>> = vec![vec![None; ranks as usize]; concurrent];
    for round in 0..rounds {
        let ended = arrived[round as usize % concurrent].clone();
        for message in 0..messages {
            for rank in 0..ranks {
                // Send-receive is between pairs, as without NCCL.
                let peer = if rounds == 1 && collective == "send-receive" {
                    rank ^ 1
                } else {
                    (rank + round + 1) % ranks
                };
                let after = ended[rank as usize];
                let last = writer.push(Rank(rank), Rank(peer), round, message, after);
                arrived[round as usize % concurrent][peer as usize] = Some(last);
            }
        }
    }
    Ok(writer.builder.finish())
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
