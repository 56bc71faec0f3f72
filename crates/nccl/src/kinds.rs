//! Collectives, algorithms and protocols, with the names that NCCL's variables and logs use.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Declares an enum with NCCL's names and a list of all values.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[$variant_doc])* #[serde(rename = $text)] $variant,)+ }

        impl $name {
            /// All values, in the order in which NCCL compares them.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The name in variables and logs.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.pad(self.name())
            }
        }
    };
}

named! {
    /// A collective.
    Collective {
        /// From one rank to all.
        Broadcast = "Broadcast",
        /// To one rank.
        Reduce = "Reduce",
        /// Blocks of all ranks to all.
        AllGather = "AllGather",
        /// A reduced block to each rank.
        ReduceScatter = "ReduceScatter",
        /// A reduced buffer to all.
        AllReduce = "AllReduce",
    }
}

impl Collective {
    /// Whether each rank has one block of the larger buffer: all-gather and reduce-scatter.
    pub(crate) const fn has_blocks(self) -> bool {
        matches!(self, Self::AllGather | Self::ReduceScatter)
    }
}

named! {
    /// An algorithm.
    Algorithm {
        /// Double binary tree over nodes, chain within a node.
        Tree = "Tree",
        /// Ring over all ranks.
        Ring = "Ring",
        /// Reduction in the network, heads connected to all GPUs of the node. Recognised, never chosen.
        CollNetDirect = "CollNetDirect",
        /// Reduction in the network, a chain within the node. Recognised, never chosen.
        CollNetChain = "CollNetChain",
        /// Reduction in NVSwitch.
        Nvls = "NVLS",
        /// Reduction in NVSwitch, double binary tree over nodes.
        NvlsTree = "NVLSTree",
        /// Parallel aggregated trees.
        Pat = "PAT",
    }
}

named! {
    /// A protocol.
    Protocol {
        /// 4 bytes of data and 4 of flag.
        Ll = "LL",
        /// 120 bytes of data and 8 of flag.
        Ll128 = "LL128",
        /// Data, then a flag per slice.
        Simple = "Simple",
    }
}
