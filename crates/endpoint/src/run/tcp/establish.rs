//! Establishes the connections of a run: the sender of each queue pair connects and identifies the queue pair
//! in its first message; the receiver accepts expected connections and refuses others.

use super::frames::{Collected, HELLO_BYTES, Hello, Token};
use super::poller::Poller;
use super::socket::{self, PATIENCE};
use crate::run::{RunError, Settings};
use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use units::Span;

/// Poller key of the listener.
const LISTENER: u64 = u64::MAX;
/// Interval of checking whether the connecting side has failed.
const CHECK_INTERVAL: Span = Span::from_us(10_000);
/// Maximum connections without a hello, in addition to the number still expected.
const UNIDENTIFIED_MAX: usize = 64;

/// An outgoing connection: a queue pair that sends from here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outgoing {
    pub(super) host: u32,
    pub(super) to: SocketAddrV4,
    pub(super) hello: Hello,
}

/// An expected incoming connection: a queue pair that receives here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Incoming {
    pub(super) queue_pair: u32,
    pub(super) host: u32,
    pub(super) from: Ipv4Addr,
}

/// Established connections, in the order of outgoing and incoming.
pub(super) struct Established {
    pub(super) outgoing: Vec<TcpStream>,
    pub(super) incoming: Vec<TcpStream>,
    /// Number of unexpected connections.
    pub(super) refused: u64,
}

/// Establishes all connections.
pub(super) fn establish(
    listening: &Listening<'_>,
    outgoing: &[Outgoing],
    incoming: &[Incoming],
) -> Result<Established, RunError> {
    let (until, is_over) = (Instant::now() + PATIENCE, AtomicBool::new(false));
    std::thread::scope(|scope| {
        // Hosts accept and connect concurrently; otherwise they would wait for each other.
        let accepting = scope.spawn(|| Accepting::new(listening, incoming)?.accept_all(until, &is_over));
        let connected: Result<Vec<_>, _> =
            outgoing.iter().map(|connection| connect(connection, listening, until)).collect();
        is_over.store(connected.is_err(), Ordering::Relaxed);
        let accepted = accepting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let (outgoing, (incoming, refused)) = (connected?, accepted?);
        Ok(Established { outgoing, incoming, refused })
    })
}

/// The listener and the conditions of accepting.
#[derive(Clone, Copy)]
pub(super) struct Listening<'a> {
    pub(super) listener: &'a TcpListener,
    pub(super) settings: &'a Settings,
    pub(super) token: Token,
}

fn connect(connection: &Outgoing, listening: &Listening<'_>, until: Instant) -> Result<TcpStream, RunError> {
    let failed = |error: RunError| match error {
        RunError::Io(error) => RunError::Host {
            host: connection.host,
            why: format!("no connection to {}: {error}", connection.to),
        },
        other => other,
    };
    let stream = socket::connect(connection.to, listening.settings, until).map_err(failed)?;
    // The send buffer of a new connection has room for it.
    (&stream).write_all(&connection.hello.emit()).map_err(|error| failed(error.into()))?;
    Ok(stream)
}

/// An accepted connection that has not sent a complete hello.
struct Unidentified {
    stream: TcpStream,
    from: Ipv4Addr,
    hello: Collected<HELLO_BYTES>,
}

/// Accepts incoming connections.
struct Accepting<'a> {
    listening: &'a Listening<'a>,
    incoming: &'a [Incoming],
    /// Index of the connection, by queue pair.
    index_by_pair: HashMap<u32, usize>,
    accepted: Vec<Option<TcpStream>>,
    missing: usize,
    poller: Poller,
    unidentified: HashMap<u64, Unidentified>,
    /// Number of connections accepted so far; the next poller key.
    count: u64,
    refused: u64,
}

impl<'a> Accepting<'a> {
    fn new(listening: &'a Listening<'a>, incoming: &'a [Incoming]) -> Result<Self, RunError> {
        let poller = Poller::new()?;
        poller.add(listening.listener, LISTENER)?;
        Ok(Self {
            listening,
            incoming,
            index_by_pair: incoming.iter().map(|connection| connection.queue_pair).zip(0..).collect(),
            accepted: incoming.iter().map(|_| None).collect(),
            missing: incoming.len(),
            poller,
            unidentified: HashMap::new(),
            count: 0,
            refused: 0,
        })
    }

