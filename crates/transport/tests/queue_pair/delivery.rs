//! Every byte is delivered, in its place and once, whatever the channel does; work completes in order.

use crate::lab::{Channel, Lab, config, settings};
use fabricbench_transport::{PostError, Recovery, Status};
use proptest::prelude::*;
use units::{Instant, Seed, Span};

const GO_BACK_N: Recovery = Recovery::GoBackN;
const SELECTIVE: Recovery = Recovery::Selective { ooo_window_packets: 32 };
/// Long enough for the worst of channels, in which all but every fourth packet waits for the timer.
const END: Instant = Instant(2_000_000_000_000);

fn lab(recovery: Recovery, memory_bytes: usize, channel: Channel, seed: u64) -> Lab {
    let make = |end| settings(end, config(recovery), memory_bytes);
    Lab::new(&[make(0), make(1)], channel, seed)
}

fn random_bytes(seed: u64, index: u64, count: usize) -> Vec<u8> {
    let mut stream = Seed(seed).stream("bytes", index);
    (0..count).map(|_| stream.next_u32() as u8).collect()
}

fn channel() -> impl Strategy<Value = Channel> {
    (0..200_u64, 0..200_u64, 0..300_u64, 0..40_u64).prop_map(|(lost, duplicated, marked, jitter_us)| {
        Channel { lost, duplicated, marked, jitter: Span::from_us(jitter_us) }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn writes_both_ways_arrive_whole_and_complete_in_order(
        is_selective: bool,
        channel in channel(),
        sizes in prop::collection::vec(0..9_000_usize, 1..6),
        seed: u64,
    ) {
        let total = sizes.iter().sum();
        let mut lab = lab(if is_selective { SELECTIVE } else { GO_BACK_N }, total, channel, seed);
        let contents = [0, 1].map(|end| random_bytes(seed, end, total));
        for (end, content) in contents.iter().enumerate() {
            let mut offset = 0;
            for &size in &sizes {
                lab.ends[end].write(offset, &content[offset..offset + size]);
                offset += size;
            }
        }
        lab.run(END);
        for (end, content) in contents.iter().enumerate() {
            prop_assert_eq!(&lab.ends[1 - end].memory, content);
            let done = lab.ends[end].completions.iter();
            let done: Vec<_> = done.map(|done| (done.work.0, done.bytes)).collect();
            let expected: Vec<_> = (0..).zip(sizes.iter().map(|&size| size as u64)).collect();
            prop_assert_eq!(done, expected);
            prop_assert!(lab.ends[end].completions.iter().all(|done| done.status == Status::Success));
            prop_assert_eq!(lab.ends[end].queue_pair.deadline(), Instant::NEVER);
        }
    }

    #[test]
    fn sends_fill_receives_in_order_between_writes(
        channel in channel(),
        sizes in prop::collection::vec((0..2_000_usize, any::<bool>()), 1..12),
        late_us in 0..500_u64,
        seed: u64,
    ) {
        let total = sizes.iter().map(|(size, _)| size).sum();
        let mut lab = lab(GO_BACK_N, total, channel, seed);
        let content = random_bytes(seed, 0, total);
        let (mut offset, mut sent, mut written) = (0, Vec::new(), vec![0; total]);
        for &(size, is_send) in &sizes {
            let bytes = &content[offset..offset + size];
            if is_send {
                lab.ends[0].send(bytes);
                sent.push(bytes.to_vec());
            } else {
                lab.ends[0].write(offset, bytes);
                written[offset..offset + size].copy_from_slice(bytes);
            }
            offset += size;
        }
        // Receives are posted while packets are refused for want of them.
        lab.run(Instant::ZERO + Span::from_us(late_us));
        for _ in 0..sent.len() {
            lab.ends[1].receive(2_000);
        }
        lab.run(END);
        prop_assert_eq!(&lab.ends[1].memory, &written);
        prop_assert_eq!(lab.ends[0].completions.len(), sizes.len());
        prop_assert_eq!(lab.ends[1].completions.len(), sent.len());
        for (done, bytes) in lab.ends[1].completions.iter().zip(&sent) {
            prop_assert_eq!((done.status, done.bytes as usize), (Status::Success, bytes.len()));
            prop_assert_eq!(&lab.ends[1].receives[&done.work][..bytes.len()], bytes);
        }
    }
}

#[test]
fn a_clean_channel_needs_no_packet_twice() {
    for recovery in [GO_BACK_N, SELECTIVE] {
        let mut lab = lab(recovery, 100_000, Channel::default(), 1);
        let content = random_bytes(1, 0, 100_000);
        lab.ends[0].write(0, &content);
        lab.run(END);
        let [sender, receiver] = &lab.ends;
        assert_eq!(receiver.memory, content);
        let sent = *sender.queue_pair.counters();
        assert_eq!((sent.data_sent, sent.retransmits, sent.timeouts), (400, 0, 0));
        let received = *receiver.queue_pair.counters();
        assert_eq!((received.data_received, received.duplicates, received.naks_sent), (400, 0, 0));
    }
}

#[test]
fn work_that_cannot_be_is_not_taken() {
    let mut lab = lab(SELECTIVE, 0, Channel::default(), 1);
    let end = &mut lab.ends[0].queue_pair;
    assert_eq!(end.post_send(1), Err(PostError::NeedsOrder));
    assert_eq!(end.post_write(u64::MAX, 1), Err(PostError::Address { address: u64::MAX, bytes: 1 }));
    let max = u64::from(u32::MAX - 1) * 256;
    assert_eq!(end.post_write(0, u64::MAX), Err(PostError::TooLong { bytes: u64::MAX, max }));
    let mut lab = self::lab(GO_BACK_N, 0, Channel::default(), 1);
    let too_long = Err(PostError::TooLong { bytes: 2_001, max: 2_000 });
    assert_eq!(lab.ends[0].queue_pair.post_send(2_001), too_long);
    assert_eq!(lab.ends[0].queue_pair.post_send(2_000).unwrap().0, 0);
}
