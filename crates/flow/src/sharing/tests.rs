//! Max-min fair rates compared with a naive solver, ports of senders, the completion heap, and fair flows.

use super::max_min::{LinkWeight, MaxMinRates, WHOLE};
use proptest::collection::vec;
use proptest::prelude::*;

const UNBOUND: u64 = 1 << 60;

fn links_of(links: &[u32]) -> Box<[LinkWeight]> {
    links.iter().map(|&link| LinkWeight { link, weight: WHOLE }).collect()
}

/// Rates of flows, all computed at once, by raising them together until a link is full.
fn naive(capacities: &[u64], flows: &[Vec<u32>]) -> Vec<u64> {
    let (mut left, mut rates) = (capacities.to_vec(), vec![None; flows.len()]);
    loop {
        let open = |link: usize, rates: &[Option<u64>]| {
            let on_it = |flow: &usize| rates[*flow].is_none() && flows[*flow].contains(&(link as u32));
            (0..flows.len()).filter(on_it).collect::<Vec<_>>()
        };
        let each = (0..left.len()).filter_map(|link| {
            let count = open(link, &rates).len() as u64;
            (count > 0).then(|| (left[link] / count, link))
        });
        let Some((share, link)) = each.min() else { break };
        for flow in open(link, &rates) {
            rates[flow] = Some(share);
            flows[flow].iter().for_each(|&link| left[link as usize] -= share);
        }
    }
    rates.into_iter().map(|rate| rate.expect("each flow has a link")).collect()
}

fn networks() -> impl Strategy<Value = (Vec<u64>, Vec<Vec<u32>>)> {
    vec(1_000_000_u64..1 << 50, 1..8).prop_flat_map(|capacities| {
        let link = 0..capacities.len() as u32;
        let flow = proptest::collection::btree_set(link, 1..4).prop_map(|set| set.into_iter().collect());
        (Just(capacities), vec(flow, 1..24))
    })
}

proptest! {
    #[test]
    fn rates_are_those_of_a_naive_solver_whatever_came_and_went(
        (capacities, flows) in networks(), ended in vec(any::<bool>(), 24)
    ) {
        let mut max_min = MaxMinRates::new(capacities.iter().copied());
        let bound = |links: &[u32]| links.iter().map(|&link| capacities[link as usize]).min().unwrap();
        let ids: Vec<u32> = flows.iter().map(|links| {
            let id = max_min.add(links_of(links), bound(links));
            _ = max_min.recompute(|_, _, _| {});
            id
        }).collect();
        for (&id, _) in ids.iter().zip(&ended).filter(|each| *each.1) {
            max_min.remove(id);
            _ = max_min.recompute(|_, _, _| {});
        }
        let stays: Vec<usize> = (0..flows.len()).filter(|&flow| !ended[flow]).collect();
        let rest: Vec<Vec<u32>> = stays.iter().map(|&flow| flows[flow].clone()).collect();
        for (rate, &flow) in naive(&capacities, &rest).into_iter().zip(&stays) {
            prop_assert!(max_min.rate(ids[flow]).abs_diff(rate) <= 64);
        }
    }

    #[test]
    fn each_flow_is_fastest_on_a_full_link((capacities, flows) in networks()) {
        let mut max_min = MaxMinRates::new(capacities.iter().copied());
        let ids: Vec<u32> = flows.iter().map(|links| max_min.add(links_of(links), UNBOUND)).collect();
        _ = max_min.recompute(|_, _, _| {});
        let rates_on = |link: u32| {
            let on_it = flows.iter().zip(&ids).filter(move |(links, _)| links.contains(&link));
            on_it.map(|(_, &id)| max_min.rate(id)).collect::<Vec<_>>()
        };
        for (links, &id) in flows.iter().zip(&ids) {
            let has_bottleneck = links.iter().any(|&link| {
                let rates = rates_on(link);
                let is_full = rates.iter().sum::<u64>() + 64 >= capacities[link as usize];
                is_full && rates.iter().all(|&rate| rate <= max_min.rate(id) + 64)
            });
            prop_assert!(has_bottleneck, "flow {} has no bottleneck", id);
        }
        for link in 0..capacities.len() as u32 {
            prop_assert!(rates_on(link).iter().sum::<u64>() <= capacities[link as usize]);
        }
    }
}

#[test]
fn a_change_reaches_only_what_shares_full_links() {
    let mut max_min = MaxMinRates::new([100, 100, 100].into_iter());
    let first = max_min.add(links_of(&[0]), 100);
    let other = max_min.add(links_of(&[1]), 100);
    max_min.recompute(|_, _, _| panic!("no link is shared"));
    let second = max_min.add(links_of(&[0, 2]), 100);
    let mut changed = Vec::new();
    max_min.recompute(|id, before, _| changed.push((id, before)));
    assert_eq!(changed.len(), 2);
    assert_eq!([first, other, second].map(|id| max_min.rate(id)), [50, 100, 50]);
}

