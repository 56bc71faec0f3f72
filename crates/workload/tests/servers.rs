//! Schedules of NCCL over servers against closed forms: bytes of each connection, hops of each block, buffers,
//! rails.

use fabricbench_workload::{
    Message, NcclAlgorithm, NcclChannel, NcclChannels, NcclConfig, NcclOneServer, NcclPeers, NcclProtocol,
    Parts, ScaleUpCopies, ScaleUpHops, Schedule, ServerRanks, Shape, Transfer, nccl_schedule, nccl_volume,
};
use proptest::prelude::*;
use std::collections::{HashMap, HashSet};
use units::{Rank, Seed, Span, TransferId};

/// A hop takes 1 ns and no time for its bytes, to the picosecond.
const HOP: Span = Span(1_000);
const COPIES: ScaleUpCopies = ScaleUpCopies { rate_bps: u64::MAX, latency_ps: HOP.0 };

fn channels(count: u32, gpus: u32, chunk_bytes: u64, slice_bytes: u64) -> NcclChannels {
    let channel = |number: u32| NcclChannel {
        gpu: number % gpus,
        receive_nic: (number % gpus) as u16,
        send_nic: (number % gpus) as u16,
    };
    NcclChannels {
        protocol: NcclProtocol::Simple,
        channels: (0..count).map(channel).collect(),
        chunk_bytes,
        slice_bytes,
        window_messages: 4,
        scale_up: ScaleUpHops { hops: gpus - 1, rate_bps: u64::MAX, latency_ps: HOP.0 },
    }
}

fn shape(ranks: u32, data_bytes: u64, root: u32) -> Shape {
    Shape { ranks, data_bytes, root: Rank(root), stream: Seed(1).stream("workload.permutation", 0) }
}

fn servers(count: u32, gpus: u32) -> ServerRanks {
    ServerRanks::new((0..count * gpus).map(|rank| (rank / gpus, rank % gpus)))
}

fn schedule(config: &NcclConfig, collective: &str, shape: &Shape, servers: &ServerRanks) -> Schedule {
    nccl_schedule(config, collective, shape, servers).expect("it has a schedule")
}

fn ids(schedule: &Schedule) -> impl Iterator<Item = (TransferId, Transfer)> + '_ {
    (0..).map(TransferId).zip(schedule.transfers())
}

fn is_payload(schedule: &Schedule, id: TransferId) -> bool {
    schedule.message(id) == Message::Payload
}

/// Number of connections, those of clearances included.
fn all_connections(schedule: &Schedule) -> u64 {
    let ends = ids(schedule).map(|(_, transfer)| (transfer.src.0, transfer.dst.0, transfer.channel));
    ends.collect::<HashSet<_>>().len() as u64
}

/// Payload of each connection, by sender, receiver and channel [bytes].
fn by_connection(schedule: &Schedule) -> HashMap<(u32, u32, u32), u64> {
    let mut bytes = HashMap::new();
    for (_, transfer) in ids(schedule).filter(|(id, _)| is_payload(schedule, *id)) {
        *bytes.entry((transfer.src.0, transfer.dst.0, transfer.channel)).or_insert(0) += transfer.bytes;
    }
    bytes
}

