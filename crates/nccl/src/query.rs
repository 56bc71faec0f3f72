//! A question about a cluster and its answer, as JSON for other languages.

use crate::bandwidth::Bandwidth;
use crate::cluster::{Cluster, Hardware};
use crate::communicator::{ChannelCounts, MergedGraph, NvlsSetup};
use crate::kinds::{Algorithm, Collective, Protocol};
use crate::rules::Rules;
use crate::settings::{SettingError, Settings};
use crate::tuner::{Choice, Operation};
use crate::version::{Version, VersionError};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Variables that the settings have and that change neither graphs nor choices: the network transport's.
const OF_TRANSPORT: [&str; 4] =
    ["NCCL_IB_QPS_PER_CONNECTION", "NCCL_IB_SPLIT_DATA_ON_QPS", "NCCL_IB_TC", "NCCL_IB_TIMEOUT"];
/// The variable that names adapters, which regular servers do not.
const ADAPTERS: &str = "NCCL_IB_HCA";

/// Kind of the operations of a query.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Traffic {
    /// A collective that the tuner chooses an algorithm for. The size is the larger buffer.
    Collective(Collective),
    /// A transfer from each rank to one other. The size is that of the transfer.
    SendReceive,
    /// A transfer from each rank to each. The size is the buffer of a rank.
    AllToAll,
}

/// Servers, version and variables of a communicator, and operations of interest.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Query {
    /// Hardware of a server.
    pub hardware: Hardware,
    /// Number of servers.
    pub servers: usize,
    /// Version of NCCL.
    pub version: String,
    /// Environment variables of NCCL with their values.
    pub variables: Vec<(String, String)>,
    /// Kind of the operations.
    pub traffic: Traffic,
    /// Sizes of operations in bytes.
    pub sizes: Vec<u64>,
}

/// A query with a version or a variable that is not allowed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum QueryError {
    /// The version.
    #[error(transparent)]
    Version(#[from] VersionError),
    /// A variable.
    #[error(transparent)]
    Setting(#[from] SettingError),
}

/// Graphs, channels and choices of a communicator.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// Version of NCCL.
    pub version: Version,
    /// Nodes: servers, or NVLink domains of several.
    pub nodes: usize,
    /// Ranks.
    pub ranks: usize,
    /// Graphs of the algorithms that have one.
    pub graphs: Vec<GraphAnswer>,
    /// Numbers of channels.
    pub channels: ChannelCounts,
    /// Channels and chunks of NVLS.
    pub nvls: NvlsSetup,
    /// Rings of the search, as ranks; channel c uses ring c mod length.
    pub rings: Vec<Vec<usize>>,
    /// Entry and exit NIC of each ring on the first node.
    pub ring_nics: Vec<(Option<usize>, Option<usize>)>,
    /// The same of each tree; channel c uses tree c mod length.
    pub tree_nics: Vec<(Option<usize>, Option<usize>)>,
    /// The same of each NVLS head.
    pub nvls_nics: Vec<(Option<usize>, Option<usize>)>,
    /// Bandwidth of the NVLinks of a GPU together [MB/s]; of servers that are not listed part by part.
    pub nvlink_of_gpu: Option<Bandwidth>,
    /// Part of it that NVLS uses.
    pub nvls_efficiency: f64,
    /// Transfers to some peers of other nodes are sent by the GPU on the peer's rail (PXN).
    pub pxn: bool,
    /// Bytes of a chunk of send and receive, before it is adapted to the transfer.
    pub peer_chunk_bytes: u64,
    /// Variables without an effect on this answer, in the order given.
    pub ignored: Vec<String>,
    /// The operations.
    pub operations: Vec<OperationAnswer>,
}

/// A merged graph with its algorithm.
#[derive(Clone, Debug, Serialize)]
pub struct GraphAnswer {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Number of the pattern in logs.
    pub pattern_number: u32,
    /// The graph.
    #[serde(flatten)]
    pub graph: MergedGraph,
}

/// How NCCL runs an operation of one size.
#[derive(Clone, Debug, Serialize)]
pub struct OperationAnswer {
    /// The size.
    pub bytes: u64,
    /// The choice; none if the variables allow no algorithm and protocol.
    pub chosen: Option<ChosenAnswer>,
    /// Expected times of all combinations of a collective.
    pub times: Vec<Choice>,
}

/// How a chosen algorithm and protocol, or a transfer, is run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChosenAnswer {
    /// The algorithm of a collective.
    pub algorithm: Option<Algorithm>,
    /// The protocol.
    pub protocol: Protocol,
    /// The tuner's time of a collective [us].
    pub time_us: Option<f64>,
    /// Channels of the collective or of one transfer.
    pub channels: usize,
    /// Threads per channel of a collective.
    pub threads: Option<usize>,
    /// Ranks to which a rank sends concurrently in an all-to-all.
    pub concurrent_peers: Option<usize>,
    /// Bytes of a chunk of the first channel.
    pub chunk_bytes: u64,
    /// Bytes of a slice, which is one message.
    pub slice_bytes: u64,
    /// Messages that a rank sends on a connection of the first channel.
    pub messages: u64,
}

