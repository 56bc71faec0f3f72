//! Control connection to the peer of a test over TCP: sends, and receives bytes or lines while it polls the
//! endpoint.

use endpoint::Endpoint;
use std::error::Error;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use units::Span;

/// Maximum wait of the endpoint for packets before the connection is polled.
const PATIENCE: Span = Span::from_us(1_000);
/// A peer that sends neither messages nor packets for this time has failed.
const STALLED: Duration = Duration::from_secs(60);

/// A connection with a receive buffer.
pub(crate) struct Control {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Control {
    pub(crate) fn new(stream: TcpStream) -> std::io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Self { stream, received: Vec::new() })
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        // Messages are short and the peer reads them, so the send buffer has space.
        self.stream.write_all(bytes)
    }

    /// Runs the endpoint until this number of bytes is received.
    pub(crate) fn receive(
        &mut self,
        endpoint: &mut Endpoint,
        bytes: usize,
    ) -> Result<Vec<u8>, Box<dyn Error>> {
        self.wait(endpoint, |received| received.len() >= bytes)?;
        Ok(self.received.drain(..bytes).collect())
    }

    /// Runs the endpoint until a line is received; returns it without its end.
    pub(crate) fn receive_line(&mut self, endpoint: &mut Endpoint) -> Result<String, Box<dyn Error>> {
        self.wait(endpoint, |received| received.contains(&b'\n'))?;
        let end = self.received.iter().position(|&byte| byte == b'\n').unwrap_or_default();
        let line = self.received.drain(..=end).collect();
        Ok(String::from_utf8(line)?.trim_end().to_owned())
    }

    fn wait(
        &mut self,
        endpoint: &mut Endpoint,
        is_enough: impl Fn(&[u8]) -> bool,
    ) -> Result<(), Box<dyn Error>> {
        let mut last = (Instant::now(), 0);
        while !is_enough(&self.received) {
            endpoint.poll(PATIENCE)?;
            let has_read = self.read()?;
            if has_read || endpoint.received_datagrams() != last.1 {
                last = (Instant::now(), endpoint.received_datagrams());
            } else if last.0.elapsed() > STALLED {
                return Err("the peer sends neither messages nor packets".into());
            }
        }
        Ok(())
    }

    /// Reads available bytes; false if there are none.
    ///
    /// # Errors
    /// If the connection is closed or has failed.
    pub(crate) fn read(&mut self) -> Result<bool, Box<dyn Error>> {
        let mut buffer = [0; 4096];
        match self.stream.read(&mut buffer) {
            Ok(0) => Err("the peer has closed the control connection".into()),
            Ok(bytes) => {
                self.received.extend_from_slice(&buffer[..bytes]);
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
