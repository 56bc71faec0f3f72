//! Generators (proptest strategies) of headers, frames and packets for the property tests: every legal value,
//! roughly uniformly distributed.

use crate::aeth::{self, CreditCount, Msn, NakCode, RnrTimer, Syndrome};
use crate::bth::{self, PadCount, Qpn};
use crate::ethernet::pfc;
use crate::ethernet::{self, EtherType, MacAddress};
use crate::extension::Immediate;
use crate::frame::Network;
use crate::infiniband::flow_control::{self, BlockCount, Operation};
use crate::infiniband::lrh::{self, Route, ServiceLevel, VirtualLane};
use crate::ipv4::{self, Dscp, Ecn};
use crate::{Extension, Opcode, Psn, RoceMtu, cnp, reth, tcp, udp};
use proptest::prelude::*;
use proptest::sample::select;

fn mac() -> impl Strategy<Value = MacAddress> {
    any::<[u8; 6]>().prop_map(MacAddress)
}

pub(crate) fn ethernet() -> impl Strategy<Value = ethernet::Repr> {
    let ethertype = (0x0600..=u16::MAX).prop_map(|value| EtherType::new(value).unwrap());
    (mac(), mac(), ethertype).prop_map(|(destination, source, ethertype)| ethernet::Repr {
        destination,
        source,
        ethertype,
    })
}

fn traffic_class() -> impl Strategy<Value = (Dscp, Ecn)> {
    any::<u8>().prop_map(|byte| (Dscp::new(byte >> 2).unwrap(), Ecn::from_low_bits(byte)))
}

pub(crate) fn ipv4() -> impl Strategy<Value = ipv4::Repr> {
    let payload_bytes = 0..=ipv4::PAYLOAD_BYTES_MAX as u16;
    (any::<[u32; 2]>(), any::<[u8; 2]>(), traffic_class(), any::<u16>(), any::<bool>(), payload_bytes)
        .prop_map(
            |(
                [source, destination],
                [protocol, ttl],
                (dscp, ecn),
                identification,
                dont_fragment,
                payload_bytes,
            )| {
                ipv4::Repr {
                    source: source.into(),
                    destination: destination.into(),
                    protocol,
                    dscp,
                    ecn,
                    ttl,
                    identification,
                    dont_fragment,
                    payload_bytes,
                }
            },
        )
}

pub(crate) fn tcp() -> impl Strategy<Value = tcp::Repr> {
    let blocks = prop::collection::vec(any::<(u32, u32)>(), 0..=tcp::SACK_BLOCKS_MAX);
    (any::<[u16; 4]>(), any::<[u32; 4]>(), any::<u8>(), blocks).prop_map(
        |(
            [source_port, destination_port, window, checksum],
            [sequence, acknowledgement, value, echo],
            flags,
            blocks,
        )| {
            tcp::Repr {
                source_port,
                destination_port,
                sequence,
                acknowledgement,
                flags: tcp::Flags(flags),
                window,
                checksum,
                timestamps: tcp::Timestamps { value, echo },
                sack: std::array::from_fn(|place| blocks.get(place).copied()),
            }
        },
    )
}

pub(crate) fn udp() -> impl Strategy<Value = udp::Repr> {
    let payload_bytes = 0..=udp::PAYLOAD_BYTES_MAX as u16;
    (any::<[u16; 2]>(), payload_bytes).prop_map(|([source_port, destination_port], payload_bytes)| {
        udp::Repr { source_port, destination_port, payload_bytes }
    })
}

pub(crate) fn opcode() -> impl Strategy<Value = Opcode> {
    select(&Opcode::ALL[..])
}

fn qpn() -> impl Strategy<Value = Qpn> {
    (0..=Qpn::MAX.value()).prop_map(|value| Qpn::new(value).unwrap())
}

pub(crate) fn bth() -> impl Strategy<Value = bth::Repr> {
    (opcode(), qpn(), any::<u32>(), any::<[bool; 5]>(), 0..4_u8, any::<u16>()).prop_map(
        |(
            opcode,
            destination_qp,
            psn,
            [solicited_event, migrated, fecn, becn, ack_request],
            pad,
            partition_key,
        )| {
            bth::Repr {
                opcode,
                solicited_event,
                migrated,
                pad_count: PadCount::new(pad).unwrap(),
                partition_key,
                fecn,
                becn,
                destination_qp,
                ack_request,
                psn: Psn::new(psn),
            }
        },
    )
}

pub(crate) fn reth() -> impl Strategy<Value = reth::Repr> {
    any::<(u64, u32, u32)>().prop_map(|(virtual_address, remote_key, dma_bytes)| reth::Repr {
        virtual_address,
        remote_key,
        dma_bytes,
    })
}

pub(crate) fn aeth() -> impl Strategy<Value = aeth::Repr> {
    let codes = [
        NakCode::PsnSequenceError,
        NakCode::InvalidRequest,
        NakCode::RemoteAccessError,
        NakCode::RemoteOperationalError,
        NakCode::InvalidRdRequest,
    ];
    let syndrome = prop_oneof![
        (0..32_u8).prop_map(|credits| Syndrome::Ack(CreditCount::new(credits).unwrap())),
        (0..32_u8).prop_map(|timer| Syndrome::RnrNak(RnrTimer::new(timer).unwrap())),
        select(codes.to_vec()).prop_map(Syndrome::Nak),
    ];
    let msn = (0..=Msn::MAX.value()).prop_map(|value| Msn::new(value).unwrap());
    (syndrome, msn).prop_map(|(syndrome, msn)| aeth::Repr { syndrome, msn })
}

