//! Graphs of systems without a public log, calculated by a separate model of the search: rules of 2.30.

use crate::case::{Case, assert_graphs};
use crate::servers::{
    b200, dgx_a100, dgx1_v100, gb200, gh200_quad, h100, h800, nic, pcie_only, two_gpus_per_nic,
};
use fabricbench_nccl::PcieGeneration::{Gen4, Gen5, Gen6};
use fabricbench_nccl::{Layout, Processor, Server};

/// Ring, tree and NVLS of a case; an empty NVLS is none.
type Row = (&'static str, Case, [&'static str; 3]);

fn hopper() -> Vec<Row> {
    let with_nic = |nic, gpu_of_nic| Server { nic, gpu_of_nic, ..h100() };
    let pairs = || (0..16).map(|nic| nic / 2).collect();
    let crossing = |variables: &[(&str, &str)]| Case::two_nodes(&h100()).with(variables);
    vec![
        (
            "8 x 400G",
            Case::two_nodes(&h100()),
            ["P4 x2 8x48/48 NVL/PIX s0", "P3 8x48/48 NVL/PIX", "P5 8x40/48"],
        ),
        (
            "16 x 400G",
            Case::two_nodes(&with_nic(nic(400, Gen5), pairs())),
            ["P4 x2 8x48/48 NVL/PIX s0", "P3 8x48/48 NVL/PIX", "P5 8x40/48"],
        ),
        (
            "NCCL_CROSS_NIC=0",
            crossing(&[("NCCL_CROSS_NIC", "0")]),
            ["P4 x0 8x45/45 NVL/PXN", "P3 8x48/48 NVL/PIX", "P5 8x40/48"],
        ),
        (
            "NCCL_CROSS_NIC=0 without PXN",
            crossing(&[("NCCL_CROSS_NIC", "0"), ("NCCL_PXN_DISABLE", "1")]),
            ["P4 x0 8x40/40 NVL/PHB", "P3 8x48/48 NVL/PIX", "P5 8x40/48"],
        ),
        (
            "8 x 200G",
            Case::two_nodes(&with_nic(nic(200, Gen5), (0..8).collect())),
            ["P4 x0 8x24/24 NVL/PXN", "P3 8x48/24 NVL/PIX", "P5 8x24/24"],
        ),
        (
            "8 x 400G at PCIe 24",
            Case::two_nodes(&with_nic(nic(400, Gen4), (0..8).collect())),
            ["P4 x0 8x24/24 NVL/PXN", "P3 8x48/24 NVL/PIX", "P5 8x24/24"],
        ),
        (
            "16 x 200G seen as 16 NICs",
            Case::two_nodes(&with_nic(nic(200, Gen5), pairs())),
            ["P4 x2 16x24/24 */PIX", "P3 16x24/24", "P5 8x24/24"],
        ),
        (
            "4 x 400G, two GPUs per NIC",
            Case::two_nodes(&two_gpus_per_nic(h100())),
            ["P4 x0 8x24/24 */PIX", "P1 8x48/24 */PIX", "P5 4x48/48"],
        ),
        (
            "1 x 100G",
            Case::two_nodes(&with_nic(nic(100, Gen5), vec![0])),
            ["P4 x0 1x12/12 */PXN s1", "P3 1x24/12", "P5 1x12/12"],
        ),
        ("H800, 1 node", Case::one_node(&h800()), ["P4 8x20/20 s1", "P1 8x20/20", "P5 8x15/30"]),
        ("H800, 8 x 400G", Case::two_nodes(&h800()), ["P4 x2 8x22/22 */PIX", "P3 8x22/22", "P5 8x17.5/40"]),
        (
            "H800, 4 x 400G",
            Case::two_nodes(&two_gpus_per_nic(h800())),
            ["P4 x0 8x22/22 */PIX", "P1 8x22/22", "P5 4x30/48"],
        ),
    ]
}

fn ampere_and_volta() -> Vec<Row> {
    let virtual_machine = Server { gpus_per_switch: 1, cpus: 2, ..dgx_a100() };
    let four_nics =
        Server { gpu_of_nic: vec![0, 2, 4, 6], processor: Processor::IntelSkylake, cpus: 2, ..dgx_a100() };
    vec![
        ("A100, 1 node", Case::one_node(&dgx_a100()), ["P4 12x20/20 s1", "P1 12x20/20 s1", ""]),
        (
            "DGX A100, 8 x 200G",
            Case::two_nodes(&dgx_a100()),
            ["P4 x0 8x24/24 NVL/PIX s0", "P1 8x30/24 NVL/PIX", ""],
        ),
        (
            "DGX A100 behind two switches",
            Case::two_nodes(&Server { layout: Layout::TwoSwitches, ..dgx_a100() }),
            ["P4 x0 8x24/24 NVL/PXB s0", "P1 8x30/24 NVL/PXB", ""],
        ),
        (
            "A100, one GPU and 200G per switch",
            Case::two_nodes(&virtual_machine),
            ["P4 x0 8x24/24 NVL/PXN", "P1 8x24/24 NVL/PHB", ""],
        ),
        (
            "A100, 4 x 200G, Intel",
            Case::two_nodes(&four_nics),
            ["P4 x0 4x24/24 */PIX", "P1 4x48/24 */PIX", ""],
        ),
        ("V100 cube mesh, 1 node", Case::one_node(&dgx1_v100()), ["P4 6x20/20 s0", "P1 6x20/20", ""]),
        (
            "V100 cube mesh, 4 x 100G",
            Case::two_nodes(&dgx1_v100()),
            ["P4 x0 4x12/12 */PIX", "P1 4x20/12", ""],
        ),
    ]
}

