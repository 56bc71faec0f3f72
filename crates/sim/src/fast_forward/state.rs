//! Visits the whole state of a run on one thread, to record, compare or advance it for fast-forward
//! ([`Cycle`]), and limits the cost of these visits by a budget.

use crate::record::Totals;
use crate::report::WorldPartition;
use crate::setup::FabricNode;
use transport::Unsent;
use units::{Cycle, State};

/// Fields that attempts may visit before any packet-hop was simulated, so that small worlds need not wait.
const FIELDS_AT_FIRST: u64 = 1 << 16;
/// Simulated packet-hops that pay for one more field.
const HOPS_PER_FIELD: u64 = 2;
/// Fields that a skipped packet-hop pays for: their visit takes less time than its simulation.
const FIELDS_PER_HOP: u64 = 16;

/// Cost of all visits of the state so far, in fields, and the packet-hops that they saved.
///
/// However many attempts fail, they take a small fraction of the simulation time, or of the time that others
/// saved. Counts instead of a clock make runs reproducible.
#[derive(Debug, Default)]
pub(super) struct Budget {
    spent: u64,
    hops_skipped: u64,
}

impl Budget {
    /// Fields that an attempt may visit after a run up to `totals`.
    pub(super) fn left(&self, totals: Totals) -> u64 {
        let simulated = totals.messages.saturating_sub(self.hops_skipped);
        let saved = self.hops_skipped.saturating_mul(FIELDS_PER_HOP);
        (FIELDS_AT_FIRST + simulated / HOPS_PER_FIELD).saturating_add(saved).saturating_sub(self.spent)
    }

    /// Visits the state between two windows, or two parts of one, until `cycle` is over.
    pub(super) fn walk(&mut self, cycle: &mut Cycle, partition: &mut WorldPartition) {
        let before = partition.totals().messages;
        visit(partition, cycle);
        self.spent = self.spent.saturating_add(cycle.visited());
        self.hops_skipped += partition.totals().messages - before;
    }
}

/// Visits the whole state. Starts with the fields that differ first when queues grow: the bytes stored in
/// each switch, and the packets on each link.
fn visit(partition: &mut WorldPartition, cycle: &mut Cycle) {
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
    fn simulated_and_skipped_hops_pay_for_failed_attempts() {
        let totals = |messages| Totals { messages, ..Totals::default() };
        let mut budget = Budget { spent: FIELDS_AT_FIRST + 500, hops_skipped: 0 };
        assert_eq!([0, 1_000, 1_200].map(|messages| budget.left(totals(messages))), [0, 0, 100]);
        budget.hops_skipped = 200;
        assert_eq!(budget.left(totals(1_200)), 200 * FIELDS_PER_HOP);
    }
}
