//! Asking for memory before it is needed.

/// Bytes of a line of the cache.
pub(crate) const LINE_BYTES: usize = 64;

/// Asks for the first line of `items[index]`; does nothing if there is no such item.
#[inline]
pub(crate) fn prefetch<T>(items: &[T], index: usize) {
    if let Some(item) = items.get(index) {
        prefetch_line(item, 0);
    }
}

/// Asks for all of `items[index]`; does nothing if there is no such item.
#[inline]
pub(crate) fn prefetch_whole<T>(items: &[T], index: usize) {
    prefetch_first(items, index, size_of::<T>());
}

/// Asks for the first `bytes` of `items[index]`; does nothing if there is no such item.
#[inline]
pub(crate) fn prefetch_first<T>(items: &[T], index: usize, bytes: usize) {
    if let Some(item) = items.get(index) {
        prefetch_lines(item, bytes);
    }
}

/// Asks for all of `item`.
#[inline]
pub(crate) fn prefetch_item<T>(item: &T) {
    prefetch_lines(item, size_of::<T>());
}

/// Asks for the first `bytes` of `item`.
#[inline]
pub(crate) fn prefetch_lines<T>(item: &T, bytes: usize) {
    (0..bytes.div_ceil(LINE_BYTES)).for_each(|line| prefetch_line(item, line));
}

/// Asks for a line of `item`, counted from its beginning; does nothing on processors for which Rust has no stable
/// instruction.
#[inline]
pub(crate) fn prefetch_line<T>(item: &T, line: usize) {
    let address = std::ptr::from_ref(item).cast::<i8>().wrapping_add(line * LINE_BYTES);
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction changes nothing but caches, whatever the address, and is part of every x86-64.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
