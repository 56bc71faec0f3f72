//! Transfers and their dependencies as lists, for schedules without a closed form.

use crate::Transfer;
use units::TransferId;

/// Transfers, and the successors of each.
#[derive(Clone, Debug)]
pub(crate) struct Lists {
    pub(crate) transfers: Vec<Transfer>,
    /// Transfer `t` has `dependency_starts[t + 1] - dependency_starts[t]` dependencies.
    dependency_starts: Vec<u32>,
    /// The successors of transfer `t` are `successors[successor_starts[t]..successor_starts[t + 1]]`.
    successor_starts: Vec<u32>,
    successors: Vec<TransferId>,
}

impl Lists {
    /// From the predecessors of each transfer: those of `t` are
    /// `dependencies[dependency_starts[t]..dependency_starts[t + 1]]`. Without dependencies the lists are
    /// empty.
    pub(crate) fn new(
        transfers: Vec<Transfer>,
        dependency_starts: Vec<u32>,
        dependencies: &[TransferId],
    ) -> Self {
        if dependencies.is_empty() {
            let (starts, none) = (Vec::new(), Vec::new());
            return Self {
                transfers,
                dependency_starts: starts.clone(),
                successor_starts: starts,
                successors: none,
            };
        }
        let successor_starts = count_successors(transfers.len(), dependencies);
        let mut free = successor_starts.clone();
        let mut successors = vec![TransferId(0); dependencies.len()];
        for (index, range) in dependency_starts.windows(2).enumerate() {
            for before in &dependencies[range[0] as usize..range[1] as usize] {
                let next_index = &mut free[before.index()];
                successors[*next_index as usize] = TransferId::from_index(index);
                *next_index += 1;
            }
        }
        Self { transfers, dependency_starts, successor_starts, successors }
    }

    /// The transfers that wait for `transfer`, in posting order.
    #[inline]
    pub(crate) fn successors(&self, transfer: TransferId) -> &[TransferId] {
        let Some(starts) = self.successor_starts.get(transfer.index()..transfer.index() + 2) else {
            return &[];
        };
        &self.successors[starts[0] as usize..starts[1] as usize]
    }

    /// Number of transfers that `transfer` waits for.
    #[inline]
    pub(crate) fn dependencies(&self, transfer: TransferId) -> u32 {
        let starts = self.dependency_starts.get(transfer.index()..transfer.index() + 2);
        starts.map_or(0, |starts| starts[1] - starts[0])
    }

    /// Size of the lists [bytes].
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.transfers)
            + size_of_val(&*self.dependency_starts)
            + size_of_val(&*self.successor_starts)
            + size_of_val(&*self.successors)
    }
}

/// Index of the first successor of each transfer, and one past the last.
fn count_successors(transfers: usize, dependencies: &[TransferId]) -> Vec<u32> {
    let mut starts = vec![0; transfers + 1];
    for before in dependencies {
        starts[before.index() + 1] += 1;
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    starts
}
