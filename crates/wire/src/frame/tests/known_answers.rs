//! Known answers: frames built by scapy 2.8.0 (see `testdata/known_frames.py`), not by this crate.
//!
//! The masks of the ICRC in that script were also checked by hand against a congestion notification packet
//! captured from a ConnectX-4 Lx adapter.

use crate::Psn;
use crate::aeth::{CreditCount, Msn, NakCode, RnrTimer, Syndrome};
use crate::bth::Qpn;
use crate::ethernet::pfc;
use crate::extension::Immediate;
use crate::frame::*;
use crate::ipv4::{Dscp, Ecn};

const KNOWN_FRAMES: &str = include_str!("../../../testdata/known_frames.hex");

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// ICRC as stored in the packet, and frame with FCS, of this name.
fn known(name: &str) -> (Vec<u8>, Vec<u8>) {
    let line = KNOWN_FRAMES.lines().find(|line| line.split(' ').next() == Some(name)).unwrap();
    let [_, icrc, frame] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
    (if icrc == "-" { Vec::new() } else { bytes(icrc) }, bytes(frame))
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (7 * at) as u8).collect()
}

fn network() -> Network {
    Network {
        source_mac: MacAddress([2, 0, 0, 0, 0, 1]),
        destination_mac: MacAddress([2, 0, 0, 0, 0, 2]),
        source_ip: Ipv4Addr::new(10, 0, 0, 1),
        destination_ip: Ipv4Addr::new(10, 0, 1, 2),
        udp_source_port: 49_152,
        dscp: Dscp::new(26).unwrap(),
        ecn: Ecn::Ect0,
        ttl: 64,
        identification: 0,
        dont_fragment: true,
    }
}

fn control_network() -> Network {
    Network { dscp: Dscp::new(48).unwrap(), ecn: Ecn::NotEct, ..network() }
}

fn bth(opcode: Opcode, psn: u32) -> bth::Repr {
    bth::Repr::new(opcode, Qpn::new(0x123).unwrap(), Psn::new(psn))
}

fn reth(dma_bytes: u32) -> reth::Repr {
    reth::Repr { virtual_address: 0x7f12_3456_0000, remote_key: 0x00ab_cdef, dma_bytes }
}

fn immediate() -> Immediate {
    Immediate([1, 2, 3, 4])
}

/// Checks emit and parse against the known frame, and its ICRC against the one computed by scapy.
#[track_caller]
fn check(name: &str, network: Network, bth: bth::Repr, extension: Extension, payload: &[u8]) {
    let frame = RoceFrame::new(network, bth, extension, payload).unwrap();
    let (icrc, expected) = known(name);
    let mut emitted = vec![0xee; frame.frame_bytes()];
    frame.emit_with_fcs(&mut emitted).unwrap();
    assert_eq!(emitted, expected, "{name}");
    let icrc_offset = IPV4_OFFSET + frame.ipv4_bytes() - icrc::BYTES;
    assert_eq!(emitted[icrc_offset..icrc_offset + icrc::BYTES], icrc, "{name}");
    assert_eq!(RoceFrame::parse_with_fcs(&expected), Ok(frame), "{name}");
}

#[test]
fn a_write_message_of_three_packets_across_the_psn_wrap() {
    let reth = Extension::Reth(reth(517));
    check("write_first", network(), bth(Opcode::WriteFirst, 0xff_ffff), reth, &pattern(256));
    let marked = Network { ecn: Ecn::CongestionExperienced, ttl: 63, ..network() };
    check("write_middle", marked, bth(Opcode::WriteMiddle, 0), Extension::None, &pattern(256));
    let last = bth::Repr { ack_request: true, ..bth(Opcode::WriteLast, 1) };
    let identified = Network { identification: 0xbeef, ..network() };
    check("write_last_padded", identified, last, Extension::None, &pattern(5));
}

