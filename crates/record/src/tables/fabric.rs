//! Tables of the fabric: `ports`, `priorities` and `links` (counters); `paths` (links that a queue pair's
//! data takes).

use crate::declare::table;

table! {
    /// Table `ports`: counters of each port.
    "ports" at Fabric: PortRow {
        /// Name of the node, such as `host3` or `leaf0`.
        node: String;
        /// Its tier: 0 hosts, 1 leaves or rails, 2 spines or aggregation, 3 core.
        tier: u32;
        /// Port of the node.
        port: u32;
        /// Name of the node at the other end.
        peer: String;
        /// Frames sent; between scheduled switches cells, requests and grants.
        tx_frames: u64 ["frames"];
        /// Their bytes.
        tx_bytes: u64 ["bytes"];
        /// Frames received.
        rx_frames: u64 ["frames"];
        /// Their bytes.
        rx_bytes: u64 ["bytes"];
        /// Frames bound for this egress port that were dropped because the buffer was full.
        dropped_frames: u64 ["frames"];
        /// Their bytes.
        dropped_bytes: u64 ["bytes"];
        /// Lossless frames beyond the headroom of their ingress port, bound for this egress port; not
        /// among `dropped_frames`.
        dropped_headroom_frames: u64 ["frames"];
        /// Their bytes.
        dropped_headroom_bytes: u64 ["bytes"];
        /// Frames bound for this egress port that WRED dropped; not among `dropped_frames`.
        dropped_wred_frames: u64 ["frames"];
        /// Their bytes.
        dropped_wred_bytes: u64 ["bytes"];
        /// Those of them that were yellow.
        dropped_wred_yellow_frames: u64 ["frames"];
        /// Those of them that were red.
        dropped_wred_red_frames: u64 ["frames"];
        /// Frames dropped by the PFC watchdog in the queues of this egress port or bound for them; not
        /// among `dropped_frames`.
        dropped_watchdog_frames: u64 ["frames"];
        /// Their bytes.
        dropped_watchdog_bytes: u64 ["bytes"];
        /// Frames sent by this port while its link was down, and frames received by this port that had no
        /// path to their destination left. Pause frames are not counted.
        lost_link_down_frames: u64 ["frames"];
        /// Their bytes.
        lost_link_down_bytes: u64 ["bytes"];
        /// Arriving frames corrupted by the link of this port and dropped; not among those
        /// received. Pause frames are not counted.
        fcs_error_frames: u64 ["frames"];
        /// Their bytes.
        fcs_error_bytes: u64 ["bytes"];
        /// Deepest egress queue, the frame in transmission excluded.
        queue_max_bytes: u64 ["bytes"];
        /// Pause frames with non-zero quanta (XOFF) sent; null on InfiniBand, which has no PFC.
        pfc_tx: Option<u64> ["frames"];
        /// Pause frames with non-zero quanta (XOFF) received; null on InfiniBand.
        pfc_rx: Option<u64> ["frames"];
        /// Pause frames with zero quanta (XON) sent, which end a pause; null on InfiniBand.
        pfc_xon_tx: Option<u64> ["frames"];
        /// Pause frames with zero quanta (XON) received; null on InfiniBand.
        pfc_xon_rx: Option<u64> ["frames"];
        /// Storms that the PFC watchdog detected at this port; null on InfiniBand.
        pfc_storms: Option<u64>;
        /// Time for which the egress was paused; null on InfiniBand.
        paused_ps: Option<u64> ["ps"];
        /// InfiniBand flow control packets sent, which are among the frames above; null on Ethernet.
        flow_control_tx: Option<u64> ["packets"];
        /// InfiniBand flow control packets received, which are among the frames above; null on Ethernet.
        flow_control_rx: Option<u64> ["packets"];
        /// Time for which the egress was free, had something to send on a virtual lane and no credit for it,
        /// summed over lanes; null on Ethernet.
        credit_wait_ps: Option<u64> ["ps"];
        /// Frames marked with congestion experienced.
        ecn_marked: u64 ["frames"];
        /// Changes of the thresholds of dynamic ECN.
        ecn_changes: u64;
        /// Distinct queue pairs whose data left by this port.
        egress_qps: u32;
        /// Credits that the scheduler of this port of a scheduled leaf granted.
        credits_granted: u64;
        /// Bytes granted: frames on the link of the host, with preamble and gap.
        credit_granted_bytes: u64 ["bytes"];
        /// Maximum of a virtual output queue for this port of a scheduled leaf, over all leaves.
        voq_max_bytes: u64 ["bytes"];
        /// Maximum of packets in reassembly at this scheduled leaf; the same for each of its fabric ports.
        reassembly_max_bytes: u64 ["bytes"];
    }
}

