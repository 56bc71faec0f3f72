//! Builds the schedule of each job (its transfers and their dependencies): rounds, cycles of rounds,
//! barriers, handshakes. Also checks of counts, and errors by field.

use spec::{
    ArrivalProcess, CollectiveSpec, JobSpec, OpenLoopSpec, PatternSpec, RunSpec, ServerSpec, SpecError, Work,
    unsupported,
};
use units::{Rank, Seed, Span};
use workload::{
    Arrivals, HANDSHAKE_TRANSFERS, LISTED_TRANSFERS_MAX, Process, Schedule, ServerRanks, Shape, Transfer,
    Volume, WorkloadError, barrier_transfers, check_transfers, in_phases, nccl_schedule, nccl_volume,
    volume_for, with_rendezvous,
};

/// Parameters of the schedule of a job with this pattern.
pub fn shape(spec: &RunSpec, job: &JobSpec, pattern: &PatternSpec) -> Shape {
    Shape {
        ranks: job.hosts.len() as u32,
        data_bytes: pattern.data_bytes,
        root: Rank(pattern.root),
        stream: Seed(spec.seed).stream("workload.pattern", u64::from(job.stream)),
    }
}

/// Schedule of a job: of one round if all rounds are equal, otherwise of a cycle of rounds with barriers.
pub(crate) fn schedule(
    spec: &RunSpec,
    index: u32,
    job: &JobSpec,
    servers: Option<u32>,
) -> Result<Schedule, SpecError> {
    match &job.work {
        Work::Collective(collective) => of_collective(spec, index, job, collective, servers),
        Work::OpenLoop(open_loop) => {
            let OpenLoopSpec { pattern, .. } = open_loop;
            workload::open_loop_for(
                &pattern.collective,
                &pattern.algorithm,
                &shape(spec, job, pattern),
                arrivals(open_loop),
                Seed(spec.seed),
                job.stream,
            )
            .map_err(|error| job_refusal(index, job, &error))
        }
        Work::Storage(_) => Err(storage_refusal(index)),
    }
}

fn of_collective(
    spec: &RunSpec,
    index: u32,
    job: &JobSpec,
    collective: &CollectiveSpec,
    servers: Option<u32>,
) -> Result<Schedule, SpecError> {
    let shape = shape(spec, job, &collective.pattern);
    let refuse = |error: &WorkloadError| job_refusal(index, job, error);
    if collective.has_equal_rounds() {
        return of_round(spec, job, collective, &shape, servers).map_err(|error| refuse(&error));
    }
    let (cycle, barrier) = (job.rounds_of_a_cycle(), collective.barrier.then_some(shape.ranks));
    let mut transfers = u64::from(cycle) * barrier.map_or(0, barrier_transfers);
    let mut rounds = Vec::new();
    for number in 0..cycle {
        let root = Rank((shape.root.0 + if collective.root_shift { number } else { 0 }) % shape.ranks);
        let data_bytes = collective.bytes_of_round(number);
        let round = of_round(spec, job, collective, &Shape { root, data_bytes, ..shape.clone() }, servers)
            .map_err(|error| refuse(&error))?;
        if collective.round_bytes.is_some() {
            check_equal_count(index, collective, number, rounds.first(), &round)?;
        }
        transfers += round.transfers().len() as u64 * u64::from(if number == 0 { cycle } else { 0 });
        check_transfers(transfers, LISTED_TRANSFERS_MAX).map_err(|error| refuse(&error))?;
        rounds.push(round);
    }
    Ok(in_phases(&rounds, barrier))
}

/// Checks that a round of another size has as many transfers as the `first`, because they share queue pairs.
fn check_equal_count(
    index: u32,
    collective: &CollectiveSpec,
    number: u32,
    first: Option<&Schedule>,
    round: &Schedule,
) -> Result<(), SpecError> {
    let counts = [first.unwrap_or(round), round].map(|schedule| schedule.transfers().len());
    if counts[0] == counts[1] {
        return Ok(());
    }
    let [of_first, of_round] = counts;
    let sizes = [0, number].map(|number| collective.bytes_of_round(number));
    let counts = format!("{of_first} transfers of {} bytes and {of_round} of {} bytes", sizes[0], sizes[1]);
    Err(unsupported(format!("jobs[{index}].work.round_bytes"), counts, "sizes with as many transfers each"))
}

