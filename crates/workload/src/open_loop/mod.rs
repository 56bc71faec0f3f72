//! Builds the schedule of open-loop traffic: ranks send messages at given times, regardless of earlier
//! messages, to one rank or to ranks drawn at random.

mod arrivals;

pub use arrivals::{Arrivals, Process};

use crate::{
    Algorithm, LISTED_TRANSFERS_MAX, Schedule, ScheduleBuilder, Shape, Transfer, WorkloadError, algorithms,
    check_transfers, find,
};
use units::{Rank, Seed, Span, Stream};

/// Destination of the messages of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// All to one rank.
    One(Rank),
    /// Each to another rank, drawn uniformly.
    AnyOther,
}

impl Peer {
    /// The receiver of the next message of `src`.
    pub(crate) fn draw(self, src: Rank, ranks: u32, stream: &mut Stream) -> Rank {
        match self {
            Self::One(rank) => rank,
            Self::AnyOther => {
                let other = stream.below(u64::from(ranks) - 1) as u32;
                Rank(other + u32::from(other >= src.0))
            }
        }
    }
}

/// The schedule of open-loop traffic: ranks offer messages of `shape.data_bytes` at the times of `arrivals`,
/// each to its peer of the pattern. A transfer is a message, its step the number of the message at its rank;
/// transfers are in the order of (release, rank). Gaps and peers are drawn from separate random streams for
/// each rank; `job` selects the streams of a job.
///
/// # Errors
/// When there is no such pattern or it has no open-loop form, `shape` is invalid, no message falls within the
/// duration, or the schedule exceeds [`LISTED_TRANSFERS_MAX`].
pub fn open_loop_for(
    collective: &str,
    algorithm: &str,
    shape: &Shape,
    arrivals: Arrivals,
    seed: Seed,
    job: u32,
) -> Result<Schedule, WorkloadError> {
    let algorithm = find(collective, algorithm)?;
    shape.check()?;
    algorithm.pattern.supports(shape.ranks)?;
    let peers = peers_of(algorithm, shape)?;
    let senders = peers.iter().flatten().count() as u64;
    let expected = arrivals.expected(shape.data_bytes).saturating_mul(senders);
    check_transfers(expected, LISTED_TRANSFERS_MAX)?;
    let streams = |rank: u32| {
        let index = (u64::from(job) << 32) | u64::from(rank);
        (seed.stream("workload.arrivals", index), seed.stream("workload.peers", index))
    };
    let messages = messages(shape, arrivals, &peers, streams);
    if messages.is_empty() {
        return Err(WorkloadError::NoMessages);
    }
    Ok(build(&messages))
}

/// Destination of the messages of each rank.
pub(crate) fn peers_of(algorithm: &Algorithm, shape: &Shape) -> Result<Vec<Option<Peer>>, WorkloadError> {
    algorithm.pattern.open_loop(shape).ok_or_else(|| WorkloadError::ClosedLoop {
        collective: algorithm.collective.to_owned(),
        open: open_loops(shape),
    })
}

/// The messages of all ranks, each with its release time, in the order of (release, rank).
fn messages(
    shape: &Shape,
    arrivals: Arrivals,
    peers: &[Option<Peer>],
    streams: impl Fn(u32) -> (Stream, Stream),
) -> Vec<(Span, Transfer)> {
    let bytes = shape.data_bytes;
    let mut messages = Vec::new();
    for (src, peer) in (0..).zip(peers) {
        let Some(peer) = peer else { continue };
        let (gaps, mut draws) = streams(src);
        messages.extend((0..).zip(arrivals.times(bytes, gaps)).map(|(step, release)| {
            let dst = peer.draw(Rank(src), shape.ranks, &mut draws);
            (release, Transfer { src: Rank(src), dst, bytes, step, channel: 0, block: src })
        }));
    }
    messages.sort_by_key(|(release, transfer)| (*release, transfer.src));
    messages
}

fn build(messages: &[(Span, Transfer)]) -> Schedule {
    let mut builder = ScheduleBuilder::with_capacity(messages.len() as u64, 0);
    for (_, transfer) in messages {
        builder.push(*transfer, &[]);
    }
    builder.finish_released(messages.iter().map(|(release, _)| *release).collect())
}

