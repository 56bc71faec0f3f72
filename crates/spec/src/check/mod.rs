//! Checks across fields, of what the engine cannot carry out. Each error names the field by its path in the
//! spec. What goes together but makes no sense is for those to say who write specs.

mod colours;
mod jobs;
mod link_layer;
mod nic;
mod pools;
mod scheduled;
mod storage;
mod tcp;

use crate::ranges::out_of_range;
use crate::{
    BufferSpec, FabricSpec, LinkLayerSpec, PfcSpec, RateControlSpec, ReleaseSpec, RunSpec, SCHEMA_VERSION,
    TransportSpec,
};
use colours::check_colours;
use jobs::check_jobs;
use link_layer::check_link_layer;
use nic::check_nic;
use pools::check_pools;
use scheduled::check_scheduled;
use std::ops::RangeInclusive;
use tcp::check_tcp;
use thiserror::Error;

pub use jobs::CHUNK_PACKETS_MAX;

/// What is wrong with a spec.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SpecError {
    /// Not JSON, or not of this shape.
    #[error("not a run spec: {0}")]
    Shape(String),
    /// A value that cannot be carried out.
    #[error("{field}: {found}; allowed: {allowed}")]
    Value {
        /// Path of the field, such as `jobs[0].hosts[3]`.
        field: String,
        /// What was found.
        found: String,
        /// What is allowed.
        allowed: String,
    },
    /// A number out of its range.
    #[error("{field}: {found}; allowed: {least} to {most}{}", with(limited_by.as_deref()))]
    Range {
        /// Path of the field.
        field: String,
        /// What was found.
        found: u64,
        /// The least that is allowed.
        least: u64,
        /// The most that is allowed.
        most: u64,
        /// Path of the field that makes that the range, if it is not always.
        limited_by: Option<String>,
    },
}

impl SpecError {
    /// Puts a part in front of the path of the field.
    pub(crate) fn lead_by(&mut self, part: &str) {
        if let Self::Value { field, .. } | Self::Range { field, .. } = self {
            let is_joined = field.is_empty() || field.starts_with('[');
            field.insert_str(0, if is_joined { "" } else { "." });
            field.insert_str(0, part);
        }
    }
}

fn with(field: Option<&str>) -> String {
    field.map_or_else(String::new, |field| format!(" with this {field}"))
}

#[expect(clippy::needless_pass_by_value, reason = "callers pass literals and numbers alike")]
fn value(field: impl Into<String>, found: impl ToString, allowed: impl Into<String>) -> SpecError {
    SpecError::Value { field: field.into(), found: found.to_string(), allowed: allowed.into() }
}

fn require(holds: bool, error: impl FnOnce() -> SpecError) -> Result<(), SpecError> {
    if holds { Ok(()) } else { Err(error()) }
}

/// Requires a number to be in a range that another field sets: by its path, or by its name beside it.
fn within(
    field: impl Into<String>,
    found: impl Into<u64>,
    allowed: RangeInclusive<u64>,
    limited_by: &str,
) -> Result<(), SpecError> {
    let (found, (least, most)) = (found.into(), allowed.into_inner());
    require((least..=most).contains(&found), || {
        let field = field.into();
        let beside = if limited_by.contains('.') { "" } else { field.trim_end_matches(|each| each != '.') };
        let limited_by = Some(format!("{beside}{limited_by}"));
        SpecError::Range { field, found, least, most, limited_by }
    })
}

/// Checks everything that the shape alone does not.
///
/// # Errors
/// Each number that is out of its range, or the first field that contradicts another.
pub fn check_all(spec: &RunSpec) -> Result<(), Vec<SpecError>> {
    let errors = out_of_range(spec);
    if errors.is_empty() { check_together(spec).map_err(|error| vec![error]) } else { Err(errors) }
}

/// Checks everything that the shape alone does not.
///
/// # Errors
/// The first field that cannot be carried out.
pub fn check(spec: &RunSpec) -> Result<(), SpecError> {
    check_all(spec).map_err(|mut errors| errors.swap_remove(0))
}

