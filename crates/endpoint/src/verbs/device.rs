//! Devices of the host, their ports and their GIDs.

use super::VerbsError;
use super::abi::{
    Context, DeviceAttr, GID_TYPE_ROCE_V2, GidEntry, LINK_LAYER_ETHERNET, Opaque, PORT_ACTIVE, PortAttr,
};
use super::library::Library;
use libc::c_int;
use std::ffi::CStr;
use std::mem::{self, size_of};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// Where Linux lists RDMA devices.
const SYSFS: &str = "/sys/class/infiniband";
/// States of a port as `rdma link` calls them, by number (`enum ibv_port_state`).
const STATES: [&str; 6] = ["NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"];

/// The loaded library.
#[derive(Clone, Copy)]
pub(crate) struct Verbs(Library);

impl Verbs {
    /// Loads it.
    ///
    /// # Errors
    /// [`VerbsError::Library`] and [`VerbsError::Symbol`].
    pub(crate) fn load() -> Result<Self, VerbsError> {
        Library::load().map(Self)
    }

    /// Opens all devices of the host.
    pub(crate) fn open_all(self) -> Result<Vec<Arc<Device>>, VerbsError> {
        let mut count: c_int = 0;
        // SAFETY: the list is used and freed below, and nowhere else.
        let list = unsafe { (self.0.get_device_list)(&raw mut count) };
        if list.is_null() {
            let error = VerbsError::last("ibv_get_device_list");
            // Without any device the kernel may lack what the library asks.
            return Err(if known_to_the_kernel().is_empty() { VerbsError::NoDevice } else { error });
        }
        // SAFETY: the library returns that many devices.
        let devices = unsafe { std::slice::from_raw_parts(list, count.max(0) as usize) };
        let opened: Result<Vec<_>, _> = devices.iter().map(|&device| self.open(device)).collect();
        // SAFETY: what was returned above; open devices stay.
        unsafe { (self.0.free_device_list)(list) };
        match opened {
            Ok(none) if none.is_empty() => Err(match &known_to_the_kernel()[..] {
                [] => VerbsError::NoDevice,
                devices => VerbsError::NoProvider { devices: devices.join(", ") },
            }),
            other => other,
        }
    }

    fn open(self, device: *mut Opaque) -> Result<Arc<Device>, VerbsError> {
        // SAFETY: a device of the list, whose name ends with 0.
        let name = unsafe { CStr::from_ptr((self.0.get_device_name)(device)) };
        let name = name.to_string_lossy().into_owned();
        // SAFETY: a device of the list.
        let context = unsafe { (self.0.open_device)(device) };
        let context = NonNull::new(context)
            .ok_or_else(|| VerbsError::last(format!("ibv_open_device of {name} (/dev/infiniband)")))?;
        // SAFETY: an open context.
        let domain = unsafe { (self.0.alloc_pd)(context.as_ptr()) };
        let Some(domain) = NonNull::new(domain) else {
            let error = VerbsError::last(format!("ibv_alloc_pd of {name}"));
            // SAFETY: opened above, and unused.
            unsafe { (self.0.close_device)(context.as_ptr()) };
            return Err(error);
        };
        Ok(Arc::new(Device { library: self.0, context, domain, name }))
    }
}

/// Devices that the kernel has, whether or not libibverbs knows them.
fn known_to_the_kernel() -> Vec<String> {
    let entries = std::fs::read_dir(SYSFS).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// An open device with a protection domain.
pub(crate) struct Device {
    pub(super) library: Library,
    pub(super) context: NonNull<Context>,
    pub(super) domain: NonNull<Opaque>,
    name: String,
}

// SAFETY: libibverbs may be called from any thread, and from several at once (ibv_open_device(3), rdma-core's
// Documentation/libibverbs.md).
unsafe impl Send for Device {}
// SAFETY: as above.
unsafe impl Sync for Device {}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: opened in `open`; whatever was made of them holds this device, hence is gone.
        unsafe {
            (self.library.dealloc_pd)(self.domain.as_ptr());
            (self.library.close_device)(self.context.as_ptr());
        }
    }
}

/// What a port has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Port {
    /// Largest payload of a packet [bytes].
    pub(crate) mtu_bytes: u32,
    /// Longest message [bytes].
    pub(crate) message_bytes_max: u32,
    state: u32,
    is_ethernet: bool,
}

/// An entry of the table of GIDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GidAt {
    /// Of which port.
    pub(crate) port: u8,
    /// Where in its table.
    pub(crate) index: u8,
    /// The GID.
    pub(crate) gid: [u8; 16],
    /// Packets of it have IP and UDP headers.
    pub(crate) is_roce_v2: bool,
}

impl GidAt {
    /// The IPv4 address that it stands for (IBTA annex A17, A17.4.5.2: an IPv4-mapped IPv6 address).
    pub(crate) fn address(&self) -> Option<Ipv4Addr> {
        Ipv6Addr::from(self.gid).to_ipv4_mapped()
    }
}

