//! Deliberate packet loss: drops one in n packets at random, by a seed.

use units::{Seed, Stream};

/// Drops packets at random, to exercise loss recovery on a path that loses nothing itself.
#[derive(Clone, Debug)]
pub struct Loss {
    one_in: u64,
    random: Stream,
}

impl Loss {
    /// Drops one packet in `one_in` on average (0: none, 1: all), reproducibly for the same `seed` and
    /// `endpoint`.
    pub fn new(one_in: u64, seed: Seed, endpoint: u64) -> Self {
        Self { one_in, random: seed.stream("endpoint.loss", endpoint) }
    }

    /// Whether to drop the next packet.
    pub fn drops_next(&mut self) -> bool {
        self.one_in > 0 && self.random.below(self.one_in) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_so_many_is_dropped() {
        for (one_in, expected) in [(0, 0..=0), (1, 100_000..=100_000), (100, 900..=1_100)] {
            let mut loss = Loss::new(one_in, Seed(1), 0);
            let dropped = (0..100_000).filter(|_| loss.drops_next()).count();
            assert!(expected.contains(&dropped), "{dropped} with one in {one_in}");
        }
    }
}
