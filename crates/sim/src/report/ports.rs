//! Computes the port map of a spec without running it: for each rank its host port, the switch port at the
//! other end, addresses, source ports, queue pairs and DSCP code points.

use super::capture::lid;
use crate::setup::{Direction, Fabric, Flows, connections};
use jobs::{QueuePair, destination_qpn};
use serde::Serialize;
use spec::{DscpSpec, RunSpec, SpecError};
use std::collections::BTreeMap;
use topology::Attachment;
use units::{AttachmentId, HostId};
use wire::ethernet::MacAddress;

/// Most numbers that are listed individually.
const LISTED_MAX: usize = 4;

/// A rank at a host port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PortRow {
    /// Name of its job, or of its TCP traffic.
    pub job: String,
    /// `roce` or `tcp`.
    pub protocol: &'static str,
    /// Number of the rank in the job.
    pub rank: u32,
    /// Name of its host.
    pub host: String,
    /// Number of the host.
    pub host_number: u32,
    /// Port of the host.
    pub host_port: u16,
    /// Switch it is cabled to.
    pub switch: String,
    /// Port of that switch.
    pub switch_port: u16,
    /// Line rate of the port [bit/s].
    pub rate_bps: u64,
    /// InfiniBand local identifier.
    pub lid: u16,
    /// IPv4 address.
    pub ip: String,
    /// Prefix length of its subnet.
    pub prefix: u8,
    /// Gateway of its subnet.
    pub gateway: Option<String>,
    /// MAC address.
    pub mac: String,
    /// VLAN.
    pub vlan: Option<u16>,
    /// Source ports of its data: UDP or TCP.
    pub source_ports: Numbers,
    /// Destination queue pair numbers of its data; empty for TCP.
    pub destination_qps: Numbers,
    /// Priority of its data.
    pub priority: u8,
    /// Code points of its packets; equal for TCP.
    pub dscp: DscpSpec,
}

/// Statistics of a set of port or queue pair numbers of a rank: count, minimum, maximum, first values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Numbers {
    /// Number of values, duplicates included.
    pub count: u64,
    /// The smallest; 0 if empty.
    pub least: u32,
    /// The largest; 0 if empty.
    pub largest: u32,
    /// The first values, at most 4, in the order of queue pairs.
    pub first: Vec<u32>,
}

impl Numbers {
    fn add(&mut self, number: u32) {
        self.least = if self.count == 0 { number } else { self.least.min(number) };
        self.largest = self.largest.max(number);
        self.count += 1;
        if self.first.len() < LISTED_MAX {
            self.first.push(number);
        }
    }
}

/// Numbers in the packets that a rank sends by a port.
#[derive(Default)]
struct Sent {
    source_ports: Numbers,
    destination_qps: Numbers,
}

/// [`Sent`] by rank and port.
type SentByPort = BTreeMap<(u32, AttachmentId), Sent>;

/// The port map of a spec: jobs first, then TCP traffic, by rank and port. A rank has a row for each port
/// used by its queue pairs, or if there are none for the first of its GPU or host.
///
/// # Errors
/// When the spec cannot be run.
pub fn port_map(spec: &RunSpec) -> Result<Vec<PortRow>, SpecError> {
    spec::check(spec)?;
    let fabric = Fabric::new(&spec.fabric)?;
    let flows = Flows::new(spec, &fabric)?;
    let mut rows = Vec::new();
    for (number, sent) in (0..).zip(sent_by_jobs(spec, &flows)) {
        let job = &spec.jobs[number as usize];
        let (priority, dscp) = (spec.priority_of(number), spec.dscp_of(number));
        let of_job =
            Group { name: &job.name, protocol: "roce", hosts: &job.hosts, gpus: &job.gpus, priority, dscp };
        rows.extend(of_job.rows(spec, &fabric, sent));
    }
    for (traffic, sent) in spec.tcp.iter().zip(sent_by_tcp(spec, &fabric)?) {
        let dscp = traffic.dscp.unwrap_or_default();
        let dscp = DscpSpec { data: dscp, ack: dscp, cnp: dscp };
        let (name, hosts, priority) = (&traffic.name, &traffic.hosts, traffic.priority);
        rows.extend(
            Group { name, protocol: "tcp", hosts, gpus: &[], priority, dscp }.rows(spec, &fabric, sent),
        );
    }
    Ok(rows)
}

