//! Receiving end of a TCP connection: reads and verifies chunks (parts of transfers), sends acknowledgements.

use super::frames::{Chunks, Element};
use crate::memory::differences;
use crate::run::driver::{Event, ReceivedCounts};
use crate::{Clock, Pattern};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use std::io::{self, ErrorKind, Read};
use std::net::TcpStream;

/// Limit of unsent acknowledgements beyond which reading stops, until the peer reads them [bytes].
const UNSENT_BYTES_MAX: usize = 1 << 16;

/// A connection of a queue pair that receives here.
pub(super) struct Receiver {
    stream: TcpStream,
    /// Expected content of chunks, repeated, if verified.
    expected: Option<Pattern>,
    chunks: Chunks,
    wrong: Wrong,
    /// Acknowledgements not yet accepted by the kernel.
    unsent: Vec<u8>,
    /// The peer has closed its sending direction.
    is_closing: bool,
}

/// Count of bytes that differ from the expected ones.
#[derive(Clone, Copy, Debug, Default)]
struct Wrong {
    bytes: u64,
    /// Count before the current chunk.
    before: u64,
}

impl Receiver {
    pub(super) fn new(stream: TcpStream, expected: Option<Pattern>) -> Self {
        let (chunks, wrong, unsent) = (Chunks::default(), Wrong::default(), Vec::new());
        Self { stream, expected, chunks, wrong, unsent, is_closing: false }
    }

    pub(super) const fn wrong_bytes(&self) -> u64 {
        self.wrong.bytes
    }

    /// Notes that the peer has closed its sending direction.
    pub(super) const fn close(&mut self) {
        self.is_closing = true;
    }

