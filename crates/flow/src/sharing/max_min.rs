//! Max-min fair rates of flows on links, recomputed incrementally by progressive filling.
//!
//! Rates are integers of 2^-16 bit/s, rounded down, so no link exceeds its capacity. Only the rates that a
//! change affects are recomputed: they are found from flow to flow over shared links, except links that all
//! their flows together cannot fill; the end of a flow matters only on links that limit other flows.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Weight of a link that transports a whole flow.
pub(crate) const WHOLE: u32 = 1 << 16;

/// Rates of links that differ by less are equal but for the rounding of the flows before [2^-16 bit/s].
const ROUNDING: u64 = 1 << 16;

/// The fraction of a flow that a link transports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinkWeight {
    /// The link.
    pub(crate) link: u32,
    /// Fraction, in units of 1/[`WHOLE`].
    pub(crate) weight: u32,
}

#[derive(Default)]
struct Flow {
    links: Box<[LinkWeight]>,
    /// Index of the flow in the list of each of its links.
    list_indices: Box<[u32]>,
    /// Upper bound of its rate.
    bound: u64,
    rate: u64,
    /// The link that limits it, unless its bound does.
    bottleneck: Option<u32>,
    /// The last [`MaxMinRates::recompute`] that has reached it, by number.
    visited_in: u64,
    /// While rates are computed: whether it has a rate.
    is_assigned: bool,
}

/// A flow in the list of a link.
#[derive(Clone, Copy)]
struct FlowOfLink {
    flow: u32,
    /// Index of the link in the path of the flow.
    hop: u32,
}

struct Link {
    capacity: u64,
    /// Load of its flows if all had their upper bounds.
    demand: u128,
    /// Load of its flows at their present rates.
    load: u128,
    flows: Vec<FlowOfLink>,
    /// Number of flows whose bottleneck is this link: without it they would be faster.
    limited_flows: u32,
    is_freed: bool,
    visited_in: u64,
    /// While rates are computed: capacity left for flows without a rate, and the sum of their weights.
    unassigned: u64,
    open_weight: u64,
}

impl Link {
    /// Whether its flows can fill it.
    fn may_fill(&self) -> bool {
        self.demand > u128::from(self.capacity)
    }

    /// The rate of each flow without one if this were the bottleneck.
    fn fair_rate(&self) -> Option<u64> {
        let whole = u128::from(self.unassigned) * u128::from(WHOLE);
        (self.open_weight > 0)
            .then(|| u64::try_from(whole / u128::from(self.open_weight)).unwrap_or(u64::MAX))
    }
}

/// Flows on links.
pub(crate) struct MaxMinRates {
    links: Vec<Link>,
    flows: Vec<Flow>,
    free: Vec<u32>,
    /// Links with added flows, and links with removed flows.
    dirty: Vec<u32>,
    freed: Vec<u32>,
    /// Number of the current recomputation.
    pass: u64,
}

impl MaxMinRates {
    /// Links with these capacities [2^-16 bit/s].
    pub(crate) fn new(capacities: impl Iterator<Item = u64>) -> Self {
        let link = |capacity| Link {
            capacity,
            demand: 0,
            load: 0,
            flows: Vec::new(),
            limited_flows: 0,
            is_freed: false,
            visited_in: 0,
            unassigned: 0,
            open_weight: 0,
        };
        Self {
            links: capacities.map(link).collect(),
            flows: Vec::new(),
            free: Vec::new(),
            dirty: Vec::new(),
            freed: Vec::new(),
            pass: 0,
        }
    }

    /// Adds a flow; returns its number, which is reused after its end.
    pub(crate) fn add(&mut self, links: Box<[LinkWeight]>, bound: u64) -> u32 {
        let id = self.free.pop().unwrap_or(self.flows.len() as u32);
        if id as usize == self.flows.len() {
            self.flows.push(Flow::default());
        }
        let has_room = |entry: &LinkWeight| {
            let link = &self.links[entry.link as usize];
            link.load + weighted(bound, entry.weight) <= u128::from(link.capacity)
        };
        let fits = links.iter().all(has_room);
        let mut list_indices = Vec::with_capacity(links.len());
        for (hop, entry) in (0..).zip(&links) {
            let link = &mut self.links[entry.link as usize];
            link.demand += weighted(bound, entry.weight);
            link.load += weighted(bound, entry.weight);
            list_indices.push(link.flows.len() as u32);
            link.flows.push(FlowOfLink { flow: id, hop });
            // If there is room for all of it, no other flow has to slow down.
            if !fits && link.may_fill() {
                self.dirty.push(entry.link);
            }
        }
        self.flows[id as usize] = Flow {
            links,
            list_indices: list_indices.into(),
            bound,
            rate: bound,
            bottleneck: None,
            visited_in: 0,
            is_assigned: true,
        };
        id
    }

    /// Removes a flow.
    pub(crate) fn remove(&mut self, id: u32) {
        let flow = std::mem::take(&mut self.flows[id as usize]);
        for (entry, &index) in flow.links.iter().zip(&flow.list_indices) {
            let link = &mut self.links[entry.link as usize];
            link.limited_flows -= u32::from(flow.bottleneck == Some(entry.link));
            if !std::mem::replace(&mut link.is_freed, true) {
                self.freed.push(entry.link);
            }
            link.demand -= weighted(flow.bound, entry.weight);
            link.load -= weighted(flow.rate, entry.weight);
            link.flows.swap_remove(index as usize);
            if let Some(&FlowOfLink { flow, hop }) = link.flows.get(index as usize) {
                self.flows[flow as usize].list_indices[hop as usize] = index;
            }
        }
        self.free.push(id);
    }

