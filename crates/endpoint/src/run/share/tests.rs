//! Tests the shares of all agents of a run, with a network that delivers in any order.

use super::*;
use proptest::prelude::*;
use spec::{CollectiveSpec, JobSpec, QpMode, RepeatSpec, RunSpec, Work};
use std::collections::HashMap;
use units::{Seed, Stream, TransferId};
use workload::Message;

fn spec() -> RunSpec {
    spec::from_json(include_str!("../../../testdata/run.json")).unwrap()
}

/// Chunk and pass.
type Key = (u32, u32);

/// A pending action of the network for a chunk.
#[derive(Clone, Copy)]
enum Step {
    Deliver { agent: usize, post: Post },
    Acknowledge { agent: usize, post: Post },
}

/// All agents and the network between them.
struct Lab {
    jobs: Arc<Jobs>,
    shares: Vec<Share>,
    agent_of_host: HashMap<u32, usize>,
    steps: Vec<Step>,
    posted: Vec<Key>,
    delivered: HashMap<Key, usize>,
    acknowledged: HashMap<Key, usize>,
    delivered_bytes: u64,
    now: Instant,
}

impl Lab {
    fn new(spec: &RunSpec, agents: usize) -> Self {
        let jobs = Arc::new(crate::run::host_run::jobs_of(spec).unwrap());
        let hosts = spec.fabric.topology.hosts() as u32;
        let agent_of_host: HashMap<u32, usize> =
            (0..hosts).map(|host| (host, host as usize % agents)).collect();
        let of_agent = |agent| (0..hosts).filter(|host| agent_of_host[host] == agent).collect::<Vec<_>>();
        Self {
            shares: (0..agents).map(|agent| Share::new(spec, &jobs, &of_agent(agent))).collect(),
            jobs,
            agent_of_host,
            steps: Vec::new(),
            posted: Vec::new(),
            delivered: HashMap::new(),
            acknowledged: HashMap::new(),
            delivered_bytes: 0,
            now: Instant::ZERO,
        }
    }

    fn start(&mut self) {
        (0..self.shares.len()).for_each(|agent| self.shares[agent].start(Instant::ZERO));
        self.take_posts();
    }

    fn take_posts(&mut self) {
        for agent in 0..self.shares.len() {
            while let Some(post) = self.shares[agent].next_post() {
                self.posted.push((post.chunk, post.pass));
                self.steps.push(Step::Deliver { agent, post });
            }
        }
    }

    /// Runs one random step; false if there is none.
    fn go_on(&mut self, random: &mut Stream) -> bool {
        if self.steps.is_empty() {
            let Some(due) = self.shares.iter().map(Share::deadline).min().and_then(Instant::if_ever) else {
                return false;
            };
            self.now = due;
            self.shares.iter_mut().for_each(|share| share.advance(due));
            self.take_posts();
            return true;
        }
        let place = random.below(self.steps.len() as u64) as usize;
        // Chunks of one queue pair stay in order.
        let pair = self.pair_of(self.steps[place]);
        let place = (0..=place).find(|&each| self.pair_of(self.steps[each]) == pair).unwrap();
        let at = self.posted.len();
        match self.steps.remove(place) {
            Step::Deliver { agent, post } => {
                self.delivered.insert((post.chunk, post.pass), at);
                let pair = self.jobs.chunk_with_pair(post.chunk).2;
                let there = self.agent_of_host[&pair.dst_host.0];
                let arrival = self.shares[there].on_arrived(post.chunk, self.now).unwrap();
                assert_eq!((arrival.pass, arrival.bytes), (post.pass, post.bytes));
                self.delivered_bytes += arrival.bytes;
                self.steps.insert(place, Step::Acknowledge { agent, post });
            }
            Step::Acknowledge { agent, post } => {
                self.acknowledged.insert((post.chunk, post.pass), at);
                self.shares[agent].on_completed(post.send, self.now);
            }
        }
        self.take_posts();
        true
    }

    fn pair_of(&self, step: Step) -> u32 {
        let (Step::Deliver { post, .. } | Step::Acknowledge { post, .. }) = step;
        self.jobs.chunk(post.chunk).queue_pair
    }

    fn run(&mut self, random: &mut Stream) {
        self.start();
        while self.go_on(random) {}
    }

