//! Pools of a packet buffer, as chips divide it: accounts of their occupancy, admission of frames, and
//! requests for pauses.
//!
//! A frame is accounted twice. At its ingress it counts for its priority group, one (ingress port, priority):
//! first for the group's reserve, then for the shared part of its pool, up to the group's limit, which is
//! fixed or a fraction of the free part. A lossless group that would exceed either requests a pause; from
//! then on its frames use its headroom, which may be part of a headroom shared by the groups of the pool. At
//! its egress the frame counts for its queue, which has a reserve, a limit and a pool in the same manner. A
//! frame that does not fit is dropped. If a pool has its own XOFF threshold, or pauses all groups when it is
//! full, every lossless group of it that occupies some of the shared part requests a pause, until the pool is
//! below the threshold again or the group is within its reserve.
//!
//! A chip of several switches has one set of pools. Pools always use the exact path. Leaves out limits by
//! colour, cells other than whole ones for each frame, multicast, and limits that differ between ports.

use super::buffer::{Admission, DropCause};
use super::readout::{PauseEnd, Surplus};
use crate::packet::Priority;
use crate::switch::queue::BufferedFrame;
use spec::{PoolPauseSpec, PoolXoffSpec, XoffSpec};
use std::collections::VecDeque;
use units::State;

/// Limits of each group or queue of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Profile {
    /// Reserve of each [bytes].
    pub(crate) reserved_bytes: u64,
    /// Limit in the shared part of the pool.
    pub(crate) limit: Option<XoffSpec>,
}

/// An ingress or egress pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PoolPlan {
    /// Bit `p` is set if the groups or queues of priority `p` belong to it.
    pub(crate) priorities: u8,
    /// Size, including the headroom of groups if that is part of the pool.
    pub(crate) size_bytes: u64,
    /// Profiles of lossy groups, or of queues, of each priority.
    pub(crate) profiles: [Profile; Priority::COUNT],
}

impl PoolPlan {
    /// Reserves of a port for the groups or queues of the given priorities of the pool [bytes].
    fn reserved_bytes(&self, priorities: u8) -> u64 {
        let has = |priority: &usize| self.priorities & priorities & 1 << priority != 0;
        (0..Priority::COUNT).filter(has).map(|priority| self.profiles[priority].reserved_bytes).sum()
    }
}

/// A pool of priority groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IngressPlan {
    pub(crate) pool: PoolPlan,
    /// Headroom shared by its groups [bytes]; `None` if each has its own.
    pub(crate) headroom_bytes: Option<u64>,
    /// Whether headroom is part of the pool's size.
    pub(crate) headroom_in_size: bool,
    pub(crate) xoff: Option<PoolXoffSpec>,
}

/// Parameters of the lossless groups of every pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LosslessProfile {
    /// Bit `p` is set for a lossless priority `p`.
    pub(crate) priorities: u8,
    pub(crate) profile: Profile,
    pub(crate) xon_offset_bytes: u64,
    /// Headroom of each port, for each lossless priority.
    pub(crate) headroom_bytes: Vec<u64>,
}

/// Division of a buffer into pools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PoolsPlan {
    pub(crate) size_bytes: u64,
    pub(crate) ingress: Vec<IngressPlan>,
    pub(crate) egress: Vec<PoolPlan>,
    pub(crate) lossless: LosslessProfile,
    /// Whether each port leads to a host.
    pub(crate) to_host: Vec<bool>,
}

impl PoolsPlan {
    /// Part of the size of `pool` reserved for its groups [bytes].
    pub(crate) fn ingress_reserves(&self, pool: &IngressPlan) -> u64 {
        let lossless = pool.pool.priorities & self.lossless.priorities;
        let of_lossless = u64::from(lossless.count_ones()) * self.lossless.profile.reserved_bytes;
        let each = of_lossless + pool.pool.reserved_bytes(!lossless);
        let headroom = if pool.headroom_in_size { self.headroom(pool) } else { 0 };
        each * self.to_host.len() as u64 + headroom
    }

    /// Part of the size of `pool` reserved for its queues [bytes].
    pub(crate) fn egress_reserves(&self, pool: &PoolPlan) -> u64 {
        pool.reserved_bytes(u8::MAX) * self.to_host.len() as u64
    }

    /// Part of the buffer that `pool` and its headroom take [bytes].
    pub(crate) fn taken(&self, pool: &IngressPlan) -> u64 {
        pool.pool.size_bytes + if pool.headroom_in_size { 0 } else { self.headroom(pool) }
    }

