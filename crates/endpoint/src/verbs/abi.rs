//! Structures and constants of libibverbs' stable ABI (`infiniband/verbs.h` of rdma-core), as far as they are
//! used. `extended.rs` has later additions for timestamps; `layout.rs` compares the layouts with an installed
//! header.

use libc::{c_char, c_int, c_uint, c_void, pthread_cond_t, pthread_mutex_t};

/// `struct ibv_device`, `struct ibv_pd`: used only through pointers.
#[repr(C)]
pub(super) struct Opaque {
    _nothing: [u8; 0],
}

type Unused = *mut c_void;

/// `struct ibv_context_ops`: functions of the provider for the data path.
#[repr(C)]
pub(super) struct ContextOps {
    before_poll_cq: [Unused; 11],
    pub(super) poll_cq: unsafe extern "C" fn(*mut Cq, c_int, *mut Wc) -> c_int,
    pub(super) req_notify_cq: unsafe extern "C" fn(*mut Cq, c_int) -> c_int,
    before_post_send: [Unused; 12],
    pub(super) post_send: unsafe extern "C" fn(*mut Qp, *mut SendWr, *mut *mut SendWr) -> c_int,
    pub(super) post_recv: unsafe extern "C" fn(*mut Qp, *mut RecvWr, *mut *mut RecvWr) -> c_int,
    after_post_recv: [Unused; 5],
}

#[repr(C)]
pub(super) struct Context {
    device: *mut Opaque,
    pub(super) ops: ContextOps,
    cmd_fd: c_int,
    async_fd: c_int,
    num_comp_vectors: c_int,
    mutex: pthread_mutex_t,
    pub(super) abi_compat: Unused,
}

#[repr(C)]
pub(super) struct CompChannel {
    context: *mut Context,
    pub(super) fd: c_int,
    refcnt: c_int,
}

#[repr(C)]
pub(super) struct Cq {
    pub(super) context: *mut Context,
    channel: *mut CompChannel,
    cq_context: Unused,
    handle: u32,
    pub(super) cqe: c_int,
    mutex: pthread_mutex_t,
    cond: pthread_cond_t,
    comp_events_completed: u32,
    async_events_completed: u32,
}

#[repr(C)]
pub(super) struct Qp {
    pub(super) context: *mut Context,
    qp_context: Unused,
    pd: *mut Opaque,
    send_cq: *mut Cq,
    recv_cq: *mut Cq,
    srq: Unused,
    handle: u32,
    pub(super) qp_num: u32,
    state: c_uint,
    qp_type: c_uint,
    mutex: pthread_mutex_t,
    cond: pthread_cond_t,
    events_completed: u32,
}

