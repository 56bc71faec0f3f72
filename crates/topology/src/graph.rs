//! Graph of hosts, switches and links: nodes with ports, cables, host ports with addresses; connectivity, and
//! the host ports that traffic between two hosts uses.

use std::net::Ipv4Addr;
use units::{AttachmentId, HostId, LinkId, NodeId, Rate, Span};

/// Kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// An endpoint with one NIC, which has one or more ports.
    Host,
    /// A switch.
    Switch,
}

/// A port of a node and its cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// Link of the cable.
    pub link: LinkId,
    /// Node at the other end.
    pub peer: NodeId,
    /// Port at the other end.
    pub peer_port: u16,
}

/// A node of the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// `host3`, `leaf0`, `spine1`, `agg2`, `core0`, `rail1`, `scaleup0`, `mesh`, or the name given in a plan.
    pub name: String,
    /// Host or switch.
    pub kind: NodeKind,
    /// 0 hosts, 1 leaves (also rail and scale-up switches, the mesh), 2 spines or aggregation switches,
    /// 3 core switches; in a custom fabric the distance to the nearest host.
    pub tier: u8,
    /// Whether it is a crossbar without pipeline latency and with unlimited buffer: the mesh, scale-up
    /// switches.
    pub ideal: bool,
    /// Its ports, by number.
    pub ports: Vec<Port>,
}

/// One end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The node.
    pub node: NodeId,
    /// The port of that node.
    pub port: u16,
}

/// A full-duplex cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Both ends, lower tier first.
    pub ends: [End; 2],
    /// Line rate of each direction.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Span,
}

/// A host port connected to the fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// The host.
    pub host: HostId,
    /// Number of the host's port.
    pub host_port: u16,
    /// The switch at the other end.
    pub switch: NodeId,
    /// The port of that switch.
    pub switch_port: u16,
    /// IP address of the port, unique in the fabric.
    pub ip: Ipv4Addr,
    /// Prefix length of its subnet.
    pub prefix: u8,
    /// Next hop for other subnets, if any; its MAC address is that of the switch port.
    pub gateway: Option<Ipv4Addr>,
    /// MAC address, unique in the fabric.
    pub mac: [u8; 6],
    /// MAC address of the switch port.
    pub switch_mac: [u8; 6],
}

impl Attachment {
    /// Network address of its subnet.
    #[must_use]
    pub fn network(&self) -> Ipv4Addr {
        let host_bits = 32 - u32::from(self.prefix);
        Ipv4Addr::from_bits(self.ip.to_bits() >> host_bits << host_bits)
    }

    /// Destination MAC address of frames to `peer`: that of the peer within the subnet, otherwise that of the
    /// gateway.
    #[must_use]
    pub fn next_mac(&self, peer: &Self) -> [u8; 6] {
        let is_neighbour = self.prefix == peer.prefix && self.network() == peer.network();
        if is_neighbour || self.gateway.is_none() { peer.mac } else { self.switch_mac }
    }
}

/// Network of nodes and links. Hosts are the first nodes, followed by the switches by tier.
///
/// Every host has the same number of ports, so port `p` of host `h` is attachment `p * hosts + h`. Link `a`
/// is the cable of attachment `a`; the links between switches follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Hosts, then switches.
    pub nodes: Vec<Node>,
    /// Cables.
    pub links: Vec<Link>,
    /// All host ports, ordered by (port number, host): attachment `h` is port 0 of host `h`.
    pub attachments: Vec<Attachment>,
    pub(crate) hosts: usize,
    /// Number of planes: fabrics connected only through the hosts. Port `p` of each host is in plane `p`.
    pub(crate) planes: u16,
}

impl Graph {
    /// Number of hosts; node `hosts()` is the first switch.
    #[must_use]
    pub const fn hosts(&self) -> usize {
        self.hosts
    }

    /// Number of switches.
    #[must_use]
    pub fn switches(&self) -> usize {
        self.nodes.len() - self.hosts()
    }

    /// Number of planes: fabrics connected only through the hosts.
    #[must_use]
    pub const fn planes(&self) -> u16 {
        self.planes
    }

    /// Whether all switches with hosts are connected in each plane, so that frames get from every host to
    /// every other through switches only (hosts do not forward).
    #[must_use]
    pub fn is_joined_by_switches(&self) -> bool {
        let planes = self.attachments.chunks(self.hosts().max(1)).take(usize::from(self.planes));
        let mut reached = vec![false; self.nodes.len()];
        planes.into_iter().all(|plane| {
            self.reach(plane[0].switch.index(), &mut reached);
            plane.iter().all(|attachment| reached[attachment.switch.index()])
        })
    }

