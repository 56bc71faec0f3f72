//! Bundle: all fabric links of a leaf in one direction, modelled as one link that transmits the cells of
//! packets; counters of each link.
//!
//! The cells of a packet are sprayed round robin, starting with a link drawn at random, so that the short
//! last cells of packets do not always use the same links. The links of a bundle are loaded equally to within
//! some cells, and packets cross it one after the other at the sum of its rates. The last cell of a packet
//! then needs the time of a cell on its own link. The counters of each link are exact: cell by cell, for the
//! link that round robin selects. Requests and grants are sent before cells. Leaves out that cells of several
//! leaves queue for one link in uneven numbers, and that a request waits for the cell in transmission.
//! Compared with cells simulated one by one, the end of a packet is off by a few cell times; a test below
//! checks the bound.

use super::cells::{CellFormat, Cells};
use units::{Instant, Rate, Span};

/// Parameters of a bundle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BundlePlan {
    pub(crate) links: u32,
    /// Rate of each link, speed-up included.
    pub(crate) link_rate: Rate,
    pub(crate) format: CellFormat,
    /// Size of a request or a grant [bytes].
    pub(crate) control_bytes: u32,
}

/// Counters of one link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SentCells {
    pub(crate) cells: u64,
    pub(crate) bytes: u64,
}

/// Packets as cells, one after the other, over all links together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CellStream {
    /// End of the transmissions booked so far.
    pub(crate) free_at: Instant,
    /// When the last packet is complete at the other end of its links.
    done: Instant,
}

impl CellStream {
    /// Mutable references to all its times.
    pub(crate) const fn times(&mut self) -> [&mut Instant; 2] {
        [&mut self.free_at, &mut self.done]
    }

    /// Sends cells that arrive from `head` to `last` and take `span`, the last of them `last_span` on its own
    /// link. Returns when the last is at the other end, propagation excluded; never earlier than the packet
    /// before.
    #[inline]
    pub(crate) fn carry(&mut self, head: Instant, last: Instant, span: Span, last_span: Span) -> Instant {
        let start = head.max(self.free_at);
        self.free_at = start + span;
        self.done = self.done.max(self.free_at).max(start.max(last) + last_span);
        self.done
    }
}

/// One direction of all fabric links of a leaf.
#[derive(Clone, Debug)]
pub(crate) struct Bundle {
    plan: BundlePlan,
    /// Sum of the rates of all links.
    rate: Rate,
    cell_span: Span,
    data: CellStream,
    /// End of the control transmissions booked so far.
    control_free: Instant,
    /// When the last control message is complete at the other end of its link.
    control_done: Instant,
    /// Round robin of control messages: separate from cells, so that small messages do not always share links
    /// with the same cells.
    next_control_link: u32,
    counters: LinkCounters,
}

impl Bundle {
    pub(crate) fn new(plan: BundlePlan) -> Self {
        Self {
            rate: Rate::from_bps(plan.link_rate.bps().saturating_mul(u64::from(plan.links))),
            cell_span: plan.link_rate.span_of(u64::from(plan.format.cell_bytes)),
            data: CellStream::default(),
            control_free: Instant::ZERO,
            control_done: Instant::ZERO,
            next_control_link: 0,
            counters: LinkCounters::new(plan.links, plan.format.cell_bytes),
            plan,
        }
    }

    /// Transmission time over all links together.
    #[inline]
    pub(super) const fn span_of(&self, bytes: u64) -> Span {
        self.rate.span_of(bytes)
    }

    #[inline]
    pub(super) const fn links(&self) -> u32 {
        self.plan.links
    }

    /// Link of the next request or grant.
    #[inline]
    pub(super) const fn take_control_link(&mut self) -> u32 {
        let link = self.next_control_link;
        self.next_control_link = (link + 1) % self.plan.links;
        link
    }

    /// End of the transmissions booked so far, for cells: they wait for control messages.
    #[inline]
    pub(super) fn data_free(&self) -> Instant {
        self.data.free_at.max(self.control_free)
    }

    /// End of the control transmissions booked so far.
    #[inline]
    pub(super) const fn control_free(&self) -> Instant {
        self.control_free
    }

