//! Waiting times of a port against queueing theory.

use crate::common::{self, collective, offer, run, single_switch};
use fabricbench_sim::{Observer, Options, Progress, Stopped};
use record::Batch;
use spec::{ArrivalProcess, CableSpec, LeafSpine, LinkSpec, QpMode, RunSpec, TopologySpec};

/// Payload of a message of one packet, and what it occupies on a link: a WRITE Only with preamble and gap
/// [bytes].
const PAYLOAD_BYTES: u64 = 4096;
const WIRE_BYTES: u64 = PAYLOAD_BYTES + 78 + 20;

/// Adds up what the messages of a run took, and keeps nothing else.
#[derive(Default)]
struct Waits {
    messages: u64,
    completion_ps: u64,
    latency_ps: u64,
    least_latency_ps: Option<u64>,
}

impl Observer<Progress> for Waits {
    fn batch(&mut self, batch: Batch) -> Result<(), Stopped> {
        let Batch::Chunks(rows) = batch else { return Ok(()) };
        for row in rows {
            let (start, end) = row.start_ps.zip(row.completed_ps).expect("every message completes");
            self.messages += 1;
            self.completion_ps += end - start;
            self.latency_ps += row.latency_sum_ps;
            self.least_latency_ps = self.least_latency_ps.into_iter().chain(row.latency_min_ps).min();
        }
        Ok(())
    }

    fn progress(&mut self, _: Progress) -> Result<(), Stopped> {
        Ok(())
    }
}

/// Everybody sends messages of one packet to rank 0 as a Poisson process, that fill `load_percent` of a port
/// of `port_bps` together, about `messages` in all.
fn poisson(topology: TopologySpec, ranks: u32, port_bps: u64, load_percent: u64, messages: u64) -> RunSpec {
    let mut spec = collective(topology, ranks, "incast", "parallel", PAYLOAD_BYTES);
    let payload_bps = port_bps / 100 * load_percent * PAYLOAD_BYTES / WIRE_BYTES;
    let rate_bps = payload_bps / u64::from(ranks - 1);
    let duration_ps = messages * PAYLOAD_BYTES * 8_000 * 1_000_000 / (payload_bps / 1_000);
    offer(&mut spec.jobs[0], ArrivalProcess::Poisson, rate_bps, duration_ps);
    spec.transport.qp_mode = QpMode::PerPair;
    spec.transport.ack_every = 1;
    spec.observe.series_points = 0;
    spec
}

fn waits(spec: &RunSpec) -> Waits {
    let mut waits = Waits::default();
    fabricbench_sim::run(spec, Options::default(), &mut waits).expect("the spec is right");
    waits
}

/// Mean waiting time of an M/D/1 queue, rho / (2 (1 - rho)) service times (Pollaczek and Khinchine), at the
/// load that was drawn: of `messages` in the time of the spec, in millionths.
fn theory_ppm(spec: &RunSpec, messages: u64, service_ps: u64) -> u64 {
    let duration_ps = spec.jobs[0].work.open_loop().expect("open loop").duration_ps;
    let busy_ps = u128::from(messages * service_ps);
    (busy_ps * 1_000_000 / (2 * (u128::from(duration_ps) - busy_ps))) as u64
}

/// Compares the mean of measured waits over `seeds` runs with that of theory. `wait_ps` is the mean wait of a
/// run.
fn assert_md1(mut spec: RunSpec, load: u64, seeds: u64, service_ps: u64, wait_ps: impl Fn(&Waits) -> u64) {
    let (mut measured, mut theory) = (0, 0);
    for seed in 0..seeds {
        spec.seed = seed;
        let waits = waits(&spec);
        measured += wait_ps(&waits) * 1_000_000 / service_ps;
        theory += theory_ppm(&spec, waits.messages, service_ps);
    }
    let deviation_ppm = (measured as i64 - theory as i64) * 1_000_000 / theory as i64;
    let (measured, theory) = (measured / seeds, theory / seeds);
    eprintln!(
        "load {load} %: {measured}, theory {theory} millionths of a service, deviation {deviation_ppm} ppm"
    );
    assert!(deviation_ppm.abs() < 10_000, "load {load} %: {measured}, theory {theory}");
}

/// Messages of a run. The standard error of the mean of a run was seen to be 0.5 % at loads of 50 and 80 %,
/// that of the comparison a half to a quarter of it.
const MESSAGES: u64 = 500_000;

#[test]
fn the_port_of_a_nic_is_an_md1_queue() {
    let line_bps = 400_000_000_000;
    // What a message takes that waits for nobody, its acknowledgement included. Acknowledgements are shorter
    // than messages, so they do not wait for each other.
    let alone = collective(single_switch(2), 2, "incast", "parallel", PAYLOAD_BYTES);
    let alone_ps = common::completion_ps(&run(&alone).0);
    for (load, seeds) in [(50, 4), (80, 8)] {
        let spec = poisson(single_switch(2), 2, line_bps, load, MESSAGES);
        let wait_ps = |waits: &Waits| waits.completion_ps / waits.messages - alone_ps;
        assert_md1(spec, load, seeds, WIRE_BYTES * 20, wait_ps);
    }
}

#[test]
fn a_slow_port_of_a_switch_fed_by_fast_ones_is_an_md1_queue() {
    let slow = LinkSpec { rate_bps: 10_000_000_000, cable: CableSpec { delay_ps: 150_000 } };
    let topology = TopologySpec::LeafSpine(LeafSpine {
        leaves: 2,
        hosts_per_leaf: 16,
        spines: 1,
        links_per_spine: 1,
        host_link: common::link(3),
        fabric_link: slow,
    });
    // From 16 hosts of the first leaf to one of the second: each uses so little of its own link that its
    // messages hardly wait there, and what leaves the slow port is spaced for the ports after it.
    for (load, seeds) in [(50, 2), (80, 6)] {
        let mut spec = poisson(topology.clone(), 17, slow.rate_bps, load, MESSAGES);
        spec.jobs[0].hosts = std::iter::once(16).chain(0..16).collect();
        let wait_ps = |waits: &Waits| {
            waits.latency_ps / waits.messages - waits.least_latency_ps.expect("there are messages")
        };
        assert_md1(spec, load, seeds, WIRE_BYTES * 800, wait_ps);
    }
}
