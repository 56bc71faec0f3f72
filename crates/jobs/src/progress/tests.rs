//! Tests of the start and end of phases, and that a whole job at one place and the same job rank by rank start
//! the same transfers.

use super::plan::PlanList;
use super::*;
use units::{Rank, Seed, TransferId};
use workload::Shape;

fn list<T: Copy + Default + PartialEq>(items: [T; 2]) -> PlanList<T> {
    let mut list = PlanList::default();
    (0..).zip(items).for_each(|(place, item)| list.put(place, item));
    list
}

/// A rank of a ring: its second send waits for its first receive.
fn ring_rank(phases: Option<u32>) -> Progress {
    Progress::new(ProgressPlan {
        times: JobTimes { phases, ..JobTimes::default() },
        processes: 1,
        split: 2,
        outgoing: list([OutgoingPlan::default(); 2]),
        inbound: list([InboundPlan { successors: (0, 1), ..InboundPlan::default() }, InboundPlan::default()]),
        successors: vec![1],
        ..ProgressPlan::default()
    })
}

#[test]
fn a_list_of_a_plan_has_every_item_in_its_place() {
    let mut items = PlanList::default();
    [(3, 0), (1, 7), (0, 0), (2, 0)].into_iter().for_each(|(place, item)| items.put(place, item));
    assert_eq!((items.count(), items.iter().collect::<Vec<_>>()), (4, vec![0, 7, 0, 0]));
    assert!(items.any(|&item| item == 7));
}

fn deliver(progress: &mut Progress, inbound: u32, round: u32) -> Vec<u32> {
    let mut started = Vec::new();
    for _ in 0..2 {
        progress.deliver_part(inbound, round, &mut started);
    }
    started
}

fn acknowledge_all(progress: &mut Progress) {
    for outgoing in [0, 0, 1, 1] {
        assert_eq!(progress.acknowledge_part(outgoing), None);
    }
}

#[test]
fn a_round_ends_when_all_is_acknowledged_and_all_has_arrived() {
    let mut progress = ring_rank(Some(2));
    assert_eq!(deliver(&mut progress, 0, 0), [1]);
    acknowledge_all(&mut progress);
    assert_eq!(progress.next_phase(Instant::ZERO, &mut Vec::new()), None, "one transfer has not arrived");
    deliver(&mut progress, 1, 0);
    let mut started = Vec::new();
    assert_eq!(progress.next_phase(Instant::ZERO, &mut started), Some(0));
    assert_eq!((started, progress.pass_of(0)), (vec![0], 1));
}

#[test]
fn an_arrival_before_its_round_counts_when_the_round_starts() {
    let mut progress = ring_rank(None);
    assert!(deliver(&mut progress, 0, 1).is_empty());
    deliver(&mut progress, 0, 0);
    deliver(&mut progress, 1, 0);
    acknowledge_all(&mut progress);
    let mut started = Vec::new();
    assert_eq!(progress.next_phase(Instant::ZERO, &mut started), Some(0));
    assert_eq!(started, [0, 1]);
}

#[test]
fn after_the_last_round_none_begins() {
    let mut progress = ring_rank(Some(1));
    deliver(&mut progress, 0, 0);
    deliver(&mut progress, 1, 0);
    acknowledge_all(&mut progress);
    assert_eq!(progress.next_phase(Instant::ZERO, &mut Vec::new()), None);
}

/// The progress of each rank of a job, with the transfer of each of its outgoing transfers.
fn rank_by_rank(schedule: &Schedule, ranks: u32, split: u32) -> Vec<(Progress, Vec<u32>)> {
    let places: Vec<u32> = (0..ranks).collect();
    let indices = PlaceIndices::new(schedule, &places, true);
    let times = JobTimes { phases: Some(1), ..JobTimes::default() };
    let mut plans: Vec<_> =
        places.iter().map(|&place| (indices.plan(place, times, split), Vec::new())).collect();
    for (id, transfer) in (0..).map(TransferId).zip(schedule.transfers()) {
        let ends = indices.of(id).unwrap();
        let index_of = |id| indices.of(id).unwrap().outgoing;
        let (plan, transfers) = &mut plans[transfer.src.index()];
        indices.add_outgoing(plan, schedule, id, ends.outgoing, index_of);
        transfers.push(id.0);
        let (plan, _) = &mut plans[transfer.dst.index()];
        indices.add_inbound(plan, schedule, id, ends.inbound, index_of);
    }
    plans.into_iter().map(|(plan, transfers)| (Progress::new(plan), transfers)).collect()
}