    /// The same network with servers: every `adapters` consecutive hosts, each with one port, become one host
    /// with their ports, in this order. Hosts are named anew, `host0`, `host1`, ..., as are their addresses.
    ///
    /// # Panics
    /// If a host has another number of ports, or the hosts are not a multiple of `adapters`.
    #[must_use]
    pub fn with_servers(self, adapters: usize) -> Self {
        let adapters_before = self.hosts;
        let hosts = adapters_before / adapters;
        assert!(self.attachments.len() == adapters_before && hosts * adapters == adapters_before);
        // Node and link of an adapter have its number; ports of hosts are numbered port by port.
        let node_of = |node: NodeId| match node.index().checked_sub(adapters_before) {
            None => NodeId::from_index(node.index() / adapters),
            Some(switch) => NodeId::from_index(hosts + switch),
        };
        let link_of = |link: LinkId| match link.index() < adapters_before {
            true => LinkId::from_index(link.index() % adapters * hosts + link.index() / adapters),
            false => link,
        };
        let end_of = |end: End| match end.node.index() < adapters_before {
            true => End { node: node_of(end.node), port: (end.node.index() % adapters) as u16 },
            false => End { node: node_of(end.node), port: end.port },
        };
        let moved = |port: &Port| {
            let peer = end_of(End { node: port.peer, port: port.peer_port });
            Port { link: link_of(port.link), peer: peer.node, peer_port: peer.port }
        };
        let servers =
            self.nodes[..adapters_before].chunks(adapters).enumerate().map(|(server, members)| Node {
                name: format!("host{server}"),
                ports: members.iter().map(|member| moved(&member.ports[0])).collect(),
                ..members[0].clone()
            });
        let switches = self.nodes[adapters_before..]
            .iter()
            .map(|switch| Node { ports: switch.ports.iter().map(moved).collect(), ..switch.clone() });
        let nodes: Vec<Node> = servers.chain(switches).collect();
        let mut links = self.links.clone();
        for (id, link) in (0..).map(LinkId).zip(&self.links) {
            links[link_of(id).index()] = Link { ends: link.ends.map(end_of), ..*link };
        }
        let mut attachments = self.attachments.clone();
        for (index, attachment) in self.attachments.iter().enumerate() {
            let id = link_of(LinkId::from_index(index)).index();
            attachments[id] = Attachment {
                host: HostId((index / adapters) as u32),
                host_port: (index % adapters) as u16,
                switch: node_of(attachment.switch),
                ..*attachment
            };
        }
        Self { nodes, links, attachments, hosts, planes: 1 }
    }

    /// Marks all switches connected to one.
    fn reach(&self, switch: usize, reached: &mut [bool]) {
        let mut pending = vec![switch];
        while let Some(switch) = pending.pop() {
            if std::mem::replace(&mut reached[switch], true) {
                continue;
            }
            let peers = self.nodes[switch].ports.iter().map(|port| port.peer.index());
            pending.extend(peers.filter(|&peer| peer >= self.hosts() && !reached[peer]));
        }
    }

    /// The node with this id.
    ///
    /// # Panics
    /// If the graph has no such node.
    #[inline]
    #[must_use]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The link with this id.
    ///
    /// # Panics
    /// If the graph has no such link.
    #[inline]
    #[must_use]
    pub fn link(&self, id: LinkId) -> &Link {
        &self.links[id.index()]
    }

    /// The attachment with this id.
    ///
    /// # Panics
    /// If the graph has no such attachment.
    #[inline]
    #[must_use]
    pub fn attachment(&self, id: AttachmentId) -> &Attachment {
        &self.attachments[id.index()]
    }

    /// The attachment of port `host_port` of `host`.
    ///
    /// # Panics
    /// If the host has no such port.
    #[inline]
    #[must_use]
    pub fn attachment_of(&self, host: HostId, host_port: u16) -> AttachmentId {
        let hosts = self.hosts();
        assert!(host.index() < hosts, "host {host} is not one of the {hosts} hosts");
        let id = AttachmentId::from_index(usize::from(host_port) * hosts + host.index());
        assert!(id.index() < self.attachments.len(), "host {host} has no port {host_port}");
        id
    }

    /// Host ports that traffic from `src` to `dst` uses: those on a common scale-up switch if any, otherwise
    /// port 0 of each. With several planes, queue pair `part` of those between the two hosts uses plane
    /// `(src + dst + part) mod planes` in both directions. This distributes the queue pairs of two hosts
    /// evenly over the planes, as well as those of a host with one queue pair per peer.
    ///
    /// # Panics
    /// If the graph has no such host.
    #[inline]
    #[must_use]
    pub fn attachments_between(&self, src: HostId, dst: HostId, part: u32) -> (AttachmentId, AttachmentId) {
        if self.planes > 1 {
            return self.pair_of_ports(src, dst, self.plane(src, dst, part));
        }
        let ports = self.nodes[src.index()].ports.len() as u16;
        if ports == 1 { self.pair_of_ports(src, dst, 0) } else { self.nearest_attachments(src, dst, ports) }
    }

