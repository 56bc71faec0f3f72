//! The record of a run: its result tables (chunks, ports, links, paths, time series and others), each
//! declared once.
//!
//! A declaration has the columns in their order, each with its type, unit and meaning. It makes the type of
//! the rows and, with the feature `arrow`, turns rows into Arrow record batches.
//! `python/fabricbench/store/columns.py` and the page `reference/records` of the documentation are generated
//! from [`TABLES`].

#[cfg(feature = "arrow")]
mod arrow;
mod column;
mod declare;
mod tables;

#[cfg(feature = "arrow")]
pub use arrow::{Columns, Names};
pub use column::{Column, Kind, Point, Table};
pub use tables::*;
