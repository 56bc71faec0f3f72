//! Barrier of the threads of a run after each step: the leader waits for all, sets the next command and
//! releases them, so each thread waits once per step.
//!
//! Waiting spins briefly, yields a few times, then sleeps, to leave the processors of a shared machine to
//! others. With more threads than processors it does not spin, as no thread can continue before another has
//! stopped.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, Thread};

/// Barrier of a leader and its followers.
pub(crate) struct Barrier {
    /// Followers that have finished this step.
    arrived: AtomicUsize,
    /// Steps started by the leader.
    started: AtomicU64,
    /// Last command of the leader.
    command: AtomicU64,
    /// A thread is unwinding after a panic.
    is_broken: AtomicBool,
    leader: Sleeper,
    followers: Vec<Sleeper>,
    limits: WaitLimits,
}

/// Guard of a follower or the leader; if its thread panics, the others do not wait for it.
pub(crate) struct Guard<'a> {
    barrier: &'a Barrier,
    /// For the leader: the command that ends the followers.
    last_command: Option<u64>,
}

/// A thread that can sleep.
#[derive(Default)]
struct Sleeper {
    is_asleep: AtomicBool,
    thread: OnceLock<Thread>,
}

/// Duration of waiting before sleep.
#[derive(Clone, Copy)]
struct WaitLimits {
    spins: u32,
    yields: u32,
}

impl Barrier {
    pub(crate) fn new(followers: usize) -> Self {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        Self {
            arrived: AtomicUsize::new(0),
            started: AtomicU64::new(0),
            command: AtomicU64::new(0),
            is_broken: AtomicBool::new(false),
            leader: Sleeper::default(),
            followers: (0..followers).map(|_| Sleeper::default()).collect(),
            limits: WaitLimits::of(followers + 1, processors),
        }
    }

    /// Guard for the lifetime of a thread. The leader passes the command that ends the followers.
    pub(crate) const fn guard(&self, last_command: Option<u64>) -> Guard<'_> {
        Guard { barrier: self, last_command }
    }

    /// Called by a follower: waits for step `step`, counted from 0, and returns its command. All earlier
    /// steps of the follower are finished.
    pub(crate) fn wait_for(&self, step: u64, follower: usize) -> u64 {
        self.followers[follower].wait(self.limits, || self.started.load(Ordering::SeqCst) > step);
        self.command.load(Ordering::Relaxed)
    }

    /// Called by a follower that has finished its step.
    pub(crate) fn arrive(&self) {
        if self.arrived.fetch_add(1, Ordering::SeqCst) + 1 == self.followers.len() {
            self.leader.wake();
        }
    }

    /// Called by the leader: starts the next step of all followers.
    pub(crate) fn start(&self, command: u64) {
        self.arrived.store(0, Ordering::Relaxed);
        self.command.store(command, Ordering::Relaxed);
        self.started.fetch_add(1, Ordering::SeqCst);
        self.followers.iter().for_each(Sleeper::wake);
    }

    /// Called by the leader: waits until all followers have finished the step.
    ///
    /// # Panics
    /// If one of them has.
    pub(crate) fn wait_for_all(&self) {
        let is_broken = || self.is_broken.load(Ordering::SeqCst);
        let have_all_arrived = || self.arrived.load(Ordering::SeqCst) == self.followers.len();
        self.leader.wait(self.limits, || have_all_arrived() || is_broken());
        assert!(!is_broken(), "another thread of the run panicked");
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if !thread::panicking() {
            return;
        }
        if let Some(command) = self.last_command {
            return self.barrier.start(command);
        }
        self.barrier.is_broken.store(true, Ordering::SeqCst);
        self.barrier.leader.wake();
    }
}

impl WaitLimits {
    const fn of(threads: usize, processors: usize) -> Self {
        if threads > processors { Self { spins: 0, yields: 20 } } else { Self { spins: 200, yields: 50 } }
    }
}

impl Sleeper {
    /// Waits on this thread until `is_over`.
    ///
    /// Either [`Self::wake`] observes that the thread sleeps, or the thread observes the state set before the
    /// call: both orders are sequentially consistent.
    fn wait(&self, limits: WaitLimits, is_over: impl Fn() -> bool) {
        for attempt in 0..limits.spins + limits.yields {
            if is_over() {
                return;
            }
            if attempt < limits.spins { std::hint::spin_loop() } else { thread::yield_now() }
        }
        self.thread.get_or_init(thread::current);
        self.is_asleep.store(true, Ordering::SeqCst);
        while !is_over() {
            thread::park();
        }
        self.is_asleep.store(false, Ordering::SeqCst);
    }

    /// Wakes the thread if it sleeps. The state that it waits for is already set.
    fn wake(&self) {
        if self.is_asleep.load(Ordering::SeqCst)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const STEPS: u64 = 50;

    /// Two followers, one of them slow at times, and a leader whose command is the number of the step.
    fn meet(limits: WaitLimits) {
        let barrier = Barrier { limits, ..Barrier::new(2) };
        let done = AtomicU64::new(0);
        let follow = |me: usize| {
            for step in 0..STEPS {
                assert_eq!(barrier.wait_for(step, me), step);
                if me == 1 && step % 10 == 0 {
                    thread::sleep(Duration::from_millis(2));
                }
                done.fetch_add(1, Ordering::SeqCst);
                barrier.arrive();
            }
        };
        thread::scope(|scope| {
            scope.spawn(|| follow(0));
            scope.spawn(|| follow(1));
            for step in 0..STEPS {
                barrier.start(step);
                barrier.wait_for_all();
                assert_eq!(done.load(Ordering::SeqCst), 2 * (step + 1), "all have done it");
            }
        });
    }

    #[test]
    fn the_leader_goes_on_when_all_have_done_the_step_even_if_one_is_late() {
        meet(WaitLimits::of(3, 3));
    }

    #[test]
    fn nobody_is_forgotten_who_sleeps_at_once() {
        meet(WaitLimits::of(3, 1));
    }
}