pub(crate) fn cnp() -> impl Strategy<Value = cnp::Repr> {
    (qpn(), any::<u16>())
        .prop_map(|(destination_qp, partition_key)| cnp::Repr { destination_qp, partition_key })
}

pub(crate) fn pfc() -> impl Strategy<Value = pfc::Repr> {
    (mac(), any::<[Option<u16>; pfc::PRIORITIES]>())
        .prop_map(|(source, pause_quanta)| pfc::Repr { source, pause_quanta })
}

pub(crate) fn opcode_and_extension() -> impl Strategy<Value = (Opcode, Extension)> {
    (opcode(), reth(), aeth(), any::<[u8; 4]>()).prop_map(|(opcode, reth, aeth, immediate)| {
        let immediate = Immediate(immediate);
        let extension = match (opcode.has_reth(), opcode.has_immediate(), opcode.has_aeth()) {
            (true, true, _) => Extension::RethWithImmediate(reth, immediate),
            (true, false, _) => Extension::Reth(reth),
            (false, true, _) => Extension::Immediate(immediate),
            (false, false, true) => Extension::Aeth(aeth),
            (false, false, false) if opcode == Opcode::CongestionNotification => Extension::Notification,
            (false, false, false) => Extension::None,
        };
        (opcode, extension)
    })
}

pub(crate) fn network() -> impl Strategy<Value = Network> {
    (mac(), mac(), ipv4(), any::<u16>()).prop_map(|(source_mac, destination_mac, ip, udp_source_port)| {
        Network {
            source_mac,
            destination_mac,
            source_ip: ip.source,
            destination_ip: ip.destination,
            udp_source_port,
            dscp: ip.dscp,
            ecn: ip.ecn,
            ttl: ip.ttl,
            identification: ip.identification,
            dont_fragment: ip.dont_fragment,
        }
    })
}

/// A payload of a length legal for `opcode`.
fn payload(opcode: Opcode) -> BoxedStrategy<Vec<u8>> {
    let of_length = |bytes| proptest::collection::vec(any::<u8>(), bytes);
    if !opcode.is_data() {
        Just(Vec::new()).boxed()
    } else if opcode.is_first() || opcode.is_middle() {
        select(&RoceMtu::ALL[..3])
            .prop_flat_map(move |mtu| of_length(mtu.bytes() as usize..=mtu.bytes() as usize))
            .boxed()
    } else {
        of_length(usize::from(opcode.is_last())..=300).boxed()
    }
}

/// The parts of a legal frame.
pub(crate) fn frame_parts() -> impl Strategy<Value = (Network, bth::Repr, Extension, Vec<u8>)> {
    (network(), bth(), opcode_and_extension()).prop_flat_map(|(network, bth, (opcode, extension))| {
        let bth = match opcode {
            Opcode::CongestionNotification => {
                cnp::Repr { destination_qp: bth.destination_qp, partition_key: bth.partition_key }.bth()
            }
            _ => bth::Repr { opcode, ..bth },
        };
        (Just(network), Just(bth), Just(extension), payload(opcode))
    })
}

fn route() -> impl Strategy<Value = Route> {
    any::<(u8, u16, u16)>().prop_map(|(lanes, destination_lid, source_lid)| Route {
        virtual_lane: VirtualLane::from_low_bits(lanes),
        service_level: ServiceLevel::from_low_bits(lanes >> 4),
        destination_lid,
        source_lid,
    })
}

pub(crate) fn lrh() -> impl Strategy<Value = lrh::Repr> {
    (route(), 0..0x800_u16).prop_map(|(route, words)| lrh::Repr { route, packet_bytes: words * 4 })
}

pub(crate) fn flow_control() -> impl Strategy<Value = flow_control::Repr> {
    (any::<bool>(), any::<[u16; 2]>(), any::<u8>()).prop_map(|(initialise, [sent, limit], lane)| {
        flow_control::Repr {
            operation: if initialise { Operation::Initialise } else { Operation::Normal },
            total_blocks_sent: BlockCount::from_low_bits(sent),
            virtual_lane: VirtualLane::from_low_bits(lane),
            credit_limit: BlockCount::from_low_bits(limit),
        }
    })
}

/// The parts of a legal InfiniBand packet.
pub(crate) fn packet_parts() -> impl Strategy<Value = (Route, bth::Repr, Extension, Vec<u8>)> {
    let is_infiniband = |(_, bth, ..): &(Network, bth::Repr, Extension, Vec<u8>)| {
        bth.opcode != Opcode::CongestionNotification
    };
    let parts = frame_parts().prop_filter("congestion notification is RoCEv2's", is_infiniband);
    (route(), parts).prop_map(|(route, (_, bth, extension, payload))| (route, bth, extension, payload))
}
