//! One attempt: a depth-first search for as many channels as possible of given speeds and path types.
//!
//! Each complete set of channels is compared with the best of all attempts. A counter of steps, not a clock,
//! ends an attempt, so that all ranks of a node find the same graph.
//!
//! Source: NCCL 2.30 `src/graph/search.cc`.

use super::graph::{Graph, GraphChannel, Pattern, total};
use super::order::{self, NicDistance, NicOrder, Position};
use super::reservation::{Reservation, same_port};
use super::target::{Budget, Target};
use super::{Context, NVLS_HEADS_MAX};
use crate::bandwidth::Bandwidth;
use crate::rules::Crossing;
use crate::system::Node;

/// Steps of the first order that is tried (PCI), which other attempts do not pay for.
const PCI_ORDER_STEPS: i32 = 1 << 10;

/// Order of the GPUs of a channel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// All orders, the most promising first.
    Any,
    /// By index.
    Pci,
    /// As the channel before.
    Replay,
}

/// Steps after which a channel returns to its start.
#[derive(Clone, Copy)]
struct Return {
    to_nic: Option<usize>,
    to_first_gpu: Option<usize>,
}

/// A search in progress.
pub(super) struct Attempt<'a> {
    context: &'a Context<'a>,
    reservation: Reservation<'a>,
    nic_order: NicOrder,
    /// Bit c of a GPU: channel c has it.
    used: Vec<u64>,
    target: Target,
    /// Complete channels of the search in progress.
    complete: usize,
    /// The best result of all attempts.
    pub(super) best: Graph,
}

impl<'a> Attempt<'a> {
    pub(super) fn new(context: &'a Context<'a>, target: Target) -> Self {
        let best = Graph { channels: Vec::new(), ..target.graph.clone() };
        let used = vec![0; context.system.gpus.len()];
        let reservation = Reservation::new(context.system);
        let nic_order = NicOrder::new(context.system, context.paths, target.graph.type_inter);
        Self { context, reservation, nic_order, used, target, complete: 0, best }
    }

    /// Searches for channels of a target and improves `best`.
    pub(super) fn run(&mut self, target: &Target, steps: i32) -> Budget {
        if target.graph.type_inter != self.target.graph.type_inter {
            self.nic_order = NicOrder::new(self.context.system, self.context.paths, target.graph.type_inter);
        }
        self.target = target.clone();
        self.target.graph.channels.clear();
        self.target.graph.hops = 0;
        self.complete = 0;
        let mut budget = Budget::Left(steps);
        self.next_channel(&mut budget);
        budget
    }

    fn gpus(&self) -> usize {
        self.context.system.gpus.len()
    }

    fn pattern(&self) -> Pattern {
        self.target.graph.pattern
    }

    fn channel(&mut self) -> &mut GraphChannel {
        &mut self.target.graph.channels[self.complete]
    }

    fn next_channel(&mut self, budget: &mut Budget) {
        let gpus = vec![0; self.gpus()];
        self.target.graph.channels.truncate(self.complete);
        self.target.graph.channels.push(GraphChannel { gpus, entry_nic: None, exit_nic: None });
        if self.context.inter {
            self.start_at_nics(budget);
        } else {
            self.start_at_gpus(budget);
        }
    }

    fn start_at_gpus(&mut self, budget: &mut Budget) {
        let to_first_gpu = (self.pattern() == Pattern::Ring).then_some(self.gpus() - 1);
        let back = Return { to_nic: None, to_first_gpu };
        if self.pattern() == Pattern::Nvls {
            self.start_with(None, self.complete, back, Order::Any, budget);
            return;
        }
        if self.complete == 0 {
            self.start_with(None, 0, back, Order::Pci, budget);
        } else {
            let first = self.target.graph.channels[self.complete - 1].gpus[0];
            self.start_with(None, first, back, Order::Replay, budget);
        }
        if !self.target.graph.same_channels || self.complete == 0 {
            for gpu in 0..self.gpus() {
                self.start_with(None, gpu, back, Order::Any, budget);
            }
        }
    }

