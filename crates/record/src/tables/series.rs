//! Tables over time: sampled values (`series`) and rare events (`events`).

use crate::declare::table;
use std::sync::Arc;

table! {
    /// Table `series`: sampled values.
    "series" at Fabric: SeriesRow {
        /// `queue_bytes` (egress queue at the sample, the frame in transmission excluded), `queue_max_bytes`
        /// (the deepest of all ports of switches at the sample, those without a series included), `tx_bytes`
        /// (frame bytes sent since the start), `paused_ps` (time for which a lossless priority of the egress
        /// was paused since the start; priorities that never were are left out), `ecn_kmin_bytes` and
        /// `ecn_kmax_bytes` (thresholds of a marked priority of a switch's port, with dynamic ECN),
        /// `rate_bps` (rate that congestion control allows a queue pair, while it has something to send),
        /// `delivered_bytes` (payload placed at the hosts of a job since the start), `lost_frames` (frames
        /// lost in the whole fabric since the start; only where something fails), `tcp_delivered_bytes`
        /// (payload that a TCP connection has delivered in order since the start) or `voq_bytes` (bytes
        /// received by a port of a scheduled leaf and waiting in its virtual output queues). The
        /// `queue_bytes` of the first fabric port of a scheduled leaf are those waiting for all its fabric
        /// links.
        metric: &'static str;
        /// Name of the node; of a rate, the sending host; of a TCP connection, the receiving one; `fabric`
        /// for values of all of it. All rows of a series share it.
        node: Arc<str>;
        /// Port of the node; 0 of `fabric`.
        port: u32;
        /// Priority, of `paused_ps`, `ecn_kmin_bytes` and `ecn_kmax_bytes`.
        priority: Option<u32>;
        /// Queue pair, of `rate_bps`; number of the connection, of `tcp_delivered_bytes`.
        qp: Option<u32>;
        /// Name of the job, of `delivered_bytes`.
        job: Option<u32> as Option<&str> = |row, names| row.job.map(|job| names.job(job));
        /// Time of the sample.
        time_ps: u64 ["ps"];
        /// The value.
        value: u64 ["bytes, ps, bit/s, frames"];
    }
}

table! {
    /// Table `events`: rare events, such as failures, deadlocks and PFC storms.
    "events" at Fabric: EventRow {
        /// Time of the event.
        time_ps: u64 ["ps"];
        /// `qp_failed`: a queue pair used up its retries; `stalled`: a port that was paused when the run was
        /// ended; `pfc_deadlock`, or `credit_deadlock` on InfiniBand: one for each queue of a cycle, in the
        /// order in which they wait for each other; `pfc_storm`, `pfc_restored`: the PFC watchdog;
        /// `ecn_raised`, `ecn_lowered`: dynamic ECN moved the thresholds of a queue, the first 16 changes of
        /// each port; `link_down`, `link_up`, `link_rate`, `bit_errors`, `frame_loss`, `nic_throughput`,
        /// `switch_down`, `switch_up`: failures and repairs of the plan; `routes_converged`: every switch
        /// has adopted the resulting routes.
        kind: &'static str;
        /// Name of the node.
        node: String;
        /// In words, with the figures.
        detail: String;
    }
}
