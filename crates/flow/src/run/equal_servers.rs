//! Runs in which two servers stand for all.
//!
//! In a ring of NCCL each server does at each step what the server before it does. If all servers of a channel
//! are on one switch, with equal links, then nothing tells one server from another: two of them, with as many
//! steps as the ring of all, take the same times. Blocks that differ by a byte count as equal. Counts and
//! statistics are those of all; chunks that get a row are drawn from those of the two.

use crate::checks::is_sprayed;
use crate::network::Network;
use crate::network::paths::Paths;
use jobs::Jobs;
use record::ChannelRow;
use spec::{ChunksObserved, JobSpec, RunSpec};
use units::{HostId, NodeId};

/// Equal servers of which two are simulated; none by default.
#[derive(Clone, Default)]
pub(crate) struct EqualServers {
    /// All servers, the two first; empty by default.
    servers: Vec<u32>,
}

impl EqualServers {
    /// Those of a spec whose only job is a ring of NCCL, unless each chunk gets a row.
    pub(crate) fn find(spec: &RunSpec, paths: &Paths) -> Option<Self> {
        let [job] = &spec.jobs[..] else { return None };
        let nccl = job.work.nccl()?;
        let channels = nccl.channels()?;
        let goes_round = nccl.cycles(&job.work.pattern()?.collective).is_some();
        let servers = servers_of(job);
        let has_all_rows = spec.observe.chunks == ChunksObserved::All;
        if !goes_round || has_all_rows || servers.len() < 3 || is_sprayed(spec) {
            return None;
        }
        let mut nics = channels.channels.iter().map(|channel| [channel.receive_nic, channel.send_nic]);
        let are_equal = nics.all(|nics| are_on_one_switch(&paths.network, &servers, nics));
        are_equal.then_some(Self { servers })
    }

    /// Number of servers, if two stand for them.
    pub(crate) fn count(&self) -> Option<u32> {
        (!self.servers.is_empty()).then_some(self.servers.len() as u32)
    }

    /// The spec with the ranks of the first two servers.
    pub(crate) fn first_two(spec: &RunSpec) -> RunSpec {
        let mut spec = spec.clone();
        for job in &mut spec.jobs {
            let servers = servers_of(job);
            let ranks = job.hosts.iter().copied().zip(job.gpus.iter().copied());
            (job.hosts, job.gpus) = ranks.filter(|(host, _)| servers[..2].contains(host)).unzip();
        }
        spec
    }

    /// Number of chunks for which a chunk stands: those of one of the two servers stand for all but one.
    pub(crate) fn represented_by(&self, jobs: &Jobs, chunk: u32) -> u64 {
        self.count().map_or(1, |count| {
            let pair = jobs.queue_pair(jobs.chunk(chunk).queue_pair);
            if pair.src_host < pair.dst_host { u64::from(count) - 1 } else { 1 }
        })
    }

    /// Number of chunks of a job.
    pub(crate) fn chunks(&self, jobs: &Jobs, job: usize) -> u64 {
        let first = jobs.first_chunk(job);
        let count = jobs.schedules[job].transfers().len() as u32 * jobs.parts;
        match self.count() {
            None => count.into(),
            Some(_) => (first..first + count).map(|chunk| self.represented_by(jobs, chunk)).sum(),
        }
    }

    /// Payload of all jobs [bytes].
    pub(crate) fn total_bytes(&self, jobs: &Jobs) -> u64 {
        match self.count() {
            None => jobs.schedules.iter().map(|schedule| schedule.total_bytes()).sum(),
            Some(_) => (0..jobs.chunk_count())
                .map(|chunk| jobs.chunk(chunk).bytes * self.represented_by(jobs, chunk))
                .sum(),
        }
    }