proptest! {
    /// Each server sends each block of a channel but one on to the next, in each cycle.
    #[test]
    fn a_ring_carries_the_same_bytes_from_each_server_to_the_next(
        (count, gpus, number) in (2..6u32, 1..5u32, 1..5u32), factor in 1..400u64, chunk in 1..5u64,
    ) {
        let ranks = count * gpus;
        // A multiple of blocks and slices, so that all are equal.
        let bytes = u64::from(number * ranks) * factor * 8;
        let config = NcclConfig::Ring(channels(number, gpus, chunk * 256, 128));
        for (collective, cycles) in [("all-reduce", 2), ("all-gather", 1), ("reduce-scatter", 1)] {
            let schedule = schedule(&config, collective, &shape(ranks, bytes, 0), &servers(count, gpus));
            let volume = nccl_volume(&config, collective, &shape(ranks, bytes, 0), &servers(count, gpus)).unwrap();
            prop_assert_eq!(volume.transfers, schedule.transfers().len() as u64);
            prop_assert_eq!(volume.payload_bytes, schedule.total_bytes());
            prop_assert_eq!(volume.connections, all_connections(&schedule));
            let connections = by_connection(&schedule);
            prop_assert_eq!(connections.len() as u32, number * count);
            for ((src, dst, channel), sent) in connections {
                prop_assert_eq!([src % gpus, dst % gpus], [channel % gpus; 2], "it stays on its rail");
                prop_assert_eq!((src / gpus + 1) % count, dst / gpus);
                let block = bytes / u64::from(number * ranks);
                prop_assert_eq!(sent, cycles * u64::from(ranks - 1) * block);
            }
        }
    }

    /// A block moves by one GPU in each step, over a network hop or inside a server.
    #[test]
    fn each_way_through_a_ring_has_as_many_hops_as_the_ring_has_steps(
        (count, gpus) in (2..6u32, 1..6u32), blocks in 1..4u64,
    ) {
        let ranks = count * gpus;
        let bytes = u64::from(ranks) * blocks * 64;
        let config = NcclConfig::Ring(channels(1, gpus, blocks * 64, 64));
        let schedule = schedule(&config, "all-reduce", &shape(ranks, bytes, 0), &servers(count, gpus));
        let steps = 2 * (ranks - 1);
        // By transfer: hops until its arrival, from the start of the block.
        let mut hops = vec![0; schedule.transfers().len()];
        for (id, transfer) in ids(&schedule).filter(|(id, _)| is_payload(&schedule, *id)) {
            let inside = |span: Span| span.0 / HOP.0;
            let times = schedule.rank_times(id);
            hops[id.index()] += inside(times.before) + 1;
            prop_assert_eq!(hops[id.index()], u64::from(transfer.step) + 1);
            let forwarded: Vec<_> = schedule.successors(id).filter(|next| is_payload(&schedule, *next)).collect();
            for &next in &forwarded {
                let on = schedule.transfer(next);
                prop_assert_eq!((on.block, on.step), (transfer.block, transfer.step + gpus));
                hops[next.index()] = hops[id.index()];
            }
            if forwarded.is_empty() {
                prop_assert_eq!(hops[id.index()] + inside(times.after), u64::from(steps));
            }
        }
    }

    /// A message waits until the receiver has taken the one that many before it for which there are buffers.
    #[test]
    fn no_connection_has_more_messages_in_flight_than_buffers(
        (count, gpus, number) in (2..5u32, 1..4u32, 1..4u32), kilobytes in 1..40u64, root in 0..8u32,
    ) {
        let ranks = count * gpus;
        let config = NcclConfig::Ring(channels(number, gpus, 1024, 256));
        for collective in ["all-reduce", "all-gather", "broadcast", "reduce"] {
            let shape = shape(ranks, kilobytes * 1024 * u64::from(ranks), root % ranks);
            let schedule = schedule(&config, collective, &shape, &servers(count, gpus));
            let mut sent: HashMap<(u32, u32, u32), Vec<TransferId>> = HashMap::new();
            for (id, transfer) in ids(&schedule) {
                if is_payload(&schedule, id) {
                    sent.entry((transfer.src.0, transfer.dst.0, transfer.channel)).or_default().push(id);
                }
            }
            for messages in sent.values() {
                for (&freed, &message) in messages.iter().zip(messages.iter().skip(4)) {
                    let clears = |clearance: TransferId| schedule.successors(clearance).any(|next| next == message);
                    let mut clearances = schedule.successors(freed).filter(|next| !is_payload(&schedule, *next));
                    prop_assert!(clearances.any(clears), "{} frees the buffer of {}", freed, message);
                }
            }
        }
    }

    /// A chain carries all data over each connection but one.
    #[test]
    fn broadcast_and_reduce_pass_all_data_along_the_ring(
        (count, gpus, number) in (2..6u32, 1..4u32, 1..4u32), bytes in 1..9_000u64, root in 0..20u32,
    ) {
        let (ranks, root) = (count * gpus, root % (count * gpus));
        let config = NcclConfig::Ring(channels(number, gpus, 1024, 512));
        for (collective, without) in [("broadcast", root / gpus + count - 1), ("reduce", root / gpus)] {
            let schedule = schedule(&config, collective, &shape(ranks, bytes, root), &servers(count, gpus));
            let shape = shape(ranks, bytes, root);
            let volume = nccl_volume(&config, collective, &shape, &servers(count, gpus)).unwrap();
            prop_assert_eq!(volume.transfers, schedule.transfers().len() as u64);
            prop_assert_eq!(volume.payload_bytes, schedule.total_bytes());
            let mut by_server = vec![0; count as usize];
            for ((src, ..), sent) in by_connection(&schedule) {
                by_server[(src / gpus) as usize] += sent;
            }
            let expected = |server: u32| if server == without % count { 0 } else { bytes };
            prop_assert_eq!(by_server, (0..count).map(expected).collect::<Vec<_>>());
        }
    }

    /// Each channel's data go up and down each edge of a tree once.
    #[test]
    fn a_tree_carries_the_data_of_a_channel_both_ways_over_each_edge(
        (count, gpus, number) in (2..12u32, 1..4u32, 1..5u32), bytes in 1..9_000u64,
    ) {
        let ranks = count * gpus;
        let config = NcclConfig::Tree(channels(number, gpus, 512, 512));
        let schedule = schedule(&config, "all-reduce", &shape(ranks, bytes, 0), &servers(count, gpus));
        let volume = nccl_volume(&config, "all-reduce", &shape(ranks, bytes, 0), &servers(count, gpus)).unwrap();
        prop_assert_eq!(volume.transfers, schedule.transfers().len() as u64);
        prop_assert_eq!((volume.payload_bytes, volume.connections), (schedule.total_bytes(), all_connections(&schedule)));
        let connections = by_connection(&schedule);
        let of_channels = Parts::new(bytes, number.into());
        for channel in (0..number).filter(|&channel| of_channels.of(channel.into()) > 0) {
            let of_channel: Vec<_> = connections.iter().filter(|((.., of), _)| *of == channel).collect();
            prop_assert_eq!(of_channel.len() as u32, 2 * (count - 1));
            prop_assert!(of_channel.iter().all(|(_, sent)| **sent == of_channels.of(channel.into())));
        }
    }

    /// With PXN data change the rail inside the sender's server.
    #[test]
    fn all_to_all_leaves_its_rail_only_without_pxn(
        (count, gpus) in (2..5u32, 1..5u32), share in 1..3_000u64, pxn in any::<bool>(), concurrent in 1..9u32,
    ) {
        let ranks = count * gpus;
        let config = NcclConfig::Peers(NcclPeers {
            protocol: NcclProtocol::Simple, concurrent, channels: 2, chunk_bytes: 1024, pxn, scale_up: COPIES,
        });
        let shape = shape(ranks, share * u64::from(ranks), 0);
        let schedule = schedule(&config, "all-to-all", &shape, &servers(count, gpus));
        let volume = nccl_volume(&config, "all-to-all", &shape, &servers(count, gpus)).unwrap();
        prop_assert!(volume.transfers >= schedule.transfers().len() as u64);
        prop_assert!(pxn || volume.transfers == schedule.transfers().len() as u64);
        let (mut crossing, mut on_rail, mut inside) = (0, 0, 0);
        for transfer in schedule.transfers() {
            let ([from, to], [src, dst]) = ([transfer.src.0 / gpus, transfer.dst.0 / gpus], [transfer.src.0 % gpus, transfer.dst.0 % gpus]);
            let sum = if from == to { &mut inside } else if src == dst { &mut on_rail } else { &mut crossing };
            *sum += transfer.bytes;
        }
        let pairs = |count: u32| u64::from(ranks * count) * share;
        let between = pairs(ranks - gpus);
        let other_rails = pairs((count - 1) * (gpus - 1));
        prop_assert_eq!((crossing, on_rail), if pxn { (0, between) } else { (other_rails, between - other_rails) });
        prop_assert_eq!(inside, pairs(gpus - 1) + if pxn { other_rails } else { 0 });
    }
}

