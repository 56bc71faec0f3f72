//! Polls many sockets for readiness, edge-triggered (`epoll`).

use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::io::Errno;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use units::Span;

/// Events per call.
const EVENTS: usize = 256;
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// Readiness of a socket since the last report.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ready {
    /// Key of the socket.
    pub(super) key: u64,
    /// Data has arrived, or the connection has ended.
    pub(super) can_read: bool,
    /// The send buffer has room, or the connection has ended.
    pub(super) can_write: bool,
    /// The peer has closed its sending direction.
    pub(super) is_closing: bool,
}

/// A set of polled sockets.
pub(super) struct Poller {
    epoll: OwnedFd,
    ready: Vec<Ready>,
}

impl Poller {
    pub(super) fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Self { epoll, ready: Vec::with_capacity(EVENTS) })
    }

    /// Adds a socket. Readiness is edge-triggered: after a report, read or write until the socket would
    /// block.
    pub(super) fn add(&self, socket: impl AsFd, key: u64) -> io::Result<()> {
        use epoll::EventFlags as Flags;
        let flags = Flags::IN | Flags::OUT | Flags::RDHUP | Flags::ET;
        Ok(epoll::add(&self.epoll, socket, epoll::EventData::new_u64(key), flags)?)
    }

    pub(super) fn remove(&self, socket: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, socket)?)
    }

    /// Returns ready sockets; waits at most `patience` for one.
    pub(super) fn wait(&mut self, patience: Span) -> io::Result<impl Iterator<Item = Ready>> {
        if patience > Span::ZERO {
            // `ppoll` has a resolution of nanoseconds; the timeout of `epoll_wait` is in milliseconds.
            let nanoseconds = patience.0.div_ceil(1_000);
            let timeout = Timespec {
                tv_sec: (nanoseconds / 1_000_000_000) as i64,
                tv_nsec: (nanoseconds % 1_000_000_000) as i64,
            };
            match poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], Some(&timeout)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let mut events = [MaybeUninit::<epoll::Event>::uninit(); EVENTS];
        self.ready.clear();
        match epoll::wait(&self.epoll, &mut events[..], Some(&AT_ONCE)) {
            Ok((events, _)) => self.ready.extend(events.iter().map(ready)),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(self.ready.drain(..))
    }
}

fn ready(event: &epoll::Event) -> Ready {
    use epoll::EventFlags as Flags;
    let flags = event.flags;
    let is_over = flags.intersects(Flags::HUP | Flags::ERR);
    Ready {
        key: event.data.u64(),
        can_read: is_over || flags.intersects(Flags::IN | Flags::RDHUP),
        can_write: is_over || flags.contains(Flags::OUT),
        is_closing: is_over || flags.contains(Flags::RDHUP),
    }
}
