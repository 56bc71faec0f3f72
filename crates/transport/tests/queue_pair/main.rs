//! Pairs of queue pairs that speak to each other in bytes, over a channel that loses, reorders, duplicates
//! and marks.

#![expect(clippy::unwrap_used, reason = "the helpers of tests are tests, too")]

mod codec;
mod congestion;
mod delivery;
mod hostile;
mod immediate;
mod lab;
mod not_ready;
mod reads;
mod unreliable;