    /// Host ports of data between two hosts: those given, otherwise those of [`Self::attachments_between`].
    ///
    /// # Panics
    /// If the graph has no such host or port.
    #[inline]
    #[must_use]
    pub fn attachments_on(
        &self,
        [src, dst]: [HostId; 2],
        ports: Option<[u16; 2]>,
        part: u32,
    ) -> (AttachmentId, AttachmentId) {
        match ports {
            Some([from, to]) => (self.attachment_of(src, from), self.attachment_of(dst, to)),
            None => self.attachments_between(src, dst, part),
        }
    }

    const fn plane(&self, src: HostId, dst: HostId, part: u32) -> u16 {
        let sum = src.0 as u64 + dst.0 as u64 + part as u64;
        (sum % self.planes as u64) as u16
    }

    /// The port with the same number of each host.
    #[inline]
    fn pair_of_ports(&self, src: HostId, dst: HostId, port: u16) -> (AttachmentId, AttachmentId) {
        (self.attachment_of(src, port), self.attachment_of(dst, port))
    }

    fn nearest_attachments(&self, src: HostId, dst: HostId, ports: u16) -> (AttachmentId, AttachmentId) {
        (1..ports)
            .map(|port| self.pair_of_ports(src, dst, port))
            .find(|&(a, b)| self.share_ideal_switch(a, b))
            .unwrap_or_else(|| self.pair_of_ports(src, dst, 0))
    }

    fn share_ideal_switch(&self, a: AttachmentId, b: AttachmentId) -> bool {
        let switch = self.attachment(a).switch;
        switch == self.attachment(b).switch && self.node(switch).ideal
    }
}

#[cfg(test)]
mod tests {
    use crate::assembly::Assembly;
    use crate::testing::{cable, check_consistency, rails};
    use crate::{Builder, LeafSpine};
    use units::{AttachmentId, HostId};

    #[test]
    fn traffic_inside_a_server_takes_the_scale_up_ports() {
        let graph = rails(3, 4, 2, 1, true).build().unwrap();
        let between = |a, b| graph.attachments_between(HostId(a), HostId(b), 0);
        assert_eq!(between(4, 7), (AttachmentId(12 + 4), AttachmentId(12 + 7)));
        assert_eq!(between(3, 4), (AttachmentId(3), AttachmentId(4)));
    }

    #[test]
    fn hosts_that_only_hosts_join_are_not_joined() {
        let leaf_spine = |spines| LeafSpine {
            leaves: 2,
            hosts_per_leaf: 2,
            spines,
            links_per_spine: 1,
            host_link: cable(400),
            fabric_link: cable(400),
        };
        assert!(leaf_spine(2).build().unwrap().is_joined_by_switches());
        // Rails are connected within a server only through hosts, which do not forward; with spines they are
        // connected.
        assert!(!rails(3, 4, 0, 1, true).build().unwrap().is_joined_by_switches());
        assert!(rails(3, 4, 2, 1, true).build().unwrap().is_joined_by_switches());
        assert!(rails(3, 4, 2, 1, false).build().unwrap().is_joined_by_switches());
    }

    #[test]
    fn consecutive_hosts_become_the_ports_of_a_server() {
        let adapters = rails(3, 4, 2, 1, false).build().unwrap();
        let graph = adapters.clone().with_servers(4);
        check_consistency(&graph);
        assert_eq!((graph.hosts(), graph.attachments.len(), graph.switches()), (3, 12, 6));
        for adapter in 0..12 {
            let (server, port) = (HostId(adapter / 4), (adapter % 4) as u16);
            let moved = graph.attachment(graph.attachment_of(server, port));
            let before = adapters.attachment(AttachmentId(adapter));
            assert_eq!((moved.host, moved.host_port), (server, port));
            assert_eq!(graph.node(moved.switch).name, adapters.node(before.switch).name);
            assert_eq!((moved.switch_port, moved.ip, moved.mac), (before.switch_port, before.ip, before.mac));
        }
        assert!(graph.is_joined_by_switches());
    }

    #[test]
    fn traffic_of_hosts_with_one_port_takes_it() {
        let graph = rails(3, 4, 2, 1, false).build().unwrap();
        assert_eq!(graph.attachments_between(HostId(4), HostId(7), 1), (AttachmentId(4), AttachmentId(7)));
    }

    #[test]
    fn a_second_port_on_the_fabric_is_no_scale_up_port() {
        let mut assembly = Assembly::new(2, 4);
        for leaf in assembly.switches("leaf", 1, 2) {
            for host in assembly.hosts() {
                assembly.connect(host, leaf, cable(400));
            }
        }
        let graph = assembly.finish();
        check_consistency(&graph);
        assert_eq!(graph.attachments_between(HostId(1), HostId(0), 1), (AttachmentId(1), AttachmentId(0)));
    }

    #[test]
    #[should_panic(expected = "host 2 has no port 1")]
    fn a_port_that_a_host_does_not_have_is_refused() {
        let (host_link, fabric_link) = (cable(400), cable(400));
        let shape =
            LeafSpine { leaves: 2, hosts_per_leaf: 2, spines: 1, links_per_spine: 1, host_link, fabric_link };
        let _ = shape.build().unwrap().attachment_of(HostId(2), 1);
    }
}
