//! Rules that differ between versions of NCCL: the oldest rules, and one table of the changes since.
//!
//! Source: NCCL 2.18 to 2.31 `src/graph/{search,topo,connect,paths,tuning}.cc`, `src/init.cc`, `src/transport/nvls.cc`.

use crate::bandwidth::Bandwidth;
use crate::version::Version;

/// The rules of one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The version.
    pub version: Version,
    /// Most channels of a communicator.
    pub max_channels: usize,
    /// Servers that NVLink joins are one node (MNNVL).
    pub nvlink_domains: bool,
    /// Speeds that the search tries within one node.
    pub speeds_intra: Speeds,
    /// Speeds that the search tries over several nodes.
    pub speeds_inter: Speeds,
    /// The search starts at the best path types of the node and ends at the worst, instead of fixed types.
    pub measured_types: bool,
    /// Second attempt of a ring with other NICs, for `NCCL_CROSS_NIC` 1 and 2.
    pub crossing: Crossing,
    /// Links of a node.
    pub links: LinkRules,
    /// Counts of channels.
    pub counts: CountRules,
    /// Point-to-point traffic.
    pub point_to_point: PointToPointRules,
    /// Times of algorithms.
    pub tuner: TunerRules,
}

/// Speeds that the search tries, fastest first, by compute capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speeds {
    ampere: &'static [Bandwidth],
    hopper: &'static [Bandwidth],
    blackwell: Option<&'static [Bandwidth]>,
}

impl Speeds {
    /// The speeds for the smallest compute capability of the node's GPUs.
    #[must_use]
    pub fn for_capability(&self, capability: u32) -> &'static [Bandwidth] {
        match capability {
            100.. => self.blackwell.unwrap_or(self.hopper),
            90.. => self.hopper,
            _ => self.ampere,
        }
    }
}

/// How rings may leave a node by another NIC than they enter it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossing {
    /// 2.18, 2.19: value 1 allows any NIC; value 2 has no effect on the exit.
    AnyNic,
    /// 2.20: rings in pairs, marked 1, for each value but 0; swapped on odd nodes if the nodes are even.
    PairedAsOneEvenNodes,
    /// 2.21, 2.22: as before, for any number of nodes.
    PairedAsOne,
    /// From 2.23: value 2 tries rings in pairs, marked 2; value 1 allows any NIC.
    Paired,
}

impl Crossing {
    /// `crossNic` of a graph whose rings are paired; none without such graphs.
    #[must_use]
    pub const fn paired(self) -> Option<u8> {
        match self {
            Self::AnyNic => None,
            Self::PairedAsOneEvenNodes | Self::PairedAsOne => Some(1),
            Self::Paired => Some(2),
        }
    }
}

/// Speeds of links that depend on the version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkRules {
    /// One NVLink of Hopper.
    pub nvlink_hopper: Bandwidth,
    /// One NVLink of Blackwell.
    pub nvlink_blackwell: Bandwidth,
    /// Sapphire Rapids and Emerald Rapids have socket links of their own.
    pub new_intel_sockets: bool,
    /// AMD sockets, by generation: Zen 1 and 2, Zen 3 and 4, Zen 5.
    pub amd_sockets: [Bandwidth; 3],
    /// A NIC at the CPU of a GPU with C2C is reached by GPUDirect (type P2C).
    pub c2c_to_nic: bool,
    /// PXN may use such a GPU.
    pub pxn_over_c2c: bool,
}

/// Counts of channels that depend on the version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountRules {
    /// When rings of Hopper over several nodes are doubled a second time.
    pub second_doubling: SecondDoubling,
    /// The collective channels are raised to the NVLS channels.
    pub at_least_nvls: bool,
    /// Fewest GPUs of a node with NVLS. The first version with 2 is inferred: 2.27 needs 3, a log of 2.29.2
    /// shows NVLS with 2.
    pub nvls_gpus: usize,
    /// NVLS channels of Blackwell.
    pub nvls_blackwell: NvlsBlackwell,
}

