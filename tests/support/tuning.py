"""Small plans to search over."""

from __future__ import annotations

from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.runner import loading
from fabricbench.runner.tuning.definition import TuningDefinition
from fabricbench.runner.tuning.objectives import aims_of, limits_of
from fabricbench.runner.tuning.space import space_of

TRANSFER = """\
fabricbench: 1
name: transfer
fabric:
  topology: {kind: single-switch, hosts: 2, host_link: 400Gbps}
transport: {mtu: 256, message_size: 16KB}
jobs:
  - {name: test, collective: send-receive, ranks: "0-1"}
sweep: {data_size: [16KB]}
"""
"""A message each way on an idle switch."""

INCAST = """\
fabricbench: 1
name: incast
fabric:
  topology: {kind: single-switch, hosts: 5, host_link: 100Gbps}
  switch: {ecn: {kmin: 20KB, kmax: 80KB, pmax: 10%}, buffer: 400KB}
transport: {rate_control: dcqcn, recovery: go-back-n}
jobs:
  - {name: test, collective: gather, algorithm: parallel, ranks: "0-4"}
sweep: {data_size: [640KB, 2560KB]}
"""
"""Four senders to one, with a buffer that overflows where nothing is marked."""


def loaded(text: str, *overrides: str) -> LoadedPlan:
    """Load a plan from text."""
    return loading.load_text(text, "plan.yaml", overrides)


def wanted_of(
    plans: list[LoadedPlan],
    searches: list[str],
    minimize: tuple[str, ...] = ("completion_time_ms",),
    subject_to: tuple[str, ...] = (),
    seed: int = 0,
) -> TuningDefinition:
    """Say what is searched."""
    space = space_of(plans, searches)
    seeds = tuple(plan.plan.iterations for plan in plans)
    return TuningDefinition(space, aims_of(minimize, ()), limits_of(subject_to), seeds, seed, 4, True)
