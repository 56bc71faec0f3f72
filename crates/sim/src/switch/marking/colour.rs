//! Drop precedence: colours of frames (green, yellow, red), and the token-bucket meters and markers that set
//! them at the ports where frames of hosts enter the fabric.
//!
//! A meter is colour-blind and counts frames with FCS, without preamble and gap. Its buckets fill
//! continuously: the tokens of one byte of RFC 2697 and 2698 are divided into the amount that 1 bit/s adds in
//! a picosecond, so nothing is rounded. A frame keeps its colour up to its destination, as if each switch
//! wrote it to the DSCP and read it there. TCP acknowledgements stay green and use no tokens: the packet
//! descriptor has no room for their colour.

use crate::packet::{Colour, Kind, Packet};
use crate::switch::queue::Stored;
use spec::{ColourSpec, ColouringSpec};
use units::{Instant, State};

/// Units per byte in which a bucket is counted: bit/s times picoseconds.
const PARTS_PER_BYTE: u128 = 8_000_000_000_000;

/// A token bucket.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    size: u128,
    tokens: u128,
}

impl Bucket {
    /// A full bucket.
    const fn full(size_bytes: u64) -> Self {
        let size = size_bytes as u128 * PARTS_PER_BYTE;
        Self { size, tokens: size }
    }

    /// Adds tokens; returns the overflow.
    fn fill(&mut self, tokens: u128) -> u128 {
        let (before, full) = (self.tokens, self.size);
        self.tokens = (before + tokens).min(full);
        before + tokens - self.tokens
    }
}

/// Meter of a port.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    committed: Bucket,
    /// The peak bucket, or that of the excess burst.
    beyond: Bucket,
    cir_bps: u64,
    /// `None` for a single rate.
    pir_bps: Option<u64>,
    filled_at: Instant,
}

impl Meter {
    const fn new(cir_bps: u64, cbs_bytes: u64, pir_bps: Option<u64>, beyond_bytes: u64) -> Self {
        Self {
            committed: Bucket::full(cbs_bytes),
            beyond: Bucket::full(beyond_bytes),
            cir_bps,
            pir_bps,
            filled_at: Instant::ZERO,
        }
    }

    /// The colour of a frame of `frame_bytes` that arrives at `now`.
    fn colour(&mut self, now: Instant, frame_bytes: u32) -> Colour {
        let elapsed = u128::from(now.since(self.filled_at).0);
        self.filled_at = now;
        let over = self.committed.fill(elapsed * u128::from(self.cir_bps));
        self.beyond.fill(self.pir_bps.map_or(over, |pir_bps| elapsed * u128::from(pir_bps)));
        let frame = u128::from(frame_bytes) * PARTS_PER_BYTE;
        let (fits, fits_beyond) = (frame <= self.committed.tokens, frame <= self.beyond.tokens);
        let colour = match (self.pir_bps, fits, fits_beyond) {
            // RFC 2698, 3, and RFC 2697, 3.
            (Some(_), true, true) | (None, true, _) => Colour::Green,
            (Some(_) | None, false, true) => Colour::Yellow,
            (Some(_), _, false) | (None, false, false) => Colour::Red,
        };
        let takes_beyond = colour == Colour::Yellow || (colour == Colour::Green && self.pir_bps.is_some());
        self.committed.tokens -= if colour == Colour::Green { frame } else { 0 };
        self.beyond.tokens -= if takes_beyond { frame } else { 0 };
        colour
    }
}

/// How frames receive a colour.
#[derive(Clone, Debug, State)]
pub(crate) enum Colouring {
    Fixed(Colour),
    #[state(never)]
    Metered(Box<Meter>),
}

impl Colouring {
    pub(crate) fn new(spec: ColouringSpec) -> Self {
        let metered = |meter| Self::Metered(Box::new(meter));
        match spec {
            ColouringSpec::Fixed { colour: ColourSpec::Green } => Self::Fixed(Colour::Green),
            ColouringSpec::Fixed { colour: ColourSpec::Yellow } => Self::Fixed(Colour::Yellow),
            ColouringSpec::Fixed { colour: ColourSpec::Red } => Self::Fixed(Colour::Red),
            ColouringSpec::TwoRate { cir_bps, cbs_bytes, pir_bps, pbs_bytes } => {
                metered(Meter::new(cir_bps, cbs_bytes, Some(pir_bps), pbs_bytes))
            }
            ColouringSpec::SingleRate { cir_bps, cbs_bytes, ebs_bytes } => {
                metered(Meter::new(cir_bps, cbs_bytes, None, ebs_bytes))
            }
        }
    }
}

/// Colours frames of some priorities that arrive on a port.
#[derive(Clone, Debug, State)]
pub(crate) struct Marker {
    /// Bit `p` is set when it applies to frames of priority `p`.
    #[state(skip)]
    pub(crate) priorities: u8,
    pub(crate) colouring: Colouring,
}

/// Markers by ingress port, for frames of hosts; the first marker that applies to a frame colours it. Empty
/// for a switch that colours nothing.
#[derive(Clone, Debug, Default, State)]
pub(crate) struct Markers(pub(crate) Vec<Vec<Marker>>);

impl Markers {
    /// Colours a frame that has arrived at `now`.
    pub(crate) fn colour(&mut self, stored: &mut Stored, now: Instant) {
        let Stored { packet, ingress } = stored;
        let Some(markers) = self.0.get_mut(usize::from(*ingress)) else { return };
        let is_coloured = !matches!(packet.kind(), Kind::TcpAck { .. });
        let marker =
            markers.iter_mut().find(|marker| is_coloured && marker.priorities & packet.priority().bit() != 0);
        if let Some(Marker { colouring, .. }) = marker {
            packet.set_colour(colouring.colour(packet, now));
        }
    }
}

