//! Drives partitions step by step, on one thread or several, with the same result.
//!
//! After each step one thread collects what was reported, asks the hooks whether to go on, and names the next
//! step; the others wait. Waiting spins briefly, then sleeps, so that a shared machine is not held up.

use crate::turns::{Due, Step, Turns, window_from};
use crate::{Destination, Node, Partition, Probe, Totals, Window};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
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

type Mail<M> = Mutex<Vec<(Destination, M)>>;

/// The code of a step that tells workers to end, and the number of a window that never comes.
const STOP: u64 = u64::MAX;

/// What the threads of a run share.
struct Shared<M, R, T> {
    /// `mail[turn % 2][from * partitions + to]`: written in one turn, read in the next.
    mail: [Vec<Mail<M>>; 2],
    records: Vec<Mutex<Vec<R>>>,
    next: Vec<AtomicU64>,
    /// In each partition something happens in the window before which the probe is to look.
    is_due_active: Vec<AtomicBool>,
    totals: Vec<Mutex<T>>,
    command: AtomicU64,
    barrier: SpinBarrier,
}

impl<M, R, T: Totals> Shared<M, R, T> {
    fn new(partitions: usize) -> Self {
        let mail = || (0..partitions * partitions).map(|_| Mutex::default()).collect();
        Self {
            mail: [mail(), mail()],
            records: (0..partitions).map(|_| Mutex::default()).collect(),
            next: (0..partitions).map(|_| AtomicU64::new(0)).collect(),
            is_due_active: (0..partitions).map(|_| AtomicBool::new(false)).collect(),
            totals: (0..partitions).map(|_| Mutex::default()).collect(),
            command: AtomicU64::new(0),
            barrier: SpinBarrier::new(partitions),
        }
    }

    /// Processes `step`, the `turn`-th of the run, in one partition and publishes what came of it.
    fn step<N, P>(&self, me: usize, turn: usize, partition: &mut Partition<N, P>, step: Step)
    where
        N: Node<Message = M, Record = R, Totals = T>,
        P: Probe<N>,
    {
        let partitions = self.records.len();
        self.take_mail(me, turn, partition);
        partition.process_step(step);
        for to in 0..partitions {
            std::mem::swap(&mut *lock(&self.mail[turn % 2][me * partitions + to]), partition.outgoing(to));
        }
        lock(&self.records[me]).append(partition.records());
        self.next[me].store(partition.next_window().unwrap_or(STOP), Ordering::Release);
        self.is_due_active[me].store(partition.due().is_active, Ordering::Release);
        *lock(&self.totals[me]) = partition.totals();
        self.barrier.wait();
    }

    /// Takes in what the other partitions sent in the turn before `turn`.
    fn take_mail<N, P>(&self, me: usize, turn: usize, partition: &mut Partition<N, P>)
    where
        N: Node<Message = M, Record = R, Totals = T>,
        P: Probe<N>,
    {
        let partitions = self.records.len();
        for from in 0..partitions {
            partition.receive(&mut lock(&self.mail[(turn + 1) % 2][from * partitions + me]));
        }
    }

    fn sum_totals(&self) -> T {
        self.totals.iter().map(|totals| *lock(totals)).sum()
    }

    fn is_due_active(&self) -> bool {
        self.is_due_active.iter().any(|is_active| is_active.load(Ordering::Acquire))
    }

    fn next_window(&self) -> Option<u64> {
        let next = self.next.iter().map(|window| window.load(Ordering::Acquire)).min();
        next.filter(|window| *window != STOP)
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
            scope.spawn(move || follow(shared, index + 1, partition));
        }
        lead(&shared, first, span, hooks)
    })
}

