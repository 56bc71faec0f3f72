//! Table `connections`: TCP connections, their payload, retransmissions and round-trip times.

use crate::declare::table;

table! {
    /// Table `connections`: one row for each TCP connection.
    "connections" at Endpoint: ConnectionRow {
        /// Name of the traffic.
        tcp: u32 as &str = |row, names| names.tcp(row.tcp);
        /// Number of the connection in the run, from 0.
        connection: u32;
        /// TCP source port.
        source_port: u16;
        /// Sending rank of the traffic.
        src_rank: u32;
        /// Receiving rank.
        dst_rank: u32;
        /// Host of the sending rank.
        src_host: u32;
        /// Host of the receiving rank.
        dst_host: u32;
        /// First write of the application; null without one.
        start_ps: Option<u64> ["ps"];
        /// Time at which everything was acknowledged, or the end of the run.
        end_ps: u64 ["ps"];
        /// 1 if everything was acknowledged.
        is_complete: bool;
        /// Payload that the application offered until the end; null if it always has more.
        offered_bytes: Option<u64> ["bytes"];
        /// Payload delivered in order.
        delivered_bytes: u64 ["bytes"];
        /// Payload acknowledged.
        acked_bytes: u64 ["bytes"];
        /// Segments sent, retransmissions included.
        segments: u64;
        /// Segments retransmitted.
        retransmits: u64;
        /// Retransmission timeouts.
        timeouts: u64;
        /// Recoveries that began by selective acknowledgements.
        fast_recoveries: u64;
        /// Segments that arrived with congestion experienced.
        ecn_ce_rx: u64;
        /// Measurements of the round-trip time.
        rtt_samples: u64;
        /// Mean of the smoothed round-trip time after each measurement; null without a measurement.
        rtt_mean_ps: Option<u64> ["ps"];
        /// Median of the same, at most 1/16 too high.
        rtt_p50_ps: Option<u64> ["ps"];
        /// 99th percentile of the same, at most 1/16 too high.
        rtt_p99_ps: Option<u64> ["ps"];
        /// Largest of the same.
        rtt_max_ps: Option<u64> ["ps"];
        /// Writes of a closed loop that were acknowledged; null without one.
        writes: Option<u64>;
        /// Mean time from the issue of such a write to the acknowledgement of its last byte.
        write_mean_ps: Option<u64> ["ps"];
        /// Median of the same, at most 1/16 too high.
        write_p50_ps: Option<u64> ["ps"];
        /// 99th percentile of the same, at most 1/16 too high.
        write_p99_ps: Option<u64> ["ps"];
        /// Largest of the same.
        write_max_ps: Option<u64> ["ps"];
        /// Congestion window at the end.
        window_bytes: u64 ["bytes"];
    }
}
