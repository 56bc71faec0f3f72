//! Memory check before a run: estimates the required memory and compares it with the memory available, before
//! the kernel's OOM killer ends the process.

use super::RunError;
use super::record::{ReceivedHalf, SentHalf};
use super::share::Share;
use spec::RunSpec;
use std::fs;

/// One end of a queue pair without its region: 8 KB as measured with 2,000 of them, plus a margin of half
/// [bytes].
const END_BYTES: u64 = 12 << 10;
/// Upper limit of regions, patterns and buffers for local copies [bytes].
const BUFFER_BYTES: u64 = 24 << 20;
/// Rows exist twice while they are written: as records and as an Arrow stream.
const COPIES: u64 = 2;

/// Memory requirements of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MemoryNeeds {
    queue_pairs: u64,
    sent: u64,
    received: u64,
}

impl MemoryNeeds {
    /// Requirements of an agent's share.
    pub(super) fn of(spec: &RunSpec, share: &Share) -> Self {
        let [sent, received] = [share.senders(), share.receivers()].map(|pairs| {
            pairs.iter().fold(0_u64, |rows, pair| {
                let job = &spec.jobs[pair.queue_pair.job as usize];
                let cycles = job.rounds_planned().unwrap_or(1).div_ceil(job.rounds_of_a_cycle());
                rows.saturating_add(u64::from(pair.chunks) * u64::from(cycles))
            })
        });
        Self { queue_pairs: (share.senders().len() + share.receivers().len()) as u64, sent, received }
    }

    /// Number of sent and received rows.
    pub(super) const fn rows(self) -> [u64; 2] {
        [self.sent, self.received]
    }

    fn bytes(self) -> u64 {
        let row_bytes = [size_of::<SentHalf>(), size_of::<ReceivedHalf>()].map(|bytes| bytes as u64);
        let rows =
            self.sent.saturating_mul(row_bytes[0]).saturating_add(self.received.saturating_mul(row_bytes[1]));
        (self.queue_pairs * END_BYTES + BUFFER_BYTES).saturating_add(rows.saturating_mul(COPIES))
    }

    /// Checks that the host has enough memory, if that is known.
    pub(super) fn check(self, available: Option<u64>) -> Result<(), RunError> {
        let need = self.bytes();
        match available.filter(|available| need > *available) {
            None => Ok(()),
            Some(available) => {
                let rows = self.sent.saturating_add(self.received);
                Err(RunError::Memory { need, available, queue_pairs: self.queue_pairs, rows })
            }
        }
    }
}

/// Memory available without swapping (proc(5), `MemAvailable`), or less if a control group has a limit
/// (cgroups(7), version 2); `None` if unknown [bytes].
pub(super) fn available_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let of_host = line.split_whitespace().next()?.parse::<u64>().ok()? << 10;
    Some(of_group().map_or(of_host, |group| group.min(of_host)))
}

/// Memory that the control group of the process may still allocate [bytes].
fn of_group() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = text.lines().find_map(|line| line.strip_prefix("0::"))?;
    let number = |name: &str| {
        let text = fs::read_to_string(format!("/sys/fs/cgroup{path}/{name}")).ok()?;
        text.trim().parse::<u64>().ok()
    };
    Some(number("memory.max")?.saturating_sub(number("memory.current")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_does_not_fit_is_refused_with_figures() {
        let needs = MemoryNeeds { queue_pairs: 100, sent: 1_000_000, received: 1_000_000 };
        let bytes = needs.bytes();
        assert!(needs.check(Some(bytes)).is_ok() && needs.check(None).is_ok());
        let error = needs.check(Some(bytes - 1)).unwrap_err().to_string();
        assert!(error.contains("100 ends of queue pairs and 2000000 rows"), "{error}");
        assert!(available_bytes().is_some_and(|bytes| bytes > 0));
        let endless = MemoryNeeds { queue_pairs: 1, sent: u64::MAX, received: u64::MAX };
        assert!(endless.check(Some(u64::MAX - 1)).is_err());
    }
}
