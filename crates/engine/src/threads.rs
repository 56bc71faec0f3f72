//! Drives partitions step by step, on one thread or several, with the same result.
//!
//! After each step one thread collects what was reported, asks the hooks whether to go on, and names the next
//! step; the others wait.

use crate::mail::{Mail, lock};
use crate::meeting::Meeting;
use crate::turns::{Due, Step, Turns, window_from};
use crate::{Node, Partition, Probe, Totals, Window};
use std::ops::ControlFlow;
use std::sync::Mutex;
use units::{Instant, Span};

/// Observes a run from outside the simulated world.
pub trait Hooks<N: Node, P> {
    /// Called after each window, or step of two, with what was reported in it, in no particular order, and
    /// the totals since the start. `Break` ends the run.
    fn after_window(
        &mut self,
        window: Window,
        records: &mut Vec<N::Record>,
        totals: N::Totals,
    ) -> ControlFlow<()>;

    /// Until then nobody needs the state of the world as a whole, and the run goes on whatever happens. Asked
    /// before each step.
    fn apart_until(&self, totals: N::Totals) -> Instant {
        let _ = totals;
        Instant::ZERO
    }

    /// On one thread, asked before each window of all nodes, and after each look for the rest of it: a time
    /// in it at which [`Self::look`] is to be called.
    fn cut(&mut self, window: Window, partition: &mut Partition<N, P>) -> Option<Instant> {
        let _ = (window, partition);
        None
    }

    /// Called at such a time. May move the partition on ([`Partition::state_mut`]); returns the time it is
    /// then at.
    fn look(&mut self, now: Instant, partition: &mut Partition<N, P>) -> Instant {
        let _ = partition;
        now
    }
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The hooks ended it; otherwise nothing more could happen.
    pub stopped: bool,
    /// The last window processed.
    pub last: Window,
}

/// Runs until the hooks end it or nothing more can happen, in windows of length `span`, that of every
/// partition's plan. One thread per partition.
///
/// # Panics
/// When there is no partition; when a node, a probe or a hook does.
pub fn run<N, P, H>(partitions: &mut [Partition<N, P>], span: Span, hooks: &mut H) -> Outcome
where
    N: Node,
    P: Probe<N>,
    H: Hooks<N, P>,
{
    match partitions {
        [only] => run_alone(only, span, hooks),
        [first, others @ ..] => run_together(first, others, span, hooks),
        [] => unreachable!("a run has at least one partition"),
    }
}

fn run_alone<N, P, H>(partition: &mut Partition<N, P>, span: Span, hooks: &mut H) -> Outcome
where
    N: Node,
    P: Probe<N>,
    H: Hooks<N, P>,
{
    let mut turns = Turns::new();
    loop {
        let step = process_next(partition, &mut turns, span, hooks);
        let totals = partition.totals();
        let stopped = hooks.after_window(step.window(span), partition.records(), totals).is_break();
        let apart_until = apart_until(partition, hooks, totals, span);
        if !turns.go_on(step, partition.next_window(), stopped, apart_until) {
            return Outcome { stopped: turns.was_stopped(), last: turns.last(span) };
        }
    }
}

/// Processes what comes next, and tells what that was.
fn process_next<N, P, H>(
    partition: &mut Partition<N, P>,
    turns: &mut Turns,
    span: Span,
    hooks: &mut H,
) -> Step
where
    N: Node,
    P: Probe<N>,
    H: Hooks<N, P>,
{
    let due = partition.due();
    let mut step = turns.step(due);
    if step.side.is_none() {
        let window = step.window(span);
        if let Some(cut) = hooks.cut(window, partition) {
            return Step::whole(process_cut(partition, window, cut, span, hooks).index);
        }
        turns.part(apart_until(partition, hooks, partition.totals(), span));
        step = turns.step(due);
    }
    partition.process_step(step);
    step
}

/// The window before which the sides of the world need not meet.
fn apart_until<N, P, H>(partition: &Partition<N, P>, hooks: &H, totals: N::Totals, span: Span) -> u64
where
    N: Node,
    P: Probe<N>,
    H: Hooks<N, P>,
{
    if partition.has_sides() { window_from(hooks.apart_until(totals), span) } else { 0 }
}

/// Processes a window of which the state is looked at on the way, once or more; returns the last part of it,
/// or, if time was skipped, of the one that followed.
#[cold]
fn process_cut<N, P, H>(
    partition: &mut Partition<N, P>,
    window: Window,
    first: Instant,
    span: Span,
    hooks: &mut H,
) -> Window
where
    N: Node,
    P: Probe<N>,
    H: Hooks<N, P>,
{
    let (mut rest, mut cut, mut is_whole) = (window, Some(first), true);
    while let Some(at) = cut {
        if at > rest.start {
            process_part(partition, Window { end: at, ..rest }, is_whole);
        }
        let now = hooks.look(at, partition);
        is_whole &= now == window.start;
        rest = Window::from(now, span);
        if now > at {
            partition.jump(rest);
        }
        cut = hooks.cut(rest, partition).filter(|next| *next > now);
    }
    process_part(partition, rest, is_whole);
    rest
}

