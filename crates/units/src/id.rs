//! Typed indices of nodes, hosts, switches, links, host ports, ranks and transfers, each into a vector of its
//! kind, in creation order; `NumberMap`, a hash map with numbers as keys and a fast hash.

use crate::{State, mix64};
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};

macro_rules! id {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, State)]
        pub struct $name(pub u32);

        impl $name {
            /// The index.
            #[inline]
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// The id with this index.
            ///
            /// # Panics
            /// If `index` does not fit 32 bits.
            #[must_use]
            pub fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("an id fits 32 bits"))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

id! {
    /// A node of the fabric graph: hosts first, then switches.
    NodeId;
    /// A host (endpoint). Host `h` is node `h`.
    HostId;
    /// A switch. Switch `s` is node `hosts + s`.
    SwitchId;
    /// One cable of the fabric graph.
    LinkId;
    /// A host port connected to the fabric: the destination of a frame.
    AttachmentId;
    /// A rank within its job.
    Rank;
    /// One data transfer of a schedule.
    TransferId;
}

/// A hash map whose keys are numbers of the simulator itself, not chosen by an attacker: one mixing step
/// replaces the standard library's keyed hash. As with every hash map, results must not depend on its order.
pub type NumberMap<K, V> = HashMap<K, V, BuildHasherDefault<NumberHasher>>;

/// Mixes the numbers written to it.
#[derive(Clone, Copy, Debug, Default)]
pub struct NumberHasher(u64);

impl Hasher for NumberHasher {
    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    #[inline]
    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.0 = mix64(self.0.rotate_left(32) ^ number);
    }
}