/// In an NVLink domain of several machines the GPU on the rail is that of the sender's machine.
#[test]
fn pxn_stays_in_the_machine_of_an_nvlink_domain() {
    let (machines, gpus) = (3, 4);
    let of_domain = machines * gpus;
    let config = NcclConfig::Peers(NcclPeers {
        protocol: NcclProtocol::Simple,
        concurrent: 8,
        channels: 1,
        chunk_bytes: 1024,
        pxn: true,
        scale_up: COPIES,
    });
    let domains = servers(2, of_domain).of_machines(Some(gpus));
    let schedule = schedule(&config, "all-to-all", &shape(2 * of_domain, 2_400, 0), &domains);
    let crosses = |transfer: &Transfer| transfer.src.0 / of_domain != transfer.dst.0 / of_domain;
    let mut crossed = 0;
    for (id, transfer) in ids(&schedule) {
        let sent_on = schedule.successors(id).map(|next| schedule.transfer(next));
        if crosses(&transfer) {
            crossed += 1;
            assert_eq!(transfer.src.0 % gpus, transfer.dst.0 % gpus, "on the rail");
        } else if sent_on.into_iter().any(|next| crosses(&next) && next.block == transfer.block) {
            assert_eq!(transfer.src.0 / gpus, transfer.dst.0 / gpus, "in the machine of the sender");
        }
    }
    assert_eq!(crossed, 2 * of_domain * of_domain);
}

