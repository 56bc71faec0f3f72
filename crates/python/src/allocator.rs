//! Memory allocator of the Python extension module: that of the system, but it ends the process with a
//! message when memory runs out.
//!
//! Without it the process would abort. As after SIGKILL, finished trials are intact, and the next command
//! detects the interrupted one. The message is written without allocating memory.

use std::alloc::{GlobalAlloc, Layout, System};

const MESSAGE: &str = "error: out of memory: the simulation needs more than this process can get\n\
hint: finished trials are intact, and --resume runs only the rest; `fabricbench plan check PLAN` estimates what a trial needs\n";
/// Exit status of errors that the user can fix.
const USER_ERROR: i32 = 2;

/// The allocator of the core.
pub(crate) struct Allocator;

// SAFETY: every call is passed to `System` unchanged and returns its result, or ends the process.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller fulfils the contract of `alloc`.
        checked(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller fulfils the contract of `alloc_zeroed`.
        checked(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller fulfils the contract of `realloc`.
        checked(unsafe { System.realloc(pointer, layout, new_size) })
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller fulfils the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[inline]
fn checked(pointer: *mut u8) -> *mut u8 {
    if pointer.is_null() {
        end();
    }
    pointer
}

#[cold]
fn end() -> ! {
    // SAFETY: the message is valid for its length; both calls are safe in any state of the process
    // (signal-safety(7)).
    unsafe {
        libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len());
        libc::_exit(USER_ERROR)
    }
}
