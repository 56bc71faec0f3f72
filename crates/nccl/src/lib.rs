//! NCCL's rules as a library: graphs, channels and choices of NCCL 2.18 to 2.31 for a description of the
//! hardware.
//!
//! In the order of data flow:
//!
//! 1. `system`: hardware of a server or NVLink domain; `paths`: paths between its parts;
//! 2. `search`: the channels of each algorithm on one node ([`Graphs`]);
//! 3. `communicator`: graphs of all nodes merged, numbers of channels, rings and trees across nodes;
//! 4. `tuner`: expected times, the choice of algorithm and protocol, channels and chunks by size ([`Tuner`]);
//! 5. `point_to_point`: channels, NICs, order and chunks of send and receive;
//! 6. `cluster`: all of it for equal servers; `query`: the same as JSON.
//!
//! `rules` has the differences between versions, `settings` the environment variables, `kinds` names of
//! collectives, algorithms and protocols. Pure functions: equal inputs give equal results.
//!
//! Sources are files of NCCL with their version, such as NCCL 2.30 `src/graph/search.cc`, and public logs in
//! issues, such as NVIDIA/nccl#1453.

mod bandwidth;
mod cluster;
mod communicator;
mod kinds;
mod paths;
mod point_to_point;
mod query;
mod rules;
mod search;
mod settings;
mod system;
mod tuner;
mod version;

pub use bandwidth::Bandwidth;
pub use cluster::{Cluster, Hardware};
pub use communicator::{
    ChannelCounts, ChannelNic, ClusterNode, Communicator, MergedGraph, MergedGraphs, Neighbours, NvlsSetup,
    Tree, TreeLinks, double_binary_tree, nic_of_channel,
};
pub use kinds::{Algorithm, Collective, Protocol};
pub use paths::{Path, PathType, Paths};
pub use point_to_point::{OPERATIONS_PER_BATCH, PeerSchedule, PeerTraffic, Round, Transfer, nic_of_peer};
pub use query::{Answer, ChosenAnswer, GraphAnswer, OperationAnswer, Query, QueryError, Traffic};
pub use rules::Rules;
pub use search::{Graph, GraphChannel, Graphs, Pattern};
pub use settings::{AdapterFilter, Choices, NicsPerGpu, ParsedSettings, SettingError, Settings};
pub use system::{
    AdapterPart, C2cLink, Gpu, GpuPart, Layout, Link, LinkKind, Nic, NicModel, Node, NvLinkPair, NvLinks,
    Parts, PcieGeneration, PortPart, Processor, Server, System, Upstream, Vendor, nvlink,
};
pub use tuner::{Choice, Chunking, Cost, Operation, PIPELINE_STEPS, Plan, Tuner, TunerInput, Work};
pub use version::{Library, Version, VersionError};
