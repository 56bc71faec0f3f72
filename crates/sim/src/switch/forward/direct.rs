//! The way of everything that arrives at a switch in a window: the load balancer is asked about all of it at
//! once, so that which one it is costs nothing per packet.

use super::Forward;
use crate::link::Dropped;
use crate::packet::Packet;
use crate::switch::lineup::{Arrivals, NOWHERE};
use crate::switch::queue::Stored;
use engine::prefetch::prefetch_item;
use topology::SwitchRoutes;

/// How many arrivals ahead of the one being directed each of two reads of the routes is asked for.
const ROUTES_AHEAD: usize = 4;

/// What the way of a packet depends on besides routes and load balancing, and what is noted of it.
pub(in crate::switch) struct Ways<'a> {
    /// Routes are prefetched.
    pub(in crate::switch) has_large_routes: bool,
    /// Bytes queued at each port, if they are wanted.
    pub(in crate::switch) loads: &'a mut [u64],
    /// Frames without a way by each ingress port.
    pub(in crate::switch) stranded: &'a mut [Dropped],
}

impl Ways<'_> {
    /// Finds the way of everything that arrives.
    #[inline]
    pub(super) fn direct<F: Forward>(
        self,
        arrivals: &mut Arrivals,
        routes: SwitchRoutes<'_>,
        forward: &mut F,
    ) {
        if self.has_large_routes {
            self.direct_as::<true, F>(arrivals, routes, forward);
        } else {
            self.direct_as::<false, F>(arrivals, routes, forward);
        }
    }

    /// The same by routes that are prefetched, or not.
    #[inline]
    fn direct_as<const ASKS_AHEAD: bool, F: Forward>(
        self,
        arrivals: &mut Arrivals,
        routes: SwitchRoutes<'_>,
        forward: &mut F,
    ) {
        let Self { loads, stranded, .. } = self;
        arrivals.direct_all(|stored, arrivals, place| {
            if ASKS_AHEAD {
                prefetch_routes(&routes, &arrivals[place..]);
            }
            let hops = routes.next_hops(stored.packet.destination());
            choose(&stored.packet, hops, forward, loads).unwrap_or_else(|| {
                strand(stored, stranded);
                NOWHERE
            })
        });
    }
}

/// The egress port of `hops` that `packet` takes; none when failures have left no way to its destination.
#[inline(always)]
fn choose<F: Forward>(packet: &Packet, hops: &[u16], forward: &mut F, loads: &mut [u64]) -> Option<usize> {
    if let [only] = hops {
        return Some((*only).into());
    }
    if hops.is_empty() {
        return None;
    }
    let port = hops[forward.choose(packet, hops, loads)].into();
    if F::NEEDS_LOADS {
        loads[port] += u64::from(packet.frame_bytes());
    }
    Some(port)
}

/// Counts a frame with no way to its destination.
#[cold]
#[inline(never)]
fn strand(stored: &Stored, stranded: &mut [Dropped]) {
    stranded[usize::from(stored.ingress)].count(&stored.packet);
}

/// Asks for what finding the way of those after the first of `to_come` reads.
#[inline]
fn prefetch_routes(routes: &SwitchRoutes<'_>, to_come: &[Stored]) {
    let destination = |ahead: usize| to_come.get(ahead).map(|stored| stored.packet.destination());
    if let Some(first) = destination(2 * ROUTES_AHEAD).and_then(|to| routes.first_read(to)) {
        prefetch_item(first);
    }
    if let Some(second) = destination(ROUTES_AHEAD).and_then(|to| routes.second_read(to)) {
        prefetch_item(second);
    }
}
