//! Rail-optimised topology: each NIC of a server is connected to a different switch; spines connect these
//! switches, and optional scale-up switches the GPUs of a server.

use super::{Builder, LinkSpec};
use crate::assembly::Assembly;
use crate::{Graph, TopologyError, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::NodeId;

/// Servers with several GPUs, each a host with its own NIC. NIC `g` of every server is connected to rail
/// switch `g`; rail switches are connected by spines. Optionally, a scale-up switch connects the GPUs within
/// a server.
///
/// With `R` rails, `S` servers and `L` parallel links between a rail switch and a spine:
/// - GPU `g` of server `s` is host `s * R + g`;
/// - host port 0 is the NIC: port `s` of `rail{g}`; rail port `S + j * L + p` is parallel link `p` to
///   spine `j`;
/// - spine port `g * L + p` is parallel link `p` to rail `g`;
/// - host port 1, if there is a scale-up link: port `g` of `scaleup{s}`, an ideal crossbar.
///
/// Rail and scale-up switches are tier 1, rails first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct RailOptimised {
    /// Number of servers.
    #[schemars(range(min = 1))]
    pub servers: u32,
    /// GPUs per server, which is also the number of rails.
    #[schemars(range(min = 1))]
    pub rails: u32,
    /// Spine switches that connect the rails; with 0 the rails are connected only by scale-up links, if any.
    pub spines: u32,
    /// Parallel links between a rail switch and a spine; ignored without spines.
    #[schemars(range(min = 1))]
    pub links_per_spine: u32,
    /// Cable from NIC to rail switch.
    pub host_link: LinkSpec,
    /// Cable from rail switch to spine.
    pub fabric_link: LinkSpec,
    /// Link from GPU to the scale-up switch of its server, if any.
    pub scale_up_link: Option<LinkSpec>,
}

impl Builder for RailOptimised {
    fn hosts(&self) -> u64 {
        limits::product(&[self.servers, self.rails])
    }

    fn host_link(&self) -> LinkSpec {
        self.host_link
    }

    fn build(&self) -> Result<Graph, TopologyError> {
        self.check()?;
        let mut assembly = Assembly::new(self.servers * self.rails, self.attachments() + self.fabric_links());
        let rails = assembly.switches("rail", 1, self.rails);
        let scale_up = self.scale_up_link.map(|cable| (cable, assembly.crossbars("scaleup", self.servers)));
        let spines = assembly.switches("spine", 2, self.spines);
        for host in assembly.hosts() {
            assembly.connect(host, rails[host.index() % rails.len()], self.host_link);
        }
        if let Some((cable, scale_up)) = scale_up {
            assembly.connect_servers(&scale_up, self.rails, cable);
        }
        self.connect_rails(&mut assembly, &rails, &spines);
        Ok(assembly.finish())
    }
}

impl RailOptimised {
    fn connect_rails(&self, assembly: &mut Assembly, rails: &[NodeId], spines: &[NodeId]) {
        for &rail in rails {
            for &spine in spines {
                assembly.connect_by(self.links_per_spine, rail, spine, self.fabric_link);
            }
        }
    }

    fn check(&self) -> Result<(), TopologyError> {
        let uplinks = limits::product(&[self.spines, self.links_per_spine]);
        limits::hosts(self.hosts(), self.ports_of_a_host())?;
        limits::ports("rail switch", uplinks.saturating_add(self.servers.into()))?;
        limits::ports("scale-up switch", self.rails.into())?;
        limits::ports("spine switch", limits::product(&[self.rails, self.links_per_spine]))?;
        limits::links(self.attachments().saturating_add(self.fabric_links()))
    }

    const fn ports_of_a_host(&self) -> u32 {
        if self.scale_up_link.is_some() { 2 } else { 1 }
    }

    fn attachments(&self) -> u64 {
        limits::product(&[self.servers, self.rails, self.ports_of_a_host()])
    }

    fn fabric_links(&self) -> u64 {
        limits::product(&[self.rails, self.spines, self.links_per_spine])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{check_consistency, port_of, rails};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn counts_follow_the_closed_forms(
            servers in 1..5u32, rail in 1..5u32, spines in 0..4u32, links in 1..4u32, scale_up in any::<bool>(),
        ) {
            let graph = rails(servers, rail, spines, links, scale_up).build().unwrap();
            check_consistency(&graph);
            let ports = 1 + u32::from(scale_up);
            prop_assert_eq!(graph.attachments.len() as u32, servers * rail * ports);
            prop_assert_eq!(graph.switches() as u32, rail + spines + if scale_up { servers } else { 0 });
            prop_assert_eq!(graph.links.len() as u32, rail * (servers * ports + spines * links));
        }

        #[test]
        fn ports_are_numbered_as_documented(
            servers in 1..5u32, rail in 1..5u32, spines in 0..4u32, links in 1..4u32,
        ) {
            let graph = rails(servers, rail, spines, links, true).build().unwrap();
            for host in 0..servers * rail {
                let (server, gpu) = (host / rail, host % rail);
                prop_assert_eq!(port_of(&graph, &format!("rail{gpu}"), server), (format!("host{host}"), 0));
                prop_assert_eq!(port_of(&graph, &format!("scaleup{server}"), gpu), (format!("host{host}"), 1));
            }
            for (gpu, uplink) in (0..rail).flat_map(|gpu| (0..spines * links).map(move |uplink| (gpu, uplink))) {
                let expected = (format!("spine{}", uplink / links), gpu * links + uplink % links);
                prop_assert_eq!(port_of(&graph, &format!("rail{gpu}"), servers + uplink), expected);
            }
        }
    }

    #[test]
    fn only_scale_up_switches_are_ideal() {
        let graph = rails(2, 4, 2, 1, true).build().unwrap();
        assert!(graph.nodes.iter().all(|node| node.ideal == node.name.starts_with("scaleup")));
    }

    #[test]
    fn what_exceeds_the_limits_is_refused_with_numbers() {
        let text = |shape: RailOptimised| shape.build().unwrap_err().to_string();
        assert!(rails(2, 4, 0, 0, true).build().is_ok());
        assert_eq!(
            text(rails(32_769, 8, 2, 1, true)),
            "the fabric would have 262152 hosts; at most 262144 are supported"
        );
        assert_eq!(
            text(rails(65_535, 2, 1, 1, false)),
            "each rail switch would have 65536 ports; at most 65535 are supported"
        );
    }
}
