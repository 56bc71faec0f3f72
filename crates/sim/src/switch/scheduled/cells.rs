//! Segments bursts of packets into cells of a scheduled fabric, and encodes the cells of a packet in its
//! message.
//!
//! The packets of a burst are one stream of bytes, divided into full cells and a remainder: a cell may
//! contain the end of one packet and the beginning of the next. A cell belongs to the first packet that it
//! completes.

/// Bits of [`Cells`] in a message.
const FIRST_BITS: u32 = 10;
const COUNT_BITS: u32 = 9;
const TAIL_BITS: u32 = 13;
const _: () =
    assert!(FIRST_BITS + COUNT_BITS + TAIL_BITS == u32::BITS, "they share the field of the 5-tuple's hash");

/// Maximum number of fabric links of a leaf.
pub(crate) const LINKS_MAX: u32 = (1 << FIRST_BITS) - 1;

/// Sizes of cells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CellFormat {
    /// Largest cell, its header included [bytes].
    pub(crate) cell_bytes: u32,
    /// Header of a cell [bytes].
    pub(crate) header_bytes: u32,
}

/// The cells of a packet: all of full size except the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cells {
    /// Fabric link of the first cell; each following cell uses the next link.
    pub(super) first_link: u32,
    pub(super) count: u32,
    /// Size of the last cell, its header included [bytes].
    pub(super) tail_bytes: u32,
}

impl Cells {
    /// Bytes of all cells, headers included.
    #[inline]
    pub(super) const fn bytes(self, format: CellFormat) -> u64 {
        if self.count == 0 {
            return 0;
        }
        (self.count - 1) as u64 * format.cell_bytes as u64 + self.tail_bytes as u64
    }

    #[inline]
    pub(super) const fn pack(self) -> u32 {
        self.first_link | (self.count << FIRST_BITS) | (self.tail_bytes << (FIRST_BITS + COUNT_BITS))
    }

    #[inline]
    pub(super) const fn unpack(packed: u32) -> Self {
        Self {
            first_link: packed & LINKS_MAX,
            count: (packed >> FIRST_BITS) & ((1 << COUNT_BITS) - 1),
            tail_bytes: packed >> (FIRST_BITS + COUNT_BITS),
        }
    }
}

/// Segments one burst, packet by packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cutter {
    format: CellFormat,
    /// Bytes of the whole burst, and of its packets so far.
    burst_bytes: u64,
    cut_bytes: u64,
    cells: u64,
}

impl Cutter {
    pub(super) const fn new(format: CellFormat, burst_bytes: u64) -> Self {
        Self { format, burst_bytes, cut_bytes: 0, cells: 0 }
    }

    /// The cells of the next packet; none if it ends in a cell of the packet before. The sender selects their
    /// links.
    #[inline]
    pub(super) fn cut(&mut self, packet_bytes: u32) -> Cells {
        let payload = u64::from(self.format.cell_bytes - self.format.header_bytes);
        self.cut_bytes += u64::from(packet_bytes);
        let cells = self.cut_bytes.div_ceil(payload);
        let count = (cells - self.cells) as u32;
        self.cells = cells;
        let tail = self.burst_bytes.min(cells * payload) - (cells - 1) * payload;
        Cells { first_link: 0, count, tail_bytes: tail as u32 + self.format.header_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FORMAT: CellFormat = CellFormat { cell_bytes: 256, header_bytes: 16 };

    #[test]
    fn cells_are_packed_across_the_packets_of_a_burst() {
        let mut cutter = Cutter::new(FORMAT, 300 + 66 + 66 + 4158);
        assert_eq!(cutter.cut(300), Cells { first_link: 0, count: 2, tail_bytes: 256 });
        assert_eq!(cutter.cut(66).count, 0, "it ends in the second cell");
        assert_eq!(cutter.cut(66).count, 0);
        // 4,590 bytes are 19 cells of 240 and 30 more.
        assert_eq!(cutter.cut(4158), Cells { first_link: 0, count: 18, tail_bytes: 46 });
    }

    proptest! {
        #[test]
        fn no_byte_of_a_burst_is_lost(packets in prop::collection::vec(64_u32..9_000, 1..9), header in 1_u32..32) {
            let format = CellFormat { header_bytes: header, ..FORMAT };
            let burst: u64 = packets.iter().map(|&bytes| u64::from(bytes)).sum();
            let mut cutter = Cutter::new(format, burst);
            let cells: Vec<Cells> = packets.iter().map(|&bytes| Cells { first_link: 3, ..cutter.cut(bytes) }).collect();
            let count: u64 = cells.iter().map(|cells| u64::from(cells.count)).sum();
            prop_assert_eq!(count, burst.div_ceil(u64::from(256 - header)));
            let bytes: u64 = cells.iter().map(|cells| cells.bytes(format)).sum();
            prop_assert_eq!(bytes, burst + count * u64::from(header));
            prop_assert!(cells.iter().all(|&cells| Cells::unpack(cells.pack()) == cells));
        }
    }
}
