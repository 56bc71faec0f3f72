//! Completion queues: creation, polling with and without timestamps, waiting for notifications.

use super::abi::{self, CompChannel, Cq, Wc};
use super::device::none;
use super::extended::{
    self, CqEx, CqInitAttrEx, PollCqAttr, WITH_BYTE_LEN, WITH_COMPLETION_TIMESTAMP, WITH_IMM,
};
use super::{Device, VerbsError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::Arc;
use units::Span;

/// Maximum completions per poll.
pub(crate) const AT_ONCE: usize = 32;

/// A work completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Completion {
    /// Id of the work request.
    pub(crate) id: u64,
    /// Result.
    pub(crate) ended: Ended,
    /// Timestamp of the device, if the queue has timestamps.
    pub(crate) ticks: u64,
}

/// Result of a work request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// A write and all before it are acknowledged.
    Acknowledged,
    /// A write with immediate data of the peer has arrived.
    Written {
        /// Immediate data.
        immediate: u32,
        /// Size of the write [bytes].
        bytes: u32,
    },
    /// The work request failed.
    Failed {
        /// `enum ibv_wc_status`.
        status: u32,
        /// Vendor-specific error code.
        vendor: u32,
    },
}

/// Completion queue with its notification channel.
pub(crate) struct CompletionQueue {
    pub(super) device: Arc<Device>,
    channel: NonNull<CompChannel>,
    pub(super) queue: NonNull<Cq>,
    /// The same queue as an extended one, if it has timestamps.
    stamped: Option<NonNull<CqEx>>,
}

// SAFETY: handles of the library, which any thread may use.
unsafe impl Send for CompletionQueue {}
// SAFETY: as above; libibverbs locks its state.
unsafe impl Sync for CompletionQueue {}

impl CompletionQueue {
    /// Creates a queue for `entries` completions, with timestamps if requested and supported.
    pub(crate) fn new(device: &Arc<Device>, entries: u32, with_stamps: bool) -> Result<Self, VerbsError> {
        let library = &device.library;
        // SAFETY: an open context.
        let channel = unsafe { (library.create_comp_channel)(device.context()) };
        let channel = NonNull::new(channel).ok_or_else(|| VerbsError::last("ibv_create_comp_channel"))?;
        let stamped = with_stamps.then(|| create_stamped(device, entries, channel)).flatten();
        let Some(queue) = stamped.map(NonNull::cast).or_else(|| create(device, entries, channel)) else {
            let error = VerbsError::last(format!("ibv_create_cq of {entries} entries"));
            // SAFETY: created above, and unused.
            unsafe { (library.destroy_comp_channel)(channel.as_ptr()) };
            return Err(error);
        };
        Ok(Self { device: Arc::clone(device), channel, queue, stamped })
    }

    /// Whether its completions have timestamps.
    pub(crate) const fn has_stamps(&self) -> bool {
        self.stamped.is_some()
    }

    /// Appends new completions, at most [`AT_ONCE`]; returns their number.
    pub(crate) fn poll(&self, ended: &mut Vec<Completion>) -> io::Result<usize> {
        if let Some(queue) = self.stamped {
            return poll_stamped(queue, ended);
        }
        let mut entries = [MaybeUninit::<Wc>::uninit(); AT_ONCE];
        // SAFETY: a queue of this device, and room for that many entries.
        let count = unsafe {
            let poll_cq = self.device.context.as_ref().ops.poll_cq;
            poll_cq(self.queue.as_ptr(), AT_ONCE as i32, entries.as_mut_ptr().cast())
        };
        let Ok(count) = usize::try_from(count) else {
            return Err(io::Error::other(format!("ibv_poll_cq: {count}")));
        };
        // SAFETY: the provider has written that many entries.
        ended.extend(entries.iter().take(count).map(|entry| completion(unsafe { entry.assume_init_ref() })));
        Ok(count)
    }

    /// Requests a notification of the next completion for [`wait`](Self::wait); earlier ones do not trigger
    /// it.
    pub(crate) fn arm(&self) -> io::Result<()> {
        // SAFETY: a queue of this device.
        let number = unsafe { (self.device.context.as_ref().ops.req_notify_cq)(self.queue.as_ptr(), 0) };
        if number == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(number.abs())) }
    }

    /// Waits for a completion after [`arm`](Self::arm), at most `patience`.
    pub(crate) fn wait(&self, patience: Span) -> io::Result<()> {
        let nanoseconds = patience.0.div_ceil(1_000);
        let timeout = Timespec {
            tv_sec: (nanoseconds / 1_000_000_000) as i64,
            tv_nsec: (nanoseconds % 1_000_000_000) as i64,
        };
        // SAFETY: the channel is open as long as this queue.
        let channel = unsafe { BorrowedFd::borrow_raw(self.channel.as_ref().fd) };
        match poll(&mut [PollFd::new(&channel, PollFlags::IN)], Some(&timeout)) {
            Ok(0) | Err(Errno::INTR) => return Ok(()),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let (mut queue, mut context) = (none(), none());
        // SAFETY: an event is pending, so this does not block; the results are written to live variables.
        let number = unsafe {
            (self.device.library.get_cq_event)(self.channel.as_ptr(), &raw mut queue, &raw mut context)
        };
        if number != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: acknowledges the event received above.
        unsafe { (self.device.library.ack_cq_events)(self.queue.as_ptr(), 1) };
        Ok(())
    }

    /// The library's text for a status.
    pub(crate) fn status(&self, status: u32) -> String {
        // SAFETY: returns a constant text for any number.
        let text = unsafe { CStr::from_ptr((self.device.library.wc_status_str)(status)) };
        text.to_string_lossy().into_owned()
    }
}

