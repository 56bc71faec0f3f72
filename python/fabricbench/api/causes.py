"""Causes of a slow trial in Python: each with its evidence and remedies, as objects and as a frame."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fabricbench.analysis.causes.finding import Finding
from fabricbench.report.documents.diagnosis import insight_of
from fabricbench.report.studies.explanation import Explanation, explanation_text
from fabricbench.results.job_reports import current_reports
from fabricbench.store import Trial as StoredTrial

if TYPE_CHECKING:
    import polars as pl


class Diagnosis:
    """Why the jobs of a trial are slow: causes, the strongest first; its text is that of `explain`.

    Example:
        >>> run[0].diagnose()
        trial ...
        jct-alltoall [example], job test: ... % of the ideal
        <BLANKLINE>
        every job completed and reached 95 % of its ideal, or has none: nothing to explain
    """

    def __init__(self, trial: StoredTrial) -> None:
        """Read the counters of a trial; `Trial.diagnose` calls this."""
        self._explanation = Explanation(trial, current_reports(trial), insight_of(trial))

    @property
    def slow_jobs(self) -> list[str]:
        """Names of the jobs that are below 95 % of their ideal, or not complete.

        Example:
            >>> run[0].diagnose().slow_jobs
            []
        """
        insight = self._explanation.insight
        return list(insight.unhealthy) if insight else []

    @property
    def causes(self) -> Sequence[Finding]:
        """The likely causes, the strongest first.

        Each has `cause` (its name), `job`, `explained` (the fraction of the lost time, or None), `sentence`,
        `evidence` (figures by name), `where`, `under` (its consequences) and `remedies`, whose `changes` are
        options `-s` of the command line.

        Example:
            >>> [cause.cause for cause in run[0].diagnose().causes]
            []
        """
        insight = self._explanation.insight
        return list(insight.findings) if insight else []

    @cached_property
    def frame(self) -> pl.DataFrame:
        """A row for each cause: `job`, `cause`, `explained_percent`, `sentence`, `where`, `remedies`.

        Example:
            >>> run[0].diagnose().frame.columns
            ['job', 'cause', 'explained_percent', 'sentence', 'where', 'remedies']
        """
        import polars as pl

        lists = pl.List(pl.String)
        schema: Any = {"job": pl.String, "cause": pl.String, "explained_percent": pl.Float64}
        schema |= {"sentence": pl.String, "where": lists, "remedies": lists}
        rows = [
            {
                "job": cause.job,
                "cause": cause.cause,
                "explained_percent": None if cause.explained is None else 100 * cause.explained,
                "sentence": cause.sentence,
                "where": list(cause.where),
                "remedies": [remedy.text for remedy in cause.remedies],
            }
            for cause in self.causes
        ]
        return pl.DataFrame(rows, schema)

    def __repr__(self) -> str:
        return explanation_text(self._explanation)
