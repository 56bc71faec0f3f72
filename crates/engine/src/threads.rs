//! Runs partitions (the nodes of one thread each) step by step, on one thread or several, with the same
//! result; trait [`Hooks`] for the observer of a run.
//!
//! After each step one thread collects the reports, calls the hooks, and chooses the next step; the others
//! wait. Also [`on_threads`], which runs independent work items on one thread each.

use crate::barrier::Barrier;
use crate::mail::{Mail, lock};
use crate::steps::{Due, Step, StepPlanner, window_from};
use crate::{Node, Partition, Probe, Totals, Window};
use std::ops::ControlFlow;
use std::sync::Mutex;
use units::{Instant, Span};

/// Observer of a run, outside the simulated world.
pub trait Hooks<N: Node, P> {
    /// Called after each window, or step of two windows, with the records reported in it, in no particular
    /// order, and the totals since the start. `Break` ends the run.
    fn after_window(
        &mut self,
        window: Window,
        records: &mut Vec<N::Record>,
        totals: N::Totals,
    ) -> ControlFlow<()>;

    /// Time until which the state of the whole world is not needed and the run continues in any case, so that
    /// its sides may be at different times. Called before each step.
    fn unobserved_until(&self, totals: N::Totals) -> Instant {
        let _ = totals;
        Instant::ZERO
    }

    /// On one thread: called before each window of all nodes, and for the rest of a window after each
    /// [`Self::inspect`]. Returns a time in the window at which [`Self::inspect`] must be called.
    fn cut(&mut self, window: Window, partition: &mut Partition<N, P>) -> Option<Instant> {
        let _ = (window, partition);
        None
    }

    /// Called at the time returned by [`Self::cut`]. May advance the partition in time
    /// ([`Partition::state_mut`]); returns the resulting time.
    fn inspect(&mut self, now: Instant, partition: &mut Partition<N, P>) -> Instant {
        let _ = partition;
        now
    }
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The hooks ended it; otherwise no events were left.
    pub stopped: bool,
    /// The last window processed.
    pub last: Window,
}

/// Runs until the hooks end the run or no events are left, in windows of length `span`, which is that of
/// every partition's plan. One thread per partition.
///
/// # Panics
/// If there is no partition, or a node, a probe or a hook panics.
pub fn run<N: Node, P: Probe<N>, H: Hooks<N, P>>(
    partitions: &mut [Partition<N, P>],
    span: Span,
    hooks: &mut H,
) -> Outcome {
    match partitions {
        [only] => run_on_one_thread(only, span, hooks),
        [first, others @ ..] => run_on_threads(first, others, span, hooks),
        [] => unreachable!("a run has at least one partition"),
    }
}

fn run_on_one_thread<N: Node, P: Probe<N>, H: Hooks<N, P>>(
    partition: &mut Partition<N, P>,
    span: Span,
    hooks: &mut H,
) -> Outcome {
    let mut planner = StepPlanner::new();
    loop {
        let step = process_next(partition, &mut planner, span, hooks);
        let totals = partition.totals();
        let stopped = hooks.after_window(step.window(span), partition.records(), totals).is_break();
        let unobserved_until = unobserved_until(partition, hooks, totals, span);
        if !planner.advance(step, partition.next_window(), stopped, unobserved_until) {
            return Outcome { stopped: planner.was_stopped(), last: planner.last(span) };
        }
    }
}

/// Processes and returns the next step.
fn process_next<N: Node, P: Probe<N>, H: Hooks<N, P>>(
    partition: &mut Partition<N, P>,
    planner: &mut StepPlanner,
    span: Span,
    hooks: &mut H,
) -> Step {
    let due = partition.due();
    let mut step = planner.step(due);
    if step.side.is_none() {
        let window = step.window(span);
        if let Some(cut) = hooks.cut(window, partition) {
            return Step::whole(process_cut(partition, window, cut, span, hooks).index);
        }
        planner.separate_until(unobserved_until(partition, hooks, partition.totals(), span));
        step = planner.step(due);
    }
    partition.process_step(step);
    step
}

/// The window until which the sides of the world may be at different windows.
fn unobserved_until<N: Node, P: Probe<N>, H: Hooks<N, P>>(
    partition: &Partition<N, P>,
    hooks: &H,
    totals: N::Totals,
    span: Span,
) -> u64 {
    if partition.has_sides() { window_from(hooks.unobserved_until(totals), span) } else { 0 }
}