impl Device {
    /// As the kernel calls it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The most queue pairs, requests waiting on one, and entries of a completion queue.
    pub(crate) fn limits(&self) -> Result<[u32; 3], VerbsError> {
        // SAFETY: all zero is a valid value of this plain structure of C.
        let mut told: DeviceAttr = unsafe { mem::zeroed() };
        // SAFETY: an open context, and room for the answer.
        let number = unsafe { (self.library.query_device)(self.context.as_ptr(), &raw mut told) };
        if number != 0 {
            return Err(VerbsError::returned(format!("ibv_query_device of {}", self.name), number));
        }
        Ok([told.max_qp, told.max_qp_wr, told.max_cqe].map(|most| u32::try_from(most).unwrap_or(0)))
    }

    /// A port, by its number.
    pub(crate) fn port(&self, number: u8) -> Result<Port, VerbsError> {
        // SAFETY: all zero is a valid value of this plain structure of C.
        let mut told: PortAttr = unsafe { mem::zeroed() };
        // SAFETY: an open context, and room for the answer: the library writes a prefix of it.
        let error = unsafe { (self.library.query_port)(self.context.as_ptr(), number, &raw mut told) };
        if error != 0 {
            return Err(VerbsError::returned(
                format!("ibv_query_port of {} port {number}", self.name),
                error,
            ));
        }
        Ok(Port {
            // `enum ibv_mtu` counts 256, 512, 1024, 2048, 4096 from 1.
            mtu_bytes: 128 << told.active_mtu.min(5),
            message_bytes_max: told.max_msg_sz,
            state: told.state,
            is_ethernet: told.link_layer == LINK_LAYER_ETHERNET,
        })
    }

    /// A port that can carry RoCE v2 now.
    pub(crate) fn active_port(&self, number: u8) -> Result<Port, VerbsError> {
        let port = self.port(number)?;
        let device = || self.name.clone();
        if !port.is_ethernet {
            return Err(VerbsError::NotEthernet { device: device(), port: number });
        }
        if port.state != PORT_ACTIVE {
            let state = STATES.get(port.state as usize).map_or("in an unknown state", |state| state).into();
            return Err(VerbsError::PortDown { device: device(), port: number, state });
        }
        Ok(port)
    }

    /// Every valid GID of every port.
    pub(crate) fn gids(&self) -> Result<Vec<GidAt>, VerbsError> {
        let mut entries = vec![GidEntry::default(); 1_024];
        let size = size_of::<GidEntry>();
        // SAFETY: an open context, and room for that many entries of that size.
        let count = unsafe {
            let (context, room) = (self.context.as_ptr(), entries.as_mut_ptr());
            (self.library.query_gid_table)(context, room, entries.len(), 0, size)
        };
        let Ok(count) = usize::try_from(count) else {
            let call = format!("ibv_query_gid_table of {}", self.name);
            return Err(VerbsError::returned(call, i32::try_from(count).unwrap_or(libc::EINVAL)));
        };
        let told = entries.iter().take(count).map(|entry| {
            let mut gid = [0; 16];
            for (bytes, word) in gid.chunks_exact_mut(8).zip(entry.gid) {
                bytes.copy_from_slice(&word.to_ne_bytes());
            }
            let [port, index] = [entry.port_num, entry.gid_index].map(|it| u8::try_from(it).unwrap_or(0));
            GidAt { port, index, gid, is_roce_v2: entry.gid_type == GID_TYPE_ROCE_V2 }
        });
        Ok(told.collect())
    }

    /// A pointer to the context, to be told by which queue pairs and queues were made.
    pub(super) const fn context(&self) -> *mut Context {
        self.context.as_ptr()
    }

    /// Registers memory for the device.
    pub(super) fn register(
        &self,
        address: *mut u8,
        bytes: usize,
        access: c_int,
    ) -> Result<NonNull<super::abi::Mr>, VerbsError> {
        // SAFETY: memory of the caller, who keeps it until the region is given back.
        let region = unsafe { (self.library.reg_mr)(self.domain.as_ptr(), address.cast(), bytes, access) };
        NonNull::new(region).ok_or_else(|| {
            let call = format!("ibv_reg_mr of {bytes} bytes at {}", self.name);
            match VerbsError::last(call) {
                VerbsError::Call { call, error, .. } => VerbsError::Call { call, error, hint: memory_hint() },
                other => other,
            }
        })
    }
}

/// What stands in the way of locked memory.
fn memory_hint() -> String {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Memlock).current;
    limit.map_or_else(String::new, |limit| {
        let limit = limit >> 10;
        format!(
            " (the limit of locked memory is {limit} KiB: `ulimit -l unlimited`, or LimitMEMLOCK=infinity)"
        )
    })
}

/// No region: what a null pointer stands for in calls.
pub(super) const fn none<T>() -> *mut T {
    ptr::null_mut()
}
