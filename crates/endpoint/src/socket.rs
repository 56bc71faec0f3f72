//! UDP socket that sends and receives datagrams in batches (GSO, GRO), with the IPv4 header that
//! [`transport::UdpPath`] describes; reports the ECN of received datagrams, the size of the receive buffer
//! and drops.

use crate::endpoint::Route;
use crate::options::TrafficClass;
use crate::path;
use std::ffi::c_int;
use std::io::{self, ErrorKind, IoSlice};
use std::mem;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::os::fd::AsRawFd;
use units::Span;
use wire::ipv4::Ecn;

/// Requested buffer size: enough for the windows of many queue pairs, where the host permits it.
const BUFFER_BYTES: c_int = 16 << 20;

/// IPv4 and UDP headers.
const IP_UDP_BYTES: usize = 28;

/// Maximum segments per call (`UDP_MAX_SEGMENTS` of kernels before 6.9).
pub(crate) const SEGMENTS_MAX: usize = 64;
/// Maximum bytes per call: the payload of the longest datagram.
pub(crate) const CALL_BYTES_MAX: usize = 65_507;
/// Maximum bytes received per call.
pub(crate) const RECEIVE_BYTES_MAX: usize = 1 << 16;

/// Indices in the result of `SO_MEMINFO` (`linux/sock_diag.h`).
const SK_MEMINFO_RCVBUF: usize = 1;
const SK_MEMINFO_DROPS: usize = 8;
const SK_MEMINFO_VARS: usize = 9;

/// Datagrams received in one call. All have the size of the first; only the last may be shorter.
pub(crate) struct Datagrams {
    /// Total size.
    pub(crate) bytes: usize,
    /// Size of the first.
    pub(crate) segment_bytes: usize,
    pub(crate) from: SocketAddrV4,
    pub(crate) ecn: Ecn,
}

/// An unconnected UDP socket: see [`transport::UdpPath`] for the reason.
pub(crate) struct Socket {
    socket: UdpSocket,
    local: SocketAddrV4,
    /// Default traffic class of packets.
    class: TrafficClass,
    /// Whether the host segments the data of one call into datagrams (GSO), as far as known.
    can_segment: bool,
    /// Number of calls that failed for lack of a route, with the last error.
    unsent: (u64, Option<io::Error>),
}

impl Socket {
    pub(crate) fn bind(local: SocketAddrV4, class: TrafficClass) -> io::Result<Self> {
        if local.ip().is_unspecified() {
            // The ICRC covers the destination address of packets.
            return Err(io::Error::new(
                ErrorKind::InvalidInput,
                "an endpoint is bound to one address of the host",
            ));
        }
        let socket = UdpSocket::bind(local)?;
        let local = match socket.local_addr()? {
            SocketAddr::V4(local) => local,
            SocketAddr::V6(_) => unreachable!("a socket bound to an IPv4 address has one"),
        };
        let bound = Self { socket, local, class, can_segment: true, unsent: (0, None) };
        bound.set(libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_DO)?;
        bound.set(libc::IPPROTO_IP, libc::IP_TOS, class.byte().into())?;
        bound.set(libc::IPPROTO_IP, libc::IP_RECVTOS, 1)?;
        // Kernels before 5.0 do not support it, and return each datagram separately.
        let _ = bound.set(libc::SOL_UDP, libc::UDP_GRO, 1);
        bound.enlarge(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF)?;
        bound.enlarge(libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)?;
        Ok(bound)
    }

    /// The local address.
    pub(crate) const fn local(&self) -> SocketAddrV4 {
        self.local
    }

    /// `SO_MEMINFO` (Linux 4.12): memory statistics of the socket, by `SK_MEMINFO_*`; zeros where not
    /// supported.
    fn memory_info(&self) -> [u32; SK_MEMINFO_VARS] {
        let mut info = [0_u32; SK_MEMINFO_VARS];
        let mut bytes = mem::size_of_val(&info) as libc::socklen_t;
        let (descriptor, place) = (self.socket.as_raw_fd(), info.as_mut_ptr().cast());
        // SAFETY: the array outlives the call, and `bytes` is its size.
        unsafe { libc::getsockopt(descriptor, libc::SOL_SOCKET, libc::SO_MEMINFO, place, &raw mut bytes) };
        info
    }

