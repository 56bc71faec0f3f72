//! Scheduled switches: leaves with virtual output queues behind a fabric of cells.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Switches of the scheduled family, in place of Ethernet ones: each leaf has a virtual output queue (VOQ)
/// for every host-facing port of the fabric and priority, sends from it only what the scheduler of that port
/// has granted, and sprays it as cells over all its fabric links. The buffer and PFC of the switch are those
/// of the VOQs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduledSpec {
    /// What one credit lets a VOQ send [bytes on the link of the host, preamble and gap included].
    #[schemars(range(max = 1 << 20))]
    pub credit_bytes: u32,
    /// Credits are granted at this part of the rate of their port [parts per million].
    #[schemars(range(min = 100_000, max = 10_000_000))]
    pub credit_speedup_ppm: u32,
    /// Largest cell on a fabric link, its header included [bytes].
    #[schemars(range(max = 4_096))]
    pub cell_bytes: u32,
    /// Header of a cell [bytes].
    pub cell_header_bytes: u32,
    /// What a request or a grant takes on a fabric link [bytes].
    #[schemars(range(min = 1))]
    pub control_cell_bytes: u32,
    /// Fabric links carry cells at this part of their rate in the topology [parts per million].
    #[schemars(range(min = 100_000, max = 10_000_000))]
    pub fabric_speedup_ppm: u32,
    /// A port's scheduler grants a priority no more while this much is granted and has not left by the port
    /// [bytes]; twice what the port sends in one round trip through the fabric when absent.
    pub egress_buffer_bytes: Option<u64>,
}