/// When rings over several nodes with more than 45 GB/s are doubled a second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecondDoubling {
    /// Hopper, whenever the double fits in the most channels.
    HopperIfItFits,
    /// Hopper, below 16 channels.
    Hopper,
    /// Hopper and newer, below 16 channels.
    HopperOrNewer,
}

/// NVLS channels of Blackwell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NvlsBlackwell {
    /// 16, as Hopper.
    AsHopper,
    /// 32 over several nodes, else 16.
    Several32,
    /// 32 over several nodes, else 24.
    Several32One24,
    /// By NIC speed over several nodes, else 24.
    ByNic,
}

/// Point-to-point rules that depend on the version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointToPointRules {
    /// Channels to a peer over the network.
    pub network_peer: NetworkPeer,
    /// GPUs that NVLink joins over a third GPU (NVB) count as NVLink peers.
    pub nvb_is_nvlink: bool,
    /// Order of the peers.
    pub schedule: Schedule,
}

/// Channels to a peer over the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkPeer {
    /// 2.
    Two,
    /// 2, halved for communicators with more ranks; at least the NICs that a GPU can fill.
    TwoHalvedByRanks,
    /// One per 14 GB/s of the NICs; halved until the peers of a batch fit.
    ByBandwidth,
}

/// Order in which a rank sends to its peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// Nodes at distances d, -d, N/2-d, -(N/2-d).
    Distances,
    /// Quadratic over nodes and over local ranks.
    QuadraticNodes,
    /// Quadratic over groups of up to 8 local ranks, in order within a group.
    QuadraticGroups,
}

/// Parts of the tuner that depend on the version. Figures in parts per thousand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunerRules {
    /// Fraction of the bandwidth that LL gives on a ring.
    pub ring_ll_permille: u32,
    /// Fraction of the bandwidth that LL128 gives on a ring with one GPU per node.
    pub single_gpu_ll128_permille: u32,
    /// PAT exists (release notes of 2.23).
    pub pat: bool,
    /// Formula of NVLS and NVLSTree.
    pub nvls: NvlsModel,
    /// NET latency of NVLSTree [ns].
    pub nvls_tree_net_ns: u32,
    /// Blackwell over several nodes: ring by `bwInter`, tree and PAT by the lesser speed; ring's plateau for
    /// all-gather and reduce-scatter on one node.
    pub blackwell_2_31: bool,
}

/// Formula of the bandwidth of NVLS and NVLSTree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NvlsModel {
    /// 5/6 of the lesser speed for all-reduce; NVLSTree times 0.70 N / (2 (N - 1)).
    FiveSixthsOldTree,
    /// 5/6 of the lesser speed for all-reduce; NVLSTree with half of `bwInter` from 3 nodes on.
    FiveSixths,
    /// Efficiency of the GPU generation, caps per channel; NVLSTree of Blackwell is corrected as trees are.
    ByGeneration,
}

struct Change {
    since: Version,
    apply: fn(&mut Rules),
}

const fn since(minor: u16, apply: fn(&mut Rules)) -> Change {
    Change { since: Version::patch(minor, 0), apply }
}

const fn since_patch(minor: u16, patch: u16, apply: fn(&mut Rules)) -> Change {
    Change { since: Version::patch(minor, patch), apply }
}

