//! A set of ports of a switch.

/// A set of ports.
#[derive(Debug)]
pub(super) struct PortSet {
    words: Vec<u64>,
}

impl PortSet {
    /// An empty set, for `ports` ports.
    pub(super) fn new(ports: usize) -> Self {
        Self { words: vec![0; ports.div_ceil(64)] }
    }

    #[inline]
    pub(super) fn insert(&mut self, port: u16) {
        self.words[usize::from(port >> 6)] |= 1 << (port & 63);
    }

    #[inline]
    pub(super) fn remove(&mut self, port: u16) {
        self.words[usize::from(port >> 6)] &= !(1 << (port & 63));
    }

    /// The members in ascending order.
    pub(super) fn iter(&self) -> impl Iterator<Item = u16> {
        std::iter::successors(self.first(), |&port| self.after(port))
    }

    /// The members in ascending order, in the place of what `ports` held.
    #[inline]
    pub(super) fn list(&self, ports: &mut Vec<u16>) {
        ports.clear();
        for (index, word) in self.words.iter().enumerate() {
            let mut members = *word;
            while members != 0 {
                ports.push((index as u32 * 64 + members.trailing_zeros()) as u16);
                members &= members - 1;
            }
        }
    }

    /// The smallest member.
    #[inline]
    pub(super) fn first(&self) -> Option<u16> {
        self.from(0, u64::MAX)
    }

    /// The smallest member above `port`.
    #[inline]
    pub(super) fn after(&self, port: u16) -> Option<u16> {
        self.from(usize::from(port >> 6), (u64::MAX << (port & 63)) << 1)
    }

    /// The smallest member of the words from `start` on, of which the first is masked.
    #[inline]
    fn from(&self, start: usize, mask: u64) -> Option<u16> {
        let mut mask = mask;
        for (index, word) in self.words.iter().enumerate().skip(start) {
            let members = word & mask;
            if members != 0 {
                return Some((index as u32 * 64 + members.trailing_zeros()) as u16);
            }
            mask = u64::MAX;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_in_ascending_order() {
        let mut set = PortSet::new(200);
        [199, 0, 63, 64, 127, 100].into_iter().for_each(|port| set.insert(port));
        set.remove(100);
        assert!(set.iter().eq([0, 63, 64, 127, 199]));
        let mut listed = vec![7];
        set.list(&mut listed);
        assert_eq!(listed, [0, 63, 64, 127, 199]);
        assert_eq!(PortSet::new(64).first(), None);
    }
}
