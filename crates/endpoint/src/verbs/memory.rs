//! Memory that an adapter reads or writes.

use super::abi::{ACCESS_LOCAL_WRITE, ACCESS_REMOTE_WRITE, Mr};
use super::{Device, VerbsError};
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// Memory that is registered at a device.
pub(crate) struct Registered {
    device: Arc<Device>,
    region: NonNull<Mr>,
    memory: Memory,
}

/// Whose memory it is.
enum Memory {
    /// Nobody writes to it.
    Shared(Arc<[u8]>),
    /// Peers write to it whenever they like, so nobody has a reference to it.
    Mapped(Mapped),
}

// SAFETY: the region is a handle of the library, which may be used by any thread; the mapping is never
// referenced, only copied from and to.
unsafe impl Send for Registered {}

impl Registered {
    /// What peers never write to.
    pub(crate) fn to_read(device: &Arc<Device>, bytes: Arc<[u8]>) -> Result<Self, VerbsError> {
        let region = device.register(bytes.as_ptr().cast_mut(), bytes.len(), 0)?;
        Ok(Self { device: Arc::clone(device), region, memory: Memory::Shared(bytes) })
    }

    /// So many bytes, all 0, that peers may write to.
    pub(crate) fn to_write(device: &Arc<Device>, bytes: usize) -> Result<Self, VerbsError> {
        let mapped = Mapped::new(bytes)?;
        let region = device.register(mapped.start, bytes, ACCESS_LOCAL_WRITE | ACCESS_REMOTE_WRITE)?;
        Ok(Self { device: Arc::clone(device), region, memory: Memory::Mapped(mapped) })
    }

    /// Where it begins, in the eyes of the device and of peers.
    pub(crate) fn address(&self) -> u64 {
        match &self.memory {
            Memory::Shared(bytes) => bytes.as_ptr() as u64,
            Memory::Mapped(mapped) => mapped.start as u64,
        }
    }

    /// The key of this host's own requests.
    pub(crate) fn local_key(&self) -> u32 {
        // SAFETY: the region is registered.
        unsafe { self.region.as_ref() }.lkey
    }

    /// The key of peers.
    pub(crate) fn remote_key(&self) -> u32 {
        // SAFETY: the region is registered.
        unsafe { self.region.as_ref() }.rkey
    }

    /// Copies bytes out of what peers write to.
    ///
    /// # Panics
    /// When there are fewer.
    pub(crate) fn read(&self, from: usize, into: &mut [u8]) {
        let at = self.place(from, into.len());
        // SAFETY: `place` has checked that the bytes are of the mapping; a peer that writes at the same time,
        // against the protocol, leaves any bytes there, which is what a device may do at any time.
        unsafe { ptr::copy_nonoverlapping(at, into.as_mut_ptr(), into.len()) };
    }

    /// Copies bytes into what peers write to.
    ///
    /// # Panics
    /// When there is less room.
    pub(crate) fn write(&self, from: usize, bytes: &[u8]) {
        let at = self.place(from, bytes.len());
        // SAFETY: as in `read`.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), at, bytes.len()) };
    }

    fn place(&self, from: usize, bytes: usize) -> *mut u8 {
        let Memory::Mapped(mapped) = &self.memory else { panic!("nobody writes to what is shared") };
        assert!(from <= mapped.bytes && bytes <= mapped.bytes - from, "the bytes are of the mapping");
        // SAFETY: within the mapping.
        unsafe { mapped.start.add(from) }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        // SAFETY: registered when it was made, and given back once; the memory is freed after this.
        unsafe { (self.device.library.dereg_mr)(self.region.as_ptr()) };
    }
}

/// Pages of their own.
struct Mapped {
    start: *mut u8,
    bytes: usize,
}

impl Mapped {
    fn new(bytes: usize) -> Result<Self, VerbsError> {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping, which touches no other memory.
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