    /// Checks that each chunk was posted once in each pass, after its dependencies.
    fn check(&self, spec: &RunSpec) {
        let place: HashMap<Key, usize> = self.posted.iter().enumerate().map(|(at, &key)| (key, at)).collect();
        assert_eq!(place.len(), self.posted.len(), "nothing is posted twice");
        for (index, (job, schedule)) in spec.jobs.iter().zip(&self.jobs.schedules).enumerate() {
            let chunk_of = |id: TransferId| self.jobs.first_chunk(index) + id.0 * self.jobs.parts;
            let rounds = job.rounds_planned().unwrap();
            for id in (0..schedule.transfers().len()).map(TransferId::from_index) {
                let passes = self.jobs.passes(chunk_of(id), rounds) - skipped(job, schedule, id, rounds);
                for pass in 0..passes {
                    for before in chunk_of(id)..chunk_of(id) + self.jobs.parts {
                        assert!(place.contains_key(&(before, pass)), "chunk {before} of pass {pass}");
                        for next in schedule.successors(id).map(chunk_of) {
                            let parts = next..next + self.jobs.parts;
                            let delivered = self.delivered[&(before, pass)];
                            assert!(parts.into_iter().all(|next| place[&(next, pass)] >= delivered));
                        }
                    }
                }
                assert!(!place.contains_key(&(chunk_of(id), passes)));
            }
        }
        let total: u64 = self.shares.iter().map(Share::total_bytes).sum();
        assert_eq!(self.delivered_bytes, total);
        assert!(self.shares.iter().all(Share::is_done));
    }
}

/// The last round is not followed by a barrier.
fn skipped(job: &JobSpec, schedule: &workload::Schedule, id: TransferId, rounds: u32) -> u32 {
    let of_last = schedule.phase_of(id) / 2 == (rounds - 1) % job.rounds_of_a_cycle();
    u32::from(schedule.message(id) == Message::Barrier && of_last)
}

/// Changes the collective of a job and its algorithm.
fn set_pattern<'a>(job: &'a mut JobSpec, (collective, algorithm): (&str, &str)) -> &'a mut CollectiveSpec {
    let Work::Collective(work) = &mut job.work else { panic!("the spec has a collective") };
    (work.pattern.collective, work.pattern.algorithm) = (collective.into(), algorithm.into());
    work
}

/// One or two collectives on the same hosts, with one to three rounds, on any number of agents.
fn any_spec() -> impl Strategy<Value = (RunSpec, usize, u64)> {
    let patterns: Vec<_> = workload::algorithms().iter().map(|each| (each.collective, each.name)).collect();
    let kinds = (0..patterns.len(), 1..=2_u32, any::<bool>(), any::<bool>());
    let rounds = (1..=3_u32, 0..=2_u32, any::<bool>(), any::<bool>());
    (kinds, rounds, (1..=4_usize, 0..patterns.len(), any::<bool>()), 0..3_u64, any::<u64>()).prop_map(
        move |(kind, rounds, (agents, other, has_other), overhead, seed)| {
            let (pattern, parts, is_per_pair, shares_hosts) = kind;
            let (count, warm_up, barrier, root_shift) = rounds;
            let mut spec = spec();
            let job = &mut spec.jobs[0];
            job.repeat = RepeatSpec::Rounds { rounds: count };
            let work = set_pattern(job, patterns[pattern]);
            (work.warm_up_rounds, work.barrier, work.root_shift) = (warm_up, barrier, root_shift);
            work.step_overhead_ps = overhead * 1_000;
            if shares_hosts {
                job.hosts = vec![0, 0, 1, 1, 2, 2, 3, 3];
            }
            if has_other {
                let mut job = spec.jobs[0].clone();
                (job.name, job.stream) = ("other".into(), 1);
                job.hosts = vec![3, 1, 2, 2, 0, 1, 0, 3];
                set_pattern(&mut job, patterns[other]).root_shift = false;
                spec.jobs.push(job);
            }
            spec.transport.qps_per_rank_pair = parts;
            spec.transport.qp_mode = if is_per_pair { QpMode::PerPair } else { QpMode::PerChunk };
            (spec, agents, seed)
        },
    )
}

proptest! {
    #[test]
    fn every_collective_is_carried_out_in_the_order_of_its_dependencies((spec, agents, seed) in any_spec()) {
        let mut lab = Lab::new(&spec, agents);
        lab.run(&mut Seed(seed).stream("lab", 0));
        lab.check(&spec);
    }
}
