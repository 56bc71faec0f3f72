//! Frames of chunks, and their times on idle paths.

use super::idle_time::{FrameCount, Frames, LinkTiming};
use units::{Rate, Span};
use wire::Framing;

fn frames() -> Frames {
    Frames::test(Framing::Ethernet, 4_096, 1 << 20)
}

#[test]
fn a_chunk_alone_takes_its_frames_and_its_longest_once_more_for_each_further_hop() {
    let hop = |latency| LinkTiming { bps: 400_000_000_000, head: None, latency: Span(latency) };
    // Two messages of 256 frames; the first of each has an additional header.
    let FrameCount { frames: count, frame_bytes, wire_bytes } = frames().count(2 << 20);
    assert_eq!((count, frame_bytes), (512, 512 * (4_096 + 62) + 2 * 16));
    let longest = Rate::from_gbps(400).frame_span(4_096 + 62 + 16, 20);
    let all = Rate::from_gbps(400).span_of(wire_bytes);
    let path = [hop(1_000), hop(2_000), hop(3_000)];
    assert_eq!(frames().unloaded(&path, 2 << 20), Span(all.0 + 2 * longest.0 + 6_000));
}

#[test]
fn a_window_of_a_packet_costs_a_round_trip_for_each() {
    let hop = LinkTiming { bps: 400_000_000_000, head: None, latency: Span(1_000_000) };
    let (path, back) = ([hop, hop], Span(2_500_000));
    let frame = Rate::from_gbps(400).frame_span(4_096 + 62, 20).0;
    let first = Rate::from_gbps(400).frame_span(4_096 + 78, 20).0;
    let round_trip = 2 * frame + 2_000_000 + 2_500_000;
    // Seven packets, the first with an additional header.
    let expected = 7 * round_trip + 2 * (first - frame) - 2_500_000;
    assert_eq!(frames().windowed(&path, back, 7 << 12, 1), Some(Span(expected)));
}

#[test]
fn a_window_that_never_closes_costs_nothing() {
    let hop = LinkTiming { bps: 400_000_000_000, head: None, latency: Span(1_000) };
    assert_eq!(frames().windowed(&[hop, hop], Span(2_000), 1 << 20, 64), None);
}

#[test]
fn a_long_chunk_goes_on_at_the_rate_of_its_window() {
    let hop = LinkTiming { bps: 400_000_000_000, head: None, latency: Span(10_000_000) };
    let [short, long] = [1_u64 << 15, 1 << 16]
        .map(|packets| frames().windowed(&[hop], Span(10_000_000), packets << 12, 8).unwrap().0);
    assert!(long.abs_diff(2 * short) < long / 1_000, "{short} {long}");
}

#[test]
fn a_message_without_payload_is_a_frame() {
    assert_eq!(frames().count(0), FrameCount { frames: 1, frame_bytes: 78, wire_bytes: 98 });
}
