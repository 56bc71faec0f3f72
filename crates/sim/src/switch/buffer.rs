//! The packet buffer of a switch, shared by all ports.
//!
//! Models one pool with a hard limit: a frame that does not fit on arrival is dropped, and a frame leaves the
//! pool when its transmission starts. Leaves out cells, per-queue limits and headroom.

/// Occupancy of a shared buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedBuffer {
    size_bytes: u64,
    used_bytes: u64,
}

impl SharedBuffer {
    pub(crate) const fn new(size_bytes: u64) -> Self {
        Self { size_bytes, used_bytes: 0 }
    }

    /// Even if nothing leaves, `bytes` more fit.
    #[inline]
    pub(crate) const fn fits(&self, bytes: u64) -> bool {
        self.used_bytes.saturating_add(bytes) <= self.size_bytes
    }

    #[inline]
    pub(crate) const fn take(&mut self, bytes: u64) {
        self.used_bytes += bytes;
        debug_assert!(self.used_bytes <= self.size_bytes, "the buffer overflowed");
    }

    #[inline]
    pub(crate) const fn release(&mut self, bytes: u64) {
        debug_assert!(bytes <= self.used_bytes, "more left the buffer than was in it");
        self.used_bytes -= bytes;
    }

    #[cfg(test)]
    pub(crate) const fn used_bytes(&self) -> u64 {
        self.used_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_to_the_byte_is_taken() {
        let mut buffer = SharedBuffer::new(100);
        buffer.take(60);
        assert!(buffer.fits(40));
        assert!(!buffer.fits(41));
        buffer.release(1);
        assert!(buffer.fits(41));
        assert_eq!(buffer.used_bytes(), 59);
    }
}
