//! Priority flow control frame: MAC control frame that pauses or resumes up to eight priorities.
//! IEEE 802.3-2022, annex 31D; IEEE 802.1Q-2022, clause 36.

use crate::bytes::{array, be16, put, require_zero, view};
use crate::ethernet::{self, EtherType, MacAddress};
use crate::{Error, Result};
use units::{Rate, Span};

/// Length of the frame without the frame check sequence: the shortest Ethernet frame.
pub const FRAME_BYTES: usize = ethernet::MIN_FRAME_BYTES;
/// Number of priorities.
pub const PRIORITIES: usize = 8;
/// Destination of MAC control frames: the neighbour, never forwarded. IEEE 802.3-2022, 31.4.1.1.
pub const DESTINATION: MacAddress = MacAddress([0x01, 0x80, 0xc2, 0x00, 0x00, 0x01]);
/// MAC control opcode of priority flow control. IEEE 802.3-2022, table 31A-1.
pub const OPCODE: u16 = 0x0101;

const ENABLE_OFFSET: usize = ethernet::HEADER_BYTES + 2;
const TIMES_OFFSET: usize = ENABLE_OFFSET + 2;
const PAD_OFFSET: usize = TIMES_OFFSET + 2 * PRIORITIES;

/// The time for which `quanta` pause a priority of a port at `rate`.
#[must_use]
pub const fn pause_span(quanta: u16, rate: Rate) -> Span {
    // IEEE 802.3-2022, 31B.2: a quantum is 512 bit times (64 bytes) at the port's speed.
    rate.span_of(quanta as u64 * 64)
}

view! {
    /// View of a priority flow control frame, starting at its destination address.
    Frame, FRAME_BYTES, {
        /// MAC control opcode.
        opcode: u16 = |bytes| be16(bytes, ethernet::HEADER_BYTES);
        /// Priority enable vector: bit n enables time n.
        enable_vector: u16 = |bytes| be16(bytes, ENABLE_OFFSET);
    }
}

impl<T: AsRef<[u8]>> Frame<T> {
    /// Pause time of a priority (quanta of 512 bit times).
    ///
    /// # Panics
    /// If `priority` is above 7.
    #[must_use]
    pub fn time_quanta(&self, priority: usize) -> u16 {
        assert!(priority < PRIORITIES, "priority {priority} of 0 to 7");
        be16(self.bytes(), TIMES_OFFSET + 2 * priority)
    }

    /// The pad to the shortest frame.
    #[must_use]
    pub fn pad(&self) -> [u8; FRAME_BYTES - PAD_OFFSET] {
        array(self.bytes(), PAD_OFFSET)
    }
}

/// A priority flow control frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Address of the port that requests the pause.
    pub source: MacAddress,
    /// Pause time of each priority (quanta of 512 bit times); 0 resumes it, `None` leaves it unchanged.
    pub pause_quanta: [Option<u16>; PRIORITIES],
}

impl Repr {
    /// Parses the frame.
    ///
    /// # Errors
    /// [`Error::ControlAddress`], [`Error::EtherType`], [`Error::ControlOpcode`], or [`Error::Reserved`] if
    /// the upper half of the enable vector, the time of a priority that is not enabled, or the pad is not 0.
    pub fn parse<T: AsRef<[u8]>>(frame: &Frame<T>) -> Result<Self> {
        let header = ethernet::Repr::parse(&ethernet::Frame::new(frame.bytes())?)?;
        if header.ethertype != EtherType::MAC_CONTROL {
            return Err(Error::EtherType(header.ethertype.value()));
        }
        if header.destination != DESTINATION {
            return Err(Error::ControlAddress(header.destination));
        }
        if frame.opcode() != OPCODE {
            return Err(Error::ControlOpcode(frame.opcode()));
        }
        let pad = frame.pad();
        let first_set = pad.into_iter().find(|&byte| byte != 0).unwrap_or(0);
        require_zero("pad of the PFC frame", first_set.into())?;
        Ok(Self { source: header.source, pause_quanta: parse_times(frame)? })
    }

