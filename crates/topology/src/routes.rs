//! Equal-cost next hops of every switch towards every host port.
//!
//! Shortest paths over the graph of switches: hosts never forward, so switches that are joined only through
//! hosts (the scale-up switches of two servers) cannot reach each other. In the order of computation:
//!
//! 1. `switches`: the graph without hosts, its connected components, breadth-first distances;
//! 2. `targets`: a column for each switch that has attachments, and where each attachment is plugged in;
//! 3. `port_lists`: each distinct list of next hops, stored once;
//! 4. `rows`: one row for each switch, which names the list of each column; equal rows are stored once.
//!
//! In a fabric of regular shape nearly all rows are equal (every leaf sends everything up the same ports), so
//! the tables of 32,768 hosts stay within the processor's caches.

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
    /// By switch, from node `first_switch` on.
    rows: Vec<Row>,
    first_switch: u32,
    /// The cells of all distinct rows: each names a list that `ports` holds.
    cells: Vec<u32>,
    ports: PortLists,
}

impl Routes {
    /// The shortest-path routes of `graph`, with all equal-cost next hops; parallel links are separate ones.
    #[must_use]
    pub fn compute(graph: &Graph) -> Self {
        Self::compute_over(graph, |_| true)
    }

    /// The same over those links between switches that are `live`.
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
    /// order; one port when it is plugged in there, empty when it cannot be reached.
    ///
    /// # Panics
    /// When `switch` is a host, or either is not of the graph.
    #[inline]
    #[must_use]
    pub fn next_hops(&self, switch: NodeId, destination: AttachmentId) -> &[u16] {
        self.of(switch).next_hops(destination)
    }

    /// The routes of `switch`.
    ///
    /// # Panics
    /// When `switch` is a host, or not of the graph.
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
    /// That of the first cell.
    first_column: u32,
    /// Of each attachment, see [`Targets`].
    columns: &'a [u32],
    switch_ports: &'a [u16],
    /// Its row.
    cells: &'a [u32],
    /// What the cells name, see [`PortLists`].
    lists: &'a [u16],
}

impl<'a> SwitchRoutes<'a> {
    /// See [`Routes::next_hops`].
    ///
    /// # Panics
    /// When `destination` is not of the graph.
    #[inline(always)]
    #[must_use]
    pub fn next_hops(&self, destination: AttachmentId) -> &'a [u16] {
        let column = self.columns[destination.index()];
        if column == self.own_column {
            return slice::from_ref(&self.switch_ports[destination.index()]);
        }
        // What lies in another component is beyond the row.
        let Some(&start) = self.cell(column) else { return &[] };
        // SAFETY: every cell of a table names a list that it holds, and neither changes.
        unsafe { port_lists::known_list(self.lists, start) }
    }

    /// The cell of a column.
    #[inline]
    fn cell(&self, column: u32) -> Option<&'a u32> {
        self.cells.get(column.wrapping_sub(self.first_column) as usize)
    }

    /// What [`Self::next_hops`] reads first, to be prefetched; none for what is not of the graph.
    #[inline]
    #[must_use]
    pub fn first_read(&self, destination: AttachmentId) -> Option<&'a impl Sized> {
        self.columns.get(destination.index())
    }

    /// What it reads last but one, once the first is there.
    #[inline]
    #[must_use]
    pub fn second_read(&self, destination: AttachmentId) -> Option<&'a impl Sized> {
        self.cell(*self.columns.get(destination.index())?)
    }
}
