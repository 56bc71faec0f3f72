//! What a peer may not do is refused by the NAK that the standard names, and ends the connection.

use crate::lab::{ADDRESS, Channel, End, KEY, Lab, MTU, config, qpn, settings};
use fabricbench_transport::{
    Config, ConfigError, QueuePair, Received, Recovery, Region, SettingsError, Status,
};
use proptest::prelude::*;
use units::{Instant, Span};
use wire::aeth::{NakCode, Syndrome};
use wire::bth::{self, PadCount};
use wire::{Extension, Opcode, Psn, aeth, reth};

const SELECTIVE: Recovery = Recovery::Selective { ooo_window_packets: 32 };
const MEMORY: usize = 4_096;
const NOW: Instant = Instant(1_000);

/// A request from somebody who knows the numbers of the connection.
struct Forged {
    opcode: Opcode,
    /// How far it is beyond the first packet.
    ahead: u32,
    reth: reth::Repr,
    payload: usize,
}

impl Forged {
    fn write(opcode: Opcode, ahead: u32, offset: u64, dma: usize, payload: usize) -> Self {
        let reth = reth::Repr {
            virtual_address: ADDRESS.wrapping_add(offset),
            remote_key: KEY,
            dma_bytes: dma as u32,
        };
        Self { opcode, ahead, reth, payload }
    }

    fn of(opcode: Opcode, ahead: u32, payload: usize) -> Self {
        Self::write(opcode, ahead, 0, 0, payload)
    }

    fn bytes(&self) -> Vec<u8> {
        let first = settings(1, config(Recovery::GoBackN), 0).peer_first_psn;
        let bth = bth::Repr {
            pad_count: PadCount::of(self.payload),
            ..bth::Repr::new(self.opcode, qpn(1), first.add(self.ahead))
        };
        let mut bytes = vec![0; bth::HEADER_BYTES];
        bth.emit(&mut bytes).unwrap();
        if self.opcode.has_reth() {
            bytes.resize(bytes.len() + reth::HEADER_BYTES, 0);
            self.reth.emit(&mut bytes[bth::HEADER_BYTES..]).unwrap();
        }
        if self.opcode.has_immediate() {
            bytes.extend([1, 2, 3, 4]);
        }
        bytes.resize(bytes.len() + self.payload, 0xab);
        bytes.resize(bytes.len() + usize::from(bth.pad_count.value()), 0);
        bytes
    }
}

fn victim(recovery: Recovery) -> End {
    End::new(&settings(1, config(recovery), MEMORY))
}

fn hand_over(end: &mut End, packets: &[Forged]) {
    for packet in packets {
        end.handle(&Received::decode(&packet.bytes()).unwrap(), NOW);
    }
}

/// The syndromes of what the end answers.
fn answers(end: &mut End) -> Vec<Syndrome> {
    std::iter::from_fn(|| end.queue_pair.poll_transmit(NOW))
        .map(|packet| match packet.extension {
            Extension::Aeth(aeth::Repr { syndrome, .. }) => syndrome,
            other => panic!("{other:?} answers nothing"),
        })
        .collect()
}

#[track_caller]
fn expect_refusal(recovery: Recovery, packets: &[Forged], code: NakCode) {
    let mut end = victim(recovery);
    let receive = end.receive(600);
    hand_over(&mut end, packets);
    assert_eq!(answers(&mut end).last(), Some(&Syndrome::Nak(code)));
    assert!(end.queue_pair.is_failed());
    assert_eq!(end.statuses(), [(receive.0, Status::Flushed)]);
    // Nothing more is taken.
    let before = end.memory.clone();
    hand_over(&mut end, &[Forged::write(Opcode::WriteOnly, packets.len() as u32, 0, 8, 8)]);
    assert_eq!((answers(&mut end), end.memory), (Vec::new(), before));
}

