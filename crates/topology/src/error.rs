//! Why there is no graph.

use thiserror::Error;

/// A network that cannot be built from its parameters.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TopologyError {
    /// A count below its least meaningful value.
    #[error("{field} is {found}; it must be at least {least}")]
    TooFew {
        /// Name of the parameter, as in the builder's struct.
        field: &'static str,
        /// Its value.
        found: u32,
        /// The least value allowed.
        least: u32,
    },
    /// Two nodes of one name; `host0`, `host1`, ... are those of hosts.
    #[error("another node is called {name} as well")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// A link to a switch that is not there.
    #[error("no switch is called {name}")]
    NoSuchSwitch {
        /// The name.
        name: String,
    },
    /// A link with both ends at one switch.
    #[error("a link from {name} to itself")]
    LinkToItself {
        /// The switch.
        name: String,
    },
    /// A fabric in parts.
    #[error("no way from {name} to {other}")]
    NotConnected {
        /// A switch that cannot be reached.
        name: String,
        /// The switch from which it cannot.
        other: String,
    },
    /// More hosts than addresses.
    #[error("the fabric would have {found} hosts; at most {limit} are supported")]
    TooManyHosts {
        /// Hosts needed.
        found: u64,
        /// The limit, [`crate::MAX_HOSTS`].
        limit: u64,
    },
    /// More host ports than are numbered.
    #[error("the fabric would have {found} host ports; at most {limit} are supported")]
    TooManyAttachments {
        /// Host ports needed.
        found: u64,
        /// The limit, [`crate::MAX_ATTACHMENTS`].
        limit: u64,
    },
    /// A node with more ports than a port number holds.
    #[error("each {node} would have {found} ports; at most {limit} are supported")]
    TooManyPorts {
        /// What the node is, such as `leaf switch`.
        node: &'static str,
        /// Ports needed.
        found: u64,
        /// The limit, [`crate::MAX_PORTS`].
        limit: u64,
    },
    /// More links than can be simulated.
    #[error("the fabric would have {found} links; at most {limit} are supported")]
    TooManyLinks {
        /// Links needed.
        found: u64,
        /// The limit, [`crate::MAX_LINKS`].
        limit: u64,
    },
}
