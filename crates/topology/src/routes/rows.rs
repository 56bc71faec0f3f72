//! Computes the route table: one row per switch, one column per switch with attachments (host ports). One
//! breadth-first search fills the columns of all destinations with the same neighbours; equal rows are stored
//! once.

use super::port_lists::{Interner, PortLists};
use super::switches::{Neighbour, Search, Switches};
use super::targets::{Columns, NO_COLUMN};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Unfilled cell: the column of the switch itself, which is never read.
const OWN: u32 = u32::MAX;

/// Row of a switch: a range of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// Index of the first cell.
    start: u32,
    /// Number of cells, which is the number of columns of its component.
    count: u32,
    /// First column of its component.
    pub(super) first_column: u32,
    /// Column of the switch itself, or [`NO_COLUMN`] without attachments.
    pub(super) own_column: u32,
}

impl Row {
    /// Its slice of all cells.
    #[inline]
    pub(super) fn of(self, cells: &[u32]) -> &[u32] {
        &cells[self.start as usize..][..self.count as usize]
    }
}

/// The complete table.
pub(super) struct Table {
    /// Row of each switch.
    pub(super) rows: Vec<Row>,
    /// Cells of the distinct rows; each is the offset of a list in `ports`.
    pub(super) cells: Vec<u32>,
    /// Lists that the cells refer to.
    pub(super) ports: PortLists,
}

pub(super) fn compute(switches: &Switches, columns: &Columns) -> Table {
    let mut filling = Filling::new(switches, columns);
    let groups = Groups::new(switches, columns);
    for &(destination, column) in &groups.first_members {
        filling.fill_column(destination, column);
    }
    filling.fill_groups(&groups);
    filling.fill_own_cells();
    filling.finish(columns)
}

/// Destinations with the same neighbours, such as the leaves of a pod. Every other switch has the same
/// distance to all of them, so one search serves the whole group.
struct Groups {
    /// First destination of each group, with its column.
    first_members: Vec<(usize, usize)>,
    /// The remaining destinations.
    members: Vec<Member>,
}

/// A destination with the same neighbours as an earlier one.
struct Member {
    switch: usize,
    column: usize,
    /// First destination of its group.
    first: usize,
    first_column: usize,
}

impl Groups {
    fn new(switches: &Switches, columns: &Columns) -> Self {
        let mut first_by_neighbours: HashMap<Vec<u32>, (usize, usize)> = HashMap::new();
        let (mut first_members, mut members) = (Vec::new(), Vec::new());
        for switch in 0..switches.count() {
            if columns.own(switch) == NO_COLUMN {
                continue;
            }
            let first = columns.of_component(switches.component(switch)).start;
            let column = (columns.own(switch) - first) as usize;
            let neighbours = switches.neighbours(switch).iter().map(|neighbour| neighbour.switch).collect();
            match first_by_neighbours.entry(neighbours) {
                // A switch without neighbours is a component of its own, and is never grouped.
                Entry::Occupied(first) if !first.key().is_empty() => {
                    let &(first, first_column) = first.get();
                    members.push(Member { switch, column, first, first_column });
                }
                kind => {
                    kind.insert_entry((switch, column));
                    first_members.push((switch, column));
                }
            }
        }
        Self { first_members, members }
    }
}

/// The table under construction; one search fills one column.
struct Filling<'a> {
    switches: &'a Switches,
    search: Search,
    ports: Interner,
    cells: Vec<u32>,
    /// The row of switch `s` is `cells[starts[s]..starts[s + 1]]`.
    starts: Vec<usize>,
}

impl<'a> Filling<'a> {
    fn new(switches: &'a Switches, columns: &Columns) -> Self {
        let mut starts = vec![0];
        for switch in 0..switches.count() {
            starts.push(starts[switch] + columns.of_component(switches.component(switch)).len());
        }
        let cells = vec![OWN; starts[switches.count()]];
        Self { switches, search: Search::new(switches.count()), ports: Interner::default(), cells, starts }
    }

