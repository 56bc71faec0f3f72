//! The switches of the topology that one simulated switch represents (one, or several on one chip): selects
//! egress ports by the routes of each.
//!
//! A chip has the ports of all its switches, one switch after the other, and one buffer. A frame is forwarded
//! by the routes and the load balancer of the switch whose port received it.

use super::arrivals::{Arrivals, NOWHERE};
use super::forward::{Balancer, EgressSelection};
use std::ops::Range;
use topology::Routes;
use units::NodeId;

/// A switch of the topology.
pub(crate) struct Member {
    pub(crate) node: NodeId,
    pub(crate) balancer: Balancer,
    /// Number of its own ports.
    pub(crate) ports: u16,
}

/// One switch, or all switches of a chip in the order of their ports.
pub(super) struct Members {
    first: Member,
    others: Box<[Member]>,
}

impl Members {
    /// # Panics
    ///
    /// If `members` is empty.
    pub(super) fn new(members: Vec<Member>) -> Self {
        let mut members = members.into_iter();
        let first = members.next().expect("a switch is a switch of the topology");
        Self { first, others: members.collect() }
    }

    /// Each switch with the range of its ports.
    fn all(&self) -> impl Iterator<Item = (&Member, Range<usize>)> {
        let mut next = 0;
        std::iter::once(&self.first).chain(&self.others).map(move |member| {
            let first = next;
            next += usize::from(member.ports);
            (member, first..next)
        })
    }

    /// Ports of a switch of the topology; empty if it is not one of these.
    pub(super) fn ports_of(&self, node: NodeId) -> Range<usize> {
        self.all().find(|(member, _)| member.node == node).map_or(0..0, |(_, ports)| ports)
    }

    /// Selects the egress port of every arrival.
    #[inline]
    pub(super) fn direct(
        &mut self,
        arrivals: &mut Arrivals,
        routes: &Routes,
        selection: EgressSelection<'_>,
    ) {
        if self.others.is_empty() {
            self.first.balancer.direct(arrivals, routes.of(self.first.node), selection);
        } else {
            self.direct_in_chip(arrivals, routes, selection);
        }
    }

    #[inline(never)]
    fn direct_in_chip(&mut self, arrivals: &mut Arrivals, routes: &Routes, selection: EgressSelection<'_>) {
        let EgressSelection { loads, stranded, .. } = selection;
        let mut members: Vec<(usize, &mut Member)> = Vec::with_capacity(1 + self.others.len());
        let mut first = 0;
        for member in std::iter::once(&mut self.first).chain(&mut self.others) {
            let ports = usize::from(member.ports);
            members.push((first, member));
            first += ports;
        }
        arrivals.select_egress(|stored, _, _| {
            let after = members.partition_point(|(first, _)| *first <= usize::from(stored.ingress));
            let (first, member) = &mut members[after - 1];
            let hops = routes.of(member.node).next_hops(stored.packet.destination());
            let index = match hops {
                [] => {
                    stranded[usize::from(stored.ingress)].count(&stored.packet);
                    return NOWHERE;
                }
                [_] => 0,
                hops => {
                    let loads = loads.get(*first..).unwrap_or_default();
                    member.balancer.choose(&stored.packet, hops, loads)
                }
            };
            let port = *first + usize::from(hops[index]);
            if let Some(load) = loads.get_mut(port).filter(|_| hops.len() > 1) {
                *load += u64::from(stored.packet.frame_bytes());
            }
            port
        });
    }
}
