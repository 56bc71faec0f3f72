//! Max-min fair rates compared with a naive solver, and chunks on idle paths.

use crate::fluid::{Fluid, Share, WHOLE};
use crate::train::{Frames, Hop};
use proptest::collection::vec;
use proptest::prelude::*;
use units::{Rate, Span};
use wire::Framing;

const UNBOUND: u64 = 1 << 60;

fn shares(links: &[u32]) -> Box<[Share]> {
    links.iter().map(|&link| Share { link, weight: WHOLE }).collect()
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
        let mut fluid = Fluid::new(capacities.iter().copied());
        let bound = |links: &[u32]| links.iter().map(|&link| capacities[link as usize]).min().unwrap();
        let ids: Vec<u32> = flows.iter().map(|links| {
            let id = fluid.begin(shares(links), bound(links));
            _ = fluid.settle(|_, _, _| {});
            id
        }).collect();
        for (&id, _) in ids.iter().zip(&ended).filter(|each| *each.1) {
            fluid.end(id);
            _ = fluid.settle(|_, _, _| {});
        }
        let stays: Vec<usize> = (0..flows.len()).filter(|&flow| !ended[flow]).collect();
        let rest: Vec<Vec<u32>> = stays.iter().map(|&flow| flows[flow].clone()).collect();
        for (rate, &flow) in naive(&capacities, &rest).into_iter().zip(&stays) {
            prop_assert!(fluid.rate(ids[flow]).abs_diff(rate) <= 64);
        }
    }

    #[test]
    fn each_flow_is_fastest_on_a_full_link((capacities, flows) in networks()) {
        let mut fluid = Fluid::new(capacities.iter().copied());
        let ids: Vec<u32> = flows.iter().map(|links| fluid.begin(shares(links), UNBOUND)).collect();
        _ = fluid.settle(|_, _, _| {});
        let rates_on = |link: u32| {
            let on_it = flows.iter().zip(&ids).filter(move |(links, _)| links.contains(&link));
            on_it.map(|(_, &id)| fluid.rate(id)).collect::<Vec<_>>()
        };
        for (links, &id) in flows.iter().zip(&ids) {
            let has_bottleneck = links.iter().any(|&link| {
                let rates = rates_on(link);
                let is_full = rates.iter().sum::<u64>() + 64 >= capacities[link as usize];
                is_full && rates.iter().all(|&rate| rate <= fluid.rate(id) + 64)
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
    let mut fluid = Fluid::new([100, 100, 100].into_iter());
    let first = fluid.begin(shares(&[0]), 100);
    let other = fluid.begin(shares(&[1]), 100);
    fluid.settle(|_, _, _| panic!("no link is shared"));
    let second = fluid.begin(shares(&[0, 2]), 100);
    let mut changed = Vec::new();
    fluid.settle(|id, before, _| changed.push((id, before)));
    assert_eq!(changed.len(), 2);
    assert_eq!([first, other, second].map(|id| fluid.rate(id)), [50, 100, 50]);
}

#[test]
fn what_is_left_of_a_link_that_holds_none_back_changes_nothing() {
    let mut fluid = Fluid::new([90, 100].into_iter());
    let held: Vec<u32> = (0..3).map(|_| fluid.begin(shares(&[0, 1]), 100)).collect();
    let other = fluid.begin(shares(&[1]), 100);
    _ = fluid.settle(|_, _, _| {});
    assert_eq!((fluid.rate(held[0]), fluid.rate(other)), (25, 25));
    fluid.end(held[0]);
    assert!(fluid.is_dirty(), "the second link held all of them back");
    _ = fluid.settle(|_, _, _| {});
    fluid.end(held[1]);
    _ = fluid.settle(|_, _, _| {});
    assert_eq!((fluid.rate(held[2]), fluid.rate(other)), (50, 50));
    let narrow = fluid.begin(shares(&[0]), 30);
    _ = fluid.settle(|_, _, _| {});
    fluid.end(narrow);
    assert!(!fluid.is_dirty(), "only the second link holds any back");
}

fn frames() -> Frames {
    Frames::test(Framing::Ethernet, 4_096, 1 << 20)
}

#[test]
fn a_chunk_alone_takes_its_frames_and_its_longest_once_more_for_each_further_hop() {
    let hop = |latency| Hop { bps: 400_000_000_000, head: None, latency: Span(latency) };
    // Two messages of 256 frames; the first of each has an additional header.
    let [count, bytes, wire_bytes] = frames().of(2 << 20);
    assert_eq!((count, bytes), (512, 512 * (4_096 + 62) + 2 * 16));
    let longest = Rate::from_gbps(400).frame_span(4_096 + 62 + 16, 20);
    let all = Rate::from_gbps(400).span_of(wire_bytes);
    let path = [hop(1_000), hop(2_000), hop(3_000)];
    assert_eq!(frames().unloaded(&path, 2 << 20), Span(all.0 + 2 * longest.0 + 6_000));
}

#[test]
fn a_window_of_a_packet_costs_a_round_trip_for_each() {
    let hop = Hop { bps: 400_000_000_000, head: None, latency: Span(1_000_000) };
    let (path, back) = ([hop, hop], Span(2_500_000));
    let frame = Rate::from_gbps(400).frame_span(4_096 + 62, 20).0;
    let first = Rate::from_gbps(400).frame_span(4_096 + 78, 20).0;
    let round_trip = 2 * frame + 2_000_000 + 2_500_000;
    // Seven packets, the first with an additional header.
    let expected = 7 * round_trip + 2 * (first - frame) - 2_500_000;
    assert_eq!(frames().windowed(&path, back, 7 << 12, 1), Some(Span(expected)));
}

#[test]
fn a_window_that_never_closes_costs_nothing() {
    let hop = Hop { bps: 400_000_000_000, head: None, latency: Span(1_000) };
    assert_eq!(frames().windowed(&[hop, hop], Span(2_000), 1 << 20, 64), None);
}

#[test]
fn a_long_chunk_goes_on_at_the_rate_of_its_window() {
    let hop = Hop { bps: 400_000_000_000, head: None, latency: Span(10_000_000) };
    let [short, long] = [1_u64 << 15, 1 << 16]
        .map(|packets| frames().windowed(&[hop], Span(10_000_000), packets << 12, 8).unwrap().0);
    assert!(long.abs_diff(2 * short) < long / 1_000, "{short} {long}");
}

#[test]
fn a_message_without_payload_is_a_frame() {
    assert_eq!(frames().of(0), [1, 78, 98]);
}

mod senders {
    use crate::senders::Sender;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use units::{Instant, Rate, Span};

    const BPS: u64 = 400_000_000_000;
    const FRAME: u64 = 4_178;

    /// Slots of flows in the order in which they end, with their ends.
    fn ends(begins: &[(u64, u64)]) -> Vec<(u32, Instant)> {
        let (mut sender, mut ended, mut look) = (Sender::default(), Vec::new(), None);
        sender.set_rate(Instant::ZERO, BPS << 16);
        let mut begins = begins.iter().zip(0..).peekable();
        loop {
            let begin = begins.peek().map(|((at, _), _)| Instant(*at));
            let Some(now) = [begin, look].into_iter().flatten().min() else { return ended };
            while let Some(&(&(_, bytes), slot)) = begins.peek().filter(|((at, _), _)| Instant(*at) == now) {
                sender.begin(now, (slot, slot), bytes);
                begins.next();
            }
            while let Some(slot) = sender.take_ended(now, FRAME) {
                ended.push((slot, now));
            }
            look = sender.settle(now, FRAME);
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
        let (mut sender, mut now, mut ended) = (Sender::default(), Instant::ZERO, 0);
        sender.set_rate(now, BPS << 16);
        sender.begin(now, (0, 0), 100);
        while ended < 50 {
            now = sender.settle(now, FRAME).unwrap();
            while sender.take_ended(now, FRAME).is_some() {
                ended += 1;
                sender.begin(now, (ended, ended), 100);
            }
        }
        assert_eq!((now, sender.sharing()), (Instant(span(50 * 100)), 1));
    }

    #[test]
    fn what_goes_ahead_of_flows_delays_them() {
        let mut sender = Sender::default();
        sender.set_rate(Instant::ZERO, BPS << 16);
        sender.begin(Instant::ZERO, (0, 0), 10 * FRAME);
        assert!(sender.yields(Instant(1_000), Span(500)));
        let last_frame = sender.settle(Instant(1_000), FRAME);
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
    use crate::ends::Ends;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use units::Instant;

    proptest! {
        #[test]
        fn they_come_in_order_whatever_was_said_before(
            rounds in vec((vec((0_u32..40, 0_u64..1_000), 0..60), 0_u64..600), 1..12)
        ) {
            let (mut ends, mut expected) = (Ends::default(), BTreeMap::new());
            for (said, now) in rounds {
                for (slot, at) in said {
                    ends.set(slot, Instant(at));
                    expected.insert(slot, at);
                }
                ends.order();
                while let Some(slot) = ends.take(Instant(now)) {
                    let first = expected.iter().map(|(&slot, &at)| (at, slot)).min();
                    prop_assert_eq!(first.map(|first| first.1), Some(slot));
                    prop_assert!(expected.remove(&slot).is_some_and(|at| at <= now));
                }
                let next = expected.values().min().map(|&at| Instant(at));
                prop_assert_eq!(ends.next(), next);
            }
        }
    }
}

mod windows {
    use crate::windows::{Connection, Next};
    use units::{Instant, Span};

    const NOW: Instant = Instant(1_000);

    /// Transmission time of a packet.
    const fn time(_slot: u32) -> Span {
        Span(100)
    }

    const fn burst(slot: u32, packets: u64, is_last: bool) -> Next {
        Next::Burst { slot, packets, is_last, is_paced: false }
    }

    #[test]
    fn what_a_window_has_no_room_for_waits_for_acknowledgements() {
        let mut connection = Connection::default();
        connection.post(1, 3);
        connection.post(2, 3);
        assert_eq!(connection.next(NOW, 4, time), burst(1, 3, true));
        assert_eq!(connection.next(NOW, 4, time), Next::Nothing, "one after the other");
        connection.has_sent();
        assert_eq!(connection.next(NOW, 4, time), burst(2, 1, false));
        connection.moved(7);
        connection.has_sent();
        assert_eq!(connection.next(NOW, 4, time), Next::Closed(None), "the first is still on its way");
        connection.acknowledged(1, Instant(5_000));
        assert_eq!(
            connection.next(NOW, 4, time),
            Next::Closed(Some(Instant(4_800))),
            "the first packet of three"
        );
        assert_eq!(connection.next(NOW, 4, time), Next::Closed(None), "said once");
        assert_eq!(connection.next(Instant(4_800), 4, time), burst(2, 2, true));
        connection.has_sent();
        connection.acknowledged(7, Instant(6_000));
        connection.acknowledged(2, Instant(7_000));
        assert!(!connection.is_idle(Instant(6_999)));
        assert!(connection.is_idle(Instant(7_000)));
    }

    #[test]
    fn a_chunk_goes_as_soon_as_none_of_its_packets_has_to_wait() {
        let mut connection = Connection::default();
        let next = |connection: &mut Connection, now| connection.next(Instant(now), 4, time);
        connection.post(1, 4);
        connection.post(2, 4);
        assert_eq!(next(&mut connection, 1_000), burst(1, 4, true));
        connection.has_sent();
        assert_eq!(next(&mut connection, 1_400), Next::Closed(None), "the first is still on its way");
        connection.acknowledged(1, Instant(2_000));
        // Four packets are acknowledged 100 apart.
        assert_eq!(next(&mut connection, 1_400), Next::Closed(Some(Instant(1_700))));
        assert_eq!(next(&mut connection, 1_700), burst(2, 4, true));
    }

    #[test]
    fn what_follows_a_chunk_longer_than_the_window_is_paced() {
        let mut connection = Connection::default();
        connection.post(1, 9);
        connection.post(2, 2);
        assert_eq!(connection.next(NOW, 4, time), burst(1, 9, true));
        connection.has_sent();
        let paced = Next::Burst { slot: 2, packets: 2, is_last: true, is_paced: true };
        assert_eq!(connection.next(NOW, 4, time), paced);
    }
}

mod fair {
    use super::shares;
    use crate::events::Events;
    use crate::fair::Fair;
    use crate::work::{of_bytes, time_for};
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
        let (mut fair, mut events) = (Fair::new(vec![RATE; links].into_iter()), Events::default());
        for (slot, (links, bytes)) in (0..).zip(flows) {
            fair.begin(Instant::ZERO, slot, shares(links), bound, *bytes);
        }
        fair.settle(Instant::ZERO, &mut events);
        let mut ended = vec![0; flows.len()];
        while let Some(now) = events.next() {
            while events.take_at(now).is_some() {
                while let Some(slot) = fair.take_ended(now) {
                    ended[slot as usize] = now.0;
                }
            }
            fair.settle(now, &mut events);
        }
        ended
    }

    fn span(bytes: u64) -> u64 {
        time_for(of_bytes(bytes), RATE).0
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
