//! A communicator over equal servers: hardware, version and settings in, graphs, channels and choices out.

use crate::communicator::{ClusterNode, Communicator};
use crate::paths::Paths;
use crate::point_to_point::{PeerTraffic, nic_of_peer};
use crate::rules::Rules;
use crate::search::{Graph, Graphs};
use crate::settings::Settings;
use crate::system::{Parts, Server, System};
use crate::tuner::{Tuner, TunerInput};
use crate::version::Version;
use serde::{Deserialize, Serialize};

/// Hardware of the servers of a cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hardware {
    /// A regular server; an NVLink domain may join several.
    Regular(Server),
    /// A server as a list of parts.
    Listed(Parts),
}

impl Hardware {
    /// Most servers of a node: those of an NVLink domain, or one.
    fn servers_of_node(&self, rules: &Rules, settings: &Settings) -> usize {
        match self {
            Self::Regular(server) if rules.nvlink_domains && settings.nvlink_domains => server.hosts,
            _ => 1,
        }
    }

    /// The system of a domain of some servers.
    fn system(&self, servers: usize, rules: &Rules, settings: &Settings) -> System {
        match self {
            Self::Regular(server) => Server { hosts: servers, ..server.clone() }.system(rules),
            Self::Listed(parts) => parts.system(rules, settings),
        }
    }
}

/// A kind of node: NVLink domains with equally many servers are equal.
struct Domain {
    system: System,
    paths: Paths,
    graphs: Graphs,
    /// Position of each GPU among the ranks of its node: by host, then by device.
    positions: Vec<usize>,
}

impl Domain {
    /// Whether a GPU sends to some peer of another node over the GPU next to the NIC (PXN).
    fn has_pxn(&self, rules: &Rules, settings: &Settings) -> bool {
        let Self { system, paths, .. } = self;
        let devices = || system.gpus.iter().map(|gpu| gpu.device);
        let proxy = |gpu: usize, device: usize| {
            nic_of_peer(system, paths, gpu, device, 0, rules, settings).map(|nic| nic.proxy)
        };
        let is_proxied = |gpu: usize| devices().any(|device| proxy(gpu, device).is_some_and(|by| by != gpu));
        (0..system.gpus.len()).any(is_proxied)
    }

    fn new(system: System, rules: &Rules, settings: &Settings, several_nodes: bool) -> Self {
        let paths = Paths::compute(&system, rules, settings);
        let graphs = Graphs::search(&system, &paths, rules, settings, several_nodes);
        let mut order: Vec<usize> = (0..system.gpus.len()).collect();
        order.sort_by_key(|&gpu| (system.gpus[gpu].host, system.gpus[gpu].device));
        let mut positions = vec![0; order.len()];
        for (position, gpu) in order.into_iter().enumerate() {
            positions[gpu] = position;
        }
        Self { system, paths, graphs, positions }
    }
}

/// A communicator with a rank for each GPU of some equal servers, numbered server by server.
pub struct Cluster {
    /// The communicator.
    pub communicator: Communicator,
    /// Its tuner.
    pub tuner: Tuner,
    /// Inputs of its point-to-point transfers.
    pub peers: PeerTraffic,
    /// Transfers to some peers of other nodes are sent by the GPU on the peer's rail (PXN).
    pub has_pxn: bool,
    /// Entry and exit NIC of each ring on the first node; none on one node.
    pub ring_nics: Vec<(Option<usize>, Option<usize>)>,
    /// The same of each tree.
    pub tree_nics: Vec<(Option<usize>, Option<usize>)>,
    /// The same of each NVLS head.
    pub nvls_nics: Vec<(Option<usize>, Option<usize>)>,
}

impl Cluster {
    /// Searches and connects the graphs of some servers.
    ///
    /// # Panics
    /// Without servers or GPUs.
    #[must_use]
    pub fn new(hardware: &Hardware, servers: usize, version: Version, settings: &Settings) -> Self {
        let rules = Rules::of(version);
        let largest = hardware.servers_of_node(&rules, settings);
        let (full, rest) = (servers / largest, servers % largest);
        let nodes = full + usize::from(rest > 0);
        let domain =
            |servers| Domain::new(hardware.system(servers, &rules, settings), &rules, settings, nodes > 1);
        let full_domain = (full > 0).then(|| domain(largest));
        let rest_domain = (rest > 0).then(|| domain(rest));
        let domains: Vec<&Domain> =
            std::iter::repeat_n(full_domain.as_ref(), full).chain([rest_domain.as_ref()]).flatten().collect();
        let mut first = 0;
        let ranks = domains.iter().map(|domain| {
            let start = first;
            first += domain.positions.len();
            domain.positions.iter().map(|position| start + position).collect::<Vec<_>>()
        });
        let ranks: Vec<Vec<usize>> = ranks.collect();
        let nodes: Vec<ClusterNode<'_>> = domains
            .iter()
            .zip(&ranks)
            .map(|(domain, ranks)| ClusterNode {
                system: &domain.system,
                paths: &domain.paths,
                graphs: &domain.graphs,
                ranks,
            })
            .collect();
        let communicator = Communicator::connect(&nodes, &rules, settings);
        let tuner = Tuner::new(&TunerInput::new(&nodes, &communicator), &rules, settings);
        let peers = PeerTraffic::new(&nodes, &communicator, settings);
        let Graphs { ring, tree, nvls } = &domains[0].graphs;
        let nics = |graph: &Graph| {
            graph.channels.iter().map(|channel| (channel.entry_nic, channel.exit_nic)).collect()
        };
        Self {
            ring_nics: nics(ring),
            tree_nics: nics(tree),
            nvls_nics: nics(nvls),
            has_pxn: domains[0].has_pxn(&rules, settings),
            communicator,
            tuner,
            peers,
        }
    }
}
