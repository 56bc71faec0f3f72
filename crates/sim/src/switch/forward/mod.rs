//! Load balancing of a switch: trait of the algorithms that select among equal-cost next hops, one file per
//! algorithm, and their list by the names in the spec.

mod adaptive;
mod d_mod_k;
mod direct;
mod ecmp;
mod flowlet;
mod pinned;
mod spray;
mod weighted;

pub(super) use direct::EgressSelection;

use super::arrivals::Arrivals;
use crate::packet::Packet;
use adaptive::Adaptive;
use d_mod_k::DModK;
use ecmp::Ecmp;
use flowlet::Flowlet;
use paths::hash_choice;
use pinned::Pinned;
use spec::{LoadBalancing, RunSpec};
use spray::{SprayRandom, SprayRoundRobin};
use topology::SwitchRoutes;
use units::{AttachmentId, Seed};
use weighted::Weighted;

/// How often a next hop is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Once for all packets of a queue pair.
    PerFlow,
    /// Anew for each packet, or for some.
    PerPacket,
}

impl Choice {
    pub(super) fn is_per_flow(&self) -> bool {
        *self == Self::PerFlow
    }
}

/// Parameters of a load balancer.
pub(crate) struct ForwardPlan<'a> {
    pub(crate) seed: Seed,
    pub(crate) switch: u32,
    pub(crate) name: &'a str,
    /// Number of paths from a host up to a switch of its tier, in a tree.
    pub(crate) paths_below: u64,
    pub(crate) spec: &'a LoadBalancing,
    /// The attachment that a queue pair of the run sends to, and its number there.
    pub(crate) destination: &'a dyn Fn(u32) -> (AttachmentId, u32),
}

/// A load balancing algorithm; one instance per switch.
trait Forward: Sized {
    /// How often a next hop is selected.
    const CHOICE: Choice;
    /// Whether it reads the load of every port.
    const NEEDS_LOADS: bool = false;

    /// The load balancer of one switch.
    fn new(plan: &ForwardPlan<'_>) -> Self;

    /// Index of the selected port in `hops`, 2 or more ports in ascending order. `loads` contains the bytes
    /// queued at each port of the switch, if [`Self::NEEDS_LOADS`].
    fn choose(&mut self, packet: &Packet, hops: &[u16], loads: &[u64]) -> usize;
}

/// Load balancing of a run: scheduled switches spray, whatever the setting for Ethernet switches.
pub(crate) const fn balancing(spec: &RunSpec) -> &LoadBalancing {
    match spec.fabric.switch.scheduled {
        Some(_) => &LoadBalancing::SprayRoundRobin {},
        None => &spec.fabric.load_balancing,
    }
}

/// Declares the load balancers by their names in the spec, which also lists them.
macro_rules! balancers {
    ($($name:ident),+ $(,)?) => {
        /// The load balancer of one switch.
        pub(crate) enum Balancer {
            $($name($name)),+
        }

        impl Balancer {
            pub(crate) fn new(plan: &ForwardPlan<'_>) -> Self {
                match plan.spec {
                    $(LoadBalancing::$name { .. } => Self::$name($name::new(plan))),+
                }
            }

            /// See [`Forward::choose`].
            #[inline(always)]
            pub(crate) fn choose(&mut self, packet: &Packet, hops: &[u16], loads: &[u64]) -> usize {
                match self {
                    $(Self::$name(forward) => forward.choose(packet, hops, loads)),+
                }
            }

            /// Selects the egress port of every arrival.
            #[inline]
            pub(super) fn direct(
                &mut self,
                arrivals: &mut Arrivals,
                routes: SwitchRoutes<'_>,
                selection: EgressSelection<'_>,
            ) {
                match self {
                    $(Self::$name(forward) => selection.direct(arrivals, routes, forward)),+
                }
            }
        }

        /// How often a next hop is selected in a run of `spec`.
        pub(crate) const fn choice(spec: &RunSpec) -> Choice {
            match balancing(spec) {
                $(LoadBalancing::$name { .. } => $name::CHOICE),+
            }
        }

        /// Whether load balancing reads the load of every port in a run of `spec`.
        pub(crate) const fn needs_loads(spec: &RunSpec) -> bool {
            match balancing(spec) {
                $(LoadBalancing::$name { .. } => $name::NEEDS_LOADS),+
            }
        }
    };
}
balancers!(Ecmp, Flowlet, SprayRandom, SprayRoundRobin, Adaptive, DModK, Weighted, Pinned);
