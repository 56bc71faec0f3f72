//! Chips that consist of several switches of the topology: checks them, and determines the first port of each
//! switch on its chip.

use spec::{ChipSpec, SpecError, unsupported};
use std::collections::BTreeMap;
use topology::{Graph, NodeKind};
use units::NodeId;

/// Chips made of several switches. The ports of a chip are those of its switches, concatenated in the order
/// of the graph.
#[derive(Debug, Default)]
pub(crate) struct Chips {
    chips: Vec<Vec<NodeId>>,
    /// By switch: index of its chip, and its first port on that chip.
    positions: BTreeMap<NodeId, (usize, u16)>,
}

impl Chips {
    /// The chips of `specs` in `graph`.
    ///
    /// # Errors
    /// When a switch does not exist, is ideal or is in two chips, or a chip has fewer than two switches or
    /// too many ports.
    pub(crate) fn new(specs: &[ChipSpec], graph: &Graph) -> Result<Self, SpecError> {
        let mut chips = Self::default();
        for (number, chip) in specs.iter().enumerate() {
            chips.add(number, chip, specs, graph)?;
        }
        Ok(chips)
    }

    fn add(
        &mut self,
        number: usize,
        chip: &ChipSpec,
        specs: &[ChipSpec],
        graph: &Graph,
    ) -> Result<(), SpecError> {
        let field = format!("fabric.chips[{number}].switches");
        if chip.switches.len() < 2 {
            return Err(unsupported(field, chip.switches.len(), "2 switches or more"));
        }
        let mut members = Vec::new();
        for (index, name) in chip.switches.iter().enumerate() {
            let field = format!("{field}[{index}]");
            let is_it = |node: &topology::Node| node.kind == NodeKind::Switch && node.name == *name;
            let node = graph.nodes.iter().position(is_it);
            let node = node.filter(|&node| !graph.nodes[node].ideal);
            let Some(node) = node.map(|node| NodeId(node as u32)) else {
                return Err(unsupported(field, name, "a switch of the topology that has a buffer"));
            };
            if let Some((other, _)) = self.positions.insert(node, (number, 0)) {
                let found = format!("{name}, which is in {} already", specs[other].name);
                return Err(unsupported(field, found, "each switch in one chip, once"));
            }
            members.push(node);
        }
        members.sort_unstable();
        let mut ports = 0;
        for &node in &members {
            let first =
                u16::try_from(ports).map_err(|_| unsupported(&field, ports, "at most 65,535 ports"))?;
            self.positions.insert(node, (number, first));
            ports += graph.node(node).ports.len();
        }
        u16::try_from(ports)
            .map_err(|_| unsupported(&field, format!("{ports} ports"), "at most 65,535 ports of a chip"))?;
        self.chips.push(members);
        Ok(())
    }

    /// Whether there are no chips.
    pub(crate) fn is_empty(&self) -> bool {
        self.chips.is_empty()
    }

    /// The first switch of the chip of `node`; `node` itself if it is not part of a chip.
    pub(crate) fn first(&self, node: NodeId) -> NodeId {
        self.positions.get(&node).map_or(node, |&(chip, _)| self.chips[chip][0])
    }

    /// The first port of `node` on its chip; 0 if it is not part of a chip.
    pub(crate) fn first_port(&self, node: NodeId) -> u16 {
        self.positions.get(&node).map_or(0, |&(_, port)| port)
    }

    /// The switches of the chip of `node`, in order; `None` if it is not part of a chip.
    pub(crate) fn of(&self, node: NodeId) -> Option<&[NodeId]> {
        self.positions.get(&node).map(|&(chip, _)| &self.chips[chip][..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use topology::{Builder, CableSpec, LeafSpine, LinkSpec};

    fn graph() -> Graph {
        let link = LinkSpec { rate_bps: 400_000_000_000, cable: CableSpec { delay_ps: 150_000 } };
        let fabric = LeafSpine {
            leaves: 2,
            hosts_per_leaf: 3,
            spines: 2,
            links_per_spine: 1,
            host_link: link,
            fabric_link: link,
        };
        fabric.build().expect("it is small")
    }

    fn chip(switches: &[&str]) -> ChipSpec {
        let switches = switches.iter().map(|name| (*name).to_owned()).collect();
        ChipSpec { name: "asic".into(), switches }
    }

    #[test]
    fn ports_of_a_chip_are_those_of_its_switches_one_after_the_other() {
        let graph = graph();
        let chips = Chips::new(&[chip(&["spine0", "leaf0", "leaf1"])], &graph).expect("all are there");
        let named = |name: &str| {
            NodeId(graph.nodes.iter().position(|node| node.name == name).expect("it is there") as u32)
        };
        let index = |name| (chips.first(named(name)), chips.first_port(named(name)));
        assert_eq!(index("leaf0"), (named("leaf0"), 0));
        assert_eq!(index("leaf1"), (named("leaf0"), 5));
        assert_eq!(index("spine0"), (named("leaf0"), 10));
        assert_eq!(index("spine1"), (named("spine1"), 0));
        assert_eq!(chips.of(named("spine1")), None);
    }

    #[test]
    fn invalid_chips_are_refused_by_field() {
        let refused = |specs: &[ChipSpec]| Chips::new(specs, &graph()).expect_err("wrong").to_string();
        let field = "fabric.chips[0].switches";
        assert!(refused(&[chip(&["leaf0"])]).starts_with(&format!("{field}: 1;")));
        assert!(refused(&[chip(&["leaf0", "leaf7"])]).starts_with(&format!("{field}[1]: leaf7;")));
        assert!(refused(&[chip(&["leaf0", "leaf0"])]).contains("leaf0, which is in asic already"));
        let twice = refused(&[chip(&["leaf0", "spine0"]), chip(&["leaf1", "spine0"])]);
        assert!(twice.starts_with("fabric.chips[1].switches[1]: spine0, which is in asic already"));
    }
}