fn blackwell_and_grace() -> Vec<Row> {
    let gen6 = Server { nic: nic(800, Gen6), pcie: Gen6, ..b200() };
    let two_trays = Server { hosts: 2, ..gb200() };
    vec![
        ("B200, 1 node", Case::one_node(&b200()), ["P4 16x45/45 s1", "P1 16x45/45", "P5 8x80/90"]),
        ("B200, 8 x 400G", Case::two_nodes(&b200()), ["P4 x0 8x48/48 */PXN", "P3 8x96/48", "P5 8x48/48"]),
        ("B200, 8 x 800G", Case::two_nodes(&gen6), ["P4 x2 16x48/48 */PIX", "P3 16x48/48", "P5 8x80/96"]),
        ("GB200 tray, 1 node", Case::one_node(&gb200()), ["P4 16x45/45", "P3 16x50/50", "P5 4x90/90"]),
        (
            "GB200 trays without MNNVL",
            Case::two_nodes(&gb200()),
            ["P4 x0 8x24/24 */P2C", "P1 8x48/24 */P2C", "P5 4x48/48"],
        ),
        ("8 GB200 of a domain", Case::one_node(&two_trays), ["P4 16x45/45 s1", "P1 16x45/45", "P5 8x80/90"]),
        (
            "GB200, several domains",
            Case::two_nodes(&two_trays),
            ["P4 x0 8x48/48 */P2C", "P1 8x96/48 */P2C", "P5 8x48/48"],
        ),
        ("4 x GH200, 1 node", Case::one_node(&gh200_quad()), ["P4 12x30/30 s0", "P1 12x30/30", ""]),
        (
            "4 x GH200, 4 x 200G",
            Case::two_nodes(&gh200_quad()),
            ["P4 x0 4x24/24 */PXN", "P3 4x48/24 */P2C", ""],
        ),
    ]
}

fn pcie_hosts() -> Vec<Row> {
    let a100 = |sockets, processor| Case::one_node(&pcie_only(2, 1, sockets, processor));
    let l40s = |gpus, gpus_per_switch, processor| {
        let server = pcie_only(gpus, gpus_per_switch, 2, processor);
        Case::one_node(&Server { capability: 89, layout: Layout::Switch, ..server })
    };
    vec![
        ("2 x A100, one socket", a100(1, Processor::IntelSkylake), ["1x20/20 PHB/*", "1x20/20 PHB/*", ""]),
        ("2 x A100, two sockets", a100(2, Processor::IntelSkylake), ["1x10/10 SYS/*", "1x10/10 SYS/*", ""]),
        ("2 x A100, AMD", a100(2, Processor::AmdZen4), ["1x15/15 SYS/*", "1x15/15 SYS/*", ""]),
        (
            "2 x L40S, one switch",
            l40s(2, 2, Processor::IntelSapphireRapids),
            ["2x12/12 PIX/*", "P1 2x20/20 PIX/*", ""],
        ),
        (
            "8 x L40S, sockets at 22",
            l40s(8, 4, Processor::IntelSapphireRapids),
            ["1x20/20 SYS/*", "1x20/20 SYS/*", ""],
        ),
        (
            "8 x L40S, sockets at 10",
            l40s(8, 4, Processor::IntelSkylake),
            ["1x10/10 SYS/*", "1x10/10 SYS/*", ""],
        ),
    ]
}

fn assert_rows(rows: Vec<Row>) {
    for (name, case, expected) in rows {
        assert_graphs(name, &case.run().graphs, expected);
    }
}

#[test]
fn hopper_servers() {
    assert_rows(hopper());
}

#[test]
fn ampere_and_volta_servers() {
    assert_rows(ampere_and_volta());
}

#[test]
fn blackwell_and_grace_servers() {
    assert_rows(blackwell_and_grace());
}

#[test]
fn hosts_with_pcie_only() {
    assert_rows(pcie_hosts());
}
