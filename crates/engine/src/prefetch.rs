//! Asking for memory before it is needed.

/// Bytes of a cache line.
pub const LINE_BYTES: usize = 64;

/// Asks for the first line of `items[index]`; does nothing if there is no such item.
#[inline]
pub fn prefetch<T>(items: &[T], index: usize) {
    if let Some(item) = items.get(index) {
        prefetch_line(item, 0);
    }
}

/// Asks for the first line of `items[index]`, or for some memory of no use if there is no such item.
#[inline]
pub(crate) fn prefetch_any<T>(items: &[T], index: usize) {
    prefetch_address(items.as_ptr().wrapping_add(index).cast());
}

/// Asks for all of `items[index]`; does nothing if there is no such item.
#[inline]
pub fn prefetch_whole<T>(items: &[T], index: usize) {
    prefetch_first(items, index, size_of::<T>());
}

/// Asks for both ends of `items[index]`, which has no more than two lines; does nothing if there is no such
/// item.
#[inline]
pub fn prefetch_ends<T>(items: &[T], index: usize) {
    if let Some(item) = items.get(index) {
        prefetch_byte(item, 0);
        prefetch_byte(item, size_of::<T>().saturating_sub(1));
    }
}

/// Asks for the first `bytes` of `items[index]`; does nothing if there is no such item.
#[inline]
pub fn prefetch_first<T>(items: &[T], index: usize, bytes: usize) {
    if let Some(item) = items.get(index) {
        prefetch_lines(item, bytes);
    }
}

/// Asks for all of `item`.
#[inline]
pub fn prefetch_item<T>(item: &T) {
    prefetch_lines(item, size_of::<T>());
}

/// Asks for the first `bytes` of `item`.
#[inline]
pub fn prefetch_lines<T>(item: &T, bytes: usize) {
    (0..bytes.div_ceil(LINE_BYTES)).for_each(|line| prefetch_line(item, line));
}

/// Asks for a line of `item`, counted from its beginning.
#[inline]
pub fn prefetch_line<T>(item: &T, line: usize) {
    prefetch_byte(item, line * LINE_BYTES);
}

/// Asks for the line with a byte of `item`.
#[inline]
fn prefetch_byte<T>(item: &T, byte: usize) {
    prefetch_address(std::ptr::from_ref(item).cast::<i8>().wrapping_add(byte));
}

/// Asks for the line at an address; does nothing on processors for which Rust has no stable instruction.
#[inline]
fn prefetch_address(address: *const i8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction changes nothing but caches, whatever the address, and is part of every x86-64.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
