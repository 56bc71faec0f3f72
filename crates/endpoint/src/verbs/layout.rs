//! Test that structures have the layout of the installed libibverbs header, where there is one.

use super::abi::*;
use super::extended::*;
use std::fmt::Write as _;
use std::mem::{offset_of, size_of};
use std::process::Command;

/// C expressions for sizes and offsets, each with our value.
macro_rules! places {
    ($($c_type:literal as $type:ty { $($c_field:literal = $($field:ident).+),* })*) => {
        vec![$(
            (format!("sizeof({})", $c_type), size_of::<$type>()),
            $((format!("offsetof({}, {})", $c_type, $c_field), offset_of!($type, $($field).+)),)*
        )*]
    };
}

/// The same for members of structures that grow at their end or at their beginning.
macro_rules! members {
    ($c_type:literal as $type:ty { $($field:ident),* }) => {
        vec![$((format!("offsetof({}, {})", $c_type, stringify!($field)), offset_of!($type, $field)),)*]
    };
    ($c_type:literal as $type:ty { $($field:ident),* } from the end) => {
        vec![$((
            format!("sizeof({0}) - offsetof({0}, {1})", $c_type, stringify!($field)),
            size_of::<$type>() - offset_of!($type, $field),
        ),)*]
    };
}

fn places() -> Vec<(String, usize)> {
    let mut places = places! {
        "struct ibv_context" as Context {
            "ops.poll_cq" = ops.poll_cq, "ops.req_notify_cq" = ops.req_notify_cq,
            "ops.post_send" = ops.post_send, "ops.post_recv" = ops.post_recv
        }
        "struct ibv_comp_channel" as CompChannel { "fd" = fd }
        "struct ibv_cq" as Cq { "context" = context, "cqe" = cqe }
        "struct ibv_qp" as Qp { "context" = context, "qp_num" = qp_num }
        "struct ibv_mr" as Mr { "lkey" = lkey, "rkey" = rkey }
        "struct ibv_device_attr" as DeviceAttr {
            "fw_ver" = fw_ver, "max_qp" = max_qp, "max_qp_wr" = max_qp_wr, "max_cqe" = max_cqe,
            "phys_port_cnt" = phys_port_cnt
        }
        "struct ibv_port_attr" as PortAttr {
            "state" = state, "active_mtu" = active_mtu, "max_msg_sz" = max_msg_sz, "link_layer" = link_layer
        }
        "struct ibv_gid_entry" as GidEntry {
            "gid" = gid, "gid_index" = gid_index, "port_num" = port_num, "gid_type" = gid_type,
            "ndev_ifindex" = ndev_ifindex
        }
        "struct ibv_qp_init_attr" as QpInitAttr {
            "send_cq" = send_cq, "recv_cq" = recv_cq, "cap.max_send_wr" = cap.max_send_wr,
            "cap.max_recv_wr" = cap.max_recv_wr, "cap.max_inline_data" = cap.max_inline_data,
            "qp_type" = qp_type, "sq_sig_all" = sq_sig_all
        }
        "struct ibv_qp_attr" as QpAttr {
            "qp_state" = qp_state, "path_mtu" = path_mtu, "rq_psn" = rq_psn, "sq_psn" = sq_psn,
            "dest_qp_num" = dest_qp_num, "qp_access_flags" = qp_access_flags,
            "ah_attr.grh.dgid" = ah_attr.grh.dgid, "ah_attr.grh.flow_label" = ah_attr.grh.flow_label,
            "ah_attr.grh.sgid_index" = ah_attr.grh.sgid_index,
            "ah_attr.grh.hop_limit" = ah_attr.grh.hop_limit,
            "ah_attr.grh.traffic_class" = ah_attr.grh.traffic_class,
            "ah_attr.is_global" = ah_attr.is_global, "ah_attr.port_num" = ah_attr.port_num,
            "pkey_index" = pkey_index, "max_rd_atomic" = max_rd_atomic,
            "max_dest_rd_atomic" = max_dest_rd_atomic, "min_rnr_timer" = min_rnr_timer,
            "port_num" = port_num, "timeout" = timeout, "retry_cnt" = retry_cnt, "rnr_retry" = rnr_retry
        }
        "struct ibv_sge" as Sge { "addr" = addr, "length" = length, "lkey" = lkey }
        "struct ibv_send_wr" as SendWr {
            "wr_id" = wr_id, "next" = next, "sg_list" = sg_list, "num_sge" = num_sge, "opcode" = opcode,
            "send_flags" = send_flags, "imm_data" = imm_data, "wr.rdma.remote_addr" = remote_addr,
            "wr.rdma.rkey" = rkey
        }
        "struct ibv_recv_wr" as RecvWr { "next" = next, "sg_list" = sg_list, "num_sge" = num_sge }
        "struct ibv_wc" as Wc {
            "wr_id" = wr_id, "status" = status, "opcode" = opcode, "vendor_err" = vendor_err,
            "byte_len" = byte_len, "imm_data" = imm_data, "qp_num" = qp_num, "wc_flags" = wc_flags
        }
    };
    places.extend(extended_places());
    places.extend(constants().into_iter().map(|(name, value)| (name.into(), value)));
    places
}

