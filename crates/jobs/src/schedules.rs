//! Builds the schedule of each job (its transfers and their dependencies): rounds, cycles of rounds,
//! barriers, handshakes. Also checks of counts, and errors by field.

use spec::{ArrivalProcess, ArrivalsSpec, JobSpec, RunSpec, SpecError, unsupported};
use units::{Rank, Seed, Span};
use workload::{
    Arrivals, HANDSHAKE_TRANSFERS, LISTED_TRANSFERS_MAX, Process, Schedule, Shape, Transfer, WorkloadError,
    barrier_transfers, check_transfers, in_phases, with_rendezvous,
};

/// Parameters of a job's schedule.
pub fn shape(spec: &RunSpec, job: &JobSpec) -> Shape {
    Shape {
        ranks: job.hosts.len() as u32,
        data_bytes: job.data_bytes,
        root: Rank(job.root),
        stream: Seed(spec.seed).stream("workload.pattern", u64::from(job.stream)),
    }
}

/// Schedule of a job: of one round if all rounds are equal, otherwise of a cycle of rounds with barriers.
pub(crate) fn schedule(spec: &RunSpec, index: u32, job: &JobSpec) -> Result<Schedule, SpecError> {
    let shape = shape(spec, job);
    if job.has_equal_rounds() {
        return round_schedule(spec, index, job, &shape);
    }
    let (cycle, barrier) = (job.rounds_of_a_cycle(), job.barrier.then_some(shape.ranks));
    let mut transfers = u64::from(cycle) * barrier.map_or(0, barrier_transfers);
    let mut rounds = Vec::new();
    for number in 0..cycle {
        let root = Rank(if job.root_shift { (job.root + number) % shape.ranks } else { job.root });
        let data_bytes = job.bytes_of_round(number);
        let round = round_schedule(spec, index, job, &Shape { root, data_bytes, ..shape.clone() })?;
        if job.round_bytes.is_some() {
            check_equal_count(index, job, number, rounds.first(), &round)?;
        }
        transfers += round.transfers().len() as u64 * u64::from(if number == 0 { cycle } else { 0 });
        check_transfers(transfers, LISTED_TRANSFERS_MAX).map_err(|error| job_refusal(index, job, &error))?;
        rounds.push(round);
    }
    Ok(in_phases(&rounds, barrier))
}

/// Checks that a round of another size has as many transfers as the `first`, because they share queue pairs.
fn check_equal_count(
    index: u32,
    job: &JobSpec,
    number: u32,
    first: Option<&Schedule>,
    round: &Schedule,
) -> Result<(), SpecError> {
    let counts = [first.unwrap_or(round), round].map(|schedule| schedule.transfers().len());
    if counts[0] == counts[1] {
        return Ok(());
    }
    let [of_first, of_round] = counts;
    let sizes = [0, number].map(|number| job.bytes_of_round(number));
    let counts = format!("{of_first} transfers of {} bytes and {of_round} of {} bytes", sizes[0], sizes[1]);
    Err(unsupported(format!("jobs[{index}].round_bytes"), counts, "sizes with as many transfers each"))
}

/// Schedule of one round.
fn round_schedule(spec: &RunSpec, index: u32, job: &JobSpec, shape: &Shape) -> Result<Schedule, SpecError> {
    let schedule = match job.arrivals {
        None => workload::schedule_for(&job.collective, &job.algorithm, shape),
        Some(given) => {
            let given = arrivals(given);
            workload::open_loop_for(
                &job.collective,
                &job.algorithm,
                shape,
                given,
                Seed(spec.seed),
                job.stream,
            )
        }
    };
    let schedule = schedule.map_err(|error| job_refusal(index, job, &error))?;
    let Some(rendezvous) = job.rendezvous else { return Ok(schedule) };
    let transfers = schedule.transfers().len() as u64 * HANDSHAKE_TRANSFERS;
    check_transfers(transfers, LISTED_TRANSFERS_MAX).map_err(|error| job_refusal(index, job, &error))?;
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
    if job.arrivals.is_some() || job.rendezvous.is_some() || !job.has_equal_rounds() {
        return Ok(schedule(spec, index, job)?.transfers().len() as u64);
    }
    workload::check_schedule(&job.collective, &job.algorithm, &shape(spec, job))
        .map(|pattern| pattern.transfers(job.hosts.len() as u32, job.data_bytes))
        .map_err(|error| job_refusal(index, job, &error))
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
        WorkloadError::Indivisible { .. } => "data_bytes",
        WorkloadError::ClosedLoop { .. } => "collective",
        WorkloadError::NoMessages => "arrivals.duration_ps",
        WorkloadError::TooManyTransfers { .. } if job.arrivals.is_some() => "arrivals.duration_ps",
        WorkloadError::NotPowerOfTwo { .. } | WorkloadError::OddRanks { .. } => "hosts",
        _ => "algorithm",
    };
    refusal(&format!("jobs[{index}].{field}"), error)
}

/// Arrival process of a job's open-loop messages.
pub const fn arrivals(spec: ArrivalsSpec) -> Arrivals {
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
