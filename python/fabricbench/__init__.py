"""fabricbench: an open test platform for AI network fabrics.

`load`, `run`, `expect`, `import_results`, `compare` and `workspace` are its Python interface, which
`fabricbench.api` explains.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabricbench.api import Campaign as Campaign
    from fabricbench.api import Expected as Expected
    from fabricbench.api import MeasuredError as MeasuredError
    from fabricbench.api import Plan as Plan
    from fabricbench.api import PlanError as PlanError
    from fabricbench.api import Progress as Progress
    from fabricbench.api import Sample as Sample
    from fabricbench.api import StoreError as StoreError
    from fabricbench.api import Trial as Trial
    from fabricbench.api import TrialProcessError as TrialProcessError
    from fabricbench.api import Trials as Trials
    from fabricbench.api import UnknownTrialError as UnknownTrialError
    from fabricbench.api import Workspace as Workspace
    from fabricbench.api import compare as compare
    from fabricbench.api import expect as expect
    from fabricbench.api import import_results as import_results
    from fabricbench.api import load as load
    from fabricbench.api import run as run
    from fabricbench.api import workspace as workspace

__all__ = [
    "Campaign",
    "Expected",
    "MeasuredError",
    "Plan",
    "PlanError",
    "Progress",
    "Sample",
    "StoreError",
    "Trial",
    "TrialProcessError",
    "Trials",
    "UnknownTrialError",
    "Workspace",
    "__version__",
    "compare",
    "expect",
    "import_results",
    "load",
    "run",
    "workspace",
]

__version__: str


def __getattr__(name: str) -> object:
    """Import what is heavy, or read the version, only when it is asked for."""
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
