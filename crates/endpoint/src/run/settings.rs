//! Settings of an agent (a process that acts as one or more hosts) in addition to the run spec: addresses,
//! limits, options of each driver; parsing from JSON and checks.

use super::RunError;
use ipnet::Ipv4Net;
use serde::Deserialize;
use spec::{DscpSpec, RunSpec};
use std::fmt::Display;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::ops::RangeInclusive;

/// Settings of the drivers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Local address that receives packets.
    pub address: Ipv4Addr,
    /// UDP or TCP port; 0, the default, selects any free port.
    #[serde(default)]
    pub port: u16,
    /// Networks of the peers: nothing is sent to other addresses.
    pub allowed_peers: Vec<Ipv4Net>,
    /// Compare every received byte with the expected one; off by default, as adapters do not.
    #[serde(default)]
    pub verify: bool,
    /// Maximum rate of payload sent by this host [bit/s]; unlimited by default.
    #[serde(default)]
    pub rate_limit_bps: Option<u64>,
    /// Lower limit of the transport timeout [ps]: timeouts of plans are meant for adapters, whereas software
    /// may wait for a processor. Default 20 ms, several time slices of the Linux scheduler; none for driver
    /// `verbs`, where the adapter runs the timers.
    #[serde(default)]
    pub timeout_min_ps: Option<u64>,
    /// DSCP of data and acknowledgements, instead of those of the plan.
    #[serde(default)]
    pub dscp: Option<u8>,
    /// Code points of the plan's `transport`.
    #[serde(skip)]
    pub(super) planned_dscp: DscpSpec,
    /// See [`crate::Options::batch_packets_max`]; default 64. Driver `roce` only.
    #[serde(default = "batch_packets_max")]
    pub batch_packets_max: u16,
    /// See [`crate::Options::in_flight_packets_max`]; default 1,024. Driver `roce` only.
    #[serde(default = "in_flight_packets_max")]
    pub in_flight_packets_max: u32,
    /// See [`crate::Options::port_rate_bps`]; by default as fast as the host accepts packets. Driver `roce`
    /// only.
    #[serde(default)]
    pub port_rate_bps: Option<u64>,
    /// Drops one in `loss_one_in` packets on purpose before sending; 0, the default, drops none. Driver
    /// `roce` only.
    #[serde(default)]
    pub loss_one_in: u64,
    /// Congestion control of TCP connections (`TCP_CONGESTION`), as named by the kernel; default: that of the
    /// host (`net.ipv4.tcp_congestion_control`). Driver `tcp` only.
    #[serde(default)]
    pub congestion: Option<String>,
    /// Size of each TCP connection's buffers, per direction [bytes] (`SO_SNDBUF`, `SO_RCVBUF`); by default
    /// the kernel tunes them. Driver `tcp` only.
    #[serde(default)]
    pub socket_buffer_bytes: Option<u32>,
    /// A TCP connection fails if its peer acknowledges nothing for this time [ps] (`TCP_USER_TIMEOUT`);
    /// default 3 s, four retransmissions of Linux. Driver `tcp` only.
    #[serde(default = "peer_timeout_ps")]
    pub peer_timeout_ps: u64,
    /// RDMA device; by default the one with a GID of the address. Driver `verbs` only.
    #[serde(default)]
    pub device: Option<String>,
    /// GID index of its port; by default the first RoCE v2 GID with the address. Driver `verbs` only.
    #[serde(default)]
    pub gid_index: Option<u8>,
    /// Send queue size of each queue pair [work requests]; default 128, as perftest. Driver `verbs` only.
    #[serde(default = "send_queue_depth")]
    pub send_queue_depth: u32,
    /// Request a completion for one in `signal_every` chunks; it also completes the chunks before it. Default
    /// 1. The last chunk of a batch is always signalled. Driver `verbs` only.
    #[serde(default = "signal_every")]
    pub signal_every: u32,
    /// Use the adapter's completion timestamps for delivery and completion times, if available; default true.
    /// Driver `verbs` only.
    #[serde(default = "completion_time_stamps")]
    pub completion_time_stamps: bool,
}

/// From 1 ms, the unit of the kernel, to one hour.
const PEER_TIMEOUT_PS: RangeInclusive<u64> = 1_000_000_000..=3_600_000_000_000_000;

/// At least 2, so that one can be posted while the other is pending; at most the limit of adapters.
const SEND_QUEUE_DEPTH: RangeInclusive<u32> = 2..=32_768;

const fn peer_timeout_ps() -> u64 {
    3_000_000_000_000
}

/// See [`Settings::timeout_min_ps`].
pub(super) const TIMEOUT_MIN_PS: u64 = 20_000_000_000;

const fn send_queue_depth() -> u32 {
    128
}

const fn signal_every() -> u32 {
    1
}