    /// Writes the frame without frame check sequence to the first [`FRAME_BYTES`] of `buffer`.
    ///
    /// # Errors
    /// [`Error::Truncated`] if the buffer is shorter.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<()> {
        let header = ethernet::Repr {
            destination: DESTINATION,
            source: self.source,
            ethertype: EtherType::MAC_CONTROL,
        };
        let mut frame = [0; FRAME_BYTES];
        header.emit(&mut frame)?;
        let mut enable_vector = 0_u16;
        for (priority, quanta) in self.pause_quanta.into_iter().enumerate() {
            enable_vector |= u16::from(quanta.is_some()) << priority;
            put(&mut frame[TIMES_OFFSET + 2 * priority..], [&quanta.unwrap_or(0).to_be_bytes()])?;
        }
        put(&mut frame[ethernet::HEADER_BYTES..], [&OPCODE.to_be_bytes(), &enable_vector.to_be_bytes()])?;
        put(buffer, [&frame])
    }
}

fn parse_times<T: AsRef<[u8]>>(frame: &Frame<T>) -> Result<[Option<u16>; PRIORITIES]> {
    let enable_vector = frame.enable_vector();
    require_zero("upper half of the PFC enable vector", u64::from(enable_vector >> PRIORITIES))?;
    let mut pause_quanta = [None; PRIORITIES];
    for (priority, pause) in pause_quanta.iter_mut().enumerate() {
        let quanta = frame.time_quanta(priority);
        if enable_vector >> priority & 1 == 1 {
            *pause = Some(quanta);
        } else {
            require_zero("time of a PFC priority that is not enabled", quanta.into())?;
        }
    }
    Ok(pause_quanta)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use proptest::prelude::*;

    fn parse(frame: &[u8]) -> Result<Repr> {
        Repr::parse(&Frame::new(frame)?)
    }

    /// Pauses priority 3 for the longest possible time and resumes priority 5.
    fn example() -> Repr {
        let mut pause_quanta = [None; PRIORITIES];
        (pause_quanta[3], pause_quanta[5]) = (Some(u16::MAX), Some(0));
        Repr { source: MacAddress([2, 0, 0, 0, 0, 1]), pause_quanta }
    }

    #[test]
    fn a_change_of_what_is_fixed_is_rejected_by_name() {
        let mut frame = [0; FRAME_BYTES];
        example().emit(&mut frame).unwrap();
        let with = |at: usize, value: u8| {
            let mut changed = frame;
            changed[at] = value;
            parse(&changed).unwrap_err()
        };
        let address = MacAddress([0x01, 0x80, 0xc2, 0x00, 0x00, 0x02]);
        assert_eq!(with(5, 2), Error::ControlAddress(address));
        assert_eq!(with(12, 8), Error::EtherType(0x0808));
        assert_eq!(with(15, 0x02), Error::ControlOpcode(0x0102));
        for at in [16, 18, 34, 59] {
            assert!(matches!(with(at, 1), Error::Reserved { .. }), "byte {at}");
        }
    }

    #[test]
    fn a_quantum_is_512_bit_times() {
        assert_eq!(pause_span(1, Rate::from_gbps(400)), Span(1_280));
        assert_eq!(pause_span(u16::MAX, Rate::from_gbps(100)), Span(335_539_200));
        assert_eq!(pause_span(0, Rate::from_gbps(100)), Span::ZERO);
    }

    proptest! {
        #[test]
        fn parse_is_the_inverse_of_emit(repr in testing::pfc()) {
            let mut frame = [0xee; FRAME_BYTES];
            repr.emit(&mut frame)?;
            prop_assert_eq!(parse(&frame)?, repr);
        }

        #[test]
        fn emit_is_the_inverse_of_parse(enabled: u8, times: [u8; 16], keep: bool) {
            let mut frame = [0; FRAME_BYTES];
            example().emit(&mut frame)?;
            frame[ENABLE_OFFSET + 1] = enabled;
            for (at, byte) in times.into_iter().enumerate() {
                let counts = keep || enabled >> (at / 2) & 1 == 1;
                frame[TIMES_OFFSET + at] = if counts { byte } else { 0 };
            }
            if let Ok(repr) = parse(&frame) {
                let mut again = [0; FRAME_BYTES];
                repr.emit(&mut again)?;
                prop_assert_eq!(again, frame);
            } else {
                prop_assert!(keep);
            }
        }

        #[test]
        fn short_buffers_are_errors(repr in testing::pfc(), have in 0..FRAME_BYTES) {
            let mut frame = [0; FRAME_BYTES];
            let expected = Error::Truncated { need: FRAME_BYTES, have };
            prop_assert_eq!(repr.emit(&mut frame[..have]), Err(expected));
            prop_assert_eq!(parse(&frame[..have]), Err(expected));
        }
    }
}