#[test]
fn protocols_add_their_flags() {
    let bytes = |protocol: NcclProtocol| [0, 4, 120, 1200].map(|data| protocol.wire_bytes(data));
    assert_eq!(bytes(NcclProtocol::Simple), [0, 4, 120, 1200]);
    assert_eq!(bytes(NcclProtocol::Ll), [0, 8, 240, 2400]);
    assert_eq!(bytes(NcclProtocol::Ll128), [0, 128, 128, 1280]);
}

#[test]
fn servers_with_different_gpus_are_refused() {
    let servers = ServerRanks::new([(0, 0), (0, 1), (1, 0)].into_iter());
    let config = NcclConfig::Ring(channels(1, 1, 1024, 512));
    let error = nccl_schedule(&config, "all-reduce", &shape(3, 99, 0), &servers).unwrap_err();
    assert_eq!(error.to_string(), "the servers of the job have different GPUs");
    let one = ServerRanks::new([(0, 0), (0, 1)].into_iter());
    let error = nccl_schedule(&config, "all-reduce", &shape(2, 99, 0), &one).unwrap_err();
    assert_eq!(error.to_string(), "1 channels over 1 servers");
}

fn one_server(algorithm: NcclAlgorithm, protocol: NcclProtocol, channels: u32) -> NcclConfig {
    NcclConfig::OneServer(NcclOneServer {
        heads: None,
        algorithm,
        protocol,
        channels,
        chunk_bytes: 1024,
        slice_bytes: if protocol == NcclProtocol::Simple { 512 } else { 1024 },
        window_messages: 8,
        scale_up: COPIES,
    })
}

proptest! {
    /// Rings send each block but one in each cycle, trees all data both ways, NVLS all data to the switches and
    /// each sum once.
    #[test]
    fn volumes_on_one_server_are_those_of_schedules(
        (gpus, number) in (2..9u32, 1..5u32), factor in 1..60u64,
    ) {
        // Whole blocks, of messages that LL128 fills.
        let bytes = u64::from(gpus * number) * factor * 960;
        for (algorithm, collective, messages) in [
            (NcclAlgorithm::Ring, "all-reduce", 2 * (gpus - 1)),
            (NcclAlgorithm::Ring, "all-gather", gpus - 1),
            (NcclAlgorithm::Ring, "broadcast", gpus - 1),
            (NcclAlgorithm::Tree, "all-reduce", 2 * (gpus - 1)),
            (NcclAlgorithm::Nvls, "all-reduce", gpus + 1),
            (NcclAlgorithm::Nvls, "reduce-scatter", gpus),
        ] {
            let config = one_server(algorithm, NcclProtocol::Simple, number);
            let (shape, servers) = (shape(gpus, bytes, gpus - 1), servers(1, gpus));
            let schedule = schedule(&config, collective, &shape, &servers);
            let volume = nccl_volume(&config, collective, &shape, &servers).unwrap();
            prop_assert_eq!(volume.transfers, schedule.transfers().len() as u64);
            prop_assert_eq!(volume.connections, all_connections(&schedule));
            prop_assert_eq!(volume.payload_bytes, schedule.total_bytes());
            prop_assert_eq!(schedule.total_bytes(), u64::from(messages) * bytes);
            prop_assert_eq!(volume.largest_bytes, schedule.transfers().map(|transfer| transfer.bytes).max().unwrap());
        }
    }
}

#[test]
fn heads_of_nvls_have_larger_sums() {
    let (gpus, bytes) = (8, 8 * 960);
    let NcclConfig::OneServer(all) = one_server(NcclAlgorithm::Nvls, NcclProtocol::Simple, 2) else {
        panic!("it is on one server")
    };
    let config = NcclConfig::OneServer(NcclOneServer { heads: Some(4), ..all });
    let (shape, servers) = (shape(gpus, bytes, 0), servers(1, gpus));
    let schedule = schedule(&config, "all-reduce", &shape, &servers);
    // Each GPU sends all data, and a head a quarter of the sums.
    assert_eq!(schedule.total_bytes(), u64::from(gpus) * (bytes + bytes / 4));
    let volume = nccl_volume(&config, "all-reduce", &shape, &servers).unwrap();
    assert_eq!(volume.payload_bytes, schedule.total_bytes());
}

#[test]
fn a_collective_on_one_server_needs_its_gpus() {
    let config = one_server(NcclAlgorithm::Nvls, NcclProtocol::Simple, 4);
    let error = nccl_schedule(&config, "broadcast", &shape(4, 99, 0), &servers(1, 4)).unwrap_err();
    assert_eq!(error.to_string(), "broadcast by NVLS");
    let error = nccl_schedule(&config, "all-reduce", &shape(4, 99, 0), &servers(2, 2)).unwrap_err();
    assert_eq!(error.to_string(), "4 ranks on 2 servers as on one");
}
