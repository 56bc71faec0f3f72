//! Measurements other than chunks: counters of ports and links at the end, time series during the run.

mod fabric_links;
mod live;
mod series;
mod skipped;
mod tables;
mod times;
mod totals;
mod values;

pub(crate) use live::LiveView;
pub(crate) use series::{SeriesProbe, hand_out_series};
pub(crate) use skipped::Sample;
pub(crate) use tables::{hand_out_links, hand_out_ports};
pub(crate) use totals::total_rows;
