//! Captures frames of chosen queue pairs and TCP connections: runs a spec until enough frames were sent, and
//! encodes each in full as its NIC sends it.
//!
//! The simulator passes descriptors of 32 bytes; here they are completed with the attributes of the queue
//! pair. Payload bytes are zero. The destination MAC address is that of the receiving port if it is in the
//! sender's subnet, otherwise that of the sender's gateway. InfiniBand ports have local identifiers from 1 in
//! the order of their hosts; service level and virtual lane are equal to the priority.

mod tcp;

use crate::nic::write_opcode;
use crate::record::{Frame, FrameKind, Record, Totals};
use crate::report::assemble::Assembler;
use crate::report::connections::open_connections;
use crate::report::{World, build};
use crate::setup::{BuildOptions, Direction, Fabric};
use engine::{Hooks, Node, Window};
use jobs::{QueuePair, destination_qpn};
use spec::{RunSpec, SpecError, unsupported};
use std::ops::ControlFlow;
use tcp::TcpWriter;
use units::{AttachmentId, Instant};
use wire::aeth::{CreditCount, Msn, NakCode, Syndrome};
use wire::ethernet::MacAddress;
use wire::ethernet::vlan;
use wire::frame::Network;
use wire::infiniband::lrh::{Route, ServiceLevel, VirtualLane};
use wire::{Extension, Framing, InfinibandPacket, Opcode, RoceFrame, aeth, bth, ipv4, reth};

const TTL: u8 = 64;
/// Remote key of every message; refers to no memory.
const REMOTE_KEY: u32 = 0x1000;

/// A frame as sent by a NIC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedFrame {
    /// First bit on the link.
    pub at: Instant,
    /// Sending host.
    pub host: u32,
    /// Queue pair of the run.
    pub queue_pair: u32,
    /// From the destination MAC address to the ICRC, without FCS; on InfiniBand from the local route header
    /// to the VCRC.
    pub bytes: Vec<u8>,
}

/// The first `count` frames sent by both ends of `queue_pairs`, in order of time.
///
/// # Errors
/// When the spec cannot be run, or a queue pair does not exist.
pub fn capture(spec: &RunSpec, queue_pairs: &[u32], count: usize) -> Result<Vec<CapturedFrame>, SpecError> {
    spec::check(spec)?;
    // TCP connections are numbered after the queue pairs, whose number does not depend on the capture.
    let first_tcp = build(spec, &BuildOptions::default())?.flows.queue_pair_count();
    let (captured, tcp) = queue_pairs.iter().partition::<Vec<u32>, _>(|&&pair| pair < first_tcp);
    let options = BuildOptions {
        threads: 1,
        captured: captured.into_iter().collect(),
        captured_tcp: tcp.iter().map(|pair| pair - first_tcp).collect(),
        ..BuildOptions::default()
    };
    let mut world = build(spec, &options)?;
    let pairs = world.flows.queue_pair_count() as usize + world.connections.len();
    if let Some(missing) = queue_pairs.iter().find(|&&pair| pair as usize >= pairs) {
        return Err(unsupported("qps", format!("queue pair {missing}"), format!("0 to {}", pairs - 1)));
    }
    let mut partitions = std::mem::take(&mut world.partitions);
    let open_tcp = open_connections(spec, &world.connections);
    let mut taker = Taker { assembler: Assembler::new(&world.flows, spec, &world.fabric), count };
    taker.assembler.open_tcp = open_tcp;
    engine::run(&mut partitions, world.fabric.span, &mut taker);
    let Assembler { frames, tcp_frames, .. } = taker.assembler;
    let rdma = frames.iter().map(|frame| write_out(spec, &world, frame));
    let tcp = TcpWriter::new(spec, &world.fabric, &world.connections, first_tcp);
    let mut written: Vec<_> = rdma.chain(tcp.write_out(&tcp_frames)).collect();
    written.sort_by_key(|frame| frame.at);
    written.truncate(count);
    Ok(written)
}

/// Ends the run after enough frames.
struct Taker<'a> {
    assembler: Assembler<'a>,
    count: usize,
}