/// Processes a part of a window; `is_first` if nothing of it was processed.
fn process_part<N: Node, P: Probe<N>>(partition: &mut Partition<N, P>, part: Window, is_first: bool) {
    if is_first {
        partition.process(part);
    } else {
        partition.process_rest(part);
    }
}

/// The command that tells workers to end, and the number of a window that never comes.
const STOP: u64 = u64::MAX;

/// What the threads of a run share.
struct Shared<M, R, T> {
    mail: Mail<M>,
    told: Vec<Mutex<Told<R, T>>>,
    meeting: Meeting,
}

/// What a partition tells the leader after a step.
struct Told<R, T> {
    records: Vec<R>,
    totals: T,
    next_window: Option<u64>,
    /// Something happens in the window before which the probe is to look.
    is_due_active: bool,
}

impl<M, R, T: Totals> Shared<M, R, T> {
    fn new(partitions: usize) -> Self {
        let nothing =
            || Told { records: Vec::new(), totals: T::default(), next_window: None, is_due_active: false };
        Self {
            mail: Mail::new(partitions),
            told: (0..partitions).map(|_| Mutex::new(nothing())).collect(),
            meeting: Meeting::new(partitions - 1),
        }
    }

    /// Processes `step` in one partition and tells what came of it.
    fn step<N, P>(&self, me: usize, partition: &mut Partition<N, P>, step: Step)
    where
        N: Node<Message = M, Record = R, Totals = T>,
        P: Probe<N>,
    {
        self.mail.take(me, partition);
        partition.process_step(step);
        self.mail.send(me, partition);
        let mut told = lock(&self.told[me]);
        told.records.append(partition.records());
        told.totals = partition.totals();
        told.next_window = partition.next_window();
        told.is_due_active = partition.due().is_active;
    }

    /// What all partitions together told, but for the records, which are added to `records`.
    fn collect(&self, records: &mut Vec<R>) -> Told<R, T> {
        let mut all: Vec<_> = self.told.iter().map(lock).collect();
        all.iter_mut().for_each(|told| records.append(&mut told.records));
        Told {
            records: Vec::new(),
            totals: all.iter().map(|told| told.totals).sum(),
            next_window: all.iter().filter_map(|told| told.next_window).min(),
            is_due_active: all.iter().any(|told| told.is_due_active),
        }
    }
}

fn run_together<N, P, H>(
    first: &mut Partition<N, P>,
    others: &mut [Partition<N, P>],
    span: Span,
    hooks: &mut H,
) -> Outcome
where
    N: Node,
    P: Probe<N>,
    H: Hooks<N, P>,
{
    let shared = Shared::<N::Message, N::Record, N::Totals>::new(others.len() + 1);
    std::thread::scope(|scope| {
        for (index, partition) in others.iter_mut().enumerate() {
            let shared = &shared;
            scope.spawn(move || follow(shared, index, partition));
        }
        lead(&shared, first, span, hooks)
    })
}

/// A worker: processes each step that is named until the end.
fn follow<N: Node, P: Probe<N>>(
    shared: &Shared<N::Message, N::Record, N::Totals>,
    follower: usize,
    partition: &mut Partition<N, P>,
) {
    let me = follower + 1;
    let _attendance = shared.meeting.attend(None);
    for number in 0.. {
        let step = shared.meeting.wait_for(number, follower);
        if step == STOP {
            // What is still on its way stays with its receiver, to be counted.
            return shared.mail.take(me, partition);
        }
        shared.step(me, partition, Step::from_code(step));
        shared.meeting.arrive();
    }
}

/// The thread that also runs the hooks and names the next step.
fn lead<N, P, H>(
    shared: &Shared<N::Message, N::Record, N::Totals>,
    partition: &mut Partition<N, P>,
    span: Span,
    hooks: &mut H,
) -> Outcome
where
    N: Node,
    P: Probe<N>,
    H: Hooks<N, P>,
{
    let _attendance = shared.meeting.attend(Some(STOP));
    let mut turns = Turns::new();
    let mut step = Step::whole(0);
    let mut reported = Vec::new();
    loop {
        shared.meeting.begin(step.code());
        shared.step(0, partition, step);
        shared.meeting.wait_for_all();
        let told = shared.collect(&mut reported);
        let stopped = hooks.after_window(step.window(span), &mut reported, told.totals).is_break();
        let apart_until = apart_until(partition, hooks, told.totals, span);
        if !turns.go_on(step, told.next_window, stopped, apart_until) {
            shared.meeting.begin(STOP);
            shared.mail.take(0, partition);
            return Outcome { stopped: turns.was_stopped(), last: turns.last(span) };
        }
        turns.part(apart_until);
        step = turns.step(Due { is_active: told.is_due_active, ..partition.due() });
    }
}