fn sent_by_jobs(spec: &RunSpec, flows: &Flows) -> Vec<SentByPort> {
    let mut sent_by_port: Vec<SentByPort> = spec.jobs.iter().map(|_| SentByPort::new()).collect();
    // Queue pairs between ranks of one host use its memory and no port.
    let between_hosts = |pair: &QueuePair| !pair.is_local();
    flows.queue_pairs().filter(between_hosts).for_each(|pair| {
        let job = &mut sent_by_port[pair.job as usize];
        let [from, to] = flows.attachments(&pair, Direction::Forward);
        let sent = job.entry((pair.src.0, from)).or_default();
        sent.source_ports.add(pair.udp_source_port().into());
        sent.destination_qps.add(destination_qpn(pair.number).value());
        job.entry((pair.dst.0, to)).or_default();
    });
    sent_by_port
}

fn sent_by_tcp(spec: &RunSpec, fabric: &Fabric) -> Result<Vec<SentByPort>, SpecError> {
    let mut sent_by_port: Vec<SentByPort> = spec.tcp.iter().map(|_| SentByPort::new()).collect();
    for each in connections(spec, fabric)? {
        let traffic = &mut sent_by_port[each.tcp as usize];
        let sent = traffic.entry((each.src.0, each.src_attachment)).or_default();
        sent.source_ports.add(each.source_port.into());
        traffic.entry((each.dst.0, each.dst_attachment)).or_default();
    }
    Ok(sent_by_port)
}

/// The ranks of a job or of TCP traffic.
struct Group<'a> {
    name: &'a str,
    protocol: &'static str,
    hosts: &'a [u32],
    /// Of its ranks, on servers.
    gpus: &'a [u32],
    priority: u8,
    dscp: DscpSpec,
}

impl Group<'_> {
    fn rows(&self, spec: &RunSpec, fabric: &Fabric, mut sent: SentByPort) -> Vec<PortRow> {
        let first_port = |rank: u32| {
            let of_gpu = &spec.fabric.server.as_ref()?.adapters_of_gpu;
            Some(of_gpu[*self.gpus.get(rank as usize)? as usize][0])
        };
        for (rank, &host) in (0..).zip(self.hosts) {
            let is_idle =
                sent.range((rank, AttachmentId(0))..=(rank, AttachmentId(u32::MAX))).next().is_none();
            if is_idle {
                sent.insert(
                    (rank, fabric.graph.attachment_of(HostId(host), first_port(rank).unwrap_or(0))),
                    Sent::default(),
                );
            }
        }
        sent.into_iter().map(|((rank, id), sent)| self.row(spec, fabric, rank, id, sent)).collect()
    }

    fn row(&self, spec: &RunSpec, fabric: &Fabric, rank: u32, id: AttachmentId, sent: Sent) -> PortRow {
        let graph = &fabric.graph;
        let Attachment { host, host_port, switch, switch_port, ip, prefix, gateway, mac, .. } =
            *graph.attachment(id);
        PortRow {
            job: self.name.into(),
            protocol: self.protocol,
            rank,
            host: graph.nodes[host.index()].name.clone(),
            host_number: host.0,
            host_port,
            switch: graph.node(switch).name.clone(),
            switch_port,
            // Link `a` is the cable of attachment `a`.
            rate_bps: graph.links[id.index()].rate.bps(),
            lid: lid(id),
            ip: ip.to_string(),
            prefix,
            gateway: gateway.map(|address| address.to_string()),
            mac: MacAddress(mac).to_string(),
            vlan: spec.fabric.addresses.as_ref().and_then(|given| given.vlan),
            source_ports: sent.source_ports,
            destination_qps: sent.destination_qps,
            priority: self.priority,
            dscp: self.dscp,
        }
    }
}
