//! Typed indices. Each is an index into a flat vector of its kind, in creation order.

use crate::State;
use std::fmt;

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
