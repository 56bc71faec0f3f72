//! Load balancing: which of the equal next hops a packet takes. One file each.

mod adaptive;
mod d_mod_k;
mod ecmp;
mod flowlet;
mod pinned;
mod spray;
mod weighted;

pub(crate) use adaptive::Adaptive;
pub(crate) use d_mod_k::DModK;
pub(crate) use ecmp::Ecmp;
pub(crate) use flowlet::Flowlet;
pub(crate) use pinned::Pinned;
pub(crate) use spray::{SprayRandom, SprayRoundRobin};
pub(crate) use weighted::Weighted;

use crate::packet::Packet;
use spec::{LoadBalancing, RunSpec};
use units::{AttachmentId, Seed, mix64};

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

/// Chooses among equal next hops; one instance per switch.
pub(crate) trait Forward: Send + Sized {
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

/// Scales a hash of a packet's 5-tuple to `0..choices`.
#[inline]
fn hash_choice(entropy: u32, seed: u64, choices: usize) -> usize {
    let hash = mix64(u64::from(entropy) ^ seed) >> 32;
    ((hash * choices as u64) >> 32) as usize
}

/// How paths are chosen: scheduled switches spray, whatever the balancing of Ethernet switches.
pub(crate) const fn balancing(spec: &RunSpec) -> &LoadBalancing {
    match spec.fabric.switch.scheduled {
        Some(_) => &LoadBalancing::SprayRoundRobin {},
        None => &spec.fabric.load_balancing,
    }
}

/// Evaluates an expression with `$forward` standing for the load balancer that a spec asks for: the one place
/// that lists them all.
macro_rules! with_forward {
    ($spec:expr, $forward:ident => $body:expr) => {{
        use $crate::switch::forward as all;
        match $spec {
            spec::LoadBalancing::Ecmp { .. } => {
                type $forward = all::Ecmp;
                $body
            }
            spec::LoadBalancing::Flowlet { .. } => {
                type $forward = all::Flowlet;
                $body
            }
            spec::LoadBalancing::SprayRandom {} => {
                type $forward = all::SprayRandom;
                $body
            }
            spec::LoadBalancing::SprayRoundRobin {} => {
                type $forward = all::SprayRoundRobin;
                $body
            }
            spec::LoadBalancing::Adaptive {} => {
                type $forward = all::Adaptive;
                $body
            }
            spec::LoadBalancing::DModK {} => {
                type $forward = all::DModK;
                $body
            }
            spec::LoadBalancing::Weighted { .. } => {
                type $forward = all::Weighted;
                $body
            }
            spec::LoadBalancing::Pinned { .. } => {
                type $forward = all::Pinned;
                $body
            }
        }
    }};
}
pub(crate) use with_forward;