impl<N: Node<Record = Record, Totals = Totals>, P> Hooks<N, P> for Taker<'_> {
    fn after_window(&mut self, _: Window, records: &mut Vec<Record>, _: Totals) -> ControlFlow<()> {
        let outcome = self.assembler.take(records, |_| Ok(()));
        self.assembler.rows.clear();
        let frames = self.assembler.frames.len() + self.assembler.tcp_frames.len();
        let done =
            outcome.is_err() || frames >= self.count || self.assembler.open + self.assembler.open_tcp == 0;
        if done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn write_out(spec: &RunSpec, world: &World, frame: &Frame) -> CapturedFrame {
    let (fabric, pair) = (&world.fabric, world.flows.queue_pair(frame.queue_pair));
    let class = class_of(spec, pair.job, &frame.kind);
    let direction = if frame.is_backward { Direction::Reverse } else { Direction::Forward };
    let [from, to] = world.flows.attachments(&pair, direction);
    let payload = vec![0; payload_bytes(&frame.kind)];
    let (bth, extension) = (bth(frame), extension(&frame.kind));
    let mut bytes = vec![0; fabric.framing.frame_bytes(bth.opcode, payload.len() as u32) as usize];
    let written = match fabric.framing {
        Framing::Ethernet | Framing::TaggedEthernet => {
            RoceFrame::new(network(fabric, &pair, from, to, class), bth, extension, &payload)
                .and_then(|frame| frame.emit(&mut bytes))
        }
        Framing::Infiniband => InfinibandPacket::new(route(class, from, to), bth, extension, &payload)
            .and_then(|packet| packet.emit(&mut bytes)),
    };
    bytes.truncate(written.expect("every frame the transport makes is legal and has its size"));
    tag(&mut bytes, spec, class.priority);
    let host = fabric.graph.attachment(from).host.0;
    CapturedFrame { at: frame.sent, host, queue_pair: frame.queue_pair, bytes }
}

/// Class of a packet: priority and code point.
#[derive(Clone, Copy)]
struct Class {
    priority: u8,
    dscp: u8,
}

fn class_of(spec: &RunSpec, job: u32, kind: &FrameKind) -> Class {
    let (priorities, dscp) = (spec.transport.priorities, spec.dscp_of(job));
    match kind {
        FrameKind::Data { .. } | FrameKind::Verb { .. } => {
            Class { priority: spec.priority_of(job), dscp: dscp.data }
        }
        FrameKind::Ack { .. } | FrameKind::Nak { .. } => Class { priority: priorities.ack, dscp: dscp.ack },
        FrameKind::Cnp => Class { priority: priorities.cnp, dscp: dscp.cnp },
    }
}

/// Inserts the VLAN tag of the plan into an Ethernet frame, if configured.
fn tag(frame: &mut Vec<u8>, spec: &RunSpec, priority: u8) {
    let Some(id) = spec.fabric.addresses.as_ref().and_then(|given| given.vlan) else { return };
    let mut bytes = [0; vlan::TAG_BYTES];
    let tag = vlan::Tag::new(priority, id).and_then(|tag| tag.emit(&mut bytes));
    tag.expect("a priority and a VLAN of a spec that was checked");
    frame.splice(vlan::OFFSET..vlan::OFFSET, bytes);
}

/// Local identifier of a host port: 0 is reserved.
pub(crate) const fn lid(attachment: AttachmentId) -> u16 {
    attachment.0 as u16 + 1
}

/// Fields of the local route header.
fn route(class: Class, from: AttachmentId, to: AttachmentId) -> Route {
    let priority = class.priority;
    Route {
        virtual_lane: VirtualLane::new(priority).unwrap_or_default(),
        service_level: ServiceLevel::new(priority).unwrap_or_default(),
        destination_lid: lid(to),
        source_lid: lid(from),
    }
}

fn payload_bytes(kind: &FrameKind) -> usize {
    match kind {
        FrameKind::Data { payload_bytes, .. } | FrameKind::Verb { payload_bytes, .. } => {
            *payload_bytes as usize
        }
        FrameKind::Ack { .. } | FrameKind::Nak { .. } | FrameKind::Cnp => 0,
    }
}

fn network(fabric: &Fabric, pair: &QueuePair, from: AttachmentId, to: AttachmentId, class: Class) -> Network {
    let (source, destination) = (fabric.graph.attachment(from), fabric.graph.attachment(to));
    Network {
        source_mac: MacAddress(source.mac),
        destination_mac: MacAddress(source.next_mac(destination)),
        source_ip: source.ip,
        destination_ip: destination.ip,
        udp_source_port: pair.udp_source_port(),
        dscp: ipv4::Dscp::new(class.dscp).unwrap_or_default(),
        ecn: ipv4::Ecn::Ect0,
        ttl: TTL,
        identification: 0,
        dont_fragment: true,
    }
}

fn bth(frame: &Frame) -> bth::Repr {
    let opcode = match frame.kind {
        FrameKind::Data { position, .. } => write_opcode(position),
        FrameKind::Verb { opcode, .. } => opcode,
        FrameKind::Ack { .. } | FrameKind::Nak { .. } => Opcode::Acknowledge,
        FrameKind::Cnp => Opcode::CongestionNotification,
    };
    let ack_request = matches!(
        frame.kind,
        FrameKind::Data { ack_request: true, .. } | FrameKind::Verb { ack_request: true, .. }
    );
    let destination = destination_qpn(frame.queue_pair);
    let becn = matches!(frame.kind, FrameKind::Cnp);
    bth::Repr { ack_request, becn, ..bth::Repr::new(opcode, destination, frame.psn) }
}

fn extension(kind: &FrameKind) -> Extension {
    let acknowledge = |syndrome, message_sequence| {
        let msn = Msn::new(message_sequence).unwrap_or_default();
        Extension::Aeth(aeth::Repr { syndrome, msn })
    };
    match *kind {
        FrameKind::Data { position, message_bytes, offset_bytes, .. } if position.starts_message() => {
            Extension::Reth(reth::Repr {
                virtual_address: offset_bytes,
                remote_key: REMOTE_KEY,
                dma_bytes: message_bytes as u32,
            })
        }
        FrameKind::Verb { opcode, message_bytes, offset_bytes, .. } if opcode.has_reth() => {
            Extension::Reth(reth::Repr {
                virtual_address: offset_bytes,
                remote_key: REMOTE_KEY,
                dma_bytes: message_bytes as u32,
            })
        }
        FrameKind::Verb { opcode, message_sequence, .. } if opcode.has_aeth() => {
            acknowledge(Syndrome::Ack(CreditCount::UNLIMITED), message_sequence)
        }
        FrameKind::Data { .. } | FrameKind::Verb { .. } => Extension::None,
        FrameKind::Ack { message_sequence } => {
            acknowledge(Syndrome::Ack(CreditCount::UNLIMITED), message_sequence)
        }
        FrameKind::Nak { message_sequence } => {
            acknowledge(Syndrome::Nak(NakCode::PsnSequenceError), message_sequence)
        }
        FrameKind::Cnp => Extension::Notification,
    }
}