table! {
    /// Table `priorities`: counters of each priority of a port that was paused, had no credit, requested a
    /// pause or lost frames.
    "priorities" at Fabric: PriorityRow {
        /// Name of the node.
        node: String;
        /// Port of the node.
        port: u32;
        /// Priority (IEEE 802.1Q), or virtual lane, 0 to 7.
        priority: u32;
        /// Pause frames with non-zero quanta (XOFF) sent; null on InfiniBand, which has no PFC.
        pfc_tx: Option<u64> ["frames"];
        /// Pause frames with non-zero quanta (XOFF) received; null on InfiniBand.
        pfc_rx: Option<u64> ["frames"];
        /// Pause frames with zero quanta (XON) sent, which end a pause; null on InfiniBand.
        pfc_xon_tx: Option<u64> ["frames"];
        /// Pause frames with zero quanta (XON) received; null on InfiniBand.
        pfc_xon_rx: Option<u64> ["frames"];
        /// Time for which the egress was paused; null on InfiniBand.
        paused_ps: Option<u64> ["ps"];
        /// Time for which the egress was free, had something to send on this lane and no credit for it; null
        /// on Ethernet.
        credit_wait_ps: Option<u64> ["ps"];
        /// Frames bound for this egress port that were dropped because the buffer was full.
        dropped_frames: u64 ["frames"];
        /// Lossless frames beyond the headroom of their ingress port, bound for this egress port.
        dropped_headroom_frames: u64 ["frames"];
        /// Frames bound for this egress port that WRED dropped.
        dropped_wred_frames: u64 ["frames"];
        /// Frames dropped by the PFC watchdog in the queues of this egress port or bound for them.
        dropped_watchdog_frames: u64 ["frames"];
    }
}

table! {
    /// Table `links`: one row for each direction of each cable.
    "links" at Fabric: LinkRow {
        /// Sending node.
        from: String;
        /// Its port.
        from_port: u32;
        /// Receiving node.
        to: String;
        /// Its port.
        to_port: u32;
        /// Higher tier of the two ends.
        tier: u32;
        /// Line rate, without the changes of `fabric.failures`.
        rate_bps: u64 ["bit/s"];
        /// Frames sent.
        frames: u64 ["frames"];
        /// Their bytes.
        bytes: u64 ["bytes"];
        /// Time occupied, preamble and gap included.
        busy_ps: u64 ["ps"];
    }
}

table! {
    /// Table `paths`: one row for each link between switches on the path of a queue pair's data, if every
    /// queue pair has a single path.
    "paths" at Fabric: PathRow {
        /// Queue pair of the run.
        qp: u32;
        /// Name of its job.
        job: u32 as &str = |row, names| names.job(row.job);
        /// Sending rank.
        src_rank: u32;
        /// Receiving rank.
        dst_rank: u32;
        /// Number of the link on the path, from 0.
        hop: u32;
        /// Switch that the data leaves.
        node: String;
        /// Its egress port.
        port: u32;
        /// Switch that it reaches.
        peer: String;
    }
}
