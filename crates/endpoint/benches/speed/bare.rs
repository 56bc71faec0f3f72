//! Baseline of the benchmark: a UDP socket without a transport or CRC sends (GSO) or receives (GRO) datagrams
//! of the size of full WRITE packets. Also measures the processor time of the process.

use crate::{Task, Watch};
use std::ffi::c_int;
use std::mem;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// A full WRITE packet: base transport header, payload and ICRC, mostly without a RETH.
const SEGMENT_BYTES: usize = 12 + 4096 + 4;
const PAYLOAD_BYTES: u64 = 4096;
const SEGMENTS: usize = 65_507 / SEGMENT_BYTES;
const BUFFER_BYTES: c_int = 16 << 20;

/// Processor time of this process, in kernel and user mode [ns].
pub(crate) fn cpu_ns() -> u64 {
    // SAFETY: an all-zero timespec is valid, and the call writes no more than one.
    let time = unsafe {
        let mut time: libc::timespec = mem::zeroed();
        libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time);
        time
    };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn set(socket: &UdpSocket, level: c_int, name: c_int, value: c_int) {
    // SAFETY: the value is an int that outlives the call, of the size given.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size_of::<c_int>() as u32,
        )
    };
    assert_eq!(result, 0, "option {name} of level {level}");
}

fn bind(task: &Task) -> UdpSocket {
    let socket = UdpSocket::bind(task.local).unwrap();
    set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, BUFFER_BYTES);
    set(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, BUFFER_BYTES);
    socket
}

/// Sends for the span.
pub(crate) fn send(task: &Task) {
    let socket = bind(task);
    set(&socket, libc::SOL_UDP, libc::UDP_SEGMENT, SEGMENT_BYTES as c_int);
    let buffer = vec![0x5a; SEGMENTS * SEGMENT_BYTES];
    let (watch, mut count) = (Watch::start(), 0);
    while watch.elapsed() < task.span {
        socket.send_to(&buffer, task.peer).unwrap();
        count += SEGMENTS as u64;
    }
    watch.report(count * PAYLOAD_BYTES, count);
}

/// Receives until no datagram arrives for a second.
pub(crate) fn receive(task: &Task) {
    let socket = bind(task);
    set(&socket, libc::SOL_UDP, libc::UDP_GRO, 1);
    let mut buffer = vec![0; 1 << 16];
    let mut bytes = socket.recv(&mut buffer).unwrap() as u64;
    let watch = Watch::start();
    socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let mut segments = 0;
    let mut last = watch.stop();
    loop {
        for _ in 0..256 {
            let Ok(received) = socket.recv(&mut buffer) else {
                return watch.report_until(&last, segments * PAYLOAD_BYTES, segments);
            };
            bytes += received as u64;
        }
        segments = bytes / SEGMENT_BYTES as u64;
        last = watch.stop();
    }
}
