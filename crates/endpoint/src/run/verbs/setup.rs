//! Set-up of driver `verbs`: creates queue pairs and the completion queue, registers memory, connects to
//! peers.

use super::adapter::{flow_label, traffic_class};
use super::address::{Address, End, Slots, Target, unknown_pair};
use super::receiver::{RECEIVES, Receiver, SLOTS, UNRELIABLE_RECEIVES};
use super::sender::Sender;
use super::timestamps::Stamps;
use super::work::{Rules, Work};
use super::{CREDIT_RECEIVES, INDEX_SHIFT, IS_RECEIVER, RdmaVerbs, Resources};
use crate::limit::RateLimit;
use crate::run::RunError;
use crate::run::messages::Messages;
use crate::run::peers::Peers;
use crate::run::roce::memory::Regions;
use crate::run::round_robin::RoundRobin;
use crate::run::share::LocalPair;
use crate::verbs::{CompletionQueue, DeviceClock, Path, QueuePair, Registered, VerbsError};
use rustix::rand::{GetRandomFlags, getrandom};
use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;

/// Send queue size of a receiver, for its credits: one at a time.
const CREDITS_IN_FLIGHT: u32 = 1;
/// Minimum completion queue entries per queue pair.
const ENTRIES_MIN: u32 = 2 + CREDIT_RECEIVES;

/// Queue sizes.
#[derive(Clone, Copy, Debug)]
struct Depths {
    sends: u32,
    receives: u32,
    /// Entries of the completion queue.
    entries: u32,
}

/// Random first PSN, unlikely to match an earlier connection.
fn random_psn() -> io::Result<u32> {
    let mut bytes = [0; 4];
    getrandom(&mut bytes, GetRandomFlags::empty()).map_err(io::Error::from)?;
    Ok(u32::from_le_bytes(bytes) & 0xff_ffff)
}

fn is_remote(pair: &&LocalPair) -> bool {
    !pair.queue_pair.is_local()
}

impl RdmaVerbs {
    /// Creates the queue pairs of this host and their common resources.
    pub(super) fn make(&mut self, senders: &[LocalPair], receivers: &[LocalPair]) -> Result<(), RunError> {
        let remote = |pairs: &[LocalPair]| pairs.iter().filter(is_remote).count() as u32;
        let depths = self.depths(remote(senders), remote(receivers))?;
        let regions = Regions::new(&self.jobs, &self.spec, |host| host);
        let slots = self.slot_count();
        let bytes: u64 = receivers.iter().filter(is_remote).map(|pair| regions.of(pair) * slots).sum();
        let device = &self.adapter.device;
        let device_clock = self.settings.completion_time_stamps.then(|| DeviceClock::of(device)).flatten();
        let completions = CompletionQueue::new(device, depths.entries, device_clock.is_some())?;
        let device_clock = device_clock.filter(|_| completions.has_stamps());
        self.stamps = device_clock.and_then(|device_clock| Stamps::new(device_clock, self.clock).ok());
        let resources = Resources {
            completions: Arc::new(completions),
            source: Registered::to_read(device, regions.whole())?,
            target: Registered::to_write(device, bytes.max(1) as usize)?,
        };
        self.add_senders(senders, &resources, &regions, depths)?;
        self.add_receivers(receivers, &resources, &regions, depths)?;
        self.counts.queue_pairs = (remote(senders) + remote(receivers)).into();
        self.counts.send_queue_depth = depths.sends.into();
        self.counts.message_bytes_max = self.part_bytes();
        self.to_send = RoundRobin::of(senders.len());
        self.resources = Some(resources);
        Ok(())
    }

    /// Connection data of this host.
    pub(super) fn address(&self) -> Address {
        let senders = self.senders.iter().flatten().map(|sender| (sender.number, sender.end));
        let receivers = self.receivers.iter().map(|receiver| (receiver.number, receiver.target));
        Address {
            gid: self.adapter.gid.gid,
            message_bytes: self.part_bytes(),
            senders: senders.collect(),
            receivers: receivers.collect(),
        }
    }

    /// Connects all queue pairs to their remote ends.
    pub(super) fn join(
        &mut self,
        peers: &BTreeMap<u32, Vec<u8>>,
        senders: &[LocalPair],
        receivers: &[LocalPair],
    ) -> Result<(), RunError> {
        let peers = Peers::<Address>::read(peers)?;
        let sources = receivers.iter().filter(is_remote).map(|pair| pair.queue_pair.src_host.0);
        let destinations = senders.iter().filter(is_remote).map(|pair| pair.queue_pair.dst_host.0);
        for host in sources.chain(destinations) {
            peers.of(host)?.allowed_ip(host, &self.settings)?;
        }
        let remote = receivers.iter().filter(is_remote);
        for (index, pair) in remote.enumerate() {
            let (host, number) = (pair.queue_pair.src_host.0, pair.queue_pair.number);
            let peer = peers.of(host)?;
            let at = peer.allowed_ip(host, &self.settings)?;
            let other = *peer.senders.get(&number).ok_or_else(|| unknown_pair(host, number))?;
            let receiver = &self.receivers[index];
            let path = self.path(pair, peer, [receiver.target.end, other]);
            receiver
                .queue_pair
                .connect(&path)
                .map_err(|error| error.of_pair(&name(number, "from", host, at)))?;
            if self.is_unreliable() {
                let message_bytes = peer.message_bytes.min(receiver.target.memory.bytes).max(1);
                let messages = Messages::new(&self.jobs, number, message_bytes);
                self.receivers[index].set_messages(messages);
            }
        }
        for (index, pair) in senders.iter().enumerate().filter(|(_, pair)| is_remote(pair)) {
            let (host, number) = (pair.queue_pair.dst_host.0, pair.queue_pair.number);
            let peer = peers.of(host)?;
            let at = peer.allowed_ip(host, &self.settings)?;
            let other = *peer.receivers.get(&number).ok_or_else(|| unknown_pair(host, number))?;
            let Some(sender) = &self.senders[index] else { continue };
            let path = self.path(pair, peer, [sender.end, other.end]);
            let name = name(number, "to", host, at);
            sender.queue_pair.connect(&path).map_err(|error| error.of_pair(&name))?;
            if let Some(sender) = &mut self.senders[index] {
                sender.set_target(other.memory, name)?;
            }
        }
        Ok(())
    }

