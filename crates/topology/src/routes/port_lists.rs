//! Lists of next-hop ports in one array; `Interner` adds them and stores equal lists once.

use std::collections::HashMap;

/// Concatenated port lists, each preceded by its length.
#[derive(Clone, Debug, Default)]
pub(super) struct PortLists {
    stored: Vec<u16>,
}

impl PortLists {
    /// The storage, for [`list_unchecked`].
    #[inline]
    pub(super) fn stored(&self) -> &[u16] {
        &self.stored
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.stored)
    }

    /// Whether a complete list is stored at `start`.
    pub(super) fn holds(&self, start: u32) -> bool {
        let ends = |&length: &u16| start as usize + 1 + usize::from(length) <= self.stored.len();
        self.stored.get(start as usize).is_some_and(ends)
    }

    fn push(&mut self, ports: &[u16]) -> u32 {
        let start = u32::try_from(self.stored.len()).expect("the distinct port lists fit 32 bits");
        self.stored.push(ports.len() as u16);
        self.stored.extend_from_slice(ports);
        start
    }
}

/// The list in `stored` at `start`.
///
/// # Safety
/// [`PortLists::holds`] returned true for `start`.
#[inline]
pub(super) unsafe fn list_unchecked(stored: &[u16], start: u32) -> &[u16] {
    let start = start as usize;
    // SAFETY: the length is within `stored`, and so are the elements it counts.
    unsafe {
        let length = usize::from(*stored.get_unchecked(start));
        stored.get_unchecked(start + 1..start + 1 + length)
    }
}

/// Same as [`list_unchecked`], with bounds checks.
fn list(stored: &[u16], start: u32) -> &[u16] {
    let start = start as usize;
    let length = usize::from(stored[start]);
    &stored[start + 1..start + 1 + length]
}

/// Deduplicates lists.
#[derive(Default)]
pub(super) struct Interner {
    lists: PortLists,
    starts: HashMap<Box<[u16]>, u32>,
}

impl Interner {
    /// Stores `ports` if it is new; returns its offset. `guess` is a probable match, which saves the lookup.
    pub(super) fn intern(&mut self, ports: &[u16], guess: Option<u32>) -> u32 {
        match guess {
            Some(start) if list(&self.lists.stored, start) == ports => start,
            _ => self.search(ports),
        }
    }

    fn search(&mut self, ports: &[u16]) -> u32 {
        if let Some(&start) = self.starts.get(ports) {
            return start;
        }
        let start = self.lists.push(ports);
        self.starts.insert(ports.into(), start);
        start
    }

    pub(super) fn finish(self) -> PortLists {
        self.lists
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_lists_are_stored_once() {
        let mut interner = Interner::default();
        let first = interner.intern(&[1, 2], None);
        let second = interner.intern(&[1, 2, 3], Some(first));
        assert_eq!(interner.intern(&[1, 2], Some(second)), first);
        assert_eq!(interner.intern(&[1, 2, 3], Some(second)), second);
        let lists = interner.finish();
        assert_eq!(
            (list(lists.stored(), first), list(lists.stored(), second)),
            (&[1, 2][..], &[1, 2, 3][..])
        );
        assert_eq!(lists.memory_bytes(), 2 * (1 + 2 + 1 + 3));
    }
}