impl Drop for CompletionQueue {
    fn drop(&mut self) {
        // SAFETY: created in `new`; queue pairs hold a reference to this queue, so they are destroyed before.
        unsafe {
            (self.device.library.destroy_cq)(self.queue.as_ptr());
            (self.device.library.destroy_comp_channel)(self.channel.as_ptr());
        }
    }
}

fn completion(entry: &Wc) -> Completion {
    let ended = match entry.status {
        abi::WC_SUCCESS
            if entry.opcode == abi::WC_RECV_RDMA_WITH_IMM && entry.wc_flags & abi::WC_WITH_IMM != 0 =>
        {
            Ended::Written { immediate: u32::from_be(entry.imm_data), bytes: entry.byte_len }
        }
        abi::WC_SUCCESS => Ended::Acknowledged,
        status => Ended::Failed { status, vendor: entry.vendor_err },
    };
    Completion { id: entry.wr_id, ended, ticks: 0 }
}

fn create(device: &Device, entries: u32, channel: NonNull<CompChannel>) -> Option<NonNull<Cq>> {
    let count = i32::try_from(entries).unwrap_or(i32::MAX);
    // SAFETY: an open context and its channel.
    NonNull::new(unsafe { (device.library.create_cq)(device.context(), count, none(), channel.as_ptr(), 0) })
}

fn create_stamped(device: &Device, entries: u32, channel: NonNull<CompChannel>) -> Option<NonNull<CqEx>> {
    let mut attributes = CqInitAttrEx {
        cqe: entries,
        cq_context: none(),
        channel: channel.as_ptr(),
        comp_vector: 0,
        // No wall-clock timestamps: wall-clock time may jump, and polling may then fail temporarily.
        wc_flags: WITH_BYTE_LEN | WITH_IMM | WITH_COMPLETION_TIMESTAMP,
        comp_mask: 0,
        flags: 0,
        parent_domain: none(),
    };
    // SAFETY: an open context, its channel, and valid attributes.
    NonNull::new(unsafe { extended::create_cq_ex(device.context())?(device.context(), &raw mut attributes) })
}

fn poll_stamped(queue: NonNull<CqEx>, ended: &mut Vec<Completion>) -> io::Result<usize> {
    let (queue, mut attributes) = (queue.as_ptr(), PollCqAttr { comp_mask: 0 });
    // SAFETY: a queue of an open device.
    let mut number = unsafe { ((*queue).start_poll)(queue, &raw mut attributes) };
    if number != 0 {
        return if number == libc::ENOENT { Ok(0) } else { Err(poll_failed("ibv_start_poll", number)) };
    }
    let mut count = 0;
    while number == 0 && count < AT_ONCE {
        // SAFETY: the queue is positioned at a completion.
        ended.push(unsafe { stamped_completion(queue) });
        count += 1;
        if count < AT_ONCE {
            // SAFETY: polling has started.
            number = unsafe { ((*queue).next_poll)(queue) };
        }
    }
    // SAFETY: polling has started, and ends here.
    unsafe { ((*queue).end_poll)(queue) };
    if number == 0 || number == libc::ENOENT { Ok(count) } else { Err(poll_failed("ibv_next_poll", number)) }
}

fn poll_failed(call: &str, number: i32) -> io::Error {
    io::Error::other(format!("{call}: {}", io::Error::from_raw_os_error(number.abs())))
}

/// Reads the current completion of an extended queue.
///
/// # Safety
/// The queue is positioned at a completion.
unsafe fn stamped_completion(queue: *mut CqEx) -> Completion {
    // SAFETY: as required above; the fields read were requested at creation, or are always present.
    unsafe {
        let (id, status) = ((*queue).wr_id, (*queue).status);
        if status != abi::WC_SUCCESS {
            let vendor = ((*queue).read_vendor_err)(queue);
            return Completion { id, ended: Ended::Failed { status, vendor }, ticks: 0 };
        }
        let is_written = ((*queue).read_opcode)(queue) == abi::WC_RECV_RDMA_WITH_IMM
            && ((*queue).read_wc_flags)(queue) & abi::WC_WITH_IMM != 0;
        let ended = if is_written {
            let immediate = u32::from_be(((*queue).read_imm_data)(queue));
            Ended::Written { immediate, bytes: ((*queue).read_byte_len)(queue) }
        } else {
            Ended::Acknowledged
        };
        Completion { id, ended, ticks: ((*queue).read_completion_ts)(queue) }
    }
}
