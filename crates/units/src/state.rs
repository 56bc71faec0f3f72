//! Traits `State` and `Counter` of simulation state, by which fast-forward compares the state with that of a
//! period ago and advances it by whole periods.
//!
//! [`State`] is derived, with attributes on fields for counters and for fields that are not compared; see
//! `state_derive`. Implementations for numbers, times and collections are here.

use crate::{Cycle, Instant, NumberMap, Span};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::ops::Range;

/// A part of the state of the simulation; derived with `#[derive(State)]`.
///
/// A type without an implementation cannot be a field of a derived state:
///
/// ```compile_fail,E0277
/// # extern crate fabricbench_units as units;
/// struct Queue;
/// #[derive(units::State)]
/// struct Port {
///     queue: Queue,
/// }
/// ```
///
/// With an empty implementation it never repeats:
///
/// ```
/// # extern crate fabricbench_units as units;
/// struct Queue;
/// impl units::State for Queue {}
/// #[derive(units::State)]
/// struct Port {
///     queue: Queue,
/// }
/// ```
pub trait State {
    /// Passes every field to `cycle`, always in the same order.
    fn visit(&mut self, cycle: &mut Cycle) {
        cycle.never_repeats();
    }
}

/// A number, or several, for [`Cycle::count`] and [`Cycle::left`].
pub trait Counter {
    /// Replaces each number by the result of `next`, modulo its own range.
    fn update(&mut self, next: impl FnMut(u64) -> u64);
}

impl Counter for u64 {
    #[inline]
    fn update(&mut self, mut next: impl FnMut(u64) -> u64) {
        *self = next(*self);
    }
}

impl Counter for u32 {
    #[inline]
    fn update(&mut self, mut next: impl FnMut(u64) -> u64) {
        *self = next(u64::from(*self)) as Self;
    }
}

/// Accumulated time.
impl Counter for Span {
    #[inline]
    fn update(&mut self, next: impl FnMut(u64) -> u64) {
        self.0.update(next);
    }
}

impl<T: Counter, const N: usize> Counter for [T; N] {
    fn update(&mut self, mut next: impl FnMut(u64) -> u64) {
        self.iter_mut().for_each(|counter| counter.update(&mut next));
    }
}

/// Implements [`State`] for types whose value, as 64 bits, must be equal.
macro_rules! equal {
    ($($name:ty: |$value:ident| $bits:expr;)*) => {$(
        impl State for $name {
            #[inline]
            fn visit(&mut self, cycle: &mut Cycle) {
                let $value = *self;
                cycle.same($bits);
            }
        }
    )*};
}

equal! {
    bool: |value| value.into();
    u8: |value| value.into();
    u16: |value| value.into();
    u32: |value| value.into();
    u64: |value| value;
    usize: |value| value as u64;
    Span: |span| span.0;
}

impl State for u128 {
    fn visit(&mut self, cycle: &mut Cycle) {
        cycle.same((*self >> 64) as u64);
        cycle.same(*self as u64);
    }
}

/// See [`Cycle::time`].
impl State for Instant {
    #[inline]
    fn visit(&mut self, cycle: &mut Cycle) {
        cycle.time(self);
    }
}

impl<T: State, U: State> State for (T, U) {
    fn visit(&mut self, cycle: &mut Cycle) {
        self.0.visit(cycle);
        self.1.visit(cycle);
    }
}

impl<T: State, U: State, V: State> State for (T, U, V) {
    fn visit(&mut self, cycle: &mut Cycle) {
        self.0.visit(cycle);
        self.1.visit(cycle);
        self.2.visit(cycle);
    }
}

impl<T: State + ?Sized> State for Box<T> {
    fn visit(&mut self, cycle: &mut Cycle) {
        (**self).visit(cycle);
    }
}

impl<T: State> State for Option<T> {
    fn visit(&mut self, cycle: &mut Cycle) {
        self.is_some().visit(cycle);
        self.iter_mut().for_each(|value| value.visit(cycle));
    }
}

