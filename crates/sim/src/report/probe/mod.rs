//! Measurements at ports, links and connections: counters at the end of a run, time series and live view
//! during it.

mod fabric_links;
mod live;
mod selection;
mod series;
mod skipped;
mod tables;
mod totals;
mod values;

pub(crate) use live::LiveView;
pub(crate) use series::{SeriesProbe, emit_series};
pub(crate) use skipped::Sample;
pub(crate) use tables::{emit_links, emit_ports};
pub(crate) use totals::total_rows;
