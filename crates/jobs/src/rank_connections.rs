//! Which transfers of a job share queue pairs.
//!
//! A connection leads from one rank to another on one channel, with a queue pair for each part of a transfer.
//! Where connections follow from numbers, nothing is stored of them.

use spec::QpMode;
use std::collections::HashMap;
use std::slice;
use units::{Rank, TransferId};
use workload::{Message, Schedule, Transfer};

/// The connections of a job, by number: in the order in which the schedule first uses them, those that carry
/// payload before those of handshakes alone.
pub enum RankConnections {
    /// Transfers that are a multiple of so many apart share one.
    Every {
        /// Transfers of the job.
        transfers: u32,
        /// How far those that share one are apart.
        period: u32,
    },
    /// Those of transfers that follow from nothing shorter.
    Listed(Listed),
    /// Of a storage job: from each client to each target. They carry operations.
    Storage {
        /// Ranks of clients, which come first.
        clients: u32,
        /// Ranks of targets.
        targets: u32,
    },
}

/// The two ends of a connection.
#[derive(Clone, Copy)]
pub struct Ends {
    /// Sender.
    pub src: Rank,
    /// Receiver.
    pub dst: Rank,
    /// Channel of the transfers.
    pub channel: u32,
}

/// Connections that lead from and to the same ranks in the same order again and again: so many laps of so
/// many connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Laps {
    /// Laps, one at least.
    pub count: u32,
    /// Connections of each.
    pub length: u32,
}

impl Laps {
    /// All connections in one lap.
    #[must_use]
    pub const fn one(connections: u32) -> Self {
        Self { count: 1, length: connections }
    }
}

impl Ends {
    /// Those of a transfer.
    #[must_use]
    pub const fn of(transfer: &Transfer) -> Self {
        Self { src: transfer.src, dst: transfer.dst, channel: transfer.channel }
    }
}

impl RankConnections {
    /// Those of a schedule that consists of so many `rounds` with the same transfers, which share them.
    #[must_use]
    pub fn new(schedule: &Schedule, mode: QpMode, rounds: u32) -> Self {
        let transfers = schedule.transfers().len() as u32;
        match (mode, schedule.period()) {
            (QpMode::PerChunk, _) => Self::Every { transfers, period: transfers / rounds },
            (QpMode::PerPair, Some(period)) => Self::Every { transfers, period },
            (QpMode::PerPair, None) => Self::Listed(Listed::new(schedule)),
        }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        match self {
            Self::Every { period, .. } => *period,
            Self::Listed(listed) => listed.count(),
            Self::Storage { clients, targets } => clients * targets,
        }
    }

    /// Whether each transfer has a connection of the same number.
    pub fn are_transfers(&self) -> bool {
        matches!(self, Self::Every { transfers, period } if transfers == period)
    }

    /// The connection that carries a transfer.
    #[inline]
    pub fn of(&self, transfer: TransferId) -> u32 {
        match self {
            Self::Every { transfers, period } if transfers == period => transfer.0,
            Self::Every { period, .. } => transfer.0 % period,
            Self::Listed(listed) => listed.of_transfer[transfer.index()],
            Self::Storage { .. } => unreachable!("a storage job has no transfers"),
        }
    }

