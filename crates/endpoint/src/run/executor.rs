//! Moves chunks between a share and a driver, and keeps time.

use super::RunError;
use super::driver::{Driver, Event};
use super::host_run::Control;
use super::local::Local;
use super::prompt::Prompt;
use super::record::Recorder;
use super::share::{Post, Share};
use crate::Clock;
use std::num::NonZeroU64;
use units::{Instant, Span};

/// How long it waits for something to happen before it looks at the clock and at what it is told.
const PATIENCE: Span = Span::from_us(1_000);
/// So long before the start it stops waiting, as a wait may end too late. Many agents of one machine keep
/// each other's processors busy with it, so it is short.
const SPIN: Span = Span::from_us(50);
/// By how much a wait may end too late to end together with others [ns]; Linux has 50 us.
const TIMER_SLACK_NS: NonZeroU64 = NonZeroU64::MIN;
/// So often it tells how far it is.
const TELL_EVERY: Span = Span::from_us(5_000);

/// What has become of a run at an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It goes on, or has not started.
    Running,
    /// All that jobs that end by themselves have for this agent is done; jobs that others end go on.
    Drained,
    /// Somebody stopped it, or nobody kept it alive.
    Stopped,
    /// Queue pairs failed and nothing else goes on, or the host could not.
    Failed,
}

/// A run at an agent.
pub(super) struct Executor {
    pub(super) share: Share,
    pub(super) driver: Box<dyn Driver>,
    pub(super) recorder: Recorder,
    clock: Clock,
    local: Local,
    events: Vec<Event>,
    /// Chunks posted that have not ended.
    under_way: usize,
    failed_chunks: u64,
    unknown_chunks: u64,
    delivered_bytes: u64,
    /// From the start until the first packet was sent.
    start_skew: Span,
    is_drained: bool,
    /// When something happened last.
    last_event: Instant,
    told: Instant,
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
            under_way: 0,
            failed_chunks: 0,
            unknown_chunks: 0,
            delivered_bytes: 0,
            start_skew: Span::ZERO,
            is_drained: false,
            last_event: Instant::ZERO,
            told: Instant::ZERO,
        }
    }

    pub(super) fn counters(&self) -> Vec<(&'static str, u64)> {
        let mut counters = self.driver.counters();
        counters.push(("start_skew_ns", self.start_skew.0 / 1_000));
        counters.push(("failed_chunks", self.failed_chunks));
        counters.push(("unknown_chunks", self.unknown_chunks));
        counters
    }

    /// Carries the run out from `start` on, until somebody ends it.
    pub(super) fn run(&mut self, start: Instant, control: &Control) {
        self.last_event = start;
        self.recorder.start(start);
        // What is to be posted first is found before the start.
        self.share.start(start);
        let outcome = self.begin(start, control).and_then(|goes_on| match goes_on {
            true => self.carry_out(start, control),
            false => Ok(()),
        });
        if let Err(error) = outcome {
            control.end(State::Failed, &error.to_string());
        }
        self.driver.stopped();
        self.tell(start, control);
    }

    /// Waits for the start and sends first what is to be posted first: hosts that share processors then begin
    /// one after the other, none behind all that another has to send. False if the start never comes.
    fn begin(&mut self, start: Instant, control: &Control) -> Result<bool, RunError> {
        let _prompt = Prompt::new();
        let goes_on = self.wait_for_start(start, control)?;
        if goes_on {
            self.post(1);
            self.driver.poll(Span::ZERO, &mut self.events)?;
            self.start_skew = self.clock.now().since(start);
        }
        Ok(goes_on)
    }

    /// What arrives before the start, from peers whose clock is ahead, is taken in. False if it never comes.
    fn wait_for_start(&mut self, start: Instant, control: &Control) -> Result<bool, RunError> {
        // Without it the wait is a little less exact.
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

    fn carry_out(&mut self, start: Instant, control: &Control) -> Result<(), RunError> {
        while !control.must_end() {
            let now = self.clock.now();
            self.take_events(now);
            self.share.advance(now);
            self.post(usize::MAX);
            if now.since(self.told) >= TELL_EVERY {
                self.tell(start, control);
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

    fn take_events(&mut self, now: Instant) {
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
                        recorder.on_arrived(chunk, arrival, at, seen);
                        self.delivered_bytes += if arrival.is_background { 0 } else { arrival.bytes };
                    }
                },
                Event::Completed { send, at, seen } => {
                    recorder.on_ended(send, Some(at), seen);
                    share.on_completed(send, now);
                    self.under_way -= 1;
                }
                Event::Failed { send, seen } => {
                    recorder.on_ended(send, None, seen);
                    self.failed_chunks += 1;
                    self.under_way -= 1;
                }
            }
        }
    }

    /// Posts chunks whose turn has come, at most so many.
    fn post(&mut self, chunks_max: usize) {
        for _ in 0..chunks_max {
            let Some(post) = self.share.next_post() else { break };
            self.recorder.on_posted(&post, self.clock.now());
            self.under_way += 1;
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

    /// Tells what has become of the run; true if nothing more is to be done.
    fn is_over(&mut self, now: Instant, start: Instant, control: &Control) -> bool {
        if self.share.is_done() && !self.is_drained {
            self.is_drained = true;
            self.tell(start, control);
            control.drained();
        }
        // Peers wait for what has failed, and this rank for them: nothing tells that they have given up.
        let is_lost = self.failed_chunks > 0 && self.is_quiet(now) && !self.is_drained;
        if is_lost {
            let why = self.driver.why_failed();
            let colon = if why.is_empty() { "" } else { ": " };
            control.end(State::Failed, &format!("{} chunks failed{colon}{why}", self.failed_chunks));
        }
        is_lost
    }

    /// Nothing is under way from here, and for longer than a queue pair takes to give up nothing has come.
    fn is_quiet(&self, now: Instant) -> bool {
        self.under_way == 0 && now.since(self.last_event) > self.driver.quiet_span()
    }

    fn tell(&mut self, start: Instant, control: &Control) {
        let now = self.clock.now();
        self.told = now;
        let is_idle = self.is_quiet(now) && self.share.deadline() == Instant::NEVER;
        control.tell((self.delivered_bytes, now.since(start), is_idle), || self.counters());
    }
}