    /// Headroom of `pool`: shared by its groups, or the sum of theirs [bytes].
    pub(crate) fn headroom(&self, pool: &IngressPlan) -> u64 {
        let priorities = (pool.pool.priorities & self.lossless.priorities).count_ones();
        let all = self.lossless.headroom_bytes.iter().sum::<u64>() * u64::from(priorities);
        pool.headroom_bytes.unwrap_or(all)
    }
}

/// Account of one pool, on one side.
#[derive(Clone, Debug, State)]
struct Pool {
    /// Size without reserves.
    #[state(skip)]
    shared_size: u64,
    shared_used: u64,
    #[state(skip)]
    profiles: [Profile; Priority::COUNT],
}

impl Pool {
    const fn new(plan: &PoolPlan, reserves: u64) -> Self {
        let shared_size = plan.size_bytes.saturating_sub(reserves);
        Self { shared_size, shared_used: 0, profiles: plan.profiles }
    }

    /// Limits of each group or queue of a priority.
    const fn profile(&self, priority: Priority) -> Profile {
        self.profiles[priority.index()]
    }

    /// Whether an account with this profile and occupancy `used` may store `charge` more.
    fn admits(&self, profile: Profile, used: u64, charge: u64) -> bool {
        let (before, after) = (shared(profile, used), shared(profile, used + charge));
        let free = self.shared_size - self.shared_used;
        after == before
            || (after - before <= free && profile.limit.is_none_or(|limit| after <= threshold(limit, free)))
    }

    /// Changes the occupancy of an account with this profile from `before` to `after`.
    const fn change(&mut self, profile: Profile, before: u64, after: u64) {
        self.shared_used = self.shared_used + shared(profile, after) - shared(profile, before);
    }
}

/// Part of an occupancy of `used` that is in the shared part.
const fn shared(profile: Profile, used: u64) -> u64 {
    used.saturating_sub(profile.reserved_bytes)
}

const fn threshold(limit: XoffSpec, free: u64) -> u64 {
    match limit {
        XoffSpec::Static { bytes } => bytes,
        XoffSpec::Dynamic { alpha } => alpha.of(free),
    }
}

/// A pool of priority groups.
#[derive(Clone, Debug, State)]
struct IngressPool {
    #[state(skip)]
    priorities: u8,
    pool: Pool,
    #[state(skip)]
    headroom_size: u64,
    headroom_used: u64,
    #[state(skip)]
    xoff: Option<PoolXoffSpec>,
    /// Upper bound of the shared part that is being read out of its groups.
    reading: u64,
    /// The groups have exceeded the pool's XOFF threshold and have not fallen below it since.
    is_over: bool,
}

impl IngressPool {
    /// Occupancy of the shared part above which all groups request a pause.
    fn xoff_bytes(&self, xoff: PoolXoffSpec) -> u64 {
        xoff.bytes.unwrap_or(self.pool.shared_size)
    }

    /// Whether the groups exceed the threshold, or `more` does not fit in addition.
    fn is_crossed(&self, more: u64) -> bool {
        let used = self.pool.shared_used;
        let has_no_room = used > 0 && used + more > self.pool.shared_size;
        self.xoff.is_some_and(|xoff| used > self.xoff_bytes(xoff) || has_no_room)
    }

    /// Whether the groups do not exceed the threshold with `more`.
    fn stays_below(&self, more: u64) -> bool {
        let used = self.pool.shared_used + more;
        self.xoff.is_none_or(|xoff| used <= self.xoff_bytes(xoff).min(self.pool.shared_size))
    }

    /// Whether the occupancy is low enough to end the pauses of all groups.
    fn is_low(&self) -> bool {
        let low = |xoff: PoolXoffSpec| self.xoff_bytes(xoff).saturating_sub(xoff.offset_bytes);
        self.xoff.is_none_or(|xoff| self.pool.shared_used <= low(xoff))
    }
}

/// Occupancy of a priority group.
#[derive(Clone, Copy, Debug, Default, State)]
struct Group {
    /// Outside its headroom.
    used: u64,
    headroom_used: u64,
    /// Part of both that is being read out.
    reading: u64,
    is_pausing: bool,
}

/// A group starts (`is_start`) or stops requesting a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PauseChange {
    pub(crate) ingress: u16,
    pub(crate) priority: Priority,
    pub(crate) is_start: bool,
}

/// Accounting data of a frame in the switch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passage {
    pub(crate) ingress: u16,
    pub(crate) egress: u16,
    pub(crate) priority: Priority,
    /// Buffer space that it occupies, in whole cells.
    pub(crate) charge: u64,
}

