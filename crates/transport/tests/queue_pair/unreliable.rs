//! Queue pairs without recovery: unreliable connections.

use crate::lab::{ADDRESS, Channel, KEY, Lab, MTU, config, qpn, settings};
use fabricbench_transport::{
    Outgoing, QueuePair, RateControlConfig, Reads, Received, Recovery, Settings, SettingsError, Status,
    TimelyConfig,
};
use proptest::prelude::*;
use units::{Instant, Rate, Seed, Span};
use wire::bth::{self, PadCount};
use wire::{Extension, Opcode, Psn, reth};

const END: Instant = Instant(2_000_000_000_000);
/// Packets of 256 bytes of each message, which fit one message of a connection.
const PACKETS: usize = 4;
const BYTES: usize = PACKETS * MTU;

fn lab(recovery: Recovery, messages: usize, channel: Channel, seed: u64) -> Lab {
    let make = |end| Settings { cnp_interval: None, ..settings(end, config(recovery), messages * BYTES) };
    Lab::new(&[make(0), make(1)], channel, seed)
}

/// Posts messages with their number, and as many receives.
fn post(lab: &mut Lab, messages: usize) -> Vec<u8> {
    let mut random = Seed(3).stream("bytes", 0);
    let content: Vec<u8> = (0..messages * BYTES).map(|_| random.next_u32() as u8).collect();
    for (number, bytes) in content.chunks(BYTES).enumerate() {
        lab.ends[1].receive(0);
        lab.ends[0].write_and_tell(number * BYTES, bytes, number as u32);
    }
    content
}

fn told(lab: &Lab) -> Vec<usize> {
    lab.ends[1].told.iter().map(|(number, _)| *number as usize).collect()
}

proptest! {
    #[test]
    fn a_message_that_is_told_is_there_and_nobody_answers(
        lost in 0..300_u64, duplicated in 0..200_u64, jitter_us in 0..10_u64, seed: u64,
    ) {
        let channel = Channel { lost, duplicated, marked: 0, jitter: Span::from_us(jitter_us) };
        let mut lab = lab(Recovery::None, 20, channel, seed);
        let content = post(&mut lab, 20);
        lab.run(END);
        let done: Vec<(u64, Status)> = (0..20).map(|work| (work, Status::Success)).collect();
        prop_assert_eq!(lab.ends[0].statuses(), done);
        for (number, memory) in &lab.ends[1].told {
            let range = *number as usize * BYTES..(*number as usize + 1) * BYTES;
            prop_assert_eq!(&memory[range.clone()], &content[range]);
        }
        let counters = [0, 1].map(|end| *lab.ends[end].queue_pair.counters());
        prop_assert_eq!((counters[0].data_sent, counters[0].data_received), (20 * PACKETS as u64, 0));
        prop_assert_eq!((counters[1].acks_sent, counters[1].naks_sent, counters[1].ignored), (0, 0, 0));
        prop_assert_eq!(lab.ends[0].queue_pair.deadline(), Instant::NEVER);
    }
}

#[test]
fn without_loss_bytes_and_packets_are_those_of_a_reliable_connection() {
    let run = |recovery| {
        let mut lab = lab(recovery, 10, Channel::default(), 1);
        let content = post(&mut lab, 10);
        lab.run(END);
        assert_eq!(lab.ends[1].memory, content);
        assert_eq!(told(&lab), (0..10).collect::<Vec<_>>());
        let [sent, received] = [0, 1].map(|end| *lab.ends[end].queue_pair.counters());
        [sent.data_sent, sent.data_sent_bytes, received.data_received, received.data_received_bytes]
    };
    assert_eq!(run(Recovery::None), run(Recovery::GoBackN));
}

/// Source: (1 - p)^n of the messages of n packets arrive where each packet is lost with probability p.
#[test]
fn the_fraction_of_messages_that_survive_losses_is_that_of_the_closed_form() {
    const MESSAGES: usize = 20_000;
    let mut lab = lab(Recovery::None, 1, Channel { lost: 50, ..Channel::default() }, 5);
    for number in 0..MESSAGES {
        lab.ends[1].receive(0);
        lab.ends[0].write_and_tell(0, &[7; BYTES], number as u32);
    }
    lab.run(END);
    let survive = 0.95_f64.powi(PACKETS as i32);
    let deviation = (survive * (1.0 - survive) / MESSAGES as f64).sqrt();
    let found = told(&lab).len() as f64 / MESSAGES as f64;
    assert!((found - survive).abs() < 3.0 * deviation, "{found} instead of {survive}");
}

