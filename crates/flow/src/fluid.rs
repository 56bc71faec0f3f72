//! Flows on links, and their max-min fair rates.
//!
//! Rates are integers of 2^-16 bit/s, rounded down, so no link exceeds its capacity. Only the rates that a
//! change affects are recomputed: links that all their flows together cannot fill connect nothing, and the
//! end of a flow matters only on links that limit other flows.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Weight of a link that transports a whole flow.
pub const WHOLE: u32 = 1 << 16;

/// The fraction of a flow that a link transports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The link.
    pub link: u32,
    /// Fraction, in units of 1/[`WHOLE`].
    pub weight: u32,
}

#[derive(Default)]
struct Flow {
    shares: Box<[Share]>,
    /// Index of the flow in the list of each of its links.
    places: Box<[u32]>,
    /// Upper bound of its rate.
    bound: u64,
    rate: u64,
    /// The link that limits it, unless its bound does.
    held_by: Option<u32>,
    seen: u64,
    is_frozen: bool,
}

struct Link {
    capacity: u64,
    /// Load of its flows if all had their upper bounds.
    demand: u128,
    /// Load of its flows at their present rates.
    carried: u128,
    /// Its flows, each with the index of the link among its shares.
    flows: Vec<(u32, u32)>,
    /// Number of flows limited by this link: without it they would be faster.
    holds: u32,
    is_freed: bool,
    seen: u64,
    /// While rates are computed: capacity left for flows without a rate, and the sum of their weights.
    left: u64,
    weight: u64,
}

impl Link {
    /// Whether its flows can fill it.
    fn may_fill(&self) -> bool {
        self.demand > u128::from(self.capacity)
    }

    /// The rate of each flow without one if this were the bottleneck.
    fn share(&self) -> Option<u64> {
        let whole = u128::from(self.left) * u128::from(WHOLE);
        (self.weight > 0).then(|| u64::try_from(whole / u128::from(self.weight)).unwrap_or(u64::MAX))
    }
}

/// Flows on links.
pub struct Fluid {
    links: Vec<Link>,
    flows: Vec<Flow>,
    free: Vec<u32>,
    /// Links with added flows, and links with removed flows.
    dirty: Vec<u32>,
    freed: Vec<u32>,
    turn: u64,
}

impl Fluid {
    /// Links with these capacities [2^-16 bit/s].
    #[must_use]
    pub fn new(capacities: impl Iterator<Item = u64>) -> Self {
        let link = |capacity| Link {
            capacity,
            demand: 0,
            carried: 0,
            flows: Vec::new(),
            holds: 0,
            is_freed: false,
            seen: 0,
            left: 0,
            weight: 0,
        };
        Self {
            links: capacities.map(link).collect(),
            flows: Vec::new(),
            free: Vec::new(),
            dirty: Vec::new(),
            freed: Vec::new(),
            turn: 0,
        }
    }

    /// Adds a flow; returns its number, which is reused after its end.
    pub fn begin(&mut self, shares: Box<[Share]>, bound: u64) -> u32 {
        let id = self.free.pop().unwrap_or(self.flows.len() as u32);
        if id as usize == self.flows.len() {
            self.flows.push(Flow::default());
        }
        let has_room = |share: &Share| {
            let link = &self.links[share.link as usize];
            link.carried + part(bound, share.weight) <= u128::from(link.capacity)
        };
        let fits = shares.iter().all(has_room);
        let mut places = Vec::with_capacity(shares.len());
        for (hop, share) in (0..).zip(&shares) {
            let link = &mut self.links[share.link as usize];
            link.demand += part(bound, share.weight);
            link.carried += part(bound, share.weight);
            places.push(link.flows.len() as u32);
            link.flows.push((id, hop));
            // If there is room for all of it, no other flow has to slow down.
            if !fits && link.may_fill() {
                self.dirty.push(share.link);
            }
        }
        self.flows[id as usize] = Flow {
            shares,
            places: places.into(),
            bound,
            rate: bound,
            held_by: None,
            seen: 0,
            is_frozen: true,
        };
        id
    }

    /// Removes a flow.
    pub fn end(&mut self, id: u32) {
        let flow = std::mem::take(&mut self.flows[id as usize]);
        for (share, &place) in flow.shares.iter().zip(&flow.places) {
            let link = &mut self.links[share.link as usize];
            link.holds -= u32::from(flow.held_by == Some(share.link));
            if !std::mem::replace(&mut link.is_freed, true) {
                self.freed.push(share.link);
            }
            link.demand -= part(flow.bound, share.weight);
            link.carried -= part(flow.rate, share.weight);
            link.flows.swap_remove(place as usize);
            if let Some(&(moved, hop)) = link.flows.get(place as usize) {
                self.flows[moved as usize].places[hop as usize] = place;
            }
        }
        self.free.push(id);
    }

    /// The rate of a flow [2^-16 bit/s].
    #[must_use]
    pub fn rate(&self, id: u32) -> u64 {
        self.flows[id as usize].rate
    }

