//! Builds a runnable world (all nodes and links) from a spec: the network (`fabric`), the traffic of its jobs
//! (`traffic`), the state of each host (`hosts`) and switch (`switches`), and from these the nodes of each
//! partition, one per thread (`partitioning`, `world`); `two_phase` decides how partitions are processed.

mod fabric;
mod hosts;
mod partitioning;
mod switches;
mod traffic;
mod two_phase;
mod world;

pub(crate) use fabric::Fabric;
pub(crate) use fabric::chips::Chips;
use fabric::settings::Settings;
pub(crate) use hosts::clocks::HostClock;
pub(crate) use hosts::connection_kind;
pub(crate) use hosts::lazy_queue_pairs::may_be_lazy;
pub(crate) use partitioning::Location;
pub(crate) use paths::Direction;
pub(crate) use switches::scheduled::{check_scheduled, host_ports};
pub(crate) use switches::{balancers, check_buffers};
pub(crate) use traffic::flows::{Flows, check_flows};
pub(crate) use traffic::tcp::{Connection, TCP_DESTINATION_PORT, connections, host_tcp};
pub(crate) use two_phase::TwoPhaseRule;
pub(crate) use world::{BuildOptions, FabricNode, Layout, World, build};
