//! Targets of a search: which attempt follows when one has not found the best graph.
//!
//! The first pass lowers demands, one after the other, until a graph is found and no better one is likely. The
//! second pass raises the speeds of that graph as far as its channels allow.
//!
//! Source: NCCL 2.30 `src/graph/search.cc`, `ncclTopoCompute`.

use super::Context;
use super::attempt::Attempt;
use super::graph::{Graph, Pattern};
use super::target::{Budget, Target};
use crate::bandwidth::Bandwidth;
use crate::paths::PathType;
use crate::rules::Crossing;
use crate::system::Vendor;

/// Steps of one attempt.
const STEPS: i32 = 1 << 14;
/// Steps of an attempt with equal channels.
const STEPS_SAME_CHANNELS: i32 = 1 << 8;
/// Steps of all attempts, from which on any result is taken.
const STEPS_ALL: i32 = 1 << 19;

/// The first pass: the target of the next attempt, and the values to which its parts are reset.
pub(super) struct Relaxation<'a> {
    context: &'a Context<'a>,
    pub(super) target: Target,
    speeds: &'static [Bandwidth],
    speed: usize,
    best_types: Types,
    worst_types: Types,
    try_same_channels: bool,
    first_cross_nic: u8,
    second_cross_nic: Option<u8>,
    steps_left: i32,
}

#[derive(Clone, Copy)]
struct Types {
    intra: PathType,
    inter: PathType,
}

impl<'a> Relaxation<'a> {
    pub(super) fn new(context: &'a Context<'a>, pattern: Pattern, min: usize, max: usize) -> Self {
        let (best_types, worst_types) = types(context);
        let (first_cross_nic, second_cross_nic) = cross_nic(context, pattern);
        let speeds = context.speeds();
        let speed = context.first_speed(pattern, min);
        let try_same_channels = pattern != Pattern::Nvls;
        let graph = Graph {
            cross_nic: first_cross_nic,
            same_channels: try_same_channels,
            intra: speeds[speed],
            inter: speeds[speed],
            type_intra: best_types.intra,
            type_inter: best_types.inter,
            ..Graph::empty(pattern)
        };
        Self {
            context,
            target: Target { graph, min_channels: min, max_channels: max },
            speeds,
            speed,
            best_types,
            worst_types,
            try_same_channels,
            first_cross_nic,
            second_cross_nic,
            steps_left: STEPS_ALL,
        }
    }

    /// Runs an attempt with the target.
    pub(super) fn attempt(&mut self, attempt: &mut Attempt<'_>) -> Budget {
        let steps = steps_of(&self.target);
        self.steps_left -= steps;
        attempt.run(&self.target, steps)
    }

    /// Lowers the next demand; false if there is none, or if the result is good enough.
    pub(super) fn relax(&mut self, best: &Graph, budget: Budget) -> bool {
        let target = &mut self.target.graph;
        let amd_sockets =
            self.context.system.processor().vendor() == Vendor::Amd && target.type_intra == PathType::Sys;
        if target.same_channels && !amd_sockets {
            target.same_channels = false;
            return true;
        }
        target.same_channels = self.try_same_channels;
        if let Budget::Left(steps) = budget {
            self.steps_left += steps;
        }
        if self.steps_left < 0 && !best.channels.is_empty() {
            return false;
        }
        self.simpler_tree(best)
            || self.worse_intra(best)
            || self.worse_inter(best)
            || self.other_nic(best)
            || self.lower_speed(best)
    }

    fn simpler_tree(&mut self, best: &Graph) -> bool {
        let target = &mut self.target.graph;
        if self.context.capability >= 90 && target.pattern == Pattern::BalancedTree {
            target.pattern = Pattern::Tree;
            return true;
        }
        target.pattern = best.pattern;
        false
    }

    fn worse_intra(&mut self, best: &Graph) -> bool {
        let target = &mut self.target.graph;
        let worst = if self.context.inter { target.type_inter } else { self.worst_types.intra };
        let useful = best.channels.is_empty() || target.type_intra < best.type_intra;
        if target.type_intra < worst && useful {
            target.type_intra = target.type_intra.next();
            if target.type_intra < PathType::Dis {
                return true;
            }
        }
        target.type_intra = self.best_types.intra;
        false
    }

