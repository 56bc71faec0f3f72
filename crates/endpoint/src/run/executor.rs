//! Event loop of a run at an agent (a process that acts as one or more hosts): waits for the start, posts the
//! chunks of its [`Share`] of the jobs to a [`Driver`], handles the driver's events, and reports progress
//! until the run ends.

use super::RunError;
use super::driver::{Driver, Event};
use super::host_run::Control;
use super::local::Local;
use super::real_time::RealTimePriority;
use super::record::Recorder;
use super::share::{Post, Share};
use crate::Clock;
use std::num::NonZeroU64;
use units::{Instant, Span};

/// Maximum wait for events before the clock and the controller's requests are checked.
const PATIENCE: Span = Span::from_us(1_000);
/// Busy-wait time before the start, as a timed wait may end late. It is short because agents on one machine
/// compete for its processors.
const SPIN: Span = Span::from_us(50);
/// Timer slack: delay that the kernel may add to a wait to coalesce timers [ns]; the Linux default is 50 us.
const TIMER_SLACK_NS: NonZeroU64 = NonZeroU64::MIN;
/// Interval of progress reports.
const REPORT_INTERVAL: Span = Span::from_us(5_000);

/// State of a run at an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Running, or not started yet.
    Running,
    /// All work of finite jobs at this agent is done; background jobs continue.
    Drained,
    /// Stopped by request, or without signs of life of the controller.
    Stopped,
    /// Queue pairs failed and nothing else can continue, or the host failed.
    Failed,
}

/// Executor of a run at an agent.
pub(super) struct Executor {
    pub(super) share: Share,
    pub(super) driver: Box<dyn Driver>,
    pub(super) recorder: Recorder,
    clock: Clock,
    local: Local,
    events: Vec<Event>,
    /// Posted chunks that have not completed.
    in_flight: usize,
    failed_chunks: u64,
    unknown_chunks: u64,
    delivered_bytes: u64,
    /// From the planned start until the first packet was sent.
    start_skew: Span,
    is_drained: bool,
    /// Time of the last event.
    last_event: Instant,
    reported: Instant,
}

impl Executor {
    pub(super) fn new(share: Share, driver: Box<dyn Driver>, recorder: Recorder, clock: Clock) -> Self {
        Self {
            share,
            driver,
            recorder,
            clock,
            local: Local::new(),
            events: Vec::with_capacity(1_024),
            in_flight: 0,
            failed_chunks: 0,
            unknown_chunks: 0,
            delivered_bytes: 0,
            start_skew: Span::ZERO,
            is_drained: false,
            last_event: Instant::ZERO,
            reported: Instant::ZERO,
        }
    }

    pub(super) fn counters(&self) -> Vec<(&'static str, u64)> {
        let mut counters = self.driver.counters();
        counters.push(("start_skew_ns", self.start_skew.0 / 1_000));
        counters.push(("failed_chunks", self.failed_chunks));
        counters.push(("unknown_chunks", self.unknown_chunks));
        counters
    }

    /// Runs from `start` until the run is ended.
    pub(super) fn run(&mut self, start: Instant, control: &Control) {
        self.last_event = start;
        self.recorder.start(start);
        // The first chunks to post are determined before the start.
        self.share.start(start);
        let outcome = self.begin(start, control).and_then(|is_started| match is_started {
            true => self.execute(start, control),
            false => Ok(()),
        });
        if let Err(error) = outcome {
            control.end(State::Failed, &error.to_string());
        }
        self.driver.stopped();
        self.driver.end_unfinished(&mut self.events);
        self.handle_events(self.clock.now());
        self.report(start, control);
    }

    /// Waits for the start, then sends only one chunk: hosts that share processors start one after another
    /// without waiting for all first chunks of the previous one. False if ended before the start.
    fn begin(&mut self, start: Instant, control: &Control) -> Result<bool, RunError> {
        let _priority = RealTimePriority::new();
        let is_started = self.wait_for_start(start, control)?;
        if is_started {
            self.post(1);
            self.driver.poll(Span::ZERO, &mut self.events)?;
            self.start_skew = self.clock.now().since(start);
        }
        Ok(is_started)
    }

