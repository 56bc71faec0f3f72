//! Indices of the ranks and transfers of a job at its places (hosts of the simulator, ranks of an endpoint),
//! from which the [`ProgressPlan`] of each place is built.

use super::plan::{InboundPlan, InboundTimes, JobTimes, OutgoingPlan, OutgoingTimes, PhaseEnd, ProgressPlan};
use units::{Rank, TransferId};
use workload::{Message, Schedule};

/// Indices of a transfer at the places where it starts and ends.
#[derive(Clone, Copy, Debug, Default)]
pub struct EndIndices {
    /// Index among the transfers that start at its source.
    pub outgoing: u32,
    /// Index among the transfers that end at its destination.
    pub inbound: u32,
}

/// Indices of the ranks and transfers of a job at its places.
#[derive(Debug)]
pub struct PlaceIndices {
    /// Index of each rank among those of its place.
    processes: Vec<u32>,
    /// Number of ranks of each place.
    ranks: Vec<u32>,
    /// Indices of each transfer; empty if the caller has them.
    transfers: Vec<EndIndices>,
    /// By place: ends of the phases of a cycle; empty if there is one phase.
    phase_ends: Vec<Vec<PhaseEnd>>,
    /// See [`blocking_order`].
    next: Vec<u32>,
}

impl PlaceIndices {
    /// The indices of a job whose rank `r` is at place `places[r]`; places are numbered from 0, without gaps.
    /// With `are_listed`, transfers are numbered at each place in the order of the schedule; otherwise the
    /// caller numbers them.
    #[must_use]
    pub fn new(schedule: &Schedule, places: &[u32], are_listed: bool) -> Self {
        let mut ranks = vec![0; places.iter().max().map_or(0, |&last| last as usize + 1)];
        let process = |&place: &u32| {
            ranks[place as usize] += 1;
            ranks[place as usize] - 1
        };
        let processes = places.iter().map(process).collect();
        let place_of = |rank: Rank| places[rank.index()] as usize;
        let mut counts = vec![PhaseEnd::default(); ranks.len()];
        let (mut transfers, mut phase_ends) = (Vec::new(), Vec::new());
        let is_phased = schedule.phases().len() > 1;
        if is_phased {
            phase_ends = vec![Vec::with_capacity(schedule.phases().len()); ranks.len()];
        }
        if is_phased || are_listed {
            for phase in schedule.phases() {
                schedule.each_transfer(phase, |transfer| {
                    let (src, dst) = (place_of(transfer.src), place_of(transfer.dst));
                    if are_listed {
                        let ends =
                            EndIndices { outgoing: counts[src].outgoing, inbound: counts[dst].inbound };
                        transfers.push(ends);
                    }
                    counts[src].outgoing += 1;
                    counts[dst].inbound += 1;
                });
                phase_ends.iter_mut().zip(&counts).for_each(|(ends, &count)| ends.push(count));
            }
        }
        Self { processes, ranks, transfers, phase_ends, next: blocking_order(schedule, places.len()) }
    }

    /// The plan of a place, still without transfers; each has `split` parts.
    #[must_use]
    pub fn plan(&self, place: u32, times: JobTimes, split: u32) -> ProgressPlan {
        let place = place as usize;
        let phase_ends = self.phase_ends.get(place).cloned().unwrap_or_default();
        ProgressPlan { times, processes: self.ranks[place], split, phase_ends, ..ProgressPlan::default() }
    }

    /// Indices of a transfer, if they are listed.
    #[inline]
    #[must_use]
    pub fn of(&self, transfer: TransferId) -> Option<EndIndices> {
        self.transfers.get(transfer.index()).copied()
    }

    /// Index of a rank among those of its place, which `plan` is of.
    #[inline]
    fn process(&self, plan: &ProgressPlan, rank: impl FnOnce() -> Rank) -> u32 {
        if plan.processes == 1 { 0 } else { self.processes[rank().index()] }
    }

    /// Adds a transfer to the plan of its source, with this index there; `index_of` returns the index of
    /// another transfer that starts there.
    #[inline]
    pub fn add_outgoing(
        &self,
        plan: &mut ProgressPlan,
        schedule: &Schedule,
        transfer: TransferId,
        index: u32,
        index_of: impl Fn(TransferId) -> u32,
    ) {
        let process = self.process(plan, || schedule.transfer(transfer).src);
        let next = self.next.get(transfer.index()).and_then(|&next| next.checked_sub(1));
        let next = next.map(|next| index_of(TransferId(next)));
        let times = match schedule.has_rank_times() && !plan.times.is_real_host {
            true => OutgoingTimes::of(schedule.rank_times(transfer), schedule.message(transfer)),
            false => OutgoingTimes::default(),
        };
        plan.outgoing.put(index, OutgoingPlan { process, next, times });
        if let Some(&release) = schedule.releases().get(transfer.index()) {
            plan.put_release(index, release);
        }
    }

    /// Adds a transfer to the plan of its destination, with this index there; `index_of` returns the index of
    /// a transfer that starts there.
    #[inline]
    pub fn add_inbound(
        &self,
        plan: &mut ProgressPlan,
        schedule: &Schedule,
        transfer: TransferId,
        index: u32,
        index_of: impl Fn(TransferId) -> u32,
    ) {
        let process = self.process(plan, || schedule.transfer(transfer).dst);
        let waiting = schedule.successors(transfer);
        let successors = match waiting.len() {
            0 => (0, 0),
            count => (plan.successors.len() as u32, count as u32),
        };
        plan.successors.extend(waiting.map(index_of));
        let times = match schedule.has_rank_times() && !plan.times.is_real_host {
            true => InboundTimes::of(schedule.rank_times(transfer), schedule.message(transfer)),
            false => InboundTimes::default(),
        };
        plan.inbound.put(index, InboundPlan { process, successors, times });
    }
}

/// By transfer: 1 + the transfer that waits for its acknowledgement, 0 if none; empty if ranks do not send
/// one message after the other (see [`Schedule::is_blocking`]). With a handshake the announcement (RTS) waits
/// for the previous payload, and the next transfer for this payload. A clearance (CTS) answers a message of
/// another rank and waits for none.
pub(super) fn blocking_order(schedule: &Schedule, ranks: usize) -> Vec<u32> {
    if !schedule.is_blocking() {
        return Vec::new();
    }
    let mut next = vec![0; schedule.transfers().len()];
    let mut last: Vec<Option<TransferId>> = vec![None; ranks];
    let mut phase = 0;
    for (id, transfer) in (0..).map(TransferId).zip(schedule.transfers()) {
        if schedule.phase_of(id) != phase {
            phase = schedule.phase_of(id);
            last.fill(None);
        }
        let last = &mut last[transfer.src.index()];
        let before = match schedule.message(id) {
            Message::Payload => last.replace(id),
            Message::Rts => last.take(),
            Message::Cts | Message::Barrier => None,
        };
        if let Some(before) = before {
            next[before.index()] = id.0 + 1;
        }
    }
    next
}