impl Passage {
    pub(crate) const fn new(frame: BufferedFrame, egress: u16, charge: u64) -> Self {
        Self { ingress: frame.ingress, egress, priority: frame.priority, charge }
    }
}

/// Occupancy of a buffer divided into pools.
#[derive(Clone, Debug, State)]
pub(crate) struct Pools {
    #[state(skip)]
    size: u64,
    stored: u64,
    ingress: Vec<IngressPool>,
    egress: Vec<Pool>,
    /// Index of the pool of each priority.
    #[state(skip)]
    pool_of_groups: [Option<usize>; Priority::COUNT],
    #[state(skip)]
    pool_of_queues: [Option<usize>; Priority::COUNT],
    #[state(skip)]
    lossless: LosslessProfile,
    #[state(skip)]
    to_host: Vec<bool>,
    /// By priority and port.
    groups: Vec<Group>,
    queues: Vec<u64>,
    pausing: u32,
    #[state(only_if = VecDeque::is_empty)]
    changes: VecDeque<PauseChange>,
}

impl Pools {
    pub(crate) fn new(plan: PoolsPlan) -> Self {
        let accounts = plan.to_host.len() * Priority::COUNT;
        let pool_of = |masks: Vec<u8>| {
            let of = |priority: usize| masks.iter().position(|mask| mask & 1 << priority != 0);
            std::array::from_fn(of)
        };
        let pool = |each: &IngressPlan| IngressPool {
            priorities: each.pool.priorities,
            pool: Pool::new(&each.pool, plan.ingress_reserves(each)),
            headroom_size: plan.headroom(each),
            headroom_used: 0,
            xoff: each.xoff,
            reading: 0,
            is_over: false,
        };
        Self {
            size: plan.size_bytes,
            stored: 0,
            ingress: plan.ingress.iter().map(pool).collect(),
            egress: plan.egress.iter().map(|pool| Pool::new(pool, plan.egress_reserves(pool))).collect(),
            pool_of_groups: pool_of(plan.ingress.iter().map(|each| each.pool.priorities).collect()),
            pool_of_queues: pool_of(plan.egress.iter().map(|pool| pool.priorities).collect()),
            lossless: plan.lossless,
            to_host: plan.to_host,
            groups: vec![Group::default(); accounts],
            queues: vec![0; accounts],
            pausing: 0,
            changes: VecDeque::new(),
        }
    }

    fn index(&self, port: u16, priority: Priority) -> usize {
        priority.index() * self.to_host.len() + usize::from(port)
    }

    const fn is_lossless(&self, priority: Priority) -> bool {
        self.lossless.priorities & priority.bit() != 0
    }

    /// Limits of each group of a priority of `pool`.
    fn profile(&self, pool: usize, priority: Priority) -> Profile {
        if self.is_lossless(priority) {
            self.lossless.profile
        } else {
            self.ingress[pool].pool.profile(priority)
        }
    }

    /// Total stored [bytes].
    pub(crate) const fn stored(&self) -> u64 {
        self.stored
    }

    /// Whether a group requests a pause now.
    pub(crate) fn is_pausing(&self, ingress: u16, priority: Priority) -> bool {
        self.pausing > 0 && self.groups[self.index(ingress, priority)].is_pausing
    }

    /// Removes the oldest change of a pause request that has not been processed.
    pub(crate) fn next_change(&mut self) -> Option<PauseChange> {
        self.changes.pop_front()
    }

    /// Whether any group requests a pause.
    pub(crate) const fn any_pausing(&self) -> bool {
        self.pausing > 0
    }

    /// Stores a frame if that reaches no limit and no threshold of its pool; returns whether it did.
    pub(crate) fn store_if_it_fits(&mut self, frame: Passage) -> bool {
        let Passage { ingress, egress, priority, charge } = frame;
        let (index, queue) = (self.index(ingress, priority), self.index(egress, priority));
        let (group, pool) = (self.groups[index], self.pool_of_groups[priority.index()]);
        let fits_group = pool.is_none_or(|pool| {
            let own = &self.ingress[pool];
            let profile = self.profile(pool, priority);
            own.pool.admits(profile, group.used, charge) && !own.is_over && own.stays_below(charge)
        });
        let has_memory = self.stored + charge <= self.size;
        let fits = fits_group && !group.is_pausing && has_memory && self.fits_queue(priority, queue, charge);
        if fits {
            self.store(pool, index, priority, charge);
            self.store_in_queue(priority, queue, charge);
        }
        fits
    }