    fn start_at_nics(&mut self, budget: &mut Budget) {
        let context = self.context;
        let speed = self.target.graph.inter;
        let count = self.nic_order.entry.len();
        for offset in 0..count {
            let nic = self.nic_order.entry[(self.complete + offset) % count];
            let pair_exit = self.pair_partner().map(|partner| partner.exit_nic);
            if pair_exit.is_some_and(|exit| exit != Some(nic)) || !self.reservation.reserve_nic(nic, speed) {
                continue;
            }
            self.channel().entry_nic = Some(nic);
            self.target.graph.latency_inter_us = context.system.nics[nic].latency_us;
            let is_done = if self.pattern() == Pattern::Nvls {
                self.complete < count && self.start_head(nic, budget)
            } else {
                self.start_chain(nic, budget);
                false
            };
            self.reservation.release_nic(nic, speed);
            if is_done {
                break;
            }
        }
    }

    /// Tries the GPU of a NIC as head, if no channel has it; only one NIC is tried per channel.
    fn start_head(&mut self, nic: usize, budget: &mut Budget) -> bool {
        let Some(gpu) = self.context.paths.gpu_of_nic(nic) else { return false };
        let mut heads = self.target.graph.channels[..self.complete].iter().map(|channel| channel.gpus[0]);
        if heads.any(|head| head == gpu) {
            return false;
        }
        self.start_with(Some(nic), gpu, self.to_nic_again(), Order::Any, budget);
        true
    }

    fn start_chain(&mut self, nic: usize, budget: &mut Budget) {
        let back = self.to_nic_again();
        if self.complete > 0 && self.target.graph.same_channels {
            let first = self.target.graph.channels[self.complete - 1].gpus[0];
            self.start_with(Some(nic), first, back, Order::Replay, budget);
            return;
        }
        if self.complete == 0 && !self.context.system.has_nv_switch() {
            let mut own_budget = Budget::Left(PCI_ORDER_STEPS);
            self.start_with(Some(nic), 0, back, Order::Pci, &mut own_budget);
            if own_budget == Budget::Perfect {
                *budget = Budget::Perfect;
            }
        }
        let server = self.context.paths.gpu_of_nic(nic);
        let nearest = self.context.paths.nearest_gpus(self.context.system, nic).members;
        let others = nearest.into_iter().filter(|&gpu| Some(gpu) != server);
        for gpu in server.into_iter().chain(others) {
            self.start_with(Some(nic), gpu, back, Order::Any, budget);
        }
    }

    fn to_nic_again(&self) -> Return {
        let step = if self.pattern() == Pattern::Ring { self.gpus() - 1 } else { 0 };
        Return { to_nic: Some(step), to_first_gpu: None }
    }

    /// For the second channel of a pair of rings, the first: each enters where the other leaves.
    fn pair_partner(&self) -> Option<&GraphChannel> {
        let graph = &self.target.graph;
        let paired = self.context.rules.crossing.paired() == Some(graph.cross_nic);
        (paired && graph.pattern == Pattern::Ring && self.complete % 2 == 1)
            .then(|| &graph.channels[self.complete - 1])
    }

    /// Starts the channel with a GPU, if the path from the NIC has the bandwidth.
    fn start_with(
        &mut self,
        nic: Option<usize>,
        gpu: usize,
        back: Return,
        order: Order,
        budget: &mut Budget,
    ) {
        match nic {
            Some(nic) => self.with_path(Node::Nic(nic), Node::Gpu(gpu), 1, |attempt| {
                attempt.enter(gpu, 0, back, order, budget);
            }),
            None => self.enter(gpu, 0, back, order, budget),
        }
    }

    /// Adds a GPU to the channel and continues from it.
    fn enter(&mut self, gpu: usize, step: usize, back: Return, order: Order, budget: &mut Budget) {
        let channel = 1 << self.complete;
        self.used[gpu] ^= channel;
        self.visit(gpu, step, back, order, budget);
        self.used[gpu] ^= channel;
    }

