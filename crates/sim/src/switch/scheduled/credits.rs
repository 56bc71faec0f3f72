//! Credit scheduler of an egress port: grants credits to the virtual output queues (VOQs) of all leaves,
//! slightly faster than the port sends. Priorities follow the scheduler of the port; the VOQs of a priority
//! are served round robin.
//!
//! There is one VOQ per leaf, so leaves share a port evenly, and hosts of one leaf share the credits of their
//! leaf. A credit never exceeds the request of its VOQ. A priority receives no more credits while the granted
//! bytes that have not left the port reach a window. This bounds the egress buffer, and a port paused by its
//! host stops requesting data from the fabric.

use crate::packet::Priority;
use crate::switch::queue::schedule::Scheduler;
use engine::Ring;
use units::{Instant, Rate};

/// Parameters of a scheduler.
#[derive(Clone, Debug)]
pub(crate) struct CreditPlan {
    pub(crate) credit_bytes: u32,
    /// Rate of the port, speed-up included.
    pub(crate) rate: Rate,
    /// Maximum of the bytes granted that have not left the port, by priority.
    pub(crate) window_bytes: u64,
    pub(crate) scheduler: Scheduler,
    pub(crate) leaves: usize,
}

/// Outstanding requests of the VOQs of one priority.
#[derive(Debug, Default)]
struct Requests {
    /// Leaves with requests, in the order of service.
    active: Ring<u16>,
    /// Bytes requested by each leaf; empty until the priority is used.
    bytes: Vec<u64>,
    /// Bytes granted that have not left the port yet. Packets overdraw credits, so it may be negative for a
    /// moment.
    outstanding: i64,
}

/// A credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grant {
    pub(super) leaf: u16,
    pub(super) priority: Priority,
    pub(super) bytes: u32,
}

/// Counters of a scheduler.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Granted {
    pub(crate) credits: u64,
    pub(crate) bytes: u64,
}

/// Scheduler of one port.
#[derive(Debug)]
pub(super) struct Credits {
    plan: CreditPlan,
    requests: [Requests; Priority::COUNT],
    /// Bit `p` is set while a VOQ of priority `p` has requests.
    requesting: u8,
    /// Bit `p` is set while priority `p` may be granted more.
    open: u8,
    free_at: Instant,
    granted: Granted,
}

impl Credits {
    pub(super) fn new(plan: CreditPlan) -> Self {
        Self {
            plan,
            requests: Default::default(),
            requesting: 0,
            open: u8::MAX,
            free_at: Instant::ZERO,
            granted: Granted::default(),
        }
    }

    pub(super) const fn granted(&self) -> Granted {
        self.granted
    }

    /// When the next credit may be granted; never while none is requested or allowed.
    #[inline]
    pub(super) const fn next_grant(&self) -> Instant {
        if self.requesting & self.open == 0 { Instant::NEVER } else { self.free_at }
    }

    /// Adds a request of the VOQ of a leaf.
    #[inline]
    pub(super) fn request(&mut self, leaf: u16, priority: Priority, bytes: u64) {
        let requests = &mut self.requests[priority.index()];
        if requests.bytes.is_empty() {
            requests.bytes.resize(self.plan.leaves, 0);
        }
        let of_leaf = &mut requests.bytes[usize::from(leaf)];
        if *of_leaf == 0 {
            requests.active.push_back(leaf);
            self.requesting |= priority.bit();
        }
        *of_leaf += bytes;
    }

    /// Grants the next credit at `now`.
    #[inline]
    pub(super) fn grant(&mut self, now: Instant) -> Option<Grant> {
        let eligible = self.requesting & self.open;
        if eligible == 0 {
            return None;
        }
        let (requests, credit) = (&self.requests, u64::from(self.plan.credit_bytes));
        let next = |priority: Priority| requests[priority.index()].next(credit);
        let priority =
            self.plan.scheduler.pick(eligible, |priority| next(priority).map_or(0, |(_, bytes)| bytes));
        let (leaf, bytes) = next(priority)?;
        self.take(leaf, priority, bytes);
        self.free_at = now + self.plan.rate.span_of(u64::from(bytes));
        self.granted.credits += 1;
        self.granted.bytes += u64::from(bytes);
        Some(Grant { leaf, priority, bytes })
    }

