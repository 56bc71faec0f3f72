//! Sending end of a TCP connection: writes chunks (parts of transfers) with content from a shared pattern,
//! reads their acknowledgements.

use super::frames::{ACKNOWLEDGEMENT_BYTES, Collected, HEADER_BYTES, Header};
use crate::run::driver::{Event, SentCounts};
use crate::run::share::Post;
use crate::{Clock, Pattern};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice, Read};
use std::net::TcpStream;

/// Maximum slices per call.
const SLICES: usize = 64;
/// Buffer size for reading acknowledgements [bytes].
const READ_BYTES: usize = 4_096;

/// A connection of a queue pair that sends from here.
pub(super) struct Sender {
    stream: TcpStream,
    /// Content of chunks, repeated.
    region: Pattern,
    /// Chunks not yet acknowledged, oldest first.
    chunks: VecDeque<Unacknowledged>,
    /// Index of the first chunk that is not completely written.
    next: usize,
    /// Bytes written of that chunk, including its header.
    written: u64,
    acknowledgement: Collected<ACKNOWLEDGEMENT_BYTES>,
}

/// A chunk that is not acknowledged yet.
struct Unacknowledged {
    send: u32,
    chunk: u32,
    header: [u8; HEADER_BYTES],
    bytes: u64,
}

impl Unacknowledged {
    /// Size including the header [bytes].
    const fn length(&self) -> u64 {
        HEADER_BYTES as u64 + self.bytes
    }

    /// The longest contiguous slice that starts at byte `from`.
    fn slice<'a>(&'a self, from: u64, region: &'a [u8]) -> &'a [u8] {
        let Some(offset) = from.checked_sub(HEADER_BYTES as u64) else {
            return &self.header[from as usize..];
        };
        let start = (offset % region.len() as u64) as usize;
        let slice = &region[start..];
        let left = usize::try_from(self.bytes - offset).unwrap_or(usize::MAX);
        &slice[..left.min(slice.len())]
    }
}

/// Result of a write.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    /// Payload accepted by the kernel [bytes].
    pub(super) payload_bytes: u64,
    /// The send buffer is full.
    pub(super) is_full: bool,
}

impl Sender {
    pub(super) const fn new(stream: TcpStream, region: Pattern) -> Self {
        let chunks = VecDeque::new();
        Self { stream, region, chunks, next: 0, written: 0, acknowledgement: Collected::new() }
    }

    pub(super) const fn stream(&self) -> &TcpStream {
        &self.stream
    }

    pub(super) fn post(&mut self, post: &Post) {
        let &Post { send, chunk, bytes, .. } = post;
        self.chunks.push_back(Unacknowledged { send, chunk, header: Header { chunk, bytes }.emit(), bytes });
    }

    /// Whether anything remains to be written.
    pub(super) fn has_work(&self) -> bool {
        self.next < self.chunks.len()
    }

    /// Writes with one call, at most about `most` bytes.
    pub(super) fn write(&mut self, most: usize) -> io::Result<Written> {
        let mut slices = [IoSlice::new(&[]); SLICES];
        let (count, bytes) = self.gather(&mut slices, most);
        let mut control = SendAncillaryBuffer::default();
        // A closed connection must not raise SIGPIPE.
        let sent = match sendmsg(&self.stream, &slices[..count], &mut control, SendFlags::NOSIGNAL) {
            Ok(sent) => sent,
            Err(Errno::AGAIN) => 0,
            Err(Errno::INTR) => return Ok(Written { payload_bytes: 0, is_full: false }),
            Err(error) => return Err(error.into()),
        };
        Ok(Written { payload_bytes: self.advance(sent as u64), is_full: sent < bytes })
    }

    /// Fills `slices` with the next data; returns their number and total size.
    fn gather<'a>(&'a self, slices: &mut [IoSlice<'a>; SLICES], most: usize) -> (usize, usize) {
        let (mut count, mut bytes, mut from) = (0, 0, self.written);
        for chunk in self.chunks.range(self.next..) {
            while from < chunk.length() {
                if count == SLICES || bytes >= most {
                    return (count, bytes);
                }
                let slice = chunk.slice(from, self.region.bytes());
                let slice = &slice[..slice.len().min(most - bytes)];
                slices[count] = IoSlice::new(slice);
                (count, bytes, from) = (count + 1, bytes + slice.len(), from + slice.len() as u64);
            }
            from = 0;
        }
        (count, bytes)
    }

    /// Advances by `bytes` written; returns the payload among them [bytes].
    fn advance(&mut self, mut bytes: u64) -> u64 {
        let mut payload_bytes = 0;
        while bytes > 0 {
            let length = self.chunks[self.next].length();
            let (before, step) = (self.written, bytes.min(length - self.written));
            self.written += step;
            bytes -= step;
            let header = HEADER_BYTES as u64;
            payload_bytes += self.written.max(header) - before.max(header);
            if self.written == length {
                (self.next, self.written) = (self.next + 1, 0);
            }
        }
        payload_bytes
    }

    /// Reads acknowledgements.
    ///
    /// # Errors
    /// If the connection has ended, or an acknowledgement does not match the oldest chunk.
    pub(super) fn read(&mut self, clock: Clock, events: &mut Vec<Event>) -> io::Result<()> {
        let mut buffer = [0; READ_BYTES];
        loop {
            let count = match (&self.stream).read(&mut buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let (at, mut bytes) = (clock.now(), &buffer[..count]);
            while let Some(number) = self.acknowledgement.take(&mut bytes) {
                let send = self.acknowledged(u32::from_be_bytes(number)).ok_or(ErrorKind::InvalidData)?;
                events.push(Event::Completed { send, at, seen: SentCounts::default() });
            }
        }
    }

    /// Removes the acknowledged chunk: the oldest, if it is completely written.
    fn acknowledged(&mut self, number: u32) -> Option<u32> {
        let Unacknowledged { send, chunk, .. } = *self.chunks.front().filter(|_| self.next > 0)?;
        if chunk != number {
            return None;
        }
        self.chunks.pop_front();
        self.next -= 1;
        Some(send)
    }

    /// Reports all unacknowledged chunks as failed.
    pub(super) fn failed(self, events: &mut Vec<Event>) {
        let seen = SentCounts::default();
        events.extend(self.chunks.iter().map(|chunk| Event::Failed { send: chunk.send, seen }));
    }
}