#[test]
fn what_is_left_of_a_link_that_holds_none_back_changes_nothing() {
    let mut max_min = MaxMinRates::new([90, 100].into_iter());
    let held: Vec<u32> = (0..3).map(|_| max_min.add(links_of(&[0, 1]), 100)).collect();
    let other = max_min.add(links_of(&[1]), 100);
    _ = max_min.recompute(|_, _, _| {});
    assert_eq!((max_min.rate(held[0]), max_min.rate(other)), (25, 25));
    max_min.remove(held[0]);
    assert!(max_min.is_dirty(), "the second link held all of them back");
    _ = max_min.recompute(|_, _, _| {});
    max_min.remove(held[1]);
    _ = max_min.recompute(|_, _, _| {});
    assert_eq!((max_min.rate(held[2]), max_min.rate(other)), (50, 50));
    let narrow = max_min.add(links_of(&[0]), 30);
    _ = max_min.recompute(|_, _, _| {});
    max_min.remove(narrow);
    assert!(!max_min.is_dirty(), "only the second link holds any back");
}

mod senders {
    use super::super::sender_port::{NewFlow, SenderPort};
    use proptest::collection::vec;
    use proptest::prelude::*;
    use units::{Instant, Rate, Span};

    const BPS: u64 = 400_000_000_000;
    const FRAME: u64 = 4_178;

    const fn flow(slot: u32, wire_bytes: u64) -> NewFlow {
        NewFlow { chunk: slot, slot, wire_bytes }
    }

    /// Slots of flows in the order in which they end, with their ends.
    fn ends(begins: &[(u64, u64)]) -> Vec<(u32, Instant)> {
        let (mut sender, mut ended, mut look) = (SenderPort::default(), Vec::new(), None);
        sender.set_rate(Instant::ZERO, BPS << 16);
        let mut begins = begins.iter().zip(0..).peekable();
        loop {
            let begin = begins.peek().map(|((at, _), _)| Instant(*at));
            let Some(now) = [begin, look].into_iter().flatten().min() else { return ended };
            while let Some(&(&(_, bytes), slot)) = begins.peek().filter(|((at, _), _)| Instant(*at) == now) {
                sender.begin(now, flow(slot, bytes));
                begins.next();
            }
            while let Some(slot) = sender.pop_ended(now, FRAME) {
                ended.push((slot, now));
            }
            look = sender.recompute(now, FRAME);
        }
    }

    fn span(bytes: u64) -> u64 {
        Rate::from_bps(BPS).span_of(bytes).0
    }

    #[test]
    fn flows_that_end_together_do_so_a_frame_after_the_other() {
        let all = ends(&[(0, 10 * FRAME); 4]);
        let expected = (0..4).map(|slot| (slot, Instant(span((37 + u64::from(slot)) * FRAME))));
        assert_eq!(all, expected.collect::<Vec<_>>());
    }

    #[test]
    fn one_that_comes_during_the_last_frame_of_another_waits_for_it() {
        let begin = span(10 * FRAME) - 1_000;
        let [first, second] = ends(&[(0, 10 * FRAME), (begin, 10 * FRAME)]).try_into().unwrap();
        assert_eq!(first, (0, Instant(span(10 * FRAME))));
        assert_eq!(second, (1, Instant(span(20 * FRAME))));
    }

    #[test]
    fn short_ones_that_follow_each_other_at_once_take_their_bytes() {
        let (mut sender, mut now, mut ended) = (SenderPort::default(), Instant::ZERO, 0);
        sender.set_rate(now, BPS << 16);
        sender.begin(now, flow(0, 100));
        while ended < 50 {
            now = sender.recompute(now, FRAME).unwrap();
            while sender.pop_ended(now, FRAME).is_some() {
                ended += 1;
                sender.begin(now, flow(ended, 100));
            }
        }
        assert_eq!((now, sender.flow_count()), (Instant(span(50 * 100)), 1));
    }

    #[test]
    fn what_goes_ahead_of_flows_delays_them() {
        let mut sender = SenderPort::default();
        sender.set_rate(Instant::ZERO, BPS << 16);
        sender.begin(Instant::ZERO, flow(0, 10 * FRAME));
        assert!(sender.delay(Instant(1_000), Span(500)));
        let last_frame = sender.recompute(Instant(1_000), FRAME);
        assert_eq!(last_frame, Some(Instant(500 + span(9 * FRAME))));
    }

    #[test]
    fn one_alone_takes_its_bytes() {
        assert_eq!(ends(&[(7, 123_457)]), [(0, Instant(7 + span(123_457)))]);
    }

    proptest! {
        #[test]
        fn a_port_that_is_never_idle_ends_with_all_its_bytes(
            flows in vec((0_u64..50_000, 1_u64..400_000), 1..20)
        ) {
            let mut flows: Vec<(u64, u64)> = flows;
            flows[0] = (0, 4_000_000);
            flows.sort_unstable();
            let ended = ends(&flows);
            prop_assert_eq!(ended.len(), flows.len());
            let all = span(flows.iter().map(|flow| flow.1).sum());
            let last = ended.last().unwrap().1.0;
            // A frame that arrives in the middle of a round may wait for its end.
            prop_assert!(last.abs_diff(all) <= span(FRAME * flows.len() as u64), "{} {}", last, all);
            for (slot, end) in ended {
                let (at, bytes) = flows[slot as usize];
                prop_assert!(end.0 + 1 >= at + span(bytes), "flow {} is faster than the port", slot);
            }
        }
    }
}