    /// Accepts until all incoming are connected, the time is up or `is_over` is set.
    fn accept_all(mut self, until: Instant, is_over: &AtomicBool) -> Result<(Vec<TcpStream>, u64), RunError> {
        let mut ready = Vec::new();
        while self.missing > 0 && !is_over.load(Ordering::Relaxed) {
            if Instant::now() >= until {
                return Err(self.missing_error());
            }
            ready.clear();
            ready.extend(self.poller.wait(CHECK_INTERVAL)?.map(|ready| ready.key));
            for &key in &ready {
                match key {
                    LISTENER => self.accept()?,
                    _ => self.identify(key)?,
                }
            }
        }
        Ok((self.accepted.into_iter().flatten().collect(), self.refused))
    }

    fn accept(&mut self) -> Result<(), RunError> {
        loop {
            let (stream, from) = match self.listening.listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                // The peer closed the connection before it was accepted (accept(2)).
                Err(error) if is_closed_by_peer(&error) => continue,
                Err(error) => return Err(error.into()),
            };
            let allowed = socket::address_of(from).filter(|&from| self.listening.settings.allows(from));
            let Some(from) = allowed.filter(|_| self.unidentified.len() < self.missing + UNIDENTIFIED_MAX)
            else {
                self.refused += 1;
                continue;
            };
            stream.set_nonblocking(true)?;
            let key = self.count;
            self.count += 1;
            self.poller.add(&stream, key)?;
            self.unidentified.insert(key, Unidentified { stream, from, hello: Collected::new() });
        }
    }

    /// Reads from a connection without a complete hello; closes it if the hello is not from a connection.
    fn identify(&mut self, key: u64) -> Result<(), RunError> {
        let Some(connection) = self.unidentified.get_mut(&key) else { return Ok(()) };
        let Some(hello) = connection.read_hello() else { return Ok(()) };
        let Some(Unidentified { stream, from, .. }) = self.unidentified.remove(&key) else { return Ok(()) };
        let index = hello.and_then(|hello| self.index_of(hello, from));
        match index.map(|index| &mut self.accepted[index]) {
            Some(free @ None) => {
                self.poller.remove(&stream)?;
                *free = Some(stream);
                self.missing -= 1;
            }
            _ => self.refused += 1,
        }
        Ok(())
    }

    /// Index of the connection with that hello and address.
    fn index_of(&self, hello: Hello, from: Ipv4Addr) -> Option<usize> {
        let index = *self.index_by_pair.get(&hello.queue_pair)?;
        (hello.token == self.listening.token && self.incoming[index].from == from).then_some(index)
    }

    fn missing_error(&self) -> RunError {
        let first = self.incoming.iter().zip(&self.accepted).find(|(_, accepted)| accepted.is_none());
        let Some((&Incoming { queue_pair, host, from }, _)) = first else {
            unreachable!("incoming are missing")
        };
        let (missing, all, seconds) = (self.missing, self.incoming.len(), PATIENCE.as_secs());
        let why = format!(
            "queue pair {queue_pair} has not connected from {from} within {seconds} s; {missing} of {all} \
             connections are missing, {} others were refused",
            self.refused
        );
        RunError::Host { host, why }
    }
}

