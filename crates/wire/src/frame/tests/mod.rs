//! Tests of whole RoCEv2 frames: errors by field, and emit and parse as inverses of each other.

mod known_answers;

use super::*;
use crate::bth::Qpn;
use crate::{Psn, testing};
use proptest::prelude::*;

fn network() -> Network {
    Network {
        source_mac: MacAddress([2, 0, 0, 0, 0, 1]),
        destination_mac: MacAddress([2, 0, 0, 0, 0, 2]),
        source_ip: Ipv4Addr::new(10, 0, 0, 1),
        destination_ip: Ipv4Addr::new(10, 0, 0, 2),
        udp_source_port: 49_152,
        dscp: ipv4::Dscp::new(26).unwrap(),
        ecn: ipv4::Ecn::Ect0,
        ttl: 64,
        identification: 0,
        dont_fragment: true,
    }
}

fn bth(opcode: Opcode) -> bth::Repr {
    bth::Repr::new(opcode, Qpn::new(7).unwrap(), Psn::new(9))
}

fn acknowledge() -> RoceFrame<'static> {
    let syndrome = aeth::Syndrome::Ack(aeth::CreditCount::UNLIMITED);
    let aeth = aeth::Repr { syndrome, msn: aeth::Msn::default() };
    RoceFrame::new(network(), bth(Opcode::Acknowledge), Extension::Aeth(aeth), &[]).unwrap()
}

fn emitted(frame: &RoceFrame<'_>) -> Vec<u8> {
    let mut bytes = vec![0xee; frame.frame_bytes()];
    let length = frame.emit_with_fcs(&mut bytes).unwrap();
    assert_eq!(length, bytes.len());
    bytes
}

/// Bytes of the frame without FCS of a SEND Only packet with `payload`.
fn send_only(payload: &[u8]) -> Vec<u8> {
    let frame = RoceFrame::new(network(), bth(Opcode::SendOnly), Extension::None, payload).unwrap();
    let mut bytes = emitted(&frame);
    bytes.truncate(bytes.len() - ethernet::FCS_BYTES);
    bytes
}

/// Changes bytes of the frame and recomputes its checksum and ICRC.
fn repaired(mut frame: Vec<u8>, change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    change(&mut frame);
    let checksum = ipv4::Packet::new(&frame[IPV4_OFFSET..]).unwrap().expected_checksum();
    frame[IPV4_OFFSET + 10..IPV4_OFFSET + 12].copy_from_slice(&checksum.to_be_bytes());
    let end = frame.len() - icrc::BYTES;
    let icrc = icrc::icrc(&frame[IPV4_OFFSET..end]).unwrap();
    frame[end..].copy_from_slice(&icrc.to_le_bytes());
    frame
}

fn error_after(change: impl FnOnce(&mut [u8])) -> Error {
    RoceFrame::parse(&repaired(send_only(&[7; 6]), change)).unwrap_err()
}

#[test]
fn what_is_not_rocev2_over_ipv4_is_rejected_by_name() {
    assert_eq!(error_after(|frame| frame[12] = 0x86), Error::EtherType(0x8600));
    assert_eq!(error_after(|frame| frame[IPV4_OFFSET + 9] = 6), Error::Protocol(6));
    assert_eq!(error_after(|frame| frame[UDP_OFFSET + 3] = 0xb8), Error::UdpPort(4792));
    assert_eq!(error_after(|frame| frame[UDP_OFFSET + 7] = 1), Error::UdpChecksum(1));
    assert_eq!(error_after(|frame| frame[BTH_OFFSET] = 0x12), Error::Opcode(0x12));
}

#[test]
fn lengths_that_contradict_each_other_are_rejected() {
    let udp_short = error_after(|frame| frame[UDP_OFFSET + 5] -= 4);
    assert_eq!(udp_short, Error::Length { field: "UDP datagram", min: 32, max: 32, found: 28 });
    let mut longer = send_only(&[7; 6]);
    longer.push(0);
    let expected = Error::Length { field: "frame", min: 66, max: 66, found: 67 };
    assert_eq!(RoceFrame::parse(&longer), Err(expected));
}

#[test]
fn a_payload_that_is_not_padded_to_four_bytes_is_rejected() {
    let mut frame = send_only(&[7; 8]);
    frame.pop();
    let frame = repaired(frame, |frame| {
        frame[IPV4_OFFSET + 3] -= 1;
        frame[UDP_OFFSET + 5] -= 1;
    });
    let expected = Error::Length { field: "payload with pad", min: 8, max: 8, found: 7 };
    assert_eq!(RoceFrame::parse(&frame), Err(expected));
}

#[test]
fn a_pad_that_is_not_zero_or_longer_than_the_payload_is_rejected() {
    let pad_not_zero = error_after(|frame| frame[EXTENSION_OFFSET + 7] = 3);
    assert_eq!(pad_not_zero, Error::Reserved { field: "pad of the payload", found: 3 });
    let acknowledge = emitted(&acknowledge());
    let with_pad = repaired(acknowledge[..62].to_vec(), |frame| frame[BTH_OFFSET + 1] = 0x10);
    assert_eq!(RoceFrame::parse(&with_pad), Err(Error::Truncated { need: 1, have: 0 }));
}

#[test]
fn a_header_that_the_opcode_needs_but_the_packet_does_not_hold_is_truncated() {
    let error = error_after(|frame| frame[BTH_OFFSET] = Opcode::WriteOnly.code());
    assert_eq!(error, Error::Truncated { need: 16, have: 8 });
}

