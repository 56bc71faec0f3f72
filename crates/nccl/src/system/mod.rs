//! Hardware of one server, or of several servers that one NVLink domain joins (MNNVL): GPUs, NICs, PCIe
//! switches, CPUs, NVSwitch, and directed links between them.
//!
//! [`Server`] describes regular machines, [`Parts`] lists those of any host; both build a [`System`].

mod constants;
mod parts;
mod processor;
mod server;

pub use constants::{PcieGeneration, nvlink};
pub use parts::{AdapterPart, C2cLink, GpuPart, NvLinkPair, Parts, PortPart, Upstream};
pub use processor::{Processor, Vendor};
pub use server::{Layout, NicModel, NvLinks, Server};

use crate::bandwidth::Bandwidth;
use serde::{Deserialize, Serialize};

/// A GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gpu {
    /// Compute capability times 10: 80 is Ampere, 90 Hopper, 100 Blackwell.
    pub capability: u32,
    /// Index of the device in its host (NVML), over all GPUs of the host.
    pub device: usize,
    /// Host, for NVLink domains of several.
    pub host: usize,
    /// GPUDirect RDMA is supported.
    pub gpu_direct: bool,
    /// Direct access to other GPUs is supported.
    pub peer_to_peer: bool,
}

/// A network port that NCCL uses as one device; bonded ports are one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Nic {
    /// Speed of the port. NCCL does not subtract the cost of protocols.
    pub bandwidth: Bandwidth,
    /// Latency that the network plugin reports [us].
    pub latency_us: f64,
    /// Chip. Ports with equal chip and port number share their speed.
    pub asic: u64,
    /// Port of the chip.
    pub port: u32,
    /// Rail, if the plugin reports one (from 2.30).
    pub rail: Option<u32>,
    /// Plane, if the plugin reports one (from 2.30).
    pub plane: Option<u32>,
    /// GPUDirect RDMA is supported.
    pub gpu_direct: bool,
}

/// A part of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Node {
    /// A GPU, by index.
    Gpu(usize),
    /// A network port, by index.
    Nic(usize),
    /// The PCIe device of one or more network ports.
    Adapter(usize),
    /// A PCIe switch. A pair of switches of one package is one.
    PciSwitch(usize),
    /// A CPU (NUMA node), by index.
    Cpu(usize),
    /// All NVSwitches of the domain.
    NvSwitch,
}

/// Kind of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkKind {
    /// NVLink.
    NvLink,
    /// Chip-to-chip link between a GPU and its CPU.
    C2c,
    /// PCIe.
    Pcie,
    /// Between CPUs.
    Sockets,
    /// Between an adapter and its port.
    Port,
}

/// A directed link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Sender.
    pub from: Node,
    /// Receiver.
    pub to: Node,
    /// Kind.
    pub kind: LinkKind,
    /// Speed in this direction.
    pub bandwidth: Bandwidth,
}

/// The hardware of one server or of one NVLink domain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct System {
    /// GPUs of the communicator, in the order of their PCIe addresses.
    pub gpus: Vec<Gpu>,
    /// Network ports.
    pub nics: Vec<Nic>,
    /// CPUs.
    pub cpus: Vec<Processor>,
    adapters: usize,
    switches: usize,
    nv_switch: bool,
    links: Vec<Link>,
}

impl System {
    /// A system without links.
    #[must_use]
    pub fn new(gpus: Vec<Gpu>, nics: Vec<Nic>, cpus: Vec<Processor>) -> Self {
        Self { gpus, nics, cpus, adapters: 0, switches: 0, nv_switch: false, links: Vec::new() }
    }

    /// Adds the PCIe device of network ports.
    pub fn add_adapter(&mut self) -> Node {
        self.adapters += 1;
        Node::Adapter(self.adapters - 1)
    }

    /// Adds a PCIe switch.
    pub fn add_switch(&mut self) -> Node {
        self.switches += 1;
        Node::PciSwitch(self.switches - 1)
    }