    fn visit(&mut self, gpu: usize, step: usize, back: Return, order: Order, budget: &mut Budget) {
        if !budget.take() {
            return;
        }
        self.channel().gpus[step] = gpu;
        if back.to_nic == Some(step) {
            self.return_to_nic(gpu, step, back, order, budget);
        } else if self.pattern() == Pattern::Nvls {
            self.connect_all(gpu, budget);
        } else if step + 1 < self.gpus() {
            self.continue_chain(gpu, step, back, order, budget);
        } else if back.to_first_gpu == Some(step) {
            let first = self.channel().gpus[0];
            self.with_path(Node::Gpu(gpu), Node::Gpu(first), 1, |attempt| attempt.finish_channel(budget));
        } else {
            self.finish_channel(budget);
        }
    }

    fn continue_chain(&mut self, gpu: usize, step: usize, back: Return, order: Order, budget: &mut Budget) {
        let mut follow = |attempt: &mut Self, next: usize| {
            attempt.with_path(Node::Gpu(gpu), Node::Gpu(next), 1, |attempt| {
                attempt.enter(next, step + 1, back, order, budget);
            });
        };
        if order == Order::Pci {
            return follow(self, step + 1);
        }
        if order == Order::Replay {
            let next = self.target.graph.channels[self.complete - 1].gpus[step + 1];
            return follow(self, next);
        }
        let distance = match back.to_nic {
            None => NicDistance::Irrelevant,
            Some(at) if at == step + 1 => NicDistance::Near,
            Some(_) => NicDistance::Far,
        };
        let entry_nic = self.channel().entry_nic;
        let Context { system, paths, .. } = *self.context;
        let position = Position { system, paths, pattern: self.pattern(), gpu, entry_nic, distance };
        let channel = 1 << self.complete;
        if system.has_nv_switch() {
            let nearest = order::neighbours(&position, |other| self.used[other] & channel == 0);
            nearest.into_iter().flatten().for_each(|next| follow(self, next));
        } else {
            let others = order::next_gpus(&position, |other| self.used[other] & channel == 0);
            others.into_iter().for_each(|next| follow(self, next));
        }
    }

    fn return_to_nic(&mut self, gpu: usize, step: usize, back: Return, order: Order, budget: &mut Budget) {
        let balanced = self.pattern() == Pattern::BalancedTree;
        for position in 0..self.nic_order.exit[gpu].len() {
            let nic = self.nic_order.exit[gpu][position];
            let second_half = balanced && step > 0;
            if !self.may_leave_by(nic) || (second_half && self.channel().exit_nic != Some(nic)) {
                continue;
            }
            // Half of a balanced tree's traffic leaves from each of the first two GPUs.
            let parts = if balanced { 2 } else { 1 };
            let to_nic = (balanced && step == 0).then_some(1);
            let full = self.target.graph.inter;
            self.target.graph.inter = full / parts;
            let reserved = self.reserve(Node::Gpu(gpu), Node::Nic(nic), 1);
            self.target.graph.inter = full;
            if reserved {
                self.channel().exit_nic = Some(nic);
                self.visit(gpu, step, Return { to_nic, ..back }, order, budget);
                self.target.graph.inter = full / parts;
                self.release(Node::Gpu(gpu), Node::Nic(nic), 1);
                self.target.graph.inter = full;
            }
        }
    }

    fn may_leave_by(&mut self, nic: usize) -> bool {
        let Some(entry) = self.channel().entry_nic else { return false };
        let nics = &self.context.system.nics;
        let (from, to) = (&nics[entry], &nics[nic]);
        if let (Some(one), Some(other)) = (from.plane, to.plane)
            && one != other
        {
            return false;
        }
        if self.pattern() == Pattern::Tree {
            return nic == entry;
        }
        if let Some(partner) = self.pair_partner() {
            return partner.entry_nic == Some(nic);
        }
        let any = match self.context.rules.crossing {
            Crossing::AnyNic => self.target.graph.cross_nic == 1,
            _ => self.target.graph.cross_nic != 0,
        };
        any || match (from.rail, to.rail) {
            (Some(one), Some(other)) => one == other,
            _ => same_port(self.context.system, entry, nic),
        }
    }