const fn completion_time_stamps() -> bool {
    true
}

fn batch_packets_max() -> u16 {
    crate::Options::default().batch_packets_max
}

fn in_flight_packets_max() -> u32 {
    crate::Options::default().in_flight_packets_max
}

fn out_of_range<T: Display>(name: &str, value: T, allowed: &RangeInclusive<T>) -> RunError {
    RunError::Settings(format!("{name} is {value}; {} to {} are allowed", allowed.start(), allowed.end()))
}

impl Settings {
    /// Parses settings from JSON.
    pub fn from_json(text: &str) -> Result<Self, RunError> {
        let settings: Self =
            serde_json::from_str(text).map_err(|error| RunError::Settings(error.to_string()))?;
        if let Some(dscp) = settings.dscp.filter(|&dscp| dscp > 63) {
            return Err(RunError::Settings(format!("dscp is {dscp}; 0 to 63 are allowed")));
        }
        let zeros = [
            ("batch_packets_max", settings.batch_packets_max == 0),
            ("in_flight_packets_max", settings.in_flight_packets_max == 0),
            ("rate_limit_bps", settings.rate_limit_bps == Some(0)),
            ("port_rate_bps", settings.port_rate_bps == Some(0)),
        ];
        if let Some((name, _)) = zeros.iter().find(|(_, is_zero)| *is_zero) {
            return Err(RunError::Settings(format!("{name} is 0; 1 and more are allowed")));
        }
        if !SEND_QUEUE_DEPTH.contains(&settings.send_queue_depth) {
            return Err(out_of_range("send_queue_depth", settings.send_queue_depth, &SEND_QUEUE_DEPTH));
        }
        if settings.signal_every == 0 {
            return Err(RunError::Settings("signal_every is 0; 1 and more are allowed".into()));
        }
        if !PEER_TIMEOUT_PS.contains(&settings.peer_timeout_ps) {
            return Err(out_of_range("peer_timeout_ps", settings.peer_timeout_ps, &PEER_TIMEOUT_PS));
        }
        Ok(settings)
    }

    /// Code points of a job's packets, or the defaults before a job is known.
    pub(super) fn dscp_of(&self, spec: &RunSpec, job: Option<u32>) -> DscpSpec {
        let planned = job.map_or(self.planned_dscp, |job| spec.dscp_of(job));
        self.dscp.map_or(planned, |dscp| DscpSpec { data: dscp, ack: dscp, ..planned })
    }

    /// Checks that no settings of other drivers are set.
    pub(super) fn check_driver(&self, driver: &str) -> Result<(), RunError> {
        let of_roce =
            [("loss_one_in", self.loss_one_in != 0), ("port_rate_bps", self.port_rate_bps.is_some())];
        let of_batches = [("batch_packets_max", self.batch_packets_max != batch_packets_max())];
        let of_timers = [("timeout_min_ps", self.timeout_min_ps.is_some())];
        let of_sockets = [("port", self.port != 0)];
        let of_tcp = [
            ("congestion", self.congestion.is_some()),
            ("socket_buffer_bytes", self.socket_buffer_bytes.is_some()),
            ("peer_timeout_ps", self.peer_timeout_ps != peer_timeout_ps()),
        ];
        let of_verbs = [
            ("device", self.device.is_some()),
            ("gid_index", self.gid_index.is_some()),
            ("send_queue_depth", self.send_queue_depth != send_queue_depth()),
            ("signal_every", self.signal_every != signal_every()),
            ("completion_time_stamps", self.completion_time_stamps != completion_time_stamps()),
        ];
        let of_others: Vec<(&str, bool)> = match driver {
            // The lab sets `batch_packets_max` whatever the driver.
            "tcp" => [&of_roce[..], &of_timers, &of_verbs].concat(),
            "verbs" => [&of_roce[..], &of_batches, &of_sockets, &of_tcp].concat(),
            _ => [&of_tcp[..], &of_verbs].concat(),
        };
        match of_others.iter().find(|(_, is_set)| *is_set) {
            None => Ok(()),
            Some((name, _)) => Err(RunError::Settings(format!("driver {driver} has no setting {name}"))),
        }
    }

    /// Whether an address is in one of the allowed networks.
    pub(super) fn allows(&self, peer: Ipv4Addr) -> bool {
        self.allowed_peers.iter().any(|network| network.contains(&peer))
    }

    /// Checks that sending to a peer is allowed.
    pub(super) fn check_peer(&self, host: u32, peer: SocketAddrV4) -> Result<(), RunError> {
        if self.allows(*peer.ip()) {
            return Ok(());
        }
        let allowed: Vec<String> = self.allowed_peers.iter().map(ToString::to_string).collect();
        Err(RunError::NotAllowed { host, peer: *peer.ip(), allowed: allowed.join(", ") })
    }
}