    /// Whether an egress queue may store `charge` more.
    fn fits_queue(&self, priority: Priority, queue: usize, charge: u64) -> bool {
        let pool = self.pool_of_queues[priority.index()].map(|pool| &self.egress[pool]);
        pool.is_none_or(|pool| pool.admits(pool.profile(priority), self.queues[queue], charge))
    }

    /// Adds `charge` to an egress queue.
    fn store_in_queue(&mut self, priority: Priority, queue: usize, charge: u64) {
        let before = self.queues[queue];
        self.queues[queue] += charge;
        if let Some(pool) = self.pool_of_queues[priority.index()] {
            let pool = &mut self.egress[pool];
            pool.change(pool.profile(priority), before, before + charge);
        }
        self.stored += charge;
    }

    /// Decides on an arriving frame and stores it if admitted.
    pub(crate) fn admit(&mut self, frame: Passage) -> Admission {
        let Passage { ingress, egress, priority, charge } = frame;
        let queue = self.index(egress, priority);
        if !self.fits_queue(priority, queue, charge) {
            return Admission::Dropped(DropCause::Tail);
        }
        let admission = if self.is_lossless(priority) {
            self.admit_lossless(ingress, priority, charge)
        } else {
            self.admit_lossy(ingress, priority, charge)
        };
        if admission == Admission::Stored {
            self.store_in_queue(priority, queue, charge);
        }
        admission
    }

    fn admit_lossy(&mut self, ingress: u16, priority: Priority, charge: u64) -> Admission {
        let group = self.index(ingress, priority);
        let pool = self.pool_of_groups[priority.index()];
        let fits = pool.is_none_or(|pool| {
            self.ingress[pool].pool.admits(self.profile(pool, priority), self.groups[group].used, charge)
        });
        if !fits || self.stored + charge > self.size {
            return Admission::Dropped(DropCause::Tail);
        }
        self.store(pool, group, priority, charge);
        Admission::Stored
    }

    fn admit_lossless(&mut self, ingress: u16, priority: Priority, charge: u64) -> Admission {
        let Some(pool) = self.pool_of_groups[priority.index()] else {
            return Admission::Dropped(DropCause::Headroom);
        };
        let index = self.index(ingress, priority);
        let (profile, group, own) = (self.lossless.profile, self.groups[index], &self.ingress[pool]);
        let takes = shared(profile, group.used + charge) - shared(profile, group.used);
        let is_within = own.pool.admits(profile, group.used, charge) && !(own.is_over && takes > 0);
        let has_memory = self.stored + charge <= self.size;
        if is_within && !group.is_pausing && has_memory {
            self.store(Some(pool), index, priority, charge);
            return Admission::Stored;
        }
        self.check_pool(pool, takes);
        let room = self.lossless.headroom_bytes[usize::from(ingress)];
        let own = &mut self.ingress[pool];
        let fits = group.headroom_used + charge <= room
            && own.headroom_used + charge <= own.headroom_size
            && has_memory;
        if fits {
            own.headroom_used += charge;
            self.groups[index].headroom_used += charge;
        }
        // Even a lost frame requests the pause that should have been requested earlier. An empty group
        // requests none: no frame would ever leave it and end the pause.
        let Group { used, headroom_used, .. } = self.groups[index];
        if used + headroom_used > 0 {
            self.request_pause(ingress, priority);
        }
        if fits { Admission::Stored } else { Admission::Dropped(DropCause::Headroom) }
    }

    /// Stores a frame of a group outside its headroom.
    fn store(&mut self, pool: Option<usize>, group: usize, priority: Priority, charge: u64) {
        let before = self.groups[group].used;
        self.groups[group].used += charge;
        let Some(index) = pool else { return };
        let profile = self.profile(index, priority);
        self.ingress[index].pool.change(profile, before, before + charge);
        self.check_pool(index, 0);
    }

    /// Lets the groups of a pool request a pause if the pool now exceeds its threshold, or has no room for
    /// `more`.
    fn check_pool(&mut self, pool: usize, more: u64) {
        let own = &mut self.ingress[pool];
        if !own.is_over && own.is_crossed(more) {
            own.is_over = true;
            self.pause_pool(pool);
        }
    }

