//! Some megabytes between two sockets of this host, with and without packets lost on purpose.

#![expect(clippy::unwrap_used, reason = "the helpers of tests are tests, too")]

use endpoint::loopback::{Description, Facts, LossRecovery, Transfer, Verb, run};

const BOTH: [LossRecovery; 2] = [LossRecovery::GoBackN, LossRecovery::Selective];

fn description(recovery: LossRecovery, loss_one_in: u64, sizes: &[usize]) -> Description {
    Description {
        seed: 7,
        loss_one_in,
        mtu_bytes: 4096,
        message_bytes: 1 << 20,
        ack_every: 8,
        window_packets: 32,
        recovery,
        ooo_window_packets: 32,
        timeout_ps: 20_000_000_000,
        retry_count: 100,
        limit_ps: 60_000_000_000_000,
        line_rate_bps: None,
        first_source_port: None,
        transfers: sizes.iter().map(|&bytes| Transfer { verb: Verb::Write, bytes }).collect(),
    }
}

#[track_caller]
fn expect_equal(facts: &Facts) {
    for transfer in &facts.transfers {
        assert!(transfer.is_equal, "{transfer:?}");
        assert_eq!(transfer.status, "success");
        let (delivered, completed) = (transfer.delivered_ps.unwrap(), transfer.completed_ps.unwrap());
        assert!(transfer.start_ps < delivered && delivered < completed, "{transfer:?}");
    }
    assert_eq!(facts.refused_datagrams, 0);
    let bits: u64 = facts.transfers.iter().map(|transfer| transfer.bytes * 8).sum();
    let expected = u128::from(bits) * 1_000_000_000_000 / u128::from(facts.duration_ps);
    assert_eq!(u128::from(facts.goodput_bps), expected);
}

#[test]
fn every_byte_arrives_where_one_packet_in_fifty_is_lost() {
    for recovery in BOTH {
        let facts = run(&description(recovery, 50, &[4 << 20, 1, 1 << 20, 123_457])).unwrap();
        expect_equal(&facts);
        assert!(facts.dropped_packets > 0);
        let (first, second) = (&facts.transfers[0], &facts.transfers[1]);
        assert!(first.retransmits > 0 && first.out_of_order > 0, "{first:?}");
        assert!(first.sent_frames >= 1024 + first.retransmits, "{first:?}");
        assert_eq!((second.received_frames, second.received_bytes), (1, 4 + 78));
    }
}

#[test]
fn a_write_with_immediate_is_told_when_it_is_there() {
    for recovery in BOTH {
        let mut writes = description(recovery, 50, &[1 << 20, 1, 100_000]);
        writes.transfers.iter_mut().for_each(|transfer| transfer.verb = Verb::WriteWithImmediate);
        expect_equal(&run(&writes).unwrap());
    }
}

#[test]
fn pacing_holds_the_rate() {
    let mut paced = description(LossRecovery::GoBackN, 0, &[1 << 20]);
    paced.line_rate_bps = Some(100_000_000);
    let facts = run(&paced).unwrap();
    expect_equal(&facts);
    // 8.4 Mb and the headers of 256 packets; a late thread only makes it slower.
    assert!(facts.goodput_bps < 100_000_000, "{facts:?}");
    assert!(facts.transfers[0].cnps == 0, "{facts:?}");
}

#[test]
fn a_send_fills_its_receive() {
    let mut sends = description(LossRecovery::GoBackN, 50, &[1 << 20, 100_000]);
    sends.transfers.iter_mut().for_each(|transfer| transfer.verb = Verb::Send);
    expect_equal(&run(&sends).unwrap());
}

#[test]
fn nothing_is_lost_where_nothing_is_dropped() {
    for recovery in BOTH {
        let facts = run(&description(recovery, 0, &[2 << 20])).unwrap();
        expect_equal(&facts);
        assert_eq!(facts.dropped_packets, 0);
        assert!(facts.transfers[0].sent_frames >= 512);
    }
}

#[test]
fn where_everything_is_lost_the_transfer_fails_and_says_so() {
    let mut all_lost = description(LossRecovery::GoBackN, 1, &[10_000]);
    (all_lost.timeout_ps, all_lost.retry_count) = (1_000_000_000, 3);
    let facts = run(&all_lost).unwrap();
    let transfer = &facts.transfers[0];
    assert_eq!((transfer.status, transfer.is_equal, transfer.timeouts), ("retry-exceeded", false, 4));
    assert_eq!((transfer.delivered_ps, transfer.completed_ps, transfer.received_frames), (None, None, 0));
}

#[test]
fn where_everything_is_lost_in_the_middle_of_a_window_the_transfer_fails() {
    // More packets than all queue pairs of an endpoint may have under way, and a window that lets them out.
    let mut all_lost = description(LossRecovery::GoBackN, 1, &[8 << 20]);
    (all_lost.timeout_ps, all_lost.retry_count, all_lost.window_packets) = (10_000_000_000, 2, 1 << 20);
    all_lost.limit_ps = 5_000_000_000_000;
    let transfer = &run(&all_lost).unwrap().transfers[0];
    assert_eq!((transfer.status, transfer.timeouts), ("retry-exceeded", 3));
}

#[test]
fn the_limit_of_time_ends_what_has_not_ended() {
    let mut all_lost = description(LossRecovery::Selective, 1, &[10_000]);
    all_lost.limit_ps = 5_000_000_000;
    assert_eq!(run(&all_lost).unwrap().transfers[0].status, "unfinished");
}

#[test]
fn what_cannot_be_carried_out_says_why() {
    let message = |description: &Description| run(description).unwrap_err().to_string();
    let good = description(LossRecovery::Selective, 0, &[1]);
    assert_eq!(
        message(&description(LossRecovery::GoBackN, 0, &[0])),
        "transfers[0] has no bytes; at least 1 is needed"
    );
    let bad = Description { window_packets: 0, ..good.clone() };
    assert_eq!(message(&bad), "window_packets is 0; 1 to 8388608 are allowed");
    let send = Transfer { verb: Verb::Send, bytes: 1 };
    let bad = Description { transfers: vec![send], ..good.clone() };
    assert_eq!(message(&bad), "transfers[0]: SEND needs go-back-N recovery");
    let bad = Description { mtu_bytes: 9000, ..good };
    assert_eq!(message(&bad), "mtu_bytes is 9000; 256, 512, 1024, 2048 and 4096 are allowed");
}
