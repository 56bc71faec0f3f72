//! Sort keys of the frames that arrive at a switch in a time window (step of the simulation), by egress port.
//!
//! Each port has a row of fixed length, so that appending a key takes few instructions. Ports with more
//! arrivals than a row holds have lists.

use super::order::{ArrivalKey, BLOCK, sort_row};
use crate::switch::port_set::PortSet;

/// Keys in a row.
pub(crate) const ROW: usize = 2 * BLOCK;
/// Count that marks a port with a list.
const LISTED: u8 = ROW as u8 + 1;

/// Egress port of frames without a route.
pub(crate) const NOWHERE: usize = usize::MAX;

/// Sort keys by egress port.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    /// Number of keys of each port, padded as [`PortSet::insert_counted`] requires.
    counts: Vec<u8>,
    /// One row per count.
    rows: Vec<[ArrivalKey; ROW]>,
    lists: Vec<Vec<ArrivalKey>>,
}

/// [`Lanes`] borrowed for appending: common fields are looked up once for all keys.
pub(crate) struct OpenLanes<'a> {
    counts: &'a mut [u8],
    rows: &'a mut [[ArrivalKey; ROW]],
    lists: &'a mut [Vec<ArrivalKey>],
}

impl Lanes {
    /// Grows to at least `ports` ports.
    #[inline]
    pub(crate) fn begin(&mut self, ports: usize) {
        if self.counts.len() < ports {
            self.grow(ports);
        }
    }

    #[cold]
    fn grow(&mut self, ports: usize) {
        let ports = PortSet::padded(ports);
        self.counts.resize(ports, 0);
        self.rows.resize(ports, [ArrivalKey::LAST; ROW]);
        self.lists.resize_with(ports, Vec::new);
    }

    #[inline]
    pub(crate) fn open(&mut self) -> OpenLanes<'_> {
        let Self { counts, rows, lists } = self;
        // Lets the compiler check one length for each key.
        let rows = &mut rows[..counts.len()];
        OpenLanes { counts, rows, lists }
    }

    /// Adds all ports with keys to `ports`.
    #[inline]
    pub(crate) fn mark_ports(&self, ports: &mut PortSet) {
        ports.insert_counted(&self.counts);
    }

    /// The keys of a port.
    #[inline]
    pub(crate) fn of(&self, egress: usize) -> &[ArrivalKey] {
        let count = usize::from(self.counts[egress]);
        self.rows[egress].get(..count).unwrap_or_else(|| &self.lists[egress])
    }

    /// The keys of a port, mutable.
    pub(crate) fn of_mut(&mut self, egress: usize) -> &mut [ArrivalKey] {
        let count = usize::from(self.counts[egress]);
        self.rows[egress].get_mut(..count).unwrap_or(&mut self.lists[egress])
    }

    /// Sorts the keys of a port.
    #[inline]
    pub(crate) fn sort(&mut self, egress: usize) {
        let count = usize::from(self.counts[egress]);
        if count <= ROW {
            sort_row(&mut self.rows[egress], count);
        } else {
            self.lists[egress].sort_unstable();
        }
    }

    /// Removes the keys of a port.
    #[inline]
    pub(crate) fn clear(&mut self, egress: usize) {
        self.counts[egress] = 0;
    }

    /// Removes the keys of a port that `keep`, which may change them, rejects.
    pub(crate) fn retain(&mut self, egress: usize, mut keep: impl FnMut(&mut ArrivalKey) -> bool) {
        let mut keys = self.of(egress).to_vec();
        keys.retain_mut(|key| keep(key));
        self.clear(egress);
        let mut lanes = self.open();
        keys.into_iter().for_each(|key| lanes.push(egress, key));
    }
}

impl OpenLanes<'_> {
    /// Appends a key to its port, unless that is [`NOWHERE`].
    #[inline(always)]
    pub(crate) fn push(&mut self, egress: usize, key: ArrivalKey) {
        let Some(count) = self.counts.get_mut(egress) else {
            assert_eq!(egress, NOWHERE, "a switch has a lane for each of its ports");
            return;
        };
        if let Some(slot) = self.rows[egress].get_mut(usize::from(*count)) {
            *slot = key;
            *count += 1;
        } else {
            self.push_listed(egress, key);
        }
    }

    #[cold]
    #[inline(never)]
    fn push_listed(&mut self, egress: usize, key: ArrivalKey) {
        let (count, list) = (&mut self.counts[egress], &mut self.lists[egress]);
        if *count != LISTED {
            *count = LISTED;
            list.clear();
            list.extend_from_slice(&self.rows[egress]);
        }
        list.push(key);
    }
}