    /// Size of the receive buffer as the kernel accounts it [bytes].
    pub(crate) fn receive_buffer_bytes(&self) -> u64 {
        self.memory_info()[SK_MEMINFO_RCVBUF].into()
    }

    /// Datagrams dropped because the receive buffer was full.
    pub(crate) fn drops(&self) -> u64 {
        self.memory_info()[SK_MEMINFO_DROPS].into()
    }

    /// Sets a buffer size beyond the limit of the host if permitted (`CAP_NET_ADMIN`), otherwise up to the
    /// limit.
    fn enlarge(&self, beyond: c_int, within: c_int) -> io::Result<()> {
        self.set(libc::SOL_SOCKET, beyond, BUFFER_BYTES)
            .or_else(|_| self.set(libc::SOL_SOCKET, within, BUFFER_BYTES))
    }

    fn set(&self, level: c_int, name: c_int, value: c_int) -> io::Result<()> {
        let (descriptor, bytes) = (self.socket.as_raw_fd(), mem::size_of::<c_int>() as libc::socklen_t);
        // SAFETY: the value is an int that outlives the call, and `bytes` is its size.
        let result = unsafe { libc::setsockopt(descriptor, level, name, (&raw const value).cast(), bytes) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Whether the host segments the data of one call into datagrams, as far as known.
    pub(crate) const fn can_segment(&self) -> bool {
        self.can_segment
    }

    /// Sends, in one call, either one datagram or datagrams of `segment_bytes`, the last of which may be
    /// shorter; blocks until the buffer has room. At most [`SLICES_MAX`](libc::UIO_MAXIOV) slices.
    ///
    /// If the host turns out not to support segmentation, the datagrams are lost, as they might be in the
    /// network: sent one by one they would have other IPv4 identifications than those in their ICRCs. They
    /// are also lost while the host has no route, for instance when its link is down.
    pub(crate) fn send(
        &mut self,
        datagrams: &[IoSlice<'_>],
        segment_bytes: Option<u16>,
        route: &Route,
    ) -> io::Result<()> {
        match self.send_call(datagrams, segment_bytes, route) {
            Err(error) if segment_bytes.is_some() && is_segmentation_unsupported(&error) => {
                self.can_segment = false;
                Ok(())
            }
            Err(error) if is_unreachable(&error) => {
                self.unsent = (self.unsent.0 + 1, Some(error));
                Ok(())
            }
            Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) => {
                let bytes = segment_bytes
                    .map_or_else(|| datagrams.iter().map(|slice| slice.len()).sum(), usize::from);
                Err(path::too_long(bytes + IP_UDP_BYTES, *self.local.ip(), *route.to.ip()))
            }
            result => result,
        }
    }

    /// Number of calls that failed for lack of a route, with the last error.
    pub(crate) const fn unsent(&self) -> (u64, Option<&io::Error>) {
        (self.unsent.0, self.unsent.1.as_ref())
    }

    /// Sends with one call; blocks until the buffer has room.
    fn send_call(&self, slices: &[IoSlice<'_>], segment_bytes: Option<u16>, route: &Route) -> io::Result<()> {
        // SAFETY: all zeros is a valid value of these plain C structures.
        let (mut address, mut message): (libc::sockaddr_in, libc::msghdr) = unsafe { mem::zeroed() };
        address.sin_family = libc::AF_INET as libc::sa_family_t;
        address.sin_port = route.to.port().to_be();
        address.sin_addr.s_addr = u32::from(*route.to.ip()).to_be();
        let mut control = Control::default();
        if let Some(segment_bytes) = segment_bytes {
            control.push(libc::SOL_UDP, libc::UDP_SEGMENT, &segment_bytes.to_ne_bytes());
        }
        if route.class != self.class {
            control.push(libc::IPPROTO_IP, libc::IP_TOS, &c_int::from(route.class.byte()).to_ne_bytes());
        }
        message.msg_name = (&raw mut address).cast();
        message.msg_namelen = mem::size_of_val(&address) as libc::socklen_t;
        // The standard library guarantees the same layout; the kernel only reads them.
        message.msg_iov = slices.as_ptr().cast_mut().cast();
        message.msg_iovlen = slices.len() as _;
        if control.filled > 0 {
            message.msg_control = control.words.as_mut_ptr().cast();
            message.msg_controllen = control.filled as _;
        }
        loop {
            // SAFETY: every pointer in the message refers to a live buffer of the given length, which the
            // kernel only reads.
            let result = unsafe { libc::sendmsg(self.socket.as_raw_fd(), &raw const message, 0) };
            let error = io::Error::last_os_error();
            if result >= 0 || error.kind() != ErrorKind::Interrupted {
                return if result >= 0 { Ok(()) } else { Err(error) };
            }
        }
    }

    /// Receives the next datagrams into `buffer`, if any have arrived.
    pub(crate) fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<Datagrams>> {
        // SAFETY: all zeros is a valid value of these plain C structures.
        let (mut from, mut message): (libc::sockaddr_in, libc::msghdr) = unsafe { mem::zeroed() };
        let mut slice = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        // Aligned as control messages must be, and larger than the two requested ones.
        let mut control = [0_u64; 8];
        message.msg_name = (&raw mut from).cast();
        message.msg_namelen = mem::size_of_val(&from) as libc::socklen_t;
        message.msg_iov = &raw mut slice;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = mem::size_of_val(&control);
        let descriptor = self.socket.as_raw_fd();
        // SAFETY: every pointer in the message refers to a live buffer of the given length.
        let result = unsafe { libc::recvmsg(descriptor, &raw mut message, libc::MSG_DONTWAIT) };
        let Ok(bytes) = usize::try_from(result) else {
            let error = io::Error::last_os_error();
            let nothing = matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted);
            return if nothing { Ok(None) } else { Err(error) };
        };
        let address = Ipv4Addr::from(u32::from_be(from.sin_addr.s_addr));
        let from = SocketAddrV4::new(address, u16::from_be(from.sin_port));
        let mut datagrams = Datagrams { bytes, segment_bytes: bytes, from, ecn: Ecn::NotEct };
        datagrams.read_control(&message);
        Ok(Some(datagrams))
    }

    /// Waits for a datagram, at most `span`.
    pub(crate) fn wait(&self, span: Span) -> io::Result<()> {
        let mut polled = libc::pollfd { fd: self.socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let nanoseconds = span.0.div_ceil(1_000);
        let timeout = libc::timespec {
            tv_sec: (nanoseconds / 1_000_000_000) as libc::time_t,
            tv_nsec: (nanoseconds % 1_000_000_000) as libc::c_long,
        };
        // SAFETY: one descriptor to poll and a timeout, both of which outlive the call; no signal mask.
        let result = unsafe { libc::ppoll(&raw mut polled, 1, &raw const timeout, std::ptr::null()) };
        let error = io::Error::last_os_error();
        if result >= 0 || error.kind() == ErrorKind::Interrupted { Ok(()) } else { Err(error) }
    }
}

/// Buffer of control messages to send, each aligned to a word.
#[derive(Default)]
struct Control {
    words: [u64; 6],
    filled: usize,
}

impl Control {
    /// Adds a message with a value of at most one word; at most two messages fit.
    fn push(&mut self, level: c_int, kind: c_int, value: &[u8]) {
        let bytes = value.len() as u32;
        // SAFETY: these macros only compute sizes.
        let (length, space) = unsafe { (libc::CMSG_LEN(bytes), libc::CMSG_SPACE(bytes)) };
        assert!(self.filled + space as usize <= mem::size_of_val(&self.words), "two messages at the most");
        // SAFETY: the position is aligned, as previous messages occupy whole words, and has room for the
        // message.
        unsafe {
            let header: *mut libc::cmsghdr = self.words.as_mut_ptr().byte_add(self.filled).cast();
            (*header).cmsg_level = level;
            (*header).cmsg_type = kind;
            (*header).cmsg_len = length as _;
            libc::CMSG_DATA(header).copy_from_nonoverlapping(value.as_ptr(), value.len());
        }
        self.filled += space as usize;
    }
}

impl Datagrams {
    /// Reads the control messages: the ECN field (one byte), and the segment size (an int, only present if
    /// several datagrams were received together).
    fn read_control(&mut self, message: &libc::msghdr) {
        // SAFETY: the message was filled by the kernel, its control buffer is alive and aligned, and the
        // macros stay within it.
        unsafe {
            let mut header = libc::CMSG_FIRSTHDR(message);
            while let Some(control) = header.as_ref() {
                match (control.cmsg_level, control.cmsg_type) {
                    (libc::IPPROTO_IP, libc::IP_TOS) => {
                        self.ecn = Ecn::from_low_bits(*libc::CMSG_DATA(header));
                    }
                    (libc::SOL_UDP, libc::UDP_GRO) => {
                        self.segment_bytes =
                            libc::CMSG_DATA(header).cast::<c_int>().read_unaligned() as usize;
                    }
                    _ => {}
                }
                header = libc::CMSG_NXTHDR(message, header);
            }
        }
    }
}

/// Whether a call failed because the host or device cannot segment datagrams: not supported (`EINVAL`,
/// `ENOPROTOOPT`), or the device lacks the checksum offload that it needs (`EIO`).
fn is_segmentation_unsupported(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOPROTOOPT | libc::EIO))
}

/// Whether a call failed for lack of a path to the peer, which may be temporary: link down, missing route,
/// unresolved neighbour, full queue, firewall.
fn is_unreachable(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(
            libc::ENETDOWN
                | libc::ENETUNREACH
                | libc::EHOSTDOWN
                | libc::EHOSTUNREACH
                | libc::ENOBUFS
                | libc::EPERM
        )
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::ipv4::Dscp;

    const ANY_PORT: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);

