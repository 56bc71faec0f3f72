//! Builds a runnable world from a spec: the graph, the queue pairs, the nodes.

mod chips;
mod clocks;
mod colours;
mod controllers;
mod fabric;
mod flows;
mod hosts;
mod lazy_queue_pairs;
mod pair_places;
mod partitioning;
mod places;
mod pools;
mod ports;
mod scheduled;
mod schedules;
mod settings;
mod sides;
mod storage;
mod switches;
mod tcp;
mod two_phase;
mod unloaded;
mod world;

pub(crate) use chips::Chips;
pub(crate) use clocks::HostClock;
pub(crate) use fabric::Fabric;
pub(crate) use flows::Flows;
pub(crate) use lazy_queue_pairs::may_be_lazy;
pub(crate) use paths::Direction;
pub(crate) use scheduled::{check_scheduled, host_ports};
pub(crate) use schedules::check_flows;
use settings::Settings;
pub(crate) use switches::{balancers, check_buffers};
pub(crate) use tcp::{Connection, TCP_DESTINATION_PORT, connections, host_tcp};
pub(crate) use two_phase::TwoPhaseRule;
pub(crate) use world::{BuildOptions, FabricNode, World, build};