    /// Waits for the start; accepts data from peers whose clock is ahead. False if ended before it.
    fn wait_for_start(&mut self, start: Instant, control: &Control) -> Result<bool, RunError> {
        // If this fails, the wait is only slightly less precise.
        let _ = rustix::thread::set_current_timer_slack(Some(TIMER_SLACK_NS));
        loop {
            let left = start.since(self.clock.now());
            if left == Span::ZERO {
                return Ok(true);
            }
            if control.must_end() {
                return Ok(false);
            }
            let patience = Span(left.0.saturating_sub(SPIN.0)).min(PATIENCE);
            self.driver.poll(patience, &mut self.events)?;
        }
    }

    fn execute(&mut self, start: Instant, control: &Control) -> Result<(), RunError> {
        while !control.must_end() {
            let now = self.clock.now();
            self.handle_events(now);
            self.share.advance(now);
            self.post(usize::MAX);
            if now.since(self.reported) >= REPORT_INTERVAL {
                self.report(start, control);
            }
            if self.is_over(now, start, control) {
                break;
            }
            let due = self.share.deadline().since(now);
            let patience = if self.local.is_idle() { PATIENCE.min(due) } else { Span::ZERO };
            self.local.copy(self.clock, &mut self.events);
            self.driver.poll(patience, &mut self.events)?;
        }
        Ok(())
    }

    fn handle_events(&mut self, now: Instant) {
        if self.events.is_empty() {
            return;
        }
        self.last_event = now;
        let Self { share, recorder, .. } = self;
        for event in self.events.drain(..) {
            match event {
                Event::Arrived { chunk, at, seen } => match share.on_arrived(chunk, now) {
                    None => self.unknown_chunks += 1,
                    Some(arrival) => {
                        recorder.on_received(chunk, arrival.pass, Some(at), seen);
                        self.delivered_bytes += if arrival.is_background { 0 } else { arrival.bytes };
                    }
                },
                Event::Completed { send, at, seen } => {
                    recorder.on_ended(send, Some(at), seen);
                    share.on_completed(send, now);
                    self.in_flight -= 1;
                }
                Event::Failed { send, seen } => {
                    recorder.on_ended(send, None, seen);
                    self.failed_chunks += 1;
                    self.in_flight -= 1;
                }
                Event::Dropped { chunk, seen } => match share.on_dropped(chunk) {
                    None => self.unknown_chunks += 1,
                    Some(pass) => recorder.on_received(chunk, pass, None, seen),
                },
                Event::Unsent { send, seen } => recorder.on_unsent(send, seen),
            }
        }
    }

    /// Posts up to `chunks_max` chunks that are ready.
    fn post(&mut self, chunks_max: usize) {
        for _ in 0..chunks_max {
            let Some(post) = self.share.next_post() else { break };
            self.recorder.on_posted(&post, self.clock.now());
            self.in_flight += 1;
            if self.is_local(&post) {
                self.local.post(post);
            } else {
                self.driver.post(&post);
            }
        }
    }

    fn is_local(&self, post: &Post) -> bool {
        self.share.senders()[post.pair as usize].queue_pair.is_local()
    }

    /// Updates the state of the run; true if nothing more is to be done.
    fn is_over(&mut self, now: Instant, start: Instant, control: &Control) -> bool {
        if self.share.is_done() && !self.is_drained {
            self.is_drained = true;
            self.report(start, control);
            control.drained();
        }
        // Peers wait for the failed chunks, and this rank for the peers; they do not report giving up.
        let is_lost = self.failed_chunks > 0 && self.is_quiet(now) && !self.is_drained;
        if is_lost {
            let why = self.driver.failure();
            let colon = if why.is_empty() { "" } else { ": " };
            control.end(State::Failed, &format!("{} chunks failed{colon}{why}", self.failed_chunks));
        }
        is_lost
    }

    /// Nothing is in flight from here, and nothing occurred for longer than a queue pair needs to give up.
    fn is_quiet(&self, now: Instant) -> bool {
        let last = self.last_event.max(self.driver.last_arrival());
        self.in_flight == 0 && now.since(last) > self.driver.quiet_span()
    }

    fn report(&mut self, start: Instant, control: &Control) {
        let now = self.clock.now();
        self.reported = now;
        let is_idle = self.is_quiet(now) && self.share.deadline() == Instant::NEVER;
        control.update(self.delivered_bytes, now.since(start), is_idle, || self.counters());
    }
}