#[test]
fn positions_follow_each_other() {
    use Opcode::{SendFirst, SendLast, SendMiddle, WriteFirst, WriteLast, WriteMiddle, WriteOnly};
    let first = || Forged::write(WriteFirst, 0, 0, 1_000, MTU);
    use Opcode::{SendLastWithImmediate, SendOnlyWithImmediate, WriteLastWithImmediate};
    let cases: [&[Forged]; 14] = [
        &[Forged::of(WriteLastWithImmediate, 0, 8)],
        &[Forged::of(SendLastWithImmediate, 0, 8)],
        &[first(), Forged::of(SendLastWithImmediate, 1, 8)],
        &[first(), Forged::of(SendOnlyWithImmediate, 1, 8)],
        &[Forged::of(SendFirst, 0, MTU), Forged::of(WriteLastWithImmediate, 1, 8)],
        &[Forged::of(WriteMiddle, 0, MTU)],
        &[Forged::of(WriteLast, 0, 8)],
        &[Forged::of(SendMiddle, 0, MTU)],
        &[Forged::of(SendLast, 0, 8)],
        &[first(), Forged::write(WriteFirst, 1, 0, 1_000, MTU)],
        &[first(), Forged::write(WriteOnly, 1, 0, 8, 8)],
        &[first(), Forged::of(SendMiddle, 1, MTU)],
        &[Forged::of(SendFirst, 0, MTU), Forged::of(WriteLast, 1, 8)],
        &[Forged::of(SendFirst, 0, MTU), Forged::of(SendFirst, 1, MTU)],
    ];
    for packets in cases {
        expect_refusal(Recovery::GoBackN, packets, NakCode::InvalidRequest);
    }
}

#[test]
fn lengths_are_those_that_mtu_and_message_give() {
    use Opcode::{SendFirst, SendLast, SendOnly, WriteFirst, WriteLast, WriteMiddle, WriteOnly};
    let first = || Forged::write(WriteFirst, 0, 0, 600, MTU);
    use Opcode::{SendOnlyWithImmediate, WriteLastWithImmediate, WriteOnlyWithImmediate};
    let cases: [&[Forged]; 16] = [
        &[first(), Forged::of(WriteLastWithImmediate, 1, 8)],
        &[first(), Forged::of(WriteMiddle, 1, MTU), Forged::of(WriteLastWithImmediate, 2, 89)],
        &[Forged::write(WriteOnlyWithImmediate, 0, 0, 9, 8)],
        &[Forged::of(SendOnlyWithImmediate, 0, MTU + 1)],
        &[Forged::write(WriteFirst, 0, 0, 600, MTU - 1)],
        &[Forged::write(WriteFirst, 0, 0, 600, MTU + 4)],
        &[Forged::write(WriteFirst, 0, 0, MTU, MTU)],
        &[first(), Forged::of(WriteMiddle, 1, 8)],
        &[first(), Forged::of(WriteLast, 1, 8)],
        &[first(), Forged::of(WriteLast, 1, 0)],
        &[first(), Forged::of(WriteMiddle, 1, MTU), Forged::of(WriteMiddle, 2, MTU)],
        &[first(), Forged::of(WriteMiddle, 1, MTU), Forged::of(WriteLast, 2, 89)],
        &[Forged::write(WriteOnly, 0, 0, 9, 8)],
        &[Forged::write(WriteOnly, 0, 0, MTU + 1, MTU + 1)],
        &[Forged::of(SendOnly, 0, MTU + 1)],
        // Longer than the receive of 600 bytes.
        &[Forged::of(SendFirst, 0, MTU), Forged::of(Opcode::SendMiddle, 1, MTU), Forged::of(SendLast, 2, 89)],
    ];
    for packets in cases {
        expect_refusal(Recovery::GoBackN, packets, NakCode::InvalidRequest);
    }
}

#[test]
fn memory_is_written_within_its_bounds_and_with_its_key_only() {
    let only = |offset: u64, bytes| Forged::write(Opcode::WriteOnly, 0, offset, bytes, bytes);
    let mut other_key = only(0, 8);
    other_key.reth.remote_key ^= 1;
    let first = Forged::write(Opcode::WriteFirst, 0, 4_000, 600, MTU);
    let cases =
        [only(4_089, 8), only(0_u64.wrapping_sub(1), 8), only(u64::MAX - ADDRESS - 4, 8), other_key, first];
    for packet in cases {
        let packet = &[packet];
        expect_refusal(Recovery::GoBackN, packet, NakCode::RemoteAccessError);
        if packet[0].opcode == Opcode::WriteOnly {
            expect_refusal(SELECTIVE, packet, NakCode::RemoteAccessError);
        }
    }
    let too_long = Forged::write(Opcode::WriteFirst, 0, 0, (1 << 31) + 1, MTU);
    expect_refusal(Recovery::GoBackN, &[too_long], NakCode::InvalidRequest);
}