/// A worker: processes each step that is named until the end.
fn follow<N: Node, P: Probe<N>>(
    shared: &Shared<N::Message, N::Record, N::Totals>,
    me: usize,
    partition: &mut Partition<N, P>,
) {
    for turn in 0.. {
        let step = shared.command.load(Ordering::Acquire);
        if step == STOP {
            // What is still on its way stays with its receiver, to be counted.
            return shared.take_mail(me, turn, partition);
        }
        shared.step(me, turn, partition, Step::from_code(step));
        shared.barrier.wait();
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
    let mut turns = Turns::new();
    let mut step = Step::whole(0);
    let mut reported = Vec::new();
    let mut turn = 0;
    loop {
        shared.step(0, turn, partition, step);
        turn += 1;
        for records in &shared.records {
            reported.append(&mut lock(records));
        }
        let totals = shared.sum_totals();
        let stopped = hooks.after_window(step.window(span), &mut reported, totals).is_break();
        let apart_until = apart_until(partition, hooks, totals, span);
        let goes_on = turns.go_on(step, shared.next_window(), stopped, apart_until);
        turns.part(apart_until);
        step = turns.step(Due { is_active: shared.is_due_active(), ..partition.due() });
        shared.command.store(if goes_on { step.code() } else { STOP }, Ordering::Release);
        shared.barrier.wait();
        if !goes_on {
            shared.take_mail(0, turn, partition);
            return Outcome { stopped: turns.was_stopped(), last: turns.last(span) };
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A barrier for windows of microseconds: spins briefly, yields a few times, then sleeps, so that a thread
/// whose partner has lost its processor burns none.
struct SpinBarrier {
    threads: usize,
    waiting: AtomicUsize,
    generation: AtomicUsize,
    sleeping: AtomicUsize,
    bed: Mutex<()>,
    alarm: Condvar,
}

impl SpinBarrier {
    const SPINS: u32 = 200;
    const YIELDS: u32 = 50;

    const fn new(threads: usize) -> Self {
        Self {
            threads,
            waiting: AtomicUsize::new(0),
            generation: AtomicUsize::new(0),
            sleeping: AtomicUsize::new(0),
            bed: Mutex::new(()),
            alarm: Condvar::new(),
        }
    }

    fn wait(&self) {
        let generation = self.generation.load(Ordering::Acquire);
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.waiting.store(0, Ordering::Release);
            self.open(generation + 1);
        } else if !self.watch(generation) {
            self.sleep(generation);
        }
    }

    /// Lets everyone through. Either this sees who sleeps, or who goes to sleep sees the new generation: both
    /// orders are sequentially consistent.
    fn open(&self, generation: usize) {
        self.generation.store(generation, Ordering::SeqCst);
        if self.sleeping.load(Ordering::SeqCst) > 0 {
            drop(lock(&self.bed));
            self.alarm.notify_all();
        }
    }

    /// Waits awake for `generation` to end, but not for long; true when it has.
    fn watch(&self, generation: usize) -> bool {
        for attempt in 0..Self::SPINS + Self::YIELDS {
            if self.generation.load(Ordering::Acquire) != generation {
                return true;
            }
            if attempt < Self::SPINS {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
        false
    }

    fn sleep(&self, generation: usize) {
        let mut guard = lock(&self.bed);
        self.sleeping.fetch_add(1, Ordering::SeqCst);
        while self.generation.load(Ordering::SeqCst) == generation {
            guard = self.alarm.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        self.sleeping.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_passes_before_the_last_even_if_that_one_is_late() {
        let barrier = SpinBarrier::new(3);
        let arrived = AtomicUsize::new(0);
        let visit = |is_slow: bool| {
            for round in 1..=50 {
                if is_slow && round % 10 == 0 {
                    std::thread::sleep(std::time::Duration::from_millis(2));
                }
                arrived.fetch_add(1, Ordering::SeqCst);
                barrier.wait();
                assert!(arrived.load(Ordering::SeqCst) >= 3 * round);
                barrier.wait();
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| visit(true));
            scope.spawn(|| visit(false));
            visit(false);
        });
        assert_eq!(arrived.into_inner(), 150);
    }
}
