//! Driver `verbs`: each queue pair is a reliable (RC) or unreliable connection (UC) of an RDMA adapter, through
//! libibverbs.
//!
//! A chunk (the part of a transfer on one queue pair) is sent as RDMA WRITEs of at most the plan's message
//! size; the last one has the chunk number as immediate data. On an unreliable connection each has its own
//! number as immediate data (`messages`). In the order of the data path: `adapter`
//! selects device, port and GID; `setup` creates and connects queue pairs, with the connection data in
//! `address`; `work` splits chunks into writes, few of which are signalled, and `sender` posts them;
//! `completions` polls completions, and `receiver` handles arrived chunks and verifies them if enabled.
//!
//! # Timestamps
//! A chunk is delivered at the adapter's timestamp of the receive completion of its last write, and completed
//! at that of the send completion (`timestamps`, `clock_fit`). Without adapter timestamps: when the host
//! thread polled the completion, which may be late by one wake-up. Frames, losses and marks are not
//! attributed to chunks: the adapter's counters cover all queue pairs together.
//!
//! # Limitations
//! Windows and rate control of the plan are ignored: those of the adapter apply. No inline data.

mod adapter;
mod address;
mod clock_fit;
mod completions;
mod receiver;
mod sender;
mod setup;
mod timestamps;
mod work;

use super::driver::{Driver, Event, SentCounts};
use super::messages::IN_NETWORK_MAX;
use super::round_robin::RoundRobin;
use super::share::{LocalPair, Post};
use super::{RunError, Settings};
use crate::Clock;
use crate::limit::RateLimit;
use crate::verbs::{Completion, CompletionQueue, Registered, Timing, WorkList};
pub(super) use adapter::unusable_reason;
use adapter::{Adapter, timeout, timing, traffic_class};
use jobs::Jobs;
use receiver::Receiver;
use sender::Sender;
use spec::{QpType, RunSpec};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use timestamps::Stamps;
use units::{Instant, Span};

/// Work requests posted per call.
const LIST: usize = 64;
/// Maximum ratio of an actual timeout to the configured one (IBTA vol. 1, 9.7.6.1.3).
const TIMEOUT_SLACK: u64 = 4;
/// Receives posted by a sender for the credits of a verifying receiver, which sends one at a time.
const CREDIT_RECEIVES: u32 = 8;
/// Bit of a work request id that marks a receiver; its index is in the bits above.
const IS_RECEIVER: u64 = 1 << 32;
const INDEX_SHIFT: u32 = 33;

/// Driver `verbs`. Queue pairs are declared first because they must be dropped before the resources they use.
pub(super) struct RdmaVerbs {
    /// By index of the local sending queue pair; `None` if its receiver is on the same host.
    senders: Vec<Option<Sender>>,
    receivers: Vec<Receiver>,
    resources: Option<Resources>,
    /// Completion timestamps, if the adapter has them.
    stamps: Option<Stamps>,
    adapter: Adapter,
    spec: Arc<RunSpec>,
    jobs: Arc<Jobs>,
    settings: Settings,
    clock: Clock,
    timing: Timing,
    limit: Option<RateLimit>,
    to_send: RoundRobin,
    list: WorkList,
    ended: Vec<Completion>,
    /// Chunks posted to failed queue pairs, not reported yet.
    refused: Vec<u32>,
    /// When a write of a peer last arrived.
    received_at: Instant,
    failure: String,
    counts: Counts,
}

/// Resources common to all queue pairs of a run.
struct Resources {
    completions: Arc<CompletionQueue>,
    /// Memory with the payload; peers cannot write to it.
    source: Registered,
    /// Memory that peers write to.
    target: Registered,
}

/// Counters of the driver.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    queue_pairs: u64,
    send_queue_depth: u64,
    message_bytes_max: u64,
    posts: u64,
    writes: u64,
    completions: u64,
    sleeps: u64,
    failed_queue_pairs: u64,
}

impl RdmaVerbs {
    pub(super) fn new(
        spec: &Arc<RunSpec>,
        jobs: &Arc<Jobs>,
        settings: Settings,
        clock: Clock,
    ) -> Result<Self, RunError> {
        if settings.verify && spec.transport.connection == QpType::Uc {
            return Err(RunError::Settings("verify needs reliable connections with driver verbs".into()));
        }
        let adapter = Adapter::choose(settings.address, settings.device.as_deref(), settings.gid_index)?;
        adapter.check_mtu(spec.transport.mtu_bytes)?;
        Ok(Self {
            senders: Vec::new(),
            receivers: Vec::new(),
            resources: None,
            stamps: None,
            adapter,
            spec: Arc::clone(spec),
            jobs: Arc::clone(jobs),
            clock,
            timing: timing(&spec.transport, Span(settings.timeout_min_ps.unwrap_or(0))),
            limit: settings.rate_limit_bps.map(RateLimit::new),
            settings,
            to_send: RoundRobin::default(),
            list: WorkList::new(LIST),
            ended: Vec::with_capacity(1_024),
            refused: Vec::new(),
            received_at: Instant::ZERO,
            failure: String::new(),
            counts: Counts::default(),
        })
    }

    fn is_unreliable(&self) -> bool {
        self.spec.transport.connection == QpType::Uc
    }

