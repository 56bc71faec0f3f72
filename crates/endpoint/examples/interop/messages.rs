//! Messages of a case of test `bytes`, drawn from a seed: random sizes and positions in one memory, the
//! content of that memory at both ends, and the number of wrong bytes.

use std::ops::Range;

/// Maximum gap before a message; size of the gap after the last one [bytes].
const GAP_MAX: u64 = 16;

/// A message, at the same position in the memory of both ends.
pub(crate) struct Message {
    pub(crate) part: Range<usize>,
    pub(crate) immediate: u32,
}

/// The messages of a case.
pub(crate) struct Messages {
    pub(crate) all: Vec<Message>,
    pattern: Vec<u8>,
}

impl Messages {
    /// Identical for the same seed at both ends: `tests/interop/peer.c` has the same generator.
    pub(crate) fn new(seed: u64, count: usize, mtu_bytes: u64) -> Self {
        let mut state = seed;
        let mut end = 0;
        let all = (0..count).map(|_| {
            let begin = end + draw(&mut state) % GAP_MAX;
            end = begin + draw_bytes(&mut state, mtu_bytes);
            Message { part: begin as usize..end as usize, immediate: draw(&mut state) as u32 }
        });
        let all = all.collect();
        let bytes = (end + GAP_MAX) as usize;
        let words = (0..bytes.div_ceil(8)).flat_map(|_| draw(&mut state).to_le_bytes());
        Self { all, pattern: words.take(bytes).collect() }
    }

    /// Memory of the sending end.
    pub(crate) fn source(&self) -> Vec<u8> {
        self.pattern.clone()
    }

    /// Initial memory of the receiving end: all bytes are wrong.
    pub(crate) fn target(&self) -> Vec<u8> {
        self.pattern.iter().map(|byte| !byte).collect()
    }

    /// Number of bytes of messages that are missing or wrong, and of changed bytes between messages.
    pub(crate) fn wrong_bytes(&self, memory: &[u8]) -> usize {
        let mut expected = self.target();
        for Message { part, .. } in &self.all {
            expected[part.clone()].copy_from_slice(&self.pattern[part.clone()]);
        }
        memory.iter().zip(&expected).filter(|(byte, expected)| byte != expected).count()
    }
}

/// Random size near boundaries of packets and messages, up to five packets.
fn draw_bytes(state: &mut u64, mtu_bytes: u64) -> u64 {
    let (kind, value) = (draw(state) % 8, draw(state));
    match kind {
        0 => 0,
        1 => 1,
        2 => 1 + value % 64,
        3 => mtu_bytes - 1 + value % 3,
        4 => mtu_bytes * (1 + value % 4),
        5 => mtu_bytes * (1 + value / 3 % 4) - 1 + value % 3,
        _ => value % (5 * mtu_bytes + 1),
    }
}

/// Steele, Lea, Flood: Fast splittable pseudorandom number generators (OOPSLA 2014), as SplitMix64.
fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
