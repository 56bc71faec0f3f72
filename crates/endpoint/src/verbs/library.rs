//! Loads `libibverbs.so.1` at run time, and declares the functions in use.

use super::VerbsError;
use super::abi::{
    CompChannel, Context, Cq, DeviceAttr, GidEntry, Mr, Opaque, PortAttr, Qp, QpAttr, QpInitAttr,
};
use libc::{c_char, c_int, c_void};
use std::ffi::{CStr, CString};
use std::mem;

const LIBRARY: &str = "libibverbs.so.1";

macro_rules! functions {
    ($($name:ident = $symbol:literal: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// Functions of libibverbs that are symbols; those of the data path are in
        /// [`ContextOps`](super::abi::ContextOps).
        #[derive(Clone, Copy)]
        pub(super) struct Library {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Library {
            /// Loads the library; it is never unloaded, because providers do not support that.
            pub(super) fn load() -> Result<Self, VerbsError> {
                let handle = open(LIBRARY)?;
                Ok(Self {
                    $($name: {
                        let address = symbol(handle, $symbol)?;
                        // SAFETY: the symbol is a function of this type by the library's ABI (verbs.h).
                        unsafe {
                            mem::transmute::<
                                *mut c_void,
                                unsafe extern "C" fn($($argument),*) $(-> $result)?
                            >(address)
                        }
                    },)*
                })
            }
        }
    };
}

functions! {
    get_device_list = "ibv_get_device_list": fn(*mut c_int) -> *mut *mut Opaque;
    free_device_list = "ibv_free_device_list": fn(*mut *mut Opaque);
    get_device_name = "ibv_get_device_name": fn(*mut Opaque) -> *const c_char;
    open_device = "ibv_open_device": fn(*mut Opaque) -> *mut Context;
    close_device = "ibv_close_device": fn(*mut Context) -> c_int;
    query_device = "ibv_query_device": fn(*mut Context, *mut DeviceAttr) -> c_int;
    query_port = "ibv_query_port": fn(*mut Context, u8, *mut PortAttr) -> c_int;
    query_gid_table = "_ibv_query_gid_table":
        fn(*mut Context, *mut GidEntry, usize, u32, usize) -> isize;
    alloc_pd = "ibv_alloc_pd": fn(*mut Context) -> *mut Opaque;
    dealloc_pd = "ibv_dealloc_pd": fn(*mut Opaque) -> c_int;
    reg_mr = "ibv_reg_mr": fn(*mut Opaque, *mut c_void, usize, c_int) -> *mut Mr;
    dereg_mr = "ibv_dereg_mr": fn(*mut Mr) -> c_int;
    create_comp_channel = "ibv_create_comp_channel": fn(*mut Context) -> *mut CompChannel;
    destroy_comp_channel = "ibv_destroy_comp_channel": fn(*mut CompChannel) -> c_int;
    create_cq = "ibv_create_cq":
        fn(*mut Context, c_int, *mut c_void, *mut CompChannel, c_int) -> *mut Cq;
    destroy_cq = "ibv_destroy_cq": fn(*mut Cq) -> c_int;
    get_cq_event = "ibv_get_cq_event": fn(*mut CompChannel, *mut *mut Cq, *mut *mut c_void) -> c_int;
    ack_cq_events = "ibv_ack_cq_events": fn(*mut Cq, u32);
    create_qp = "ibv_create_qp": fn(*mut Opaque, *mut QpInitAttr) -> *mut Qp;
    modify_qp = "ibv_modify_qp": fn(*mut Qp, *mut QpAttr, c_int) -> c_int;
    destroy_qp = "ibv_destroy_qp": fn(*mut Qp) -> c_int;
    wc_status_str = "ibv_wc_status_str": fn(u32) -> *const c_char;
}

fn open(library: &str) -> Result<*mut c_void, VerbsError> {
    let name = CString::new(library).unwrap_or_default();
    // SAFETY: a null-terminated name; the code run on loading is that of the system's library.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        return Err(VerbsError::Library { why: loader_error() });
    }
    Ok(handle)
}

fn symbol(handle: *mut c_void, name: &'static str) -> Result<*mut c_void, VerbsError> {
    let text = CString::new(name).unwrap_or_default();
    // SAFETY: a handle of `dlopen` that is never closed, and a null-terminated name.
    let address = unsafe { libc::dlsym(handle, text.as_ptr()) };
    if address.is_null() { Err(VerbsError::Symbol { name }) } else { Ok(address) }
}

/// Latest error of the loader.
fn loader_error() -> String {
    // SAFETY: returns a text of the loader, or null.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return format!("{LIBRARY}: no reason given");
    }
    // SAFETY: the text is null-terminated, and valid until the next call on this thread.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_missing_is_named() {
        let error = open("libno-such-thing.so.1").unwrap_err().to_string();
        assert!(error.starts_with("libno-such-thing.so.1: cannot open shared object file"), "{error}");
        assert!(error.contains("package"), "{error}");
    }

    #[test]
    fn a_symbol_that_is_missing_is_named() {
        let handle = open("libc.so.6").unwrap();
        let error = symbol(handle, "ibv_no_such_thing").unwrap_err().to_string();
        assert!(error.contains("ibv_no_such_thing") && error.contains("rdma-core"), "{error}");
    }
}
