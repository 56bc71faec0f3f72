//! Errors of RDMA adapters, with causes and remedies.

use std::io;
use std::net::Ipv4Addr;

/// Reason why an RDMA adapter cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum VerbsError {
    /// libibverbs is missing.
    #[error("{why}; it is in package libibverbs1 (Debian, Ubuntu) or libibverbs (Fedora, RHEL, SUSE)")]
    Library {
        /// Message of the loader, with the name of the library.
        why: String,
    },
    /// libibverbs is too old.
    #[error("libibverbs.so.1 has no {name}: that of rdma-core 33 (2021) and newer has")]
    Symbol {
        /// The missing symbol.
        name: &'static str,
    },
    /// The host has no RDMA device.
    #[error("this host has no RDMA device (`rdma link` lists them)")]
    NoDevice,
    /// libibverbs has no provider for the kernel's devices.
    #[error(
        "libibverbs has no provider for {devices}: package ibverbs-providers (Debian, Ubuntu) or rdma-core has"
    )]
    NoProvider {
        /// Their names in the kernel.
        devices: String,
    },
    /// Unknown device.
    #[error("no RDMA device {found:?}; allowed: {allowed}")]
    UnknownDevice {
        /// The requested device.
        found: String,
        /// The existing devices.
        allowed: String,
    },
    /// No port has a GID with the address.
    #[error(
        "no port of {devices} has a RoCE v2 GID with address {address}{at}; found: {found} (`rdma link` lists \
         devices and interfaces)"
    )]
    NoGid {
        /// The devices searched.
        devices: String,
        /// Local address.
        address: Ipv4Addr,
        /// The requested GID index, if any.
        at: String,
        /// The existing GIDs.
        found: String,
    },
    /// A port is not active.
    #[error("port {port} of {device} is {state}; to be active: is its interface up, and its cable plugged?")]
    PortDown {
        /// Name of the device.
        device: String,
        /// Port number.
        port: u8,
        /// State of the port.
        state: String,
    },
    /// A port with another link layer than Ethernet.
    #[error("port {port} of {device} is not Ethernet: RoCE v2 only")]
    NotEthernet {
        /// Name of the device.
        device: String,
        /// Port number.
        port: u8,
    },
    /// The run exceeds a limit of the adapter.
    #[error("{device} has {most} {resource}; the run needs {needed}")]
    TooMany {
        /// Name of the device.
        device: String,
        /// The limited resource.
        resource: &'static str,
        /// Limit of the adapter.
        most: u64,
        /// Number that the run needs.
        needed: u64,
    },
    /// A failed call.
    #[error("{call}: {error}{hint}")]
    Call {
        /// Name of the function, with its object.
        call: String,
        /// Error of the operating system.
        error: io::Error,
        /// Suggested remedy.
        hint: String,
    },
}

impl VerbsError {
    /// A failed call that set `errno`.
    pub(super) fn last(call: impl Into<String>) -> Self {
        Self::of(call, io::Error::last_os_error())
    }

    /// A failed call that returned an error number.
    pub(super) fn returned(call: impl Into<String>, number: i32) -> Self {
        Self::of(call, io::Error::from_raw_os_error(number.abs()))
    }

    fn of(call: impl Into<String>, error: io::Error) -> Self {
        Self::Call { call: call.into(), error, hint: String::new() }
    }

    /// Adds the name of the queue pair to a failed call.
    pub(crate) fn of_pair(self, name: &str) -> Self {
        match self {
            Self::Call { call, error, hint } => Self::Call { call: format!("{call} of {name}"), error, hint },
            other => other,
        }
    }
}