#[test]
fn write_messages_of_one_packet() {
    let only = bth::Repr { ack_request: true, partition_key: 0x8001, ..bth(Opcode::WriteOnly, 2) };
    check("write_only", network(), only, Extension::Reth(reth(10)), &pattern(10));
    let only = bth::Repr { solicited_event: true, ..bth(Opcode::WriteOnlyWithImmediate, 3) };
    let extension = Extension::RethWithImmediate(reth(4), immediate());
    check("write_only_with_immediate", network(), only, extension, &pattern(4));
}

#[test]
fn send_messages_and_a_read_request() {
    let last = bth::Repr { migrated: true, ..bth(Opcode::SendLastWithImmediate, 4) };
    check("send_last_with_immediate", network(), last, Extension::Immediate(immediate()), &pattern(3));
    let only = bth::Repr { ack_request: true, ..bth(Opcode::SendOnly, 5) };
    check("send_only_empty", network(), only, Extension::None, &[]);
    check("read_request", network(), bth(Opcode::ReadRequest, 6), Extension::Reth(reth(4096)), &[]);
}

#[test]
fn acknowledge_packets() {
    for (name, syndrome, msn, psn, becn) in [
        ("ack", Syndrome::Ack(CreditCount::UNLIMITED), 1, 1, false),
        ("nak_sequence_error", Syndrome::Nak(NakCode::PsnSequenceError), 0xab_cdef, 0x12_3456, false),
        ("rnr_nak", Syndrome::RnrNak(RnrTimer::new(12).unwrap()), 2, 7, true),
    ] {
        let bth = bth::Repr::new(Opcode::Acknowledge, Qpn::new(0x456).unwrap(), Psn::new(psn));
        let aeth = aeth::Repr { syndrome, msn: Msn::new(msn).unwrap() };
        check(name, control_network(), bth::Repr { becn, ..bth }, Extension::Aeth(aeth), &[]);
    }
}

#[test]
fn a_congestion_notification_packet() {
    let cnp = cnp::Repr { destination_qp: Qpn::new(0xd2).unwrap(), partition_key: 0xffff };
    check("cnp", control_network(), cnp.bth(), Extension::Notification, &[]);
}

#[test]
fn priority_flow_control_frames() {
    let mut pause_and_resume = [None; pfc::PRIORITIES];
    (pause_and_resume[3], pause_and_resume[5]) = (Some(0xffff), Some(0));
    let pause_all = std::array::from_fn(|priority| Some(0x0100 + priority as u16));
    for (name, pause_quanta) in [("pfc_pause_3_resume_5", pause_and_resume), ("pfc_pause_all", pause_all)] {
        let repr = pfc::Repr { source: MacAddress([2, 0, 0, 0, 0, 1]), pause_quanta };
        let (_, expected) = known(name);
        let mut emitted = [0xee; size::PFC_FRAME_BYTES as usize];
        repr.emit(&mut emitted).unwrap();
        ethernet::emit_fcs(&mut emitted, pfc::FRAME_BYTES).unwrap();
        assert_eq!(emitted[..], expected, "{name}");
        let frame = ethernet::check_fcs(&expected).unwrap();
        assert_eq!(pfc::Repr::parse(&pfc::Frame::new(frame).unwrap()), Ok(repr), "{name}");
    }
}

#[test]
fn frame_sizes_are_those_of_the_size_table() {
    for (name, frame_bytes) in [
        ("write_first", 256 + 78),
        ("write_middle", 256 + 62),
        ("write_last_padded", 8 + 62),
        ("write_only", 12 + 78),
        ("send_only_empty", 64),
        ("read_request", 78),
        ("ack", 66),
        ("nak_sequence_error", 66),
        ("cnp", 78),
        ("pfc_pause_all", 64),
    ] {
        assert_eq!(known(name).1.len(), frame_bytes, "{name}");
    }
    assert_eq!(KNOWN_FRAMES.lines().count(), 14, "every known frame has its test");
}
