//! Single-switch topology: every host on one switch.

use super::{Builder, LinkSpec};
use crate::assembly::Assembly;
use crate::{Graph, TopologyError, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Every host on one switch, `leaf0`. Port `h` of the switch is host `h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct SingleSwitch {
    /// Number of hosts.
    #[schemars(range(min = 1))]
    pub hosts: u32,
    /// Cable from host to switch.
    pub host_link: LinkSpec,
}

impl Builder for SingleSwitch {
    fn hosts(&self) -> u64 {
        self.hosts.into()
    }

    fn host_link(&self) -> LinkSpec {
        self.host_link
    }

    fn build(&self) -> Result<Graph, TopologyError> {
        limits::ports("switch", self.hosts.into())?;
        let mut assembly = Assembly::new(self.hosts, self.hosts.into());
        let leaf = assembly.switches("leaf", 1, 1)[0];
        for host in assembly.hosts() {
            assembly.connect(host, leaf, self.host_link);
        }
        Ok(assembly.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{cable, check_consistency};

    #[test]
    fn a_port_of_the_switch_is_the_host_of_that_number() {
        let graph = SingleSwitch { hosts: 5, host_link: cable(400) }.build().unwrap();
        check_consistency(&graph);
        assert_eq!((graph.hosts(), graph.switches(), graph.links.len()), (5, 1, 5));
        assert!(graph.nodes[5].ports.iter().enumerate().all(|(port, plug)| plug.peer.index() == port));
        assert_eq!((graph.nodes[5].name.as_str(), graph.nodes[5].ideal), ("leaf0", false));
    }

    #[test]
    fn a_switch_has_a_limited_number_of_ports() {
        let error = SingleSwitch { hosts: 65_536, host_link: cable(400) }.build().unwrap_err();
        assert_eq!(error.to_string(), "each switch would have 65536 ports; at most 65535 are supported");
    }
}
