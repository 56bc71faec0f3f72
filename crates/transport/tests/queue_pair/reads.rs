//! READs between WRITEs and SENDs: every byte is read, in its place and once, whatever the channel does.

use crate::lab::{ADDRESS, Channel, Lab, MTU, config, settings};
use fabricbench_transport::{Config, PostError, QueuePair, Reads, Recovery, Settings, SettingsError, Status};
use proptest::prelude::*;
use units::{Instant, Seed, Span};

const END: Instant = Instant(2_000_000_000_000);
const MEMORY: usize = 9_000;
const SELECTIVE: Recovery = Recovery::Selective { ooo_window_packets: 32 };

fn with_reads(end: usize, requested_max: u32, served_max: u32) -> Settings {
    let reads = Reads { requested_max, served_max };
    Settings { reads, ..settings(end, config(Recovery::GoBackN), 2 * MEMORY) }
}

fn lab(reads: Reads, channel: Channel, seed: u64) -> Lab {
    let Reads { requested_max, served_max } = reads;
    Lab::new(&[0, 1].map(|end| with_reads(end, requested_max, served_max)), channel, seed)
}

fn random_bytes(seed: u64, index: u64, count: usize) -> Vec<u8> {
    let mut stream = Seed(seed).stream("bytes", index);
    (0..count).map(|_| stream.next_u32() as u8).collect()
}

fn channel() -> impl Strategy<Value = Channel> {
    let spoilt = (0..200_u64, 0..200_u64, 0..300_u64, 0..40_u64);
    let any = spoilt.prop_map(|(lost, duplicated, marked, jitter_us)| Channel {
        lost,
        duplicated,
        marked,
        jitter: Span::from_us(jitter_us),
    });
    prop_oneof![Just(Channel::default()), any]
}

/// A work request: what it does and how many bytes from where on.
#[derive(Clone, Copy, Debug)]
enum Work {
    /// Of the half of the memory that nobody writes to.
    Read(usize, usize),
    /// To the other half.
    Write(usize, usize),
    Send(usize),
}

fn work() -> impl Strategy<Value = Work> {
    let place = (0..MEMORY).prop_flat_map(|from| (Just(from), 0..=MEMORY - from));
    prop_oneof![
        place.clone().prop_map(|(from, bytes)| Work::Read(from, bytes)),
        place.prop_map(|(from, bytes)| Work::Write(from, bytes)),
        (0..2_000_usize).prop_map(Work::Send),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(192) })]
    #[test]
    fn reads_between_writes_and_sends_both_ways_bring_every_byte(
        channel in channel(),
        works in prop::collection::vec(work(), 1..14),
        limit in 1_u32..5,
        seed: u64,
    ) {
        let mut lab = lab(Reads { requested_max: limit, served_max: limit }, channel, seed);
        let readable = [0, 1].map(|end| random_bytes(seed, end, MEMORY));
        let content = random_bytes(seed, 2, MEMORY);
        let mut written = vec![0; MEMORY];
        for end in [0, 1] {
            lab.ends[end].memory[..MEMORY].copy_from_slice(&readable[end]);
        }
        let mut reads = Vec::new();
        for &work in &works {
            for end in [0, 1] {
                match work {
                    Work::Read(from, bytes) => reads.push((end, lab.ends[end].read(from, bytes), from, bytes)),
                    Work::Write(from, bytes) => {
                        lab.ends[end].write(MEMORY + from, &content[..bytes]);
                        written[from..from + bytes].copy_from_slice(&content[..bytes]);
                    }
                    Work::Send(bytes) => {
                        lab.ends[1 - end].receive(2_000);
                        lab.ends[end].send(&content[..bytes]);
                    }
                }
            }
        }
        lab.run(END);
        for (end, work, from, bytes) in reads {
            prop_assert_eq!(&lab.ends[end].reads[&work], &readable[1 - end][from..from + bytes]);
        }
        for end in &lab.ends {
            prop_assert_eq!(&end.memory[MEMORY..], &written);
            prop_assert!(end.completions.iter().all(|done| done.status == Status::Success));
            let sends = works.iter().filter(|work| matches!(work, Work::Send(_))).count();
            prop_assert_eq!(end.completions.len(), works.len() + sends);
            prop_assert_eq!(end.queue_pair.deadline(), Instant::NEVER);
        }
    }
}

