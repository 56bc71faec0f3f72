//! Errors of building a graph.

use thiserror::Error;

/// Error of building a graph from the parameters of a topology.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the message of each variant explains its fields")]
pub enum TopologyError {
    /// A count is below its minimum.
    #[error("{field} is {found}; it must be at least {least}")]
    TooFew { field: &'static str, found: u32, least: u32 },
    /// Duplicate node name; `host0`, `host1`, ... are reserved for hosts.
    #[error("another node is called {name} as well")]
    NameTaken { name: String },
    /// A link to an unknown switch.
    #[error("no switch is called {name}")]
    NoSuchSwitch { name: String },
    /// A link from a switch to itself.
    #[error("a link from {name} to itself")]
    LinkToItself { name: String },
    /// The fabric is not connected.
    #[error("no path from {name} to {other}")]
    NotConnected { name: String, other: String },
    /// The number of hosts, host ports or links exceeds the limit.
    #[error("the fabric would have {count} {items}; at most {limit} are supported")]
    TooMany { items: &'static str, count: u64, limit: u64 },
    /// The number of ports of a node exceeds the limit.
    #[error("each {node} would have {ports} ports; at most {limit} are supported")]
    TooManyPorts { node: &'static str, ports: u64, limit: u64 },
}
