//! Immediate data tells the peer of work, once, in order, and when all of it is there.

use crate::lab::{Channel, Lab, config, settings};
use fabricbench_transport::{Completion, Origin, PostError, Recovery, Settings, Status, WorkId};
use proptest::prelude::*;
use units::{Instant, Seed, Span};

const GO_BACK_N: Recovery = Recovery::GoBackN;
const SELECTIVE: Recovery = Recovery::Selective { ooo_window_packets: 32 };
const END: Instant = Instant(2_000_000_000_000);

fn lab(recovery: Recovery, memory_bytes: usize, channel: Channel, change: impl Fn(&mut Settings)) -> Lab {
    let make = |end| {
        let mut made = settings(end, config(recovery), memory_bytes);
        change(&mut made);
        made
    };
    Lab::new(&[make(0), make(1)], channel, 7)
}

fn random_bytes(seed: u64, count: usize) -> Vec<u8> {
    let mut stream = Seed(seed).stream("bytes", 0);
    (0..count).map(|_| stream.next_u32() as u8).collect()
}

fn channel() -> impl Strategy<Value = Channel> {
    (0..200_u64, 0..200_u64, 0..40_u64).prop_map(|(lost, duplicated, jitter_us)| Channel {
        lost,
        duplicated,
        marked: 0,
        jitter: Span::from_us(jitter_us),
    })
}

/// Posts consecutive parts of `content`, those that are to be told with their number; returns where these end.
fn post(lab: &mut Lab, content: &[u8], sizes: &[(usize, bool)]) -> Vec<(u32, usize)> {
    let (mut offset, mut told) = (0, Vec::new());
    for (number, &(size, tells)) in (0..).zip(sizes) {
        let bytes = &content[offset..offset + size];
        if tells {
            lab.ends[0].write_and_tell(offset, bytes, number);
            told.push((number, offset + size));
        } else {
            lab.ends[0].write(offset, bytes);
        }
        offset += size;
    }
    told
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn what_is_told_is_there_with_all_before_it_and_is_told_once_in_order(
        is_selective: bool,
        channel in channel(),
        sizes in prop::collection::vec((0..5_000_usize, any::<bool>()), 1..12),
        early_receives in 0..12_usize,
        late_us in 0..1_000_u64,
        seed: u64,
    ) {
        let total = sizes.iter().map(|(size, _)| size).sum();
        let recovery = if is_selective { SELECTIVE } else { GO_BACK_N };
        let mut lab = lab(recovery, total, channel, |_| ());
        let content = random_bytes(seed, total);
        let told = post(&mut lab, &content, &sizes);
        // The rest of the receives are posted one by one, while packets are refused for want of them.
        for _ in 0..early_receives.min(told.len()) {
            lab.ends[1].receive(0);
        }
        for missing in early_receives..told.len() {
            lab.run(Instant::ZERO + Span::from_us(late_us * (missing as u64 + 1)));
            lab.ends[1].receive(0);
        }
        lab.run(END);
        prop_assert_eq!(&lab.ends[1].memory, &content);
        prop_assert!(lab.ends[0].completions.iter().all(|done| done.status == Status::Success));
        prop_assert_eq!(lab.ends[0].completions.len(), sizes.len());
        let found: Vec<u32> = lab.ends[1].told.iter().map(|(immediate, _)| *immediate).collect();
        prop_assert_eq!(found, told.iter().map(|(number, _)| *number).collect::<Vec<_>>());
        for ((_, memory), (_, end)) in lab.ends[1].told.iter().zip(&told) {
            prop_assert_eq!(&memory[..*end], &content[..*end]);
        }
        let receives: Vec<u64> = lab.ends[1].completions.iter().map(|done| done.work.0).collect();
        prop_assert_eq!(receives, (0..told.len() as u64).collect::<Vec<_>>());
        prop_assert_eq!(lab.ends[0].queue_pair.deadline(), Instant::NEVER);
    }
}

#[test]
fn only_the_last_message_tells_and_how_long_it_was() {
    // Messages of 2,000 bytes and packets of 256.
    for (recovery, bytes, of_message) in
        [(GO_BACK_N, 5_000, 1_000), (GO_BACK_N, 4_000, 2_000), (SELECTIVE, 5_000, 232), (SELECTIVE, 256, 256)]
    {
        let mut lab = lab(recovery, 5_000, Channel::default(), |_| ());
        let receive = lab.ends[1].receive(0);
        lab.ends[1].receive(0);
        lab.ends[0].write_and_tell(0, &vec![3; bytes], 0xfedc_ba98);
        lab.run(END);
        let told = Completion {
            work: receive,
            status: Status::Success,
            bytes: of_message,
            immediate: Some(0xfedc_ba98),
        };
        assert_eq!(lab.ends[1].completions, [told]);
        let done = lab.ends[0].completions[0];
        assert_eq!((done.status, done.bytes, done.immediate), (Status::Success, bytes as u64, None));
    }
}