    fn worse_inter(&mut self, best: &Graph) -> bool {
        let target = &mut self.target.graph;
        let useful = best.channels.is_empty()
            || target.type_inter < best.type_inter
            || target.type_inter < PathType::Pxn;
        if self.context.inter && target.type_inter < self.worst_types.inter && useful {
            target.type_inter = target.type_inter.next();
            if target.type_inter < PathType::Dis {
                return true;
            }
        }
        target.type_inter = self.best_types.inter;
        false
    }

    fn other_nic(&mut self, best: &Graph) -> bool {
        let target = &mut self.target.graph;
        if let Some(second) = self.second_cross_nic
            && target.cross_nic == self.first_cross_nic
            && matches!(best.pattern, Pattern::Ring | Pattern::BalancedTree)
        {
            target.cross_nic = second;
            return true;
        }
        target.cross_nic = self.first_cross_nic;
        false
    }

    /// The next speed, unless the result is about twice as fast.
    fn lower_speed(&mut self, best: &Graph) -> bool {
        let Some(&next) = self.speeds.get(self.speed + 1) else { return false };
        if !best.channels.is_empty() && next.mb() * 100 <= best.inter.mb() * 49 {
            return false;
        }
        self.speed += 1;
        self.target.graph.intra = next;
        self.target.graph.inter = next;
        true
    }
}

/// The second pass: raises the speeds of a graph, one step at a time, as long as its channels have them.
pub(super) fn raise_speeds(context: &Context<'_>, attempt: &mut Attempt<'_>, max_channels: usize) {
    let speeds = context.speeds();
    let start = attempt.best.clone();
    let mut speed = speeds.iter().position(|&speed| speed <= start.inter).unwrap_or(speeds.len() - 1);
    let mut target = Target { min_channels: start.channels.len(), max_channels, graph: start };
    target.graph.intra = speeds[speed];
    target.graph.inter = speeds[speed];
    while speed > 0 {
        let (graph, best) = (&mut target.graph, &attempt.best);
        let faster = speeds[speed - 1];
        if graph.pattern == Pattern::Ring {
            graph.intra = faster;
            graph.inter = faster;
        } else if graph.pattern == Pattern::Nvls && graph.inter == best.inter && graph.inter < graph.intra * 2
        {
            target.max_channels = best.channels.len();
            graph.inter = faster;
        } else if graph.intra == best.intra && graph.intra < graph.inter * 2 {
            graph.intra = faster;
        } else {
            break;
        }
        speed -= 1;
        let steps = steps_of(&target);
        if attempt.run(&target, steps) == Budget::Left(0) {
            break;
        }
    }
}

const fn steps_of(target: &Target) -> i32 {
    if target.graph.same_channels { STEPS_SAME_CHANNELS } else { STEPS }
}

/// Path types at which a search starts and ends.
fn types(context: &Context<'_>) -> (Types, Types) {
    let one_gpu = context.system.gpus.len() == 1;
    if !context.rules.measured_types {
        let intra = if one_gpu { PathType::Loc } else { PathType::Nvl };
        let worst = Types { intra: PathType::Sys, inter: PathType::Sys };
        return (Types { intra, inter: PathType::Pix }, worst);
    }
    let (best_intra, worst_intra) =
        context.paths.types_between_gpus(context.system).unwrap_or((PathType::Loc, PathType::Sys));
    let to_nics = context.paths.types_to_nics(context.system).filter(|_| context.inter);
    let (best_inter, worst_inter) = to_nics.unwrap_or((PathType::Pix, PathType::Sys));
    // NCCL starts its minimum at SYS.
    let best = Types { intra: best_intra.min(PathType::Sys), inter: best_inter.min(PathType::Sys) };
    let worst_inter = if context.capability < 90 { PathType::Sys } else { worst_inter };
    (best, Types { intra: worst_intra, inter: worst_inter })
}

/// `crossNic` of the first attempts, and of the second.
fn cross_nic(context: &Context<'_>, pattern: Pattern) -> (u8, Option<u8>) {
    let crosses = matches!(pattern, Pattern::Ring | Pattern::BalancedTree);
    let setting = if crosses && context.system.nics.len() > 1 { context.settings.cross_nic } else { 0 };
    match (context.rules.crossing, setting) {
        (_, 0) => (0, None),
        (Crossing::AnyNic, value) => (0, Some(value)),
        (_, 1) => (1, None),
        (crossing, _) => (0, crossing.paired()),
    }
}