/// The collectives that have an open-loop form.
fn open_loops(shape: &Shape) -> String {
    let open = algorithms().iter().filter(|algorithm| algorithm.pattern.open_loop(shape).is_some());
    open.map(|algorithm| algorithm.collective).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Process;
    use proptest::prelude::*;

    fn shape(ranks: u32) -> Shape {
        Shape { ranks, data_bytes: 4096, root: Rank(1), stream: Seed(1).stream("workload.pattern", 0) }
    }

    fn arrivals(duration_us: u64) -> Arrivals {
        Arrivals {
            process: Process::Poisson,
            rate_bps: 100_000_000_000,
            duration: Span::from_us(duration_us),
        }
    }

    fn schedule(collective: &str, ranks: u32, duration_us: u64) -> Result<Schedule, WorkloadError> {
        open_loop_for(collective, "parallel", &shape(ranks), arrivals(duration_us), Seed(1), 0)
    }

    proptest! {
        #[test]
        fn messages_come_in_order_and_are_numbered_by_rank(ranks in 2..12_u32, seed: u64) {
            let schedule = open_loop_for("uniform-random", "parallel", &shape(ranks), arrivals(50), Seed(seed), 3).unwrap();
            let mut next = vec![0; ranks as usize];
            let mut last = Span::ZERO;
            for (index, transfer) in schedule.transfers().enumerate() {
                let release = schedule.releases()[index];
                prop_assert!(release >= last && transfer.src != transfer.dst && transfer.dst.0 < ranks);
                prop_assert_eq!(transfer.step, next[transfer.src.index()]);
                next[transfer.src.index()] += 1;
                last = release;
            }
        }
    }

    #[test]
    fn every_rank_but_the_root_sends_to_it() {
        let schedule = schedule("incast", 4, 50).unwrap();
        assert!(schedule.transfers().all(|transfer| transfer.dst == Rank(1)));
        let senders: std::collections::BTreeSet<u32> = schedule.transfers().map(|t| t.src.0).collect();
        assert_eq!(senders.into_iter().collect::<Vec<_>>(), [0, 2, 3]);
    }

    #[test]
    fn each_rank_of_each_job_draws_times_of_its_own() {
        let mut drawn = std::collections::BTreeSet::new();
        for job in 0..2 {
            let schedule =
                open_loop_for("incast", "parallel", &shape(4), arrivals(50), Seed(1), job).unwrap();
            let mut times = [const { Vec::new() }; 4];
            for (transfer, release) in schedule.transfers().zip(schedule.releases()) {
                times[transfer.src.index()].push(*release);
            }
            drawn.extend(times.into_iter().filter(|times| !times.is_empty()));
        }
        assert_eq!(drawn.len(), 2 * 3, "three senders in each of two jobs");
    }

    #[test]
    fn peers_are_drawn_uniformly() {
        let schedule = schedule("uniform-random", 5, 20_000).unwrap();
        let mut counts = [[0_u64; 5]; 5];
        for transfer in schedule.transfers() {
            counts[transfer.src.index()][transfer.dst.index()] += 1;
        }
        let mean = schedule.transfers().len() as u64 / 20;
        let pairs = counts.iter().flatten().filter(|&&count| count > 0);
        assert!(pairs.clone().count() == 20 && pairs.copied().all(|count| count.abs_diff(mean) * 20 < mean));
    }

    #[test]
    fn what_cannot_be_offered_is_refused() {
        let text = |result: Result<Schedule, WorkloadError>| result.unwrap_err().to_string();
        let closed = text(schedule("all-to-all", 4, 50));
        assert_eq!(
            closed,
            "all-to-all has no open-loop form; those that have: incast, permutation, uniform-random"
        );
        assert_eq!(text(schedule("incast", 4, 0)), "no message falls within the duration");
        let flood = text(schedule("incast", 4, 1 << 40));
        assert!(flood.ends_with("transfers; a schedule has at most 33554432"), "{flood}");
    }
}