    /// Reads once; returns whether more data may be available.
    ///
    /// # Errors
    /// If the connection has ended, or its data does not match the run (`InvalidData`).
    pub(super) fn read(
        &mut self,
        buffer: &mut [u8],
        planned: impl Fn(u32) -> Option<u64>,
        clock: Clock,
        events: &mut Vec<Event>,
    ) -> io::Result<bool> {
        if self.unsent.len() > UNSENT_BYTES_MAX {
            return Ok(false);
        }
        let count = match (&self.stream).read(buffer) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(true),
            Err(error) => return Err(error),
        };
        let Self { expected, chunks, wrong, unsent, .. } = self;
        let at = clock.now();
        let taken = chunks.take(&buffer[..count], planned, |element| match element {
            Element::Payload { offset, bytes } => {
                if let Some(expected) = expected {
                    wrong.bytes += differences_from(bytes, offset, expected.bytes());
                }
            }
            Element::End { chunk } => {
                let is_verified = expected.is_some().then_some(wrong.bytes == wrong.before);
                wrong.before = wrong.bytes;
                let seen = ReceivedCounts { is_verified, ..ReceivedCounts::default() };
                events.push(Event::Arrived { chunk, at, seen });
                unsent.extend(chunk.to_be_bytes());
            }
        });
        taken.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
        self.acknowledge()?;
        // A partly filled buffer means that the socket is empty, unless the end of the stream follows.
        Ok(count == buffer.len() || self.is_closing)
    }

    /// Sends acknowledgements as far as the kernel accepts them; returns whether any were sent.
    pub(super) fn acknowledge(&mut self) -> io::Result<bool> {
        let mut sent = 0;
        while sent < self.unsent.len() {
            match send(&self.stream, &self.unsent[sent..], SendFlags::NOSIGNAL) {
                Ok(count) => sent += count,
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.unsent.drain(..sent);
        Ok(sent > 0)
    }
}

/// Number of bytes of a chunk, from `offset` on, that differ from the repeated content of a region.
fn differences_from(mut received: &[u8], offset: u64, region: &[u8]) -> u64 {
    let mut start = (offset % region.len() as u64) as usize;
    let mut wrong_bytes = 0;
    while !received.is_empty() {
        let (part, rest) = received.split_at(received.len().min(region.len() - start));
        wrong_bytes += differences(part, &region[start..start + part.len()]);
        (received, start) = (rest, 0);
    }
    wrong_bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::share::Post;
    use crate::run::tcp::sender::Sender;
    use std::io::Write;
    use std::net::{Ipv4Addr, TcpListener};

    fn connection() -> [TcpStream; 2] {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let other = listener.accept().unwrap().0;
        [one, other].map(|stream| {
            stream.set_nonblocking(true).unwrap();
            stream
        })
    }

    fn region(from: usize) -> Pattern {
        Pattern::new((0..=255).collect(), from..from + 100)
    }

    /// Sends chunks of those lengths over a connection; returns the receiver's events and wrong bytes.
    fn exchanged(lengths: &[u64], sent: Pattern, expected: Pattern) -> (Vec<Event>, u64) {
        let ([one, other], clock) = (connection(), Clock::start());
        let (mut sender, mut receiver) = (Sender::new(one, sent), Receiver::new(other, Some(expected)));
        for (chunk, &bytes) in (0..).zip(lengths) {
            sender.post(&Post { pair: 0, send: chunk + 1_000, chunk, pass: 0, bytes });
        }
        let (mut events, mut buffer, mut payload_bytes) = (Vec::new(), vec![0; 300], 0);
        while events.len() < 2 * lengths.len() {
            payload_bytes += sender.write(700).unwrap().payload_bytes;
            let planned = |chunk: u32| lengths.get(chunk as usize).copied();
            while receiver.read(&mut buffer, planned, clock, &mut events).unwrap() {}
            sender.read(clock, &mut events).unwrap();
        }
        assert!(!sender.has_work());
        assert_eq!(payload_bytes, lengths.iter().sum::<u64>());
        (events, receiver.wrong_bytes())
    }

    #[test]
    fn chunks_arrive_in_order_and_are_acknowledged() {
        let lengths = [0, 1, 99, 100, 101, 0, 5_000];
        let (events, wrong_bytes) = exchanged(&lengths, region(3), region(3));
        let (mut arrived, mut completed) = (Vec::new(), Vec::new());
        for event in events {
            match event {
                Event::Arrived { chunk, seen, .. } => {
                    assert_eq!(seen.is_verified, Some(true));
                    arrived.push(chunk);
                }
                Event::Completed { send, .. } => completed.push(send - 1_000),
                other => unreachable!("{other:?}"),
            }
        }
        let all: Vec<u32> = (0..7).collect();
        assert_eq!((arrived, completed, wrong_bytes), (all.clone(), all, 0));
    }

    #[test]
    fn bytes_of_another_place_are_counted_as_wrong() {
        assert_eq!(exchanged(&[250, 0], region(3), region(4)).1, 250);
    }

    #[test]
    fn an_acknowledgement_of_what_was_not_sent_ends_the_connection() {
        let ([one, mut other], clock) = (connection(), Clock::start());
        let mut sender = Sender::new(one, region(0));
        sender.post(&Post { pair: 0, send: 7, chunk: 1, pass: 0, bytes: 4 });
        sender.write(100).unwrap();
        other.write_all(&2_u32.to_be_bytes()).unwrap();
        let mut events = Vec::new();
        let error = std::iter::repeat_with(|| sender.read(clock, &mut events)).find_map(Result::err);
        assert_eq!(error.unwrap().kind(), ErrorKind::InvalidData);
        sender.failed(&mut events);
        assert_eq!(events, [Event::Failed { send: 7, seen: Default::default() }]);
    }

    #[test]
    fn a_chunk_longer_than_its_region_is_compared_with_it_again_and_again() {
        let region = [1, 2, 3];
        assert_eq!(differences_from(&[3, 1, 2, 3, 1], 5, &region), 0);
        assert_eq!(differences_from(&[3, 1, 9, 3, 9], 5, &region), 2);
        assert_eq!(differences_from(&[], 7, &region), 0);
    }
}
