//! Memory registered at an RDMA device: a read-only buffer, or mapped pages that peers may write.

use super::abi::{ACCESS_LOCAL_WRITE, ACCESS_REMOTE_WRITE, Mr};
use super::{Device, VerbsError};
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// Memory registered at a device.
pub(crate) struct Registered {
    device: Arc<Device>,
    region: NonNull<Mr>,
    memory: Memory,
}

/// Storage of registered memory.
enum Memory {
    /// Read-only buffer.
    Shared(Arc<[u8]>),
    /// Pages that peers may write to at any time, so no Rust reference to them exists.
    Mapped(Mapped),
}

// SAFETY: the region is a handle of the library, which any thread may use; the mapping is never
// referenced, only copied from and to.
unsafe impl Send for Registered {}

impl Registered {
    /// Registers a buffer that peers cannot write to.
    pub(crate) fn to_read(device: &Arc<Device>, bytes: Arc<[u8]>) -> Result<Self, VerbsError> {
        let region = device.register(bytes.as_ptr().cast_mut(), bytes.len(), 0)?;
        Ok(Self { device: Arc::clone(device), region, memory: Memory::Shared(bytes) })
    }

    /// Allocates and registers zeroed memory that peers may write to.
    pub(crate) fn to_write(device: &Arc<Device>, bytes: usize) -> Result<Self, VerbsError> {
        let mapped = Mapped::new(bytes)?;
        let region = device.register(mapped.start, bytes, ACCESS_LOCAL_WRITE | ACCESS_REMOTE_WRITE)?;
        Ok(Self { device: Arc::clone(device), region, memory: Memory::Mapped(mapped) })
    }

    /// Start address, as used by the device and by peers.
    pub(crate) fn address(&self) -> u64 {
        match &self.memory {
            Memory::Shared(bytes) => bytes.as_ptr() as u64,
            Memory::Mapped(mapped) => mapped.start as u64,
        }
    }

    /// Key for this host's own requests (lkey).
    pub(crate) fn local_key(&self) -> u32 {
        // SAFETY: the region is registered.
        unsafe { self.region.as_ref() }.lkey
    }

    /// Key for peers (rkey).
    pub(crate) fn remote_key(&self) -> u32 {
        // SAFETY: the region is registered.
        unsafe { self.region.as_ref() }.rkey
    }

    /// Copies bytes out of memory that peers write to.
    ///
    /// # Panics
    /// When the range exceeds the memory.
    pub(crate) fn read(&self, from: usize, into: &mut [u8]) {
        let at = self.pointer(from, into.len());
        // SAFETY: `pointer` has checked that the range is within the mapping. A peer that writes at the same
        // time, in violation of the protocol, leaves arbitrary bytes, as a device may at any time.
        unsafe { ptr::copy_nonoverlapping(at, into.as_mut_ptr(), into.len()) };
    }

    /// Copies bytes into memory that peers write to.
    ///
    /// # Panics
    /// When the range exceeds the memory.
    pub(crate) fn write(&self, from: usize, bytes: &[u8]) {
        let at = self.pointer(from, bytes.len());
        // SAFETY: as in `read`.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), at, bytes.len()) };
    }

    fn pointer(&self, from: usize, bytes: usize) -> *mut u8 {
        let Memory::Mapped(mapped) = &self.memory else { panic!("shared memory is read-only") };
        assert!(from <= mapped.bytes && bytes <= mapped.bytes - from, "the range is within the mapping");
        // SAFETY: within the mapping.
        unsafe { mapped.start.add(from) }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        // SAFETY: registered at creation, and deregistered once; the memory is freed after this.
        unsafe { (self.device.library.dereg_mr)(self.region.as_ptr()) };
    }
}

/// Private anonymous memory mapping.
struct Mapped {
    start: *mut u8,
    bytes: usize,
}

impl Mapped {
    fn new(bytes: usize) -> Result<Self, VerbsError> {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping, which affects no other memory.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes.max(1), protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(VerbsError::last(format!("mmap of {bytes} bytes")));
        }
        Ok(Self { start: start.cast(), bytes: bytes.max(1) })
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`, and unmapped once.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}
