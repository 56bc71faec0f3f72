//! Two TCP endpoints joined by a network that delays, loses, duplicates, reorders, queues and marks.

#![expect(clippy::unwrap_used, reason = "tests may fail")]

mod laws;
mod network;
mod properties;
mod recovery;