    fn fill_column(&mut self, destination: usize, column: usize) {
        self.search.run(self.switches, destination);
        let mut ports = Vec::new();
        for &switch in &self.search.order()[1..] {
            let switch = switch as usize;
            self.search.ports_nearer(self.switches, switch, &mut ports);
            let cell = self.starts[switch] + column;
            self.cells[cell] = self.ports.intern(&ports, self.guess(self.starts[switch], cell));
        }
    }

    /// Copies the column of each group's first destination to its other members, then corrects the cells that
    /// differ.
    fn fill_groups(&mut self, groups: &Groups) {
        for switch in 0..self.switches.count() {
            let component = self.switches.component(switch);
            let row = &mut self.cells[self.starts[switch]..self.starts[switch + 1]];
            for member in
                groups.members.iter().filter(|member| self.switches.component(member.switch) == component)
            {
                row[member.column] = row[member.first_column];
            }
        }
        groups.members.iter().for_each(|member| self.fill_differing(member));
    }

    /// Fills those cells of a member's column that differ from the column of its group's first destination.
    fn fill_differing(&mut self, member: &Member) {
        let all: Vec<u16> =
            self.switches.neighbours(member.first).iter().map(|neighbour| neighbour.port).collect();
        self.set(member.first, member.column, &all);
        for neighbour in self.switches.neighbours(member.switch) {
            let switch = neighbour.switch as usize;
            let leads_there = |back: &&Neighbour| back.switch as usize == member.switch;
            let back = self.switches.neighbours(switch).iter().filter(leads_there);
            let ports: Vec<u16> = back.map(|back| back.port).collect();
            self.set(switch, member.column, &ports);
        }
        self.cells[self.starts[member.switch] + member.column] = OWN;
    }

    fn set(&mut self, switch: usize, column: usize, ports: &[u16]) {
        self.cells[self.starts[switch] + column] = self.ports.intern(ports, None);
    }

    /// A probable next-hop list of a cell: that of the previous destination.
    fn guess(&self, row_start: usize, cell: usize) -> Option<u32> {
        self.cells[row_start..cell].last().copied().filter(|&list| list != OWN)
    }

    /// Copies a neighbouring cell to the one that is never read, so that rows of similar switches are equal.
    fn fill_own_cells(&mut self) {
        for ends in self.starts.windows(2) {
            let row = &mut self.cells[ends[0]..ends[1]];
            if let Some(own) = row.iter().position(|&list| list == OWN) {
                let neighbour = row.get(if own == 0 { 1 } else { own - 1 }).copied();
                row[own] = neighbour.unwrap_or_else(|| self.ports.intern(&[], None));
            }
        }
    }

    fn finish(self, columns: &Columns) -> Table {
        let mut starts_by_row: HashMap<&[u32], u32> = HashMap::new();
        let (mut rows, mut cells) = (Vec::with_capacity(self.switches.count()), Vec::new());
        for (switch, ends) in self.starts.windows(2).enumerate() {
            let row = &self.cells[ends[0]..ends[1]];
            let start = *starts_by_row.entry(row).or_insert_with(|| append(&mut cells, row));
            let of_component = columns.of_component(self.switches.component(switch));
            let (count, first_column) = (of_component.len() as u32, of_component.start);
            rows.push(Row { start, count, first_column, own_column: columns.own(switch) });
        }
        cells.shrink_to_fit();
        let ports = self.ports.finish();
        assert!(cells.iter().all(|&start| ports.holds(start)), "every cell names a list");
        Table { rows, cells, ports }
    }
}

fn append(cells: &mut Vec<u32>, row: &[u32]) -> u32 {
    let start = u32::try_from(cells.len()).expect("the distinct rows fit 32 bits");
    cells.extend_from_slice(row);
    start
}
