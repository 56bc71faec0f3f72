//! Scheduler of an egress port: selects the next priority to serve, by strict priority or deficit weighted
//! round robin.

use crate::packet::Priority;
use units::State;

/// Selects the next priority among those with frames to send.
#[derive(Clone, Debug, State)]
pub(crate) enum Scheduler {
    /// Highest priority first.
    Strict,
    /// Deficit weighted round robin (Shreedhar and Varghese, SIGCOMM 1995).
    Dwrr(Box<Dwrr>),
}

impl Scheduler {
    /// The priority to serve among `eligible` (a mask, not empty); `head_bytes` returns the size of its first
    /// frame.
    ///
    /// A single eligible priority is served without any bookkeeping: weights matter only if two compete, and
    /// a frame that meets a free port and an empty queue never reaches this function.
    #[inline]
    pub(crate) fn pick(&mut self, eligible: u8, head_bytes: impl Fn(Priority) -> u32) -> Priority {
        if eligible.is_power_of_two() {
            return Priority(eligible.trailing_zeros() as u8);
        }
        match self {
            Self::Strict => Self::highest(eligible),
            Self::Dwrr(dwrr) => dwrr.pick(eligible, head_bytes),
        }
    }

    /// The highest priority of `eligible`: the choice of strict service.
    #[inline]
    pub(crate) const fn highest(eligible: u8) -> Priority {
        Priority(7 - eligible.leading_zeros() as u8)
    }
}

/// State of deficit weighted round robin.
#[derive(Clone, Debug, State)]
pub(crate) struct Dwrr {
    #[state(skip)]
    quantum_bytes: [u32; Priority::COUNT],
    deficit_bytes: [u32; Priority::COUNT],
    current: u8,
}

impl Dwrr {
    pub(crate) const fn new(quantum_bytes: [u32; Priority::COUNT]) -> Self {
        Self { quantum_bytes, deficit_bytes: [0; Priority::COUNT], current: 0 }
    }

    fn pick(&mut self, eligible: u8, head_bytes: impl Fn(Priority) -> u32) -> Priority {
        loop {
            let priority = Priority(self.current);
            let deficit = &mut self.deficit_bytes[priority.index()];
            if eligible & priority.bit() == 0 {
                *deficit = 0;
            } else {
                let bytes = head_bytes(priority);
                if *deficit >= bytes {
                    *deficit -= bytes;
                    return priority;
                }
            }
            // The next priority receives its quantum when its round starts.
            self.current = (self.current + 1) % Priority::COUNT as u8;
            self.deficit_bytes[usize::from(self.current)] += self.quantum_bytes[usize::from(self.current)];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_serves_the_highest() {
        assert_eq!(Scheduler::Strict.pick(0b0100_1000, |_| 100), Priority(6));
    }

    #[test]
    fn dwrr_shares_bytes_by_quantum() {
        let mut quantum = [1_000; 8];
        quantum[3] = 3_000;
        let mut scheduler = Scheduler::Dwrr(Box::new(Dwrr::new(quantum)));
        let mut bytes = [0; 8];
        for _ in 0..40_000 {
            let size = |priority: Priority| if priority.0 == 3 { 1_500 } else { 400 };
            let priority = scheduler.pick(0b0010_1000, size);
            bytes[priority.index()] += size(priority);
        }
        let (heavy, light) = (bytes[3], bytes[5]);
        assert!(heavy.abs_diff(3 * light) < 6_000, "{heavy} and {light}");
    }

    #[test]
    fn an_idle_priority_saves_nothing_up() {
        let mut scheduler = Scheduler::Dwrr(Box::new(Dwrr::new([1_000; 8])));
        for _ in 0..100 {
            assert_eq!(scheduler.pick(0b1000, |_| 1_000), Priority(3));
        }
        let next: Vec<_> = (0..4).map(|_| scheduler.pick(0b1_1000, |_| 1_000).0).collect();
        assert_eq!(next.iter().filter(|&&priority| priority == 4).count(), 2, "{next:?}");
    }
}
