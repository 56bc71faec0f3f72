//! Hardware of one host as a list of parts, for hosts that are not regular or that a topology file describes.

use super::{Gpu, LinkKind, Nic, Node, Processor, System, nvlink};
use crate::bandwidth::Bandwidth;
use crate::rules::Rules;
use crate::settings::Settings;
use serde::{Deserialize, Serialize};

/// The parts of a host in the order of their PCIe addresses, and the links between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parts {
    /// CPUs (NUMA nodes).
    pub cpus: Vec<Processor>,
    /// Links of PCIe switches to their upstream part.
    pub switches: Vec<Upstream>,
    /// GPUs.
    pub gpus: Vec<GpuPart>,
    /// Adapters.
    pub adapters: Vec<AdapterPart>,
    /// NVLinks, each pair of parts once.
    pub nvlinks: Vec<NvLinkPair>,
    /// Chip-to-chip links.
    pub c2c: Vec<C2cLink>,
}

/// Link of a PCIe device to the switch or CPU above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Upstream {
    /// The switch or CPU.
    pub to: Node,
    /// Speed per direction.
    pub bandwidth: Bandwidth,
}

/// A GPU of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuPart {
    /// The GPU.
    pub gpu: Gpu,
    /// Its PCIe link.
    pub upstream: Upstream,
}

/// An adapter of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdapterPart {
    /// Its PCIe link.
    pub upstream: Upstream,
    /// Its ports.
    pub ports: Vec<PortPart>,
}

/// A port of an adapter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortPart {
    /// Name of the device, for `NCCL_IB_HCA`.
    pub name: String,
    /// The port.
    pub nic: Nic,
}

/// NVLinks between two parts, of which the first is a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NvLinkPair {
    /// Index of the GPU.
    pub gpu: usize,
    /// The other part: a GPU, a CPU or the NVSwitch.
    pub to: Node,
    /// Number of links.
    pub links: i32,
}

/// Chip-to-chip link between a GPU and a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct C2cLink {
    /// Index of the GPU.
    pub gpu: usize,
    /// Index of the CPU.
    pub cpu: usize,
    /// Speed per direction.
    pub bandwidth: Bandwidth,
}

impl Parts {
    /// The system of the listed parts, with the speeds of a version and the ports that the settings allow.
    #[must_use]
    pub fn system(&self, rules: &Rules, settings: &Settings) -> System {
        let is_used = |port: &&PortPart| {
            settings.adapters.as_ref().is_none_or(|filter| filter.allows(&port.name, port.nic.port))
        };
        let ports = || self.adapters.iter().map(|adapter| adapter.ports.iter().filter(is_used));
        let gpus = self.gpus.iter().map(|part| part.gpu.clone()).collect();
        let nics = ports().flatten().map(|port| port.nic.clone()).collect();
        let mut system = System::new(gpus, nics, self.cpus.clone());
        for switch in &self.switches {
            let node = system.add_switch();
            system.join(node, switch.to, LinkKind::Pcie, switch.bandwidth);
        }
        for (index, part) in self.gpus.iter().enumerate() {
            system.join(Node::Gpu(index), part.upstream.to, LinkKind::Pcie, part.upstream.bandwidth);
        }
        let mut nic = 0;
        for (part, ports) in self.adapters.iter().zip(ports()) {
            let adapter = system.add_adapter();
            system.join(adapter, part.upstream.to, LinkKind::Pcie, part.upstream.bandwidth);
            for port in ports {
                system.join(Node::Nic(nic), adapter, LinkKind::Port, port.nic.bandwidth);
                nic += 1;
            }
        }
        for pair in &self.nvlinks {
            let link = nvlink(self.gpus[pair.gpu].gpu.capability, &rules.links);
            system.join(Node::Gpu(pair.gpu), pair.to, LinkKind::NvLink, link * pair.links);
        }
        for link in &self.c2c {
            system.join(Node::Gpu(link.gpu), Node::Cpu(link.cpu), LinkKind::C2c, link.bandwidth);
        }
        let speeds: Vec<Bandwidth> = self.cpus.iter().map(|cpu| cpu.between_sockets(&rules.links)).collect();
        system.join_sockets(&vec![0; self.cpus.len()], &speeds);
        system
    }
}
