//! Tests of the start and end of phases.

use super::plan::PlanList;
use super::*;

fn list<T: Copy + Default + PartialEq>(items: [T; 2]) -> PlanList<T> {
    let mut list = PlanList::default();
    (0..).zip(items).for_each(|(place, item)| list.put(place, item));
    list
}

/// A rank of a ring: its second send waits for its first receive.
fn ring_rank(phases: Option<u32>) -> Transfers {
    Transfers::new(TransfersPlan {
        times: JobTimes { phases, ..JobTimes::default() },
        processes: 1,
        split: 2,
        outgoing: list([OutgoingPlan::default(); 2]),
        inbound: list([InboundPlan { process: 0, successors: (0, 1) }, InboundPlan::default()]),
        successors: vec![1],
        ..TransfersPlan::default()
    })
}

#[test]
fn a_list_of_a_plan_has_every_item_in_its_place() {
    let mut items = PlanList::default();
    [(3, 0), (1, 7), (0, 0), (2, 0)].into_iter().for_each(|(place, item)| items.put(place, item));
    assert_eq!((items.count(), items.iter().collect::<Vec<_>>()), (4, vec![0, 7, 0, 0]));
    assert!(items.any(|&item| item == 7));
}

fn deliver(transfers: &mut Transfers, inbound: u32, round: u32) -> Vec<u32> {
    let mut started = Vec::new();
    for _ in 0..2 {
        transfers.deliver_part(inbound, round, &mut started);
    }
    started
}

fn acknowledge_all(transfers: &mut Transfers) {
    for outgoing in [0, 0, 1, 1] {
        assert_eq!(transfers.acknowledge_part(outgoing), None);
    }
}

#[test]
fn a_round_ends_when_all_is_acknowledged_and_all_has_arrived() {
    let mut transfers = ring_rank(Some(2));
    assert_eq!(deliver(&mut transfers, 0, 0), [1]);
    acknowledge_all(&mut transfers);
    assert_eq!(transfers.next_phase(Instant::ZERO, &mut Vec::new()), None, "one transfer has not arrived");
    deliver(&mut transfers, 1, 0);
    let mut started = Vec::new();
    assert_eq!(transfers.next_phase(Instant::ZERO, &mut started), Some(0));
    assert_eq!((started, transfers.pass_of(0)), (vec![0], 1));
}

#[test]
fn an_arrival_before_its_round_counts_when_the_round_starts() {
    let mut transfers = ring_rank(None);
    assert!(deliver(&mut transfers, 0, 1).is_empty());
    deliver(&mut transfers, 0, 0);
    deliver(&mut transfers, 1, 0);
    acknowledge_all(&mut transfers);
    let mut started = Vec::new();
    assert_eq!(transfers.next_phase(Instant::ZERO, &mut started), Some(0));
    assert_eq!(started, [0, 1]);
}

#[test]
fn after_the_last_round_none_begins() {
    let mut transfers = ring_rank(Some(1));
    deliver(&mut transfers, 0, 0);
    deliver(&mut transfers, 1, 0);
    acknowledge_all(&mut transfers);
    assert_eq!(transfers.next_phase(Instant::ZERO, &mut Vec::new()), None);
}
