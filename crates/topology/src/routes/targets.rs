//! Where each attachment is plugged in.

use super::switches::Switches;
use crate::Graph;
use units::NodeId;

/// Column of a switch without attachments: it is never a destination.
const NO_COLUMN: u32 = u32::MAX;

/// An attachment as the switches see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    /// The switch it is plugged into.
    pub(super) switch: NodeId,
    /// The component of that switch.
    pub(super) component: u32,
    /// The column of that switch in the rows of its component.
    pub(super) column: u32,
    /// Its port on that switch.
    pub(super) switch_port: u16,
}

/// The columns of the route table: in each component one for each switch that has attachments.
pub(super) struct Columns {
    by_switch: Vec<u32>,
    by_component: Vec<u32>,
}

impl Columns {
    fn of(graph: &Graph, switches: &Switches) -> Self {
        let mut by_switch = vec![NO_COLUMN; switches.count()];
        for attachment in &graph.attachments {
            by_switch[switches.index_of(attachment.switch)] = 0;
        }
        let mut by_component = vec![0; switches.component_count()];
        for (switch, column) in by_switch.iter_mut().enumerate().filter(|(_, column)| **column != NO_COLUMN) {
            let count: &mut u32 = &mut by_component[switches.component(switch) as usize];
            *column = *count;
            *count += 1;
        }
        Self { by_switch, by_component }
    }

    /// The column of a switch, if it has attachments.
    pub(super) fn column(&self, switch: usize) -> Option<u32> {
        Some(self.by_switch[switch]).filter(|&column| column != NO_COLUMN)
    }

    /// Number of columns in the rows of a component.
    pub(super) fn count(&self, component: u32) -> u32 {
        self.by_component[component as usize]
    }
}

/// A target for each attachment, and the columns they refer to.
pub(super) fn number(graph: &Graph, switches: &Switches) -> (Vec<Target>, Columns) {
    let columns = Columns::of(graph, switches);
    let target = |attachment: &crate::Attachment| {
        let switch = switches.index_of(attachment.switch);
        Target {
            switch: attachment.switch,
            component: switches.component(switch),
            column: columns.by_switch[switch],
            switch_port: attachment.switch_port,
        }
    };
    (graph.attachments.iter().map(target).collect(), columns)
}