/// The changes after 2.18, in order.
const CHANGES: &[Change] = &[
    since(19, |rules| {
        rules.speeds_intra.hopper = HOPPER_INTRA_2_19;
        rules.speeds_inter.hopper = HOPPER_INTER;
        rules.links.amd_sockets = [Bandwidth::from_gb(16); 3];
        rules.tuner.nvls = NvlsModel::FiveSixths;
    }),
    since(20, |rules| {
        rules.nvlink_domains = true;
        rules.links.nvlink_hopper = Bandwidth::from_mb(20_600);
        rules.links.nvlink_blackwell = Bandwidth::from_mb(20_600);
        rules.crossing = Crossing::PairedAsOneEvenNodes;
        rules.counts.second_doubling = SecondDoubling::Hopper;
        rules.counts.at_least_nvls = true;
        rules.point_to_point.network_peer = NetworkPeer::TwoHalvedByRanks;
    }),
    since(21, |rules| {
        rules.speeds_intra.hopper = HOPPER_INTRA;
        rules.crossing = Crossing::PairedAsOne;
        rules.tuner.ring_ll_permille = 500;
    }),
    since(22, |rules| rules.point_to_point.schedule = Schedule::QuadraticNodes),
    since(23, |rules| {
        rules.crossing = Crossing::Paired;
        rules.tuner.single_gpu_ll128_permille = 920;
        rules.tuner.pat = true;
    }),
    since(25, |rules| {
        rules.max_channels = 64;
        rules.measured_types = true;
        rules.speeds_intra.blackwell = Some(BLACKWELL_INTRA_2_25);
        rules.speeds_inter.blackwell = Some(BLACKWELL_INTER_2_25);
        rules.links.nvlink_blackwell = Bandwidth::from_mb(40_000);
        rules.counts.second_doubling = SecondDoubling::HopperOrNewer;
        rules.counts.nvls_blackwell = NvlsBlackwell::Several32;
    }),
    since(26, |rules| rules.links.new_intel_sockets = true),
    since(27, |rules| {
        rules.speeds_inter.blackwell = Some(BLACKWELL_INTER_2_27);
        rules.links.c2c_to_nic = true;
        rules.counts.nvls_blackwell = NvlsBlackwell::Several32One24;
    }),
    since(28, |rules| {
        rules.speeds_inter.blackwell = Some(BLACKWELL_INTER_2_28);
        rules.links.nvlink_blackwell = Bandwidth::from_mb(40_100);
        rules.links.pxn_over_c2c = true;
        rules.counts.at_least_nvls = false;
        rules.tuner.nvls = NvlsModel::ByGeneration;
    }),
    since_patch(28, 9, |rules| rules.tuner.nvls_tree_net_ns = 20_900),
    since(29, |rules| {
        rules.speeds_intra.blackwell = Some(BLACKWELL_INTRA);
        rules.counts.nvls_gpus = 2;
        rules.point_to_point.network_peer = NetworkPeer::ByBandwidth;
        rules.point_to_point.schedule = Schedule::QuadraticGroups;
    }),
    since(30, |rules| {
        rules.speeds_inter.blackwell = Some(BLACKWELL_INTER_2_30);
        rules.counts.nvls_blackwell = NvlsBlackwell::ByNic;
    }),
    since_patch(30, 7, |rules| rules.point_to_point.nvb_is_nvlink = true),
    since(31, |rules| {
        rules.speeds_inter.blackwell = Some(BLACKWELL_INTER_2_31);
        rules.links.amd_sockets = [16, 24, 32].map(Bandwidth::from_gb);
        rules.tuner.blackwell_2_31 = true;
    }),
];

impl Rules {
    /// The rules of a version.
    #[must_use]
    pub fn of(version: Version) -> Self {
        let mut rules = Self::oldest(version);
        for change in CHANGES.iter().filter(|change| change.since <= version) {
            (change.apply)(&mut rules);
        }
        rules
    }