    /// Joins two parts by links in both directions. Links of one kind between the same parts add up.
    pub fn join(&mut self, one: Node, other: Node, kind: LinkKind, bandwidth: Bandwidth) {
        for (from, to) in [(one, other), (other, one)] {
            self.nv_switch |= from == Node::NvSwitch;
            let same = |link: &&mut Link| (link.from, link.to, link.kind) == (from, to, kind);
            match self.links.iter_mut().find(same) {
                Some(link) => link.bandwidth += bandwidth,
                None => self.links.push(Link { from, to, kind, bandwidth }),
            }
        }
    }

    /// Joins the CPUs of each host pairwise, by the slower of both.
    pub fn join_sockets(&mut self, hosts_of_cpus: &[usize], speeds: &[Bandwidth]) {
        for one in 0..self.cpus.len() {
            for other in one + 1..self.cpus.len() {
                if hosts_of_cpus[one] == hosts_of_cpus[other] {
                    let bandwidth = speeds[one].min(speeds[other]);
                    self.join(Node::Cpu(one), Node::Cpu(other), LinkKind::Sockets, bandwidth);
                }
            }
        }
    }

    /// Removes links between two parts, in both directions, such as NVLinks that failed.
    pub fn cut(&mut self, one: Node, other: Node, kind: LinkKind) {
        self.links.retain(|link| {
            link.kind != kind
                || ((link.from, link.to) != (one, other) && (link.from, link.to) != (other, one))
        });
    }

    /// All directed links.
    #[must_use]
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Whether NVSwitches join the GPUs.
    #[must_use]
    pub const fn has_nv_switch(&self) -> bool {
        self.nv_switch
    }

    /// Number of hosts.
    #[must_use]
    pub fn hosts(&self) -> usize {
        self.gpus.iter().map(|gpu| gpu.host + 1).max().unwrap_or(1)
    }

    /// Smallest and largest compute capability.
    #[must_use]
    pub fn capabilities(&self) -> (u32, u32) {
        let capabilities = || self.gpus.iter().map(|gpu| gpu.capability);
        (capabilities().min().unwrap_or(0), capabilities().max().unwrap_or(0))
    }

    /// The first CPU; NCCL takes its vendor for that of all.
    #[must_use]
    pub fn processor(&self) -> Processor {
        self.cpus.first().copied().unwrap_or(Processor::Other)
    }

    /// The same hardware with some of the GPUs, for a communicator that has ranks on these only.
    #[must_use]
    pub fn with_gpus(&self, kept: &[usize]) -> Self {
        let renumbered = |node| match node {
            Node::Gpu(gpu) => kept.iter().position(|&other| other == gpu).map(Node::Gpu),
            other => Some(other),
        };
        let mut system = self.clone();
        system.gpus = kept.iter().map(|&gpu| self.gpus[gpu].clone()).collect();
        system.links = self
            .links
            .iter()
            .filter_map(|link| Some(Link { from: renumbered(link.from)?, to: renumbered(link.to)?, ..*link }))
            .collect();
        system
    }

    /// Number of parts; [`Self::index`] is below it.
    pub(crate) fn parts(&self) -> usize {
        self.index(Node::NvSwitch) + 1
    }

    /// Index of a part among all.
    #[inline]
    pub(crate) fn index(&self, node: Node) -> usize {
        let (gpus, nics) = (self.gpus.len(), self.nics.len());
        match node {
            Node::Gpu(gpu) => gpu,
            Node::Nic(nic) => gpus + nic,
            Node::Adapter(adapter) => gpus + nics + adapter,
            Node::PciSwitch(switch) => gpus + nics + self.adapters + switch,
            Node::Cpu(cpu) => gpus + nics + self.adapters + self.switches + cpu,
            Node::NvSwitch => gpus + nics + self.adapters + self.switches + self.cpus.len(),
        }
    }

    /// All CPUs, GPUs, NICs and the NVSwitch: the parts to which paths are computed, in the order of NCCL.
    pub(crate) fn destinations(&self) -> impl Iterator<Item = Node> {
        let cpus = (0..self.cpus.len()).map(Node::Cpu);
        let gpus = (0..self.gpus.len()).map(Node::Gpu);
        let nics = (0..self.nics.len()).map(Node::Nic);
        cpus.chain(gpus).chain(nics).chain(self.nv_switch.then_some(Node::NvSwitch))
    }
}
