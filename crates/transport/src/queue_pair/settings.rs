//! What the two ends of a connection have agreed on before it begins.

use super::SettingsError;
use crate::config::within;
use crate::{Config, Controller, Recovery};
use units::Span;
use wire::aeth::RnrTimer;
use wire::bth::Qpn;
use wire::{Psn, RoceMtu};

/// Memory that the peer may write to, and read if READs are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its first address.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
    /// The key to it.
    pub remote_key: u32,
}

impl Region {
    /// All of `bytes` from `address` on lies in it.
    pub(super) fn contains(&self, address: u64, bytes: u64) -> bool {
        address
            .checked_sub(self.address)
            .and_then(|offset| offset.checked_add(bytes))
            .is_some_and(|end| end <= self.bytes)
    }
}

/// READs that may be under way at a time, each of one message. Verbs call them `max_rd_atomic` and
/// `max_dest_rd_atomic`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reads {
    /// Requests of this end that are not answered; at most as many as the peer serves. 0: none is posted.
    pub requested_max: u32,
    /// Requests of the peer that are not answered. 0: none is served.
    pub served_max: u32,
}

impl Reads {
    /// No READ in either direction.
    pub const NONE: Self = Self { requested_max: 0, served_max: 0 };
}

/// Settings of a queue pair. Nothing here has a default.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What both ends agree on.
    pub config: Config,
    /// Number of this queue pair.
    pub number: Qpn,
    /// Number of the peer.
    pub peer: Qpn,
    /// PSN of the first packet sent.
    pub first_psn: Psn,
    /// PSN of the first packet of the peer.
    pub peer_first_psn: Psn,
    /// When packets may be sent.
    pub rate: Controller,
    /// At most one congestion notification in this time; none are sent without it.
    pub cnp_interval: Option<Span>,
    /// How many READs there may be; they need go-back-N recovery.
    pub reads: Reads,
    /// What the peer may write to, and read.
    pub memory: Option<Region>,
    /// The key to what is written to and read at the peer.
    pub peer_remote_key: u32,
    /// How long the peer is to wait when no receive is posted for its SEND.
    pub rnr_timer: RnrTimer,
    /// RNR NAKs in a row without progress after which the queue pair goes on: it fails on number
    /// `rnr_retry_count + 1`. Unlike in the standard (IBTA 11.2.5.2), 7 is no more than seven.
    pub rnr_retry_count: u32,
}

impl Settings {
    /// Looks at every field.
    ///
    /// # Errors
    /// The first that no queue pair can have.
    pub fn check(&self) -> Result<(), SettingsError> {
        let config = &self.config;
        config.check()?;
        within("ack_every", config.ack_every.into(), 1, config.window_packets.into())?;
        if RoceMtu::from_bytes(config.mtu_bytes).is_none() {
            return Err(SettingsError::Mtu { found: config.mtu_bytes });
        }
        if config.recovery == Recovery::None {
            return Err(SettingsError::Recovery);
        }
        self.check_reads()?;
        match self.memory {
            Some(Region { address, bytes, .. }) if address.checked_add(bytes).is_none() => {
                Err(SettingsError::Memory { address, bytes })
            }
            _ => Ok(()),
        }
    }
    fn check_reads(&self) -> Result<(), SettingsError> {
        let Self { config, reads, .. } = self;
        if *reads == Reads::NONE {
            return Ok(());
        }
        if config.recovery.is_selective() || self.rate.hears_acks() {
            return Err(SettingsError::Reads);
        }
        // Responses take PSNs, and those under way are to be told apart (IBTA 9.7.2).
        let room = u64::from(Psn::WINDOW_MAX - config.window_packets);
        let requested_max = room / config.packets_per_message();
        within("reads.requested_max", reads.requested_max.into(), 0, requested_max)?;
        Ok(within("reads.served_max", reads.served_max.into(), 0, u16::MAX.into())?)
    }
}
