//! Throughput against the formulas of the literature.

#![expect(clippy::float_arithmetic, reason = "formulas from the literature")]

use crate::network::{Net, Way, config};
use fabricbench_transport::tcp::{Congestion, CongestionKind};
use units::{Instant, Rate, Span};

const MSS: f64 = 1448.0;

fn seconds(span: Span) -> f64 {
    span.0 as f64 / 1e12
}

/// Mathis, Semke, Mahdavi, Ott, "The macroscopic behavior of the TCP congestion avoidance algorithm", CCR
/// 1997, equation 3 [bit/s]. C is sqrt(3/2) whether acknowledgements are delayed or not, as the window grows
/// by the bytes that they acknowledge (RFC 3465).
fn square_root_law(round_trip: Span, loss: f64) -> f64 {
    8.0 * MSS / seconds(round_trip) * (1.5 / loss).sqrt()
}

/// RFC 9438, 5.1, figure 6 [bit/s].
fn cubic_law(round_trip: Span, loss: f64) -> f64 {
    let rtt = seconds(round_trip);
    let gain: f64 = 0.4 * (3.0 + 0.7) / (4.0 * (1.0 - 0.7));
    let window = gain.powf(0.25) * rtt.powf(0.75) / loss.powf(0.75);
    8.0 * MSS * window / rtt
}

/// Throughput over `way` for `end`, and the share of segments that were lost.
fn measure(kind: CongestionKind, ack_every: u32, way: Way, end: Span) -> (f64, f64) {
    let mut config = config(kind);
    (config.ack_every, config.rto_min) = (ack_every, Span(2 * way.delay.0));
    let mut net = Net::new(config, way, 1, None, 7);
    net.run(Instant(end.0));
    let flow = &net.flows[0];
    (flow.rate_bps(net.now) as f64, net.dropped as f64 / flow.sender.counters().segments as f64)
}

fn assert_near(found: f64, expected: f64, tolerance: f64, what: &str) {
    let ratio = found / expected;
    assert!((ratio - 1.0).abs() <= tolerance, "{what}: {found} bit/s is {ratio} times the law's {expected}");
}

#[test]
fn newreno_follows_the_square_root_law_at_random_loss() {
    let round_trip = Span::from_us(100);
    for (loss_ppm, end_ms) in [(100, 1_500), (500, 1_500), (2_000, 1_500), (5_000, 1_500)] {
        for ack_every in [1, 2] {
            let way = Way { loss_ppm, ..Way::clean(round_trip) };
            let (rate, loss) = measure(CongestionKind::NewReno, ack_every, way, Span::from_us(end_ms * 1000));
            let what = format!("loss {loss_ppm} ppm, an ACK for {ack_every}");
            assert_near(rate, square_root_law(round_trip, loss), 0.2, &what);
        }
    }
}

/// The form in which the law was derived: a full queue is the only cause of loss. It loses several segments
/// at once, which is one signal: `p` counts signals.
#[test]
fn newreno_follows_the_square_root_law_at_a_full_queue() {
    for queue_bytes_max in [20_000, 60_000] {
        let way = Way {
            rate: Some(Rate::from_bps(1_000_000_000)),
            queue_bytes_max,
            ..Way::clean(Span::from_us(2_000))
        };
        let mut net = Net::new(config(CongestionKind::NewReno), way, 1, None, 3);
        // Past slow start.
        net.run(Instant(Span::from_us(2_000_000).0));
        let before = (*net.flows[0].sender.counters(), net.flows[0].sender.acked());
        net.run(Instant(Span::from_us(12_000_000).0));
        let flow = &net.flows[0];
        let after = flow.sender.counters();
        let segments = after.segments - before.0.segments;
        let signals = after.fast_recoveries + after.timeouts - before.0.fast_recoveries - before.0.timeouts;
        let bits = (flow.sender.acked() - before.1) * 8;
        let (loss, rate) = (signals as f64 / segments as f64, bits as f64 / 10.0);
        let round_trip = flow.sender.rtt().distribution().mean().unwrap();
        assert_near(
            rate,
            square_root_law(round_trip, loss),
            0.2,
            &format!("a queue of {queue_bytes_max} bytes"),
        );
    }
}