fn extended_places() -> Vec<(String, usize)> {
    let mut places = places! {
        "struct ibv_cq_init_attr_ex" as CqInitAttrEx {
            "cqe" = cqe, "cq_context" = cq_context, "channel" = channel, "comp_vector" = comp_vector,
            "wc_flags" = wc_flags, "comp_mask" = comp_mask, "flags" = flags, "parent_domain" = parent_domain
        }
        "struct ibv_values_ex" as ValuesEx { "comp_mask" = comp_mask, "raw_clock.tv_nsec" = raw_clock.tv_nsec }
        "struct ibv_poll_cq_attr" as PollCqAttr { "comp_mask" = comp_mask }
    };
    places.extend(members! {
        "struct verbs_context" as VerbsContext { query_rt_values, create_cq_ex, query_device_ex, context }
        from the end
    });
    places.extend(members! {
        "struct ibv_device_attr_ex" as DeviceAttrEx { completion_timestamp_mask, hca_core_clock }
    });
    places.extend(members! {
        "struct ibv_cq_ex" as CqEx {
            status, wr_id, start_poll, next_poll, end_poll, read_opcode, read_vendor_err, read_byte_len,
            read_imm_data, read_wc_flags, read_completion_ts
        }
    });
    places.push(("offsetof(struct verbs_context, context) - offsetof(struct verbs_context, sz)".into(), {
        offset_of!(VerbsContext, context) - offset_of!(VerbsContext, size)
    }));
    places
}

fn constants() -> Vec<(&'static str, usize)> {
    vec![
        ("IBV_GID_TYPE_ROCE_V2", GID_TYPE_ROCE_V2 as usize),
        ("IBV_PORT_ACTIVE", PORT_ACTIVE as usize),
        ("IBV_LINK_LAYER_ETHERNET", LINK_LAYER_ETHERNET.into()),
        ("IBV_ACCESS_LOCAL_WRITE", ACCESS_LOCAL_WRITE as usize),
        ("IBV_ACCESS_REMOTE_WRITE", ACCESS_REMOTE_WRITE as usize),
        ("IBV_QPT_RC", QPT_RC as usize),
        ("IBV_QPT_UC", QPT_UC as usize),
        ("IBV_QPS_INIT", QPS_INIT as usize),
        ("IBV_QPS_RTR", QPS_RTR as usize),
        ("IBV_QPS_RTS", QPS_RTS as usize),
        ("IBV_QPS_ERR", QPS_ERR as usize),
        ("IBV_WR_RDMA_WRITE", WR_RDMA_WRITE as usize),
        ("IBV_WR_RDMA_WRITE_WITH_IMM", WR_RDMA_WRITE_WITH_IMM as usize),
        ("IBV_SEND_SIGNALED", SEND_SIGNALED as usize),
        ("IBV_WC_SUCCESS", WC_SUCCESS as usize),
        ("IBV_WC_RECV_RDMA_WITH_IMM", WC_RECV_RDMA_WITH_IMM as usize),
        ("IBV_WC_WITH_IMM", WC_WITH_IMM as usize),
        ("IBV_WC_EX_WITH_BYTE_LEN", WITH_BYTE_LEN as usize),
        ("IBV_WC_EX_WITH_IMM", WITH_IMM as usize),
        ("IBV_WC_EX_WITH_COMPLETION_TIMESTAMP", WITH_COMPLETION_TIMESTAMP as usize),
        ("IBV_VALUES_MASK_RAW_CLOCK", RAW_CLOCK as usize),
        ("__VERBS_ABI_IS_EXTENDED", IS_EXTENDED),
        ("IBV_QP_STATE", mask::STATE as usize),
        ("IBV_QP_ACCESS_FLAGS", mask::ACCESS_FLAGS as usize),
        ("IBV_QP_PKEY_INDEX", mask::PKEY_INDEX as usize),
        ("IBV_QP_PORT", mask::PORT as usize),
        ("IBV_QP_AV", mask::AV as usize),
        ("IBV_QP_PATH_MTU", mask::PATH_MTU as usize),
        ("IBV_QP_TIMEOUT", mask::TIMEOUT as usize),
        ("IBV_QP_RETRY_CNT", mask::RETRY_CNT as usize),
        ("IBV_QP_RNR_RETRY", mask::RNR_RETRY as usize),
        ("IBV_QP_RQ_PSN", mask::RQ_PSN as usize),
        ("IBV_QP_MAX_QP_RD_ATOMIC", mask::MAX_QP_RD_ATOMIC as usize),
        ("IBV_QP_MIN_RNR_TIMER", mask::MIN_RNR_TIMER as usize),
        ("IBV_QP_SQ_PSN", mask::SQ_PSN as usize),
        ("IBV_QP_MAX_DEST_RD_ATOMIC", mask::MAX_DEST_RD_ATOMIC as usize),
        ("IBV_QP_DEST_QPN", mask::DEST_QPN as usize),
    ]
}

#[test]
fn structures_and_constants_are_those_of_the_installed_header() {
    if !std::path::Path::new("/usr/include/infiniband/verbs.h").exists() {
        eprintln!("skipped: no infiniband/verbs.h (package libibverbs-dev)");
        return;
    }
    let ours = places();
    let mut program = String::from("#include <stdio.h>\n#include <infiniband/verbs.h>\nint main(void) {\n");
    for (place, _) in &ours {
        writeln!(program, "printf(\"%zu\\n\", (size_t)({place}));").unwrap();
    }
    program.push_str("return 0; }\n");
    let folder = std::env::temp_dir().join(format!("fabricbench-layout-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (source, binary) = (folder.join("layout.c"), folder.join("layout"));
    std::fs::write(&source, program).unwrap();
    let compiled = Command::new("cc").arg("-o").args([&binary, &source]).output();
    let Ok(compiled) = compiled else {
        eprintln!("skipped: no C compiler");
        return;
    };
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let output = String::from_utf8(Command::new(&binary).output().unwrap().stdout).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let theirs: Vec<usize> = output.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(theirs.len(), ours.len());
    for ((place, ours), theirs) in ours.iter().zip(theirs) {
        assert_eq!(*ours, theirs, "{place}");
    }
}
