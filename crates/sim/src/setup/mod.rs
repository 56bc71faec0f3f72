//! Builds a runnable world from a spec: the graph, the queue pairs, the nodes.

mod apart;
mod chips;
mod clocks;
mod colours;
mod controllers;
mod fabric;
mod flows;
mod homes;
mod hosts;
mod later;
mod pair_places;
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
mod unloaded;
mod world;

pub(crate) use apart::ApartRule;
pub(crate) use chips::Chips;
pub(crate) use clocks::HostClock;
pub(crate) use fabric::Fabric;
pub(crate) use flows::Flows;
pub(crate) use later::may_make_later;
pub(crate) use paths::Direction;
pub(crate) use scheduled::{check_scheduled, host_ports};
pub(crate) use schedules::check_flows;
use settings::Settings;
pub(crate) use switches::{balancers, check_buffers};
pub(crate) use tcp::{Connection, TCP_DESTINATION_PORT, connections, host_tcp};
pub(crate) use world::{BuildOptions, FabricNode, World, build};
