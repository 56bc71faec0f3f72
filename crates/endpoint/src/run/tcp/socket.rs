//! TCP sockets: listening, connecting, options, limit of open files, kernel statistics (`TCP_INFO`).

use crate::run::{RunError, Settings};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;
use std::mem;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// Maximum pending connections; the host may allow fewer (`net.core.somaxconn`).
const BACKLOG: i32 = 4_096;
/// File descriptors that the process needs besides its connections.
const OTHER_DESCRIPTORS: u64 = 128;

/// A listening socket and its address.
pub(super) fn listen(settings: &Settings) -> Result<(TcpListener, SocketAddrV4), RunError> {
    let socket = socket()?;
    sockopt::set_socket_reuseaddr(&socket, true).map_err(io::Error::from)?;
    set_options(&socket, settings)?;
    net::bind(&socket, &SocketAddrV4::new(settings.address, settings.port)).map_err(io::Error::from)?;
    net::listen(&socket, BACKLOG).map_err(io::Error::from)?;
    let listener = TcpListener::from(socket);
    match listener.local_addr()? {
        SocketAddr::V4(at) => Ok((listener, at)),
        SocketAddr::V6(_) => unreachable!("a socket bound to an IPv4 address has one"),
    }
}

fn socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    Ok(net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?)
}

/// Connects from the address of the settings and any port.
pub(super) fn connect(to: SocketAddrV4, settings: &Settings, until: Instant) -> Result<TcpStream, RunError> {
    let socket = socket()?;
    set_options(&socket, settings)?;
    // Allows the same local port for several peers; otherwise ports would run out with many connections.
    let name = libc::IP_BIND_ADDRESS_NO_PORT;
    set_integer(&socket, libc::IPPROTO_IP, name, 1)?;
    net::bind(&socket, &SocketAddrV4::new(settings.address, 0)).map_err(io::Error::from)?;
    match net::connect(&socket, &to) {
        Ok(()) => {}
        Err(Errno::INPROGRESS) => wait_for(&socket, PollFlags::OUT, until)?,
        Err(error) => return Err(io::Error::from(error).into()),
    }
    let stream = TcpStream::from(socket);
    match stream.take_error()? {
        None => Ok(stream),
        Some(error) => Err(error.into()),
    }
}

/// Waits until a socket is ready.
pub(super) fn wait_for(socket: &impl std::os::fd::AsFd, flags: PollFlags, until: Instant) -> io::Result<()> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        match poll(&mut [PollFd::new(socket, flags)], Some(&timeout)) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Sets options common to all connections; accepted sockets inherit those of the listener.
fn set_options(socket: &OwnedFd, settings: &Settings) -> Result<(), RunError> {
    let common = || -> rustix::io::Result<()> {
        sockopt::set_tcp_nodelay(socket, true)?;
        let dscp = settings.dscp.unwrap_or(settings.planned_dscp.data);
        sockopt::set_ip_tos(socket, dscp << 2)?;
        sockopt::set_tcp_user_timeout(socket, (settings.peer_timeout_ps / 1_000_000_000) as u32)?;
        if let Some(bytes) = settings.socket_buffer_bytes {
            sockopt::set_socket_send_buffer_size(socket, bytes as usize)?;
            sockopt::set_socket_recv_buffer_size(socket, bytes as usize)?;
        }
        Ok(())
    };
    common().map_err(io::Error::from)?;
    match &settings.congestion {
        None => Ok(()),
        Some(name) => sockopt::set_tcp_congestion(socket, name).map_err(|error| refused(name, error)),
    }
}

/// Error for a congestion control that the host does not have.
fn refused(name: &str, error: Errno) -> RunError {
    let list = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let available = std::fs::read_to_string(list).unwrap_or_default();
    RunError::Settings(format!("congestion is {name:?} ({error}); allowed here: {}", available.trim()))
}

/// Sets the DSCP of packets sent from now on.
pub(super) fn set_dscp(stream: &TcpStream, dscp: u8) -> io::Result<()> {
    Ok(sockopt::set_ip_tos(stream, dscp << 2)?)
}

fn set_integer(socket: &OwnedFd, level: i32, name: i32, value: i32) -> io::Result<()> {
    let bytes = mem::size_of::<i32>() as libc::socklen_t;
    // SAFETY: the value is an int that outlives the call, and `bytes` is its size.
    let result =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), bytes) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Raises the limit of open files for `count` connections if necessary.
pub(super) fn allow_connections(count: usize) -> Result<(), RunError> {
    let needed = count as u64 + OTHER_DESCRIPTORS;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    if maximum.is_some_and(|maximum| maximum < needed) {
        let limit = maximum.unwrap_or_default();
        let text = format!("{count} connections need {needed} open files, of which the host allows {limit}");
        return Err(RunError::Settings(format!("{text}; raise `ulimit -Hn` of the agent")));
    }
    Ok(setrlimit(Resource::Nofile, Rlimit { current: Some(needed), maximum }).map_err(io::Error::from)?)
}

/// Kernel statistics summed over connections (`TCP_INFO`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub(super) segments: u64,
    pub(super) retransmitted: u64,
    pub(super) timeouts: u64,
    pub(super) delivered: u64,
    pub(super) delivered_ce: u64,
    pub(super) rtt_us_min: Option<u64>,
    pub(super) rtt_us_max: u64,
}

impl Totals {
    /// Adds a connection, if its statistics are available.
    pub(super) fn add(&mut self, stream: &TcpStream) {
        let Some(info) = info(stream) else { return };
        self.segments += u64::from(info.tcpi_data_segs_out);
        self.retransmitted += u64::from(info.tcpi_total_retrans);
        self.timeouts += u64::from(info.tcpi_total_rto);
        self.delivered += u64::from(info.tcpi_delivered);
        self.delivered_ce += u64::from(info.tcpi_delivered_ce);
        let rtt = Some(u64::from(info.tcpi_min_rtt)).filter(|&rtt| rtt != u64::from(u32::MAX));
        self.rtt_us_min = self.rtt_us_min.into_iter().chain(rtt).min();
        self.rtt_us_max = self.rtt_us_max.max(info.tcpi_rtt.into());
    }
}

/// `TCP_INFO` of a connection; fields unknown to an older kernel are 0.
fn info(stream: &TcpStream) -> Option<libc::tcp_info> {
    // SAFETY: all zeros is a valid value of this plain C structure.
    let mut info: libc::tcp_info = unsafe { mem::zeroed() };
    let mut bytes = mem::size_of_val(&info) as libc::socklen_t;
    let pointer = (&raw mut info).cast();
    // SAFETY: the structure outlives the call, and `bytes` is its size.
    let result = unsafe {
        libc::getsockopt(stream.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, pointer, &raw mut bytes)
    };
    (result == 0).then_some(info)
}

/// Time limit of [`connect`] and of accepting connections.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// The address of a peer.
pub(super) fn address_of(peer: SocketAddr) -> Option<Ipv4Addr> {
    match peer {
        SocketAddr::V4(at) => Some(*at.ip()),
        SocketAddr::V6(_) => None,
    }
}
