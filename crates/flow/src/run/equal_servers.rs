//! Runs in which two servers stand for all.
//!
//! In a ring of NCCL each server does at each step what the server before it does, and in its all-to-all what
//! all others do, each with the servers after it. If all servers of a channel are on one switch, with equal
//! links, then nothing tells one server from another: two of them, with as many steps as the ring of all, or
//! that send each other what they send to all, take the same times. Blocks that differ by a byte count as
//! equal. Counts and statistics are those of all; chunks that get a row are drawn from those of the two.

use crate::checks::is_sprayed;
use crate::network::Network;
use crate::network::paths::Paths;
use jobs::Jobs;
use record::{ChannelRow, ChunkRow};
use spec::{ChunksObserved, JobSpec, NcclChannels, NcclConfig, NcclPeers, RunSpec};
use std::collections::BTreeMap;
use units::{HostId, NodeId};

/// Equal servers of which two are simulated; none by default.
#[derive(Clone, Default)]
pub(crate) struct EqualServers {
    /// All servers, the two first; empty by default.
    servers: Vec<u32>,
    /// An all-to-all, if it is no ring.
    all_to_all: Option<AllToAll>,
}

/// An all-to-all of servers with consecutive ranks on equal GPUs.
#[derive(Clone, Copy)]
struct AllToAll {
    /// Ranks of a server.
    gpus: u32,
    /// Channels to each peer.
    channels: u32,
}

impl EqualServers {
    /// Those of a spec whose only job is a ring or an all-to-all of NCCL, unless each chunk gets a row.
    pub(crate) fn find(spec: &RunSpec, paths: &Paths) -> Option<Self> {
        let [job] = &spec.jobs[..] else { return None };
        let nccl = job.work.nccl()?;
        let collective = &job.work.pattern()?.collective;
        let servers = servers_of(job);
        let has_all_rows = spec.observe.chunks == ChunksObserved::All;
        if has_all_rows || servers.len() < 3 || is_sprayed(spec) {
            return None;
        }
        match nccl {
            NcclConfig::Ring(NcclChannels { channels, .. }) if nccl.cycles(collective).is_some() => {
                let mut nics = channels.iter().map(|channel| [channel.receive_nic, channel.send_nic]);
                let are_equal = nics.all(|nics| are_on_one_switch(&paths.network, &servers, &nics));
                are_equal.then_some(Self { servers, all_to_all: None })
            }
            NcclConfig::Peers(peers) if collective == "all-to-all" => {
                let gpus = gpus_of_equal(job, &servers)?;
                let nics = nics_of_peers(spec, peers, gpus)?;
                let are_equal = nics.iter().all(|nics| are_on_one_switch(&paths.network, &servers, nics));
                let all_to_all = AllToAll { gpus: gpus.len() as u32, channels: peers.channels };
                are_equal.then_some(Self { servers, all_to_all: Some(all_to_all) })
            }
            _ => None,
        }
    }

    /// Number of servers, if two stand for them.
    pub(crate) fn count(&self) -> Option<u32> {
        (!self.servers.is_empty()).then_some(self.servers.len() as u32)
    }

    /// Whether the two take the times of all. In an all-to-all they do if senders react: the queues of others are
    /// approximations that depend on the number of links.
    pub(crate) fn are_exact(&self, is_fair: impl FnOnce() -> bool) -> bool {
        self.all_to_all.is_none() || is_fair()
    }

    /// A number of things of all servers, of those that are simulated.
    pub(crate) fn simulated(&self, of_all: u64) -> u64 {
        self.count().map_or(of_all, |count| of_all.saturating_mul(2) / u64::from(count))
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
        let [first, second, ..] = self.servers[..] else { return 1 };
        let pair = jobs.queue_pair(jobs.chunk(chunk).queue_pair);
        if pair.src_host.0 == first.min(second) { self.servers.len() as u64 - 1 } else { 1 }
    }

    /// The row of a chunk with its receiver among all servers, and its channel of this receiver.
    pub(crate) fn among_all(&self, row: ChunkRow) -> ChunkRow {
        let Some(AllToAll { gpus, channels }) = self.all_to_all else { return row };
        let distance = row.channel / channels;
        let server = (row.src_rank / gpus + distance) % self.servers.len() as u32;
        ChunkRow {
            channel: row.channel % channels,
            dst_rank: server * gpus + row.dst_rank % gpus,
            dst_host: self.servers[server as usize],
            ..row
        }
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

/// The GPUs of a server, in the order of its ranks, if these are consecutive and equal on all servers.
fn gpus_of_equal<'a>(job: &'a JobSpec, servers: &[u32]) -> Option<&'a [u32]> {
    let gpus = job.gpus.get(..job.hosts.len() / servers.len())?;
    let expected = servers.iter().flat_map(|&server| gpus.iter().map(move |&gpu| (server, gpu)));
    job.hosts.iter().copied().zip(job.gpus.iter().copied()).eq(expected).then_some(gpus)
}

