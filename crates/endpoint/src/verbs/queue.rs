//! Queue pairs (reliable and unreliable connections) and RDMA WRITE requests, posted in lists.

use super::abi::{self, Qp, QpAttr, QpCap, QpInitAttr, RecvWr, SendWr, Sge, mask};
use super::device::none;
use super::{CompletionQueue, VerbsError};
use std::io;
use std::mem;
use std::ptr::NonNull;
use std::sync::Arc;

/// Hop limit of the IP header.
const HOP_LIMIT: u8 = 64;
/// RNR retry count: 7 is unlimited (IBTA vol. 1, 9.7.5.2.8).
const RNR_RETRIES: u8 = 7;
/// RNR timer code for 10 us, the shortest (IBTA vol. 1, table 45).
const RNR_TIMER: u8 = 1;

/// An RDMA WRITE.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    /// Id returned with its completion.
    pub(crate) id: u64,
    /// Local address and key.
    pub(crate) from: (u64, u32),
    /// Remote address and key.
    pub(crate) to: (u64, u32),
    /// Size.
    pub(crate) bytes: u32,
    /// Immediate data, which notifies the peer of the arrival; without it the peer is not notified.
    pub(crate) immediate: Option<u32>,
    /// Whether to generate a completion, which also covers previous writes.
    pub(crate) is_signalled: bool,
}

/// Writes to be posted by one call.
pub(crate) struct WorkList {
    requests: Vec<SendWr>,
    segments: Vec<Sge>,
}

// SAFETY: its pointers refer to its own elements, and are set again before each use.
unsafe impl Send for WorkList {}

impl WorkList {
    /// An empty list for at most `room` writes.
    pub(crate) fn new(room: usize) -> Self {
        Self { requests: Vec::with_capacity(room), segments: Vec::with_capacity(room) }
    }

    pub(crate) fn clear(&mut self) {
        self.requests.clear();
        self.segments.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.requests.len()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.requests.len() == self.requests.capacity()
    }

    pub(crate) fn push(&mut self, write: &Write) {
        let flags = if write.is_signalled { abi::SEND_SIGNALED } else { 0 };
        self.segments.push(Sge { addr: write.from.0, length: write.bytes, lkey: write.from.1 });
        self.requests.push(SendWr {
            wr_id: write.id,
            num_sge: i32::from(write.bytes > 0),
            opcode: if write.immediate.is_some() { abi::WR_RDMA_WRITE_WITH_IMM } else { abi::WR_RDMA_WRITE },
            send_flags: flags,
            imm_data: write.immediate.unwrap_or(0).to_be(),
            remote_addr: write.to.0,
            rkey: write.to.1,
            ..SendWr::EMPTY
        });
    }

    /// The writes of the list, for tests.
    #[cfg(test)]
    pub(crate) fn writes(&self) -> Vec<Write> {
        let each = self.requests.iter().zip(&self.segments).map(|(request, segment)| Write {
            id: request.wr_id,
            from: (segment.addr, segment.lkey),
            to: (request.remote_addr, request.rkey),
            bytes: segment.length,
            immediate: (request.opcode == abi::WR_RDMA_WRITE_WITH_IMM)
                .then_some(u32::from_be(request.imm_data)),
            is_signalled: request.send_flags & abi::SEND_SIGNALED != 0,
        });
        each.collect()
    }

    /// Requests a completion for the last write.
    pub(crate) fn signal_last(&mut self) {
        if let Some(last) = self.requests.last_mut() {
            last.send_flags |= abi::SEND_SIGNALED;
        }
    }

    fn link(&mut self) -> *mut SendWr {
        let (first, segment) = (self.requests.as_mut_ptr(), self.segments.as_mut_ptr());
        for index in 0..self.requests.len() {
            let is_last = index + 1 == self.requests.len();
            // SAFETY: both vectors have an element at this index, and there are no other references to them.
            unsafe {
                let request = &mut *first.add(index);
                request.sg_list = segment.add(index);
                request.next = if is_last { none() } else { first.add(index + 1) };
            }
        }
        first
    }
}

