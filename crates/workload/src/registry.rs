//! Finds algorithms by name, checks parameters before a schedule is built, limits the size of schedules.

use crate::{Algorithm, Pattern, Schedule, Shape, WorkloadError, algorithms, shares};

/// Most transfers of a schedule that is a list: 2^25 = 33,554,432, which take 1.3 GB, and 4 bytes for each
/// dependency.
pub const LISTED_TRANSFERS_MAX: u64 = 1 << 25;
/// Most transfers of any schedule, as they are numbered in 32 bits: 2^31 = 2,147,483,648.
pub const TRANSFERS_MAX: u64 = 1 << 31;

/// The algorithm `name` of `collective`.
///
/// # Errors
/// [`WorkloadError::Unknown`] when there is none.
pub fn find(collective: &str, name: &str) -> Result<&'static Algorithm, WorkloadError> {
    let is_named = |each: &&Algorithm| each.collective == collective && each.name == name;
    algorithms().iter().find(is_named).ok_or_else(|| WorkloadError::Unknown {
        collective: collective.to_owned(),
        algorithm: name.to_owned(),
        known: algorithm_names(),
    })
}

/// The schedule of `collective` by `algorithm` for `shape`.
///
/// # Errors
/// When there is no such pattern; `shape` has under 2 ranks, a root that is not one of them or no data; the
/// pattern does not [support](Pattern::supports) this number of ranks; the data size is not a multiple of
/// [`shares`]; or the schedule exceeds [`TRANSFERS_MAX`], or [`LISTED_TRANSFERS_MAX`] if it is a list.
pub fn schedule_for(collective: &str, algorithm: &str, shape: &Shape) -> Result<Schedule, WorkloadError> {
    Ok(check_schedule(collective, algorithm, shape)?.schedule(shape))
}

/// Checks that [`schedule_for`] would succeed, without making the schedule; returns its pattern.
///
/// # Errors
/// Those of [`schedule_for`].
pub fn check_schedule(
    collective: &str,
    algorithm: &str,
    shape: &Shape,
) -> Result<&'static dyn Pattern, WorkloadError> {
    let pattern = find(collective, algorithm)?.pattern;
    shape.check()?;
    pattern.supports(shape.ranks)?;
    let (data_bytes, shares) = (shape.data_bytes, shares(collective, shape.ranks));
    if !data_bytes.is_multiple_of(shares) {
        return Err(WorkloadError::Indivisible { data_bytes, shares });
    }
    let limit = if pattern.is_listed() { LISTED_TRANSFERS_MAX } else { TRANSFERS_MAX };
    check_transfers(pattern.transfers(shape.ranks, data_bytes), limit)?;
    Ok(pattern)
}

/// Checks that `transfers` is at most `limit`.
///
/// # Errors
/// When it is more.
pub const fn check_transfers(transfers: u64, limit: u64) -> Result<(), WorkloadError> {
    if transfers > limit {
        return Err(WorkloadError::TooManyTransfers { transfers, limit });
    }
    Ok(())
}

fn algorithm_names() -> String {
    let name = |each: &Algorithm| format!("{}/{}", each.collective, each.name);
    algorithms().iter().map(name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use units::{Rank, Seed};

    fn shape(ranks: u32, data_bytes: u64) -> Shape {
        Shape { ranks, data_bytes, root: Rank(0), stream: Seed(1).stream("workload.permutation", 0) }
    }

    fn error(collective: &str, algorithm: &str, shape: &Shape) -> String {
        schedule_for(collective, algorithm, shape).unwrap_err().to_string()
    }

    #[test]
    fn names_are_unique_and_each_is_found() {
        let names: HashSet<_> = algorithms().iter().map(|each| (each.collective, each.name)).collect();
        assert_eq!(names.len(), algorithms().len());
        for (collective, name) in names {
            let algorithm = find(collective, name).unwrap();
            assert_eq!((algorithm.collective, algorithm.name), (collective, name));
        }
    }

    #[test]
    fn an_unknown_algorithm_lists_what_there_is() {
        let text = error("all-to-all", "ring", &shape(4, 4));
        assert!(
            text.starts_with("no algorithm \"ring\" for collective \"all-to-all\"; known: all-reduce/ring, ")
        );
        assert!(text.ends_with("uniform-random/parallel"));
    }

    #[test]
    fn shares_that_would_not_be_equal_are_refused_with_both_numbers() {
        assert_eq!(
            error("all-to-all", "parallel", &shape(3, 1000)),
            "1000 bytes are not one equal share for each of 3 ranks"
        );
        assert!(schedule_for("all-gather", "ring-bidirectional", &shape(4, 1004)).is_ok());
        assert!(schedule_for("all-reduce", "ring", &shape(3, 1000)).is_ok());
    }

    #[test]
    fn a_shape_without_meaning_is_refused() {
        assert_eq!(error("incast", "parallel", &shape(1, 8)), "1 ranks; a collective needs at least 2");
        assert_eq!(
            error("incast", "parallel", &shape(2, 0)),
            "the data size is 0 bytes; it must be positive"
        );
        let stray = Shape { root: Rank(4), ..shape(4, 8) };
        assert_eq!(error("gather", "parallel", &stray), "root 4 is not one of the ranks 0..4");
    }

    #[test]
    fn a_number_of_ranks_that_an_algorithm_does_not_take_is_refused_with_those_it_takes() {
        let halving = "12 ranks; the algorithm needs a power of two, such as 8 or 16";
        assert_eq!(error("all-reduce", "halving-doubling", &shape(12, 12)), halving);
        let pairs = "7 ranks; the algorithm pairs them and needs an even number";
        assert_eq!(error("send-receive", "parallel", &shape(7, 8)), pairs);
        let supports = |algorithm, ranks| find("all-reduce", algorithm).unwrap().pattern.supports(ranks);
        assert!(supports("halving-doubling", 12).is_err());
        assert!(supports("halving-doubling", 16).is_ok() && supports("ring", 12).is_ok());
    }

    #[test]
    fn a_schedule_that_does_not_fit_is_refused_before_it_is_built() {
        let ranks = 1 << 16;
        let text = error("all-to-all", "parallel", &shape(ranks, ranks.into()));
        assert_eq!(text, "4294901760 transfers; a schedule has at most 2147483648");
        let text = error("all-to-all", "bruck", &shape(1 << 21, 1 << 21));
        assert_eq!(text, "44040192 transfers; a schedule has at most 33554432");
    }

    #[test]
    fn a_schedule_that_is_no_list_needs_no_memory_for_its_transfers() {
        let schedule = schedule_for("all-reduce", "ring", &shape(1 << 15, 1 << 15)).unwrap();
        assert_eq!(schedule.transfers().len(), 2_147_418_112);
        assert!(schedule.memory_bytes() < 100);
    }

    #[test]
    fn only_what_is_a_list_says_so() {
        for Algorithm { pattern, name, .. } in algorithms() {
            let schedule = pattern.schedule(&shape(4, 16));
            assert_eq!(pattern.is_listed(), schedule.closed_form().is_none(), "{name}");
        }
    }
}