/// Adapters between which messages of peers are sent: with PXN those of a rail, which one GPU of each machine
/// has, otherwise all. `None` if the channels to a peer do not take all adapters of a GPU.
fn nics_of_peers(spec: &RunSpec, peers: &NcclPeers, gpus: &[u32]) -> Option<Vec<Vec<u16>>> {
    let server = spec.fabric.server.as_ref()?;
    let of_gpu = &server.adapters_of_gpu;
    let of_gpus: Vec<&Vec<u16>> = gpus.iter().filter_map(|&gpu| of_gpu.get(gpu as usize)).collect();
    let takes_all = |nics: &&Vec<u16>| !nics.is_empty() && peers.channels.is_multiple_of(nics.len() as u32);
    if of_gpus.len() < gpus.len() || !of_gpus.iter().all(takes_all) {
        return None;
    }
    if !peers.pxn {
        return Some(vec![of_gpus.into_iter().flatten().copied().collect()]);
    }
    let machine_gpus = server.gpus_of_machine().unwrap_or(of_gpu.len() as u32);
    let mut rails: BTreeMap<(u32, usize), Vec<u16>> = BTreeMap::new();
    for (gpu, nics) in gpus.iter().zip(of_gpus) {
        for (number, &nic) in nics.iter().enumerate() {
            rails.entry((gpu % machine_gpus, number)).or_default().push(nic);
        }
    }
    Some(rails.into_values().collect())
}

