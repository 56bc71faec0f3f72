//! What the devices and the endpoint of a real host counted.

use crate::declare::table;

table! {
    /// Table `counters`: one row for each counter of each host of a measured trial.
    "counters": CounterRow {
        /// Name of the host; of a lab's link the node that sends.
        host: String;
        /// What counted: an interface, an RDMA device with its port as in `mlx5_0/1`, `kernel`, a link of a
        /// lab, or the driver of the endpoint.
        device: String;
        /// Where it was read: `link` (statistics of the interface, `ip -stats link`), `ethtool` (`ethtool
        /// -S`), `nstat` (what the kernel counts of UDP and TCP), `softnet` (its backlogs), `rdma`
        /// (`ports/*/counters` of an RDMA device), `hw_counters` (`ports/*/hw_counters`), `lab` (a link of a
        /// lab) or `endpoint` (the program that sends and receives).
        source: String;
        /// Name that its driver gives it.
        vendor_name: String;
        /// Neutral name: vendors mean alike, which is not that they count alike; null where none is known.
        name: Option<String> as Option<&str> = |row| row.name.as_deref();
        /// Unit of both values, such as `packets`, `bytes` or `events`; null where it is not known.
        unit: Option<String> as Option<&str> = |row| row.unit.as_deref();
        /// What its vendor counts; null where it is not known.
        meaning: Option<String> as Option<&str> = |row| row.meaning.as_deref();
        /// Value before the run; what an endpoint counts begins with 0.
        before: u64;
        /// Value after it.
        after: u64;
    }
}
