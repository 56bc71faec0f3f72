//! Servers of the tests.

use fabricbench_nccl::{Bandwidth, Layout, NicModel, NvLinks, PcieGeneration, Processor, Server};

/// NICs without a latency of the plugin.
pub(crate) fn nic(gbit_per_s: i32, pcie: PcieGeneration) -> NicModel {
    NicModel { bandwidth: Bandwidth::from_mb(gbit_per_s * 125), latency_us: 0.0, pcie, gpu_direct: true }
}

/// 8 H100, H200 or H20 on NVSwitch, 8 x 400G, one GPU and one NIC per PCIe switch, Intel.
pub(crate) fn h100() -> Server {
    Server {
        gpus: 8,
        capability: 90,
        nvlink: NvLinks::Switch(18),
        c2c: None,
        gpu_of_nic: (0..8).collect(),
        nic: nic(400, PcieGeneration::Gen5),
        pcie: PcieGeneration::Gen5,
        gpus_per_switch: 1,
        layout: Layout::Switch,
        cpus: 2,
        processor: Processor::IntelSapphireRapids,
        peer_to_peer: true,
        hosts: 1,
    }
}

/// 8 H800: fewer NVLinks.
pub(crate) fn h800() -> Server {
    Server { nvlink: NvLinks::Switch(8), ..h100() }
}

/// Two GPUs and one NIC per PCIe switch.
pub(crate) fn two_gpus_per_nic(server: Server) -> Server {
    Server { gpu_of_nic: (0..server.gpus).step_by(2).collect(), gpus_per_switch: 2, ..server }
}

/// DGX A100: two GPUs and two 200G per PCIe switch, 4 NUMA nodes used, AMD.
pub(crate) fn dgx_a100() -> Server {
    Server {
        capability: 80,
        nvlink: NvLinks::Switch(12),
        nic: nic(200, PcieGeneration::Gen4),
        pcie: PcieGeneration::Gen4,
        gpus_per_switch: 2,
        cpus: 4,
        processor: Processor::AmdZen2,
        ..h100()
    }
}

/// 8 B200 on NVSwitch, 8 x 400G.
pub(crate) fn b200() -> Server {
    Server { capability: 100, ..h100() }
}

/// A GB200 tray: 4 GPUs, two per Grace, 4 x 400G.
pub(crate) fn gb200() -> Server {
    Server {
        gpus: 4,
        gpu_of_nic: (0..4).collect(),
        gpus_per_switch: 2,
        layout: Layout::Cpu,
        c2c: Some(Bandwidth::from_mb(223_560)),
        processor: Processor::Arm,
        ..b200()
    }
}

/// 4 x GH200, each with its Grace; 6 NVLinks between each pair; a 200G each.
pub(crate) fn gh200_quad() -> Server {
    Server {
        gpus: 4,
        capability: 90,
        nvlink: NvLinks::Mesh(6),
        gpu_of_nic: (0..4).collect(),
        nic: nic(200, PcieGeneration::Gen5),
        gpus_per_switch: 1,
        cpus: 4,
        ..gb200()
    }
}

/// DGX-1 with V100: NVLinks as a cube mesh, two GPUs and one 100G per PCIe switch.
pub(crate) fn dgx1_v100() -> Server {
    const CUBE_MESH: [(usize, usize, i32); 16] = [
        (0, 1, 1),
        (0, 2, 1),
        (0, 3, 2),
        (0, 4, 2),
        (1, 2, 2),
        (1, 3, 1),
        (1, 5, 2),
        (2, 3, 2),
        (2, 6, 1),
        (3, 7, 1),
        (4, 5, 1),
        (4, 6, 1),
        (4, 7, 2),
        (5, 6, 2),
        (5, 7, 1),
        (6, 7, 2),
    ];
    Server {
        capability: 70,
        nvlink: NvLinks::Pairs(CUBE_MESH.to_vec()),
        nic: nic(100, PcieGeneration::Gen3),
        pcie: PcieGeneration::Gen3,
        processor: Processor::IntelBroadwell,
        ..two_gpus_per_nic(h100())
    }
}

/// GPUs on PCIe without NVLink and without NICs.
pub(crate) fn pcie_only(gpus: usize, gpus_per_switch: usize, cpus: usize, processor: Processor) -> Server {
    Server {
        gpus,
        capability: 80,
        nvlink: NvLinks::None,
        gpu_of_nic: Vec::new(),
        pcie: PcieGeneration::Gen4,
        gpus_per_switch,
        layout: Layout::Cpu,
        cpus,
        processor,
        ..h100()
    }
}