    /// The rules of 2.18.
    const fn oldest(version: Version) -> Self {
        Self {
            version,
            max_channels: 32,
            nvlink_domains: false,
            speeds_intra: Speeds { ampere: AMPERE_INTRA, hopper: HOPPER_INTRA_2_18, blackwell: None },
            speeds_inter: Speeds { ampere: AMPERE_INTER, hopper: HOPPER_INTER_2_18, blackwell: None },
            measured_types: false,
            crossing: Crossing::AnyNic,
            links: LinkRules {
                nvlink_hopper: Bandwidth::from_gb(20),
                nvlink_blackwell: Bandwidth::from_gb(20),
                new_intel_sockets: false,
                amd_sockets: [Bandwidth::LOCAL; 3],
                c2c_to_nic: false,
                pxn_over_c2c: false,
            },
            counts: CountRules {
                second_doubling: SecondDoubling::HopperIfItFits,
                at_least_nvls: false,
                nvls_gpus: 3,
                nvls_blackwell: NvlsBlackwell::AsHopper,
            },
            point_to_point: PointToPointRules {
                network_peer: NetworkPeer::Two,
                nvb_is_nvlink: false,
                schedule: Schedule::Distances,
            },
            tuner: TunerRules {
                ring_ll_permille: 250,
                single_gpu_ll128_permille: 700,
                pat: false,
                nvls: NvlsModel::FiveSixthsOldTree,
                nvls_tree_net_ns: 14_000,
                blackwell_2_31: false,
            },
        }
    }
}

/// Speeds in MB/s as a constant list.
macro_rules! speeds {
    ($($name:ident: $($speed:literal)+;)+) => {
        $(const $name: &[Bandwidth] = &[$(Bandwidth::from_mb($speed)),+];)+
    };
}

speeds! {
    AMPERE_INTRA: 40_000 30_000 20_000 18_000 15_000 12_000 10_000 9_000 7_000 6_000 5_000 4_000 3_000;
    AMPERE_INTER: 48_000 30_000 28_000 24_000 20_000 18_000 15_000 12_000 10_000 9_000 7_000 6_000 5_000 4_000
        3_000 2_400 1_200 240 120;
    HOPPER_INTRA_2_18: 60_000 40_000 30_000 24_000 20_000 15_000 12_000 6_000 3_000;
    HOPPER_INTRA_2_19: 60_000 50_000 40_000 30_000 24_000 20_000 15_000 12_000 6_000 3_000;
    HOPPER_INTRA: 60_000 50_000 40_000 30_000 24_000 20_000 15_000 12_000 11_000 6_000 3_000;
    HOPPER_INTER_2_18: 48_000 45_000 42_000 40_000 30_000 24_000 20_000 17_500 15_000 12_000 6_000 3_000 2_400
        1_200 240 120;
    HOPPER_INTER: 48_000 45_000 42_000 40_000 30_000 24_000 22_000 20_000 17_500 15_000 12_000 6_000 3_000 2_400
        1_200 240 120;
    BLACKWELL_INTRA_2_25: 90_000 80_000 70_000 60_000 50_000 40_000 30_000 24_000 20_000 19_000 18_000;
    BLACKWELL_INTRA: 90_000 80_000 70_000 60_000 50_000 45_000 40_000 30_000 24_000 20_000 19_000 18_000;
    BLACKWELL_INTER_2_25: 48_000 45_000 42_000 40_000 30_000 24_000 22_000 20_000 17_500 15_000 12_000 6_000
        3_000 2_400 1_200 240 120;
    BLACKWELL_INTER_2_27: 47_900 45_000 42_000 40_000 30_000 24_000 22_000 20_000 17_500 15_000 12_000 6_000
        3_000 2_400 1_200 240 120;
    BLACKWELL_INTER_2_28: 96_000 48_000 45_100 42_000 40_000 30_000 24_000 22_000 20_000 17_500 15_000 12_000
        6_000 3_000 2_400 1_200 240 120;
    BLACKWELL_INTER_2_30: 96_000 86_000 80_000 48_000 45_100 42_000 40_000 30_000 24_000 22_000 20_000 17_500
        15_000 12_000 6_000 3_000 2_400 1_200 240 120;
    BLACKWELL_INTER_2_31: 96_000 90_200 86_000 80_000 48_000 45_100 42_000 40_000 30_000 24_000 22_000 20_000
        17_500 15_000 12_000 6_000 3_000 2_400 1_200 240 120;
}
