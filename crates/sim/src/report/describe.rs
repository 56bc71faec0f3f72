//! Describes the network and traffic of a spec without running it: nodes, links, queue pairs and TCP
//! connections.

use super::capture::lid;
use crate::setup::{Direction, Fabric, Flows, connections};
use jobs::{QueuePair, destination_qpn};
use serde::Serialize;
use spec::{RunSpec, SpecError};
use topology::NodeKind;
use wire::ethernet::MacAddress;

/// A node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeDescription {
    /// Its name.
    pub name: String,
    /// `host` or `switch`.
    pub kind: &'static str,
    /// 0 hosts, 1 leaves, 2 spines or aggregation, 3 core.
    pub tier: u8,
}

/// A cable; the end in the lower tier is `from`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LinkDescription {
    /// Node at one end.
    pub from: String,
    /// Its port.
    pub from_port: u16,
    /// IP address of that port, if the node is a host.
    pub from_ip: Option<String>,
    /// MAC address of that port, if the node is a host.
    pub from_mac: Option<String>,
    /// MAC address of the port at the other end, if the node is a host.
    pub to_mac: Option<String>,
    /// Node at the other end.
    pub to: String,
    /// Its port.
    pub to_port: u16,
    /// Higher tier of the two ends.
    pub tier: u8,
    /// Line rate [bit/s].
    pub rate_bps: u64,
    /// Propagation delay [ps].
    pub delay_ps: u64,
}

/// A queue pair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QueuePairDescription {
    /// Its number.
    pub qp: u32,
    /// Name of its job.
    pub job: String,
    /// Its number among the queue pairs of its rank pair.
    pub part: u32,
    /// Sending rank.
    pub src_rank: u32,
    /// Receiving rank.
    pub dst_rank: u32,
    /// Sending host.
    pub src_host: u32,
    /// Receiving host.
    pub dst_host: u32,
    /// Address of the sending port.
    pub src_ip: String,
    /// Address of the receiving port.
    pub dst_ip: String,
    /// InfiniBand local identifier of the requester's port.
    pub src_lid: u16,
    /// InfiniBand local identifier of the responder's port.
    pub dst_lid: u16,
    /// UDP source port.
    pub udp_source_port: u16,
    /// Destination queue pair number in its packets.
    pub dst_qpn: u32,
    /// Code point of its data.
    pub dscp: u8,
    /// Channel of the algorithm.
    pub channel: u32,
    /// Step of the algorithm at which its first data chunk is sent.
    pub step: u32,
}

/// A TCP connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConnectionDescription {
    /// Its number for [`crate::capture`]: after those of the queue pairs.
    pub qp: u32,
    /// Name of its traffic.
    pub job: String,
    /// Sending rank.
    pub src_rank: u32,
    /// Receiving rank.
    pub dst_rank: u32,
    /// Sending host.
    pub src_host: u32,
    /// Receiving host.
    pub dst_host: u32,
    /// Address of the sending port.
    pub src_ip: String,
    /// Address of the receiving port.
    pub dst_ip: String,
    /// TCP source port.
    pub source_port: u16,
    /// Code point of its frames.
    pub dscp: u8,
}

/// Description of a spec.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Description {
    /// Hosts, then switches.
    pub nodes: Vec<NodeDescription>,
    /// Cables.
    pub links: Vec<LinkDescription>,
    /// Queue pairs.
    pub qps: Vec<QueuePairDescription>,
    /// TCP connections.
    pub connections: Vec<ConnectionDescription>,
}

/// Describes `spec`.
///
/// # Errors
/// When it cannot be run.
pub fn describe(spec: &RunSpec) -> Result<Description, SpecError> {
    spec::check(spec)?;
    let fabric = Fabric::new(&spec.fabric)?;
    let flows = Flows::new(spec, &fabric)?;
    let connections = tcp_connections(spec, &fabric, flows.queue_pair_count())?;
    let qps = queue_pairs(spec, &fabric, &flows);
    Ok(Description { nodes: nodes(&fabric), links: links(&fabric), qps, connections })
}

fn nodes(fabric: &Fabric) -> Vec<NodeDescription> {
    let describe = |node: &topology::Node| NodeDescription {
        name: node.name.clone(),
        kind: match node.kind {
            NodeKind::Host => "host",
            NodeKind::Switch => "switch",
        },
        tier: node.tier,
    };
    fabric.graph.nodes.iter().map(describe).collect()
}

fn links(fabric: &Fabric) -> Vec<LinkDescription> {
    let graph = &fabric.graph;
    let describe = |link: &topology::Link, number: usize| {
        let [from, to] = link.ends;
        LinkDescription {
            from: graph.node(from.node).name.clone(),
            from_port: from.port,
            // Link `a` is the cable of attachment `a`; links between switches follow.
            from_ip: graph.attachments.get(number).map(|attachment| attachment.ip.to_string()),
            from_mac: graph.attachments.get(number).map(|port| MacAddress(port.mac).to_string()),
            to_mac: graph.attachments.get(number).map(|port| MacAddress(port.switch_mac).to_string()),
            to: graph.node(to.node).name.clone(),
            to_port: to.port,
            tier: graph.node(from.node).tier.max(graph.node(to.node).tier),
            rate_bps: link.rate.bps(),
            delay_ps: link.delay.0,
        }
    };
    graph.links.iter().enumerate().map(|(number, link)| describe(link, number)).collect()
}

fn queue_pairs(spec: &RunSpec, fabric: &Fabric, flows: &Flows) -> Vec<QueuePairDescription> {
    let ip = |attachment| fabric.graph.attachment(attachment).ip.to_string();
    let describe = |pair: QueuePair| {
        let [src, dst] = flows.attachments(&pair, Direction::Forward);
        QueuePairDescription {
            qp: pair.number,
            job: spec.jobs[pair.job as usize].name.clone(),
            part: pair.part,
            src_rank: pair.src.0,
            dst_rank: pair.dst.0,
            src_host: pair.src_host.0,
            dst_host: pair.dst_host.0,
            src_ip: ip(src),
            dst_ip: ip(dst),
            src_lid: lid(src),
            dst_lid: lid(dst),
            udp_source_port: pair.udp_source_port(),
            dst_qpn: destination_qpn(pair.number).value(),
            dscp: spec.dscp_of(pair.job).data,
            channel: pair.channel,
            step: first_step(flows, &pair),
        }
    };
    flows.queue_pairs().map(describe).collect()
}

fn tcp_connections(
    spec: &RunSpec,
    fabric: &Fabric,
    first: u32,
) -> Result<Vec<ConnectionDescription>, SpecError> {
    let ip = |attachment| fabric.graph.attachment(attachment).ip.to_string();
    let connections = connections(spec, fabric)?;
    let descriptions = (first..).zip(&connections).map(|(qp, each)| ConnectionDescription {
        qp,
        job: spec.tcp[each.tcp as usize].name.clone(),
        src_rank: each.src.0,
        dst_rank: each.dst.0,
        src_host: each.src_host.0,
        dst_host: each.dst_host.0,
        src_ip: ip(each.src_attachment),
        dst_ip: ip(each.dst_attachment),
        source_port: each.source_port,
        dscp: spec.tcp[each.tcp as usize].dscp.unwrap_or_default(),
    });
    Ok(descriptions.collect())
}

/// Step of the first chunk of a queue pair; every queue pair has one.
fn first_step(flows: &Flows, pair: &QueuePair) -> u32 {
    flows.chunks_of(pair.number).next().map_or(0, |chunk| flows.transfer(&flows.chunk(chunk)).step)
}