    /// The transfers of a connection, in the order of the schedule.
    #[inline]
    pub fn transfers(&self, connection: u32) -> Transfers<'_> {
        match self {
            Self::Every { transfers, period } => {
                Transfers::Every { next: connection, end: *transfers, period: *period }
            }
            Self::Listed(listed) => Transfers::Listed(listed.transfers(connection).iter()),
            Self::Storage { .. } => Transfers::Listed([].iter()),
        }
    }

    /// Where a connection of a job with that schedule begins and ends.
    #[inline]
    pub fn ends(&self, schedule: &Schedule, connection: u32) -> Ends {
        match self {
            Self::Every { .. } => Ends::of(&schedule.transfer(TransferId(connection))),
            Self::Listed(listed) => Ends::of(&schedule.transfer(listed.transfers(connection)[0])),
            Self::Storage { clients, targets } => {
                let (client, target) = (connection / targets, clients + connection % targets);
                Ends { src: Rank(client), dst: Rank(target), channel: 0 }
            }
        }
    }

    /// Hands the ends of the first `connections` of a job with that schedule to `visit`, in order.
    pub fn each_ends(&self, schedule: &Schedule, connections: u32, mut visit: impl FnMut(Ends)) {
        match self {
            Self::Every { .. } => {
                schedule.each_transfer(0..connections, |transfer| visit(Ends::of(&transfer)));
            }
            Self::Listed(_) | Self::Storage { .. } => {
                (0..connections).for_each(|connection| visit(self.ends(schedule, connection)));
            }
        }
    }

    /// Those of a job with that schedule in laps.
    #[must_use]
    pub fn laps(&self, schedule: &Schedule) -> Laps {
        let count = self.count();
        let length = match self {
            Self::Every { .. } => schedule.period().filter(|period| count.is_multiple_of(*period)),
            Self::Listed(_) | Self::Storage { .. } => None,
        };
        length
            .filter(|length| *length > 0)
            .map_or(Laps::one(count), |length| Laps { count: count / length, length })
    }

    /// Whether a connection carries data of the collective, not the handshake before them.
    #[inline]
    pub fn carries_payload(&self, connection: u32) -> bool {
        !matches!(self, Self::Listed(listed) if connection >= listed.of_payload)
    }
}

/// The transfers of a connection.
pub enum Transfers<'a> {
    /// Those of [`RankConnections::Every`].
    Every {
        /// The next one.
        next: u32,
        /// One past the last of the job.
        end: u32,
        /// How far they are apart.
        period: u32,
    },
    /// Those of [`RankConnections::Listed`].
    Listed(slice::Iter<'a, TransferId>),
}

impl Iterator for Transfers<'_> {
    type Item = TransferId;

    #[inline]
    fn next(&mut self) -> Option<TransferId> {
        match self {
            Self::Every { next, end, period } => {
                let transfer = Some(*next).filter(|next| next < end);
                *next = next.saturating_add(*period);
                transfer.map(TransferId)
            }
            Self::Listed(ids) => ids.next().copied(),
        }
    }
}

/// Connections that follow from nothing shorter.
pub struct Listed {
    of_transfer: Vec<u32>,
    /// Those of connection `c` are `by_connection[starts[c]..starts[c + 1]]`.
    starts: Vec<u32>,
    by_connection: Vec<TransferId>,
    /// Connections that carry payload.
    of_payload: u32,
}

impl Listed {
    fn new(schedule: &Schedule) -> Self {
        let mut known = HashMap::new();
        let mut number = |transfer: &Transfer| {
            let next = known.len() as u32;
            *known.entry((transfer.src, transfer.dst, transfer.channel)).or_insert(next)
        };
        let numbered = (0..).map(TransferId).zip(schedule.transfers());
        // What carries payload comes first: it draws the same with and without a handshake.
        let payload = numbered.filter(|(id, _)| schedule.message(*id) == Message::Payload);
        let last = payload.map(|(_, transfer)| number(&transfer)).max();
        let of_transfer: Vec<u32> = schedule.transfers().map(|transfer| number(&transfer)).collect();
        let starts = starts(&of_transfer, known.len());
        let by_connection = sorted(&of_transfer, &starts);
        Self { of_transfer, starts, by_connection, of_payload: last.map_or(0, |last| last + 1) }
    }

    fn count(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    fn transfers(&self, connection: u32) -> &[TransferId] {
        let range = &self.starts[connection as usize..][..2];
        &self.by_connection[range[0] as usize..range[1] as usize]
    }
}

/// Where the transfers of each of `connections` start, and one past the last.
fn starts(of_transfer: &[u32], connections: usize) -> Vec<u32> {
    let mut starts = vec![0; connections + 1];
    for &connection in of_transfer {
        starts[connection as usize + 1] += 1;
    }
    for connection in 0..connections {
        starts[connection + 1] += starts[connection];
    }
    starts
}

/// All transfers, connection by connection.
fn sorted(of_transfer: &[u32], starts: &[u32]) -> Vec<TransferId> {
    let mut free = starts.to_vec();
    let mut sorted = vec![TransferId(0); of_transfer.len()];
    for (id, &connection) in (0..).map(TransferId).zip(of_transfer) {
        let place = &mut free[connection as usize];
        sorted[*place as usize] = id;
        *place += 1;
    }
    sorted
}