    fn slot_count(&self) -> u64 {
        if self.settings.verify { SLOTS.into() } else { 1 }
    }

    /// Queue sizes with which all completions fit into the completion queue.
    fn depths(&self, senders: u32, receivers: u32) -> Result<Depths, VerbsError> {
        let [pairs_max, requests_max, entries_max] = self.adapter.device.limits()?;
        let (pairs, device) = (senders + receivers, || self.adapter.device.name().into());
        let too_many = |resource, most: u32, needed: u32| VerbsError::TooMany {
            device: device(),
            resource,
            most: most.into(),
            needed: needed.into(),
        };
        if pairs > pairs_max {
            return Err(too_many("queue pairs", pairs_max, pairs));
        }
        let each = entries_max / pairs.max(1);
        if each < ENTRIES_MIN {
            let needed = pairs.saturating_mul(ENTRIES_MIN);
            return Err(too_many("entries in a completion queue", entries_max, needed));
        }
        let most = requests_max.min(each - CREDIT_RECEIVES);
        let receives = if self.is_unreliable() { UNRELIABLE_RECEIVES } else { RECEIVES };
        let (sends, receives) = (self.settings.send_queue_depth.min(most), receives.min(most));
        let entries = senders * (sends + CREDIT_RECEIVES) + receivers * (receives + CREDITS_IN_FLIGHT);
        Ok(Depths { sends, receives, entries: entries.max(1) })
    }

    /// Maximum write size: the plan's message size, limited by the adapter and the rate limit [bytes].
    pub(super) fn part_bytes(&self) -> u64 {
        let limited = self.settings.rate_limit_bps.map_or(u64::MAX, RateLimit::call_bytes);
        let most = self.adapter.port.message_bytes_max.into();
        self.spec.transport.message_bytes.min(most).min(limited).max(1)
    }

    fn path(&self, pair: &LocalPair, peer: &Address, ends: [End; 2]) -> Path {
        let [own, other] = ends;
        Path {
            gid: peer.gid,
            number: other.number,
            gid_index: self.adapter.gid.index,
            port: self.adapter.gid.port,
            flow_label: flow_label(&pair.queue_pair),
            traffic_class: traffic_class(self.settings.dscp_of(&self.spec, Some(pair.queue_pair.job)).data),
            mtu_bytes: self.spec.transport.mtu_bytes,
            first_psns: [own.first_psn, other.first_psn],
            timing: self.timing,
        }
    }

    fn add_senders(
        &mut self,
        senders: &[LocalPair],
        resources: &Resources,
        regions: &Regions,
        depths: Depths,
    ) -> Result<(), RunError> {
        let rules = Rules {
            part_bytes: self.part_bytes(),
            depth: depths.sends,
            signal_every: self.settings.signal_every,
            is_unreliable: self.is_unreliable(),
        };
        let whole = regions.whole().as_ptr() as u64;
        for (index, pair) in (0_u64..).zip(senders) {
            if !is_remote(&pair) {
                self.senders.push(None);
                continue;
            }
            let queue_pair = QueuePair::new(
                &resources.completions,
                self.adapter.gid.port,
                depths.sends,
                CREDIT_RECEIVES,
                self.is_unreliable(),
            )?;
            let begins = regions.pattern(pair).bytes().as_ptr() as u64 - whole;
            let from = (resources.source.address() + begins, resources.source.local_key());
            let end = End { number: queue_pair.number(), first_psn: random_psn()? };
            let (number, id) = (pair.queue_pair.number, index << INDEX_SHIFT);
            self.senders.push(Some(Sender::new(queue_pair, number, end, id, Work::new(from, rules))));
        }
        Ok(())
    }

    fn add_receivers(
        &mut self,
        receivers: &[LocalPair],
        resources: &Resources,
        regions: &Regions,
        depths: Depths,
    ) -> Result<(), RunError> {
        let count = self.slot_count() as u32;
        let mut from = 0;
        for (index, pair) in (0_u64..).zip(receivers.iter().filter(is_remote)) {
            let queue_pair = QueuePair::new(
                &resources.completions,
                self.adapter.gid.port,
                CREDITS_IN_FLIGHT,
                depths.receives,
                self.is_unreliable(),
            )?;
            let (address, key) = (resources.target.address() + from, resources.target.remote_key());
            let slots = Slots { address, key, bytes: regions.of(pair), count };
            let end = End { number: queue_pair.number(), first_psn: random_psn()? };
            let expected = self.settings.verify.then(|| (regions.pattern(pair), from as usize));
            from += slots.bytes * u64::from(count);
            let id = index << INDEX_SHIFT | IS_RECEIVER;
            let (number, target) = (pair.queue_pair.number, Target { end, memory: slots });
            let mut receiver = Receiver::new(queue_pair, id, number, target, depths.receives, expected);
            receiver.clear(&resources.target);
            receiver.post_receives()?;
            self.receivers.push(receiver);
        }
        Ok(())
    }
}

/// Name of a queue pair in errors.
fn name(number: u32, preposition: &str, host: u32, at: Ipv4Addr) -> String {
    format!("queue pair {number} {preposition} host {host} at {at}")
}