#[test]
fn a_send_without_payload_is_padded_to_the_shortest_frame_with_anything() {
    let mut bytes = send_only(&[]);
    assert_eq!(bytes.len(), 60);
    assert_eq!(bytes[58..], [0, 0]);
    bytes[59] = 0x77;
    assert_eq!(RoceFrame::parse(&bytes).unwrap().payload(), []);
    assert_eq!(RoceFrame::parse(&bytes[..58]), Err(Error::Truncated { need: 60, have: 58 }));
}

#[test]
fn payload_lengths_that_the_opcode_does_not_allow_make_no_frame() {
    let payload = [0; 4100];
    let result = |opcode, bytes: usize| {
        RoceFrame::new(network(), bth(opcode), Extension::None, &payload[..bytes]).map(|_| ())
    };
    for (opcode, allowed, refused) in [
        (Opcode::SendOnly, &[0, 1, 4096][..], &[4097][..]),
        (Opcode::WriteLast, &[1, 255, 4096], &[0, 4097]),
        (Opcode::WriteMiddle, &[256, 512, 1024, 2048, 4096], &[0, 255, 257, 4097]),
        (Opcode::SendFirst, &[4096], &[0, 4095]),
    ] {
        for &bytes in allowed {
            assert_eq!(result(opcode, bytes), Ok(()), "{opcode:?} {bytes}");
        }
        for &payload_bytes in refused {
            assert_eq!(result(opcode, payload_bytes), Err(Error::Payload { opcode, payload_bytes }));
        }
    }
}

#[test]
fn headers_of_another_opcode_make_no_frame() {
    let result = RoceFrame::new(network(), bth(Opcode::WriteOnly), Extension::None, &[1]);
    assert_eq!(result, Err(Error::Extension { opcode: Opcode::WriteOnly }));
    let opcode = Opcode::Acknowledge;
    let result = RoceFrame::new(network(), bth(opcode), *acknowledge().extension(), &[1]);
    assert_eq!(result, Err(Error::Payload { opcode, payload_bytes: 1 }));
}

#[test]
fn a_notification_has_only_its_fixed_values() {
    let repr = cnp::Repr { destination_qp: Qpn::new(7).unwrap(), partition_key: 0xffff };
    let frame = RoceFrame::notification(network(), &repr);
    assert_eq!(RoceFrame::new(network(), repr.bth(), Extension::Notification, &[]), Ok(frame));
    let without_becn = bth(Opcode::CongestionNotification);
    let result = RoceFrame::new(network(), without_becn, Extension::Notification, &[]);
    assert!(matches!(result, Err(Error::Notification { .. })));
}

proptest! {
    #[test]
    fn parse_is_the_inverse_of_emit((network, bth, extension, payload) in testing::frame_parts()) {
        let frame = RoceFrame::new(network, bth, extension, &payload)?;
        let bytes = emitted(&frame);
        prop_assert_eq!(RoceFrame::parse_with_fcs(&bytes)?, frame);
        prop_assert_eq!(RoceFrame::parse(&bytes[..bytes.len() - 4])?, frame);
        prop_assert_eq!(bytes.len() as u32, size::data_frame_bytes(frame.bth().opcode, payload.len() as u32));
    }

    #[test]
    fn emit_is_the_inverse_of_parse(
        (network, bth, extension, payload) in testing::frame_parts(), at: prop::sample::Index, value: u8
    ) {
        let frame = RoceFrame::new(network, bth, extension, &payload)?;
        let mut bytes = emitted(&frame);
        bytes.truncate(IPV4_OFFSET + frame.ipv4_bytes());
        let mut bytes = repaired(bytes, |frame| *at.get_mut(frame) = value);
        bytes.resize(bytes.len().max(ethernet::MIN_FRAME_BYTES), 0);
        if let Ok(changed) = RoceFrame::parse(&bytes) {
            let mut again = vec![0xee; bytes.len()];
            prop_assert_eq!(changed.emit(&mut again)?, bytes.len());
            prop_assert_eq!(again, bytes);
        }
    }

    #[test]
    fn every_truncation_is_an_error((network, bth, extension, payload) in testing::frame_parts()) {
        let frame = RoceFrame::new(network, bth, extension, &payload)?;
        let bytes = emitted(&frame);
        let need = bytes.len();
        let mut buffer = vec![0; need];
        for have in 0..need {
            prop_assert!(RoceFrame::parse_with_fcs(&bytes[..have]).is_err());
            prop_assert_eq!(frame.emit_with_fcs(&mut buffer[..have]), Err(Error::Truncated { need, have }));
        }
        for have in 0..need - ethernet::FCS_BYTES {
            let is_truncated = matches!(RoceFrame::parse(&bytes[..have]), Err(Error::Truncated { .. }));
            prop_assert!(is_truncated, "{} bytes", have);
        }
    }

    #[test]
    fn a_changed_byte_is_noticed_unless_switches_may_change_it(
        (network, bth, extension, payload) in testing::frame_parts(), at: prop::sample::Index, flip in 1..=255_u8
    ) {
        let frame = RoceFrame::new(network, bth, extension, &payload)?;
        let mut bytes = emitted(&frame);
        bytes.truncate(IPV4_OFFSET + frame.ipv4_bytes());
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        bytes.resize(bytes.len().max(ethernet::MIN_FRAME_BYTES), 0);
        // MAC addresses are not covered, FECN and BECN may be changed by switches; IPv4 checksum and ICRC
        // cover the rest.
        let free = at < 12 || at == BTH_OFFSET + bth::RESV8A_OFFSET;
        prop_assert!(free || RoceFrame::parse(&bytes).is_err(), "byte {}", at);
    }
}
