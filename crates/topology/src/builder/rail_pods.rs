//! Three-tier rail topology: servers in pods with one leaf per rail (the NICs of equal number); spines
//! connect the leaves of a rail, cores the rails, and optional scale-up switches the GPUs of a server.

use super::{Builder, LinkSpec};
use crate::assembly::Assembly;
use crate::{Graph, TopologyError, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::NodeId;

/// Servers with several GPUs, each a host with its own NIC, in pods with one leaf per rail. The leaves of a
/// rail are connected by the spines of that rail, the rails by cores: spine `j` of each rail is connected to
/// the cores of group `j`. Optionally, a scale-up switch connects the GPUs within a server.
///
/// With `R` rails, `P` pods of `S` servers, `Q` spines per rail, `C` cores per group, `L` parallel links
/// between a leaf and a spine and `M` between a spine and a core:
/// - GPU `g` of server `s` is host `s * R + g`; server `s` is in pod `s / S`;
/// - switches: the leaf of rail `g` in pod `p` is `leaf{p * R + g}`, spine `j` of rail `g` is
///   `spine{g * Q + j}`, core `c` of group `j` is `core{j * C + c}`;
/// - host port 0 is the NIC: port `s mod S` of its leaf; leaf port `S + j * L + l` is parallel link `l` to
///   spine `j` of its rail;
/// - spine port `p * L + l` is parallel link `l` to the leaf of pod `p`, port `P * L + c * M + m` is parallel
///   link `m` to core `c` of its group;
/// - core port `g * M + m` is parallel link `m` to the spine of rail `g`;
/// - host port 1, if there is a scale-up link: port `g` of `scaleup{s}`, an ideal crossbar.
///
/// Leaves and scale-up switches are tier 1, leaves first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct RailPods {
    /// Number of pods.
    #[schemars(range(min = 1))]
    pub pods: u32,
    /// Servers per pod.
    #[schemars(range(min = 1))]
    pub servers_per_pod: u32,
    /// GPUs per server, which is also the number of rails.
    #[schemars(range(min = 1))]
    pub rails: u32,
    /// Spine switches per rail; each is connected to every leaf of the rail.
    #[schemars(range(min = 1))]
    pub spines_per_rail: u32,
    /// Parallel links between a leaf and a spine.
    #[schemars(range(min = 1))]
    pub links_per_spine: u32,
    /// Core switches per group, which is the number of cores above a spine; with 0 the rails are connected
    /// only by scale-up links, if any.
    pub cores_per_spine: u32,
    /// Parallel links between a spine and a core; ignored without cores.
    #[schemars(range(min = 1))]
    pub links_per_core: u32,
    /// Cable from NIC to leaf.
    pub host_link: LinkSpec,
    /// Cable from leaf to spine.
    pub fabric_link: LinkSpec,
    /// Cable from spine to core.
    pub core_link: LinkSpec,
    /// Link from GPU to the scale-up switch of its server, if any.
    pub scale_up_link: Option<LinkSpec>,
}

impl Builder for RailPods {
    fn hosts(&self) -> u64 {
        limits::product(&[self.pods, self.servers_per_pod, self.rails])
    }

    fn host_link(&self) -> LinkSpec {
        self.host_link
    }

    fn build(&self) -> Result<Graph, TopologyError> {
        self.check()?;
        let Self { pods, servers_per_pod, rails, .. } = *self;
        let servers = pods * servers_per_pod;
        let mut assembly = Assembly::new(servers * rails, self.links());
        let leaves = assembly.switches("leaf", 1, pods * rails);
        let scale_up = self.scale_up_link.map(|cable| (cable, assembly.crossbars("scaleup", servers)));
        let spines = assembly.switches("spine", 2, rails * self.spines_per_rail);
        let cores = assembly.switches("core", 3, self.spines_per_rail * self.cores_per_spine);
        for host in assembly.hosts() {
            let (server, rail) = (host.0 / rails, host.0 % rails);
            let leaf = leaves[(server / servers_per_pod * rails + rail) as usize];
            assembly.connect(host, leaf, self.host_link);
        }
        if let Some((cable, scale_up)) = scale_up {
            assembly.connect_servers(&scale_up, rails, cable);
        }
        self.connect_rails(&mut assembly, &leaves, &spines);
        self.connect_cores(&mut assembly, &spines, &cores);
        Ok(assembly.finish())
    }
}

