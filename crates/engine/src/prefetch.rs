//! Prefetching of memory into the processor's cache: a line, an item, or parts of items of a slice.

/// Bytes of a cache line.
pub const LINE_BYTES: usize = 64;

/// Prefetches the first line of `items[index]`; does nothing if there is no such item.
#[inline]
pub fn prefetch<T>(items: &[T], index: usize) {
    if let Some(item) = items.get(index) {
        prefetch_line(item, 0);
    }
}

/// Prefetches the first line of `items[index]`, or an arbitrary line if there is no such item.
#[inline]
pub(crate) fn prefetch_any<T>(items: &[T], index: usize) {
    prefetch_address(items.as_ptr().wrapping_add(index).cast());
}

/// Prefetches all of `items[index]`; does nothing if there is no such item.
#[inline]
pub fn prefetch_whole<T>(items: &[T], index: usize) {
    prefetch_first(items, index, size_of::<T>());
}

/// Prefetches both ends of `items[index]`, which has at most two lines; does nothing if there is no such
/// item.
#[inline]
pub fn prefetch_ends<T>(items: &[T], index: usize) {
    if let Some(item) = items.get(index) {
        prefetch_byte(item, 0);
        prefetch_byte(item, size_of::<T>().saturating_sub(1));
    }
}

/// Prefetches the first `bytes` of `items[index]`; does nothing if there is no such item.
#[inline]
pub fn prefetch_first<T>(items: &[T], index: usize, bytes: usize) {
    if let Some(item) = items.get(index) {
        prefetch_lines(item, bytes);
    }
}

/// Prefetches all of `item`.
#[inline]
pub fn prefetch_item<T>(item: &T) {
    prefetch_lines(item, size_of::<T>());
}

/// Prefetches the first `bytes` of `item`.
#[inline]
pub fn prefetch_lines<T>(item: &T, bytes: usize) {
    (0..bytes.div_ceil(LINE_BYTES)).for_each(|line| prefetch_line(item, line));
}

/// Prefetches a line of `item`, counted from its start.
#[inline]
pub fn prefetch_line<T>(item: &T, line: usize) {
    prefetch_byte(item, line * LINE_BYTES);
}

/// Prefetches the line that contains a byte of `item`.
#[inline]
fn prefetch_byte<T>(item: &T, byte: usize) {
    prefetch_address(std::ptr::from_ref(item).cast::<i8>().wrapping_add(byte));
}

/// Prefetches the line at an address; does nothing on processors for which Rust has no stable instruction.
#[inline]
fn prefetch_address(address: *const i8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction affects only caches, for any address, and exists on every x86-64.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
