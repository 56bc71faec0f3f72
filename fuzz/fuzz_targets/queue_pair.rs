//! Packets of a hostile peer to a queue pair, each behind its length.
#![no_main]

use libfuzzer_sys::fuzz_target;
use transport::{Config, Controller, QueuePair, Reads, Received, Recovery, Region, Settings, Target};
use units::{Instant, Span};
use wire::Psn;
use wire::aeth::RnrTimer;
use wire::bth::Qpn;

const MEMORY: Region = Region { address: 0x1000, bytes: 5_000, remote_key: 0 };
const RECEIVE_BYTES: u64 = 700;

fn queue_pair(recovery: Recovery) -> QueuePair {
    let config = Config {
        mtu_bytes: 256,
        message_bytes: 2_000,
        ack_every: 4,
        window_packets: 32,
        timeout: Span::from_us(100),
        retry_count: 7,
        recovery,
    };
    let settings = Settings {
        config,
        number: Qpn::default(),
        peer: Qpn::default(),
        first_psn: Psn::new(0),
        peer_first_psn: Psn::new(0),
        rate: Controller::LINE_RATE,
        cnp_interval: Some(Span::from_us(50)),
        reads: Reads::NONE,
        memory: Some(MEMORY),
        peer_remote_key: 0,
        rnr_timer: RnrTimer::default(),
        rnr_retry_count: 7,
    };
    let mut queue_pair = QueuePair::new(&settings).expect("the settings are right");
    queue_pair.post_receive(RECEIVE_BYTES).expect("it has not failed");
    queue_pair.post_receive(0).expect("it has not failed");
    queue_pair.post_write(0, 3_000).expect("it has not failed");
    queue_pair.post_write_with_immediate(0, 300, 7).expect("it has not failed");
    queue_pair
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, mut rest)) = bytes.split_first() else { return };
    let selective = Recovery::Selective { ooo_window_packets: 32 };
    let mut queue_pair = queue_pair(if first & 1 == 0 { Recovery::GoBackN } else { selective });
    let mut now = Instant::ZERO;
    while let Some((&length, behind)) = rest.split_first() {
        let (packet, behind) = behind.split_at(usize::from(length).min(behind.len()));
        rest = behind;
        now += Span::from_us(u64::from(length));
        queue_pair.on_timeout(now);
        while queue_pair.poll_transmit(now).is_some() {}
        let Ok(packet) = Received::decode(packet) else { continue };
        let Some(placed) = queue_pair.handle(&packet, now).placed else { continue };
        let (offset, end) = match placed.target {
            Target::Memory { address } => (address - MEMORY.address, MEMORY.bytes),
            Target::Receive { work, offset_bytes } => (offset_bytes, if work.0 == 0 { RECEIVE_BYTES } else { 0 }),
        };
        assert!(offset + packet.payload().len() as u64 <= end, "payload beyond its place");
    }
});
