//! Joins the rounds of a job into one schedule: rounds that differ, with or without barriers between them.
//!
//! A cycle of phases is stored as one list: the different rounds, each followed by a barrier in which ranks
//! wait for each other. A rank starts a phase after completing the previous one, and the first again after
//! the last.
//!
//! The barrier is the dissemination of Hensgen, Finkel and Manber ("Two algorithms for barrier
//! synchronization", 1988), as in MPICH and Open MPI: in step k each rank sends a message without payload to
//! the rank 2^k after it, once those of all earlier steps have arrived. Not modelled: barriers that first
//! gather the ranks of a host in memory.

use super::rendezvous::Predecessors;
use crate::{Message, RankTimes, Schedule, ScheduleBuilder, Transfer};
use units::{Rank, TransferId};

/// Number of transfers in a barrier of `ranks` ranks.
#[must_use]
pub fn barrier_transfers(ranks: u32) -> u64 {
    u64::from(ranks) * u64::from(barrier_steps(ranks))
}

/// ceil(log2 `ranks`)
const fn barrier_steps(ranks: u32) -> u32 {
    ranks.next_power_of_two().ilog2()
}

/// Concatenates `rounds` into one schedule, each followed by a barrier of `barrier` ranks, if given. There
/// must be at least one round, and all must be equal in [`Schedule::is_blocking`].
#[must_use]
pub fn in_phases(rounds: &[Schedule], barrier: Option<u32>) -> Schedule {
    let mut writer = Writer::default();
    for round in rounds {
        writer.append(round);
        if let Some(ranks) = barrier {
            writer.append_barrier(ranks);
        }
    }
    writer.finish(rounds[0].is_blocking())
}

/// Builder of a schedule with phases.
struct Writer {
    builder: ScheduleBuilder,
    messages: Vec<Message>,
    /// Times of the ranks around each transfer.
    times: Vec<RankTimes>,
    /// One past the last transfer of each phase.
    ends: Vec<u32>,
}

impl Default for Writer {
    fn default() -> Self {
        Self {
            builder: ScheduleBuilder::with_capacity(0, 0),
            messages: Vec::new(),
            times: Vec::new(),
            ends: Vec::new(),
        }
    }
}

impl Writer {
    fn append(&mut self, round: &Schedule) {
        let first = self.messages.len() as u32;
        let mut after = Vec::new();
        let numbered = (0..).map(TransferId).zip(round.transfers());
        for ((id, transfer), before) in numbered.zip(Predecessors::of(round).iter()) {
            after.clear();
            after.extend(before.iter().map(|id| TransferId(first + id.0)));
            self.builder.push(transfer, &after);
            self.messages.push(round.message(id));
            self.times.push(round.rank_times(id));
        }
        self.ends.push(self.messages.len() as u32);
    }

    fn append_barrier(&mut self, ranks: u32) {
        let mut arrived = vec![Vec::new(); ranks as usize];
        for step in 0..barrier_steps(ranks) {
            let sent: Vec<_> = (0..ranks)
                .map(|rank| {
                    let dst = Rank(((u64::from(rank) + (1 << step)) % u64::from(ranks)) as u32);
                    let transfer = Transfer { src: Rank(rank), dst, bytes: 0, step, channel: 0, block: 0 };
                    (dst, self.builder.push(transfer, &arrived[rank as usize]))
                })
                .collect();
            sent.into_iter().for_each(|(dst, id)| arrived[dst.index()].push(id));
        }
        self.messages.resize(self.messages.len() + barrier_transfers(ranks) as usize, Message::Barrier);
        self.times.resize(self.messages.len(), RankTimes::default());
        self.ends.push(self.messages.len() as u32);
    }