    /// Posts once on each queue pair that can send, as long as the rate limit permits.
    fn send(&mut self, events: &mut Vec<Event>) {
        for _ in 0..self.to_send.waiting.len() {
            if self.limited_for() > Span::ZERO {
                return;
            }
            let Some(index) = self.to_send.next() else { return };
            let Some(sender) = &mut self.senders[index as usize] else { continue };
            let bytes_max = if self.limit.is_some() { 1 } else { u64::MAX };
            let posted_at = self.stamps.is_some().then(|| self.clock.now());
            let posted = sender.post_writes(&mut self.list, bytes_max, posted_at);
            (self.counts.posts, self.counts.writes) =
                (self.counts.posts + 1, self.counts.writes + self.list.len() as u64);
            match posted {
                Ok(bytes) => {
                    if let Some(limit) = &mut self.limit {
                        limit.on_sent(bytes, self.clock.now());
                    }
                    if sender.work.can_post() {
                        self.to_send.add(index);
                    }
                }
                Err(error) => self.fail(index, &error.to_string(), events),
            }
        }
    }

    /// Time until the rate limit permits sending.
    fn limited_for(&self) -> Span {
        self.limit.as_ref().map_or(Span::ZERO, |limit| limit.ready_at().since(self.clock.now()))
    }

    /// Marks a sending queue pair as failed.
    fn fail(&mut self, index: u32, why: &str, events: &mut Vec<Event>) {
        let Some(Some(sender)) = self.senders.get_mut(index as usize) else { return };
        if sender.work.fail(events) {
            self.counts.failed_queue_pairs += 1;
            if self.failure.is_empty() {
                self.failure = format!("sending on {}: {why}", sender.name);
            }
        }
    }

    /// Whether there are no events and nothing can be sent.
    fn is_idle(&self, events: &[Event]) -> bool {
        events.is_empty() && (self.to_send.waiting.is_empty() || self.limited_for() > Span::ZERO)
    }
}

impl Driver for RdmaVerbs {
    fn prepare(&mut self, senders: &[LocalPair], receivers: &[LocalPair]) -> Result<(), RunError> {
        self.make(senders, receivers)
    }

    fn addresses(&self) -> Vec<u8> {
        serde_json::to_vec(&self.address()).unwrap_or_else(|error| unreachable!("plain numbers: {error}"))
    }

    fn connect(
        &mut self,
        peers: &BTreeMap<u32, Vec<u8>>,
        senders: &[LocalPair],
        receivers: &[LocalPair],
    ) -> Result<(), RunError> {
        self.join(peers, senders, receivers)
    }

    fn post(&mut self, post: &Post) {
        let Some(sender) = &mut self.senders[post.pair as usize] else {
            unreachable!("chunks between ranks of a host are not posted")
        };
        if sender.work.enqueue(post) {
            self.to_send.add(post.pair);
        } else {
            self.refused.push(post.send);
        }
    }

    fn poll(&mut self, patience: Span, events: &mut Vec<Event>) -> io::Result<()> {
        if let Some(stamps) = &mut self.stamps {
            stamps.poll_clock(self.clock.now());
        }
        let seen = SentCounts::default();
        events.extend(self.refused.drain(..).map(|send| Event::Failed { send, seen }));
        self.send(events);
        self.collect(events)?;
        if patience == Span::ZERO || !self.is_idle(events) {
            return Ok(());
        }
        let limited = if self.to_send.waiting.is_empty() { patience } else { self.limited_for() };
        self.wait(patience.min(limited), events)
    }

    fn quiet_span(&self) -> Span {
        if self.is_unreliable() {
            return IN_NETWORK_MAX;
        }
        let timeouts = u64::from(self.timing.retries) + 1;
        Span(timeout(self.timing.timeout_exponent).0.saturating_mul(timeouts * TIMEOUT_SLACK))
    }

    fn last_arrival(&self) -> Instant {
        if self.is_unreliable() { self.received_at } else { Instant::ZERO }
    }

    fn end_unfinished(&mut self, events: &mut Vec<Event>) {
        self.senders.iter_mut().flatten().for_each(|sender| sender.work.end(events));
        self.receivers.iter_mut().for_each(|receiver| receiver.end(events));
    }

    fn stopped(&mut self) {
        // Otherwise the adapter would continue with the posted work. If stopping fails, the queue pair ends
        // when it is destroyed at the end of the run.
        self.senders.iter().flatten().for_each(|sender| drop(sender.queue_pair.stop()));
        if let Some(stamps) = &mut self.stamps {
            stamps.read();
        }
    }

    fn failure(&self) -> &str {
        &self.failure
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let own = [
            ("queue_pairs", self.counts.queue_pairs),
            ("gid_index", self.adapter.gid.index.into()),
            ("traffic_class", traffic_class(self.settings.dscp_of(&self.spec, None).data).into()),
            ("send_queue_depth", self.counts.send_queue_depth),
            ("message_bytes", self.counts.message_bytes_max),
            ("timeout_ps", timeout(self.timing.timeout_exponent).0),
            ("retry_count", self.timing.retries.into()),
            ("post_calls", self.counts.posts),
            ("writes", self.counts.writes),
            ("completions", self.counts.completions),
            ("sleeps", self.counts.sleeps),
            ("failed_queue_pairs", self.counts.failed_queue_pairs),
            ("wrong_bytes", self.receivers.iter().map(Receiver::wrong_bytes).sum()),
        ];
        own.into_iter().chain(self.stamps.iter().flat_map(Stamps::counters)).collect()
    }
}
