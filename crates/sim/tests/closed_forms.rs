//! Completion times against the closed forms of `docs/closed-forms.md`, within 0.1 %.
//!
//! On one switch nothing but the ports can be a bottleneck, so the time follows from the bytes on the wire.

use crate::common::{self, collective, completion_ps, run, single_switch};

/// One byte at 400 Gb/s [ps].
const BYTE_PS: u64 = 20;
const MTU: u64 = 4096;
const MESSAGE: u64 = 128 << 10;
const ACK_EVERY: u64 = 2;
/// Preamble, gap and headers of a packet; the RETH of a message; an ACK with preamble and gap.
const PACKET_OVERHEAD: u64 = 82;
const RETH: u64 = 16;
const ACK: u64 = 86;
/// NIC, cable and pipeline latencies of the specs in `common` [ps].
const NIC_PS: u64 = 400_000;
const CABLE_PS: u64 = 15_000;
const PIPELINE_PS: u64 = 500_000;

/// Time of the data of a chunk on a link, preambles and gaps included [ps].
fn data_ps(bytes: u64) -> u64 {
    (bytes + bytes.div_ceil(MTU) * PACKET_OVERHEAD + bytes.div_ceil(MESSAGE) * RETH) * BYTE_PS
}

/// Time of the ACKs of a chunk on a link [ps]. Whole messages only.
fn acks_ps(bytes: u64) -> u64 {
    assert_eq!(bytes % MESSAGE, 0, "the formula is for whole messages");
    bytes / MESSAGE * (MESSAGE / MTU).div_ceil(ACK_EVERY) * ACK * BYTE_PS
}

/// From the end of a frame's transmission at a host to its arrival at another on the same switch [ps].
fn path_ps(wire_bytes: u64) -> u64 {
    NIC_PS + CABLE_PS + PIPELINE_PS + wire_bytes * BYTE_PS + CABLE_PS + NIC_PS
}

/// Bytes each frame of a transfer occupies on the link.
fn wire_frames(bytes: u64) -> Vec<u64> {
    let packet = |offset: u64| {
        let payload = (bytes - offset).min(MTU);
        let reth = if offset.is_multiple_of(MESSAGE) { RETH } else { 0 };
        payload.next_multiple_of(4) + PACKET_OVERHEAD + reth
    };
    (0..bytes).step_by(MTU as usize).map(packet).collect()
}

/// A full packet that is not first in its message [bytes with preamble and gap].
const PACKET: u64 = MTU + PACKET_OVERHEAD;

fn assert_close(measured_ps: u64, formula_ps: u64, what: &str) {
    let deviation_ps = measured_ps.abs_diff(formula_ps);
    assert!(deviation_ps * 1_000 < formula_ps, "{what}: measured {measured_ps} ps, formula {formula_ps} ps");
}

#[test]
fn one_transfer_takes_its_serialisation_and_both_ways_to_the_picosecond() {
    for bytes in [1, 4096, 5000, MESSAGE, 10 * MESSAGE, 10 * MESSAGE + 4096] {
        let spec = collective(single_switch(2), 2, "incast", "parallel", bytes);
        let frames = wire_frames(bytes);
        let data: u64 = frames.iter().sum();
        // Two links of one rate in a row: all frames on one, and the largest once more on the other.
        let slowest = frames.iter().max().copied().unwrap_or(0);
        let there = (data + slowest) * BYTE_PS + path_ps(0);
        let back = ACK * BYTE_PS + path_ps(ACK);
        assert_eq!(completion_ps(&run(&spec).0), there + back, "{bytes} bytes");
    }
}

#[test]
fn incast_takes_the_receivers_link_for_all_senders() {
    for (senders, bytes) in [(2, 4 << 20), (7, 4 << 20), (15, 2 << 20), (31, 1 << 20)] {
        let spec = collective(single_switch(senders + 1), senders + 1, "incast", "parallel", bytes);
        let first = (PACKET + RETH) * BYTE_PS;
        let formula = first + path_ps(0) + u64::from(senders) * data_ps(bytes) + ACK * BYTE_PS + path_ps(ACK);
        assert_close(completion_ps(&run(&spec).0), formula, &format!("incast {senders}:1"));
    }
}

#[test]
fn a_ring_takes_a_chunk_and_a_path_each_step() {
    for (ranks, algorithm_steps, name) in [(4, 6, "all-reduce"), (8, 14, "all-reduce"), (8, 7, "all-gather")]
    {
        let chunk = 16 << 20;
        let spec = collective(single_switch(ranks), ranks, name, "ring", chunk * u64::from(ranks));
        let step = data_ps(chunk) + acks_ps(chunk) + path_ps(PACKET);
        let formula = algorithm_steps * step + ACK * BYTE_PS + path_ps(ACK);
        assert_close(completion_ps(&run(&spec).0), formula, &format!("{name} ring of {ranks}"));
    }
}

#[test]
fn all_to_all_takes_each_port_for_its_data_and_acks() {
    for ranks in [4, 8, 16] {
        let chunk = 8 << 20;
        let size = chunk * u64::from(ranks);
        let spec = collective(single_switch(ranks), ranks, "all-to-all", "parallel", size);
        let port = u64::from(ranks - 1) * (data_ps(chunk) + acks_ps(chunk));
        let formula = port + path_ps(PACKET) + ACK * BYTE_PS + path_ps(ACK);
        assert_close(completion_ps(&run(&spec).0), formula, &format!("all-to-all of {ranks}"));
    }
}

#[test]
fn a_full_mesh_is_never_slower_than_a_switch() {
    let mesh = spec::TopologySpec::FullMesh(spec::FullMesh { hosts: 8, host_link: common::link(3) });
    let time = |topology| completion_ps(&run(&collective(topology, 8, "all-to-all", "parallel", 64 << 20)).0);
    assert!(time(mesh) < time(single_switch(8)));
}
