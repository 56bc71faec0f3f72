"""Python interface of fabricbench: load a plan, run it, inspect its results, compare trials.

    import fabricbench as fb

    plan = fb.load("jct-alltoall").with_(data_size=["16MB", "1GB"])
    run = fb.run(plan)
    run.summary                 # a polars frame: one row for each job of each trial
    run.plot.cdf()              # a Plotly figure
    fb.compare(run[0], run[1])  # a polars frame: every metric of both, ratio, better or worse

The package `fabricbench` exports all names of this package. Frames are polars frames; `frame.to_pandas()`
and `frame.to_arrow()` convert them. The functions read the same records, by the same code, as the command
line and the report.
"""

from fabricbench.api.campaign_runs import campaign
from fabricbench.api.campaigns import Campaign
from fabricbench.api.causes import Diagnosis
from fabricbench.api.comparison import compare
from fabricbench.api.degraded import Degraded, degrade
from fabricbench.api.expected import Expected, expect
from fabricbench.api.expected_curves import ExpectedCurves
from fabricbench.api.explained import Explained, explain
from fabricbench.api.measured import import_results
from fabricbench.api.nccl_choices import NcclChoices, nccl
from fabricbench.api.plan import Plan, load, plans
from fabricbench.api.runs import Progress, run, sweep
from fabricbench.api.samples import Sample
from fabricbench.api.trial import Trial
from fabricbench.api.trials import Trials
from fabricbench.api.tuned import Tuned, tune
from fabricbench.api.workspaces import Workspace, workspace
from fabricbench.importing import MeasuredError
from fabricbench.plan.errors import PlanError
from fabricbench.runner.messages import TrialProcessError
from fabricbench.store import StoreError, UnknownTrialError

__all__ = [
    "Campaign",
    "Degraded",
    "Diagnosis",
    "Expected",
    "ExpectedCurves",
    "Explained",
    "MeasuredError",
    "NcclChoices",
    "Plan",
    "PlanError",
    "Progress",
    "Sample",
    "StoreError",
    "Trial",
    "TrialProcessError",
    "Trials",
    "Tuned",
    "UnknownTrialError",
    "Workspace",
    "campaign",
    "compare",
    "degrade",
    "expect",
    "explain",
    "import_results",
    "load",
    "nccl",
    "plans",
    "run",
    "sweep",
    "tune",
    "workspace",
]
