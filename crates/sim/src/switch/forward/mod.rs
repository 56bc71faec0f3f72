//! Load balancing: which of the equal next hops a packet takes. One file each.

mod adaptive;
mod d_mod_k;
mod direct;
mod ecmp;
mod flowlet;
mod pinned;
mod spray;
mod weighted;

pub(super) use direct::Ways;

use super::lineup::Arrivals;
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

/// How often a choice is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The same for every packet of a queue pair.
    PerFlow,
    /// Anew for each packet, or for some.
    PerPacket,
}

/// What a load balancer is made from.
pub(crate) struct ForwardPlan<'a> {
    pub(crate) seed: Seed,
    /// Number of the switch.
    pub(crate) switch: u32,
    pub(crate) name: &'a str,
    /// Ways from a host up to a switch of its tier, in a tree.
    pub(crate) ways_below: u64,
    pub(crate) spec: &'a LoadBalancing,
    /// The attachment that a queue pair of the run sends to, and its number there.
    pub(crate) destination: &'a dyn Fn(u32) -> (AttachmentId, u32),
}

/// A way to choose among equal next hops; one instance per switch.
trait Forward: Sized {
    /// How often a choice is made.
    const CHOICE: Choice;
    /// The load of every port is wanted.
    const NEEDS_LOADS: bool = false;

    /// The load balancer of one switch.
    fn new(plan: &ForwardPlan<'_>) -> Self;

    /// The position of the chosen port in `hops`, 2 or more ports in ascending order. `loads` gives the bytes
    /// queued at each port of the switch, if they are wanted.
    fn choose(&mut self, packet: &Packet, hops: &[u16], loads: &[u64]) -> usize;
}

/// How paths are chosen: scheduled switches spray, whatever the balancing of Ethernet switches.
pub(crate) const fn balancing(spec: &RunSpec) -> &LoadBalancing {
    match spec.fabric.switch.scheduled {
        Some(_) => &LoadBalancing::SprayRoundRobin {},
        None => &spec.fabric.load_balancing,
    }
}

/// Declares the load balancers: each is named as in a spec, where there is a list of them too.
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

            /// Finds the way of everything that arrives.
            #[inline]
            pub(super) fn direct(
                &mut self,
                arrivals: &mut Arrivals,
                routes: SwitchRoutes<'_>,
                ways: Ways<'_>,
            ) {
                match self {
                    $(Self::$name(forward) => ways.direct(arrivals, routes, forward)),+
                }
            }
        }

        /// How often a choice is made in a run of `spec`.
        pub(crate) const fn choice(spec: &RunSpec) -> Choice {
            match balancing(spec) {
                $(LoadBalancing::$name { .. } => $name::CHOICE),+
            }
        }

        /// The load of every port is wanted in a run of `spec`.
        pub(crate) const fn needs_loads(spec: &RunSpec) -> bool {
            match balancing(spec) {
                $(LoadBalancing::$name { .. } => $name::NEEDS_LOADS),+
            }
        }
    };
}
balancers!(Ecmp, Flowlet, SprayRandom, SprayRoundRobin, Adaptive, DModK, Weighted, Pinned);
