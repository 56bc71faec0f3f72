//! Guard that gives a thread real-time priority (`SCHED_FIFO`).

use libc::{SCHED_FIFO, SCHED_OTHER, c_int, pthread_self, pthread_setschedparam, sched_param};
use std::marker::PhantomData;

/// Guard that gives its thread real-time priority until dropped (sched(7), `SCHED_FIFO`), if the host
/// permits: `CAP_SYS_NICE`, or `RLIMIT_RTPRIO` of 1 or more.
#[derive(Debug)]
pub(super) struct RealTimePriority {
    /// Not `Send`: the priority belongs to one thread.
    _thread: PhantomData<*const ()>,
}

impl RealTimePriority {
    /// Raises the priority of this thread.
    pub(super) fn new() -> Self {
        schedule(SCHED_FIFO, 1);
        Self { _thread: PhantomData }
    }
}

impl Drop for RealTimePriority {
    fn drop(&mut self) {
        schedule(SCHED_OTHER, 0);
    }
}

/// Sets the scheduling policy; without permission the thread is unchanged.
fn schedule(policy: c_int, sched_priority: c_int) {
    // SAFETY: refers to this thread, with parameters that outlive the call.
    unsafe { pthread_setschedparam(pthread_self(), policy, &sched_param { sched_priority }) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::nice;
    use std::{fs, thread};

    fn policy() -> c_int {
        // SAFETY: 0 refers to this thread.
        unsafe { libc::sched_getscheduler(0) }
    }

    /// `CAP_SYS_NICE`, number 23 of capabilities(7), or `RLIMIT_RTPRIO`.
    fn may_raise() -> bool {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap();
        let limit = rustix::process::getrlimit(rustix::process::Resource::Rtprio);
        u64::from_str_radix(effective.trim(), 16).unwrap() >> 23 & 1 == 1 || limit.current != Some(0)
    }

    #[test]
    fn a_thread_is_prompt_where_the_host_allows_it_and_as_nice_as_before_afterwards() {
        let policies = thread::spawn(|| {
            nice(5).unwrap();
            let guard = RealTimePriority::new();
            let during = policy();
            drop(guard);
            assert_eq!(nice(0).unwrap(), 5);
            (during, policy())
        });
        let (during, after) = policies.join().unwrap();
        assert_eq!(during, if may_raise() { SCHED_FIFO } else { SCHED_OTHER });
        assert_eq!(after, SCHED_OTHER);
    }
}
