//! A requester and a responder, joined by a network that may lose, delay, reorder and duplicate what they
//! say.
//!
//! - `driver`: the [`driver::Pair`] and its event loop in virtual time; it judges nothing and records
//!   everything.
//! - `network`: what happens to a packet on its way.
//! - `history`: what was recorded, as text and as counts.
//! - `checks`: what must hold of every history.
//! - `poster`: a requester with the sizes of its work.
//! - `scenario`: random parameters of a run.
//!
//! The other files are tests: `traces` (exact sequences), `properties` (any network), `clean` (a network
//! without faults), `failure` (retry exhaustion), `forgery` (packets that nobody sent), `wrap` (long
//! streams), `model` (the requester against a simple model of it), `edges` (single ends), `selective` and
//! `unrecovered` (the other ways of recovery).

mod checks;
mod clean;
mod driver;
mod edges;
mod failure;
mod forgery;
mod history;
mod model;
mod network;
mod poster;
mod properties;
mod scenario;
mod selective;
mod traces;
mod unrecovered;
mod wrap;
