//! Route tables (`Routes`): equal-cost next hops of every switch towards every host port.
//!
//! They are computed as shortest paths over the graph of switches. Hosts do not forward, so switches
//! connected only through hosts (the scale-up switches of two servers) cannot reach each other. In the order
//! of computation:
//!
//! 1. `switches`: the graph without hosts, its connected components, breadth-first distances;
//! 2. `targets`: one column per switch with attachments (host ports), and the switch port of each;
//! 3. `port_lists`: distinct lists of next hops, each stored once;
//! 4. `rows`: one row per switch with the offset of a list per column; equal rows are stored once.
//!
//! In regular fabrics nearly all rows are equal (every leaf uses the same uplinks for everything), so the
//! tables of 32,768 hosts fit into the processor's caches.

mod port_lists;
mod rows;
mod switches;
mod targets;
#[cfg(test)]
mod tests;

use crate::Graph;
use port_lists::PortLists;
use rows::Row;
use std::slice;
use switches::Switches;
use targets::{Columns, Targets};
use units::{AttachmentId, LinkId, NodeId};

/// Next hops of every switch towards every attachment.
#[derive(Clone, Debug)]
pub struct Routes {
    targets: Targets,
    /// Rows of switches, starting at node `first_switch`.
    rows: Vec<Row>,
    first_switch: u32,
    /// Cells of all distinct rows; each is the offset of a list in `ports`.
    cells: Vec<u32>,
    ports: PortLists,
}

impl Routes {
    /// Computes the shortest-path routes of `graph`, with all equal-cost next hops; parallel links are
    /// separate next hops.
    #[must_use]
    pub fn compute(graph: &Graph) -> Self {
        Self::compute_over(graph, |_| true)
    }

    /// Same as [`Self::compute`], using only those links between switches that are `live`.
    #[must_use]
    pub fn compute_over(graph: &Graph, live: impl Fn(LinkId) -> bool) -> Self {
        let switches = Switches::of(graph, live);
        let columns = Columns::of(graph, &switches);
        let table = rows::compute(&switches, &columns);
        Self {
            targets: Targets::of(graph, &switches, &columns),
            rows: table.rows,
            first_switch: switches.first_node(),
            cells: table.cells,
            ports: table.ports,
        }
    }

    /// Equal-cost next hops of `switch` (a switch node) towards `destination`, as port numbers in ascending
    /// order; a single port if it is directly connected, empty if there is no path.
    ///
    /// # Panics
    /// If `switch` is a host, or either is not in the graph.
    #[inline]
    #[must_use]
    pub fn next_hops(&self, switch: NodeId, destination: AttachmentId) -> &[u16] {
        self.of(switch).next_hops(destination)
    }

    /// Routes of one switch.
    ///
    /// # Panics
    /// If `switch` is a host, or not in the graph.
    #[inline]
    #[must_use]
    pub fn of(&self, switch: NodeId) -> SwitchRoutes<'_> {
        let row = self.rows[(switch.0 - self.first_switch) as usize];
        SwitchRoutes {
            own_column: row.own_column,
            first_column: row.first_column,
            columns: &self.targets.columns,
            switch_ports: &self.targets.switch_ports,
            cells: row.of(&self.cells),
            lists: self.ports.stored(),
        }
    }

    /// Size of the tables [bytes].
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.targets.memory_bytes()
            + size_of_val(&*self.rows)
            + size_of_val(&*self.cells)
            + self.ports.memory_bytes()
    }
}

/// Next hops of one switch towards every attachment.
#[derive(Clone, Copy, Debug)]
pub struct SwitchRoutes<'a> {
    own_column: u32,
    /// Column of the first cell.
    first_column: u32,
    /// Column of each attachment, see [`Targets`].
    columns: &'a [u32],
    switch_ports: &'a [u16],
    /// Row of the switch.
    cells: &'a [u32],
    /// Lists that the cells refer to, see [`PortLists`].
    lists: &'a [u16],
}

impl<'a> SwitchRoutes<'a> {
    /// See [`Routes::next_hops`].
    ///
    /// # Panics
    /// If `destination` is not in the graph.
    #[inline(always)]
    #[must_use]
    pub fn next_hops(&self, destination: AttachmentId) -> &'a [u16] {
        let column = self.columns[destination.index()];
        if column == self.own_column {
            return slice::from_ref(&self.switch_ports[destination.index()]);
        }
        // Columns of other components are outside the row: there is no path.
        let Some(&start) = self.cell(column) else { return &[] };
        // SAFETY: every cell of a table is the offset of a list that it holds, and neither changes.
        unsafe { port_lists::list_unchecked(self.lists, start) }
    }

    /// Cell of a column.
    #[inline]
    fn cell(&self, column: u32) -> Option<&'a u32> {
        self.cells.get(column.wrapping_sub(self.first_column) as usize)
    }

    /// First memory location read by [`Self::next_hops`], for prefetching; `None` if not in the graph.
    #[inline]
    #[must_use]
    pub fn first_read(&self, destination: AttachmentId) -> Option<&'a impl Sized> {
        self.columns.get(destination.index())
    }

    /// Last but one location it reads, available once the first is cached.
    #[inline]
    #[must_use]
    pub fn second_read(&self, destination: AttachmentId) -> Option<&'a impl Sized> {
        self.cell(*self.columns.get(destination.index())?)
    }
}