#[test]
fn without_loss_each_response_is_sent_once_and_nothing_waits_for_a_timer() {
    let mut lab = lab(Reads { requested_max: 2, served_max: 2 }, Channel::default(), 1);
    for _ in 0..8 {
        lab.ends[0].read(0, 2_000);
        lab.ends[0].write(0, &[7; 300]);
    }
    lab.run(END);
    let [reader, served] = lab.ends.each_ref().map(|end| *end.queue_pair.counters());
    assert_eq!((served.responses_sent, reader.responses_received), (8 * 8, 8 * 8));
    assert_eq!((reader.timeouts, reader.retransmits, reader.naks_received), (0, 0, 0));
    assert_eq!(lab.ends[0].completions.len(), 16);
    assert!(lab.now < Instant::ZERO + config(Recovery::GoBackN).timeout);
}

#[test]
fn a_lost_response_is_asked_for_again_when_a_later_one_comes() {
    for lost in [1, 3, 8] {
        let mut lab = lab(Reads { requested_max: 4, served_max: 4 }, Channel::default(), 1);
        let content = random_bytes(9, 0, MEMORY);
        lab.ends[1].memory[..MEMORY].copy_from_slice(&content);
        let works = [lab.ends[0].read(0, 4 * MTU), lab.ends[0].read(4 * MTU, 4 * MTU)];
        lab.ends[0].write(MEMORY, &[1; 10]);
        lab.lose_from(1, lost);
        lab.run(END);
        let read: Vec<u8> = works.iter().flat_map(|work| lab.ends[0].reads[work].clone()).collect();
        assert_eq!(read, content[..8 * MTU]);
        // That of the last one is implied by the acknowledgement of the WRITE behind it (IBTA 9.7.5.1.1).
        assert_eq!(lab.ends[0].queue_pair.counters().timeouts, 0, "response {lost}");
    }
}

#[test]
fn what_may_not_be_read_is_refused_and_ends_the_connection() {
    let statuses = |offset: usize, bytes: usize, served_max: u32| {
        let settings = [with_reads(0, 1, 0), with_reads(1, 0, served_max)];
        let mut lab = Lab::new(&settings, Channel::default(), 1);
        let first = lab.ends[0].read(0, if served_max > 0 { 100 } else { 0 });
        lab.ends[0].read(offset, bytes);
        lab.run(END);
        assert_eq!(lab.ends[0].completions[0].work, first);
        lab.ends[0].statuses().into_iter().map(|(_, status)| status).collect::<Vec<_>>()
    };
    assert_eq!(statuses(0, 100, 1), [Status::Success, Status::Success]);
    assert_eq!(statuses(2 * MEMORY - 99, 100, 1), [Status::Success, Status::RemoteAccess]);
    assert_eq!(statuses(0, 100, 0), [Status::RemoteInvalidRequest, Status::Flushed]);
}

#[test]
fn more_reads_than_are_served_are_refused() {
    let mut lab = Lab::new(&[with_reads(0, 3, 0), with_reads(1, 0, 2)], Channel::default(), 1);
    for _ in 0..3 {
        lab.ends[0].read(0, 2_000);
    }
    lab.run(END);
    assert!(lab.ends[1].queue_pair.is_failed());
    let statuses: Vec<_> = lab.ends[0].statuses().into_iter().map(|(_, status)| status).collect();
    assert_eq!(statuses, [Status::Success, Status::Success, Status::RemoteInvalidRequest]);
}

#[test]
fn reads_need_order_and_room_for_their_numbers() {
    let check = |change: fn(&mut Settings)| {
        let mut settings = with_reads(0, 4, 4);
        change(&mut settings);
        settings.check()
    };
    assert_eq!(check(|_| {}), Ok(()));
    assert_eq!(check(|settings| settings.config.recovery = SELECTIVE), Err(SettingsError::Reads));
    let long = check(|settings| settings.config.message_bytes = Config::MESSAGE_BYTES_MAX);
    assert!(matches!(long, Err(SettingsError::Config(_))), "{long:?}");
    let mut without = QueuePair::new(&settings(0, config(SELECTIVE), 100)).unwrap();
    assert_eq!(without.post_read(ADDRESS, 1), Err(PostError::NoReads));
}
