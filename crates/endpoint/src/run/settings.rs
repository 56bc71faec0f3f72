//! What an agent is told beside the run spec.

use super::RunError;
use ipnet::Ipv4Net;
use serde::Deserialize;
use spec::{DscpSpec, RunSpec};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::ops::RangeInclusive;

/// Settings of the drivers over sockets.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The address of this host that packets come to.
    pub address: Ipv4Addr,
    /// UDP or TCP port; 0, the default, takes any.
    #[serde(default)]
    pub port: u16,
    /// Networks of the peers: nothing is sent to others.
    pub allowed_peers: Vec<Ipv4Net>,
    /// Look at every byte that arrives; by default nobody does, as no adapter would.
    #[serde(default)]
    pub verify: bool,
    /// The most payload that this host sends [bit/s]; as much as it can by default.
    #[serde(default)]
    pub rate_limit_bps: Option<u64>,
    /// The shortest transport timeout [ps]: what a plan says is meant for adapters, and software may have to
    /// wait for a processor. Default 20 ms, some slices of Linux' scheduler; none of driver `verbs`, whose
    /// adapters wait for nobody.
    #[serde(default)]
    pub timeout_min_ps: Option<u64>,
    /// DSCP of data and acknowledgements, in place of those of the plan.
    #[serde(default)]
    pub dscp: Option<u8>,
    /// Code points of the plan's transport.
    #[serde(skip)]
    pub(super) planned_dscp: DscpSpec,
    /// See [`crate::Options::batch_packets_max`]; default 64. Driver `roce` only.
    #[serde(default = "batch_packets_max")]
    pub batch_packets_max: u16,
    /// See [`crate::Options::in_flight_packets_max`]; default 1,024. Driver `roce` only.
    #[serde(default = "in_flight_packets_max")]
    pub in_flight_packets_max: u32,
    /// See [`crate::Options::port_rate_bps`]; as fast as the host takes packets by default. Driver `roce` only.
    #[serde(default)]
    pub port_rate_bps: Option<u64>,
    /// Drops one packet in so many on purpose, before it is sent; none by default. Driver `roce` only.
    #[serde(default)]
    pub loss_one_in: u64,
    /// Congestion control of TCP connections (`TCP_CONGESTION`), as the kernel names it; by default that of the
    /// host (`net.ipv4.tcp_congestion_control`). Driver `tcp` only.
    #[serde(default)]
    pub congestion: Option<String>,
    /// Room of each TCP connection in each direction [bytes] (`SO_SNDBUF`, `SO_RCVBUF`); by default the kernel
    /// finds how much is good. Driver `tcp` only.
    #[serde(default)]
    pub socket_buffer_bytes: Option<u32>,
    /// A TCP connection whose peer acknowledges nothing for so long has failed [ps] (`TCP_USER_TIMEOUT`);
    /// default 3 s, four retransmissions of Linux. Driver `tcp` only.
    #[serde(default = "peer_timeout_ps")]
    pub peer_timeout_ps: u64,
    /// RDMA device; by default the one that has a GID of the address. Driver `verbs` only.
    #[serde(default)]
    pub device: Option<String>,
    /// Which GID of its port; by default the first of RoCE v2 with the address. Driver `verbs` only.
    #[serde(default)]
    pub gid_index: Option<u8>,
    /// Work requests that wait in each queue pair; default 128, as perftest has. Driver `verbs` only.
    #[serde(default = "send_queue_depth")]
    pub send_queue_depth: u32,
    /// Of one chunk in so many the adapter tells that it is acknowledged, and of those before it along with it;
    /// default 1. The last of those that are posted together is always told. Driver `verbs` only.
    #[serde(default = "signal_every")]
    pub signal_every: u32,
    /// Chunks are delivered and completed when the adapter says, if it stamps completions; default true. Driver
    /// `verbs` only.
    #[serde(default = "completion_time_stamps")]
    pub completion_time_stamps: bool,
}

/// From 1 ms, which the kernel counts in, to an hour.
const PEER_TIMEOUT_PS: RangeInclusive<u64> = 1_000_000_000..=3_600_000_000_000_000;

/// Two, so that one can be posted while the other waits, and no more than any adapter has.
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

impl Settings {
    /// Those in a JSON text.
    ///
    /// # Errors
    /// [`RunError::Settings`].
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
            let (found, [min, max]) =
                (settings.send_queue_depth, [SEND_QUEUE_DEPTH.start(), SEND_QUEUE_DEPTH.end()]);
            return Err(RunError::Settings(format!(
                "send_queue_depth is {found}; {min} to {max} are allowed"
            )));
        }
        if settings.signal_every == 0 {
            return Err(RunError::Settings("signal_every is 0; 1 and more are allowed".into()));
        }
        if !PEER_TIMEOUT_PS.contains(&settings.peer_timeout_ps) {
            let (found, [min, max]) =
                (settings.peer_timeout_ps, [PEER_TIMEOUT_PS.start(), PEER_TIMEOUT_PS.end()]);
            return Err(RunError::Settings(format!(
                "peer_timeout_ps is {found}; {min} to {max} are allowed"
            )));
        }
        Ok(settings)
    }

    /// Code points of the packets of a job, or of those before a job is known.
    pub(super) fn dscp_of(&self, spec: &RunSpec, job: Option<u32>) -> DscpSpec {
        let planned = job.map_or(self.planned_dscp, |job| spec.dscp_of(job));
        self.dscp.map_or(planned, |dscp| DscpSpec { data: dscp, ack: dscp, ..planned })
    }

    /// That nothing is set that only other drivers have.
    ///
    /// # Errors
    /// [`RunError::Settings`].
    pub(super) fn check_driver(&self, driver: &str) -> Result<(), RunError> {
        let of_roce =
            [("loss_one_in", self.loss_one_in != 0), ("port_rate_bps", self.port_rate_bps.is_some())];
        let of_roce_alone = [("batch_packets_max", self.batch_packets_max != batch_packets_max())];
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
            "verbs" => [&of_roce[..], &of_roce_alone, &of_sockets, &of_tcp].concat(),
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

    /// That a peer may be sent to.
    ///
    /// # Errors
    /// [`RunError::NotAllowed`].
    pub(super) fn check_peer(&self, host: u32, peer: SocketAddrV4) -> Result<(), RunError> {
        if self.allows(*peer.ip()) {
            return Ok(());
        }
        let allowed: Vec<String> = self.allowed_peers.iter().map(ToString::to_string).collect();
        Err(RunError::NotAllowed { host, peer: *peer.ip(), allowed: allowed.join(", ") })
    }
}