impl RailPods {
    fn connect_rails(&self, assembly: &mut Assembly, leaves: &[NodeId], spines: &[NodeId]) {
        for pod in leaves.chunks(self.rails as usize) {
            for (&leaf, rail) in pod.iter().zip(spines.chunks(self.spines_per_rail as usize)) {
                for &spine in rail {
                    assembly.connect_by(self.links_per_spine, leaf, spine, self.fabric_link);
                }
            }
        }
    }

    fn connect_cores(&self, assembly: &mut Assembly, spines: &[NodeId], cores: &[NodeId]) {
        for rail in spines.chunks(self.spines_per_rail as usize) {
            for (index, &spine) in rail.iter().enumerate() {
                let group = self.cores_per_spine as usize;
                for &core in &cores[index * group..(index + 1) * group] {
                    assembly.connect_by(self.links_per_core, spine, core, self.core_link);
                }
            }
        }
    }

    fn check(&self) -> Result<(), TopologyError> {
        let uplinks = limits::product(&[self.spines_per_rail, self.links_per_spine]);
        let to_cores = limits::product(&[self.cores_per_spine, self.links_per_core]);
        let to_leaves = limits::product(&[self.pods, self.links_per_spine]);
        limits::hosts(self.hosts(), self.ports_of_a_host())?;
        limits::ports("leaf switch", uplinks.saturating_add(self.servers_per_pod.into()))?;
        limits::ports("scale-up switch", self.rails.into())?;
        limits::ports("spine switch", to_leaves.saturating_add(to_cores))?;
        limits::ports("core switch", limits::product(&[self.rails, self.links_per_core]))?;
        limits::links(self.links())
    }

    const fn ports_of_a_host(&self) -> u32 {
        if self.scale_up_link.is_some() { 2 } else { 1 }
    }

