//! Selects the egress port of all arrivals of a time window (step of the simulation): one dispatch to the
//! load balancer per window, so that the dispatch costs nothing per packet; counts frames without a route.

use super::Forward;
use crate::link::Dropped;
use crate::packet::Packet;
use crate::switch::arrivals::{Arrivals, NOWHERE};
use crate::switch::queue::Stored;
use engine::prefetch::prefetch_item;
use topology::SwitchRoutes;

/// Prefetch distance in arrivals, for each of two reads of the routes.
const ROUTES_AHEAD: usize = 4;

/// Inputs of the egress port selection other than routes and load balancer, and its counters.
pub(crate) struct EgressSelection<'a> {
    /// Whether to prefetch routes.
    pub(crate) has_large_routes: bool,
    /// Bytes queued at each port, if the load balancer reads them.
    pub(crate) loads: &'a mut [u64],
    /// Frames without a route, by ingress port.
    pub(crate) stranded: &'a mut [Dropped],
}

impl EgressSelection<'_> {
    /// Selects the egress port of every arrival.
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

    /// [`Self::direct`], with or without prefetching routes.
    #[inline]
    fn direct_as<const PREFETCHES: bool, F: Forward>(
        self,
        arrivals: &mut Arrivals,
        routes: SwitchRoutes<'_>,
        forward: &mut F,
    ) {
        let Self { loads, stranded, .. } = self;
        arrivals.select_egress(|stored, arrivals, index| {
            if PREFETCHES {
                prefetch_routes(&routes, &arrivals[index..]);
            }
            let hops = routes.next_hops(stored.packet.destination());
            choose(&stored.packet, hops, forward, loads).unwrap_or_else(|| {
                strand(stored, stranded);
                NOWHERE
            })
        });
    }
}

/// Selects the egress port for `packet` among `hops`; `None` if failures have left no route to its
/// destination.
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

/// Counts a frame without a route to its destination.
#[cold]
#[inline(never)]
fn strand(stored: &Stored, stranded: &mut [Dropped]) {
    stranded[usize::from(stored.ingress)].count(&stored.packet);
}

/// Prefetches the routes of later frames; `frames` starts at the present one.
#[inline]
fn prefetch_routes(routes: &SwitchRoutes<'_>, frames: &[Stored]) {
    let destination = |ahead: usize| frames.get(ahead).map(|stored| stored.packet.destination());
    if let Some(first) = destination(2 * ROUTES_AHEAD).and_then(|to| routes.first_read(to)) {
        prefetch_item(first);
    }
    if let Some(second) = destination(ROUTES_AHEAD).and_then(|to| routes.second_read(to)) {
        prefetch_item(second);
    }
}
