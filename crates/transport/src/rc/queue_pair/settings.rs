//! Settings of a queue pair, agreed by both ends before the connection starts: numbers, first PSNs, memory
//! region, limits of READs; checks of them.

use super::SettingsError;
use crate::rc::config::within;
use crate::{Config, Controller, RateControl, Recovery};
use units::Span;
use wire::aeth::RnrTimer;
use wire::bth::Qpn;
use wire::{Psn, RoceMtu};

/// Memory region that the peer may write, and read if READs are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// First address.
    pub address: u64,
    /// Size [bytes].
    pub bytes: u64,
    /// Remote key of the region.
    pub remote_key: u32,
}

impl Region {
    /// Whether the region contains all of `bytes` from `address` on.
    pub(super) fn contains(&self, address: u64, bytes: u64) -> bool {
        address
            .checked_sub(self.address)
            .and_then(|offset| offset.checked_add(bytes))
            .is_some_and(|end| end <= self.bytes)
    }
}

/// Limits of outstanding READs, each of one message. Verbs call them `max_rd_atomic` and
/// `max_dest_rd_atomic`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reads {
    /// Maximum of unanswered requests of this end; at most the `served_max` of the peer. 0: READs cannot be
    /// posted.
    pub requested_max: u32,
    /// Maximum of unanswered requests of the peer. 0: READs are not served.
    pub served_max: u32,
}

impl Reads {
    /// No READ in either direction.
    pub const NONE: Self = Self { requested_max: 0, served_max: 0 };
}

/// Settings of a queue pair. Nothing here has a default.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Parameters common to both ends.
    pub config: Config,
    /// Number of this queue pair.
    pub number: Qpn,
    /// Number of the peer.
    pub peer: Qpn,
    /// PSN of the first packet sent.
    pub first_psn: Psn,
    /// PSN of the first packet of the peer.
    pub peer_first_psn: Psn,
    /// Rate control.
    pub rate: Controller,
    /// At most one congestion notification per this time; without it none are sent.
    pub cnp_interval: Option<Span>,
    /// Limits of READs; READs need go-back-N recovery.
    pub reads: Reads,
    /// Memory that the peer may write and read.
    pub memory: Option<Region>,
    /// Remote key of the peer's memory.
    pub peer_remote_key: u32,
    /// Time that the peer must wait when no receive is posted for its SEND.
    pub rnr_timer: RnrTimer,
    /// RNR NAKs in a row without progress that the queue pair survives: it fails on number `rnr_retry_count +
    /// 1`. Unlike in the standard (IBTA 11.2.5.2), 7 means seven, not infinite.
    pub rnr_retry_count: u32,
}

impl Settings {
    /// Checks every field.
    ///
    /// # Errors
    /// The first invalid field.
    pub fn check(&self) -> Result<(), SettingsError> {
        let config = &self.config;
        config.check()?;
        within("ack_every", config.ack_every.into(), 1, config.window_packets.into())?;
        if RoceMtu::from_bytes(config.mtu_bytes).is_none() {
            return Err(SettingsError::Mtu { found: config.mtu_bytes });
        }
        if config.recovery == Recovery::None && self.rate.uses_acks() {
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
        if config.recovery != Recovery::GoBackN || self.rate.uses_acks() {
            return Err(SettingsError::Reads);
        }
        // Responses use PSNs, and those in flight must be distinguishable (IBTA 9.7.2).
        let room = u64::from(Psn::WINDOW_MAX - config.window_packets);
        let requested_max = room / config.packets_per_message();
        within("reads.requested_max", reads.requested_max.into(), 0, requested_max)?;
        Ok(within("reads.served_max", reads.served_max.into(), 0, u16::MAX.into())?)
    }
}