#[test]
fn without_registered_memory_only_writes_of_nothing_are_taken() {
    let made = fabricbench_transport::Settings { memory: None, ..settings(1, config(Recovery::GoBackN), 0) };
    let mut end = End::new(&made);
    hand_over(&mut end, &[Forged::of(Opcode::WriteOnly, 0, 0), Forged::write(Opcode::WriteOnly, 1, 0, 1, 1)]);
    assert_eq!(answers(&mut end), [Syndrome::Nak(NakCode::RemoteAccessError)]);
}

#[test]
fn selective_recovery_takes_whole_writes_only() {
    use Opcode::{SendOnly, WriteFirst, WriteMiddle};
    for packet in [
        Forged::write(WriteFirst, 0, 0, 600, MTU),
        Forged::of(WriteMiddle, 3, MTU),
        Forged::of(SendOnly, 0, 8),
        Forged::of(Opcode::SendOnlyWithImmediate, 0, 8),
        Forged::write(Opcode::WriteOnlyWithImmediate, 5, 0, 9, 8),
        Forged::write(Opcode::WriteOnly, 5, 0, 9, 8),
    ] {
        expect_refusal(SELECTIVE, &[packet], NakCode::InvalidRequest);
    }
}

#[test]
fn verbs_that_are_not_offered_are_refused() {
    let bytes = Forged::write(Opcode::ReadRequest, 0, 0, 8, 8).bytes();
    let mut end = victim(Recovery::GoBackN);
    end.handle(&Received::decode(&bytes).unwrap(), NOW);
    assert_eq!(answers(&mut end), [Syndrome::Nak(NakCode::InvalidRequest)]);
}

#[test]
fn duplicates_and_packets_ahead_of_their_turn_are_not_looked_into() {
    for recovery in [Recovery::GoBackN, SELECTIVE] {
        let mut end = victim(recovery);
        let mut bad = Forged::write(Opcode::WriteOnly, 0, 5_000, 8, 8);
        hand_over(&mut end, &[Forged::write(Opcode::WriteOnly, 0, 0, 8, 8)]);
        let before = end.memory.clone();
        for ahead in [0, 0x80_0000, 0xff_ffff, 40] {
            bad.ahead = ahead;
            end.handle(&Received::decode(&bad.bytes()).unwrap(), NOW);
        }
        assert!(!end.queue_pair.is_failed());
        assert_eq!(end.memory, before);
    }
}

#[test]
fn packets_for_others_and_answers_to_nothing_change_nothing() {
    let mut end = victim(Recovery::GoBackN);
    let mut elsewhere = Forged::write(Opcode::WriteOnly, 0, 0, 8, 8).bytes();
    elsewhere[7] ^= 1;
    let mut partition = Forged::write(Opcode::WriteOnly, 0, 0, 8, 8).bytes();
    partition[3] ^= 1;
    for bytes in [elsewhere, partition] {
        end.handle(&Received::decode(&bytes).unwrap(), NOW);
    }
    assert_eq!(end.queue_pair.counters().ignored, 2);
    for psn in [0, 77, 78, 0x80_004d] {
        for syndrome in [0x1f, 0x21, 0x60, 0x61, 0x62, 0x63, 0x64] {
            end.handle(&Received::decode(&acknowledge(psn, syndrome)).unwrap(), NOW);
        }
    }
    assert!(!end.queue_pair.is_failed());
    assert_eq!((end.queue_pair.deadline(), end.completions.len()), (Instant::NEVER, 0));
}

fn acknowledge(psn: u32, syndrome: u8) -> Vec<u8> {
    let mut bytes = vec![0; 16];
    bth::Repr::new(Opcode::Acknowledge, qpn(1), Psn::new(psn)).emit(&mut bytes).unwrap();
    bytes[12] = syndrome;
    bytes
}