    /// Lets the groups of a pool that exceeds its threshold request a pause.
    #[cold]
    fn pause_pool(&mut self, pool: usize) {
        let pauses_hosts =
            self.ingress[pool].xoff.is_some_and(|xoff| xoff.pauses == PoolPauseSpec::HostPorts);
        for (ingress, priority) in self.lossless_groups(pool) {
            let uses_shared =
                shared(self.lossless.profile, self.groups[self.index(ingress, priority)].used) > 0;
            if uses_shared || (pauses_hosts && self.to_host[usize::from(ingress)]) {
                self.request_pause(ingress, priority);
            }
        }
    }

    /// Lossless groups of a pool, port by port.
    fn lossless_groups(&self, pool: usize) -> impl Iterator<Item = (u16, Priority)> + use<> {
        let mask = self.ingress[pool].priorities & self.lossless.priorities;
        let priorities = (0..8).map(Priority).filter(move |priority| mask & priority.bit() != 0);
        let ports = self.to_host.len() as u16;
        (0..ports).flat_map(move |port| priorities.clone().map(move |priority| (port, priority)))
    }

    fn request_pause(&mut self, ingress: u16, priority: Priority) {
        let index = self.index(ingress, priority);
        if !std::mem::replace(&mut self.groups[index].is_pausing, true) {
            self.pausing += 1;
            self.changes.push_back(PauseChange { ingress, priority, is_start: true });
        }
    }

    /// Starts the transmission of a frame; the accounts include it.
    pub(crate) fn begin_readout(&mut self, frame: Passage) {
        let Passage { ingress, priority, charge, .. } = frame;
        let index = self.index(ingress, priority);
        self.groups[index].reading += charge;
        if let Some(pool) = self.pool_of_groups[priority.index()] {
            self.ingress[pool].reading += charge;
        }
    }

    /// Removes part of a frame in transmission.
    pub(crate) fn read_out(&mut self, frame: Passage) {
        let Passage { ingress, priority, charge, .. } = frame;
        let index = self.index(ingress, priority);
        self.groups[index].reading -= charge;
        if let Some(pool) = self.pool_of_groups[priority.index()] {
            self.ingress[pool].reading -= charge;
        }
        self.release(frame);
    }

    /// Bytes that must leave a group before its pause ends, and its pool before the pauses of all end.
    pub(crate) fn pause_end(&self, ingress: u16, priority: Priority) -> PauseEnd {
        let Some(pool) = self.pool_of_groups[priority.index()] else { return PauseEnd::NONE };
        let own = &self.ingress[pool];
        let of_pool = match own.xoff.filter(|_| own.is_over) {
            None => Surplus::ENDLESS,
            Some(xoff) => {
                let low = own.xoff_bytes(xoff).saturating_sub(xoff.offset_bytes);
                Surplus { bytes: own.pool.shared_used.saturating_sub(low), reading: own.reading }
            }
        };
        // Thresholds move with every departure: recomputed with each of them.
        PauseEnd { surplus: [self.surplus_of(own, ingress, priority), of_pool], again_at_free: 0 }
    }

    /// Bytes that must leave a group before its pause ends.
    fn surplus_of(&self, own: &IngressPool, ingress: u16, priority: Priority) -> Surplus {
        let Group { used, headroom_used, reading, is_pausing } = self.groups[self.index(ingress, priority)];
        let is_host_paused = own.is_over
            && self.to_host[usize::from(ingress)]
            && own.xoff.is_some_and(|xoff| xoff.pauses == PoolPauseSpec::HostPorts);
        if !is_pausing || is_host_paused {
            return Surplus::ENDLESS;
        }
        let profile = self.lossless.profile;
        let free = (own.pool.shared_size - own.pool.shared_used).saturating_add(own.reading);
        let xoff_bytes = profile.limit.map_or(u64::MAX, |limit| threshold(limit, free));
        let low = if own.is_over { 0 } else { xoff_bytes.saturating_sub(self.lossless.xon_offset_bytes) };
        // Departures are taken out of the headroom first.
        let surplus = used.saturating_sub(profile.reserved_bytes.saturating_add(low));
        Surplus { bytes: headroom_used + surplus, reading }
    }

    /// Removes a frame whose transmission starts, or that is lost in its queue.
    pub(crate) fn release(&mut self, frame: Passage) {
        let Passage { ingress, egress, priority, charge } = frame;
        self.stored -= charge;
        let queue = self.index(egress, priority);
        let before = self.queues[queue];
        self.queues[queue] -= charge;
        if let Some(pool) = self.pool_of_queues[priority.index()] {
            let pool = &mut self.egress[pool];
            pool.change(pool.profile(priority), before, before - charge);
        }
        let index = self.index(ingress, priority);
        let group = &mut self.groups[index];
        let from_headroom = charge.min(group.headroom_used);
        let before = group.used;
        group.headroom_used -= from_headroom;
        group.used -= charge - from_headroom;
        let after = group.used;
        let Some(pool) = self.pool_of_groups[priority.index()] else { return };
        let profile = self.profile(pool, priority);
        let own = &mut self.ingress[pool];
        own.headroom_used -= from_headroom;
        own.pool.change(profile, before, after);
        if own.is_over && own.is_low() {
            own.is_over = false;
            self.lossless_groups(pool).for_each(|(ingress, priority)| self.end_pause(ingress, priority));
        } else {
            self.end_pause(ingress, priority);
        }
    }