#[repr(C)]
pub(super) struct Mr {
    context: *mut Context,
    pd: *mut Opaque,
    addr: Unused,
    length: usize,
    handle: u32,
    pub(super) lkey: u32,
    pub(super) rkey: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct DeviceAttr {
    pub(super) fw_ver: [c_char; 64],
    node_guid: u64,
    sys_image_guid: u64,
    max_mr_size: u64,
    page_size_cap: u64,
    vendor_id: u32,
    vendor_part_id: u32,
    hw_ver: u32,
    pub(super) max_qp: c_int,
    pub(super) max_qp_wr: c_int,
    device_cap_flags: c_uint,
    max_sge: c_int,
    max_sge_rd: c_int,
    max_cq: c_int,
    pub(super) max_cqe: c_int,
    from_max_mr: [c_int; 7],
    atomic_cap: c_uint,
    from_max_ee: [c_int; 11],
    max_srq: c_int,
    max_srq_wr: c_int,
    max_srq_sge: c_int,
    max_pkeys: u16,
    local_ca_ack_delay: u8,
    pub(super) phys_port_cnt: u8,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct PortAttr {
    pub(super) state: c_uint,
    max_mtu: c_uint,
    pub(super) active_mtu: c_uint,
    gid_tbl_len: c_int,
    port_cap_flags: u32,
    pub(super) max_msg_sz: u32,
    bad_pkey_cntr: u32,
    qkey_viol_cntr: u32,
    pkey_tbl_len: u16,
    lid: u16,
    sm_lid: u16,
    lmc: u8,
    max_vl_num: u8,
    sm_sl: u8,
    subnet_timeout: u8,
    init_type_reply: u8,
    active_width: u8,
    active_speed: u8,
    phys_state: u8,
    pub(super) link_layer: u8,
    flags: u8,
    port_cap_flags2: u16,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct GidEntry {
    /// `union ibv_gid` is aligned to 64 bits.
    pub(super) gid: [u64; 2],
    pub(super) gid_index: u32,
    pub(super) port_num: u32,
    pub(super) gid_type: u32,
    pub(super) ndev_ifindex: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct QpCap {
    pub(super) max_send_wr: u32,
    pub(super) max_recv_wr: u32,
    pub(super) max_send_sge: u32,
    pub(super) max_recv_sge: u32,
    pub(super) max_inline_data: u32,
}

#[repr(C)]
pub(super) struct QpInitAttr {
    pub(super) qp_context: Unused,
    pub(super) send_cq: *mut Cq,
    pub(super) recv_cq: *mut Cq,
    pub(super) srq: Unused,
    pub(super) cap: QpCap,
    pub(super) qp_type: c_uint,
    pub(super) sq_sig_all: c_int,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct GlobalRoute {
    pub(super) dgid: [u64; 2],
    pub(super) flow_label: u32,
    pub(super) sgid_index: u8,
    pub(super) hop_limit: u8,
    pub(super) traffic_class: u8,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct AhAttr {
    pub(super) grh: GlobalRoute,
    dlid: u16,
    sl: u8,
    src_path_bits: u8,
    static_rate: u8,
    pub(super) is_global: u8,
    pub(super) port_num: u8,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct QpAttr {
    pub(super) qp_state: c_uint,
    cur_qp_state: c_uint,
    pub(super) path_mtu: c_uint,
    path_mig_state: c_uint,
    qkey: u32,
    pub(super) rq_psn: u32,
    pub(super) sq_psn: u32,
    pub(super) dest_qp_num: u32,
    pub(super) qp_access_flags: c_uint,
    cap: QpCap,
    pub(super) ah_attr: AhAttr,
    alt_ah_attr: AhAttr,
    pub(super) pkey_index: u16,
    alt_pkey_index: u16,
    en_sqd_async_notify: u8,
    sq_draining: u8,
    pub(super) max_rd_atomic: u8,
    pub(super) max_dest_rd_atomic: u8,
    pub(super) min_rnr_timer: u8,
    pub(super) port_num: u8,
    pub(super) timeout: u8,
    pub(super) retry_cnt: u8,
    pub(super) rnr_retry: u8,
    alt_port_num: u8,
    alt_timeout: u8,
    rate_limit: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct Sge {
    pub(super) addr: u64,
    pub(super) length: u32,
    pub(super) lkey: u32,
}

/// `struct ibv_send_wr` of an RDMA WRITE.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct SendWr {
    pub(super) wr_id: u64,
    pub(super) next: *mut SendWr,
    pub(super) sg_list: *mut Sge,
    pub(super) num_sge: c_int,
    pub(super) opcode: c_uint,
    pub(super) send_flags: c_uint,
    /// In network byte order.
    pub(super) imm_data: u32,
    pub(super) remote_addr: u64,
    pub(super) rkey: u32,
    /// The rest of `wr`'s largest member, then `qp_type` and the last union.
    pub(super) rest: [u64; 9],
}

impl SendWr {
    pub(super) const EMPTY: Self = Self {
        wr_id: 0,
        next: std::ptr::null_mut(),
        sg_list: std::ptr::null_mut(),
        num_sge: 0,
        opcode: 0,
        send_flags: 0,
        imm_data: 0,
        remote_addr: 0,
        rkey: 0,
        rest: [0; 9],
    };
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct RecvWr {
    pub(super) wr_id: u64,
    pub(super) next: *mut RecvWr,
    pub(super) sg_list: *mut Sge,
    pub(super) num_sge: c_int,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Wc {
    pub(super) wr_id: u64,
    pub(super) status: c_uint,
    pub(super) opcode: c_uint,
    pub(super) vendor_err: u32,
    pub(super) byte_len: u32,
    /// In network byte order.
    pub(super) imm_data: u32,
    pub(super) qp_num: u32,
    src_qp: u32,
    pub(super) wc_flags: c_uint,
    pkey_index: u16,
    slid: u16,
    sl: u8,
    dlid_path_bits: u8,
}

pub(super) const GID_TYPE_ROCE_V2: u32 = 2;
pub(super) const PORT_ACTIVE: c_uint = 4;
pub(super) const LINK_LAYER_ETHERNET: u8 = 2;
pub(super) const ACCESS_LOCAL_WRITE: c_int = 1;
pub(super) const ACCESS_REMOTE_WRITE: c_int = 2;
pub(super) const QPT_RC: c_uint = 2;
pub(super) const QPT_UC: c_uint = 3;
pub(super) const QPS_INIT: c_uint = 1;
pub(super) const QPS_RTR: c_uint = 2;
pub(super) const QPS_RTS: c_uint = 3;
pub(super) const QPS_ERR: c_uint = 6;
pub(super) const WR_RDMA_WRITE: c_uint = 0;
pub(super) const WR_RDMA_WRITE_WITH_IMM: c_uint = 1;
pub(super) const SEND_SIGNALED: c_uint = 2;
pub(super) const WC_SUCCESS: c_uint = 0;
pub(super) const WC_RECV_RDMA_WITH_IMM: c_uint = 129;
pub(super) const WC_WITH_IMM: c_uint = 2;

/// Bits of `enum ibv_qp_attr_mask`.
pub(super) mod mask {
    use libc::c_int;

    pub(crate) const STATE: c_int = 1;
    pub(crate) const ACCESS_FLAGS: c_int = 1 << 3;
    pub(crate) const PKEY_INDEX: c_int = 1 << 4;
    pub(crate) const PORT: c_int = 1 << 5;
    pub(crate) const AV: c_int = 1 << 7;
    pub(crate) const PATH_MTU: c_int = 1 << 8;
    pub(crate) const TIMEOUT: c_int = 1 << 9;
    pub(crate) const RETRY_CNT: c_int = 1 << 10;
    pub(crate) const RNR_RETRY: c_int = 1 << 11;
    pub(crate) const RQ_PSN: c_int = 1 << 12;
    pub(crate) const MAX_QP_RD_ATOMIC: c_int = 1 << 13;
    pub(crate) const MIN_RNR_TIMER: c_int = 1 << 15;
    pub(crate) const SQ_PSN: c_int = 1 << 16;
    pub(crate) const MAX_DEST_RD_ATOMIC: c_int = 1 << 17;
    pub(crate) const DEST_QPN: c_int = 1 << 20;
}