/// RFC 9438, 5.1, assumes one loss in 1/p segments. On a path of 400 ms NewReno's window would be a third of
/// CUBIC's.
#[test]
fn cubic_follows_its_own_law_where_it_is_faster_than_newreno() {
    let round_trip = Span::from_us(400_000);
    for (every, end_s) in [(10_000, 1_000), (30_000, 1_500)] {
        let way = Way { loss_every: Some(every), ..Way::clean(round_trip) };
        let (rate, loss) = measure(CongestionKind::Cubic, 1, way, Span::from_us(end_s * 1_000_000));
        let is_its_regime = cubic_law(round_trip, loss) > 2.5 * square_root_law(round_trip, loss);
        assert!(is_its_regime);
        assert_near(rate, cubic_law(round_trip, loss), 0.15, &format!("CUBIC, one loss in {every}"));
    }
}

/// RFC 9438, 4.3: within 100 us the cubic function hardly grows, and the Reno-friendly region rules.
#[test]
fn cubic_is_as_fast_as_newreno_on_a_short_path() {
    let round_trip = Span::from_us(100);
    for loss_ppm in [500, 2_000] {
        let way = Way { loss_ppm, ..Way::clean(round_trip) };
        let (rate, loss) = measure(CongestionKind::Cubic, 1, way, Span::from_us(1_500_000));
        assert_near(rate, square_root_law(round_trip, loss), 0.2, &format!("CUBIC at {loss_ppm} ppm"));
    }
}

/// RFC 8257 and Alizadeh et al., SIGCOMM 2010, 3.3: the queue swings around K, the link is full, nothing is
/// lost.
#[test]
fn dctcp_keeps_the_queue_near_its_threshold() {
    let mark_bytes = 65 * 1_500;
    let way = Way {
        rate: Some(Rate::from_gbps(10)),
        queue_bytes_max: 4_000_000,
        mark_bytes,
        ..Way::clean(Span::from_us(100))
    };
    let mut net = Net::new(config(CongestionKind::Dctcp), way, 2, None, 5);
    net.run(Instant(Span::from_us(50_000).0));
    (net.queue_seen, net.dropped) = ((0, 0), 0);
    let before: u64 = net.flows.iter().map(|flow| flow.sender.acked()).sum();
    net.run(Instant(Span::from_us(150_000).0));
    let after: u64 = net.flows.iter().map(|flow| flow.sender.acked()).sum();
    let mean = net.queue_seen.0 / net.queue_seen.1;
    assert!((mark_bytes / 2..mark_bytes * 3 / 2).contains(&mean), "the mean queue is {mean} bytes");
    let bits = (after - before) * 8;
    assert!(bits > 920_000_000, "{bits} bits in 100 ms of 10 Gb/s");
    assert_eq!(net.dropped, 0);
    assert!(
        matches!(net.flows[0].sender.congestion(), Congestion::Dctcp(dctcp) if dctcp.alpha_2e20() < 1 << 19)
    );
}

#[test]
fn two_connections_share_a_bottleneck_fairly() {
    for kind in [CongestionKind::NewReno, CongestionKind::Cubic, CongestionKind::Dctcp] {
        let way = Way {
            rate: Some(Rate::from_gbps(10)),
            queue_bytes_max: 250_000,
            mark_bytes: 100_000,
            ..Way::clean(Span::from_us(100))
        };
        let mut net = Net::new(config(kind), way, 2, None, 9);
        net.run(Instant(Span::from_us(2_000_000).0));
        let rates: Vec<u64> = net.flows.iter().map(|flow| flow.rate_bps(net.now)).collect();
        let (least, most) = (rates[0].min(rates[1]), rates[0].max(rates[1]));
        assert!(least * 5 > most * 4, "{kind:?}: {rates:?}");
        assert!(least + most > 9_000_000_000, "{kind:?}: {rates:?}");
    }
}
