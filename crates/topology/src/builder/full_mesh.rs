//! Ideal full mesh, as a reference: hosts on one crossbar that never blocks.

use super::{Builder, LinkSpec};
use crate::assembly::Assembly;
use crate::{Graph, TopologyError, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Hosts connected by one ideal, non-blocking crossbar, `mesh`, as if every pair of hosts had its own link.
/// Each host is still limited to the rate of its link. Port `h` of the crossbar is host `h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct FullMesh {
    /// Number of hosts.
    #[schemars(range(min = 1))]
    pub hosts: u32,
    /// Cable from host to crossbar.
    pub host_link: LinkSpec,
}

impl Builder for FullMesh {
    fn hosts(&self) -> u64 {
        self.hosts.into()
    }

    fn host_link(&self) -> LinkSpec {
        self.host_link
    }

    fn build(&self) -> Result<Graph, TopologyError> {
        limits::ports("crossbar", self.hosts.into())?;
        let mut assembly = Assembly::new(self.hosts, self.hosts.into());
        let mesh = assembly.crossbar("mesh".to_owned());
        for host in assembly.hosts() {
            assembly.connect(host, mesh, self.host_link);
        }
        Ok(assembly.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{cable, check_consistency};

    #[test]
    fn the_mesh_is_one_ideal_crossbar() {
        let graph = FullMesh { hosts: 4, host_link: cable(400) }.build().unwrap();
        check_consistency(&graph);
        assert_eq!((graph.hosts(), graph.switches(), graph.links.len()), (4, 1, 4));
        assert_eq!((graph.nodes[4].name.as_str(), graph.nodes[4].ideal), ("mesh", true));
    }

    #[test]
    fn a_mesh_has_a_limited_number_of_hosts() {
        assert!(FullMesh { hosts: 65_535, host_link: cable(400) }.build().is_ok());
        let error = FullMesh { hosts: 70_000, host_link: cable(400) }.build().unwrap_err();
        assert_eq!(error.to_string(), "each crossbar would have 70000 ports; at most 65535 are supported");
    }
}