impl<T: State> State for Range<T> {
    fn visit(&mut self, cycle: &mut Cycle) {
        self.start.visit(cycle);
        self.end.visit(cycle);
    }
}

impl<T: State, const N: usize> State for [T; N] {
    fn visit(&mut self, cycle: &mut Cycle) {
        self.iter_mut().for_each(|item| item.visit(cycle));
    }
}

impl<T: State> State for [T] {
    fn visit(&mut self, cycle: &mut Cycle) {
        self.len().visit(cycle);
        self.iter_mut().for_each(|item| item.visit(cycle));
    }
}

impl<T: State> State for Vec<T> {
    fn visit(&mut self, cycle: &mut Cycle) {
        self.as_mut_slice().visit(cycle);
    }
}

impl<T: State> State for VecDeque<T> {
    fn visit(&mut self, cycle: &mut Cycle) {
        self.len().visit(cycle);
        self.iter_mut().for_each(|item| item.visit(cycle));
    }
}

/// In ascending order, independent of the order in memory.
impl<T: State + Ord> State for BinaryHeap<Reverse<T>> {
    fn visit(&mut self, cycle: &mut Cycle) {
        let mut items: Vec<T> = self.drain().map(|Reverse(item)| item).collect();
        items.sort_unstable();
        items.visit(cycle);
        self.extend(items.into_iter().map(Reverse));
    }
}

/// In the order of the keys, which must be equal.
impl<K: State + Copy, V: State> State for BTreeMap<K, V> {
    fn visit(&mut self, cycle: &mut Cycle) {
        self.len().visit(cycle);
        for (&(mut key), value) in self {
            key.visit(cycle);
            value.visit(cycle);
        }
    }
}

