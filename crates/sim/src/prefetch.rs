//! Asking for memory before it is needed.

/// Asks for the cache line where `items[index]` begins; does nothing if there is no such item, or no such instruction.
#[inline]
pub(crate) fn prefetch<T>(items: &[T], index: usize) {
    if let Some(item) = items.get(index) {
        prefetch_item(item);
    }
}

/// Asks for the cache line where `item` begins.
#[inline]
pub(crate) fn prefetch_item<T>(item: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction changes nothing but caches, and is part of every x86-64.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(item).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = item;
}
