//! Bandwidth that the channels of a search leave on links and NICs.
//!
//! Source: NCCL 2.30 `src/graph/search.cc`.

use crate::bandwidth::Bandwidth;
use crate::paths::{Edges, Path, PathType};
use crate::system::{Link, LinkKind, Node, System, Vendor};

/// Bandwidth left on each link and on each NIC.
pub(super) struct Reservation<'a> {
    system: &'a System,
    costs: Vec<LinkCost>,
    links: Vec<Bandwidth>,
    nics: Vec<Bandwidth>,
}

/// Properties of a link that decide its charges.
struct LinkCost {
    reverse: usize,
    is_pcie: bool,
    /// The link ends at a GPU before Ampere.
    is_answered: bool,
}

/// One charge on a link.
struct Charge {
    link: usize,
    bandwidth: Bandwidth,
}

impl<'a> Reservation<'a> {
    pub(super) fn new(system: &'a System) -> Self {
        let edges = Edges::of(system);
        let is_old = |node| matches!(node, Node::Gpu(gpu) if system.gpus[gpu].capability < 80);
        let cost = |(link, &reverse): (&Link, &usize)| LinkCost {
            reverse,
            is_pcie: link.kind == LinkKind::Pcie,
            is_answered: is_old(link.to),
        };
        Self {
            system,
            costs: system.links().iter().zip(&edges.reverse).map(cost).collect(),
            links: system.links().iter().map(|link| link.bandwidth).collect(),
            nics: system.nics.iter().map(|nic| nic.bandwidth).collect(),
        }
    }

    /// Reserves a speed on all links of a path, or nothing if a link has less.
    pub(super) fn reserve(&mut self, path: &Path, start: Node, speed: Bandwidth) -> bool {
        let pcie_speed = self.pcie_speed(path, start, speed);
        for (step, &link) in path.links.iter().enumerate() {
            let [forward, backward] = self.charges(link, start, speed, pcie_speed);
            if self.links[forward.link] < forward.bandwidth || self.links[backward.link] < backward.bandwidth
            {
                self.release_links(&path.links[..step], start, speed, pcie_speed);
                return false;
            }
            self.links[forward.link] -= forward.bandwidth;
            self.links[backward.link] -= backward.bandwidth;
        }
        true
    }

    /// Undoes [`Self::reserve`].
    pub(super) fn release(&mut self, path: &Path, start: Node, speed: Bandwidth) {
        let pcie_speed = self.pcie_speed(path, start, speed);
        self.release_links(&path.links, start, speed, pcie_speed);
    }

    fn release_links(&mut self, links: &[usize], start: Node, speed: Bandwidth, pcie_speed: Bandwidth) {
        for &link in links {
            for charge in self.charges(link, start, speed, pcie_speed) {
                self.links[charge.link] += charge.bandwidth;
            }
        }
    }

    /// Direct traffic of GPUs over an Intel CPU costs 6/5 of its bandwidth on PCIe.
    fn pcie_speed(&self, path: &Path, start: Node, speed: Bandwidth) -> Bandwidth {
        let over_intel = || {
            path.links.iter().any(|&link| match self.system.links()[link].to {
                Node::Cpu(cpu) => self.system.cpus[cpu].vendor() == Vendor::Intel,
                _ => false,
            })
        };
        let charged = path.kind == PathType::Phb && matches!(start, Node::Gpu(_)) && over_intel();
        if charged { speed.scaled(6, 5) } else { speed }
    }

    /// Charges of a link, forward and backward. GPUs before Ampere send 1/8 of the data that they receive from NICs and
    /// CPUs back.
    fn charges(&self, link: usize, start: Node, speed: Bandwidth, pcie_speed: Bandwidth) -> [Charge; 2] {
        let cost = &self.costs[link];
        let forward = if cost.is_pcie { pcie_speed } else { speed };
        let answers = cost.is_answered && !matches!(start, Node::Gpu(_));
        let backward = if answers { forward.scaled(1, 8) } else { Bandwidth::ZERO };
        [Charge { link, bandwidth: forward }, Charge { link: cost.reverse, bandwidth: backward }]
    }

    /// Reserves the whole GB/s of a speed on a NIC and on all ports of its chip and port, if the NIC has them.
    pub(super) fn reserve_nic(&mut self, nic: usize, speed: Bandwidth) -> bool {
        let whole = Bandwidth::from_gb(speed.whole_gb());
        if self.nics[nic] < whole {
            return false;
        }
        self.change_nic(nic, Bandwidth::ZERO - whole);
        true
    }

    /// Undoes [`Self::reserve_nic`].
    pub(super) fn release_nic(&mut self, nic: usize, speed: Bandwidth) {
        self.change_nic(nic, Bandwidth::from_gb(speed.whole_gb()));
    }

    fn change_nic(&mut self, nic: usize, change: Bandwidth) {
        for other in 0..self.nics.len() {
            if same_port(self.system, nic, other) {
                self.nics[other] += change;
            }
        }
    }
}

/// Whether two NICs are the same port of the same chip.
pub(super) fn same_port(system: &System, one: usize, other: usize) -> bool {
    let (one, other) = (&system.nics[one], &system.nics[other]);
    (one.asic, one.port) == (other.asic, other.port)
}