#[test]
fn a_write_of_nothing_tells_without_memory() {
    for recovery in [GO_BACK_N, SELECTIVE] {
        let mut lab = lab(recovery, 0, Channel::default(), |settings| settings.memory = None);
        lab.ends[1].receive(0);
        lab.ends[0].write_and_tell(0, &[], 5);
        lab.run(END);
        assert_eq!(lab.ends[1].told, [(5, Vec::new())]);
        assert_eq!(lab.ends[0].statuses(), [(0, Status::Success)]);
    }
}

#[test]
fn a_send_tells_beside_what_it_brings() {
    let mut lab = lab(GO_BACK_N, 0, Channel::default(), |_| ());
    let [plain, telling] = [600, 700].map(|capacity| lab.ends[1].receive(capacity));
    lab.ends[0].send(&[1; 600]);
    lab.ends[0].send_and_tell(&[2; 700], 9);
    lab.run(END);
    let found: Vec<_> =
        lab.ends[1].completions.iter().map(|done| (done.work, done.bytes, done.immediate)).collect();
    assert_eq!(found, [(plain, 600, None), (telling, 700, Some(9))]);
    assert_eq!(lab.ends[1].receives[&telling], [2; 700]);
    let mut lab = self::lab(SELECTIVE, 0, Channel::default(), |_| ());
    assert_eq!(lab.ends[0].queue_pair.post_send_with_immediate(1, 1), Err(PostError::NeedsOrder));
}

#[test]
fn without_receive_it_waits_and_not_for_ever() {
    for recovery in [GO_BACK_N, SELECTIVE] {
        let mut lab = lab(recovery, 1_000, Channel::default(), |settings| {
            settings.rnr_timer = wire::aeth::RnrTimer::new(14).unwrap();
            settings.rnr_retry_count = 2;
        });
        lab.ends[0].write_and_tell(0, &[1; 1_000], 1);
        lab.run(Instant::ZERO + Span::from_us(1_000));
        assert_eq!(lab.ends[1].told.len(), 0);
        assert_eq!(lab.ends[1].queue_pair.counters().naks_sent, 1, "{recovery:?}");
        lab.ends[1].receive(0);
        lab.run(Instant::ZERO + Span::from_us(1_310));
        // 5 us there and 5 us back, 1.28 ms, and the same again: one packet alone was sent twice.
        assert_eq!(lab.ends[0].statuses(), [(0, Status::Success)], "{recovery:?}");
        assert_eq!(lab.ends[0].queue_pair.counters().retransmits, 1, "{recovery:?}");
        lab.ends[0].write_and_tell(0, &[2; 1_000], 2);
        lab.ends[0].write(0, &[3; 10]);
        lab.run(END);
        let failed = [(0, Status::Success), (1, Status::RnrRetryExceeded), (2, Status::Flushed)];
        assert_eq!(lab.ends[0].statuses(), failed, "{recovery:?}");
        assert_eq!(lab.ends[0].queue_pair.counters().timeouts, 0, "{recovery:?}");
    }
}

#[test]
fn one_that_comes_late_finds_the_receive_that_others_behind_it_left() {
    let mut lab = lab(SELECTIVE, 600, Channel::default(), |_| ());
    lab.ends[1].receive(0);
    lab.ends[0].write_and_tell(0, &[1; 200], 1);
    lab.ends[0].write_and_tell(200, &[2; 200], 2);
    lab.ends[0].write_and_tell(400, &[3; 200], 3);
    // The first is lost. One receive is there for the second, and stays for the first.
    let first = lab.ends[0].queue_pair.poll_transmit(lab.now).unwrap();
    let origin = first.source.unwrap().origin;
    assert!(matches!(origin, Origin::Work { work: WorkId(0), .. }), "{origin:?}");
    lab.run(Instant::ZERO + Span::from_us(15));
    assert_eq!(lab.ends[1].queue_pair.counters().naks_sent, 1, "the third found none left");
    lab.run(Instant::ZERO + Span::from_us(900));
    assert_eq!(lab.ends[1].told.len(), 1);
    lab.ends[1].receive(0);
    lab.ends[1].note_completions();
    assert_eq!(lab.ends[1].told.len(), 2, "the second waited for a receive alone");
    lab.ends[1].receive(0);
    lab.run(END);
    let told: Vec<u32> = lab.ends[1].told.iter().map(|(immediate, _)| *immediate).collect();
    assert_eq!(told, [1, 2, 3]);
    assert_eq!(lab.ends[0].statuses().len(), 3);
}
