//! Pinned paths: an explicit uplink for each queue pair, to reproduce a distribution of paths from a paper or
//! test report. Everything that is not pinned (other switches, control packets in the reverse direction) uses
//! ECMP.

use super::{Choice, Ecmp, Forward, ForwardPlan};
use crate::packet::Packet;
use spec::LoadBalancing;

/// No pin.
const FREE: u16 = u16::MAX;

/// Pins by destination and queue pair, ECMP otherwise.
#[derive(Debug)]
pub(crate) struct Pinned {
    /// `uplinks[attachment][queue pair at that host]`.
    uplinks: Vec<Vec<u16>>,
    ecmp: Ecmp,
}

impl Forward for Pinned {
    const CHOICE: Choice = Choice::PerFlow;

    fn new(plan: &ForwardPlan<'_>) -> Self {
        let mut uplinks: Vec<Vec<u16>> = Vec::new();
        if let LoadBalancing::Pinned { pins } = plan.spec {
            for pin in pins.iter().filter(|pin| pin.switch == plan.name) {
                let (attachment, queue_pair) = (plan.destination)(pin.qp);
                grow(&mut uplinks, attachment.index(), Vec::new());
                let of_host = &mut uplinks[attachment.index()];
                grow(of_host, queue_pair as usize, FREE);
                of_host[queue_pair as usize] = pin.uplink as u16;
            }
        }
        Self { uplinks, ecmp: Ecmp::new(plan) }
    }

    #[inline]
    fn choose(&mut self, packet: &Packet, hops: &[u16], loads: &[u64]) -> usize {
        let pinned = self.uplinks.get(packet.destination().index());
        let uplink = pinned.and_then(|pins| pins.get(packet.connection() as usize)).copied().unwrap_or(FREE);
        if uplink == FREE || packet.rc_position().is_none() {
            return self.ecmp.choose(packet, hops, loads);
        }
        usize::from(uplink).min(hops.len() - 1)
    }
}

/// Extends `items` so that `items[index]` exists.
fn grow<T: Clone>(items: &mut Vec<T>, index: usize, fill: T) {
    if items.len() <= index {
        items.resize(index + 1, fill);
    }
}
