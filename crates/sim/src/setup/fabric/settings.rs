//! Settings of each switch: those common to all, or its own by full name or prefix; checks that all switches
//! of a chip have the same.

use crate::setup::Chips;
use spec::{FabricSpec, SpecError, SwitchSpec, unsupported};
use std::collections::BTreeMap;
use topology::{Graph, NodeKind};
use units::NodeId;

/// The settings of every switch.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The common settings, followed by the individual ones.
    all: Vec<SwitchSpec>,
    /// Index in `all` of switches with individual settings.
    own: BTreeMap<NodeId, usize>,
}

impl Settings {
    /// The settings of the switches of `graph`.
    ///
    /// # Errors
    /// When a name matches no switch with a buffer, a name is repeated, or switches of one chip differ.
    pub(crate) fn new(spec: &FabricSpec, graph: &Graph, chips: &Chips) -> Result<Self, SpecError> {
        let mut names = BTreeMap::new();
        for (number, settings) in spec.switch_settings.iter().enumerate() {
            let field = format!("fabric.switch_settings[{number}].switches");
            if settings.switches.is_empty() {
                return Err(unsupported(field, "none", "1 switch or more"));
            }
            for (index, name) in settings.switches.iter().enumerate() {
                let field = format!("{field}[{index}]");
                if !switches(graph).any(|(_, switch)| is_named(name, switch)) {
                    let allowed =
                        "a switch of the topology that has a buffer, or the beginning of names and `*`";
                    return Err(unsupported(field, name, allowed));
                }
                if names.insert(name.as_str(), number + 1).is_some() {
                    return Err(unsupported(field, format!("{name} again"), "each name once"));
                }
            }
        }
        let all = spec.switch_settings.iter().map(|own| spec.switch.with(own));
        let all = std::iter::once(spec.switch.clone()).chain(all).collect();
        // A full name takes precedence over a prefix, and a longer prefix over a shorter one.
        let own = |(node, switch)| {
            let nearest = names.iter().filter(|(name, _)| is_named(name, switch));
            let nearest = nearest.max_by_key(|(name, _)| (!name.ends_with('*'), name.len()));
            nearest.map(|(_, number)| (node, *number))
        };
        let own = switches(graph).filter_map(own).collect();
        let settings = Self { all, own };
        settings.check_chips(graph, chips)?;
        Ok(settings)
    }

    fn check_chips(&self, graph: &Graph, chips: &Chips) -> Result<(), SpecError> {
        let index = |node: NodeId| self.own.get(&node).copied().unwrap_or(0);
        let switches = (0..graph.nodes.len() as u32).map(NodeId);
        for node in switches.filter(|&node| chips.of(node).is_some()) {
            let first = chips.first(node);
            if index(node) != index(first) {
                let names = [node, first].map(|node| graph.node(node).name.as_str());
                let found =
                    format!("other settings of {} than of {}, which is the same chip", names[0], names[1]);
                return Err(unsupported("fabric.switch_settings", found, "one for all switches of a chip"));
            }
        }
        Ok(())
    }

    pub(crate) fn of(&self, node: NodeId) -> &SwitchSpec {
        &self.all[self.own.get(&node).copied().unwrap_or(0)]
    }

    /// Field of the spec with the settings of a switch.
    pub(crate) fn field(&self, node: NodeId) -> String {
        self.own
            .get(&node)
            .map_or_else(|| "fabric.switch".into(), |index| format!("fabric.switch_settings[{}]", index - 1))
    }

    /// All distinct settings.
    pub(crate) fn all(&self) -> &[SwitchSpec] {
        &self.all
    }
}

/// The switches that have a buffer, and their names.
fn switches(graph: &Graph) -> impl Iterator<Item = (NodeId, &str)> {
    let has_buffer = |node: &&topology::Node| node.kind == NodeKind::Switch && !node.ideal;
    let nodes = (0..).map(NodeId).zip(&graph.nodes);
    nodes.filter(move |(_, node)| has_buffer(node)).map(|(id, node)| (id, node.name.as_str()))
}

/// Whether `name` is the name of `switch`, or a prefix of it followed by `*`.
fn is_named(name: &str, switch: &str) -> bool {
    name.strip_suffix('*').map_or(name == switch, |beginning| switch.starts_with(beginning))
}
