//! Switch and switch port of each attachment (host port), and the column of each switch in the route table.
//!
//! The data read per packet is small, for the cache: 4 bytes per attachment (128 KiB for 32,768 hosts), and 2
//! more at the last switch.

use super::switches::Switches;
use crate::Graph;
use std::ops::Range;

/// Column of a switch without attachments, which is never a destination.
pub(super) const NO_COLUMN: u32 = u32::MAX;

/// Connection points of all attachments.
#[derive(Clone, Debug)]
pub(super) struct Targets {
    /// Column of the switch of each attachment.
    pub(super) columns: Vec<u32>,
    /// Port of each attachment on that switch.
    pub(super) switch_ports: Vec<u16>,
}

impl Targets {
    pub(super) fn of(graph: &Graph, switches: &Switches, columns: &Columns) -> Self {
        let column = |attachment: &crate::Attachment| columns.by_switch[switches.index_of(attachment.switch)];
        Self {
            columns: graph.attachments.iter().map(column).collect(),
            switch_ports: graph.attachments.iter().map(|attachment| attachment.switch_port).collect(),
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.columns) + size_of_val(&*self.switch_ports)
    }
}

/// Columns of the route table: one per switch with attachments; columns of a component are contiguous.
pub(super) struct Columns {
    by_switch: Vec<u32>,
    by_component: Vec<Range<u32>>,
}

impl Columns {
    pub(super) fn of(graph: &Graph, switches: &Switches) -> Self {
        let mut is_destination = vec![false; switches.count()];
        for attachment in &graph.attachments {
            is_destination[switches.index_of(attachment.switch)] = true;
        }
        let destinations = || (0..switches.count()).filter(|&switch| is_destination[switch]);
        let mut counts = vec![0; switches.component_count()];
        destinations().for_each(|switch| counts[switches.component(switch) as usize] += 1);
        let mut start = 0;
        let mut by_component = Vec::with_capacity(counts.len());
        for count in counts {
            by_component.push(start..start);
            start += count;
        }
        let mut by_switch = vec![NO_COLUMN; switches.count()];
        for switch in destinations() {
            let columns: &mut Range<u32> = &mut by_component[switches.component(switch) as usize];
            by_switch[switch] = columns.end;
            columns.end += 1;
        }
        Self { by_switch, by_component }
    }

    /// Column of a switch; [`NO_COLUMN`] if it has no attachments.
    pub(super) fn own(&self, switch: usize) -> u32 {
        self.by_switch[switch]
    }

    /// Columns of a component.
    pub(super) fn of_component(&self, component: u32) -> Range<u32> {
        self.by_component[component as usize].clone()
    }
}