    /// Sends the cells of a packet; the first is available at `head`, the last at `last`. Returns when the
    /// packet is complete at the other end, propagation excluded; never earlier than the packet before.
    #[inline]
    pub(super) fn carry(&mut self, head: Instant, last: Instant, cells: Cells) -> Instant {
        let last_span = match cells.count {
            0 => Span::ZERO,
            1 => self.plan.link_rate.span_of(u64::from(cells.tail_bytes)),
            _ => self.cell_span,
        };
        let span = self.rate.span_of(cells.bytes(self.plan.format));
        self.counters.add(cells);
        self.data.carry(head.max(self.control_free), last, span, last_span)
    }

    /// Sends a request or a grant on `link`, before cells. Returns when it is complete at the other end.
    #[inline]
    pub(super) fn carry_control(&mut self, now: Instant, link: u32) -> Instant {
        let bytes = u64::from(self.plan.control_bytes);
        let (start, span) = (now.max(self.control_free), self.rate.span_of(bytes));
        self.control_free = start + span;
        self.data.free_at = self.data.free_at.max(start) + span;
        self.control_done = self.control_done.max(start + self.plan.link_rate.span_of(bytes));
        self.counters.add(Cells { first_link: link, count: 1, tail_bytes: self.plan.control_bytes });
        self.control_done
    }

    /// Bytes booked and not sent at `now`.
    pub(crate) fn backlog_bytes(&self, now: Instant) -> u64 {
        let span = u128::from(self.data.free_at.0.saturating_sub(now.0));
        (span * u128::from(self.rate.bps()) / 8_000_000_000_000) as u64
    }

    /// Counters of link `link`.
    pub(crate) fn sent_on(&self, link: u32) -> SentCells {
        self.counters.sent_on(link)
    }

    /// Rate of each link, speed-up included.
    pub(crate) const fn link_rate(&self) -> Rate {
        self.plan.link_rate
    }

    /// Time for which link `link` was occupied until `end`. A link with some more cells than the others is
    /// occupied for longer than the bundle.
    pub(crate) fn busy(&self, link: u32, end: Instant) -> Span {
        let busy = self.plan.link_rate.span_of(self.sent_on(link).bytes);
        Span(busy.0.saturating_sub(self.data.free_at.0.saturating_sub(end.0)).min(end.0))
    }
}

/// Cells and bytes of each link, stored such that a packet costs the same whatever the number of its cells.
#[derive(Clone, Debug)]
struct LinkCounters {
    links: u32,
    cell_bytes: u64,
    /// Cells that every link has transmitted.
    rounds: u64,
    /// Additional cells of link `i` compared with link `i - 1`.
    steps: Vec<i64>,
    /// Bytes that the cells of each link are short of full size.
    missing: Vec<u64>,
}

impl LinkCounters {
    fn new(links: u32, cell_bytes: u32) -> Self {
        Self {
            links,
            cell_bytes: cell_bytes.into(),
            rounds: 0,
            steps: vec![0; links as usize],
            missing: vec![0; links as usize],
        }
    }

    #[inline]
    fn add(&mut self, cells: Cells) {
        let Cells { first_link, count, tail_bytes } = cells;
        if count == 0 {
            return;
        }
        self.rounds += u64::from(count / self.links);
        let end = first_link + count % self.links;
        if end > first_link {
            self.steps[first_link as usize] += 1;
            if end > self.links {
                self.steps[0] += 1;
            }
            if end != self.links {
                self.steps[(end % self.links) as usize] -= 1;
            }
        }
        let last = (first_link + count - 1) % self.links;
        self.missing[last as usize] += self.cell_bytes - u64::from(tail_bytes);
    }

