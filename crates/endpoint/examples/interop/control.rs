//! A TCP connection beside the packets, which is looked at between the turns of an endpoint.

use endpoint::Endpoint;
use std::error::Error;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use units::Span;

/// How long the endpoint waits for packets before the connection is looked at.
const PATIENCE: Span = Span::from_us(1_000);
/// A peer that says nothing for so long, and does nothing, has failed.
const STALLED: Duration = Duration::from_secs(60);

/// A connection, and what of it was not taken.
pub(crate) struct Control {
    stream: TcpStream,
    heard: Vec<u8>,
}

impl Control {
    pub(crate) fn new(stream: TcpStream) -> std::io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Self { stream, heard: Vec::new() })
    }

    pub(crate) fn say(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        // What is said is short, and the peer listens: there is room for it.
        self.stream.write_all(bytes)
    }

    /// Carries the endpoint on until so many bytes have come.
    pub(crate) fn hear(&mut self, endpoint: &mut Endpoint, bytes: usize) -> Result<Vec<u8>, Box<dyn Error>> {
        self.wait(endpoint, |heard| heard.len() >= bytes)?;
        Ok(self.heard.drain(..bytes).collect())
    }

    /// Carries the endpoint on until a line has come; without its end.
    pub(crate) fn hear_line(&mut self, endpoint: &mut Endpoint) -> Result<String, Box<dyn Error>> {
        self.wait(endpoint, |heard| heard.contains(&b'\n'))?;
        let end = self.heard.iter().position(|&byte| byte == b'\n').unwrap_or_default();
        let line = self.heard.drain(..=end).collect();
        Ok(String::from_utf8(line)?.trim_end().to_owned())
    }

    fn wait(
        &mut self,
        endpoint: &mut Endpoint,
        is_enough: impl Fn(&[u8]) -> bool,
    ) -> Result<(), Box<dyn Error>> {
        let mut last = (Instant::now(), 0);
        while !is_enough(&self.heard) {
            endpoint.turn(PATIENCE)?;
            let has_heard = self.listen()?;
            if has_heard || endpoint.received_datagrams() != last.1 {
                last = (Instant::now(), endpoint.received_datagrams());
            } else if last.0.elapsed() > STALLED {
                return Err("the peer says nothing more, and sends nothing".into());
            }
        }
        Ok(())
    }

    /// Takes in what the peer has said; false if it was nothing.
    ///
    /// # Errors
    /// The peer is gone, say.
    pub(crate) fn listen(&mut self) -> Result<bool, Box<dyn Error>> {
        let mut buffer = [0; 4096];
        match self.stream.read(&mut buffer) {
            Ok(0) => Err("the peer has closed the control connection".into()),
            Ok(bytes) => {
                self.heard.extend_from_slice(&buffer[..bytes]);
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