mod ends {
    use super::super::completion_heap::CompletionHeap;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use units::Instant;

    proptest! {
        #[test]
        fn they_come_in_order_whatever_was_said_before(
            rounds in vec((vec((0_u32..40, 0_u64..1_000), 0..60), 0_u64..600), 1..12)
        ) {
            let (mut ends, mut expected) = (CompletionHeap::default(), BTreeMap::new());
            for (changes, now) in rounds {
                for (slot, at) in changes {
                    ends.set(slot, Instant(at));
                    expected.insert(slot, at);
                }
                ends.apply_changes();
                while let Some(slot) = ends.pop_until(Instant(now)) {
                    let first = expected.iter().map(|(&slot, &at)| (at, slot)).min();
                    prop_assert_eq!(first.map(|first| first.1), Some(slot));
                    prop_assert!(expected.remove(&slot).is_some_and(|at| at <= now));
                }
                let next = expected.values().min().map(|&at| Instant(at));
                prop_assert_eq!(ends.first(), next);
            }
        }
    }
}

mod fair {
    use super::super::fair_flows::FairFlows;
    use super::links_of;
    use crate::rates::{time_for, work_of_bytes};
    use crate::run::events::Events;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use units::Instant;

    const RATE: u64 = 400_000_000_000 << 16;

    /// End times of flows of these bytes that start together on a link.
    fn ends(bytes: &[u64], bound: u64) -> Vec<u64> {
        let flows: Vec<(Vec<u32>, u64)> = bytes.iter().map(|&bytes| (vec![0], bytes)).collect();
        ends_on(1, &flows, bound)
    }

    /// The same on several links; 0 for flows that never end.
    fn ends_on(links: usize, flows: &[(Vec<u32>, u64)], bound: u64) -> Vec<u64> {
        let (mut fair, mut events) = (FairFlows::new(vec![RATE; links].into_iter()), Events::default());
        for (slot, (links, bytes)) in (0..).zip(flows) {
            fair.begin(Instant::ZERO, slot, links_of(links), bound, *bytes);
        }
        fair.recompute(Instant::ZERO, &mut events);
        let mut ended = vec![0; flows.len()];
        while let Some(now) = events.next_at() {
            while events.pop_at(now).is_some() {
                while let Some(slot) = fair.pop_ended(now) {
                    ended[slot as usize] = now.0;
                }
            }
            fair.recompute(now, &mut events);
        }
        ended
    }

    fn span(bytes: u64) -> u64 {
        time_for(work_of_bytes(bytes), RATE).0
    }

    #[test]
    fn so_many_equal_flows_on_a_link_take_so_many_times_as_long() {
        for count in [1, 2, 3, 7, 100] {
            for end in ends(&vec![1 << 20; count], RATE) {
                assert!(end.abs_diff(span((count as u64) << 20)) <= count as u64);
            }
        }
    }

    #[test]
    fn a_bound_is_kept() {
        assert!(ends(&[1 << 20; 3], RATE / 8).iter().all(|end| end.abs_diff(8 * span(1 << 20)) <= 8));
    }

    proptest! {
        #[test]
        fn a_link_is_never_idle_while_flows_are_left(bytes in vec(1_u64..1 << 24, 1..60)) {
            let ended = ends(&bytes, RATE);
            let all = span(bytes.iter().sum());
            let last = ended.iter().copied().max().unwrap_or(0);
            prop_assert!(last.abs_diff(all) <= 64 * bytes.len() as u64, "{} {}", last, all);
            for (&bytes, end) in bytes.iter().zip(ended) {
                prop_assert!(end + 1 >= span(bytes), "faster than the link");
            }
        }
    }

    #[test]
    fn each_of_very_many_flows_on_many_links_ends() {
        let place = |flow: u32| vec![flow * 7_919 % 64, 64 + flow * 104_729 % 64];
        let sizes = [370_000, 1_000_000, 2_100_000];
        let flows: Vec<_> = (0..20_000).map(|flow| (place(flow), sizes[flow as usize % 3])).collect();
        let ended = ends_on(128, &flows, RATE);
        assert!(ended.iter().zip(&flows).all(|(&end, flow)| end >= span(flow.1)));
    }

    #[test]
    fn very_many_flows_waste_little() {
        let bytes: Vec<u64> = (0..20_000_u64).map(|flow| 10_000 + flow * 7_919 % 90_001).collect();
        let ended = ends(&bytes, RATE);
        let (all, last) = (span(bytes.iter().sum()), ended.iter().copied().max().unwrap());
        // Up to one part in 128 of the total rate may be unused, half of that on average.
        assert!(last + 1_000 >= all && last < all + all / 200, "{last} {all}");
    }
}