    /// Ends the pause of a group if it is no longer needed.
    pub(crate) fn end_pause(&mut self, ingress: u16, priority: Priority) {
        let index = self.index(ingress, priority);
        let group = self.groups[index];
        let Some(pool) = self.pool_of_groups[priority.index()].filter(|_| group.is_pausing) else { return };
        let IngressPool { pool, xoff, is_over, .. } = &self.ingress[pool];
        let profile = self.lossless.profile;
        let shared_bytes = shared(profile, group.used);
        let xoff_bytes =
            profile.limit.map_or(u64::MAX, |limit| threshold(limit, pool.shared_size - pool.shared_used));
        let low = xoff_bytes.saturating_sub(self.lossless.xon_offset_bytes);
        let is_host_paused = *is_over
            && self.to_host[usize::from(ingress)]
            && xoff.is_some_and(|xoff| xoff.pauses == PoolPauseSpec::HostPorts);
        let ends = if *is_over {
            shared_bytes == 0 && !is_host_paused
        } else {
            shared_bytes <= low || group.used == 0
        };
        if ends && group.headroom_used == 0 {
            self.groups[index].is_pausing = false;
            self.pausing -= 1;
            self.changes.push_back(PauseChange { ingress, priority, is_start: false });
        }
    }

    /// Describes an inconsistency of the accounts, if there is one. The bytes of each pool must be the sum of
    /// those of its groups or queues and at most its size, and the sum of both sides must equal the stored
    /// bytes.
    pub(crate) fn fault(&self) -> Option<String> {
        let ports = self.to_host.len();
        let priority_of = |index: usize| Priority((index / ports) as u8);
        let (mut stored, mut pausing) = (0, 0);
        let mut sums = vec![(0, 0); self.ingress.len()];
        for (index, group) in self.groups.iter().enumerate() {
            stored += group.used + group.headroom_used;
            pausing += u32::from(group.is_pausing);
            if group.headroom_used > self.lossless.headroom_bytes.get(index % ports).copied().unwrap_or(0) {
                return Some(format!("group {index} has {} bytes of headroom", group.headroom_used));
            }
            if let Some(pool) = self.pool_of_groups[priority_of(index).index()] {
                sums[pool].0 += shared(self.profile(pool, priority_of(index)), group.used);
                sums[pool].1 += group.headroom_used;
            }
        }
        for (IngressPool { pool, headroom_size, headroom_used, .. }, sum) in self.ingress.iter().zip(sums) {
            let is_sound = (pool.shared_used, *headroom_used) == sum
                && pool.shared_used <= pool.shared_size
                && headroom_used <= headroom_size;
            if !is_sound {
                return Some(format!("groups hold {sum:?} of {pool:?} with headroom {headroom_used}"));
            }
        }
        let mut sums = vec![0; self.egress.len()];
        for (index, used) in self.queues.iter().enumerate() {
            if let Some(pool) = self.pool_of_queues[priority_of(index).index()] {
                sums[pool] += shared(self.egress[pool].profile(priority_of(index)), *used);
            }
        }
        for (pool, sum) in self.egress.iter().zip(sums) {
            if pool.shared_used != sum || sum > pool.shared_size {
                return Some(format!("queues hold {sum} of {pool:?}"));
            }
        }
        let queued: u64 = self.queues.iter().sum();
        let is_sound =
            stored == self.stored && queued == stored && stored <= self.size && pausing == self.pausing;
        (!is_sound).then(|| format!("{stored} bytes in groups, {queued} in queues, {} stored", self.stored))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use spec::RatioSpec;

    const LOSSLESS: Priority = Priority(3);
    const LOSSY: Priority = Priority(0);
    const PORTS: usize = 3;
    const HALF: XoffSpec = XoffSpec::Dynamic { alpha: RatioSpec { numerator: 1, denominator: 2 } };

    /// Ports 0 and 1 lead to hosts. Pools of 1,000 bytes on both sides. Each lossless group has a reserve of
    /// 10, queues have none, and the groups share a headroom of 300.
    fn plan() -> PoolsPlan {
        let pool = |priorities, size_bytes, limit| PoolPlan {
            priorities,
            size_bytes,
            profiles: [Profile { reserved_bytes: 0, limit }; Priority::COUNT],
        };
        PoolsPlan {
            size_bytes: 1_300,
            ingress: vec![IngressPlan {
                pool: pool(u8::MAX, 1_030, None),
                headroom_bytes: Some(270),
                headroom_in_size: false,
                xoff: None,
            }],
            egress: vec![pool(u8::MAX, 1_300, None)],
            lossless: LosslessProfile {
                priorities: LOSSLESS.bit(),
                profile: Profile { reserved_bytes: 10, limit: Some(XoffSpec::Static { bytes: 2_000 }) },
                xon_offset_bytes: 50,
                headroom_bytes: vec![200; PORTS],
            },
            to_host: vec![true, true, false],
        }
    }

    fn passage(ingress: u16, priority: Priority, charge: u64) -> Passage {
        Passage { ingress, egress: 2, priority, charge }
    }

    /// Groups that have started (true) or stopped (false) requesting a pause.
    fn changes(pools: &mut Pools) -> Vec<(u16, bool)> {
        assert_eq!(pools.fault(), None);
        std::iter::from_fn(|| pools.next_change()).map(|change| (change.ingress, change.is_start)).collect()
    }

    #[test]
    fn a_full_pool_pauses_whom_it_has_no_room_for_and_headroom_is_shared() {
        let mut pools = Pools::new(plan());
        assert_eq!(pools.admit(passage(0, LOSSLESS, 1_010)), Admission::Stored);
        assert_eq!(changes(&mut pools), []);
        // The pool's 1,000 are in use: from now on, everything beyond the reserve of 10 uses the headroom.
        assert_eq!(pools.admit(passage(1, LOSSLESS, 10)), Admission::Stored);
        assert_eq!(changes(&mut pools), []);
        assert_eq!(pools.admit(passage(1, LOSSLESS, 200)), Admission::Stored);
        assert_eq!(changes(&mut pools), [(1, true)]);
        assert_eq!(pools.admit(passage(0, LOSSLESS, 71)), Admission::Dropped(DropCause::Headroom), "270");
        assert_eq!(pools.admit(passage(0, LOSSLESS, 70)), Admission::Stored);
        assert_eq!(changes(&mut pools), [(0, true)], "the lost frame requested it");
        pools.release(passage(1, LOSSLESS, 200));
        assert_eq!(changes(&mut pools), [(1, false)]);
        pools.release(passage(0, LOSSLESS, 1_080));
        pools.release(passage(1, LOSSLESS, 10));
        assert_eq!((changes(&mut pools), pools.stored()), (vec![(0, false)], 0));
    }

    #[test]
    fn over_its_threshold_a_pool_pauses_all_that_hold_something_until_it_is_below() {
        for pauses in [PoolPauseSpec::Holders, PoolPauseSpec::HostPorts] {
            let pauses_hosts = pauses == PoolPauseSpec::HostPorts;
            let mut plan = plan();
            plan.ingress[0].xoff = Some(PoolXoffSpec { bytes: Some(500), offset_bytes: 100, pauses });
            let mut pools = Pools::new(plan);
            pools.admit(passage(2, LOSSLESS, 30));
            assert_eq!(changes(&mut pools), []);
            pools.admit(passage(0, LOSSLESS, 510));
            let idle_host = if pauses_hosts { vec![(1, true)] } else { vec![] };
            let expected = [vec![(0, true)], idle_host, vec![(2, true)]].concat();
            assert_eq!(changes(&mut pools), expected, "of port 1 nothing is used");
            // Within its reserve the group of port 2 uses nothing of the full pool, so its pause ends.
            pools.release(passage(2, LOSSLESS, 30));
            assert_eq!(changes(&mut pools), [(2, false)]);
            pools.admit(passage(2, LOSSLESS, 8));
            assert_eq!(changes(&mut pools), []);
            pools.admit(passage(2, LOSSLESS, 8));
            assert_eq!(changes(&mut pools), [(2, true)], "beyond it");
            pools.release(passage(2, LOSSLESS, 16));
            assert_eq!(changes(&mut pools), [(2, false)]);
            pools.release(passage(0, LOSSLESS, 90));
            assert_eq!(changes(&mut pools), [], "410 are above 400");
            pools.release(passage(0, LOSSLESS, 10));
            let idle_host = if pauses_hosts { vec![(1, false)] } else { vec![] };
            assert_eq!(changes(&mut pools), [vec![(0, false)], idle_host].concat());
        }
    }

    #[test]
    fn limits_of_groups_and_queues_drop_lossy_frames() {
        let mut plan = plan();
        plan.ingress[0].pool.profiles =
            [Profile { reserved_bytes: 0, limit: Some(XoffSpec::Static { bytes: 300 }) }; 8];
        plan.egress[0].profiles = [Profile { reserved_bytes: 100, limit: Some(HALF) }; 8];
        // 24 queues reserve 2,400, more than the 1,300 of the pool.
        assert_eq!(plan.egress_reserves(&plan.egress[0]), 2_400);
        plan.egress[0].size_bytes = 3_000;
        let mut pools = Pools::new(plan);
        let dropped = Admission::Dropped(DropCause::Tail);
        assert_eq!(pools.admit(passage(0, LOSSY, 301)), dropped, "the group's limit");
        assert_eq!(pools.admit(passage(0, LOSSY, 300)), Admission::Stored, "200 beyond the queue's reserve");
        assert_eq!(pools.admit(passage(1, LOSSY, 1)), dropped, "200 are half of the 400 that are free");
        let elsewhere = Passage { egress: 1, ..passage(1, LOSSY, 200) };
        assert_eq!(pools.admit(elsewhere), Admission::Stored, "100 beyond the reserve of another queue");
        assert_eq!(pools.fault(), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn pools_contain_the_sum_of_their_owners_in_any_sequence(
            limit in prop_oneof![(1..2_000_u64).prop_map(|bytes| XoffSpec::Static { bytes }), Just(HALF)],
            lossy_limit in prop::option::of(prop_oneof![(1..900_u64).prop_map(|bytes| XoffSpec::Static { bytes }), Just(HALF)]),
            (reserved_bytes, lossy_reserved, egress_bytes) in (0..40_u64, 0..10_u64, 500..1_300_u64),
            (headroom, shared_headroom) in (0..300_u64, prop::option::of(0..270_u64)),
            xoff in prop::option::of((prop::option::of(1..900_u64), 0..300_u64, any::<bool>())),
            steps in prop::collection::vec((0..3_u16, 0..3_u16, any::<bool>(), 1..200_u64, any::<u16>()), 1..400),
        ) {
            let mut plan = plan();
            let own = &mut plan.ingress[0];
            own.pool.profiles = [Profile { reserved_bytes: lossy_reserved, limit: lossy_limit }; 8];
            own.headroom_bytes = shared_headroom;
            own.xoff = xoff.map(|(bytes, offset_bytes, pauses_hosts)| PoolXoffSpec {
                bytes,
                offset_bytes,
                pauses: if pauses_hosts { PoolPauseSpec::HostPorts } else { PoolPauseSpec::Holders },
            });
            plan.egress[0].size_bytes = egress_bytes;
            plan.lossless.profile = Profile { reserved_bytes, limit: Some(limit) };
            plan.lossless.headroom_bytes = vec![headroom; PORTS];
            let mut pools = Pools::new(plan);
            let mut frames: Vec<Passage> = Vec::new();
            let mut pausing = std::collections::BTreeSet::new();
            for (ingress, egress, is_lossless, charge, leaves) in steps {
                let priority = if is_lossless { LOSSLESS } else { LOSSY };
                let frame = Passage { ingress, egress, priority, charge };
                if leaves % 3 == 0 && !frames.is_empty() {
                    pools.release(frames.swap_remove(usize::from(leaves) % frames.len()));
                } else if pools.admit(frame) == Admission::Stored {
                    frames.push(frame);
                }
                while let Some(PauseChange { ingress, is_start, .. }) = pools.next_change() {
                    let is_new = if is_start { pausing.insert(ingress) } else { pausing.remove(&ingress) };
                    prop_assert!(is_new);
                }
                prop_assert_eq!(pools.fault(), None);
                prop_assert_eq!(pools.stored(), frames.iter().map(|frame| frame.charge).sum::<u64>());
            }
            frames.drain(..).for_each(|frame| pools.release(frame));
            while let Some(PauseChange { ingress, is_start, .. }) = pools.next_change() {
                prop_assert!(!is_start && pausing.remove(&ingress));
            }
            prop_assert_eq!(pools.fault(), None);
            prop_assert!(pausing.is_empty() && pools.stored() == 0, "an empty buffer needs no pause");
        }
    }
}