#[test]
fn a_message_without_a_receive_is_dropped_and_the_next_one_is_not() {
    let mut lab = lab(Recovery::None, 2, Channel::default(), 1);
    lab.ends[0].write_and_tell(0, &[1; BYTES], 0);
    lab.run(END);
    assert_eq!((told(&lab), lab.ends[1].queue_pair.counters().ignored), (vec![], 1));
    lab.ends[1].receive(0);
    lab.ends[0].write_and_tell(BYTES, &[2; BYTES], 1);
    lab.run(END);
    assert_eq!(told(&lab), [1]);
}

#[test]
fn work_completes_when_its_last_packet_is_sent() {
    let mut queue_pair = QueuePair::new(&settings(0, config(Recovery::None), 0)).unwrap();
    let works = [5 * MTU, 0].map(|bytes| queue_pair.post_write(ADDRESS, bytes as u64).unwrap());
    let packets: Vec<Outgoing> = std::iter::from_fn(|| queue_pair.poll_transmit(Instant::ZERO)).collect();
    assert_eq!((packets.len(), queue_pair.poll_completion()), (6, None));
    let mut completed = Vec::new();
    for packet in &packets {
        assert!(packet.bth.opcode.is_unreliable() && !packet.bth.ack_request);
        queue_pair.on_sent(packet);
        completed.push(queue_pair.poll_completion().map(|done| done.work));
    }
    assert_eq!(completed, [None, None, None, None, Some(works[0]), Some(works[1])]);
    assert_eq!(queue_pair.in_flight_packets(), 0);
}

#[test]
fn what_a_peer_may_not_do_is_dropped_and_the_connection_remains() {
    let mut lab = lab(Recovery::None, 1, Channel::default(), 1);
    lab.ends[1].receive(0);
    let request = |opcode: Opcode, address: u64, remote_key: u32| {
        let reth = reth::Repr { virtual_address: address, remote_key, dma_bytes: 8 };
        let pad_count = PadCount::of(8);
        let bth = bth::Repr { migrated: true, pad_count, ..bth::Repr::new(opcode, qpn(1), Psn::new(9)) };
        Outgoing { bth, extension: Extension::Reth(reth), source: None, is_retransmission: false }
    };
    let refused = [
        request(Opcode::UcWriteOnly, ADDRESS, KEY + 1),
        request(Opcode::UcWriteOnly, ADDRESS + BYTES as u64, KEY),
        request(Opcode::WriteOnly, ADDRESS, KEY),
    ];
    for packet in refused {
        let mut bytes = vec![0; packet.header_bytes() + 8];
        packet.encode_headers(&mut bytes).unwrap();
        lab.ends[1].handle(&Received::decode(&bytes).unwrap(), Instant::ZERO);
    }
    assert_eq!(lab.ends[1].queue_pair.counters().ignored, 3);
    assert_eq!(lab.ends[1].queue_pair.poll_reply(), None);
    lab.ends[0].write_and_tell(0, &[1; BYTES], 4);
    lab.run(END);
    assert_eq!(told(&lab), [4]);
}

#[test]
fn reads_and_acknowledgements_need_a_reliable_connection() {
    let good = settings(0, config(Recovery::None), 16);
    let reads = Reads { requested_max: 1, served_max: 1 };
    let reading = Settings { reads, ..good.clone() };
    assert_eq!(QueuePair::new(&reading).err(), Some(SettingsError::Reads));
    let timely = TimelyConfig {
        alpha_ppm: 1,
        beta_ppm: 1,
        decrease_max_ppm: 1,
        rtt_low_ps: 1,
        rtt_high_ps: 1,
        rtt_min_ps: 1,
        additive_increase_bps: 1,
        segment_bytes: 1,
        rate_min_bps: 1,
    };
    let timed = Settings { rate: timely.controller(MTU as u32, Rate::from_bps(1_000_000_000)), ..good };
    assert_eq!(QueuePair::new(&timed).err(), Some(SettingsError::Recovery));
}