    /// Whether rates must be recomputed. Capacity freed on a link that limits no flow changes nothing.
    #[must_use]
    pub fn is_dirty(&mut self) -> bool {
        let links = &mut self.links;
        self.freed.retain(|&number| {
            let link = &mut links[number as usize];
            link.is_freed = link.holds > 0;
            link.is_freed
        });
        !(self.dirty.is_empty() && self.freed.is_empty())
    }

    /// Recomputes the rates that changes affect; calls `changed` for each flow whose rate changes, with its
    /// old and new rate. Returns the number of flows examined, if anything has changed.
    pub fn settle(&mut self, mut changed: impl FnMut(u32, u64, u64)) -> Option<u64> {
        if !self.is_dirty() {
            return None;
        }
        for number in self.freed.drain(..) {
            self.links[number as usize].is_freed = false;
            self.dirty.push(number);
        }
        let (links, flows) = self.component();
        let before: Vec<u64> = flows.iter().map(|&id| self.flows[id as usize].rate).collect();
        self.fill(&links, &flows);
        for (&id, before) in flows.iter().zip(before) {
            let rate = self.flows[id as usize].rate;
            if rate != before {
                changed(id, before, rate);
            }
        }
        Some(flows.len() as u64)
    }

    /// Links that may be full, and flows, that changes affect.
    fn component(&mut self) -> (Vec<u32>, Vec<u32>) {
        self.turn += 1;
        let (mut links, mut flows) = (Vec::new(), Vec::new());
        let mut ahead = std::mem::take(&mut self.dirty);
        while let Some(number) = ahead.pop() {
            let link = &mut self.links[number as usize];
            if std::mem::replace(&mut link.seen, self.turn) == self.turn {
                continue;
            }
            links.push(number);
            for &(id, _) in &self.links[number as usize].flows {
                let flow = &mut self.flows[id as usize];
                if std::mem::replace(&mut flow.seen, self.turn) == self.turn {
                    continue;
                }
                flow.is_frozen = false;
                flows.push(id);
                let reached = flow.shares.iter().map(|share| share.link);
                ahead.extend(reached.filter(|&number| {
                    let link = &self.links[number as usize];
                    link.seen != self.turn && link.may_fill()
                }));
            }
        }
        (links, flows)
    }

    /// Progressive filling: the link with the lowest fair rate assigns it to its flows, then the next link.
    fn fill(&mut self, links: &[u32], flows: &[u32]) {
        let mut full = BinaryHeap::new();
        for &number in links {
            let link = &mut self.links[number as usize];
            link.left = link.capacity;
            link.weight = 0;
            for &(id, hop) in &link.flows {
                link.weight += u64::from(self.flows[id as usize].shares[hop as usize].weight);
            }
            full.extend(link.share().map(|share| Reverse((share, number))));
        }
        let mut bounds: Vec<(u64, u32)> =
            flows.iter().map(|&id| (self.flows[id as usize].bound, id)).collect();
        bounds.sort_unstable_by_key(|flow| flow.0);
        let mut bounds = bounds.into_iter().peekable();
        loop {
            let bound = bounds.peek().copied();
            match full.peek().copied() {
                Some(Reverse((share, number))) if bound.is_none_or(|(bound, _)| share <= bound) => {
                    full.pop();
                    match self.links[number as usize].share() {
                        Some(now) if now > share => full.push(Reverse((now, number))),
                        Some(_) => self.freeze_link(number, share),
                        None => {}
                    }
                }
                _ => match bounds.next() {
                    Some((bound, id)) => self.freeze(id, bound, None),
                    None => return,
                },
            }
        }
    }

    fn freeze_link(&mut self, number: u32, rate: u64) {
        for place in 0..self.links[number as usize].flows.len() {
            let (id, _) = self.links[number as usize].flows[place];
            self.freeze(id, rate, Some(number));
        }
    }

    /// Assigns a flow its rate, unless it has one.
    fn freeze(&mut self, id: u32, rate: u64, by: Option<u32>) {
        let flow = &mut self.flows[id as usize];
        if std::mem::replace(&mut flow.is_frozen, true) {
            return;
        }
        let before = std::mem::replace(&mut flow.rate, rate);
        if let Some(other) = std::mem::replace(&mut flow.held_by, by) {
            self.links[other as usize].holds -= 1;
        }
        if let Some(by) = by {
            self.links[by as usize].holds += 1;
        }
        for share in &flow.shares {
            let link = &mut self.links[share.link as usize];
            link.carried = link.carried + part(rate, share.weight) - part(before, share.weight);
            if link.seen == self.turn {
                link.left = link.left.saturating_sub(part(rate, share.weight) as u64);
                link.weight -= u64::from(share.weight);
            }
        }
    }
}

/// A fraction of a rate, rounded up.
fn part(rate: u64, weight: u32) -> u128 {
    (u128::from(rate) * u128::from(weight)).div_ceil(u128::from(WHOLE))
}
