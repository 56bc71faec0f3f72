//! [`RunSpec`]: one simulated run, complete.

mod addresses;
mod colours;
mod ecn;
mod fabric;
mod failures;
mod jobs;
pub(crate) mod limits;
mod nic;
mod pfc;
mod pools;
mod scheduled;
mod storage;
mod switch;
mod tcp;
mod transport;

pub use self::transport::{LossRecovery, PrioritySpec, QpMode, TransportSpec};
pub use ::topology::{
    Builder, CableSpec, Custom, CustomLink, CustomSwitch, FatTree, FullMesh, LeafSpine, LinkSpec, MultiPlane,
    RailOptimised, RailPods, SingleSwitch, TopologySpec,
};
pub use ::transport::tcp::CongestionKind;
pub use ::transport::{AdapterConfig, DcqcnConfig, RateControlSpec, SwiftConfig, TimelyConfig};
pub use addresses::{AddressSpec, DscpSpec, GatewaySpec, Ipv4Spec, SubnetOf};
pub use colours::{ColourSpec, ColouringSpec, MarkerSpec, WredCurveSpec, WredSpec};
pub use ecn::{DynamicEcnSpec, EcnSpec};
pub use fabric::{
    ChipSpec, EcmpHash, ExtraDelaySpec, FabricSpec, LinkLayerSpec, LoadBalancing, PinSpec, SharedMemorySpec,
};
pub use failures::FailureSpec;
pub use jobs::{ArrivalProcess, ArrivalsSpec, JobSpec, RendezvousSpec, RepeatSpec};
pub use nic::{ClockSpec, HostClockSpec, ImpairmentSpec, NicDirection, NicSpec};
pub use pfc::{PfcSpec, StormActionSpec, WatchdogSpec, XoffSpec};
pub use pools::{EgressPoolSpec, IngressPoolSpec, PoolPauseSpec, PoolXoffSpec, PoolsSpec, ProfileSpec};
pub use scheduled::ScheduledSpec;
pub use storage::{StorageLength, StorageSpec};
pub use switch::{
    BufferSpec, ForwardingSpec, RatioSpec, ReleaseSpec, SchedulingSpec, SwitchSettingsSpec, SwitchSpec,
};
pub use tcp::{TCP_WINDOW_SEGMENTS_MAX, TcpSpec};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// What the hosts do.
    pub jobs: Vec<JobSpec>,
    /// TCP traffic beside them.
    pub tcp: Vec<TcpSpec>,
    /// What is sampled while running.
    pub observe: ObserveSpec,
}

impl RunSpec {
    /// Code points of the packets of a job.
    #[must_use]
    pub fn dscp_of(&self, job: u32) -> DscpSpec {
        let common = self.transport.dscp.unwrap_or_default();
        let own = self.jobs.get(job as usize).and_then(|job| job.dscp);
        DscpSpec { data: own.unwrap_or(common.data), ..common }
    }
}

/// What is sampled while running.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ObserveSpec {
    /// At most this many points in one sampled series; the interval doubles when it is full. 0 samples
    /// nothing.
    pub series_points: u32,
    /// First sampling interval [ps].
    pub series_interval_ps: u64,
    /// At most this many sampled ports; the rest are left out, hosts first.
    pub series_ports: u32,
    /// At most this many queue pairs whose rate is sampled, and at most as many TCP connections whose
    /// deliveries are: every k-th, with the smallest k that fits.
    pub series_qps: u32,
    /// At most this many rows of table `paths`; 0 leaves it empty.
    pub path_rows: u32,
    /// Which chunks have a row in table `chunks`.
    pub chunks: ChunksObserved,
    /// About this many rows of chunks stay of a sample: those of one chunk in k, with the smallest k that
    /// fits what is expected.
    #[schemars(range(min = 1))]
    pub chunk_rows: u32,
}

/// Which chunks have a row. All are counted in any case.
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