/// In the order of the keys, which must be equal.
impl<K: State + Copy + Ord, V: State> State for NumberMap<K, V> {
    fn visit(&mut self, cycle: &mut Cycle) {
        let mut entries: Vec<(K, &mut V)> = self.iter_mut().map(|(&key, value)| (key, value)).collect();
        entries.sort_unstable_by_key(|(key, _)| *key);
        entries.len().visit(cycle);
        for (mut key, value) in entries {
            key.visit(cycle);
            value.visit(cycle);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use state_derive::State;

    /// A type with every attribute.
    #[derive(Clone, Debug, PartialEq, Eq, State)]
    #[state(initial = Port::is_untouched, before = Port::sort, equal = Port::frames_lost, after = Port::refresh)]
    struct Port {
        free_at: Instant,
        queue: VecDeque<(Instant, u32)>,
        #[state(count)]
        frames: [u64; 2],
        #[state(left = 10)]
        bytes_left: u32,
        #[state(skip)]
        name: &'static str,
        #[state(only_if = Vec::is_empty)]
        resends: Vec<u64>,
        #[state(with = visit_half)]
        packed: u64,
        control: Control,
        /// The earliest time in the queue.
        next: Option<Instant>,
        unsorted: Vec<u8>,
    }

    #[derive(Clone, Debug, PartialEq, Eq, State)]
    enum Control {
        LineRate,
        Dcqcn {
            rate: u64,
        },
        #[state(never)]
        Swift,
    }

    /// The low half is a counter, the high half must be equal.
    fn visit_half(packed: &mut u64, cycle: &mut Cycle) {
        let (mut count, high) = (*packed as u32, *packed >> 32);
        cycle.same(high);
        cycle.count(&mut count);
        *packed = high << 32 | u64::from(count);
    }

    impl Port {
        fn new() -> Self {
            Self {
                free_at: Instant(1_010),
                queue: VecDeque::from([(Instant(1_020), 7), (Instant::NEVER, 8)]),
                frames: [70, 5],
                bytes_left: 1_000,
                name: "eth0",
                resends: Vec::new(),
                packed: 3 << 32 | 0xffff_fffe,
                control: Control::Dcqcn { rate: 400 },
                next: Some(Instant(1_020)),
                unsorted: vec![2, 1],
            }
        }

        /// The state one period of 100 later.
        fn next(&self) -> Self {
            let mut next = self.clone();
            next.free_at.0 += 100;
            next.queue[0].0.0 += 100;
            next.frames = [self.frames[0] + 7, self.frames[1] + 6];
            next.bytes_left -= 30;
            next.packed = self.packed >> 32 << 32 | u64::from((self.packed as u32).wrapping_add(3));
            next.refresh();
            next.sort();
            next
        }

        const fn is_untouched(&self) -> bool {
            self.frames[0] == 0
        }

        /// Frames that were counted once only.
        const fn frames_lost(&self) -> u64 {
            self.frames[0] / 7 - self.frames[1] / 6
        }

        fn sort(&mut self) {
            self.unsorted.sort_unstable();
        }

        fn refresh(&mut self) {
            self.next = self.queue.front().map(|&(at, _)| at);
        }
    }

    /// Periods that may be skipped after two looks at a state.
    fn room(before: &mut impl State, after: &mut impl State) -> u64 {
        let mut cycle = Cycle::record(Instant(1_000));
        before.visit(&mut cycle);
        cycle.compare(Instant(1_100));
        after.visit(&mut cycle);
        cycle.room()
    }

    #[test]
    fn a_derived_state_is_advanced_like_period_by_period() {
        let mut cycle = Cycle::record(Instant(1_000));
        let mut port = Port::new();
        port.visit(&mut cycle);
        port = port.next();
        cycle.compare(Instant(1_100));
        port.visit(&mut cycle);
        // 970 are left after the first period; 32 more leave 10.
        assert_eq!(cycle.room(), 32);
        let expected = (0..32).fold(port.clone(), |port, _| port.next());
        cycle.advance(32);
        port.visit(&mut cycle);
        assert_eq!(port, expected);
    }

    #[test]
    fn each_field_that_differs_ends_the_repetition() {
        let changes: [fn(&mut Port); 8] = [
            |port| port.free_at.0 += 1,
            |port| port.queue[0].1 = 6,
            |port| _ = port.queue.pop_back(),
            |port| port.frames[0] += 7,
            |port| port.resends.push(1),
            |port| port.packed ^= 1 << 32,
            |port| port.control = Control::Dcqcn { rate: 399 },
            |port| port.unsorted.push(3),
        ];
        for (index, change) in changes.into_iter().enumerate() {
            let mut next = Port::new().next();
            change(&mut next);
            assert_eq!(room(&mut Port::new(), &mut next), 0, "change {index}");
        }
        let renamed = &mut Port { name: "eth1", ..Port::new().next() };
        assert_eq!(room(&mut Port::new(), renamed), 32, "a skipped field is not compared");
    }

    #[test]
    fn an_initial_state_is_only_compared_as_such() {
        let untouched = |bytes_left| Port { frames: [0, 0], bytes_left, ..Port::new() };
        assert_eq!(room(&mut untouched(5), &mut untouched(6)), u64::MAX);
        assert_eq!(room(&mut untouched(5), &mut Port::new()), 0);
    }

    #[test]
    fn a_state_without_rules_never_repeats() {
        struct Storage;
        impl State for Storage {}
        assert_eq!(room(&mut Storage, &mut Storage), 0);
        assert_eq!(room(&mut Control::Swift, &mut Control::Swift), 0);
        assert_eq!(room(&mut Control::LineRate, &mut Control::LineRate), u64::MAX);
        assert_eq!(room(&mut Control::LineRate, &mut Control::Dcqcn { rate: 0 }), 0);
    }

    #[test]
    fn the_order_in_memory_of_heaps_and_maps_has_no_effect() {
        let heap = |times: [u64; 3]| BinaryHeap::from(times.map(|at| Reverse(Instant(at))));
        assert!(room(&mut heap([1_050, 1_020, 1_030]), &mut heap([1_130, 1_150, 1_120])) > 0);
        let map = |keys: [u32; 2]| NumberMap::from_iter(keys.map(|key| (key, key * 2)));
        assert!(room(&mut map([8, 3]), &mut map([3, 8])) > 0);
        assert_eq!(room(&mut map([8, 3]), &mut map([3, 9])), 0);
    }
}
