//! Assembles a graph from nodes and links: adds hosts and switches, numbers ports in the order of connection,
//! addresses host ports.

use crate::address;
use crate::builder::LinkSpec;
use crate::graph::{Attachment, End, Graph, Link, Node, NodeKind, Port};
use units::{AttachmentId, HostId, LinkId, NodeId};

/// A graph under construction. Nodes are ordered hosts first, then switches by tier. Ports are numbered in
/// the order of connection. Host cables precede those between switches, and port 0 of all hosts precedes port
/// 1.
pub(crate) struct Assembly {
    nodes: Vec<Node>,
    links: Vec<Link>,
    hosts: usize,
}

impl Assembly {
    /// Creates `hosts` hosts, and reserves memory for `links` links.
    pub(crate) fn new(hosts: u32, links: u64) -> Self {
        let host = |index| Node {
            name: format!("host{index}"),
            kind: NodeKind::Host,
            tier: 0,
            ideal: false,
            ports: Vec::new(),
        };
        Self {
            nodes: (0..hosts).map(host).collect(),
            links: Vec::with_capacity(links as usize),
            hosts: hosts as usize,
        }
    }

    /// The hosts, in order.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.hosts).map(NodeId::from_index)
    }

    /// Adds `count` switches of `tier`, named `role0`, `role1`, ...
    pub(crate) fn switches(&mut self, role: &str, tier: u8, count: u32) -> Vec<NodeId> {
        (0..count).map(|index| self.switch(format!("{role}{index}"), tier, false)).collect()
    }

    /// Adds `count` ideal crossbars of tier 1, named `role0`, `role1`, ...
    pub(crate) fn crossbars(&mut self, role: &str, count: u32) -> Vec<NodeId> {
        (0..count).map(|index| self.crossbar(format!("{role}{index}"))).collect()
    }

    /// Adds one ideal crossbar of tier 1.
    pub(crate) fn crossbar(&mut self, name: String) -> NodeId {
        self.switch(name, 1, true)
    }

    /// Adds one switch of `tier`; switches must be added in ascending order of tier.
    pub(crate) fn named_switch(&mut self, name: &str, tier: u8) -> NodeId {
        self.switch(name.to_owned(), tier, false)
    }

    fn switch(&mut self, name: String, tier: u8, ideal: bool) -> NodeId {
        let id = NodeId::from_index(self.nodes.len());
        self.nodes.push(Node { name, kind: NodeKind::Switch, tier, ideal, ports: Vec::new() });
        id
    }

    /// Connects the next free port of each of two nodes; `lower` must not have a higher tier than `upper`.
    pub(crate) fn connect(&mut self, lower: NodeId, upper: NodeId, cable: LinkSpec) {
        debug_assert!(self.nodes[lower.index()].tier <= self.nodes[upper.index()].tier);
        let link = LinkId::from_index(self.links.len());
        let ends = [self.free_port(lower), self.free_port(upper)];
        for [end, other] in [ends, [ends[1], ends[0]]] {
            let port = Port { link, peer: other.node, peer_port: other.port };
            self.nodes[end.node.index()].ports.push(port);
        }
        self.links.push(Link { ends, rate: cable.rate(), delay: cable.delay() });
    }

    /// Connects two nodes by `count` parallel cables.
    pub(crate) fn connect_by(&mut self, count: u32, lower: NodeId, upper: NodeId, cable: LinkSpec) {
        for _ in 0..count {
            self.connect(lower, upper, cable);
        }
    }

    /// Connects the hosts to the crossbars of their servers, `gpus` hosts per server.
    pub(crate) fn connect_servers(&mut self, scale_up: &[NodeId], gpus: u32, cable: LinkSpec) {
        for host in self.hosts() {
            self.connect(host, scale_up[host.index() / gpus as usize], cable);
        }
    }

    fn free_port(&self, node: NodeId) -> End {
        let port = u16::try_from(self.nodes[node.index()].ports.len());
        End { node, port: port.expect("the limits keep port numbers within 16 bits") }
    }

    /// Finishes the graph: numbers and addresses the host ports, each of which is in its own plane.
    pub(crate) fn finish_in_planes(self) -> Graph {
        let graph = self.finish();
        let planes = (graph.attachments.len() / graph.hosts()) as u16;
        Graph { planes, ..graph }
    }

    /// Finishes the graph: numbers and addresses the host ports, of which port 0 is on the fabric.
    pub(crate) fn finish(self) -> Graph {
        let ports = self.nodes.first().map_or(0, |host| host.ports.len()) as u16;
        let attachments: Vec<_> = (0..ports)
            .flat_map(|port| self.hosts().map(move |host| (host, port)))
            .enumerate()
            .map(|(index, (host, port))| self.attachment(AttachmentId::from_index(index), host, port))
            .collect();
        Graph { nodes: self.nodes, links: self.links, attachments, hosts: self.hosts, planes: 1 }
    }

    fn attachment(&self, id: AttachmentId, host: NodeId, host_port: u16) -> Attachment {
        let port = self.nodes[host.index()].ports[usize::from(host_port)];
        assert_eq!(port.link.0, id.0, "link {} must be the cable of attachment {id}", port.link);
        let host = HostId(host.0);
        Attachment {
            host,
            host_port,
            switch: port.peer,
            switch_port: port.peer_port,
            ip: address::ip(host, host_port),
            prefix: address::prefix(self.hosts),
            gateway: None,
            mac: address::mac(id),
            switch_mac: address::switch_mac(id),
        }
    }
}
