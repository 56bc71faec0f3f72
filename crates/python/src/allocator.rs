//! Memory of the core: the system's, and a message for the user when there is no more.
//!
//! Without it the process would abort. Like after SIGKILL, the trials that finished stay and the next command
//! finds the one under way interrupted. The message is written without asking for memory.

use std::alloc::{GlobalAlloc, Layout, System};

const MESSAGE: &str = "error: out of memory: the simulation needs more than this process can get\n\
hint: finished trials are intact, and --resume runs only the rest; `fabricbench plan check PLAN` estimates what a trial needs\n";
/// Exit status of what the user can mend.
const USER_ERROR: i32 = 2;

/// The allocator of the core.
pub(crate) struct Allocator;

// SAFETY: every call is handed on to `System` as it is; what comes back is either its result, or the process
// ends.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc`.
        found(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        found(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `realloc`.
        found(unsafe { System.realloc(place, layout, new_size) })
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(place, layout) }
    }
}

#[inline]
fn found(place: *mut u8) -> *mut u8 {
    if place.is_null() {
        end();
    }
    place
}

#[cold]
fn end() -> ! {
    // SAFETY: the message is valid for its length; both calls are safe wherever the process stands
    // (signal-safety(7)).
    unsafe {
        libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len());
        libc::_exit(USER_ERROR)
    }
}
