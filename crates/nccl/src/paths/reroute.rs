//! Paths that NCCL takes instead of those of the hardware: over host memory where GPUs or NICs have no direct
//! access, over C2C, and over the GPU next to the NIC (PXN).

use super::{Path, PathType, Paths};
use crate::rules::Rules;
use crate::settings::Settings;
use crate::system::{Node, System, Vendor};

/// Most GPUs of an AMD host for which direct access over the socket link is the default.
const AMD_DIRECT_GPUS: usize = 2;

/// How far direct access reaches.
struct Limits {
    gpu_to_gpu: PathType,
    gpu_direct: PathType,
    pxn: Option<PathType>,
    c2c_to_nic: bool,
}

impl Limits {
    fn of(system: &System, rules: &Rules, settings: &Settings) -> Self {
        let amd = system.processor().vendor() == Vendor::Amd;
        let default = if amd && system.gpus.len() <= AMD_DIRECT_GPUS { PathType::Sys } else { PathType::Pxb };
        let by_c2c = |allowed: bool| if allowed { PathType::P2c } else { PathType::Pxb };
        let pxn_over_c2c = settings.pxn_over_c2c.unwrap_or(rules.links.pxn_over_c2c);
        Self {
            gpu_to_gpu: settings.p2p_level.unwrap_or(default),
            gpu_direct: settings.gpu_direct_level.unwrap_or_else(|| by_c2c(settings.gpu_direct_over_c2c)),
            pxn: (!settings.pxn_disable).then(|| by_c2c(pxn_over_c2c)),
            c2c_to_nic: rules.links.c2c_to_nic,
        }
    }
}

impl Paths {
    pub(super) fn reroute(&mut self, system: &System, rules: &Rules, settings: &Settings) {
        let limits = Limits::of(system, rules, settings);
        self.reroute_gpus(system, &limits);
        if limits.c2c_to_nic {
            self.mark_c2c(system);
        }
        for nic in 0..system.nics.len() {
            for gpu in 0..system.gpus.len() {
                let server = self.nearest_gpu(system, nic, settings.nics_per_gpu);
                if let (Some(pxn), Some(server)) = (limits.pxn, server)
                    && self.is_pxn(system, gpu, server, nic, pxn, limits.gpu_direct)
                {
                    self.join_paths(system, [Node::Gpu(gpu), Node::Gpu(server), Node::Nic(nic)]);
                    let path = self.path_mut(system, Node::Gpu(gpu), Node::Nic(nic));
                    path.kind = PathType::Pxn;
                    path.proxy = Some(server);
                }
                self.reroute_nic(system, gpu, nic, limits.gpu_direct);
            }
        }
    }

    /// GPUs without direct access to one another exchange data in host memory.
    fn reroute_gpus(&mut self, system: &System, limits: &Limits) {
        for to in 0..system.gpus.len() {
            for from in 0..system.gpus.len() {
                let path = self.between_gpus(system, from, to);
                let both = system.gpus[from].peer_to_peer && system.gpus[to].peer_to_peer;
                let direct = path.kind <= limits.gpu_to_gpu && (both || path.kind <= PathType::Nvb);
                if from != to && !direct {
                    let cpu = Node::Cpu(self.nearest_cpu(system, to));
                    self.join_paths(system, [Node::Gpu(from), cpu, Node::Gpu(to)]);
                }
            }
        }
    }

    /// Nearest NICs behind the CPU of a GPU with C2C are of type P2C.
    fn mark_c2c(&mut self, system: &System) {
        for gpu in 0..system.gpus.len() {
            let cpu = Node::Cpu(self.nearest_cpu(system, gpu));
            let to_cpu = self.path(system, Node::Gpu(gpu), cpu).kind;
            for nic in self.nearest_nics(system, gpu).members {
                let nic_to_cpu = self.path(system, Node::Nic(nic), cpu).kind;
                if to_cpu.over_cpu(nic_to_cpu) == PathType::P2c {
                    for (from, to) in [(Node::Gpu(gpu), Node::Nic(nic)), (Node::Nic(nic), Node::Gpu(gpu))] {
                        let path = self.path_mut(system, from, to);
                        path.kind = path.kind.min(PathType::P2c);
                    }
                }
            }
        }
    }

    /// Whether a GPU sends to a NIC over the GPU that serves it.
    fn is_pxn(
        &self,
        system: &System,
        gpu: usize,
        server: usize,
        nic: usize,
        nearest: PathType,
        gpu_direct: PathType,
    ) -> bool {
        let served = self.to_nic(system, server, nic);
        let own = self.to_nic(system, gpu, nic);
        server != gpu
            && served.kind <= nearest
            && self.has_gpu_direct(system, server, nic, gpu_direct, Access::Read)
            && self.between_gpus(system, server, gpu).kind <= PathType::Nvl
            && system.gpus[server].host == system.gpus[gpu].host
            && (served.bandwidth > own.bandwidth || own.kind > PathType::Pxn)
    }

    /// Without GPUDirect, traffic between GPU and NIC is stored in host memory.
    fn reroute_nic(&mut self, system: &System, gpu: usize, nic: usize, limit: PathType) {
        let near = self.to_nic(system, gpu, nic).kind < PathType::Phb;
        if near && !self.has_gpu_direct(system, gpu, nic, limit, Access::Write) {
            let cpu = Node::Cpu(self.nearest_cpu(system, gpu));
            self.join_paths(system, [Node::Nic(nic), cpu, Node::Gpu(gpu)]);
            self.join_paths(system, [Node::Gpu(gpu), cpu, Node::Nic(nic)]);
        }
    }

    fn has_gpu_direct(
        &self,
        system: &System,
        gpu: usize,
        nic: usize,
        limit: PathType,
        access: Access,
    ) -> bool {
        if !system.nics[nic].gpu_direct || !system.gpus[gpu].gpu_direct {
            return false;
        }
        // GPUs before Ampere let NICs read only if their other traffic uses NVLink.
        let others = || (0..system.gpus.len()).filter(|&other| other != gpu);
        let nvlink = || others().any(|other| self.between_gpus(system, gpu, other).kind == PathType::Nvl);
        if access == Access::Read && system.gpus[gpu].capability < 80 && system.gpus.len() > 1 && !nvlink() {
            return false;
        }
        let path = self.to_nic(system, gpu, nic);
        let distance = path.proxy.map_or(path.kind, |proxy| self.to_nic(system, proxy, nic).kind);
        distance <= limit
    }

    /// Replaces the path between two parts by the path over a third.
    fn join_paths(&mut self, system: &System, [from, over, to]: [Node; 3]) {
        let (first, second) = (self.path(system, from, over), self.path(system, over, to));
        let joined = Path {
            kind: first.kind.over_cpu(second.kind),
            bandwidth: first.bandwidth.min(second.bandwidth),
            links: [first.links.as_slice(), second.links.as_slice()].concat(),
            proxy: None,
        };
        *self.path_mut(system, from, to) = joined;
    }
}

/// Direction of GPUDirect as the NIC sees it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    /// Of GPU memory that is sent.
    Read,
    /// Of GPU memory that is received into.
    Write,
}
