//! Structures and constants of libibverbs' extended ABI: additions to `abi` for timestamps only.
//!
//! `struct verbs_context` grows at its beginning, so only its end is declared here, and offsets of members
//! are relative to the end. The other structures grow at their end: of `struct ibv_device_attr_ex` and
//! `struct ibv_cq_ex` only the beginning is declared here.

use super::abi::{CompChannel, Context, Cq, DeviceAttr, Opaque};
use libc::{c_int, c_uint, c_void, timespec};
use std::mem::offset_of;

type Unused = *mut c_void;
type QueryRtValues = unsafe extern "C" fn(*mut Context, *mut ValuesEx) -> c_int;
type CreateCqEx = unsafe extern "C" fn(*mut Context, *mut CqInitAttrEx) -> *mut CqEx;
type QueryDeviceEx = unsafe extern "C" fn(*mut Context, *const c_void, *mut DeviceAttrEx, usize) -> c_int;

/// End of `struct verbs_context`. If a provider lacks a function, the structure is shorter or the pointer is
/// null.
#[repr(C)]
pub(super) struct VerbsContext {
    pub(super) query_rt_values: Option<QueryRtValues>,
    pub(super) create_cq_ex: Option<CreateCqEx>,
    private: Unused,
    pub(super) query_device_ex: Option<QueryDeviceEx>,
    before_size: [Unused; 11],
    /// Size of the structure common to library and provider [bytes].
    pub(super) size: usize,
    pub(super) context: Context,
}

/// Beginning of `struct ibv_device_attr_ex`: the size passed to the call limits the result.
#[repr(C)]
pub(super) struct DeviceAttrEx {
    original: DeviceAttr,
    comp_mask: u32,
    on_demand_paging: [u64; 3],
    pub(super) completion_timestamp_mask: u64,
    /// Clock frequency [kHz].
    pub(super) hca_core_clock: u64,
}

#[repr(C)]
pub(super) struct CqInitAttrEx {
    pub(super) cqe: u32,
    pub(super) cq_context: Unused,
    pub(super) channel: *mut CompChannel,
    pub(super) comp_vector: u32,
    pub(super) wc_flags: u64,
    pub(super) comp_mask: u32,
    pub(super) flags: u32,
    pub(super) parent_domain: *mut Opaque,
}

#[repr(C)]
pub(super) struct ValuesEx {
    pub(super) comp_mask: u32,
    /// Ticks of the device, in `tv_nsec`.
    pub(super) raw_clock: timespec,
}

/// Beginning of `struct ibv_cq_ex`, whose first member is a complete `struct ibv_cq`.
#[repr(C)]
pub(super) struct CqEx {
    pub(super) queue: Cq,
    comp_mask: u32,
    pub(super) status: c_uint,
    pub(super) wr_id: u64,
    pub(super) start_poll: unsafe extern "C" fn(*mut CqEx, *mut PollCqAttr) -> c_int,
    pub(super) next_poll: unsafe extern "C" fn(*mut CqEx) -> c_int,
    pub(super) end_poll: unsafe extern "C" fn(*mut CqEx),
    pub(super) read_opcode: unsafe extern "C" fn(*mut CqEx) -> c_uint,
    pub(super) read_vendor_err: unsafe extern "C" fn(*mut CqEx) -> u32,
    pub(super) read_byte_len: unsafe extern "C" fn(*mut CqEx) -> u32,
    /// In network byte order.
    pub(super) read_imm_data: unsafe extern "C" fn(*mut CqEx) -> u32,
    before_wc_flags: [Unused; 2],
    pub(super) read_wc_flags: unsafe extern "C" fn(*mut CqEx) -> c_uint,
    before_completion_ts: [Unused; 3],
    pub(super) read_completion_ts: unsafe extern "C" fn(*mut CqEx) -> u64,
}

#[repr(C)]
pub(super) struct PollCqAttr {
    pub(super) comp_mask: u32,
}

pub(super) const WITH_BYTE_LEN: u64 = 1;
pub(super) const WITH_IMM: u64 = 1 << 1;
pub(super) const WITH_COMPLETION_TIMESTAMP: u64 = 1 << 7;
pub(super) const RAW_CLOCK: u32 = 1;
/// Value of `abi_compat` if a context is part of a [`VerbsContext`].
pub(super) const IS_EXTENDED: usize = usize::MAX;

/// The extended context that contains a context, if any.
///
/// # Safety
/// The context is open.
unsafe fn around(context: *mut Context) -> Option<*mut VerbsContext> {
    // SAFETY: an open context.
    let is_extended = unsafe { (*context).abi_compat } as usize == IS_EXTENDED;
    // SAFETY: the context is the last member of an extended one.
    is_extended.then(|| unsafe { context.byte_sub(offset_of!(VerbsContext, context)).cast() })
}

/// Defines an accessor of a function in the extended context: `None` if the structure is too short to contain
/// it (`verbs_get_ctx_op` of the header).
macro_rules! operation {
    ($name:ident: $type:ty) => {
        /// # Safety
        /// The context is open.
        pub(super) unsafe fn $name(context: *mut Context) -> Option<$type> {
            // SAFETY: as required above.
            let around = unsafe { around(context) }?;
            let needed = size_of::<VerbsContext>() - offset_of!(VerbsContext, $name);
            // SAFETY: the size is stored just before the context; the function exists if the size covers it.
            unsafe { if (*around).size < needed { None } else { (*around).$name } }
        }
    };
}

operation!(query_rt_values: QueryRtValues);
operation!(create_cq_ex: CreateCqEx);
operation!(query_device_ex: QueryDeviceEx);