    #[inline]
    fn take(&mut self, leaf: u16, priority: Priority, bytes: u32) {
        let requests = &mut self.requests[priority.index()];
        requests.active.pop_front();
        let of_leaf = &mut requests.bytes[usize::from(leaf)];
        *of_leaf -= u64::from(bytes);
        if *of_leaf > 0 {
            requests.active.push_back(leaf);
        } else if requests.active.is_empty() {
            self.requesting &= !priority.bit();
        }
        requests.outstanding += i64::from(bytes);
        if requests.outstanding >= self.plan.window_bytes as i64 {
            self.open &= !priority.bit();
        }
    }

    /// Records that a packet that used `bytes` of credits has left the port.
    #[inline]
    pub(super) fn depart(&mut self, priority: Priority, bytes: u64) {
        let requests = &mut self.requests[priority.index()];
        requests.outstanding -= bytes as i64;
        if requests.outstanding < self.plan.window_bytes as i64 {
            self.open |= priority.bit();
        }
    }
}

impl Requests {
    /// The next leaf in the round robin, and its credit.
    #[inline]
    fn next(&self, credit_bytes: u64) -> Option<(u16, u32)> {
        let leaf = *self.active.front()?;
        Some((leaf, self.bytes[usize::from(leaf)].min(credit_bytes) as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PRIORITY: Priority = Priority(3);

    fn credits(window_bytes: u64) -> Credits {
        Credits::new(CreditPlan {
            credit_bytes: 4_000,
            rate: Rate::from_gbps(400),
            window_bytes,
            scheduler: Scheduler::Strict,
            leaves: 8,
        })
    }

    #[test]
    fn credits_are_granted_round_robin_at_the_rate_and_never_exceed_requests() {
        let mut credits = credits(1 << 20);
        credits.request(2, PRIORITY, 9_000);
        credits.request(5, PRIORITY, 100);
        let grant = |leaf, bytes| Some(Grant { leaf, priority: PRIORITY, bytes });
        assert_eq!(credits.grant(Instant(1_000)), grant(2, 4_000));
        assert_eq!(credits.next_grant(), Instant(1_000 + 80_000));
        assert_eq!(credits.grant(Instant(81_000)), grant(5, 100));
        assert_eq!(credits.next_grant(), Instant(81_000 + 2_000));
        assert_eq!(credits.grant(Instant(83_000)), grant(2, 4_000));
        assert_eq!(credits.grant(Instant(163_000)), grant(2, 1_000));
        assert_eq!((credits.next_grant(), credits.grant(Instant(200_000))), (Instant::NEVER, None));
    }

    #[test]
    fn a_priority_whose_egress_buffer_is_full_waits_and_another_does_not() {
        let mut credits = credits(8_000);
        credits.request(0, PRIORITY, 40_000);
        (0..2).for_each(|_| _ = credits.grant(Instant(0)));
        assert_eq!(credits.next_grant(), Instant::NEVER);
        credits.request(0, Priority(6), 86);
        assert_eq!(credits.grant(Instant(0)).map(|grant| grant.priority), Some(Priority(6)));
        credits.depart(PRIORITY, 4_178);
        assert_eq!(credits.grant(Instant(0)).map(|grant| grant.bytes), Some(4_000));
    }

    proptest! {
        /// Leaves with a permanent backlog receive equal amounts to within a credit; the rate of the port is
        /// fully used.
        #[test]
        fn backlogged_leaves_share_a_port_evenly(backlog in prop::collection::vec(200_000_u64..900_000, 2..8)) {
            let mut credits = credits(u64::MAX >> 1);
            let mut got = vec![0_u64; backlog.len()];
            for (leaf, &bytes) in backlog.iter().enumerate() {
                credits.request(leaf as u16, PRIORITY, bytes);
            }
            let until = Instant(backlog.len() as u64 * 200_000 * 20 - 80_000);
            while credits.next_grant() < until {
                let now = credits.next_grant();
                let grant = credits.grant(now).expect("something is requests");
                got[usize::from(grant.leaf)] += u64::from(grant.bytes);
            }
            let (least, most) = (got.iter().min(), got.iter().max());
            prop_assert!(most.zip(least).is_some_and(|(most, least)| most - least <= 4_000), "{:?}", got);
            prop_assert!(got.iter().sum::<u64>() * 20 >= until.0);
        }
    }
}
