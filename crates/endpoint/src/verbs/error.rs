//! Why an adapter cannot be used.

use std::io;
use std::net::Ipv4Addr;

/// Why an adapter cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum VerbsError {
    /// libibverbs is missing.
    #[error("{why}; it is in package libibverbs1 (Debian, Ubuntu) or libibverbs (Fedora, RHEL, SUSE)")]
    Library {
        /// What the loader says, with the name of the library.
        why: String,
    },
    /// libibverbs is too old.
    #[error("libibverbs.so.1 has no {name}: that of rdma-core 33 (2021) and newer has")]
    Symbol {
        /// What it lacks.
        name: &'static str,
    },
    /// The host has no adapter.
    #[error("this host has no RDMA device (`rdma link` lists them)")]
    NoDevice,
    /// The kernel has devices for which libibverbs has nothing.
    #[error(
        "libibverbs has no provider for {devices}: package ibverbs-providers (Debian, Ubuntu) or rdma-core has"
    )]
    NoProvider {
        /// As the kernel calls them.
        devices: String,
    },
    /// There is no such device.
    #[error("no RDMA device {found:?}; allowed: {allowed}")]
    UnknownDevice {
        /// What was asked for.
        found: String,
        /// Those that there are.
        allowed: String,
    },
    /// No port has the address.
    #[error(
        "no port of {devices} has a RoCE v2 GID with address {address}{at}; found: {found} (`rdma link` tells \
         which interface a device has)"
    )]
    NoGid {
        /// Where it was looked for.
        devices: String,
        /// The address of the host.
        address: Ipv4Addr,
        /// The index that was asked for, if one was.
        at: String,
        /// What there is.
        found: String,
    },
    /// A port cannot send.
    #[error("port {port} of {device} is {state}; to be active: is its interface up, and its cable plugged?")]
    PortDown {
        /// Of which device.
        device: String,
        /// Which one.
        port: u8,
        /// What it is.
        state: String,
    },
    /// A port of another kind.
    #[error("port {port} of {device} is not Ethernet: RoCE v2 only")]
    NotEthernet {
        /// Of which device.
        device: String,
        /// Which one.
        port: u8,
    },
    /// The adapter has less than the run needs.
    #[error("{device} has {most} {what}; the run needs {needed}")]
    TooMany {
        /// Which one.
        device: String,
        /// Of what.
        what: &'static str,
        /// What it has.
        most: u64,
        /// What the run needs.
        needed: u64,
    },
    /// A call that failed.
    #[error("{call}: {error}{hint}")]
    Call {
        /// Which one, for what.
        call: String,
        /// What the host says.
        error: io::Error,
        /// What can be done.
        hint: String,
    },
}

impl VerbsError {
    /// A call that has set `errno`.
    pub(super) fn last(call: impl Into<String>) -> Self {
        Self::of(call, io::Error::last_os_error())
    }

    /// A call that has returned an error number.
    pub(super) fn returned(call: impl Into<String>, number: i32) -> Self {
        Self::of(call, io::Error::from_raw_os_error(number.abs()))
    }

    fn of(call: impl Into<String>, error: io::Error) -> Self {
        Self::Call { call: call.into(), error, hint: String::new() }
    }

    /// With more of what was being done.
    pub(crate) fn of_pair(self, what: &str) -> Self {
        match self {
            Self::Call { call, error, hint } => Self::Call { call: format!("{call} of {what}"), error, hint },
            other => other,
        }
    }
}
