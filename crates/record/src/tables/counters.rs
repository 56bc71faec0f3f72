//! Table `counters`: counters of real hosts before and after a run, of network devices, the kernel and the
//! endpoint (the program that sends and receives).

use crate::declare::table;

table! {
    /// Table `counters`: one row for each counter of each host of a measured trial.
    "counters" at Device: CounterRow {
        /// Name of the host; of a lab's link the node that sends.
        host: String;
        /// Device or program that counts: an interface, an RDMA device with its port as in `mlx5_0/1`,
        /// `kernel`, a link of a lab, or the driver of the endpoint.
        device: String;
        /// Source of the reading: `link` (statistics of the interface, `ip -stats link`), `ethtool` (`ethtool
        /// -S`), `nstat` (UDP and TCP statistics of the kernel), `softnet` (its backlogs), `rdma`
        /// (`ports/*/counters` of an RDMA device), `hw_counters` (`ports/*/hw_counters`), `lab` (a link of a
        /// lab) or `endpoint` (the program that sends and receives).
        source: String;
        /// Name by its driver.
        vendor_name: String;
        /// Neutral name, equal for counters of equal meaning; vendors may count differently. Null without
        /// one.
        name: Option<String> as Option<&str> = |row| row.name.as_deref();
        /// Unit of both values, such as `packets`, `bytes` or `events`; null if unknown.
        unit: Option<String> as Option<&str> = |row| row.unit.as_deref();
        /// Definition by its vendor; null if unknown.
        meaning: Option<String> as Option<&str> = |row| row.meaning.as_deref();
        /// Value before the run; 0 for counters of an endpoint.
        before: u64;
        /// Value after it.
        after: u64;
    }
}
