//! The whole state of a run on one thread, as a [`Cycle`] visits it, and the budget of such visits.

use crate::record::Totals;
use crate::report::SeriesProbe;
use crate::setup::FabricNode;
use engine::Partition;
use transport::Unsent;
use units::{Cycle, State};

/// Fields that attempts may visit before anything was simulated, so that small worlds need not wait.
const FIELDS_AT_FIRST: u64 = 1 << 16;
/// One field more for each so many packet-hops that were simulated.
const HOPS_PER_FIELD: u64 = 2;
/// Fields whose visit takes less time than the simulation of a packet-hop; so many more for each that was
/// skipped.
const FIELDS_PER_HOP: u64 = 16;

/// What walks over the state have cost, in fields, and what came of them.
///
/// However many attempts fail, they take a small share of the time of what was simulated, or give back a part
/// of what others saved. It is reckoned in counts, not by a clock, so that a run does the same each time.
#[derive(Debug, Default)]
pub(super) struct Budget {
    spent: u64,
    hops_skipped: u64,
}

impl Budget {
    /// Fields that an attempt may visit, of a run that has come so far; 0 if too many have been.
    pub(super) fn left(&self, totals: Totals) -> u64 {
        let simulated = totals.messages.saturating_sub(self.hops_skipped);
        let saved = self.hops_skipped.saturating_mul(FIELDS_PER_HOP);
        (FIELDS_AT_FIRST + simulated / HOPS_PER_FIELD).saturating_add(saved).saturating_sub(self.spent)
    }

    /// Takes `cycle` over everything between two windows, or parts of one, as far as it has to go.
    pub(super) fn walk(&mut self, cycle: &mut Cycle, partition: &mut Partition<FabricNode, SeriesProbe>) {
        let before = partition.totals().messages;
        visit(partition, cycle);
        self.spent = self.spent.saturating_add(cycle.visited());
        self.hops_skipped += partition.totals().messages - before;
    }
}

/// Visits first what differs first when queues grow: the bytes stored in each switch, and the packets on each
/// link.
fn visit(partition: &mut Partition<FabricNode, SeriesProbe>, cycle: &mut Cycle) {
    let engine::State { nodes, inboxes, totals } = partition.state_mut();
    visit_totals(totals, cycle);
    for node in &*nodes {
        if let FabricNode::Switch(switch) = node {
            cycle.same(switch.stored_bytes());
        }
    }
    inboxes.iter().for_each(|inbox| cycle.same(inbox.len() as u64));
    for node in nodes {
        if cycle.is_over() {
            return;
        }
        match node {
            FabricNode::Host(host) => {
                host.visit(cycle);
                visit_unsent(host.unsent(), cycle);
            }
            FabricNode::Switch(switch) => {
                switch.catch_up(cycle.now());
                switch.visit(cycle);
            }
            FabricNode::Scheduled(_) => cycle.never_repeats(),
        }
    }
    for inbox in inboxes {
        if cycle.is_over() {
            return;
        }
        inbox.change_all(|packet| packet.visit(cycle));
    }
}

/// Ends the skip before the last message of each chunk, which may have another size.
fn visit_unsent(senders: impl Iterator<Item = Option<Unsent>>, cycle: &mut Cycle) {
    for unsent in senders {
        unsent.is_some().visit(cycle);
        if let Some(Unsent { mut bytes, mut message_bytes }) = unsent {
            message_bytes.visit(cycle);
            cycle.left(&mut bytes, 2 * u64::from(message_bytes));
        }
    }
}

fn visit_totals(totals: &mut Totals, cycle: &mut Cycle) {
    let Totals { messages, progress, progress_at, delivered, last_retry_until } = totals;
    [messages, progress, delivered].into_iter().for_each(|count| cycle.count(count));
    progress_at.visit(cycle);
    if *last_retry_until > cycle.now() {
        cycle.never_repeats();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_is_paid_by_what_was_simulated_and_by_what_was_skipped() {
        let totals = |messages| Totals { messages, ..Totals::default() };
        let mut budget = Budget { spent: FIELDS_AT_FIRST + 500, hops_skipped: 0 };
        assert_eq!([0, 1_000, 1_200].map(|messages| budget.left(totals(messages))), [0, 0, 100]);
        budget.hops_skipped = 200;
        assert_eq!(budget.left(totals(1_200)), 200 * FIELDS_PER_HOP);
    }
}
