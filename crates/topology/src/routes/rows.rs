//! The route table: a row for each switch, a column for each switch that has attachments.

use super::port_lists::{Interner, PortLists};
use super::switches::{Neighbour, Search, Switches};
use super::targets::{Columns, NO_COLUMN};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Cell that no search has filled: the column of the switch itself, which is never read.
const OWN: u32 = u32::MAX;

/// Where the row of a switch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// Its first cell.
    start: u32,
    /// As many cells as its component has columns.
    count: u32,
    /// The first of those columns.
    pub(super) first_column: u32,
    /// The column of the switch itself, if it has attachments.
    pub(super) own_column: u32,
}

impl Row {
    /// Its cells among those of all rows.
    #[inline]
    pub(super) fn of(self, cells: &[u32]) -> &[u32] {
        &cells[self.start as usize..][..self.count as usize]
    }
}

/// The finished table.
pub(super) struct Table {
    /// By switch.
    pub(super) rows: Vec<Row>,
    /// The cells of the distinct rows. Each names a list that `ports` holds.
    pub(super) cells: Vec<u32>,
    /// What the cells name.
    pub(super) ports: PortLists,
}

pub(super) fn compute(switches: &Switches, columns: &Columns) -> Table {
    let mut filling = Filling::new(switches, columns);
    let alike = Alike::new(switches, columns);
    for &(destination, column) in &alike.searched {
        filling.fill_column(destination, column);
    }
    filling.fill_alike(&alike);
    filling.fill_own_cells();
    filling.finish(columns)
}

/// Destinations of which all neighbours are the same: the leaves of a pod. Every other switch is as far from
/// the one as from the other, so one search does for all of them.
struct Alike {
    /// The first of each kind, with its column.
    searched: Vec<(usize, usize)>,
    /// The others.
    twins: Vec<Twin>,
}

/// A destination that is like an earlier one.
struct Twin {
    switch: usize,
    column: usize,
    /// The first of its kind.
    first: usize,
    first_column: usize,
}

impl Alike {
    fn new(switches: &Switches, columns: &Columns) -> Self {
        let mut known: HashMap<Vec<u32>, (usize, usize)> = HashMap::new();
        let (mut searched, mut twins) = (Vec::new(), Vec::new());
        for switch in 0..switches.count() {
            if columns.own(switch) == NO_COLUMN {
                continue;
            }
            let first = columns.of_component(switches.component(switch)).start;
            let column = (columns.own(switch) - first) as usize;
            let neighbours = switches.neighbours(switch).iter().map(|neighbour| neighbour.switch).collect();
            match known.entry(neighbours) {
                // What has no neighbours is like nothing else: it is a component of its own.
                Entry::Occupied(first) if !first.key().is_empty() => {
                    let &(first, first_column) = first.get();
                    twins.push(Twin { switch, column, first, first_column });
                }
                kind => {
                    kind.insert_entry((switch, column));
                    searched.push((switch, column));
                }
            }
        }
        Self { searched, twins }
    }
}

/// The whole table while its columns are filled, one search for each.
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

    /// Fills the columns of all twins with those of the first of their kinds, but for what leads straight to
    /// them.
    fn fill_alike(&mut self, alike: &Alike) {
        for switch in 0..self.switches.count() {
            let component = self.switches.component(switch);
            let row = &mut self.cells[self.starts[switch]..self.starts[switch + 1]];
            for twin in alike.twins.iter().filter(|twin| self.switches.component(twin.switch) == component) {
                row[twin.column] = row[twin.first_column];
            }
        }
        alike.twins.iter().for_each(|twin| self.fill_around(twin));
    }

    /// Fills the cells of a twin's column in which it differs from that of the first of its kind.
    fn fill_around(&mut self, twin: &Twin) {
        let all: Vec<u16> =
            self.switches.neighbours(twin.first).iter().map(|neighbour| neighbour.port).collect();
        self.set(twin.first, twin.column, &all);
        for neighbour in self.switches.neighbours(twin.switch) {
            let switch = neighbour.switch as usize;
            let leads_there = |back: &&Neighbour| back.switch as usize == twin.switch;
            let back = self.switches.neighbours(switch).iter().filter(leads_there);
            let ports: Vec<u16> = back.map(|back| back.port).collect();
            self.set(switch, twin.column, &ports);
        }
        self.cells[self.starts[twin.switch] + twin.column] = OWN;
    }

    fn set(&mut self, switch: usize, column: usize, ports: &[u16]) {
        self.cells[self.starts[switch] + column] = self.ports.intern(ports, None);
    }

    /// Neighbouring destinations often have the same next hops.
    fn guess(&self, row_start: usize, cell: usize) -> Option<u32> {
        self.cells[row_start..cell].last().copied().filter(|&list| list != OWN)
    }

    /// Gives the cell that is never read the value of its neighbour, so that the rows of alike switches are
    /// equal.
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
        let mut known: HashMap<&[u32], u32> = HashMap::new();
        let (mut rows, mut cells) = (Vec::with_capacity(self.switches.count()), Vec::new());
        for (switch, ends) in self.starts.windows(2).enumerate() {
            let row = &self.cells[ends[0]..ends[1]];
            let start = *known.entry(row).or_insert_with(|| append(&mut cells, row));
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