#[test]
fn a_whole_job_and_its_ranks_start_the_same_transfers() {
    let (ranks, split) = (8, 2);
    for algorithm in workload::algorithms() {
        let stream = Seed(7).stream("pattern", 0);
        let shape = Shape { ranks, data_bytes: 1 << 16, root: Rank(0), stream };
        let schedule = workload::schedule_for(algorithm.collective, algorithm.name, &shape).unwrap();
        let schedule = Arc::new(schedule);
        if schedule.independent_bytes().is_some() {
            continue;
        }
        let times = JobTimes { phases: Some(1), ..JobTimes::default() };
        let mut whole = Progress::of_schedule(&schedule, ranks, split, times);
        let mut places = rank_by_rank(&schedule, ranks, split);
        let indices = PlaceIndices::new(&schedule, &(0..ranks).collect::<Vec<_>>(), true);
        let mut initial: Vec<u32> = places
            .iter()
            .flat_map(|(rank, transfers)| rank.initial().map(|index| transfers[index as usize]))
            .collect();
        initial.sort_unstable();
        assert_eq!(whole.initial().collect::<Vec<_>>(), initial);
        // Parts in flight: transfer, and whether it has arrived. Any of them may be next.
        let both_parts = |transfer: u32| [(transfer, false); 2];
        let mut in_flight: Vec<(u32, bool)> = initial.into_iter().flat_map(both_parts).collect();
        let mut random = Seed(7).stream("order", 0);
        let mut ended = 0;
        while !in_flight.is_empty() {
            let next = random.below(in_flight.len() as u64) as usize;
            let (id, has_arrived) = in_flight.swap_remove(next);
            let (transfer, ends) = (schedule.transfer(TransferId(id)), indices.of(TransferId(id)).unwrap());
            let (mut started, mut at_rank) = (Vec::new(), Vec::new());
            let (rank, transfers) = if has_arrived {
                started.extend(whole.acknowledge_part(id));
                let rank = &mut places[transfer.src.index()];
                at_rank.extend(rank.0.acknowledge_part(ends.outgoing));
                ended += 1;
                rank
            } else {
                whole.deliver_part(id, 0, &mut started);
                let rank = &mut places[transfer.dst.index()];
                rank.0.deliver_part(ends.inbound, 0, &mut at_rank);
                in_flight.push((id, true));
                rank
            };
            let at_rank: Vec<u32> = at_rank.into_iter().map(|index| transfers[index as usize]).collect();
            assert_eq!(started, at_rank, "{} {}", algorithm.collective, algorithm.name);
            while rank.next_phase(Instant::ZERO, &mut Vec::new()).is_some() {}
            while whole.next_phase(Instant::ZERO, &mut Vec::new()).is_some() {}
            in_flight.extend(started.into_iter().flat_map(both_parts));
        }
        assert_eq!(ended, schedule.transfers().len() * split as usize);
        assert!(whole.has_ended() && places.iter().all(|(rank, _)| rank.has_ended()));
    }
}

/// A rank that has nothing to do in the first of two phases starts the second at once.
#[test]
fn a_phase_without_work_ends_immediately() {
    let phase_ends = vec![PhaseEnd::default(), PhaseEnd { outgoing: 2, inbound: 2 }];
    let mut progress = Progress::new(ProgressPlan {
        times: JobTimes { phases: Some(2), start: Instant(5), ..JobTimes::default() },
        processes: 1,
        split: 1,
        outgoing: list([OutgoingPlan::default(); 2]),
        inbound: list([InboundPlan::default(); 2]),
        phase_ends,
        ..ProgressPlan::default()
    });
    assert!(progress.acts_at_start() && progress.initial().next().is_none());
    let mut started = Vec::new();
    assert_eq!(progress.next_phase(Instant(4), &mut started), None, "not before the start of the job");
    assert_eq!(progress.next_phase(Instant(5), &mut started), Some(0));
    assert_eq!(started, [0, 1]);
}