    /// The rows of all servers, from those of the two.
    pub(crate) fn rows_of_all(&self, rows: Vec<ChannelRow>) -> Vec<ChannelRow> {
        let Some(last) = self.servers.iter().take(2).max() else { return rows };
        let mut all = Vec::new();
        for row in rows {
            let stands_for = |host: u32| (host == *last) == (row.host == *last);
            let hosts = self.servers.iter().filter(|&&host| stands_for(host));
            all.extend(hosts.map(|&host| ChannelRow { host, ..row.clone() }));
        }
        all.sort_by_key(|row| (row.job, row.channel, row.host));
        all
    }
}

/// Servers of a job, in the order of its ranks.
fn servers_of(job: &JobSpec) -> Vec<u32> {
    let mut servers = Vec::new();
    for &host in &job.hosts {
        if servers.last() != Some(&host) && !servers.contains(&host) {
            servers.push(host);
        }
    }
    servers
}

/// Whether these two adapters of all servers are on one switch, with equal links.
fn are_on_one_switch(network: &Network, servers: &[u32], nics: [u16; 2]) -> bool {
    let graph = &network.graph;
    let link = |server: u32, nic: u16| {
        let id = graph.attachment_of(HostId(server), nic);
        let attachment = graph.attachment(id);
        let link = graph.link(graph.node(NodeId(attachment.host.0)).ports[usize::from(nic)].link);
        (attachment.switch, link.rate.bps(), link.delay, network.is_down(network.link_from_host(id)))
    };
    let first = nics.map(|nic| link(servers[0], nic));
    first[0].0 == first[1].0 && servers.iter().all(|&server| nics.map(|nic| link(server, nic)) == first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::FlowSummary;
    use crate::run::{by_events, run};
    use crate::set_up::{jobs_of, paths_of};
    use crate::testing::Rows;
    use spec::{
        FailureSpec, NcclChannel, NcclChannels, NcclConfig, NcclProtocol, QpMode, RailOptimised, RunStatus,
        ScaleUpHops, ServerSpec, TopologySpec, Work,
    };

    /// A ring of `servers` servers of three GPUs, each with an adapter on its rail.
    fn ring(servers: u32, collective: &str, bytes: u64) -> RunSpec {
        let mut spec: RunSpec =
            serde_json::from_str(include_str!("../rings/ring.json")).expect("it is a spec");
        let TopologySpec::FatTree(tree) = spec.fabric.topology else { panic!("it is a fat tree") };
        let cable = tree.host_link;
        spec.fabric.topology = TopologySpec::RailOptimised(RailOptimised {
            servers,
            rails: 3,
            spines: 1,
            links_per_spine: 1,
            host_link: cable,
            fabric_link: cable,
            scale_up_link: None,
        });
        let adapters_of_gpu = (0..3).map(|gpu| vec![gpu]).collect();
        spec.fabric.server = Some(ServerSpec { adapters: 3, adapters_of_gpu });
        spec.transport.qp_mode = QpMode::PerPair;
        spec.observe.chunks = ChunksObserved::Summary;
        let job = &mut spec.jobs[0];
        (job.hosts, job.gpus) = (0..servers * 3).map(|rank| (rank / 3, rank % 3)).unzip();
        let Work::Collective(work) = &mut job.work else { panic!("it is a collective") };
        work.pattern.collective = collective.into();
        work.pattern.data_bytes = bytes;
        let channel = |gpu: u32| NcclChannel { gpu, receive_nic: gpu as u16, send_nic: gpu as u16 };
        work.nccl = Some(NcclConfig::Ring(NcclChannels {
            protocol: NcclProtocol::Simple,
            channels: (0..6).map(|channel_number| channel(channel_number % 3)).collect(),
            chunk_bytes: 1 << 16,
            slice_bytes: 1 << 15,
            window_messages: 4,
            scale_up: ScaleUpHops { hops: 2, rate_bps: 600_000_000_000, latency_ps: 900_000 },
        }));
        spec
    }

    #[test]
    fn two_servers_take_the_times_of_all() {
        for (servers, collective) in [(3, "all-reduce"), (5, "all-gather"), (6, "reduce-scatter")] {
            // Equal blocks, several loops.
            let spec = ring(servers, collective, u64::from(servers) * 3 * 6 * (150 << 10));
            let paths = paths_of(&spec).unwrap();
            assert!(EqualServers::find(&spec, &paths).is_some());
            let jobs = jobs_of(&spec, &paths).unwrap();
            let (mut of_all, mut of_two) = (Rows::default(), Rows::default());
            let all = by_events(&spec, paths, jobs, EqualServers::default(), &mut of_all).unwrap();
            let two = run(&spec, &mut of_two).unwrap();
            let facts = |summary: &FlowSummary| (summary.end_ps, summary.jobs.clone());
            assert_eq!(facts(&two), facts(&all));
            let text = |counts: &Rows| format!("{:?} {:?}", counts.steps, counts.times);
            assert_eq!(text(&of_two), text(&of_all));
            assert_eq!(of_two.channels, of_all.channels);
            assert_eq!(of_all.channels.len() as u32, 6 * servers);
            assert!(two.events < all.events);
        }
    }

    /// Half of the rate of the links of [`ring`].
    const HALF_BPS: u64 = 200_000_000_000;

    /// The spec with failures from the start.
    fn with_failures(mut spec: RunSpec, failures: Vec<FailureSpec>) -> RunSpec {
        spec.fabric.failures = failures;
        spec.fabric.convergence_time_ps = 0;
        spec
    }

    fn half_rate(link: &str) -> FailureSpec {
        FailureSpec::LinkRate { at_ps: 0, link: link.into(), rate_bps: HALF_BPS }
    }

    #[test]
    fn a_ring_with_a_slow_adapter_has_its_rate() {
        let spec = ring(4, "all-gather", 4 * 3 * 6 * (8 << 20));
        let slow = with_failures(spec.clone(), vec![half_rate("host2-rail1")]);
        let [whole, half] = [spec, slow].map(|spec| run(&spec, &mut Rows::default()).unwrap().end_ps);
        let percent = 100 * half / whole;
        assert!((196..=201).contains(&percent), "{percent} % of the time");
    }

    #[test]
    fn links_that_no_data_use_cost_nothing() {
        let spec = ring(4, "all-reduce", 1 << 24);
        let time = |spec: &RunSpec| run(spec, &mut Rows::default()).unwrap().end_ps;
        let down = FailureSpec::LinkDown { at_ps: 0, link: "rail1-spine0".into() };
        for failure in [half_rate("rail1-spine0"), down] {
            assert_eq!(time(&with_failures(spec.clone(), vec![failure])), time(&spec));
        }
    }

    #[test]
    fn a_job_whose_adapter_or_switch_is_down_stops() {
        let adapter = FailureSpec::LinkDown { at_ps: 0, link: "host2-rail1".into() };
        let switch = FailureSpec::SwitchDown { at_ps: 0, switch: "rail1".into() };
        for (failure, reason) in
            [(adapter, "host 1 cannot reach host 2"), (switch, "host 0 cannot reach host 1")]
        {
            let spec = with_failures(ring(4, "all-reduce", 1 << 20), vec![failure]);
            let summary = run(&spec, &mut Rows::default()).unwrap();
            let job = &summary.jobs[0];
            assert_eq!((job.status, job.end_ps, job.chunks_complete), (RunStatus::Incomplete, None, 0));
            assert_eq!(job.reason, reason);
        }
    }

    #[test]
    fn servers_with_other_links_are_all_simulated() {
        let spec = ring(4, "all-reduce", 1 << 20);
        let mut slow = spec.clone();
        slow.fabric.extra_delays =
            vec![spec::ExtraDelaySpec { link: "host2-rail1".into(), delay_ps: 5_000_000 }];
        let half = with_failures(spec.clone(), vec![half_rate("host2-rail1")]);
        for (spec, is_equal) in [(spec, true), (slow, false), (half, false)] {
            assert_eq!(EqualServers::find(&spec, &paths_of(&spec).unwrap()).is_some(), is_equal);
        }
    }
}