/// Processes a window that is cut once or more to inspect the state; returns its last part or, if time was
/// skipped, the last part of the window reached.
#[cold]
fn process_cut<N: Node, P: Probe<N>, H: Hooks<N, P>>(
    partition: &mut Partition<N, P>,
    window: Window,
    first: Instant,
    span: Span,
    hooks: &mut H,
) -> Window {
    let (mut rest, mut cut, mut is_whole) = (window, Some(first), true);
    while let Some(at) = cut {
        if at > rest.start {
            process_part(partition, Window { end: at, ..rest }, is_whole);
        }
        let now = hooks.inspect(at, partition);
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

/// Processes a part of a window; `is_first` if no part of it was processed before.
fn process_part<N: Node, P: Probe<N>>(partition: &mut Partition<N, P>, part: Window, is_first: bool) {
    if is_first {
        partition.process(part);
    } else {
        partition.process_rest(part);
    }
}

/// The command that ends workers; not the code of any step.
const STOP: u64 = u64::MAX;

/// State shared by the threads of a run.
struct Shared<M, R, T> {
    mail: Mail<M>,
    reports: Vec<Mutex<StepReport<R, T>>>,
    barrier: Barrier,
}

/// Report of a partition to the leader after a step.
struct StepReport<R, T> {
    records: Vec<R>,
    totals: T,
    next_window: Option<u64>,
    /// There are events in the window before which the probe is due.
    is_due_active: bool,
}

impl<M, R, T: Totals> Shared<M, R, T> {
    fn new(partitions: usize) -> Self {
        let nothing = || StepReport {
            records: Vec::new(),
            totals: T::default(),
            next_window: None,
            is_due_active: false,
        };
        Self {
            mail: Mail::new(partitions),
            reports: (0..partitions).map(|_| Mutex::new(nothing())).collect(),
            barrier: Barrier::new(partitions - 1),
        }
    }

    /// Processes `step` in one partition and stores the report.
    fn step<N, P>(&self, index: usize, partition: &mut Partition<N, P>, step: Step)
    where
        N: Node<Message = M, Record = R, Totals = T>,
        P: Probe<N>,
    {
        self.mail.take(index, partition);
        partition.process_step(step);
        self.mail.send(index, partition);
        let mut report = lock(&self.reports[index]);
        report.records.append(partition.records());
        report.totals = partition.totals();
        report.next_window = partition.next_window();
        report.is_due_active = partition.due().is_active;
    }

    /// The combined report of all partitions; records are appended to `records`.
    fn collect(&self, records: &mut Vec<R>) -> StepReport<R, T> {
        let mut reports: Vec<_> = self.reports.iter().map(lock).collect();
        reports.iter_mut().for_each(|report| records.append(&mut report.records));
        StepReport {
            records: Vec::new(),
            totals: reports.iter().map(|report| report.totals).sum(),
            next_window: reports.iter().filter_map(|report| report.next_window).min(),
            is_due_active: reports.iter().any(|report| report.is_due_active),
        }
    }
}

fn run_on_threads<N: Node, P: Probe<N>, H: Hooks<N, P>>(
    first: &mut Partition<N, P>,
    others: &mut [Partition<N, P>],
    span: Span,
    hooks: &mut H,
) -> Outcome {
    let shared = Shared::<N::Message, N::Record, N::Totals>::new(others.len() + 1);
    std::thread::scope(|scope| {
        for (follower, partition) in others.iter_mut().enumerate() {
            let shared = &shared;
            scope.spawn(move || follow(shared, follower, partition));
        }
        lead(&shared, first, span, hooks)
    })
}

/// Worker thread: processes each step until [`STOP`].
fn follow<N: Node, P: Probe<N>>(
    shared: &Shared<N::Message, N::Record, N::Totals>,
    follower: usize,
    partition: &mut Partition<N, P>,
) {
    let index = follower + 1;
    let _guard = shared.barrier.guard(None);
    for number in 0.. {
        let step = shared.barrier.wait_for(number, follower);
        if step == STOP {
            // Messages in flight are delivered, so that they are counted.
            return shared.mail.take(index, partition);
        }
        shared.step(index, partition, Step::from_code(step));
        shared.barrier.arrive();
    }
}

/// Leader thread: processes its partition, runs the hooks and chooses the next step.
fn lead<N: Node, P: Probe<N>, H: Hooks<N, P>>(
    shared: &Shared<N::Message, N::Record, N::Totals>,
    partition: &mut Partition<N, P>,
    span: Span,
    hooks: &mut H,
) -> Outcome {
    let _guard = shared.barrier.guard(Some(STOP));
    let mut planner = StepPlanner::new();
    let mut step = Step::whole(0);
    let mut reported = Vec::new();
    loop {
        shared.barrier.start(step.code());
        shared.step(0, partition, step);
        shared.barrier.wait_for_all();
        let report = shared.collect(&mut reported);
        let stopped = hooks.after_window(step.window(span), &mut reported, report.totals).is_break();
        let unobserved_until = unobserved_until(partition, hooks, report.totals, span);
        if !planner.advance(step, report.next_window, stopped, unobserved_until) {
            shared.barrier.start(STOP);
            shared.mail.take(0, partition);
            return Outcome { stopped: planner.was_stopped(), last: planner.last(span) };
        }
        planner.separate_until(unobserved_until);
        step = planner.step(Due { is_active: report.is_due_active, ..partition.due() });
    }
}

/// Results of `make` for each of `parts`, in their order, one thread per part. A single part runs on the
/// calling thread.
///
/// # Panics
/// If `make` does.
pub fn on_threads<P, T>(parts: impl IntoIterator<Item = P>, make: impl Fn(P) -> T + Sync) -> Vec<T>
where
    P: Send,
    T: Send,
{
    let mut parts = parts.into_iter();
    let Some(first) = parts.next() else { return Vec::new() };
    std::thread::scope(|scope| {
        let make = &make;
        let others: Vec<_> = parts.map(|part| scope.spawn(move || make(part))).collect();
        let first = make(first);
        // Propagates a panic to the calling thread.
        let join = |made: std::thread::ScopedJoinHandle<'_, T>| {
            made.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        std::iter::once(first).chain(others.into_iter().map(join)).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::on_threads;

    #[test]
    fn results_come_in_the_order_of_the_parts() {
        assert_eq!(on_threads(0..5, |part| part * part), [0, 1, 4, 9, 16]);
        assert!(on_threads(std::iter::empty(), |part: u32| part).is_empty());
    }
}
