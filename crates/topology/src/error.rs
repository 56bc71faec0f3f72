//! Errors of building a graph.

use thiserror::Error;

/// Error of building a graph from the parameters of a topology.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TopologyError {
    /// A count is below its minimum.
    #[error("{field} is {found}; it must be at least {least}")]
    TooFew {
        /// Name of the parameter, as in the builder's struct.
        field: &'static str,
        /// Its value.
        found: u32,
        /// Minimum.
        least: u32,
    },
    /// Duplicate node name; `host0`, `host1`, ... are reserved for hosts.
    #[error("another node is called {name} as well")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// A link to an unknown switch.
    #[error("no switch is called {name}")]
    NoSuchSwitch {
        /// The name.
        name: String,
    },
    /// A link from a switch to itself.
    #[error("a link from {name} to itself")]
    LinkToItself {
        /// The switch.
        name: String,
    },
    /// The fabric is not connected.
    #[error("no path from {name} to {other}")]
    NotConnected {
        /// A switch without a path to `other`.
        name: String,
        /// The first switch of the list.
        other: String,
    },
    /// The number of hosts, host ports or links exceeds the limit.
    #[error("the fabric would have {count} {items}; at most {limit} are supported")]
    TooMany {
        /// `hosts`, `host ports` or `links`.
        items: &'static str,
        /// Required number.
        count: u64,
        /// The limit: [`crate::MAX_HOSTS`], [`crate::MAX_ATTACHMENTS`] or [`crate::MAX_LINKS`].
        limit: u64,
    },
    /// The number of ports of a node exceeds the limit.
    #[error("each {node} would have {ports} ports; at most {limit} are supported")]
    TooManyPorts {
        /// Kind of node, such as `leaf switch`.
        node: &'static str,
        /// Required number.
        ports: u64,
        /// The limit, [`crate::MAX_PORTS`].
        limit: u64,
    },
}
