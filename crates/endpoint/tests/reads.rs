//! READs over two sockets of this host, with and without packets lost on purpose.

#![expect(clippy::unwrap_used, reason = "the helpers of tests are tests, too")]

use endpoint::{Clock, Endpoint, Loss, Operation, PairId};
use std::net::{Ipv4Addr, SocketAddrV4};
use transport::{Config, Controller, Reads, Recovery, Region, Settings, Status};
use units::{Seed, Span};
use wire::Psn;
use wire::aeth::RnrTimer;
use wire::bth::Qpn;

const ADDRESS: u64 = 0x1000_0000;
const KEY: u32 = 7;
const MEMORY: usize = 1 << 20;

fn settings(end: u32) -> Settings {
    let number = |end: u32| Qpn::new(0x100 + end).unwrap();
    Settings {
        config: Config {
            mtu_bytes: 4096,
            message_bytes: 64 << 10,
            ack_every: 8,
            window_packets: 32,
            timeout: Span::from_us(20_000),
            retry_count: 100,
            recovery: Recovery::GoBackN,
        },
        number: number(end),
        peer: number(1 - end),
        first_psn: Psn::new(0xff_fff0),
        peer_first_psn: Psn::new(0xff_fff0),
        rate: Controller::LINE_RATE,
        cnp_interval: None,
        reads: Reads { requested_max: 4, served_max: 4 },
        memory: Some(Region { address: ADDRESS, bytes: MEMORY as u64, remote_key: KEY }),
        peer_remote_key: KEY,
        rnr_timer: RnrTimer::default(),
        rnr_retry_count: 7,
    }
}

/// Two endpoints that are connected; the memory of the second is `content`.
fn connected(loss_one_in: u64, content: &[u8]) -> ([Endpoint; 2], [PairId; 2]) {
    let clock = Clock::start();
    let bind = |end| {
        let any = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
        Endpoint::bind(any, clock, Loss::new(loss_one_in, Seed(3), end)).unwrap()
    };
    let mut ends = [bind(0), bind(1)];
    let at = [ends[0].local(), ends[1].local()];
    let reader = ends[0].connect(&settings(0), at[1], vec![0; MEMORY]).unwrap();
    let served = ends[1].connect(&settings(1), at[0], content.to_vec()).unwrap();
    (ends, [reader, served])
}

#[test]
fn what_is_read_between_writes_is_what_the_peer_has() {
    for loss_one_in in [0, 50] {
        let content: Vec<u8> = (0..MEMORY).map(|place| ((place * 31) >> 3) as u8).collect();
        let (mut ends, [reader, served]) = connected(loss_one_in, &content);
        let half = MEMORY / 2;
        let sizes = [half, 1, 0, 4096, 100_003];
        for bytes in sizes {
            ends[0].post(reader, Operation::Read(ADDRESS).of(0..bytes)).unwrap();
            let write = Operation::Write(ADDRESS + half as u64).of(half..half + 5_000);
            ends[0].post(reader, write).unwrap();
        }
        let mut statuses = Vec::new();
        while statuses.len() < 2 * sizes.len() {
            ends.iter_mut().for_each(|end| end.poll(Span::from_us(50)).unwrap());
            statuses.extend(ends[0].poll_completion().map(|(_, ended)| ended.completion.status));
        }
        assert!(statuses.iter().all(|status| *status == Status::Success), "{statuses:?}");
        let [read, written] = [ends[0].pair(reader), ends[1].pair(served)].map(|pair| pair.memory().bytes());
        assert_eq!(read[..half], content[..half]);
        assert_eq!(written[half..half + 5_000], [0; 5_000]);
        assert_eq!(ends[0].dropped_packets() > 0, loss_one_in > 0);
        assert_eq!(ends.each_ref().map(Endpoint::refused_datagrams), [0, 0]);
    }
}
