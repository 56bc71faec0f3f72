//! The turns of what arrives, by egress port.
//!
//! A port has a row of fixed length, so that a turn is put behind those that came before it in few
//! instructions. Ports that more arrives for than a row holds have lists.

use super::port_set::PortSet;
use super::turns::{BLOCK, Turn, sort_row};

/// Turns in a row.
pub(super) const ROW: usize = 2 * BLOCK;
/// The count of a port with a list.
const LISTED: u8 = ROW as u8 + 1;

/// The egress port of what goes nowhere.
pub(super) const NOWHERE: usize = usize::MAX;

/// Turns by egress port.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    /// How many turns each port has, as many ports as [`PortSet::insert_counted`] takes.
    counts: Vec<u8>,
    /// As many as counts.
    rows: Vec<[Turn; ROW]>,
    lists: Vec<Vec<Turn>>,
}

/// The same to add turns to: what is the same for all of them is looked up once.
pub(super) struct OpenLanes<'a> {
    counts: &'a mut [u8],
    rows: &'a mut [[Turn; ROW]],
    lists: &'a mut [Vec<Turn>],
}

impl Lanes {
    /// Makes room for so many ports.
    #[inline]
    pub(super) fn begin(&mut self, ports: usize) {
        if self.counts.len() < ports {
            self.grow(ports);
        }
    }

    #[cold]
    fn grow(&mut self, ports: usize) {
        let ports = PortSet::padded(ports);
        self.counts.resize(ports, 0);
        self.rows.resize(ports, [Turn::LAST; ROW]);
        self.lists.resize_with(ports, Vec::new);
    }

    #[inline]
    pub(super) fn open(&mut self) -> OpenLanes<'_> {
        let Self { counts, rows, lists } = self;
        // Said once for the compiler, which then looks at one length for each turn.
        let rows = &mut rows[..counts.len()];
        OpenLanes { counts, rows, lists }
    }

    /// Adds all ports with turns to `ports`.
    #[inline]
    pub(super) fn tell_ports(&self, ports: &mut PortSet) {
        ports.insert_counted(&self.counts);
    }

    /// The turns of a port.
    #[inline]
    pub(super) fn of(&self, egress: usize) -> &[Turn] {
        let count = usize::from(self.counts[egress]);
        self.rows[egress].get(..count).unwrap_or_else(|| &self.lists[egress])
    }

    /// The same, to be changed.
    pub(super) fn of_mut(&mut self, egress: usize) -> &mut [Turn] {
        let count = usize::from(self.counts[egress]);
        self.rows[egress].get_mut(..count).unwrap_or(&mut self.lists[egress])
    }

    /// Sorts the turns of a port.
    #[inline]
    pub(super) fn sort(&mut self, egress: usize) {
        let count = usize::from(self.counts[egress]);
        if count <= ROW {
            sort_row(&mut self.rows[egress], count);
        } else {
            self.lists[egress].sort_unstable();
        }
    }

    /// A port has no turns any more.
    #[inline]
    pub(super) fn clear(&mut self, egress: usize) {
        self.counts[egress] = 0;
    }

    /// Keeps the turns of a port for which `keep`, which may change them, holds.
    pub(super) fn retain(&mut self, egress: usize, mut keep: impl FnMut(&mut Turn) -> bool) {
        let mut turns = self.of(egress).to_vec();
        turns.retain_mut(|turn| keep(turn));
        self.clear(egress);
        let mut lanes = self.open();
        turns.into_iter().for_each(|turn| lanes.push(egress, turn));
    }
}

impl OpenLanes<'_> {
    /// Puts a turn behind the others of its port, if it goes to one.
    #[inline(always)]
    pub(super) fn push(&mut self, egress: usize, turn: Turn) {
        let Some(count) = self.counts.get_mut(egress) else {
            assert_eq!(egress, NOWHERE, "a switch has a lane for each of its ports");
            return;
        };
        if let Some(place) = self.rows[egress].get_mut(usize::from(*count)) {
            *place = turn;
            *count += 1;
        } else {
            self.push_listed(egress, turn);
        }
    }

    #[cold]
    #[inline(never)]
    fn push_listed(&mut self, egress: usize, turn: Turn) {
        let (count, list) = (&mut self.counts[egress], &mut self.lists[egress]);
        if *count != LISTED {
            *count = LISTED;
            list.clear();
            list.extend_from_slice(&self.rows[egress]);
        }
        list.push(turn);
    }
}