/// Checks fields against each other, each in its range.
fn check_together(spec: &RunSpec) -> Result<(), SpecError> {
    require(spec.schema_version == SCHEMA_VERSION, || {
        value("schema_version", spec.schema_version, SCHEMA_VERSION.to_string())
    })?;
    for (field, set_up) in spec.fabric.set_ups() {
        let (cell, size) = (set_up.buffer.cell_bytes, set_up.buffer.size_bytes);
        within(format!("{field}.buffer.cell_bytes"), cell, 1..=size, "size_bytes")?;
        check_release(&field, &set_up.buffer, spec.fabric.switch.pipeline_latency_ps)?;
        if let Some(reaction_ps) = set_up.pfc.as_ref().and_then(|pfc| pfc.reaction_ps) {
            let least = spec.fabric.switch.pipeline_latency_ps;
            let name = format!("{field}.pfc.reaction_ps");
            within(&name, reaction_ps, least..=u64::MAX, "pipeline_latency_ps")?;
            require(spec.fabric.switch.scheduled.is_none(), || {
                value(name, format!("{reaction_ps} with scheduled switches"), "none")
            })?;
        }
        if let Some(ecn) = &set_up.ecn {
            within(format!("{field}.ecn.kmin_bytes"), ecn.kmin_bytes, 0..=ecn.kmax_bytes, "kmax_bytes")?;
        }
    }
    check_switch_settings(&spec.fabric)?;
    check_scheduled(spec)?;
    check_transport(&spec.transport)?;
    check_link_layer(spec)?;
    check_colours(spec)?;
    check_pools(spec)?;
    check_nic(spec)?;
    check_jobs(spec)?;
    check_tcp(spec)
}

/// Checks that frames are read out in the cells in which they are stored, and how much of the pipeline lies
/// inside the buffer.
fn check_release(field: &str, buffer: &BufferSpec, pipeline_latency_ps: u64) -> Result<(), SpecError> {
    let name = format!("{field}.buffer.pipeline_ps");
    within(name, buffer.pipeline_ps, 0..=pipeline_latency_ps, "pipeline_latency_ps")?;
    let ReleaseSpec::Cells { bytes } = buffer.release else { return Ok(()) };
    let cell_bytes = buffer.cell_bytes;
    require(cell_bytes == 1 || u64::from(bytes) == cell_bytes, || {
        value(format!("{field}.buffer.release.bytes"), bytes, format!("{cell_bytes}, as cell_bytes"))
    })
}

/// Checks that switches with settings of their own are of a kind that has them, and lossless as all others
/// are: one that pauses another needs to be obeyed.
fn check_switch_settings(fabric: &FabricSpec) -> Result<(), SpecError> {
    let what = match fabric.link_layer {
        LinkLayerSpec::Infiniband { .. } => Some("InfiniBand"),
        LinkLayerSpec::Ethernet {} => fabric.switch.scheduled.map(|_| "scheduled switches"),
    };
    if let Some(what) = what {
        require(fabric.switch_settings.is_empty(), || {
            value("fabric.switch_settings", format!("switches of their own settings with {what}"), "none")
        })?;
    }
    let lossless = |pfc: &Option<PfcSpec>| {
        pfc.iter().flat_map(|pfc| &pfc.priorities).fold(0_u8, |mask, priority| mask | 1 << priority)
    };
    let told = |mask: u8| (0..8).filter(move |bit| mask & 1 << bit != 0).map(|bit| bit.to_string());
    let told = |mask| format!("[{}]", told(mask).collect::<Vec<_>>().join(", "));
    let of_all = lossless(&fabric.switch.pfc);
    for (place, own) in fabric.switch_settings.iter().enumerate() {
        let own = lossless(&own.pfc);
        require(own == of_all, || {
            let field = format!("fabric.switch_settings[{place}].pfc.priorities");
            value(field, told(own), format!("{}, as those of all other switches", told(of_all)))
        })?;
    }
    Ok(())
}

fn check_transport(transport: &TransportSpec) -> Result<(), SpecError> {
    let window = transport.window_packets.into();
    // The window would never open.
    within("transport.ack_every", transport.ack_every, 1..=window, "window_packets")?;
    check_rate_control(&transport.rate_control)
}

fn check_rate_control(rate_control: &RateControlSpec) -> Result<(), SpecError> {
    let field = |name: &str| format!("transport.rate_control.{name}");
    match *rate_control {
        RateControlSpec::Swift(swift) => {
            let (least, most) = (swift.window_min_2e20, swift.window_max_2e20);
            within(field("window_min_2e20"), least, 0..=most, "window_max_2e20")?;
            let (least, most) = (swift.scaling_window_min_2e20, swift.scaling_window_max_2e20);
            within(field("scaling_window_min_2e20"), least, 0..=most, "scaling_window_max_2e20")
        }
        RateControlSpec::Timely(timely) => {
            within(field("rtt_low_ps"), timely.rtt_low_ps, 1..=timely.rtt_high_ps, "rtt_high_ps")
        }
        RateControlSpec::LineRate { .. } | RateControlSpec::Dcqcn(_) => Ok(()),
    }
}
