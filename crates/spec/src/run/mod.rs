//! [`RunSpec`]: the complete input of one run, its sampling ([`ObserveSpec`]), and limits that several fields
//! share. Modules: `fabric` (with `addresses`, `failures`, `nic` and `switch`), `transport`, `jobs` (with
//! `work`) and `tcp`.

mod addresses;
mod fabric;
mod failures;
mod jobs;
mod nic;
mod switch;
mod tcp;
mod transport;
mod work;

pub use self::transport::*;
pub use ::topology::{
    Builder, CableSpec, Custom, CustomLink, CustomSwitch, FatTree, FullMesh, LeafSpine, LinkSpec, MultiPlane,
    RailOptimised, RailPods, SingleSwitch, TopologySpec,
};
pub use ::transport::tcp::CongestionKind;
pub use ::transport::{
    AdapterConfig, DcqcnConfig, FixedConfig, LineRateConfig, RateControlSpec, SwiftConfig, TimelyConfig,
};
pub use ::workload::{
    NcclAlgorithm, NcclChannel, NcclChannels, NcclConfig, NcclOneServer, NcclPeers, NcclProtocol,
    ScaleUpCopies, ScaleUpHops,
};
pub use addresses::{AddressSpec, DscpSpec, GatewaySpec, Ipv4Spec, SubnetOf};
pub use fabric::{
    ChipSpec, EcmpHash, ExtraDelaySpec, FabricSpec, LinkLayerSpec, LoadBalancing, PinSpec,
    SERVER_ADAPTERS_MAX, ServerSpec, SharedMemorySpec,
};
pub use failures::FailureSpec;
pub use jobs::{JobSpec, RepeatSpec};
pub use nic::{ClockSpec, HostClockSpec, ImpairmentSpec, NicDirection, NicSpec};
pub use switch::*;
pub use tcp::{TCP_WINDOW_SEGMENTS_MAX, TcpSpec};
pub use work::{
    ArrivalProcess, CollectiveSpec, OpenLoopSpec, PatternSpec, RendezvousSpec, StorageLength, StorageSpec,
    Work,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Maximum of the credits of a virtual lane [bytes]: half of the range of a 12-bit count of blocks of 64
/// bytes. IBTA vol. 1, 7.9.4.4.2.
pub(crate) const VL_BUFFER_BYTES_MAX: u32 = 2048 * 64;
/// Maximum offset of a host's clock [ps]: 1 s.
const CLOCK_OFFSET_PS_MAX: u64 = 1_000_000_000_000;
/// Maximum drift of a clock: ten times the 100 ppm that IEEE 802.3 permits [parts per 10^9].
const DRIFT_PPB_MAX: u32 = 1_000_000;
/// Maximum delay of a response to a threshold or to a pause frame [ps]: 1 ms.
const PAUSE_DELAY_PS_MAX: u64 = 1_000_000_000;

/// Condition of serde for fields that are omitted when they are zero.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// One run of one or more jobs on one fabric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    /// Version of this shape; must equal [`crate::SCHEMA_VERSION`].
    #[schemars(extend("const" = crate::SCHEMA_VERSION))]
    pub schema_version: u32,
    /// Seed of every random stream of the run.
    pub seed: u64,
    /// The network under test.
    pub fabric: FabricSpec,
    /// The RoCEv2 transport of every host.
    pub transport: TransportSpec,
    /// Jobs of the hosts.
    pub jobs: Vec<JobSpec>,
    /// TCP traffic in parallel with the jobs.
    pub tcp: Vec<TcpSpec>,
    /// Sampling during the run.
    pub observe: ObserveSpec,
}

impl RunSpec {
    /// Whether any job is storage.
    pub fn has_storage(&self) -> bool {
        self.jobs.iter().any(|job| job.work.storage().is_some())
    }

    /// By job: whether a rank of another job is on one of its hosts.
    pub fn jobs_sharing_hosts(&self) -> Vec<bool> {
        let mut first_job_of: HashMap<u32, usize> = HashMap::new();
        let mut shares = vec![false; self.jobs.len()];
        for (index, job) in self.jobs.iter().enumerate().filter(|_| self.jobs.len() > 1) {
            for &host in &job.hosts {
                let first = *first_job_of.entry(host).or_insert(index);
                if first != index {
                    shares[first] = true;
                    shares[index] = true;
                }
            }
        }
        shares
    }

    /// Code points of the packets of a job. That of a priority of its own is the class selector with the same
    /// number (RFC 2474), from which switches derive the priority by default.
    pub fn dscp_of(&self, job: u32) -> DscpSpec {
        let common = self.transport.dscp.unwrap_or_default();
        let job = self.jobs.get(job as usize);
        let own = job.and_then(|job| job.dscp.or(job.priority.map(|priority| 8 * priority)));
        DscpSpec { data: own.unwrap_or(common.data), ..common }
    }

    /// Priority of the data of a job.
    pub fn priority_of(&self, job: u32) -> u8 {
        let own = self.jobs.get(job as usize).and_then(|job| job.priority);
        own.unwrap_or(self.transport.priorities.data)
    }

    /// Priorities of the data of all jobs, in the order of the jobs, each once.
    pub fn data_priorities(&self) -> Vec<u8> {
        let mut priorities = Vec::new();
        for priority in (0..self.jobs.len()).map(|job| self.priority_of(job as u32)) {
            if !priorities.contains(&priority) {
                priorities.push(priority);
            }
        }
        priorities
    }
}

/// Sampling during the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ObserveSpec {
    /// Maximum points of a sampled series; the interval doubles when it is full. 0 disables sampling.
    pub series_points: u32,
    /// First sampling interval [ps].
    pub series_interval_ps: u64,
    /// Maximum number of sampled ports; ports of hosts are omitted first.
    pub series_ports: u32,
    /// Maximum number of queue pairs with sampled rate, and of TCP connections with sampled deliveries: every
    /// k-th, with the smallest k that fits.
    pub series_qps: u32,
    /// Maximum rows of table `paths`; 0 leaves it empty.
    pub path_rows: u32,
    /// Which chunks have a row in table `chunks`.
    pub chunks: ChunksObserved,
    /// Approximate number of rows of a sample: one chunk in k, with the smallest k that fits the expected
    /// number of rows.
    #[schemars(range(min = 1))]
    pub chunk_rows: u32,
}

/// Chunks that have a row; all are counted in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChunksObserved {
    /// Each.
    All,
    /// One in k, drawn by the seed; tables `chunk_steps` and `chunk_times` count all.
    Sample,
    /// None; tables `chunk_steps` and `chunk_times` count all.
    Summary,
}
