//! RDMA devices of the host: opening, limits, ports, GIDs, and registration of memory.

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

/// Linux directory of RDMA devices.
const SYSFS: &str = "/sys/class/infiniband";
/// Port states as named by `rdma link`, by number (`enum ibv_port_state`).
const STATES: [&str; 6] = ["NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"];

/// The loaded library.
#[derive(Clone, Copy)]
pub(crate) struct Verbs(Library);

impl Verbs {
    /// Loads libibverbs.
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
            // Without any device, the kernel may lack the interface that the library queries.
            return Err(if kernel_devices().is_empty() { VerbsError::NoDevice } else { error });
        }
        // SAFETY: the library returns that many devices.
        let devices = unsafe { std::slice::from_raw_parts(list, count.max(0) as usize) };
        let opened: Result<Vec<_>, _> = devices.iter().map(|&device| self.open(device)).collect();
        // SAFETY: the list returned above; open devices remain valid.
        unsafe { (self.0.free_device_list)(list) };
        match opened {
            Ok(none) if none.is_empty() => Err(match &kernel_devices()[..] {
                [] => VerbsError::NoDevice,
                devices => VerbsError::NoProvider { devices: devices.join(", ") },
            }),
            other => other,
        }
    }

    fn open(self, device: *mut Opaque) -> Result<Arc<Device>, VerbsError> {
        // SAFETY: a device of the list, whose name is null-terminated.
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

/// Devices listed by the kernel, including those unknown to libibverbs.
fn kernel_devices() -> Vec<String> {
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

// SAFETY: libibverbs may be called from several threads concurrently (ibv_open_device(3), rdma-core's
// Documentation/libibverbs.md).
unsafe impl Send for Device {}
// SAFETY: as above.
unsafe impl Sync for Device {}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: opened in `open`; objects created from them hold a reference to this device, so they are
        // destroyed before.
        unsafe {
            (self.library.dealloc_pd)(self.domain.as_ptr());
            (self.library.close_device)(self.context.as_ptr());
        }
    }
}

/// Attributes of a port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Port {
    /// Active MTU: maximum payload of a packet [bytes].
    pub(crate) mtu_bytes: u32,
    /// Maximum message size [bytes].
    pub(crate) message_bytes_max: u32,
    state: u32,
    is_ethernet: bool,
}

/// An entry of a GID table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GidAt {
    /// Port number.
    pub(crate) port: u8,
    /// Index in the port's table.
    pub(crate) index: u8,
    /// The GID.
    pub(crate) gid: [u8; 16],
    /// Whether its type is RoCE v2 (packets with IP and UDP headers).
    pub(crate) is_roce_v2: bool,
}

impl GidAt {
    /// The IPv4 address of the GID (IBTA annex A17, A17.4.5.2: an IPv4-mapped IPv6 address).
    pub(crate) fn address(&self) -> Option<Ipv4Addr> {
        Ipv6Addr::from(self.gid).to_ipv4_mapped()
    }
}

impl Device {
    /// Name of the device in the kernel.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Maximum numbers of queue pairs, of outstanding requests per queue, and of completion queue entries.
    pub(crate) fn limits(&self) -> Result<[u32; 3], VerbsError> {
        // SAFETY: all zeros is a valid value of this plain C structure.
        let mut attributes: DeviceAttr = unsafe { mem::zeroed() };
        // SAFETY: an open context, and room for the result.
        let number = unsafe { (self.library.query_device)(self.context.as_ptr(), &raw mut attributes) };
        if number != 0 {
            return Err(VerbsError::returned(format!("ibv_query_device of {}", self.name), number));
        }
        Ok([attributes.max_qp, attributes.max_qp_wr, attributes.max_cqe]
            .map(|most| u32::try_from(most).unwrap_or(0)))
    }

    /// Attributes of a port, by number.
    pub(crate) fn port(&self, number: u8) -> Result<Port, VerbsError> {
        // SAFETY: all zeros is a valid value of this plain C structure.
        let mut attributes: PortAttr = unsafe { mem::zeroed() };
        // SAFETY: an open context, and room for the result: the library writes a prefix of it.
        let error = unsafe { (self.library.query_port)(self.context.as_ptr(), number, &raw mut attributes) };
        if error != 0 {
            return Err(VerbsError::returned(
                format!("ibv_query_port of {} port {number}", self.name),
                error,
            ));
        }
        Ok(Port {
            // `enum ibv_mtu` numbers 256, 512, 1024, 2048, 4096 from 1.
            mtu_bytes: 128 << attributes.active_mtu.min(5),
            message_bytes_max: attributes.max_msg_sz,
            state: attributes.state,
            is_ethernet: attributes.link_layer == LINK_LAYER_ETHERNET,
        })
    }

    /// Attributes of a port that is active and supports RoCE v2.
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

    /// All valid GIDs of all ports.
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
        let gids = entries.iter().take(count).map(|entry| {
            let mut gid = [0; 16];
            for (bytes, word) in gid.chunks_exact_mut(8).zip(entry.gid) {
                bytes.copy_from_slice(&word.to_ne_bytes());
            }
            let [port, index] = [entry.port_num, entry.gid_index].map(|it| u8::try_from(it).unwrap_or(0));
            GidAt { port, index, gid, is_roce_v2: entry.gid_type == GID_TYPE_ROCE_V2 }
        });
        Ok(gids.collect())
    }

    /// Pointer to the context, for creating queues.
    pub(super) const fn context(&self) -> *mut Context {
        self.context.as_ptr()
    }

    /// Registers memory at the device.
    pub(super) fn register(
        &self,
        address: *mut u8,
        bytes: usize,
        access: c_int,
    ) -> Result<NonNull<super::abi::Mr>, VerbsError> {
        // SAFETY: memory of the caller, who keeps it until the region is deregistered.
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

/// Hint for a failed registration: the limit of locked memory.
fn memory_hint() -> String {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Memlock).current;
    limit.map_or_else(String::new, |limit| {
        let limit = limit >> 10;
        format!(
            " (the limit of locked memory is {limit} KiB: `ulimit -l unlimited`, or LimitMEMLOCK=infinity)"
        )
    })
}

/// A null pointer.
pub(super) const fn none<T>() -> *mut T {
    ptr::null_mut()
}