impl Colouring {
    fn colour(&mut self, packet: &Packet, now: Instant) -> Colour {
        match self {
            Self::Fixed(colour) => *colour,
            Self::Metered(meter) => meter.colour(now, packet.frame_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The metering algorithms of the RFCs, colour-blind, word by word, with tokens as fractions of a byte
    /// over 8 * 10^12.
    struct Reference {
        is_two_rate: bool,
        rates: [u128; 2],
        sizes: [u128; 2],
        tokens: [u128; 2],
        at: u64,
    }

    const BYTE: u128 = 8 * 10_u128.pow(12);

    impl Reference {
        fn new(plan: ColouringSpec) -> Self {
            let (is_two_rate, rates, sizes) = match plan {
                ColouringSpec::TwoRate { cir_bps, cbs_bytes, pir_bps, pbs_bytes } => {
                    (true, [cir_bps, pir_bps], [cbs_bytes, pbs_bytes])
                }
                ColouringSpec::SingleRate { cir_bps, cbs_bytes, ebs_bytes } => {
                    (false, [cir_bps, 0], [cbs_bytes, ebs_bytes])
                }
                ColouringSpec::Fixed { .. } => unreachable!("it is no meter"),
            };
            let sizes = sizes.map(|bytes| u128::from(bytes) * BYTE);
            Self { is_two_rate, rates: rates.map(u128::from), sizes, tokens: sizes, at: 0 }
        }

        /// In several steps, so that the overflow of a full committed bucket is not computed at once.
        fn wait(&mut self, until: u64, steps: u64) {
            for step in 1..=steps {
                let to = self.at + (until - self.at) * step / steps;
                let elapsed = u128::from(to - self.at);
                self.at = to;
                if self.is_two_rate {
                    for each in 0..2 {
                        let filled = self.tokens[each] + elapsed * self.rates[each];
                        self.tokens[each] = if filled > self.sizes[each] { self.sizes[each] } else { filled };
                    }
                    continue;
                }
                // If Tc is less than CBS, Tc is incremented, else if Te is less than EBS, Te is.
                let mut new = elapsed * self.rates[0];
                for each in 0..2 {
                    let room = self.sizes[each] - self.tokens[each];
                    let taken = new.min(room);
                    self.tokens[each] += taken;
                    new -= taken;
                }
            }
        }

        fn meter(&mut self, frame_bytes: u32) -> Colour {
            let frame = u128::from(frame_bytes) * BYTE;
            let [committed, beyond] = self.tokens;
            if self.is_two_rate {
                // "If Tp(t)-B < 0, the packet is red, else if Tc(t)-B < 0, the packet is yellow and Tp is
                // decremented by B, else the packet is green and both Tp and Tc are decremented by B."
                if beyond < frame {
                    return Colour::Red;
                }
                self.tokens[1] -= frame;
                if committed < frame {
                    return Colour::Yellow;
                }
                self.tokens[0] -= frame;
                return Colour::Green;
            }
            if committed >= frame {
                self.tokens[0] -= frame;
                return Colour::Green;
            }
            if beyond >= frame {
                self.tokens[1] -= frame;
                return Colour::Yellow;
            }
            Colour::Red
        }
    }

    fn meter(spec: ColouringSpec) -> Meter {
        match Colouring::new(spec) {
            Colouring::Metered(meter) => *meter,
            Colouring::Fixed(_) => unreachable!("it is no meter"),
        }
    }

    fn any_plan() -> impl Strategy<Value = ColouringSpec> {
        let values = (1..400_000_000_000_u64, 0..400_000_000_000_u64, 1..40_000_u64, 1..40_000_u64);
        (any::<bool>(), values).prop_map(|(is_two_rate, (cir_bps, more, cbs_bytes, other))| {
            if is_two_rate {
                ColouringSpec::TwoRate { cir_bps, cbs_bytes, pir_bps: cir_bps + more, pbs_bytes: other }
            } else {
                ColouringSpec::SingleRate { cir_bps, cbs_bytes, ebs_bytes: other }
            }
        })
    }

    proptest! {
        #[test]
        fn meters_colour_as_the_rfcs_say(
            plan in any_plan(),
            frames in prop::collection::vec((0..300_000_u64, 64..9_216_u32, 1..5_u64), 1..200),
        ) {
            let (mut meter, mut reference, mut now) = (meter(plan), Reference::new(plan), 0);
            for (gap, frame_bytes, steps) in frames {
                now += gap;
                reference.wait(now, steps);
                prop_assert_eq!(meter.colour(Instant(now), frame_bytes), reference.meter(frame_bytes));
            }
        }
    }

    #[test]
    fn in_the_long_run_each_colour_has_its_rate() {
        // 400 Gb/s in frames of 1,000 bytes: a quarter is committed, a quarter more below the peak.
        let mut meter = meter(ColouringSpec::TwoRate {
            cir_bps: 100_000_000_000,
            cbs_bytes: 10_000,
            pir_bps: 200_000_000_000,
            pbs_bytes: 10_000,
        });
        let mut counts = [0_u32; Colour::COUNT];
        for frame in 0..100_000 {
            counts[meter.colour(Instant(frame * 20_000), 1_000) as usize] += 1;
        }
        // Bursts once: 10 frames of the committed bucket, and as many of the other.
        for (count, expected) in counts.into_iter().zip([25_000_u32, 25_000, 50_000]) {
            assert!(count.abs_diff(expected) <= 20, "{counts:?}");
        }
    }
}