impl Query {
    /// Computes the answer.
    ///
    /// # Errors
    /// [`QueryError`] for a version without known rules, or a variable with a value that it does not take.
    ///
    /// # Panics
    /// Without servers or GPUs.
    pub fn answer(&self) -> Result<Answer, QueryError> {
        let version: Version = self.version.parse()?;
        let variables = || self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let parsed = Settings::from_variables(variables())?;
        let has_no_effect = |name: &str| {
            OF_TRANSPORT.contains(&name)
                || (name == ADAPTERS && matches!(self.hardware, Hardware::Regular(_)))
                || parsed.ignored.iter().any(|ignored| ignored == name)
        };
        let names = variables().map(|(name, _)| name);
        let ignored = names.filter(|name| has_no_effect(name)).map(str::to_owned).collect();
        let cluster = Cluster::new(&self.hardware, self.servers, version, &parsed.settings);
        let of_size = |&bytes: &u64| cluster.operation(self.traffic, bytes);
        Ok(Answer {
            version,
            nodes: cluster.communicator.nodes.len(),
            ranks: cluster.communicator.ranks(),
            graphs: cluster.graphs(),
            channels: cluster.communicator.channels,
            nvls: cluster.communicator.nvls,
            ring_nics: cluster.ring_nics.clone(),
            tree_nics: cluster.tree_nics.clone(),
            nvls_nics: cluster.nvls_nics.clone(),
            nvlink_of_gpu: match &self.hardware {
                Hardware::Regular(server) => server.nvlink_of_gpu(&Rules::of(version)),
                Hardware::Listed(_) => None,
            },
            nvls_efficiency: cluster.tuner.nvls_efficiency(),
            pxn: cluster.has_pxn,
            peer_chunk_bytes: cluster.peers.chunk_bytes,
            ignored,
            operations: self.sizes.iter().map(of_size).collect(),
            rings: cluster.communicator.rings,
        })
    }
}

impl Cluster {
    fn graphs(&self) -> Vec<GraphAnswer> {
        let graphs = &self.communicator.graphs;
        let named =
            [(Algorithm::Ring, graphs.ring), (Algorithm::Tree, graphs.tree), (Algorithm::Nvls, graphs.nvls)];
        named
            .into_iter()
            .filter(|(_, graph)| graph.channels > 0)
            .map(|(algorithm, graph)| GraphAnswer {
                algorithm,
                pattern_number: graph.pattern.number(),
                graph,
            })
            .collect()
    }

    fn operation(&self, traffic: Traffic, bytes: u64) -> OperationAnswer {
        let (chosen, times) = match traffic {
            Traffic::Collective(collective) => {
                let operation = Operation::new(collective, bytes);
                (self.collective(operation), self.tuner.times(operation).collect())
            }
            Traffic::SendReceive => (Some(self.transfer(bytes)), Vec::new()),
            Traffic::AllToAll => {
                let ranks = self.communicator.ranks();
                let transfer = self.transfer(bytes / ranks as u64);
                let peers = self.peers.concurrent_peers(transfer.channels).min(ranks);
                (Some(ChosenAnswer { concurrent_peers: Some(peers), ..transfer }), Vec::new())
            }
        };
        OperationAnswer { bytes, chosen, times }
    }

    fn collective(&self, operation: Operation) -> Option<ChosenAnswer> {
        let plan = self.tuner.plan(operation)?;
        let chunking = plan.chunking[0];
        Some(ChosenAnswer {
            algorithm: Some(plan.choice.algorithm),
            protocol: plan.choice.protocol,
            time_us: Some(plan.choice.time_us),
            channels: plan.work.channels(),
            threads: Some(plan.work.threads),
            concurrent_peers: None,
            chunk_bytes: chunking.chunk_bytes,
            slice_bytes: chunking.slice_bytes,
            messages: chunking.messages(),
        })
    }

    /// A transfer to a rank of another node, or on one node to any.
    fn transfer(&self, bytes: u64) -> ChosenAnswer {
        let transfer = self.peers.transfer(bytes, self.peers.several_nodes);
        ChosenAnswer {
            algorithm: None,
            protocol: transfer.protocol,
            time_us: None,
            channels: transfer.channels,
            threads: None,
            concurrent_peers: None,
            chunk_bytes: transfer.chunk_bytes,
            slice_bytes: transfer.chunk_bytes,
            messages: transfer.chunks,
        }
    }
}