    fn finish(self, is_blocking: bool) -> Schedule {
        let schedule = if is_blocking { self.builder.finish_blocking() } else { self.builder.finish() };
        let has_times = self.times.iter().any(|&times| times != RankTimes::default());
        let times = if has_times { self.times } else { Vec::new() };
        schedule.of_messages(self.messages).of_rank_times(times).of_phases(self.ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Shape, schedule_for, with_rendezvous};
    use std::collections::HashSet;
    use units::{Seed, Span};

    fn gather(algorithm: &str, ranks: u32, root: u32) -> Schedule {
        let stream = Seed(1).stream("workload.pattern", 0);
        let shape = Shape { ranks, data_bytes: u64::from(ranks) * 100, root: Rank(root), stream };
        schedule_for("gather", algorithm, &shape).unwrap()
    }

    #[test]
    fn each_phase_is_the_schedule_that_it_was() {
        let rounds: Vec<_> = (0..3).map(|root| gather("tree", 6, root)).collect();
        let phased = in_phases(&rounds, Some(6));
        assert!(phased.is_blocking());
        assert_eq!(phased.phases().len(), 6);
        for (round, phase) in rounds.iter().zip(phased.phases().step_by(2)) {
            let transfers = phase.clone().map(|id| phased.transfer(TransferId(id)));
            assert!(round.transfers().eq(transfers));
            for (id, moved) in (0..).map(TransferId).zip(phase.clone().map(TransferId)) {
                assert_eq!(round.dependencies(id), phased.dependencies(moved));
                let successors = round.successors(id).map(|next| TransferId(next.0 + phase.start));
                assert!(successors.eq(phased.successors(moved)));
            }
        }
    }

    #[test]
    fn nobody_leaves_a_barrier_that_somebody_has_not_entered() {
        for ranks in 2..20 {
            let phased = in_phases(&[gather("parallel", ranks, 0)], Some(ranks));
            let barrier = phased.phases().nth(1).unwrap();
            assert_eq!(barrier.len() as u64, barrier_transfers(ranks));
            let mut blocks: Vec<HashSet<u32>> = (0..ranks).map(|rank| HashSet::from([rank])).collect();
            for step in 0..barrier_steps(ranks) {
                let before = blocks.clone();
                for id in barrier.clone().map(TransferId) {
                    let Transfer { src, dst, bytes, step: of, .. } = phased.transfer(id);
                    assert_eq!((phased.message(id), bytes), (Message::Barrier, 0));
                    assert_eq!(phased.dependencies(id), of);
                    if of == step {
                        blocks[dst.index()].extend(&before[src.index()]);
                    }
                }
            }
            assert!(blocks.iter().all(|blocks| blocks.len() == ranks as usize));
        }
    }

    #[test]
    fn ranks_need_their_times_in_each_round() {
        let round = gather("parallel", 4, 0);
        let times = |id: u32| RankTimes { before: Span(u64::from(id) + 1), ..RankTimes::default() };
        let timed = round.clone().of_rank_times((0..3).map(times).collect());
        let phased = in_phases(&[timed.clone(), timed], Some(4));
        for phase in phased.phases().step_by(2) {
            let start = phase.start;
            assert!(phase.clone().all(|id| phased.rank_times(TransferId(id)) == times(id - start)));
        }
        assert!(
            phased
                .phases()
                .nth(1)
                .unwrap()
                .all(|id| { phased.rank_times(TransferId(id)) == RankTimes::default() })
        );
        assert!(!in_phases(&[round], Some(4)).has_rank_times());
    }

    #[test]
    fn rounds_may_have_handshakes() {
        let round = with_rendezvous(&gather("parallel", 4, 1), 64, |_| true);
        let phased = in_phases(&[round.clone(), round.clone()], None);
        assert_eq!(phased.phases().collect::<Vec<_>>(), [0..9, 9..18]);
        let messages = |schedule: &Schedule| {
            (0..schedule.transfers().len())
                .map(|id| schedule.message(TransferId::from_index(id)))
                .collect::<Vec<_>>()
        };
        assert_eq!(messages(&phased), [messages(&round), messages(&round)].concat());
    }
}
