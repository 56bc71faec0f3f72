//! What an agent is told beside the run spec.

use super::RunError;
use ipnet::Ipv4Net;
use serde::Deserialize;
use std::net::{Ipv4Addr, SocketAddrV4};

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
    /// wait for a processor. Default 20 ms, some slices of Linux' scheduler.
    #[serde(default = "timeout_min_ps")]
    pub timeout_min_ps: u64,
    /// DSCP of data; default 26 (AF31), the usual code point of RoCE.
    #[serde(default = "dscp")]
    pub dscp: u8,
    /// See [`crate::Options::batch_packets_max`]; default 64.
    #[serde(default = "batch_packets_max")]
    pub batch_packets_max: u16,
    /// Drops one packet in so many on purpose, before it is sent; none by default.
    #[serde(default)]
    pub loss_one_in: u64,
}

const fn timeout_min_ps() -> u64 {
    20_000_000_000
}

const fn dscp() -> u8 {
    26
}

fn batch_packets_max() -> u16 {
    crate::Options::default().batch_packets_max
}

impl Settings {
    /// Those in a JSON text.
    ///
    /// # Errors
    /// [`RunError::Settings`].
    pub fn from_json(text: &str) -> Result<Self, RunError> {
        let settings: Self =
            serde_json::from_str(text).map_err(|error| RunError::Settings(error.to_string()))?;
        if settings.dscp > 63 {
            return Err(RunError::Settings(format!("dscp is {}; 0 to 63 are allowed", settings.dscp)));
        }
        if settings.batch_packets_max == 0 {
            return Err(RunError::Settings("batch_packets_max is 0; 1 and more are allowed".into()));
        }
        if settings.rate_limit_bps == Some(0) {
            return Err(RunError::Settings("rate_limit_bps is 0; 1 and more are allowed".into()));
        }
        Ok(settings)
    }

    /// That a peer may be sent to.
    ///
    /// # Errors
    /// [`RunError::NotAllowed`].
    pub(super) fn check_peer(&self, host: u32, peer: SocketAddrV4) -> Result<(), RunError> {
        if self.allowed_peers.iter().any(|network| network.contains(peer.ip())) {
            return Ok(());
        }
        let allowed: Vec<String> = self.allowed_peers.iter().map(ToString::to_string).collect();
        Err(RunError::NotAllowed { host, peer: *peer.ip(), allowed: allowed.join(", ") })
    }
}
