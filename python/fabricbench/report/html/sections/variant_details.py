"""Builds the sections on a run's variants: their comparison, and separate plots of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fabricbench.analysis.comparison.isolation import is_solo
from fabricbench.analysis.summary.job_summary import summary_of
from fabricbench.figures.trial_data import subject_of
from fabricbench.report.documents.comparison import Comparison, of_variants, same_point
from fabricbench.report.documents.diagnosis import insight
from fabricbench.report.documents.table import Note
from fabricbench.report.documents.variants import anchor
from fabricbench.report.html.page_parts import Part, PlotPart, Section
from fabricbench.report.html.sections.causes import diagnosis_section, loss_and_pause_parts, uplinks_section
from fabricbench.report.html.sections.trial import trial_sections
from fabricbench.report.html.sections.variants import variants_section
from fabricbench.results.sizes import shown_size
from fabricbench.store import Trial

MAX_OTHERS = 3
"""Maximum variants with separate plots, in addition to that of the focus trial."""


class RunVariants:
    """The variants of a trial's run; empty for a plan without variants, or a job run alone."""

    def __init__(self, trials: Sequence[Trial], focus: Trial) -> None:
        """Find the trials of the variants at the size and iteration of the focus trial."""
        suite = [trial for trial in trials if trial.facts.suite == focus.facts.suite]
        self._focus, self._suite = focus, suite
        self._comparison = _comparison(suite, focus)
        self._repeats = len({trial.facts.iteration for trial in suite}) > 1
        labels = self._comparison.labels if self._comparison else ()
        self._trials = [
            trial
            for trial in suite
            if same_point(trial, focus) and trial.facts.variant in labels and trial.id != focus.id
        ]

    def comparison(self) -> Section | None:
        """Return the section that compares the variants."""
        if self._comparison is None:
            return None
        shown = [trial for trial in self._suite if not is_solo(trial.facts.variant)]
        return variants_section(subject_of(self._focus, shown), self._comparison)

    def headline(self, trial: Trial) -> Section | None:
        """Return the first section of one variant."""
        if self._comparison is None or trial.facts.variant not in self._comparison.labels:
            return None
        label = trial.facts.variant
        column = list(self._comparison.labels).index(label)
        facts = [
            f"{parameter.field}: {parameter.values[column]}" for parameter in self._comparison.parameters
        ]
        size = shown_size(trial, summary_of(trial.results[0], trial.facts.run_spec))
        notes: list[Part] = [Note("; ".join(facts) + ".")] if facts else []
        iteration = f", iteration {trial.facts.iteration}" if self._repeats else ""
        about = f"{size}{iteration} · trial {trial.id}"
        return Section(anchor(label), f"Variant {label}", notes, about)

    def others(self) -> list[Section]:
        """Return the sections of every variant except that of the focus trial.

        Raises:
            StoreError: A table of a trial cannot be read.
        """
        shown = [section for trial in self._trials[:MAX_OTHERS] for section in self._sections(trial)]
        heads = [self.headline(trial) for trial in self._trials[MAX_OTHERS:]]
        text = "Reduced: no plots here; a report of this trial has them."
        return [*shown, *(replace(head, parts=[*head.parts, Note(text)]) for head in heads if head)]

    def _sections(self, trial: Trial) -> list[Section]:
        trial_insight, label = insight(trial), trial.facts.variant
        parts = [diagnosis_section(trial_insight), uplinks_section(subject_of(trial, [trial]))]
        parts += trial_sections(trial, trial_insight, loss_and_pause_parts(trial_insight))
        headline_section = self.headline(trial)
        about = f"variant {label} · trial {trial.id}"
        sections = [_of_variant(section, label, about) for section in parts if section is not None]
        return [*([headline_section] if headline_section else []), *sections]


def _comparison(trials: Sequence[Trial], focus: Trial) -> Comparison | None:
    """Compare the variants of a run with the reference, or return `None` if it has not run."""
    names = [trial.facts.variant for trial in trials]
    if focus.facts.reference is None or focus.facts.variant not in names:
        return None
    return of_variants(trials, focus) if focus.facts.reference in names else None


def _of_variant(section: Section, variant: str, about: str) -> Section:
    """Return a section with anchors that are unique to the variant."""
    parts = [
        replace(part, name=f"{part.name}-{variant}") if isinstance(part, PlotPart) else part
        for part in section.parts
    ]
    return replace(section, key=f"{section.key}-{variant}", parts=parts, about=about, in_contents=False)