impl Unidentified {
    /// Reads the hello: `None` while incomplete, `Some(None)` if it is invalid or the connection is closed.
    #[expect(clippy::option_option, reason = "incomplete, invalid, or a hello")]
    fn read_hello(&mut self) -> Option<Option<Hello>> {
        loop {
            let mut buffer = [0; HELLO_BYTES];
            // Reads only the hello: chunks may follow.
            match self.stream.read(&mut buffer[..self.hello.missing()]) {
                Ok(0) => return Some(None),
                Ok(count) => {
                    if let Some(hello) = self.hello.take(&mut &buffer[..count]) {
                        return Some(Hello::parse(&hello));
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Some(None),
            }
        }
    }
}

fn is_closed_by_peer(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;
    use std::time::Duration;

    const TOKEN: Token = [7; 16];

    fn settings() -> Settings {
        let text = r#"{"address": "127.0.0.1", "allowed_peers": ["127.0.0.0/29"]}"#;
        Settings::from_json(text).unwrap()
    }

    /// Connects from an address, sends bytes and returns whether the other end closes the connection.
    fn is_hung_up(from: &str, to: SocketAddrV4, says: &[u8]) -> bool {
        let settings = Settings { address: from.parse().unwrap(), ..settings() };
        let stream = socket::connect(to, &settings, Instant::now() + PATIENCE).unwrap();
        stream.set_nonblocking(false).unwrap();
        (&stream).write_all(says).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        match (&stream).read(&mut [0]) {
            Ok(count) => count == 0,
            Err(error) => error.kind() == ErrorKind::ConnectionReset,
        }
    }

    #[test]
    fn only_who_is_expected_comes_in() {
        let settings = settings();
        let (listener, at) = socket::listen(&settings).unwrap();
        let listening = Listening { listener: &listener, settings: &settings, token: TOKEN };
        let hello = Hello { token: TOKEN, queue_pair: 5 };
        let connection = |queue_pair| Incoming { queue_pair, host: 1, from: Ipv4Addr::LOCALHOST };
        let (incoming, is_over) = ([connection(5), connection(6)], AtomicBool::new(false));
        let (accepted, refused) = std::thread::scope(|scope| {
            let until = Instant::now() + PATIENCE;
            let (listening, incoming, is_over) = (&listening, &incoming, &is_over);
            let accepting =
                scope.spawn(move || Accepting::new(listening, incoming)?.accept_all(until, is_over));
            let wrong_token = Hello { token: [8; 16], ..hello }.emit();
            assert!(is_hung_up("127.0.0.1", at, &wrong_token));
            assert!(is_hung_up("127.0.0.1", at, &Hello { queue_pair: 4, ..hello }.emit()));
            assert!(is_hung_up("127.0.0.1", at, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
            assert!(is_hung_up("127.0.0.2", at, &hello.emit()), "allowed, but another host");
            assert!(is_hung_up("127.0.0.9", at, &hello.emit()), "not allowed");
            assert!(!is_hung_up("127.0.0.1", at, &hello.emit()[..20]), "it may go on");
            let outgoing = [5, 6].map(|queue_pair| Outgoing {
                host: 0,
                to: at,
                hello: Hello { token: TOKEN, queue_pair },
            });
            let first = connect(&outgoing[0], listening, until).unwrap();
            assert!(is_hung_up("127.0.0.1", at, &hello.emit()), "it is there already");
            let _second = connect(&outgoing[1], listening, until).unwrap();
            let accepted = accepting.join().unwrap().unwrap();
            let SocketAddr::V4(from) = first.local_addr().unwrap() else { unreachable!("IPv4") };
            assert_eq!(accepted.0[0].peer_addr().unwrap(), SocketAddr::V4(from));
            accepted
        });
        // A connection closed halfway is counted once that is noticed.
        assert!((accepted.len(), refused) == (2, 6) || refused == 7, "{refused}");
    }

    #[test]
    fn who_does_not_come_is_named() {
        let settings = settings();
        let (listener, _) = socket::listen(&settings).unwrap();
        let listening = Listening { listener: &listener, settings: &settings, token: TOKEN };
        let incoming = [Incoming { queue_pair: 5, host: 3, from: Ipv4Addr::LOCALHOST }];
        let accepting = Accepting::new(&listening, &incoming).unwrap();
        let error = accepting.accept_all(Instant::now(), &AtomicBool::new(false)).unwrap_err();
        assert!(error.to_string().starts_with("host 3: queue pair 5 has not connected"), "{error}");
    }

    #[test]
    fn a_peer_that_does_not_listen_is_named() {
        let settings = settings();
        let (listener, to) = socket::listen(&settings).unwrap();
        drop(listener);
        let (listener, _) = socket::listen(&settings).unwrap();
        let listening = Listening { listener: &listener, settings: &settings, token: TOKEN };
        let connection = Outgoing { host: 2, to, hello: Hello { token: TOKEN, queue_pair: 0 } };
        let error = connect(&connection, &listening, Instant::now() + PATIENCE).unwrap_err();
        assert!(error.to_string().starts_with("host 2: no connection to 127.0.0.1:"), "{error}");
    }
}
