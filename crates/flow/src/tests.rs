//! Max-min fair rates against a naive solver, and chunks on idle paths.

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

/// The rates of flows, all computed at once, by raising them together until a link is full.
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
            fluid.settle(|_, _| {});
            id
        }).collect();
        for (&id, _) in ids.iter().zip(&ended).filter(|each| *each.1) {
            fluid.end(id);
            fluid.settle(|_, _| {});
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
        fluid.settle(|_, _| {});
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
    fluid.settle(|_, _| panic!("no link is shared"));
    let second = fluid.begin(shares(&[0, 2]), 100);
    let mut changed = Vec::new();
    fluid.settle(|id, before| changed.push((id, before)));
    assert_eq!(changed.len(), 2);
    assert_eq!([first, other, second].map(|id| fluid.rate(id)), [50, 100, 50]);
}

fn frames() -> Frames {
    Frames::test(Framing::Ethernet, 4_096, 1 << 20)
}

#[test]
fn a_chunk_alone_takes_its_frames_and_its_longest_once_more_for_each_further_hop() {
    let hop = |latency| Hop { bps: 400_000_000_000, head: None, latency: Span(latency) };
    // Two messages of 256 frames; the first of each has a header more.
    let [count, bytes, wire_bytes] = frames().of(2 << 20);
    assert_eq!((count, bytes), (512, 512 * (4_096 + 62) + 2 * 16));
    let longest = Rate::from_gbps(400).frame_span(4_096 + 62 + 16, 20);
    let all = Rate::from_gbps(400).span_of(wire_bytes);
    let path = [hop(1_000), hop(2_000), hop(3_000)];
    assert_eq!(frames().unloaded(&path, 2 << 20), Span(all.0 + 2 * longest.0 + 6_000));
}

#[test]
fn a_message_without_payload_is_a_frame() {
    assert_eq!(frames().of(0), [1, 78, 98]);
}

mod senders {
    use crate::senders::Sender;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use units::{Instant, Rate};

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
            // A frame that comes in the middle of a round may wait for its end.
            prop_assert!(last.abs_diff(all) <= span(FRAME * flows.len() as u64), "{} {}", last, all);
            for (slot, end) in ended {
                let (at, bytes) = flows[slot as usize];
                prop_assert!(end.0 + 1 >= at + span(bytes), "flow {} is faster than the port", slot);
            }
        }
    }
}
