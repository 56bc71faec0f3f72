//! Assigns the transfers of a job to connections, which share queue pairs.
//!
//! A connection is a pair of ranks and a channel, with one queue pair per part of a transfer. If connections
//! follow from transfer numbers, nothing is stored.

use spec::QpMode;
use std::collections::HashMap;
use std::slice;
use units::{Rank, TransferId};
use workload::{Message, Schedule, Transfer};

/// Connections of a job, numbered in the order in which the schedule first uses them; those with payload
/// precede those of handshakes only.
pub enum RankConnections {
    /// Transfers whose numbers differ by a multiple of `period` share a connection.
    Every {
        /// Number of transfers of the job.
        transfers: u32,
        /// Distance of transfers that share a connection; equals the number of connections.
        period: u32,
    },
    /// Irregular connections, stored in tables.
    Listed(Listed),
    /// A storage job: one connection from each client to each target, for operations instead of transfers.
    Storage {
        /// Number of clients, which are the first ranks.
        clients: u32,
        /// Number of targets.
        targets: u32,
    },
}

/// Ranks and channel of a connection.
#[derive(Clone, Copy)]
pub struct Ends {
    /// Sending rank.
    pub src: Rank,
    /// Receiving rank.
    pub dst: Rank,
    /// Channel of its transfers.
    pub channel: u32,
}

/// Periodicity of connections: `count` repetitions of `length` connections, with the same rank pairs in the
/// same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Laps {
    /// Number of repetitions, at least 1.
    pub count: u32,
    /// Number of connections per repetition.
    pub length: u32,
}

impl Laps {
    /// A single repetition of all connections.
    pub const fn one(connections: u32) -> Self {
        Self { count: 1, length: connections }
    }
}

impl Ends {
    /// Ranks and channel of a transfer.
    pub const fn of(transfer: &Transfer) -> Self {
        Self { src: transfer.src, dst: transfer.dst, channel: transfer.channel }
    }
}

impl RankConnections {
    /// Connections of a schedule made of `rounds` rounds with the same transfers, which share connections.
    pub fn new(schedule: &Schedule, mode: QpMode, rounds: u32) -> Self {
        let transfers = schedule.transfers().len() as u32;
        match (mode, schedule.period()) {
            (QpMode::PerChunk, _) => Self::Every { transfers, period: transfers / rounds },
            (QpMode::PerPair, Some(period)) => Self::Every { transfers, period },
            (QpMode::PerPair, None) => Self::Listed(Listed::new(schedule)),
        }
    }

    /// Number of connections.
    pub fn count(&self) -> u32 {
        match self {
            Self::Every { period, .. } => *period,
            Self::Listed(listed) => listed.count(),
            Self::Storage { clients, targets } => clients * targets,
        }
    }

    /// Whether each transfer has its own connection, with the same number.
    pub fn are_transfers(&self) -> bool {
        matches!(self, Self::Every { transfers, period } if transfers == period)
    }

    /// The connection of a transfer.
    #[inline]
    pub fn of(&self, transfer: TransferId) -> u32 {
        match self {
            Self::Every { transfers, period } if transfers == period => transfer.0,
            Self::Every { period, .. } => transfer.0 % period,
            Self::Listed(listed) => listed.of_transfer[transfer.index()],
            Self::Storage { .. } => unreachable!("a storage job has no transfers"),
        }
    }

    /// Transfers of a connection, in the order of the schedule.
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

    /// Ranks and channel of a connection; `schedule` is that of the job.
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

    /// Calls `visit` with the ends of each of the first `connections` connections, in order.
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

    /// Periodicity of the connections; `schedule` is that of the job.
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

    /// Whether a connection has payload of the collective, not only handshakes.
    #[inline]
    pub fn carries_payload(&self, connection: u32) -> bool {
        !matches!(self, Self::Listed(listed) if connection >= listed.of_payload)
    }
}

/// Iterator over the transfers of a connection.
pub enum Transfers<'a> {
    /// Of [`RankConnections::Every`].
    Every {
        /// Next transfer.
        next: u32,
        /// Number of transfers of the job.
        end: u32,
        /// Distance between transfers.
        period: u32,
    },
    /// Of [`RankConnections::Listed`].
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

/// Tables of irregular connections.
pub struct Listed {
    of_transfer: Vec<u32>,
    /// The transfers of connection `c` are `by_connection[starts[c]..starts[c + 1]]`.
    starts: Vec<u32>,
    by_connection: Vec<TransferId>,
    /// Number of connections with payload.
    of_payload: u32,
}

impl Listed {
    fn new(schedule: &Schedule) -> Self {
        let mut numbers = HashMap::new();
        let mut number = |transfer: &Transfer| {
            let next = numbers.len() as u32;
            *numbers.entry((transfer.src, transfer.dst, transfer.channel)).or_insert(next)
        };
        let numbered = (0..).map(TransferId).zip(schedule.transfers());
        // Payload connections are numbered first, so that their random draws do not depend on handshakes.
        let payload = numbered.filter(|(id, _)| schedule.message(*id) == Message::Payload);
        let last = payload.map(|(_, transfer)| number(&transfer)).max();
        let of_transfer: Vec<u32> = schedule.transfers().map(|transfer| number(&transfer)).collect();
        let starts = starts(&of_transfer, numbers.len());
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

/// Start index of the transfers of each connection, followed by the total.
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

/// All transfers, sorted by connection.
fn sorted(of_transfer: &[u32], starts: &[u32]) -> Vec<TransferId> {
    let mut free = starts.to_vec();
    let mut sorted = vec![TransferId(0); of_transfer.len()];
    for (id, &connection) in (0..).map(TransferId).zip(of_transfer) {
        let next_index = &mut free[connection as usize];
        sorted[*next_index as usize] = id;
        *next_index += 1;
    }
    sorted
}
