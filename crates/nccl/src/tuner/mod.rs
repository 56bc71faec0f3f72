//! Tuner: the time that NCCL expects of each algorithm and protocol, its choice, and how the chosen one splits
//! an operation into channels, chunks and steps.
//!
//! `constants` has the figures, `model` the latency and bandwidth of each combination, `choice` times and the
//! choice, `work` channels and threads by size, `chunks` chunks and steps. One operation at a time: NCCL
//! saves latency for operations of one group.
//!
//! Source: NCCL 2.18 to 2.31 `src/graph/tuning.cc`, `src/enqueue.cc`.
#![expect(
    clippy::float_arithmetic,
    reason = "NCCL's formulas; times are inputs of a choice, not simulated time"
)]

mod choice;
mod chunks;
mod constants;
mod model;
mod work;

pub use choice::{Choice, Operation, Plan};
pub use chunks::{Chunking, PIPELINE_STEPS};
pub use model::{Cost, Tuner};
pub use work::Work;

use crate::communicator::{ClusterNode, Communicator, MergedGraphs, NvlsSetup};
use crate::system::Vendor;
use serde::{Deserialize, Serialize};

/// What the tuner knows of a communicator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TunerInput {
    /// Ranks.
    pub ranks: usize,
    /// Nodes: servers, or NVLink domains of several.
    pub nodes: usize,
    /// Smallest and largest compute capability times 10.
    pub capabilities: (u32, u32),
    /// Vendor of the CPUs.
    pub vendor: Vendor,
    /// Merged graphs.
    pub graphs: MergedGraphs,
    /// Channels of rings and trees.
    pub collective_channels: usize,
    /// Channels and chunks of NVLS.
    pub nvls: NvlsSetup,
    /// Heads of NVLS.
    pub nvls_heads: usize,
}

impl TunerInput {
    /// The input of a communicator with these nodes.
    #[must_use]
    pub fn new(nodes: &[ClusterNode<'_>], communicator: &Communicator) -> Self {
        let capabilities = || nodes.iter().map(|node| node.system.capabilities());
        let least = capabilities().map(|(least, _)| least).min().unwrap_or(0);
        let most = capabilities().map(|(_, most)| most).max().unwrap_or(0);
        let mut vendors = nodes.iter().map(|node| node.system.processor().vendor());
        let first = vendors.next().unwrap_or(Vendor::Other);
        Self {
            ranks: communicator.ranks(),
            nodes: communicator.nodes.len(),
            capabilities: (least, most),
            vendor: if vendors.all(|vendor| vendor == first) { first } else { Vendor::Mixed },
            graphs: communicator.graphs,
            collective_channels: communicator.channels.collective,
            nvls: communicator.nvls,
            nvls_heads: communicator.nvls_heads.len(),
        }
    }

    /// Ranks per node.
    fn ranks_per_node(&self) -> f64 {
        self.ranks as f64 / self.nodes as f64
    }

    /// log2 of the nodes, rounded down.
    fn log2_nodes(&self) -> f64 {
        f64::from(self.nodes.ilog2())
    }
}