/// Connection parameters of a queue pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    /// GID of the peer.
    pub(crate) gid: [u8; 16],
    /// Queue pair number of the peer.
    pub(crate) number: u32,
    /// Local GID index.
    pub(crate) gid_index: u8,
    /// Local port number.
    pub(crate) port: u8,
    /// 20 bits, from which adapters derive the UDP source port.
    pub(crate) flow_label: u32,
    /// DSCP and ECN.
    pub(crate) traffic_class: u8,
    /// Path MTU: 256, 512, 1024, 2048 or 4096 [bytes].
    pub(crate) mtu_bytes: u32,
    /// First PSNs, local and of the peer.
    pub(crate) first_psns: [u32; 2],
    /// Retransmission parameters of a reliable connection.
    pub(crate) timing: Timing,
}

/// Retransmission parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timing {
    /// Exponent of the timeout, 4.096 us times 2 to this power (IBTA vol. 1, 11.2.5.2); 1 to 31.
    pub(crate) timeout_exponent: u8,
    /// Retry count; 0 to 7.
    pub(crate) retries: u8,
}

/// A queue pair with a reliable (RC) or unreliable connection (UC).
pub(crate) struct QueuePair {
    completions: Arc<CompletionQueue>,
    pair: NonNull<Qp>,
    is_unreliable: bool,
}

// SAFETY: a handle of the library, which any thread may use.
unsafe impl Send for QueuePair {}

impl QueuePair {
    /// Creates a queue pair on a port with the given queue sizes; peers may write to registered memory of its
    /// device.
    pub(crate) fn new(
        completions: &Arc<CompletionQueue>,
        port: u8,
        sends: u32,
        receives: u32,
        is_unreliable: bool,
    ) -> Result<Self, VerbsError> {
        let device = &completions.device;
        let queue = completions.queue.as_ptr();
        let mut attributes = QpInitAttr {
            qp_context: none(),
            send_cq: queue,
            recv_cq: queue,
            srq: none(),
            // Some providers refuse a queue of size 0.
            cap: QpCap {
                max_send_wr: sends.max(1),
                max_recv_wr: receives.max(1),
                max_send_sge: 1,
                max_recv_sge: 1,
                max_inline_data: 0,
            },
            qp_type: if is_unreliable { abi::QPT_UC } else { abi::QPT_RC },
            sq_sig_all: 0,
        };
        // SAFETY: a protection domain and a queue of one device.
        let pair = unsafe { (device.library.create_qp)(device.domain.as_ptr(), &raw mut attributes) };
        let pair = NonNull::new(pair).ok_or_else(|| VerbsError::last("ibv_create_qp"))?;
        let pair = Self { completions: Arc::clone(completions), pair, is_unreliable };
        let mut change = empty_change(abi::QPS_INIT);
        (change.port_num, change.qp_access_flags) = (port, abi::ACCESS_REMOTE_WRITE as u32);
        let which = mask::STATE | mask::PKEY_INDEX | mask::PORT | mask::ACCESS_FLAGS;
        pair.modify(&mut change, which, "ibv_modify_qp (INIT)")?;
        Ok(pair)
    }

    /// Queue pair number, which peers need.
    pub(crate) fn number(&self) -> u32 {
        // SAFETY: the queue pair exists.
        unsafe { self.pair.as_ref() }.qp_num
    }

