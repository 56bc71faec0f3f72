//! Storage in place of a collective.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{DURATION_PS_MAX, RATE_BPS_MAX};

/// Storage over RDMA: clients keep operations outstanding, each to a target drawn at random (NVMe over
/// Fabrics). The block size is the data size of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StorageSpec {
    /// The first so many ranks of the job are clients, the others targets.
    pub clients: u32,
    /// Operations that each client keeps outstanding, 1 to 65,535.
    #[schemars(range(min = 1, max = 65_535))]
    pub depth: u32,
    /// Operations that read [parts per million]; the others write.
    #[schemars(range(max = 1_000_000))]
    pub read_ppm: u32,
    /// When a client issues no more operations. Not for a job that runs until others end.
    pub length: StorageLength,
    /// Operations issued sooner after the start of the job are not measured [ps].
    #[schemars(range(max = DURATION_PS_MAX))]
    pub warm_up_ps: u64,
    /// The data of a write travels with its command up to this block size [bytes]; above it the target
    /// fetches them with RDMA READ.
    pub in_capsule_bytes: u64,
    /// READ requests that a target keeps unanswered on one queue pair.
    #[schemars(range(min = 1, max = 65_535))]
    pub outstanding_reads: u32,
    /// How fast a target stores and fetches data [bit/s]; without limit when absent.
    #[schemars(range(min = 1_000_000, max = RATE_BPS_MAX))]
    pub service_rate_bps: Option<u64>,
    /// What a target takes for each operation besides [ps]; it serves one after the other.
    #[schemars(range(max = DURATION_PS_MAX))]
    pub service_time_ps: u64,
}

/// When a storage client issues no more operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum StorageLength {
    /// After a time.
    Duration {
        /// From the start of the job [ps].
        #[schemars(range(min = 1, max = DURATION_PS_MAX))]
        duration_ps: u64,
    },
    /// After a number of operations.
    Operations {
        /// How many, of each client.
        #[schemars(range(min = 1, max = 1_000_000_000))]
        operations: u64,
    },
}
