//! The NIC by which a GPU sends to a peer of another node.

use crate::communicator::ChannelNic;
use crate::paths::{PathType, Paths};
use crate::rules::Rules;
use crate::settings::Settings;
use crate::system::System;

/// The NIC that a GPU uses to send to a peer, and the GPU whose proxy drives it (PXN).
///
/// By default it is the NIC on the peer's rail: that of the local GPU with the device index of the peer. None
/// if the GPU has no NIC.
#[must_use]
pub fn nic_of_peer(
    system: &System,
    paths: &Paths,
    gpu: usize,
    peer_device: usize,
    channel: usize,
    rules: &Rules,
    settings: &Settings,
) -> Option<ChannelNic> {
    let nic_of = |gpu: usize| {
        let nics = paths.nics_of_gpu(gpu);
        nics.get(channel % nics.len().max(1)).copied()
    };
    let own = ChannelNic { nic: nic_of(gpu)?, proxy: gpu };
    let level = if settings.pxn_disable { 0 } else { settings.p2p_pxn_level };
    if settings.cross_nic != 0 && level == 0 {
        return Some(own);
    }
    let host = system.gpus[gpu].host;
    let same_rail = system.gpus.iter().position(|other| other.device == peer_device && other.host == host);
    let Some(nic) = same_rail.and_then(nic_of) else { return Some(own) };
    let path = paths.to_nic(system, gpu, nic);
    let over_server = || {
        let server = paths.gpu_of_nic(nic)?;
        let over_c2c = settings.pxn_over_c2c.unwrap_or(rules.links.pxn_over_c2c);
        let nearest = if over_c2c { PathType::P2c } else { PathType::Pxb };
        let reachable = paths.between_gpus(system, server, gpu).kind <= PathType::Nvl;
        let near = paths.to_nic(system, server, nic).kind <= nearest;
        (reachable && near).then_some(ChannelNic { nic, proxy: server })
    };
    let on_rail = match level {
        1 if path.kind <= PathType::Pxn => Some(ChannelNic { nic, proxy: path.proxy.unwrap_or(gpu) }),
        2 => over_server(),
        _ => None,
    };
    let always_on_rail = (settings.cross_nic == 0).then_some(ChannelNic { nic, proxy: gpu });
    Some(on_rail.or(always_on_rail).unwrap_or(own))
}
