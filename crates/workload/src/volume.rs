//! Size of a schedule (transfers, bytes, connections), computed without building it.

use crate::open_loop::peers_of;
use crate::{Arrivals, Pattern, Peer, Shape, WorkloadError, find};

/// Size of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Volume {
    /// Number of transfers; the expected number for Poisson traffic.
    pub transfers: u64,
    /// Payload of all transfers [bytes].
    pub payload_bytes: u64,
    /// Payload of the largest transfer [bytes].
    pub largest_bytes: u64,
    /// Number of distinct (sender, receiver, channel).
    pub connections: u64,
    /// Whether the schedule is a list of its transfers; otherwise each is computed from its number.
    pub is_listed: bool,
    /// Number of ranks that send at the same time, or that receive, whichever is smaller.
    pub busy_ranks: u32,
    /// Whether every rank sends only to the next or the previous one.
    pub is_between_neighbours: bool,
    /// Whether the sequence of connections repeats in periods, each of which has every connection once.
    pub is_periodic: bool,
}

/// The volume of the schedule of [`crate::schedule_for`], or with `arrivals` of that of
/// [`crate::open_loop_for`].
///
/// # Errors
/// When there is no such pattern, or it has no open-loop form. Other errors of a schedule are not checked.
pub fn volume_for(
    collective: &str,
    algorithm: &str,
    shape: &Shape,
    arrivals: Option<Arrivals>,
) -> Result<Volume, WorkloadError> {
    let algorithm = find(collective, algorithm)?;
    let pattern = algorithm.pattern;
    shape.check()?;
    pattern.supports(shape.ranks)?;
    let Some(arrivals) = arrivals else {
        return Ok(Volume {
            transfers: pattern.transfers(shape.ranks, shape.data_bytes),
            payload_bytes: pattern.payload_bytes(shape.ranks, shape.data_bytes),
            largest_bytes: pattern.largest_bytes(shape.ranks, shape.data_bytes),
            connections: pattern.connections(shape.ranks, shape.data_bytes),
            is_listed: pattern.is_listed(),
            busy_ranks: pattern.busy_ranks(shape.ranks),
            is_between_neighbours: pattern.is_between_neighbours(),
            is_periodic: is_periodic(pattern, shape),
        });
    };
    let peers = peers_of(algorithm, shape)?;
    let senders = peers.iter().flatten().count() as u64;
    let transfers = arrivals.expected(shape.data_bytes).saturating_mul(senders);
    let each = |peer: &Peer| match peer {
        Peer::One(_) => 1,
        Peer::AnyOther => u64::from(shape.ranks) - 1,
    };
    Ok(Volume {
        transfers,
        payload_bytes: transfers.saturating_mul(shape.data_bytes),
        largest_bytes: shape.data_bytes,
        connections: peers.iter().flatten().map(each).sum::<u64>().min(transfers),
        is_listed: true,
        busy_ranks: pattern.busy_ranks(shape.ranks),
        is_between_neighbours: pattern.is_between_neighbours(),
        is_periodic: false,
    })
}

fn is_periodic(pattern: &dyn Pattern, Shape { ranks, data_bytes, .. }: &Shape) -> bool {
    let [transfers, connections] =
        [Pattern::transfers, Pattern::connections].map(|of| of(pattern, *ranks, *data_bytes));
    !pattern.is_listed() && transfers > connections && transfers.is_multiple_of(connections)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Process, open_loop_for, schedule_for};
    use units::{Rank, Seed, Span};

    fn shape(ranks: u32) -> Shape {
        Shape { ranks, data_bytes: 4096, root: Rank(1), stream: Seed(1).stream("workload.pattern", 0) }
    }

    /// `tests/closed_forms.rs` checks the closed forms of every pattern.
    #[test]
    fn a_collective_has_the_transfers_of_its_schedule() {
        let volume = volume_for("all-to-all", "parallel", &shape(8), None).unwrap();
        let schedule = schedule_for("all-to-all", "parallel", &shape(8)).unwrap();
        assert_eq!((volume.transfers, volume.payload_bytes), (56, 56 * 512));
        assert_eq!(volume.transfers, schedule.transfers().len() as u64);
    }

    #[test]
    fn open_loop_traffic_has_about_the_messages_that_are_offered() {
        let arrivals =
            Arrivals { process: Process::Poisson, rate_bps: 100_000_000_000, duration: Span::from_us(2_000) };
        for (collective, senders, connections) in
            [("incast", 7, 7), ("uniform-random", 8, 56), ("permutation", 8, 8)]
        {
            let volume = volume_for(collective, "parallel", &shape(8), Some(arrivals)).unwrap();
            let schedule = open_loop_for(collective, "parallel", &shape(8), arrivals, Seed(1), 0).unwrap();
            // 6,103 messages of each sender, with four standard deviations of 312.
            assert_eq!((volume.transfers, volume.connections), (6_103 * senders, connections));
            assert!(volume.transfers.abs_diff(schedule.transfers().len() as u64) < 312 * 3);
        }
    }

    #[test]
    fn what_no_schedule_could_be_made_for_is_refused() {
        let arrivals = Arrivals { process: Process::Constant, rate_bps: 1, duration: Span::from_us(1) };
        assert!(volume_for("all-to-all", "ring", &shape(8), None).is_err());
        assert!(volume_for("all-to-all", "parallel", &shape(8), Some(arrivals)).is_err());
        assert!(volume_for("all-reduce", "halving-doubling", &shape(6), None).is_err());
    }
}
