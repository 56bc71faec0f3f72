//! Checks of what messages cost adapters, and of the clocks of hosts.

use super::{require, value, within};
use crate::{ForwardingSpec, LossRecovery, RunSpec, SpecError};

pub(super) fn check_nic(spec: &RunSpec) -> Result<(), SpecError> {
    let has_storage = spec.jobs.iter().any(|job| job.storage.is_some());
    if spec.fabric.nic.messages.is_some() {
        // Each packet is a message of its own there.
        require(spec.transport.recovery != LossRecovery::Selective, || {
            value("fabric.nic.messages", "a cost with selective recovery", "none, or go_back_n")
        })?;
        require(!has_storage, || value("fabric.nic.messages", "a cost with a storage job", "none"))?;
    }
    if let Some(reaction_ps) = spec.fabric.nic.pause_reaction_ps {
        let least = spec.fabric.nic.latency_ps;
        within("fabric.nic.pause_reaction_ps", reaction_ps, least..=u64::MAX, "latency_ps")?;
    }
    if let Some(clocks) = &spec.fabric.clocks {
        require(!has_storage, || value("fabric.clocks", "clocks with a storage job", "none"))?;
        // A frame would leave a switch faster than it comes in.
        require(spec.fabric.switch.forwarding == ForwardingSpec::StoreAndForward, || {
            value("fabric.clocks", "clocks with cut-through switches", "none, or store-and-forward")
        })?;
        for (index, clock) in clocks.hosts.iter().enumerate() {
            let is_again = clocks.hosts[..index].iter().any(|other| other.host == clock.host);
            let field = || format!("fabric.clocks.hosts[{index}].host");
            require(!is_again, || value(field(), format!("host {} again", clock.host), "each host once"))?;
        }
    }
    Ok(())
}
