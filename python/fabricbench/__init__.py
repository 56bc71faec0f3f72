"""fabricbench: an open test platform for AI network fabrics.

`load`, `run`, `sweep`, `expect`, `explain`, `degrade`, `tune`, `campaign`, `nccl`, `import_results`,
`compare` and `workspace` are its Python interface, which `fabricbench.api` explains.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabricbench.api import (
        Campaign,
        Degraded,
        Diagnosis,
        Expected,
        ExpectedCurves,
        Explained,
        MeasuredError,
        NcclChoices,
        Plan,
        PlanError,
        Progress,
        Sample,
        StoreError,
        Trial,
        TrialProcessError,
        Trials,
        Tuned,
        UnknownTrialError,
        Workspace,
        campaign,
        compare,
        degrade,
        expect,
        explain,
        import_results,
        load,
        nccl,
        plans,
        run,
        sweep,
        tune,
        workspace,
    )

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
    "__version__",
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

__version__: str


def __getattr__(name: str) -> object:
    """Import `fabricbench.api`, or read the version, on first access: both are slow."""
    if name == "__version__":
        from importlib.metadata import version

        return version("fabricbench")
    if name in __all__:
        from fabricbench import api

        return getattr(api, name)
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return __all__
