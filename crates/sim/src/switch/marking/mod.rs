//! Congestion marks of a switch: ECN on the egress queue with fixed or dynamic thresholds, WRED by colour
//! (drop precedence), and the meters that colour frames.

pub(crate) mod colour;
pub(crate) mod ecn;
pub(crate) mod ecn_control;
pub(crate) mod ecn_law;
pub(crate) mod wred;
