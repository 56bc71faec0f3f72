"""Runs the trials of an expected curve of a cluster, and again with each bound lifted.

Trials run by the flow model, without a record. Consecutive sizes with one choice of NCCL (algorithm, protocol
and channels) are a segment, in which time is close to linear in the size; long trials are left out, see
`fabricbench.plan.cluster.segments`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabricbench.plan.cluster import Cluster, Segment, segments as segments_of
from fabricbench.runner import loading
from fabricbench.runner.lifted_bounds import Lifted, lifted, times_us_of
from fabricbench.runner.unrecorded_trials import UnrecordedTrials


@dataclass(frozen=True)
class ClusterTimes:
    """Times of a collective.

    Attributes:
        segments: Its data sizes, by NCCL's choice.
        run_spec: The RunSpec of the largest trial.
        by_seed: Times of each seed by data size [us].
        lifted: Times before and after each bound is lifted, of the first seed, by its name.
    """

    segments: Sequence[Segment]
    run_spec: Mapping[str, Any]
    by_seed: Sequence[Mapping[int, float]]
    lifted: Mapping[str, Lifted]


def run_cluster(
    cluster: Cluster,
    collectives: Sequence[str],
    sizes: str,
    seeds: int = 1,
    overrides: Sequence[str] = (),
    *,
    has_bounds: bool = True,
) -> list[ClusterTimes]:
    """Run the trials of some collectives on a cluster that has been checked.

    Args:
        cluster: The cluster.
        collectives: Names of `fabricbench.plan.cluster.COLLECTIVES`, each once.
        sizes: Data sizes, as `fabricbench.plan.nccl.parse_sizes` reads them.
        seeds: Trials of each size, each with its seed.
        overrides: Changes of the plan, each FIELD=VALUE.
        has_bounds: Whether trials also run with each bound lifted.

    Raises:
        PlanError: The cluster or the changes are not allowed.
        RefusedError: The flow model does not cover the plan.
        KeyboardInterrupt: The user stopped it.
    """
    return [
        _run_collective(cluster, collective, sizes, seeds, overrides, has_bounds=has_bounds)
        for collective in collectives
    ]


def _run_collective(
    cluster: Cluster,
    collective: str,
    sizes: str,
    seeds: int,
    overrides: Sequence[str],
    *,
    has_bounds: bool,
) -> ClusterTimes:
    segments = list(segments_of(cluster, collective, sizes))
    computed = [size for segment in segments for size in segment.computed]
    loaded = loading.load_fields(
        cluster.fields(collective, computed, seeds), Path.cwd() / "cluster.yaml", overrides
    )
    runs = UnrecordedTrials(loading.backend_of(loaded))
    by_seed: dict[int, dict[int, float]] = {}
    for trial, time_us in zip(loaded.trials, times_us_of(runs, loaded.trials), strict=True):
        by_seed.setdefault(trial.iteration, {})[trial.data_size_bytes] = time_us
    first = [trial for trial in loaded.trials if trial.iteration == 0]
    lifted_times = lifted(runs, first, by_seed[0]) if has_bounds else {}
    return ClusterTimes(segments, first[-1].run_spec, list(by_seed.values()), lifted_times)