    fn sent_on(&self, link: u32) -> SentCells {
        let more: i64 = self.steps[..=link as usize].iter().sum();
        let cells = self.rounds.wrapping_add_signed(more);
        SentCells { cells, bytes: cells * self.cell_bytes - self.missing[link as usize] }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cells::Cutter;
    use super::*;
    use proptest::prelude::*;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;
    use units::{Seed, Stream};

    const FORMAT: CellFormat = CellFormat { cell_bytes: 256, header_bytes: 16 };
    const LATENCY: Span = Span::from_ns(650);
    /// Maximum difference between the end of a packet and that of its last cell, simulated one by one, in
    /// transmission times of a full cell on a link.
    const BOUND_CELLS: u64 = 24;

    fn plan(links: u32) -> BundlePlan {
        BundlePlan { links, link_rate: Rate::from_gbps(400), format: FORMAT, control_bytes: 16 }
    }

    /// A packet that leaf `source` starts to send to leaf `target`, in a burst of its own.
    #[derive(Clone, Copy, Debug)]
    struct Sent {
        at: u64,
        source: usize,
        target: usize,
        bytes: u32,
    }

    /// End of each packet at its target, and counters of each link up from and down to each leaf.
    #[derive(Debug, PartialEq, Eq)]
    struct Outcome {
        ends: Vec<u64>,
        up: Vec<Vec<SentCells>>,
        down: Vec<Vec<SentCells>>,
    }

    /// Random streams that draw the link of a packet's first cell, one per leaf.
    fn first_links(leaves: usize) -> Vec<Stream> {
        (0..leaves as u64).map(|leaf| Seed(1).stream("test", leaf)).collect()
    }

    /// The model: two bundles in sequence.
    fn by_bundle(links: u32, leaves: usize, packets: &[Sent]) -> Outcome {
        let mut up = vec![Bundle::new(plan(links)); leaves];
        let mut down = up.clone();
        let mut first_links = first_links(leaves);
        let mut arrivals = Vec::new();
        for (index, packet) in packets.iter().enumerate() {
            let bundle = &mut up[packet.source];
            let mut cutter = Cutter::new(FORMAT, packet.bytes.into());
            let mut cells = cutter.cut(packet.bytes);
            cells.first_link = first_links[packet.source].below(links.into()) as u32;
            let done = bundle.carry(Instant(packet.at), Instant(packet.at), cells) + LATENCY;
            arrivals.push((done, packet.source, index, cells));
        }
        arrivals.sort_unstable_by_key(|&(at, source, index, _)| (at, source, index));
        let mut ends = vec![0; packets.len()];
        for (at, _, index, cells) in arrivals {
            let bundle = &mut down[packets[index].target];
            let head = Instant(at.0 - bundle.span_of(cells.bytes(FORMAT)).0);
            ends[index] = (bundle.carry(head, at, cells) + LATENCY).0;
        }
        let counters = |bundles: &[Bundle]| {
            bundles.iter().map(|bundle| (0..links).map(|link| bundle.sent_on(link)).collect()).collect()
        };
        Outcome { ends, up: counters(&up), down: counters(&down) }
    }

    /// A queue of cells in front of one link.
    #[derive(Clone, Copy, Default)]
    struct Link {
        free_at: u64,
        sent: SentCells,
    }

    impl Link {
        fn carry(&mut self, at: u64, bytes: u64) -> u64 {
            self.free_at = self.free_at.max(at) + Rate::from_gbps(400).span_of(bytes).0;
            self.sent.cells += 1;
            self.sent.bytes += bytes;
            self.free_at
        }
    }

    /// The reference: every cell on its own link, in order of time.
    fn by_cell(links: u32, leaves: usize, packets: &[Sent]) -> Outcome {
        let mut up = vec![vec![Link::default(); links as usize]; leaves];
        let mut down = up.clone();
        let mut first_links = first_links(leaves);
        let mut arrivals = BinaryHeap::new();
        for (index, packet) in packets.iter().enumerate() {
            let mut left = packet.bytes;
            let mut next = first_links[packet.source].below(links.into()) as usize;
            while left > 0 {
                let payload = left.min(FORMAT.cell_bytes - FORMAT.header_bytes);
                left -= payload;
                let link = next;
                next = (link + 1) % links as usize;
                let bytes = u64::from(payload + FORMAT.header_bytes);
                let at = up[packet.source][link].carry(packet.at, bytes) + LATENCY.0;
                arrivals.push(Reverse((at, packet.source, index, link, bytes)));
            }
        }
        let mut ends = vec![0; packets.len()];
        while let Some(Reverse((at, _, index, link, bytes))) = arrivals.pop() {
            let end = down[packets[index].target][link].carry(at, bytes) + LATENCY.0;
            ends[index] = ends[index].max(end);
        }
        let counters = |bundles: &[Vec<Link>]| {
            bundles.iter().map(|bundle| bundle.iter().map(|link| link.sent).collect()).collect()
        };
        Outcome { ends, up: counters(&up), down: counters(&down) }
    }

    /// Packets of up to 95 % of the rate at which each leaf may send and receive, as granted credits ensure.
    fn admissible(links: u32, leaves: usize, draws: &[(usize, usize, u32, u64)]) -> Vec<Sent> {
        let rate = Rate::from_bps(u64::from(links) * 380_000_000_000);
        let (mut sent, mut received) = (vec![0; leaves], vec![0; leaves]);
        let mut packets = Vec::new();
        for &(source, target, bytes, gap) in draws {
            let (source, target) = (source % leaves, target % leaves);
            let at = u64::max(sent[source], received[target]) + gap;
            let cells = u64::from(bytes).div_ceil(240);
            let end = at + rate.span_of(u64::from(bytes) + cells * 16).0;
            (sent[source], received[target]) = (end, end);
            packets.push(Sent { at, source, target, bytes });
        }
        packets.sort_by_key(|packet| packet.at);
        packets
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn bytes_are_exact_and_times_within_cells_of_cells_one_by_one(
            links in 2_u32..24,
            leaves in 2_usize..6,
            draws in prop::collection::vec((0_usize..6, 0_usize..6, 64_u32..9_000, prop_oneof![Just(0_u64), 0_u64..40_000]), 1..400),
        ) {
            let packets = admissible(links, leaves, &draws);
            let (model, reference) = (by_bundle(links, leaves, &packets), by_cell(links, leaves, &packets));
            prop_assert_eq!(&model.up, &reference.up);
            prop_assert_eq!(&model.down, &reference.down);
            let cell = Rate::from_gbps(400).span_of(256).0;
            for (index, (model, reference)) in model.ends.iter().zip(&reference.ends).enumerate() {
                let off = model.abs_diff(*reference);
                prop_assert!(off <= BOUND_CELLS * cell, "packet {}: {} against {}, {} cells", index, model, reference, off / cell);
            }
        }
    }

    #[test]
    fn short_cells_fall_on_no_link_for_ever() {
        // 18 cells each, the last of them short: with strict round robin over 2 links, one would transmit a
        // tenth more than the other.
        let packets =
            (0..10_000).map(|index| Sent { at: index * 100_000, source: 0, target: 1, bytes: 4_158 });
        let up = &by_bundle(2, 2, &packets.collect::<Vec<_>>()).up[0];
        let (one, other) = (up[0].bytes, up[1].bytes);
        assert!(one.abs_diff(other) * 500 < one, "{one} and {other}");
    }

    #[test]
    fn a_lone_packet_ends_when_its_last_cell_does() {
        for (links, bytes) in [(36, 4_158), (36, 66), (4, 4_158), (2, 9_000), (17, 4_080)] {
            let packets = [Sent { at: 1_000, source: 0, target: 1, bytes }];
            let (model, reference) = (by_bundle(links, 2, &packets), by_cell(links, 2, &packets));
            let cell = Rate::from_gbps(400).span_of(256).0;
            assert!(model.ends[0].abs_diff(reference.ends[0]) <= cell, "{model:?} against {reference:?}");
        }
    }

    #[test]
    fn control_messages_go_ahead_and_take_their_share() {
        let mut bundle = Bundle::new(plan(4));
        let cells = Cells { first_link: 0, count: 400, tail_bytes: 256 };
        let data = bundle.carry(Instant(0), Instant(0), cells);
        assert_eq!(data, Instant(400 * 256 * 5));
        assert_eq!(bundle.carry_control(Instant(100), 3), Instant(100 + 16 * 20));
        assert_eq!(bundle.backlog_bytes(Instant(0)), 400 * 256 + 16);
        assert_eq!(bundle.sent_on(3), SentCells { cells: 101, bytes: 100 * 256 + 16 });
        assert_eq!(bundle.busy(0, Instant::NEVER), Span(100 * 256 * 20));
    }
}
