//! Packet buffer of a switch: admission of frames, accounts of one shared buffer or of pools, release of
//! frames that are read out, and the pause frames requested when priority groups (ingress port, priority)
//! exceed their limits.

pub(crate) mod buffer;
pub(crate) mod pfc;
pub(crate) mod pools;
pub(crate) mod readout;
