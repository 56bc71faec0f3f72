//! Time of an operation with each algorithm and protocol, and the choice of the least.

use super::chunks::Chunking;
use super::constants::TREE_CORRECTION;
use super::model::{Cost, Tuner};
use super::work::Work;
use crate::kinds::{Algorithm, Collective, Protocol};
use crate::paths::PathType;
use crate::rules::NvlsModel;
use serde::{Deserialize, Serialize};

/// FP8 reductions by rings with more ranks lose too much precision.
const FP8_RING_RANKS: usize = 8;
const FP8_PENALTY: f64 = 1024.0;

/// A collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// The collective.
    pub collective: Collective,
    /// Bytes of the larger of the send and the receive buffer.
    pub bytes: u64,
    /// Elements are 8-bit floats that are reduced.
    pub reduces_fp8: bool,
}

/// An algorithm and a protocol, with the time that NCCL expects.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The protocol.
    pub protocol: Protocol,
    /// Expected time [us].
    pub time_us: f64,
}

/// How NCCL runs an operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Algorithm and protocol.
    pub choice: Choice,
    /// Bytes of each channel, and threads.
    pub work: Work,
    /// Chunks of each channel.
    pub chunking: Vec<Chunking>,
}

impl Operation {
    /// An operation on a type that is not FP8.
    #[must_use]
    pub const fn new(collective: Collective, bytes: u64) -> Self {
        Self { collective, bytes, reduces_fp8: false }
    }
}

impl Tuner {
    /// Expected times of an operation, in the order in which NCCL compares them.
    pub fn times(&self, operation: Operation) -> impl Iterator<Item = Choice> {
        let of_collective = self.costs().iter().filter(move |cost| cost.collective == operation.collective);
        of_collective.map(move |cost| Choice {
            algorithm: cost.algorithm,
            protocol: cost.protocol,
            time_us: self.time(cost, operation),
        })
    }

    /// Expected time of an operation with an algorithm and a protocol [us]; none if it is not possible.
    #[must_use]
    pub fn time_of(&self, operation: Operation, algorithm: Algorithm, protocol: Protocol) -> Option<f64> {
        let mut times = self.times(operation);
        times
            .find(|choice| (choice.algorithm, choice.protocol) == (algorithm, protocol))
            .map(|choice| choice.time_us)
    }

    /// The combination with the least time, of equal ones the first; none if the settings allow none.
    #[must_use]
    pub fn choose(&self, operation: Operation) -> Option<Choice> {
        self.times(operation).reduce(|best, next| if next.time_us < best.time_us { next } else { best })
    }

    /// The choice with its channels, threads and chunks.
    #[must_use]
    pub fn plan(&self, operation: Operation) -> Option<Plan> {
        let choice = self.choose(operation)?;
        let work = self.work(operation, choice.algorithm, choice.protocol);
        let Choice { algorithm, protocol, .. } = choice;
        let of_channel = |&bytes: &u64| self.chunking(operation.collective, algorithm, protocol, bytes);
        let chunking = work.channel_bytes.iter().map(of_channel).collect();
        Some(Plan { choice, work, chunking })
    }

    fn time(&self, cost: &Cost, operation: Operation) -> f64 {
        let bytes = operation.bytes as f64;
        let bandwidth = cost.bandwidth_gb * self.correction(cost, operation.bytes);
        let latency = cost.latency_us * self.plateau(cost, operation.bytes);
        let time = latency + bytes / (1000.0 * bandwidth);
        let imprecise =
            operation.reduces_fp8 && cost.algorithm == Algorithm::Ring && self.input.ranks > FP8_RING_RANKS;
        if imprecise { time * FP8_PENALTY } else { time }
    }

    /// Correction of the bandwidth of trees for medium sizes.
    fn correction(&self, cost: &Cost, bytes: u64) -> f64 {
        let corrects_nvls = self.rules.nvls == NvlsModel::ByGeneration
            && self.input.capabilities.0 >= 100
            && self.input.vendor.is_x86();
        let corrected = match cost.algorithm {
            Algorithm::Tree => 23,
            Algorithm::NvlsTree if corrects_nvls => 24,
            _ => 0,
        };
        let index = (bytes >> 6).checked_ilog2().map(|index| index as usize);
        let applies = cost.collective == Collective::AllReduce;
        match index {
            Some(index) if applies && index < corrected => TREE_CORRECTION[cost.protocol as usize][index],
            _ => 1.0,
        }
    }

    /// Factor of the latency of Simple rings over several nodes from some bytes per rank and channel on.
    fn plateau(&self, cost: &Cost, bytes: u64) -> f64 {
        const BYTES: u64 = 64;
        let (least, _) = self.input.capabilities;
        let several = self.input.nodes > 1 && cost.collective == Collective::AllReduce;
        let blackwell = self.rules.blackwell_2_31 && least >= 100 && self.input.nodes == 1;
        let by_nvlink = self.input.graphs.ring.type_intra == PathType::Nvl;
        let per_part = bytes / (self.input.collective_channels * self.input.ranks) as u64;
        let is_ring = (cost.algorithm, cost.protocol) == (Algorithm::Ring, Protocol::Simple);
        if is_ring
            && (several || (cost.collective.has_blocks() && blackwell && by_nvlink))
            && per_part >= BYTES
        {
            if least < 80 { 1.9 } else { 1.4 }
        } else {
            1.0
        }
    }
}
