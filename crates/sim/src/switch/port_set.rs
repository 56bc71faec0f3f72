//! Set of ports of a switch, as a bitmap, with listing in ascending order.

/// A set of ports.
#[derive(Debug)]
pub(crate) struct PortSet {
    words: Vec<u64>,
}

impl PortSet {
    /// An empty set for `ports` ports.
    pub(super) fn new(ports: usize) -> Self {
        Self { words: vec![0; ports.div_ceil(64)] }
    }

    #[inline]
    pub(super) fn insert(&mut self, port: u16) {
        self.words[usize::from(port >> 6)] |= 1 << (port & 63);
    }

    /// Number of ports rounded up to whole words of the bitmap.
    pub(super) const fn padded(ports: usize) -> usize {
        ports.next_multiple_of(64)
    }

    /// Inserts all ports whose count is not 0. Counts are at most 128.
    #[inline]
    pub(super) fn insert_counted(&mut self, counts: &[u8]) {
        for (word, counts) in self.words.iter_mut().zip(counts.as_chunks::<64>().0) {
            for (index, eight) in counts.as_chunks::<8>().0.iter().enumerate() {
                // Sets the highest bit of each byte that is not 0, then gathers these bits.
                let filled = (u64::from_le_bytes(*eight) + 0x7f7f_7f7f_7f7f_7f7f) & 0x8080_8080_8080_8080;
                *word |= ((filled >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * index);
            }
        }
    }

    #[inline]
    pub(super) fn remove(&mut self, port: u16) {
        self.words[usize::from(port >> 6)] &= !(1 << (port & 63));
    }

    /// The members in ascending order.
    pub(super) fn iter(&self) -> impl Iterator<Item = u16> {
        std::iter::successors(self.first(), |&port| self.after(port))
    }

    /// Replaces `ports` with the members in ascending order.
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

    /// The smallest member in the words from `start` on; `mask` applies to the first of them.
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
    fn ports_with_counts_are_members() {
        let mut set = PortSet::new(70);
        let mut counts = vec![0; PortSet::padded(70)];
        [(0, 1), (7, 128), (8, 127), (62, 2), (63, 33), (69, 5)]
            .into_iter()
            .for_each(|(port, count)| counts[port] = count);
        set.insert(20);
        set.insert_counted(&counts);
        assert!(set.iter().eq([0, 7, 8, 20, 62, 63, 69]));
    }

    #[test]
    fn members_are_in_ascending_order() {
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
