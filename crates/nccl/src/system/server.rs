//! Compact description of regular servers.

use super::{Gpu, LinkKind, Nic, Node, PcieGeneration, Processor, System, nvlink};
use crate::bandwidth::Bandwidth;
use crate::rules::Rules;
use serde::{Deserialize, Serialize};

/// A server whose GPUs and NICs are connected in a regular way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Server {
    /// Number of GPUs per host.
    pub gpus: usize,
    /// Compute capability times 10 of the GPUs.
    pub capability: u32,
    /// NVLinks.
    pub nvlink: NvLinks,
    /// C2C link between each GPU and its CPU.
    pub c2c: Option<Bandwidth>,
    /// Each NIC's GPUs are those on its PCIe switch: the first GPU of NIC i is `gpu_of_nic[i]`.
    pub gpu_of_nic: Vec<usize>,
    /// Model of the NICs.
    pub nic: NicModel,
    /// PCIe of GPUs and switches, x16.
    pub pcie: PcieGeneration,
    /// Number of GPUs on one PCIe switch, or on one CPU without switches.
    pub gpus_per_switch: usize,
    /// PCIe between devices and CPUs.
    pub layout: Layout,
    /// CPUs (NUMA nodes) per host; the switches are divided among them evenly.
    pub cpus: usize,
    /// CPU model.
    pub processor: Processor,
    /// GPUs can access one another directly.
    pub peer_to_peer: bool,
    /// Hosts that one NVLink domain joins (MNNVL).
    pub hosts: usize,
}

impl Server {
    /// Bandwidth of the NVLinks of a GPU together, as far as kernels of NCCL use it; `None` without NVLink, and
    /// for pairs, which differ.
    pub(crate) fn nvlink_of_gpu(&self, rules: &Rules) -> Option<Bandwidth> {
        let links = match self.nvlink {
            NvLinks::None | NvLinks::Pairs(_) => return None,
            NvLinks::Switch(links) => links,
            NvLinks::Mesh(links) => links * (self.gpus as i32 - 1),
        };
        Some(nvlink(self.capability, &rules.links) * links)
    }
}

/// NVLinks of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NvLinks {
    /// None.
    None,
    /// Links of each GPU to NVSwitches.
    Switch(i32),
    /// Links between each pair of GPUs.
    Mesh(i32),
    /// Pairs of GPUs with the number of links between them.
    Pairs(Vec<(usize, usize, i32)>),
}

/// PCIe between GPUs, NICs and CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// GPUs and NICs on one switch (type PIX).
    Switch,
    /// NICs on a switch, each GPU on a switch of its own behind it (type PXB).
    TwoSwitches,
    /// GPUs on switches, NICs on the CPU (type PHB).
    NicAtCpu,
    /// GPUs and NICs on the CPU, without switches.
    Cpu,
}

/// Model of a server's NICs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NicModel {
    /// Speed of a port.
    pub bandwidth: Bandwidth,
    /// Latency that the network plugin reports [us].
    pub latency_us: f64,
    /// PCIe of the adapter, x16.
    pub pcie: PcieGeneration,
    /// GPUDirect RDMA is supported.
    pub gpu_direct: bool,
}

impl Server {
    /// The parts and links of the server, with the speeds of a version.
    #[must_use]
    pub fn system(&self, rules: &Rules) -> System {
        let (mut gpus, mut nics) = (Vec::new(), Vec::new());
        for host in 0..self.hosts {
            gpus.extend((0..self.gpus).map(|device| self.new_gpu(device, host)));
            let ports = self.gpu_of_nic.len();
            nics.extend((0..ports).map(|nic| self.new_nic((host * ports + nic) as u64)));
        }
        let mut system = System::new(gpus, nics, vec![self.processor; self.cpus * self.hosts]);
        for host in 0..self.hosts {
            self.connect_host(&mut system, host);
        }
        self.connect_nvlinks(&mut system, nvlink(self.capability, &rules.links));
        let hosts: Vec<usize> = (0..self.cpus * self.hosts).map(|cpu| cpu / self.cpus).collect();
        let speed = self.processor.between_sockets(&rules.links);
        system.join_sockets(&hosts, &vec![speed; hosts.len()]);
        system
    }

    const fn new_gpu(&self, device: usize, host: usize) -> Gpu {
        Gpu { capability: self.capability, device, host, gpu_direct: true, peer_to_peer: self.peer_to_peer }
    }

    const fn new_nic(&self, asic: u64) -> Nic {
        Nic {
            bandwidth: self.nic.bandwidth,
            latency_us: self.nic.latency_us,
            asic,
            port: 1,
            rail: None,
            plane: None,
            gpu_direct: self.nic.gpu_direct,
        }
    }

    fn connect_host(&self, system: &mut System, host: usize) {
        let pcie = self.pcie.bandwidth(16);
        let groups = self.gpus.div_ceil(self.gpus_per_switch);
        for group in 0..groups {
            let cpu = Node::Cpu(host * self.cpus + group * self.cpus / groups);
            let below = |system: &mut System, upper: Node| {
                let switch = system.add_switch();
                system.join(switch, upper, LinkKind::Pcie, pcie);
                switch
            };
            let parent = if self.layout == Layout::Cpu { cpu } else { below(system, cpu) };
            let first = group * self.gpus_per_switch;
            for gpu in first..self.gpus.min(first + self.gpus_per_switch) {
                let node = Node::Gpu(host * self.gpus + gpu);
                let own = if self.layout == Layout::TwoSwitches { below(system, parent) } else { parent };
                system.join(node, own, LinkKind::Pcie, pcie);
                if let Some(c2c) = self.c2c {
                    system.join(node, cpu, LinkKind::C2c, c2c);
                }
            }
            let parent_of_nics = if self.layout == Layout::NicAtCpu { cpu } else { parent };
            for nic in 0..self.gpu_of_nic.len() {
                if self.gpu_of_nic[nic] / self.gpus_per_switch == group {
                    let adapter = system.add_adapter();
                    system.join(adapter, parent_of_nics, LinkKind::Pcie, self.nic.pcie.bandwidth(16));
                    let port = Node::Nic(host * self.gpu_of_nic.len() + nic);
                    system.join(port, adapter, LinkKind::Port, self.nic.bandwidth);
                }
            }
        }
    }

    fn connect_nvlinks(&self, system: &mut System, speed: Bandwidth) {
        let gpus = self.gpus * self.hosts;
        let mut join = |one, other, links| system.join(one, other, LinkKind::NvLink, speed * links);
        match &self.nvlink {
            NvLinks::None => {}
            NvLinks::Switch(links) => {
                for gpu in 0..gpus {
                    join(Node::Gpu(gpu), Node::NvSwitch, *links);
                }
            }
            NvLinks::Mesh(links) => {
                for one in 0..gpus {
                    for other in one + 1..gpus {
                        join(Node::Gpu(one), Node::Gpu(other), *links);
                    }
                }
            }
            NvLinks::Pairs(pairs) => {
                for &(one, other, links) in pairs {
                    join(Node::Gpu(one), Node::Gpu(other), links);
                }
            }
        }
    }
}
