//! A communicator of equal nodes, with the graphs, channels and paths that a version gives it.

use fabricbench_nccl::{
    ClusterNode, Communicator, Graph, Graphs, Paths, Rules, Server, Settings, System, Version,
};

/// Hardware, version and settings.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) system: System,
    pub(crate) version: Version,
    pub(crate) nodes: usize,
    pub(crate) settings: Settings,
}

/// Results of a case.
pub(crate) struct Run {
    pub(crate) case: Case,
    pub(crate) rules: Rules,
    pub(crate) paths: Paths,
    pub(crate) graphs: Graphs,
}

impl Case {
    pub(crate) fn new(server: &Server, version: &str, nodes: usize) -> Self {
        let version: Version = version.parse().expect("a known version");
        let system = server.system(&Rules::of(version));
        Self { system, version, nodes, settings: Settings::default() }
    }

    /// NCCL 2.30, one node.
    pub(crate) fn one_node(server: &Server) -> Self {
        Self::new(server, "2.30", 1)
    }

    /// NCCL 2.30, two nodes.
    pub(crate) fn two_nodes(server: &Server) -> Self {
        Self::new(server, "2.30", 2)
    }

    /// Only some GPUs of each node.
    pub(crate) fn with_gpus(self, gpus: &[usize]) -> Self {
        Self { system: self.system.with_gpus(gpus), ..self }
    }

    pub(crate) fn with(self, variables: &[(&str, &str)]) -> Self {
        let parsed = Settings::from_variables(variables.iter().copied()).expect("allowed values");
        assert!(parsed.ignored.is_empty(), "{:?}", parsed.ignored);
        Self { settings: parsed.settings, ..self }
    }

    pub(crate) fn run(self) -> Run {
        let rules = Rules::of(self.version);
        let paths = Paths::compute(&self.system, &rules, &self.settings);
        let graphs = Graphs::search(&self.system, &paths, &rules, &self.settings, self.nodes > 1);
        Run { case: self, rules, paths, graphs }
    }
}

impl Run {
    /// Ranks of each node: consecutive.
    fn ranks(&self) -> Vec<Vec<usize>> {
        let gpus = self.case.system.gpus.len();
        (0..self.case.nodes).map(|node| (node * gpus..(node + 1) * gpus).collect()).collect()
    }

    pub(crate) fn with_nodes<T>(&self, consume: impl FnOnce(&[ClusterNode<'_>]) -> T) -> T {
        let ranks = self.ranks();
        let node = |ranks| ClusterNode {
            system: &self.case.system,
            paths: &self.paths,
            graphs: &self.graphs,
            ranks,
        };
        let nodes: Vec<ClusterNode<'_>> = ranks.iter().map(|ranks| node(ranks)).collect();
        consume(&nodes)
    }

    pub(crate) fn communicator(&self) -> Communicator {
        self.with_nodes(|nodes| Communicator::connect(nodes, &self.rules, &self.case.settings))
    }

    /// Collective, NVLS and point-to-point channels, and channels per peer.
    pub(crate) fn counts(&self) -> [usize; 4] {
        let counts = self.communicator().channels;
        [counts.collective, counts.nvls, counts.point_to_point, counts.per_peer]
    }
}

/// Whether a graph has all properties of a description such as "P4 x2 8x48/48 NVL/PIX s0"; properties may be
/// missing, and `*` stands for any value.
pub(crate) fn matches(graph: &Graph, description: &str) -> bool {
    let text = graph.to_string();
    let properties: Vec<&str> = text.split(' ').collect();
    let same = |expected: &str, property: &str| match expected.split_once('*') {
        Some((start, end)) => {
            property.starts_with(start) && property.ends_with(end) && property.contains('/')
        }
        None => property == expected,
    };
    description.split_whitespace().all(|expected| properties.iter().any(|property| same(expected, property)))
}

/// Asserts the three graphs of a node; an empty description is of a graph without channels.
pub(crate) fn assert_graphs(name: &str, graphs: &Graphs, descriptions: [&str; 3]) {
    for (graph, description) in [&graphs.ring, &graphs.tree, &graphs.nvls].into_iter().zip(descriptions) {
        let same =
            if description.is_empty() { graph.channels.is_empty() } else { matches(graph, description) };
        assert!(same, "{name}: expected {description:?}, found {graph}");
    }
}
