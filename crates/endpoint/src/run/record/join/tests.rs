//! Records with times of different clocks are joined on one clock.

use super::*;
use crate::run::record::{write_received, write_sent};
use proptest::prelude::*;

/// Latest time of a run [ps]: 10 s.
const END_PS: i64 = 10_000_000_000_000;
/// Tolerance: a shift is rounded to picoseconds twice, once in each direction.
const ROUNDED_PS: i64 = 2;

fn spec() -> RunSpec {
    spec::from_json(include_str!("../../../../testdata/run.json")).unwrap()
}

/// Times of each chunk in its first pass, on one clock: posted, delivered, completed [ps].
type Times = Vec<[i64; 3]>;

fn any_times(chunks: usize) -> impl Strategy<Value = Times> {
    let times = proptest::array::uniform3(1_000_000..END_PS).prop_map(|mut times| {
        times.sort_unstable();
        times
    });
    prop::collection::vec(times, chunks)
}

/// A clock with an offset of at most 1 s and a drift of at most 500 ppm, the largest slew of Linux.
fn any_clock() -> impl Strategy<Value = ClockLine> {
    let drift_max = END_PS / 2_000;
    (-END_PS / 10..END_PS / 10, -drift_max..=drift_max).prop_map(|(shift, drift)| ClockLine {
        times_ps: [-300_000_000_000, END_PS],
        shifts_ps: [shift, shift + drift],
    })
}

/// Time displayed by a clock: the inverse of its correction.
fn shown(clock: Option<&ClockLine>, time_ps: i64) -> i64 {
    let Some(clock) = clock else { return time_ps };
    // Each iteration leaves 500 millionths of the previous error.
    (0..6).fold(time_ps, |at, _| at - (clock.corrected(at) - time_ps))
}

/// Rows from records of clocks that run as in `clocks` and are corrected as in `known`.
fn rows(
    times: &Times,
    clocks: &BTreeMap<u32, ClockLine>,
    known: &BTreeMap<u32, ClockLine>,
) -> HashMap<(u32, u32), ChunkRow> {
    let spec = spec();
    let jobs = crate::run::host_run::jobs_of(&spec).unwrap();
    let (mut sent, mut received) = (Vec::new(), Vec::new());
    for (chunk, &[start, delivered, completed]) in (0..).zip(times) {
        let pair = pair_of(&jobs, chunk).unwrap();
        let (sender, receiver) = (clocks.get(&pair.src_host.0), clocks.get(&pair.dst_host.0));
        sent.push(SentHalf {
            chunk,
            pass: 0,
            status: SentStatus::Complete,
            start_ps: shown(sender, start),
            completed_ps: Some(shown(sender, completed)),
            seen: SentCounts::default(),
        });
        let (delivered_ps, seen) = (Some(shown(receiver, delivered)), ReceivedCounts::default());
        received.push(ReceivedHalf { chunk, pass: 0, delivered_ps, seen });
    }
    let streams = ([write_sent(&sent, &jobs).unwrap()], [write_received(&received, &jobs).unwrap()]);
    let ends = Ends::read(&jobs, Halves { sent: &streams.0, received: &streams.1, clocks: known }).unwrap();
    let made = ends.rows(&spec, &jobs).into_iter().filter(|row| row.round == 0);
    made.map(|row| ((row.qp, row.transfer), row)).collect()
}

#[test]
fn a_chunk_with_wrong_payload_has_failed_though_it_was_acknowledged() {
    let spec = spec();
    let jobs = crate::run::host_run::jobs_of(&spec).unwrap();
    let found = [Some(false), Some(true), None].map(|is_verified| {
        let sent = SentHalf {
            chunk: 0,
            pass: 0,
            status: SentStatus::Complete,
            start_ps: 1,
            completed_ps: Some(9),
            seen: SentCounts::default(),
        };
        let seen = ReceivedCounts { is_verified, ..ReceivedCounts::default() };
        let received = ReceivedHalf { chunk: 0, pass: 0, delivered_ps: Some(5), seen };
        let streams = ([write_sent(&[sent], &jobs).unwrap()], [write_received(&[received], &jobs).unwrap()]);
        let known = BTreeMap::new();
        let halves = Halves { sent: &streams.0, received: &streams.1, clocks: &known };
        Ends::read(&jobs, halves).unwrap().rows(&spec, &jobs)[0].status
    });
    assert_eq!(found, [ChunkStatus::Failed, ChunkStatus::Complete, ChunkStatus::Complete]);
}

fn chunk_count() -> usize {
    crate::run::host_run::jobs_of(&spec()).unwrap().chunk_count() as usize
}

fn all_times(row: &ChunkRow) -> [Option<i64>; 3] {
    [row.start_ps, row.delivered_ps, row.completed_ps].map(|time| time.map(|at| at as i64))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn rows_of_hosts_with_clocks_of_their_own_are_those_of_one_clock(
        times in any_times(chunk_count()),
        clocks in prop::collection::btree_map(0_u32..4, any_clock(), 0..4),
    ) {
        let (one, theirs) = (rows(&times, &BTreeMap::new(), &BTreeMap::new()), rows(&times, &clocks, &clocks));
        prop_assert_eq!(one.len(), theirs.len());
        for (key, row) in &theirs {
            for (corrected, meant) in all_times(row).into_iter().zip(all_times(&one[key])) {
                prop_assert_eq!(corrected.is_some(), meant.is_some());
                let apart = corrected.unwrap_or(0) - meant.unwrap_or(0);
                prop_assert!(apart.abs() <= ROUNDED_PS, "{row:?}: {apart} ps apart");
            }
        }
    }

    #[test]
    fn a_line_goes_through_its_readings_and_a_level_one_shifts_all_alike(
        clock in any_clock(), time in -END_PS..END_PS, shift in -END_PS..END_PS,
    ) {
        for (time, shift) in clock.times_ps.into_iter().zip(clock.shifts_ps) {
            prop_assert_eq!(clock.corrected(time), time + shift);
        }
        let level = ClockLine { shifts_ps: [shift; 2], ..clock };
        prop_assert_eq!(level.corrected(time), time + shift);
        let once = ClockLine { times_ps: [time; 2], shifts_ps: [shift; 2] };
        prop_assert_eq!(once.corrected(time + 1), time + 1 + shift);
    }
}

#[test]
fn a_clock_that_is_not_corrected_shows() {
    let times: Times = vec![[1_000_000_000, 2_000_000_000, 3_000_000_000]; chunk_count()];
    let late = ClockLine { times_ps: [0, END_PS], shifts_ps: [-1_500_000_000; 2] };
    let clocks = BTreeMap::from([(1, late)]);
    let rows = rows(&times, &clocks, &BTreeMap::new());
    let wrong = rows.values().filter(|row| row.dst_host == 1 && row.src_host != 1).count();
    assert!(wrong > 0);
    for row in rows.values().filter(|row| row.dst_host == 1 && row.src_host != 1) {
        assert_eq!(row.delivered_ps, Some(3_500_000_000));
        assert!(row.delivered_ps > row.completed_ps);
    }
}
