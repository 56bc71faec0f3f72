"""Formats the source of a trial: simulated, measured, flow model or another backend, and its version."""

from __future__ import annotations

from typing import Final

from fabricbench.store import Trial
from fabricbench.store.catalog.trial import FLOW, IMPORTED, SIMULATOR

SIMULATED: Final = "simulated"
MEASURED: Final = "measured"
FLOW_MODEL: Final = "flow model"
_WORDS: Final = {SIMULATOR: SIMULATED, FLOW: FLOW_MODEL, IMPORTED: MEASURED}


def made(trial: Trial) -> str:
    """Return the source of a trial: `simulated`, `measured`, `flow model`, or the name of its backend."""
    return _WORDS.get(trial.facts.backend, trial.facts.backend)


def made_by(trial: Trial) -> str:
    """Return the backend of a trial and the version of its results."""
    return f"{trial.facts.backend} {trial.facts.backend_version}"
