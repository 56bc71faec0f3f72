//! Rows are handed out a bounded batch at a time, those of chunks that never ended as well.

use crate::common::{collective, leaf_spine};
use fabricbench_sim::{Observer, Options, Progress, Stopped};
use record::Batch;
use spec::{FailureSpec, RunStatus};

/// Sizes of the batches of chunks.
#[derive(Default)]
struct Sizes(Vec<usize>);

impl Observer<Progress> for Sizes {
    fn batch(&mut self, batch: Batch) -> Result<(), Stopped> {
        if let Batch::Chunks(rows) = batch {
            self.0.push(rows.len());
        }
        Ok(())
    }

    fn progress(&mut self, _: Progress) -> Result<(), Stopped> {
        Ok(())
    }
}

#[test]
fn a_run_that_stalls_hands_its_chunks_out_in_batches() {
    let mut spec = collective(leaf_spine(64), 128, "all-reduce", "ring", 128 * 4096);
    spec.fabric.failures = vec![FailureSpec::LinkDown { at_ps: 1_000_000, link: "host0-leaf0".into() }];
    let mut sizes = Sizes::default();
    let summary =
        fabricbench_sim::run(&spec, Options::default(), &mut sizes).expect("the spec can be carried out");
    assert_ne!(summary.status, RunStatus::Complete);
    let chunks: usize = sizes.0.iter().sum();
    assert_eq!(chunks as u64, summary.jobs[0].chunks);
    assert!(chunks > 3 * 8_192 && summary.jobs[0].chunks_complete < 8_192, "{summary:?}");
    assert!(sizes.0.iter().all(|&rows| rows < 8_192 + 100), "{:?}", sizes.0);
}