    /// Connects it, so that it can receive and send.
    pub(crate) fn connect(&self, path: &Path) -> Result<(), VerbsError> {
        let mut change = empty_change(abi::QPS_RTR);
        change.path_mtu = path.mtu_bytes.trailing_zeros() - 7;
        change.dest_qp_num = path.number;
        change.rq_psn = path.first_psns[1];
        change.min_rnr_timer = RNR_TIMER;
        let route = &mut change.ah_attr.grh;
        for (word, bytes) in route.dgid.iter_mut().zip(path.gid.as_chunks::<8>().0) {
            *word = u64::from_ne_bytes(*bytes);
        }
        (route.flow_label, route.sgid_index) = (path.flow_label, path.gid_index);
        (route.hop_limit, route.traffic_class) = (HOP_LIMIT, path.traffic_class);
        (change.ah_attr.is_global, change.ah_attr.port_num) = (1, path.port);
        // An unreliable connection has no READs, RNR NAKs, timeouts and retries (ibv_modify_qp(3)).
        let of_reliable = |which| if self.is_unreliable { 0 } else { which };
        let which = mask::STATE | mask::AV | mask::PATH_MTU | mask::DEST_QPN | mask::RQ_PSN;
        let which = which | of_reliable(mask::MAX_DEST_RD_ATOMIC | mask::MIN_RNR_TIMER);
        self.modify(&mut change, which, "ibv_modify_qp (RTR)")?;
        let mut change = empty_change(abi::QPS_RTS);
        change.sq_psn = path.first_psns[0];
        (change.timeout, change.retry_cnt) = (path.timing.timeout_exponent, path.timing.retries);
        change.rnr_retry = RNR_RETRIES;
        let retries = mask::TIMEOUT | mask::RETRY_CNT | mask::RNR_RETRY | mask::MAX_QP_RD_ATOMIC;
        let which = mask::STATE | mask::SQ_PSN | of_reliable(retries);
        self.modify(&mut change, which, "ibv_modify_qp (RTS)")
    }

    /// Moves it to the error state: nothing more is sent, and outstanding work is completed with an error.
    pub(crate) fn stop(&self) -> Result<(), VerbsError> {
        self.modify(&mut empty_change(abi::QPS_ERR), mask::STATE, "ibv_modify_qp (ERR)")
    }

    fn modify(&self, change: &mut QpAttr, which: i32, call: &str) -> Result<(), VerbsError> {
        let modify_qp = self.completions.device.library.modify_qp;
        // SAFETY: the queue pair exists, and the attributes are valid.
        let number = unsafe { modify_qp(self.pair.as_ptr(), change, which) };
        if number == 0 { Ok(()) } else { Err(VerbsError::returned(call, number)) }
    }

    /// Posts all writes of a list, if any.
    pub(crate) fn post(&self, list: &mut WorkList) -> io::Result<()> {
        if list.requests.is_empty() {
            return Ok(());
        }
        let mut refused = none();
        // SAFETY: the provider copies the requests, which are linked with each other and with their segments;
        // it accesses the memory they refer to only if the keys are of registered memory.
        let number = unsafe {
            let post_send = self.completions.device.context.as_ref().ops.post_send;
            post_send(self.pair.as_ptr(), list.link(), &raw mut refused)
        };
        posted("ibv_post_send", number)
    }

    /// Posts `count` receives for the immediate data of writes.
    pub(crate) fn post_receives(&self, id: u64, count: u32) -> io::Result<()> {
        const ROOM: usize = 32;
        let mut left = count as usize;
        while left > 0 {
            let now = left.min(ROOM);
            let mut requests = [RecvWr { wr_id: id, next: none(), sg_list: none(), num_sge: 0 }; ROOM];
            let first = requests.as_mut_ptr();
            for index in 1..now {
                // SAFETY: both are elements of the array.
                unsafe { (*first.add(index - 1)).next = first.add(index) };
            }
            let mut refused = none();
            // SAFETY: the provider copies requests that are linked with each other and refer to no memory.
            let number = unsafe {
                let post_recv = self.completions.device.context.as_ref().ops.post_recv;
                post_recv(self.pair.as_ptr(), first, &raw mut refused)
            };
            posted("ibv_post_recv", number)?;
            left -= now;
        }
        Ok(())
    }
}

impl Drop for QueuePair {
    fn drop(&mut self) {
        // SAFETY: created in `new`, and destroyed once.
        unsafe { (self.completions.device.library.destroy_qp)(self.pair.as_ptr()) };
    }
}

fn posted(call: &str, number: i32) -> io::Result<()> {
    if number == 0 {
        return Ok(());
    }
    Err(io::Error::other(format!("{call}: {}", io::Error::from_raw_os_error(number.abs()))))
}

fn empty_change(state: u32) -> QpAttr {
    // SAFETY: all zeros is a valid value of this plain C structure.
    let mut change: QpAttr = unsafe { mem::zeroed() };
    change.qp_state = state;
    change
}