    /// Connects all GPUs to NVSwitch and back; the head has twice the traffic.
    fn connect_all(&mut self, head: usize, budget: &mut Budget) {
        let gpus = self.gpus();
        let factor = |gpu| if gpu == head { 2 } else { 1 };
        let from_switch = |gpu| (Node::NvSwitch, Node::Gpu(gpu), factor(gpu));
        let to_switch = |gpu| (Node::Gpu(gpu), Node::NvSwitch, factor(gpu));
        let all: Vec<(Node, Node, i32)> =
            (0..gpus).map(from_switch).chain((0..gpus).map(to_switch)).collect();
        let reserved = all.iter().take_while(|&&(from, to, factor)| self.reserve(from, to, factor)).count();
        if reserved == all.len() {
            self.finish_channel(budget);
        }
        for &(from, to, factor) in &all[..reserved] {
            self.release(from, to, factor);
        }
    }

    fn finish_channel(&mut self, budget: &mut Budget) {
        if !budget.take() {
            return;
        }
        self.complete += 1;
        if self.is_better() {
            let channels = self.target.graph.channels[..self.complete].to_vec();
            self.best = Graph { channels, ..self.target.graph.clone() };
            if self.complete == self.target.max_channels {
                *budget = Budget::Perfect;
            }
        }
        if self.complete < self.target.max_channels {
            self.next_channel(budget);
        }
        self.complete -= 1;
    }

    fn is_better(&self) -> bool {
        let (graph, best, complete) = (&self.target.graph, &self.best, self.complete);
        if complete < self.target.min_channels {
            return false;
        }
        if graph.pattern == Pattern::Nvls {
            let more_heads = complete > best.channels.len() && complete <= self.gpus().min(NVLS_HEADS_MAX);
            return more_heads || total(complete, graph.inter) > best.total_inter();
        }
        let (speed, best_speed) = (total(complete, graph.intra), best.total_intra());
        let comparable = graph.pattern == best.pattern && graph.cross_nic == best.cross_nic;
        speed > best_speed || (speed == best_speed && comparable && graph.hops < best.hops)
    }

    /// Reserves a path while some steps are taken.
    fn with_path(&mut self, from: Node, to: Node, factor: i32, steps: impl FnOnce(&mut Self)) {
        if self.reserve(from, to, factor) {
            steps(self);
            self.release(from, to, factor);
        }
    }

    /// Reserves `factor` times the speed of a channel on a path, if its type is allowed.
    fn reserve(&mut self, from: Node, to: Node, factor: i32) -> bool {
        let Context { system, paths, .. } = *self.context;
        let path = paths.path(system, from, to);
        let graph = &self.target.graph;
        let worst = if is_intra(from, to) { graph.type_intra } else { graph.type_inter };
        let allowed =
            path.kind <= worst && (!graph.pattern.is_tree() || paths.path(system, to, from).kind <= worst);
        let reserved = allowed && self.reservation.reserve(path, from, self.speed(from, to) * factor);
        if reserved {
            self.target.graph.hops += factor * path.links.len() as i32;
        }
        reserved
    }

    fn release(&mut self, from: Node, to: Node, factor: i32) {
        let path = self.context.paths.path(self.context.system, from, to);
        self.reservation.release(path, from, self.speed(from, to) * factor);
        self.target.graph.hops -= factor * path.links.len() as i32;
    }

    fn speed(&self, from: Node, to: Node) -> Bandwidth {
        if is_intra(from, to) { self.target.graph.intra } else { self.target.graph.inter }
    }
}

fn is_intra(from: Node, to: Node) -> bool {
    !matches!(from, Node::Nic(_)) && !matches!(to, Node::Nic(_))
}