    /// The rate of a flow [2^-16 bit/s].
    pub(crate) fn rate(&self, id: u32) -> u64 {
        self.flows[id as usize].rate
    }

    /// Whether rates must be recomputed. Capacity freed on a link that limits no flow changes nothing.
    pub(crate) fn is_dirty(&mut self) -> bool {
        let links = &mut self.links;
        self.freed.retain(|&number| {
            let link = &mut links[number as usize];
            link.is_freed = link.limited_flows > 0;
            link.is_freed
        });
        !(self.dirty.is_empty() && self.freed.is_empty())
    }

    /// Recomputes the rates that changes affect; calls `on_change` for each flow whose rate changes, with its
    /// old and new rate. Returns the number of flows examined, if anything has changed.
    pub(crate) fn recompute(&mut self, mut on_change: impl FnMut(u32, u64, u64)) -> Option<u64> {
        if !self.is_dirty() {
            return None;
        }
        for number in self.freed.drain(..) {
            self.links[number as usize].is_freed = false;
            self.dirty.push(number);
        }
        let (links, flows) = self.affected();
        let before: Vec<u64> = flows.iter().map(|&id| self.flows[id as usize].rate).collect();
        self.assign_rates(&links, &flows);
        for (&id, before) in flows.iter().zip(before) {
            let rate = self.flows[id as usize].rate;
            if rate != before {
                on_change(id, before, rate);
            }
        }
        Some(flows.len() as u64)
    }

    /// Links that may be full, and flows, that changes affect.
    fn affected(&mut self) -> (Vec<u32>, Vec<u32>) {
        self.pass += 1;
        let (mut links, mut flows) = (Vec::new(), Vec::new());
        let mut pending = std::mem::take(&mut self.dirty);
        while let Some(number) = pending.pop() {
            let link = &mut self.links[number as usize];
            if std::mem::replace(&mut link.visited_in, self.pass) == self.pass {
                continue;
            }
            links.push(number);
            for &FlowOfLink { flow: id, .. } in &self.links[number as usize].flows {
                let flow = &mut self.flows[id as usize];
                if std::mem::replace(&mut flow.visited_in, self.pass) == self.pass {
                    continue;
                }
                flow.is_assigned = false;
                flows.push(id);
                let reached = flow.links.iter().map(|entry| entry.link);
                pending.extend(reached.filter(|&number| {
                    let link = &self.links[number as usize];
                    link.visited_in != self.pass && link.may_fill()
                }));
            }
        }
        (links, flows)
    }

    /// Progressive filling: the link with the lowest fair rate assigns it to its flows, then the next link; one
    /// whose rate is higher only by rounding assigns the same, so that flows of equal links stay equal.
    fn assign_rates(&mut self, links: &[u32], flows: &[u32]) {
        let mut candidates = BinaryHeap::new();
        for &number in links {
            let link = &mut self.links[number as usize];
            link.unassigned = link.capacity;
            link.open_weight = 0;
            for &FlowOfLink { flow, hop } in &link.flows {
                link.open_weight += u64::from(self.flows[flow as usize].links[hop as usize].weight);
            }
            candidates.extend(link.fair_rate().map(|rate| Reverse((rate, number))));
        }
        let mut bounds: Vec<(u64, u32)> =
            flows.iter().map(|&id| (self.flows[id as usize].bound, id)).collect();
        bounds.sort_unstable_by_key(|flow| flow.0);
        let mut bounds = bounds.into_iter().peekable();
        let mut assigned: Option<u64> = None;
        loop {
            let bound = bounds.peek().copied();
            match candidates.peek().copied() {
                Some(Reverse((rate, number))) if bound.is_none_or(|(bound, _)| rate <= bound) => {
                    candidates.pop();
                    let equal = |rate: u64| assigned.filter(|&before| rate - before <= ROUNDING);
                    match self.links[number as usize].fair_rate() {
                        Some(current) if current > rate && equal(current).is_none() => {
                            candidates.push(Reverse((current, number)));
                        }
                        Some(_) => {
                            let rate = *assigned.insert(equal(rate).unwrap_or(rate));
                            self.assign_flows_of_link(number, rate);
                        }
                        None => {}
                    }
                }
                _ => match bounds.next() {
                    Some((bound, id)) => self.assign(id, bound, None),
                    None => return,
                },
            }
        }
    }

    fn assign_flows_of_link(&mut self, number: u32, rate: u64) {
        for index in 0..self.links[number as usize].flows.len() {
            let flow = self.links[number as usize].flows[index].flow;
            self.assign(flow, rate, Some(number));
        }
    }

    /// Assigns a flow its rate, unless it has one.
    fn assign(&mut self, id: u32, rate: u64, limited_by: Option<u32>) {
        let flow = &mut self.flows[id as usize];
        if std::mem::replace(&mut flow.is_assigned, true) {
            return;
        }
        let before = std::mem::replace(&mut flow.rate, rate);
        if let Some(previous) = std::mem::replace(&mut flow.bottleneck, limited_by) {
            self.links[previous as usize].limited_flows -= 1;
        }
        if let Some(link) = limited_by {
            self.links[link as usize].limited_flows += 1;
        }
        for entry in &flow.links {
            let link = &mut self.links[entry.link as usize];
            link.load = link.load + weighted(rate, entry.weight) - weighted(before, entry.weight);
            if link.visited_in == self.pass {
                link.unassigned = link.unassigned.saturating_sub(weighted(rate, entry.weight) as u64);
                link.open_weight -= u64::from(entry.weight);
            }
        }
    }
}

/// A fraction of a rate, rounded up.
fn weighted(rate: u64, weight: u32) -> u128 {
    (u128::from(rate) * u128::from(weight)).div_ceil(u128::from(WHOLE))
}
