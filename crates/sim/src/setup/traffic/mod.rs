//! Traffic of a run: queue pairs and transfers of jobs, storage connections, TCP connections, and the
//! completion times of messages on an idle fabric.

pub(super) mod flows;
pub(super) mod storage;
pub(super) mod tcp;
mod unloaded;
