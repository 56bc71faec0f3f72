//! Sums over the chunks of each channel of NCCL, for table `channels`.

use record::{ChannelRow, ChunkRow, ChunkStatus};
use spec::{JobSpec, NcclConfig};
use std::collections::{BTreeMap, BTreeSet};
use workload::Parts;

/// Sums over the chunks of the jobs that NCCL runs.
#[derive(Debug)]
pub struct ChannelTally {
    /// By job.
    jobs: Vec<Option<NcclJob>>,
    rows: BTreeMap<Key, ChannelRow>,
}

/// What a row stands for, in the order of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    job: u32,
    channel: u32,
    host: u32,
    send_nic: Option<u16>,
}

/// A job that NCCL runs.
#[derive(Debug)]
struct NcclJob {
    config: NcclConfig,
    collective: String,
    algorithm: String,
    servers: BTreeSet<u32>,
    gpus: u32,
}

impl ChannelTally {
    /// Empty sums, with the rows of rings and trees; `None` if NCCL runs none of the jobs.
    #[must_use]
    pub fn new(jobs: &[JobSpec]) -> Option<Self> {
        let jobs: Vec<Option<NcclJob>> = jobs.iter().map(NcclJob::new).collect();
        jobs.iter().any(Option::is_some).then(|| {
            let with_nccl = (0..).zip(&jobs).filter_map(|(number, job)| Some((number, job.as_ref()?)));
            let rows = with_nccl.flat_map(|(number, job)| job.rows(number)).collect();
            Self { jobs, rows }
        })
    }

    /// Adds a chunk of the collective's data if it is complete; `ports` are those of its queue pair.
    pub fn add(&mut self, chunk: &ChunkRow, ports: Option<[u16; 2]>) {
        let Some(job) = &self.jobs[chunk.job as usize] else { return };
        if chunk.status != ChunkStatus::Complete {
            return;
        }
        let key = job.key(chunk, ports);
        let row = self.rows.entry(key).or_insert_with(|| job.row(key));
        match chunk.src_host == chunk.dst_host {
            true => row.scale_up_bytes += chunk.payload_bytes,
            false => row.network_bytes += chunk.payload_bytes,
        }
        row.start_ps = row.start_ps.into_iter().chain(chunk.start_ps).min();
        row.completed_ps = row.completed_ps.max(chunk.completed_ps);
    }

    /// The rows, ordered by job, channel, server and adapter.
    #[must_use]
    pub fn rows(self) -> Vec<ChannelRow> {
        let mut by_channel: BTreeMap<(u32, u32), Vec<ChannelRow>> = BTreeMap::new();
        for (key, row) in self.rows {
            by_channel.entry((key.job, key.channel)).or_default().push(row);
        }
        let finished = by_channel.into_iter().filter_map(|((job, _), rows)| {
            let job = self.jobs[job as usize].as_ref()?;
            Some(job.finished(rows))
        });
        finished.flatten().collect()
    }
}

impl NcclJob {
    fn new(job: &JobSpec) -> Option<Self> {
        let (config, pattern) = (job.work.nccl()?.clone(), job.work.pattern()?);
        let servers: BTreeSet<u32> = job.hosts.iter().copied().collect();
        Some(Self {
            config,
            collective: pattern.collective.clone(),
            algorithm: pattern.algorithm.clone(),
            gpus: (job.hosts.len() / servers.len().max(1)) as u32,
            servers,
        })
    }

    /// The rows of a ring or tree, which each server has; none of other jobs, whose rows follow from chunks.
    fn rows(&self, job: u32) -> impl Iterator<Item = (Key, ChannelRow)> {
        let channels = self.config.channels().map_or(&[][..], |channels| &channels.channels);
        (0..).zip(channels).flat_map(move |(channel, of_all)| {
            self.servers.iter().map(move |&host| {
                let key = Key { job, channel, host, send_nic: Some(of_all.send_nic) };
                (key, self.row(key))
            })
        })
    }

    fn row(&self, key: Key) -> ChannelRow {
        let channels = self.config.channels();
        let channel = channels.map(|channels| channels.channels[key.channel as usize]);
        ChannelRow {
            job: key.job,
            algorithm: self.algorithm.clone(),
            protocol: self.config.protocol().name(),
            channel: key.channel,
            host: key.host,
            gpu: channel.map(|channel| channel.gpu),
            send_nic: key.send_nic.map(u32::from),
            receive_nic: channel.map(|channel| channel.receive_nic.into()),
            network_bytes: 0,
            scale_up_bytes: 0,
            start_ps: None,
            completed_ps: None,
        }
    }

    fn key(&self, chunk: &ChunkRow, ports: Option<[u16; 2]>) -> Key {
        let is_local = chunk.src_host == chunk.dst_host;
        let (channel, send_nic) = match &self.config {
            NcclConfig::Ring(channels) | NcclConfig::Tree(channels) => {
                (chunk.channel, Some(channels.channels[chunk.channel as usize].send_nic))
            }
            NcclConfig::Peers(_) => (chunk.channel, ports.map(|ports| ports[0]).filter(|_| !is_local)),
            // A message stands for those of all channels.
            NcclConfig::OneServer(_) => (0, None),
        };
        Key { job: chunk.job, channel, host: chunk.src_host, send_nic }
    }

    /// Rows of a channel, with the bytes inside servers; on one server those of all its channels.
    fn finished(&self, mut rows: Vec<ChannelRow>) -> Vec<ChannelRow> {
        if let NcclConfig::OneServer(one_server) = &self.config {
            return rows.iter().flat_map(|row| split(row, one_server.channels)).collect();
        }
        let network_bytes = rows.iter().map(|row| row.network_bytes).sum();
        let servers = self.servers.len() as u64;
        let bytes = self.config.scale_up_bytes(&self.collective, servers, self.gpus, network_bytes);
        rows.iter_mut().for_each(|row| row.scale_up_bytes += bytes);
        rows
    }
}

/// The row divided among channels.
fn split(row: &ChannelRow, channels: u32) -> impl Iterator<Item = ChannelRow> {
    let parts = Parts::new(row.scale_up_bytes, channels.into());
    (0..channels).map(move |channel| ChannelRow {
        channel,
        scale_up_bytes: parts.of(channel.into()),
        ..row.clone()
    })
}