/// Schedule of one round of a collective.
fn of_round(
    spec: &RunSpec,
    job: &JobSpec,
    collective: &CollectiveSpec,
    shape: &Shape,
    servers: Option<u32>,
) -> Result<Schedule, WorkloadError> {
    let PatternSpec { collective: name, algorithm, .. } = &collective.pattern;
    if let Some(config) = &collective.nccl {
        return nccl_schedule(config, name, shape, &server_ranks(spec, job).representing(servers));
    }
    let schedule = workload::schedule_for(name, algorithm, shape)?;
    let Some(rendezvous) = collective.rendezvous else { return Ok(schedule) };
    let transfers = schedule.transfers().len() as u64 * HANDSHAKE_TRANSFERS;
    check_transfers(transfers, LISTED_TRANSFERS_MAX)?;
    // Transfers within a host are copied without a handshake.
    let is_large = |transfer: &Transfer| {
        let is_local = job.hosts[transfer.src.index()] == job.hosts[transfer.dst.index()];
        transfer.bytes >= rendezvous.threshold_bytes && !is_local
    };
    Ok(with_rendezvous(&schedule, rendezvous.control_bytes, is_large))
}

/// Checks that every job has a schedule and that all chunks can be numbered, without creating them; returns
/// the number of chunks.
///
/// # Errors
/// For the first job without a schedule.
pub fn check_jobs(spec: &RunSpec) -> Result<u64, SpecError> {
    let parts = spec.transport.qps_per_rank_pair;
    let add = |chunks, (job, index)| check_chunks(index, chunks, transfers(spec, index, job)?, parts);
    spec.jobs.iter().zip(0..).try_fold(0, add)
}

/// Number of transfers in a job's schedule. For open-loop traffic, handshakes and differing rounds the
/// schedule is generated to count them.
fn transfers(spec: &RunSpec, index: u32, job: &JobSpec) -> Result<u64, SpecError> {
    if let Some(volume) = nccl_volume_of(spec, index, job) {
        return Ok(volume?.transfers * u64::from(job.rounds_of_a_cycle()));
    }
    match &job.work {
        Work::Collective(collective) if collective.has_equal_rounds() && collective.rendezvous.is_none() => {
            let pattern = &collective.pattern;
            workload::check_schedule(&pattern.collective, &pattern.algorithm, &shape(spec, job, pattern))
                .map(|found| found.transfers(job.hosts.len() as u32, pattern.data_bytes))
                .map_err(|error| job_refusal(index, job, &error))
        }
        _ => Ok(schedule(spec, index, job, None)?.transfers().len() as u64),
    }
}

/// Maximum number of chunks of all jobs; chunks and queue pairs have 32-bit numbers.
pub const CHUNKS_MAX: u64 = 1 << 31;

/// Adds the chunks of job `index`, with `transfers` of `parts` each, to those of the previous jobs
/// (`before`); returns the sum.
///
/// # Errors
/// If the sum exceeds [`CHUNKS_MAX`].
pub(crate) fn check_chunks(index: u32, before: u64, transfers: u64, parts: u32) -> Result<u64, SpecError> {
    let chunks = before.saturating_add(transfers.saturating_mul(parts.into()));
    if chunks > CHUNKS_MAX {
        let sum = format!("{chunks} chunks with those of the jobs before it");
        return Err(unsupported(format!("jobs[{index}].hosts"), sum, format!("at most {CHUNKS_MAX}")));
    }
    Ok(chunks)
}

/// Error of a job without schedule, attributed to the responsible field.
pub(crate) fn job_refusal(index: u32, job: &JobSpec, error: &WorkloadError) -> SpecError {
    let field = match error {
        WorkloadError::Indivisible { .. } => "work.pattern.data_bytes",
        WorkloadError::ClosedLoop { .. } => "work.pattern.collective",
        WorkloadError::NoMessages => "work.duration_ps",
        WorkloadError::TooManyTransfers { .. } if job.work.open_loop().is_some() => "work.duration_ps",
        WorkloadError::NotPowerOfTwo { .. } | WorkloadError::OddRanks { .. } => "hosts",
        WorkloadError::Servers { .. } => "work.nccl",
        _ => "work.pattern.algorithm",
    };
    refusal(&format!("jobs[{index}].{field}"), error)
}