    #[test]
    fn a_datagram_arrives_with_its_sender_and_its_ecn() {
        let (mut one, other) = (
            Socket::bind(ANY_PORT, TrafficClass::default()).unwrap(),
            Socket::bind(ANY_PORT, TrafficClass::default()).unwrap(),
        );
        let mut buffer = [0; 16];
        assert!(other.receive(&mut buffer).unwrap().is_none());
        for (dscp, ecn) in [(26, Ecn::Ect0), (26, Ecn::CongestionExperienced), (48, Ecn::NotEct)] {
            let route = Route {
                port: 0,
                to: other.local(),
                class: TrafficClass { dscp: Dscp::new(dscp).unwrap(), ecn },
            };
            one.send(&[IoSlice::new(b"hel"), IoSlice::new(b"lo")], None, &route).unwrap();
            other.wait(Span::from_us(1_000_000)).unwrap();
            let datagram = other.receive(&mut buffer).unwrap().unwrap();
            assert_eq!((&buffer[..datagram.bytes], datagram.from), (&b"hello"[..], one.local()));
            assert_eq!(datagram.ecn, ecn);
        }
    }

    #[test]
    fn datagrams_of_one_call_arrive_with_their_length() {
        let (mut one, other) = (
            Socket::bind(ANY_PORT, TrafficClass::default()).unwrap(),
            Socket::bind(ANY_PORT, TrafficClass::default()).unwrap(),
        );
        let route = Route {
            port: 0,
            to: other.local(),
            class: TrafficClass { dscp: Dscp::default(), ecn: Ecn::Ect1 },
        };
        one.send(&[IoSlice::new(b"abcab"), IoSlice::new(b"cabcd")], Some(3), &route).unwrap();
        let (mut buffer, mut received) = ([0; 64], Vec::new());
        while received.len() < 4 {
            other.wait(Span::from_us(1_000_000)).unwrap();
            let datagrams = other.receive(&mut buffer).unwrap().unwrap();
            let each = buffer[..datagrams.bytes].chunks(datagrams.segment_bytes);
            received.extend(each.map(<[u8]>::to_vec));
        }
        assert_eq!(received, [&b"abc"[..], b"abc", b"abc", b"d"]);
    }

    #[test]
    fn it_waits_as_long_as_it_is_told() {
        let socket = Socket::bind(ANY_PORT, TrafficClass::default()).unwrap();
        let before = std::time::Instant::now();
        socket.wait(Span::from_us(3_000)).unwrap();
        assert!(before.elapsed() >= std::time::Duration::from_millis(3));
    }

    #[test]
    fn an_address_of_all_interfaces_is_refused() {
        let all = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);
        assert_eq!(
            Socket::bind(all, TrafficClass::default()).err().map(|error| error.kind()),
            Some(ErrorKind::InvalidInput)
        );
    }
}
