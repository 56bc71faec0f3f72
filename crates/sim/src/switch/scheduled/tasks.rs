//! Priority queue of the tasks of a leaf: transmissions to hosts, grants of credits, transmissions of
//! messages that wait for the fabric links.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::Instant;

/// Bits of an entry for the kind of its task and for its port.
const PORT_BITS: u32 = 16;
const TASK_BITS: u32 = 2 + PORT_BITS;

/// A task; at equal times in this order, ports in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// A port sends to its host.
    Send(u16),
    /// A port grants a credit.
    Grant(u16),
    /// Messages that wait for the fabric links are sent.
    Release,
}

impl Task {
    #[inline]
    const fn code(self) -> u128 {
        match self {
            Self::Send(port) => port as u128,
            Self::Grant(port) => 1 << PORT_BITS | port as u128,
            Self::Release => 2 << PORT_BITS,
        }
    }

    #[inline]
    const fn from_code(code: u32) -> Self {
        match code >> PORT_BITS & 3 {
            0 => Self::Send(code as u16),
            1 => Self::Grant(code as u16),
            _ => Self::Release,
        }
    }
}

/// Priority queue of tasks: each entry is one number, time above task, so that comparing two takes no branch.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    entries: BinaryHeap<Reverse<u128>>,
}

impl Tasks {
    #[inline]
    pub(super) fn push(&mut self, at: Instant, task: Task) {
        self.entries.push(Reverse(u128::from(at.0) << TASK_BITS | task.code()));
    }

    /// The earliest.
    #[inline]
    pub(super) fn first(&self) -> Option<(Instant, Task)> {
        let &Reverse(entry) = self.entries.peek()?;
        Some((Instant((entry >> TASK_BITS) as u64), Task::from_code(entry as u32)))
    }

    /// Removes the earliest.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Task> {
        self.entries.pop().map(|Reverse(entry)| Task::from_code(entry as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_ordered_by_time_then_sends_then_grants_then_the_release() {
        let in_order = [
            (3, Task::Release),
            (7, Task::Send(4)),
            (7, Task::Send(u16::MAX)),
            (7, Task::Grant(0)),
            (7, Task::Release),
            (u64::MAX - 1, Task::Grant(u16::MAX)),
        ];
        let mut tasks = Tasks::default();
        in_order.iter().rev().for_each(|&(at, task)| tasks.push(Instant(at), task));
        for (at, task) in in_order {
            assert_eq!(tasks.first(), Some((Instant(at), task)));
            assert_eq!(tasks.pop(), Some(task));
        }
        assert_eq!((tasks.first(), tasks.pop()), (None, None));
    }
}