    fn links(&self) -> u64 {
        let hosts = self.hosts().saturating_mul(self.ports_of_a_host().into());
        let rails = limits::product(&[self.pods, self.rails, self.spines_per_rail, self.links_per_spine]);
        let cores =
            limits::product(&[self.rails, self.spines_per_rail, self.cores_per_spine, self.links_per_core]);
        hosts.saturating_add(rails).saturating_add(cores)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Routes;
    use crate::testing::{cable, check_consistency, port_of, rail_pods};
    use proptest::prelude::*;
    use units::AttachmentId;

    proptest! {
        #[test]
        fn counts_follow_the_closed_forms(
            pods in 1..4u32, servers in 1..4u32, rails in 1..4u32, spines in 1..4u32, cores in 0..3u32,
            scale_up in any::<bool>(),
        ) {
            let shape = rail_pods([pods, servers, rails, spines, cores], scale_up);
            let graph = shape.build().unwrap();
            check_consistency(&graph);
            let (hosts, ports) = (pods * servers * rails, 1 + u32::from(scale_up));
            let scale_ups = if scale_up { pods * servers } else { 0 };
            let (leaves, all_spines) = (pods * rails, rails * spines);
            prop_assert_eq!(graph.attachments.len() as u32, hosts * ports);
            prop_assert_eq!(graph.switches() as u32, leaves + scale_ups + all_spines + spines * cores);
            // Two parallel links to each spine, three to each core.
            let links = hosts * ports + leaves * spines * 2 + all_spines * cores * 3;
            prop_assert_eq!(graph.links.len() as u32, links);
            prop_assert_eq!(graph.links.len() as u64, shape.links());
        }

        #[test]
        fn ports_are_numbered_as_documented(
            pods in 1..4u32, servers in 1..4u32, rails in 1..4u32, spines in 1..4u32, cores in 1..3u32,
        ) {
            let graph = rail_pods([pods, servers, rails, spines, cores], true).build().unwrap();
            for host in 0..pods * servers * rails {
                let (server, gpu) = (host / rails, host % rails);
                let leaf = format!("leaf{}", server / servers * rails + gpu);
                prop_assert_eq!(port_of(&graph, &leaf, server % servers), (format!("host{host}"), 0));
                prop_assert_eq!(port_of(&graph, &format!("scaleup{server}"), gpu), (format!("host{host}"), 1));
            }
            for (gpu, spine, pod) in
                (0..rails).flat_map(|gpu| (0..spines).flat_map(move |spine| (0..pods).map(move |pod| (gpu, spine, pod))))
            {
                let expected = (format!("leaf{}", pod * rails + gpu), servers + spine * 2 + 1);
                prop_assert_eq!(port_of(&graph, &format!("spine{}", gpu * spines + spine), pod * 2 + 1), expected);
                let core = format!("core{}", spine * cores + cores - 1);
                let expected = (format!("spine{}", gpu * spines + spine), pods * 2 + (cores - 1) * 3 + 2);
                prop_assert_eq!(port_of(&graph, &core, gpu * 3 + 2), expected);
            }
        }
    }

    #[test]
    fn a_rail_is_reached_by_its_spines_and_another_by_the_cores() {
        let (pods, servers, rails, spines, cores) = (3, 2, 4, 2, 2);
        let graph = rail_pods([pods, servers, rails, spines, cores], false).build().unwrap();
        let routes = Routes::compute(&graph);
        let hops_of_first =
            |host| routes.next_hops(graph.attachments[0].switch, AttachmentId(host)).len() as u32;
        assert_eq!(hops_of_first(rails), 1, "the next server of the pod, same rail: the leaf itself");
        assert_eq!(hops_of_first(servers * rails), spines * 2, "the next pod, same rail: every spine");
        assert_eq!(hops_of_first(1), spines * 2, "another rail of the same server: up to the cores");
        assert!(graph.is_joined_by_switches());
    }

    #[test]
    fn every_tier_may_have_a_ratio_of_its_own() {
        let mut shape = rail_pods([4, 8, 2, 2, 1], false);
        (shape.links_per_spine, shape.links_per_core) = (4, 2);
        let ratios: Vec<_> =
            shape.build().unwrap().oversubscription().iter().map(ToString::to_string).collect();
        assert_eq!(ratios, ["1:1", "8:1"]);
    }

    #[test]
    fn the_largest_cluster_of_switches_with_256_ports_fits() {
        let cable = cable(400);
        let shape = RailPods {
            pods: 128,
            servers_per_pod: 128,
            rails: 8,
            spines_per_rail: 128,
            links_per_spine: 1,
            cores_per_spine: 1,
            links_per_core: 32,
            host_link: cable,
            fabric_link: cable,
            core_link: cable,
            scale_up_link: Some(cable),
        };
        assert_eq!(shape.check(), Ok(()));
        assert_eq!(shape.hosts(), 131_072);
        assert_eq!(shape.links(), 2 * 131_072 + 131_072 + 32_768);
    }

    #[test]
    fn what_exceeds_the_limits_is_refused_with_numbers() {
        let text = |counts, scale_up| rail_pods(counts, scale_up).build().unwrap_err().to_string();
        assert!(rail_pods([2, 2, 8, 2, 0], true).build().is_ok());
        assert_eq!(
            text([2, 16_385, 8, 2, 1], false),
            "the fabric would have 262160 hosts; at most 262144 are supported"
        );
        assert_eq!(
            text([1, 1, 1, 40_000, 1], false),
            "each leaf switch would have 80001 ports; at most 65535 are supported"
        );
    }
}