/// Volume of a round of a job, without its schedule. A round of the mean size represents those of a cycle,
/// except for the largest transfer.
///
/// # Errors
/// If the job has no schedule.
pub fn volume(spec: &RunSpec, index: u32, job: &JobSpec) -> Result<Volume, SpecError> {
    if let Some(volume) = nccl_volume_of(spec, index, job) {
        return volume;
    }
    let (pattern, mean_bytes, arrivals) = match &job.work {
        Work::Collective(collective) => (&collective.pattern, collective.mean_round_bytes(), None),
        Work::OpenLoop(open_loop) => {
            (&open_loop.pattern, open_loop.pattern.data_bytes, Some(arrivals(open_loop)))
        }
        Work::Storage(_) => return Err(storage_refusal(index)),
    };
    let volume_of = |data_bytes| {
        let shape = Shape { data_bytes, ..shape(spec, job, pattern) };
        volume_for(&pattern.collective, &pattern.algorithm, &shape, arrivals)
            .map_err(|error| refusal(&format!("jobs[{index}].work.pattern.algorithm"), &error))
    };
    let largest = volume_of(pattern.data_bytes)?;
    if mean_bytes == pattern.data_bytes {
        return Ok(largest);
    }
    Ok(Volume { largest_bytes: largest.largest_bytes, ..volume_of(mean_bytes)? })
}

/// Volume of a round of a collective as NCCL runs it; `None` for other work.
fn nccl_volume_of(spec: &RunSpec, index: u32, job: &JobSpec) -> Option<Result<Volume, SpecError>> {
    let collective = job.work.collective()?;
    let (config, pattern) = (job.work.nccl()?, &collective.pattern);
    let shape = Shape { data_bytes: collective.mean_round_bytes(), ..shape(spec, job, pattern) };
    let volume = nccl_volume(config, &pattern.collective, &shape, &server_ranks(spec, job));
    Some(volume.map_err(|error| job_refusal(index, job, &error)))
}

/// Ranks of a job on servers.
fn server_ranks(spec: &RunSpec, job: &JobSpec) -> ServerRanks {
    let ranks = ServerRanks::new(job.hosts.iter().copied().zip(job.gpus.iter().copied()));
    ranks.of_machines(spec.fabric.server.as_ref().and_then(ServerSpec::gpus_of_machine))
}

/// Error of a storage job, which has no schedule.
fn storage_refusal(index: u32) -> SpecError {
    unsupported(format!("jobs[{index}].work.kind"), "storage", "work with a schedule")
}

/// Arrival process of open-loop messages.
const fn arrivals(spec: &OpenLoopSpec) -> Arrivals {
    let process = match spec.process {
        ArrivalProcess::Poisson => Process::Poisson,
        ArrivalProcess::Constant => Process::Constant,
    };
    Arrivals { process, rate_bps: spec.rate_bps, duration: Span(spec.duration_ps) }
}

/// Error of an unsupported collective, attributed to a field.
pub fn refusal(field: &str, error: &WorkloadError) -> SpecError {
    let (value, allowed) = match *error {
        WorkloadError::NotPowerOfTwo { ranks, below, above } => {
            (format!("{ranks} ranks"), format!("a power of two, such as {below} or {above}"))
        }
        WorkloadError::ClosedLoop { ref collective, ref open } => {
            (format!("{collective} with arrivals"), open.clone())
        }
        WorkloadError::Indivisible { data_bytes, shares } => {
            (format!("{data_bytes} bytes"), format!("a multiple of {shares}, one equal share for each rank"))
        }
        WorkloadError::NoMessages => (error.to_string(), "a longer one, or a higher rate".into()),
        WorkloadError::TooManyTransfers { transfers, limit } => {
            (format!("{transfers} transfers"), format!("at most {limit}"))
        }
        WorkloadError::OddRanks { ranks } => (format!("{ranks} ranks"), "an even number of ranks".into()),
        _ => (error.to_string(), "see the collectives of the registry".into()),
    };
    unsupported(field, value, allowed)
}