#[test]
fn who_is_refused_learns_why_and_flushes_the_rest() {
    for (recovery, before) in [(Recovery::GoBackN, Status::Success), (SELECTIVE, Status::Success)] {
        let make = |end| settings(end, config(recovery), MEMORY);
        let mut lab = Lab::new(&[make(0), make(1)], Channel::default(), 1);
        lab.ends[0].write(0, &[1; 1_000]);
        lab.ends[0].write(4_000, &[2; 1_000]);
        lab.ends[0].write(0, &[3; 1_000]);
        lab.run(NOW + Span::from_us(1_000));
        let expected = [(0, before), (1, Status::RemoteAccess), (2, Status::Flushed)];
        assert_eq!(lab.ends[0].statuses(), expected, "{recovery:?}");
        assert!(lab.ends.iter().all(|end| end.queue_pair.is_failed()));
        assert_eq!(lab.ends[1].memory[..1_000], [1; 1_000]);
    }
}

#[test]
fn a_send_that_is_too_long_for_its_receive_fails_both_ends() {
    let make = |end| settings(end, config(Recovery::GoBackN), MEMORY);
    let mut lab = Lab::new(&[make(0), make(1)], Channel::default(), 1);
    lab.ends[1].receive(99);
    lab.ends[0].send(&[1; 100]);
    lab.run(NOW + Span::from_us(1_000));
    assert_eq!(lab.ends[0].statuses(), [(0, Status::RemoteInvalidRequest)]);
    assert_eq!(lab.ends[1].statuses(), [(0, Status::Flushed)]);
}

#[test]
fn settings_that_cannot_be_are_named() {
    let good = settings(0, config(Recovery::GoBackN), 16);
    let of = |config: Config| fabricbench_transport::Settings { config, ..good.clone() };
    let region = Region { address: u64::MAX, bytes: 1, remote_key: 0 };
    let field = |field, found, min, max| SettingsError::Config(ConfigError { field, found, min, max });
    let cases = [
        (of(Config { window_packets: 0, ..good.config.clone() }), field("window_packets", 0, 1, 1 << 23)),
        (of(Config { ack_every: 33, ..good.config.clone() }), field("ack_every", 33, 1, 32)),
        (of(Config { mtu_bytes: 1_500, ..good.config.clone() }), SettingsError::Mtu { found: 1_500 }),
        (
            fabricbench_transport::Settings { memory: Some(region), ..good.clone() },
            SettingsError::Memory { address: u64::MAX, bytes: 1 },
        ),
    ];
    for (made, expected) in cases {
        assert_eq!(QueuePair::new(&made).err(), Some(expected));
    }
}

/// Around nothing, something and the MTU.
fn payload_bytes() -> impl Strategy<Value = usize> {
    prop::sample::select(vec![0, 8, MTU - 1, MTU, MTU + 1])
}

proptest! {
    #[test]
    fn whatever_a_peer_sends_is_survived_and_stays_within_bounds(
        is_selective: bool,
        packets in prop::collection::vec(
            (0..=0x11_u8, 0..6_u32, 0..6_000_u64, 0..700_usize, payload_bytes(), 0..0x65_u8),
            1..40,
        ),
    ) {
        let mut end = victim(if is_selective { SELECTIVE } else { Recovery::GoBackN });
        end.receive(300);
        end.write(0, &[5; 1_000]);
        end.queue_pair.poll_transmit(NOW);
        for (code, ahead, offset, dma, payload, syndrome) in packets {
            let opcode = Opcode::from_code(code).unwrap();
            let mut bytes = Forged::write(opcode, ahead, offset, dma, payload).bytes();
            if opcode.has_aeth() {
                bytes.splice(12..12, [syndrome, 0, 0, 0]);
            }
            if let Ok(packet) = Received::decode(&bytes) {
                // Whatever is placed outside the memory or the receive panics.
                end.handle(&packet, NOW);
            }
            while end.queue_pair.poll_transmit(NOW).is_some() {}
        }
    }
}