/// Whether these adapters of all servers are on one switch, each with equal links.
fn are_on_one_switch(network: &Network, servers: &[u32], nics: &[u16]) -> bool {
    let graph = &network.graph;
    let link = |server: u32, nic: u16| {
        let id = graph.attachment_of(HostId(server), nic);
        let attachment = graph.attachment(id);
        let link = graph.link(graph.node(NodeId(attachment.host.0)).ports[usize::from(nic)].link);
        let is_down = network.is_down(network.link_from_host(id));
        (attachment.switch, (link.rate.bps(), link.delay, is_down))
    };
    let first: Vec<_> = nics.iter().map(|&nic| link(servers[0], nic)).collect();
    let is_equal = |server: u32| nics.iter().zip(&first).all(|(&nic, first)| link(server, nic) == *first);
    first.iter().all(|(switch, _)| *switch == first[0].0) && servers.iter().all(|&server| is_equal(server))
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
        ScaleUpCopies, ScaleUpHops, ServerSpec, TopologySpec, Work,
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
        spec.fabric.server =
            Some(ServerSpec { adapters: 3, adapters_of_gpu, machines: None, bus_rate_bps: None });
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

    /// An all-to-all of `servers` servers of three GPUs.
    fn all_to_all(servers: u32, bytes: u64, peers: NcclPeers) -> RunSpec {
        let mut spec = ring(servers, "all-to-all", bytes);
        let Work::Collective(work) = &mut spec.jobs[0].work else { panic!("it is a collective") };
        work.pattern.algorithm = "peers".into();
        work.nccl = Some(NcclConfig::Peers(peers));
        spec
    }

    /// Messages between peers with PXN.
    const PEERS: NcclPeers = NcclPeers {
        protocol: NcclProtocol::Simple,
        concurrent: 32,
        channels: 1,
        chunk_bytes: 1 << 16,
        pxn: true,
        scale_up: ScaleUpCopies { rate_bps: 2_966_400_000_000, latency_ps: 936_250 },
    };

    /// Summaries and rows of the run and of one in which no server stands for another.
    fn of_two_and_all(spec: &RunSpec) -> [(FlowSummary, Rows); 2] {
        let paths = paths_of(spec).unwrap();
        assert!(EqualServers::find(spec, &paths).is_some());
        let jobs = jobs_of(spec, &paths).unwrap();
        let (mut of_all, mut of_two) = (Rows::default(), Rows::default());
        let all = by_events(spec, paths, jobs, EqualServers::default(), &mut of_all).unwrap();
        let two = run(spec, &mut of_two).unwrap();
        [(two, of_two), (all, of_all)]
    }

    /// The same, which have to have equal times, statistics and channels.
    fn equal_runs(spec: &RunSpec, context: &str) -> [(FlowSummary, Rows); 2] {
        let runs = of_two_and_all(spec);
        let [(two, of_two), (all, of_all)] = &runs;
        let facts = |summary: &FlowSummary| (summary.end_ps, summary.jobs.clone());
        assert_eq!(facts(two), facts(all), "{context}");
        let text = |counts: &Rows| format!("{:?} {:?}", counts.steps, counts.times);
        assert_eq!(text(of_two), text(of_all), "{context}");
        assert_eq!(of_two.channels, of_all.channels, "{context}");
        runs
    }

    #[test]
    fn an_all_to_all_of_two_servers_takes_the_times_of_all() {
        for (servers, log2, peers) in [
            // Senders do not react: all servers are simulated.
            (8, 14, PEERS),
            (3, 22, PEERS),
            (4, 20, NcclPeers { channels: 2, ..PEERS }),
            (5, 24, PEERS),
            (8, 22, NcclPeers { concurrent: 3, ..PEERS }),
            (16, 20, PEERS),
            (16, 22, NcclPeers { channels: 2, ..PEERS }),
        ] {
            let spec = all_to_all(servers, 1 << log2, peers);
            let context = format!("{servers} servers, 2^{log2} bytes");
            let [two, all] = equal_runs(&spec, &context);
            assert_eq!(two.0.events < all.0.events, log2 > 14);
        }
    }

    /// Two machines of three GPUs are an NVLink domain; a rail has an adapter of each.
    #[test]
    fn an_all_to_all_of_two_nvlink_domains_takes_the_times_of_all() {
        let mut spec = all_to_all(8, 1 << 22, PEERS);
        let adapters_of_gpu = (0..6).map(|gpu| vec![gpu]).collect();
        spec.fabric.server =
            Some(ServerSpec { adapters: 6, adapters_of_gpu, machines: Some(2), bus_rate_bps: None });
        (spec.jobs[0].hosts, spec.jobs[0].gpus) = (0..24).map(|rank| (rank / 6, rank % 6)).unzip();
        let [two, all] = equal_runs(&spec, "4 domains of 2 machines");
        assert!(two.0.events < all.0.events);
    }

    #[test]
    fn rows_of_an_all_to_all_have_the_receivers_among_all() {
        let mut spec = all_to_all(5, 1 << 22, NcclPeers { channels: 2, ..PEERS });
        spec.observe.chunks = ChunksObserved::Sample;
        spec.observe.chunk_rows = 1 << 20;
        let [(_, of_two), (_, of_all)] = of_two_and_all(&spec);
        let key = |row: &ChunkRow| {
            let ends = [row.src_rank, row.dst_rank, row.src_host, row.dst_host];
            (row.step, row.block, row.channel, ends, row.start_ps, row.completed_ps)
        };
        let mut of_first: Vec<_> = of_all.chunks.iter().filter(|row| row.src_host < 2).map(key).collect();
        let mut of_both: Vec<_> = of_two.chunks.iter().map(key).collect();
        of_first.sort_unstable();
        of_both.sort_unstable();
        assert!(!of_both.is_empty());
        assert_eq!(of_both, of_first);
    }

    #[test]
    fn servers_on_several_switches_or_with_other_ranks_are_all_simulated() {
        let spec = all_to_all(4, 1 << 22, PEERS);
        let across_rails = all_to_all(4, 1 << 22, NcclPeers { pxn: false, ..PEERS });
        let mut mixed = spec.clone();
        mixed.jobs[0].hosts.swap(2, 3);
        mixed.jobs[0].gpus.swap(2, 3);
        let mut one_adapter_of_two = spec.clone();
        let adapters_of_gpu = vec![vec![0, 1], vec![1], vec![2]];
        one_adapter_of_two.fabric.server =
            Some(ServerSpec { adapters: 3, adapters_of_gpu, machines: None, bus_rate_bps: None });
        for (spec, is_equal) in
            [(spec, true), (across_rails, false), (mixed, false), (one_adapter_of_two, false)]
        {
            assert_eq!(EqualServers::find(&spec, &paths_of(&spec).unwrap()).is_some(), is_equal);
        }
    }

    #[test]
    fn two_servers_take_the_times_of_all() {
        for (servers, collective) in [(3, "all-reduce"), (5, "all-gather"), (6, "reduce-scatter")] {
            // Equal blocks, several loops.
            let spec = ring(servers, collective, u64::from(servers) * 3 * 6 * (150 << 10));
            let [two, all] = equal_runs(&spec, collective);
            assert_eq!(all.1.channels.len() as u32, 6 * servers);
            assert!(two.0.events < all.0.events);
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
