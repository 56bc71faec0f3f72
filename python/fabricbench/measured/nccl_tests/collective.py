"""`identify` determines the collective and the number of ranks of a table of nccl-tests.

Names and numbers in the output (`OutputFacts`) and of the user (`UserFacts`) are checked against the printed
bandwidths. A table that does not fit is refused, with a hint that names the collectives that fit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fabricbench.measured.file_text.document import RANKS_HINT, ROW_HINT, Document, shown
from fabricbench.measured.file_text.intervals import Interval
from fabricbench.measured.model import UserFacts
from fabricbench.measured.nccl_tests.bandwidth_check import (
    KINDS,
    Evidence,
    Fit,
    Kind,
    Print,
    factor_of,
    fits,
    named_in,
    options_of,
    plain_name,
)

MPI_HINT = (
    "if several processes were started, nccl-tests was built without MPI: each measured alone and nothing "
    "crossed a network; build it with make MPI=1 and measure again; if two runs wrote into the file at the "
    "same time, give each a file of its own"
)
_UNKNOWN_HINT = "say which it was: --benchmark all_reduce_perf"


@dataclass(frozen=True)
class OutputFacts:
    """Benchmark and ranks of a table, from the output itself.

    Attributes:
        line: Number of the line where the table begins; none for a JSON file.
        benchmark: The program that the run of this table names; empty if it names none.
        earlier: The program named before an earlier table; empty if there is none.
        listed: Number of listed ranks; none without a list.
        launched: Number of ranks that the command line starts; none if unknown.
        groups: Number of listed groups of ranks, which ran at the same time.
    """

    line: int | None
    benchmark: str = ""
    earlier: str = ""
    listed: int | None = None
    launched: int | None = None
    groups: int = 1


@dataclass
class _Table:
    document: Document
    evidence: Evidence
    stated: OutputFacts
    user_facts: UserFacts
    warnings: list[str]

    @property
    def place(self) -> str:
        return f"{self.document.name}:{self.stated.line}" if self.stated.line else self.document.name

    @property
    def ranks(self) -> int | None:
        """The ranks from the user, else from the list, else the command line; none without any of them."""
        return self.user_facts.ranks or self.stated.listed or self.stated.launched

    def spans(self, benchmark: str) -> bool:
        """Return whether a benchmark fits the table with these ranks, or with any number if unknown."""
        kind = KINDS.get(plain_name(benchmark))
        if kind is None:
            return False
        ranks = self.ranks
        if ranks is None:
            return self.evidence.ranks_of(kind) is not None
        form = self.evidence.form_of(kind, ranks)
        return not self.evidence.misfit(form, ranks) and not self.evidence.lead_against(form, ranks)


def identify(
    document: Document, evidence: Evidence, stated: OutputFacts, user_facts: UserFacts, warnings: list[str]
) -> tuple[str, int]:
    """Return the benchmark and the ranks of a table.

    Args:
        document: The file.
        evidence: The printed numbers of the table.
        stated: Benchmark and ranks in the output.
        user_facts: Benchmark and ranks given by the user.
        warnings: Receives a warning for each inferred value.

    Raises:
        MeasuredError: Neither output nor user name the benchmark and more than one collective fits, or the
            named one does not fit.
    """
    table = _Table(document, evidence, stated, user_facts, warnings)
    if stated.listed == 1 or table.ranks == 1:
        listed_ranks = "a list of one rank" if stated.listed == 1 else "one rank"
        raise document.error(stated.line, listed_ranks, "2 ranks or more: one alone sends nothing", MPI_HINT)
    benchmark = _benchmark(table)
    if plain_name(benchmark) not in KINDS:
        return benchmark, _ranks_unchecked(table, benchmark)
    kind = KINDS[plain_name(benchmark)]
    ranks = _ranks(table, kind)
    kind = evidence.form_of(kind, ranks)
    _require_fit(table, kind, ranks)
    if kind != KINDS[kind.name]:
        warnings.append(
            f"{table.place}: the algbw printed leaves out a rank's own part, as that of {kind.program} did "
            "until 2020; here it is size over time"
        )
    return kind.program, ranks


def _benchmark(table: _Table) -> str:
    """Return the first name that fits: the run's, the user's, an earlier table's; inferred without a name."""
    stated, user_facts = table.stated, table.user_facts
    names = [name for name in (stated.benchmark, user_facts.benchmark, stated.earlier) if name]
    fitting = next((name for name in names if table.spans(name)), "")
    if stated.benchmark and fitting not in (stated.benchmark, user_facts.benchmark):
        return stated.benchmark
    if fitting:
        _warn_of_choice(table, fitting)
        return fitting
    if stated.benchmark or user_facts.benchmark:
        return stated.benchmark or user_facts.benchmark
    return _inferred(table)


def _warn_of_choice(table: _Table, program: str) -> None:
    """Warn if one name replaces another, or is that of an earlier table and others fit too."""
    stated, user_facts = table.stated, table.user_facts
    names = {plain_name(name) for name in (stated.benchmark, user_facts.benchmark) if name} - {
        plain_name(program)
    }
    for name in sorted(names):
        table.warnings.append(f"{table.place}: {name}_perf does not fit and is not taken; {program} is")
    if not stated.benchmark and not user_facts.benchmark:
        others = [fit for fit in fits(table.evidence, table.ranks) if fit.kind.name != plain_name(program)]
        if others:
            table.warnings.append(
                f"{table.place}: taken as {plain_name(program)}_perf, as the table before it; "
                f"{_programs(others)} would fit as well: --benchmark says it"
            )


def _inferred(table: _Table) -> str:
    """Return the one benchmark that fits the printed numbers and the file's name.

    Raises:
        MeasuredError: None fits, or several do.
    """
    matches = fits(table.evidence, table.ranks)
    if not matches:
        _refuse_unnamed(table)
    file_benchmark = named_in(table.document.name)
    candidates = [fit for fit in matches if fit.kind.name == file_benchmark] or matches
    if len(candidates) > 1:
        expected = 'a line "# Collective test starting: ..." or the command line before the table'
        description = f"a table of an unknown benchmark, which {_programs(candidates)} fit"
        raise table.document.error(
            table.stated.line, description, expected, f"say which it was: {options_of(candidates)}"
        )
    reason = "as the file's name says and the bandwidths allow" if len(matches) > 1 else "which alone fits"
    program = candidates[0].kind.program
    table.warnings.append(
        f"{table.place}: taken as {program}, {reason}; the output does not say it: --benchmark does"
    )
    return candidates[0].kind.program


def _refuse_unnamed(table: _Table) -> None:
    """Refuse a table without a name that no collective fits."""
    misfit = next((row for row in table.evidence.prints if not row.has_rate(None, 2)), None)
    if misfit is not None and table.evidence.prints:
        raise _wrong_rate(table, misfit, None, 2)
    ranks = f" of {table.ranks:,} ranks" if table.ranks else ""
    expected = "bandwidths of a collective of nccl-tests"
    raise table.document.error(
        table.stated.line, f"a table{ranks} that no collective fits", expected, _UNKNOWN_HINT
    )


def _programs(matches: Sequence[Fit]) -> str:
    return " and ".join(dict.fromkeys(fit.kind.program for fit in matches))


def _ranks_unchecked(table: _Table, benchmark: str) -> int:
    """Return the ranks of a benchmark with unknown bandwidths; warn with the collectives that fit."""
    matches = fits(table.evidence, table.ranks)
    if matches and table.evidence.leads:
        table.warnings.append(
            f"{table.place}: {shown(benchmark)} is not known, so its bandwidths are not checked; "
            f"those printed fit {_programs(matches)}"
        )
    _warn_of_ranks(table)
    if table.ranks is None:
        expected = 'lines "#  Rank  0 ... on HOST device ..." before the table'
        raise table.document.error(table.stated.line, "a table of unknown ranks", expected, RANKS_HINT)
    return table.ranks


def _warn_of_ranks(table: _Table) -> None:
    """Warn where the user, the list of ranks and the command line differ."""
    user_ranks, listed, launched = table.user_facts.ranks, table.stated.listed, table.stated.launched
    if user_ranks and listed and user_ranks != listed:
        table.warnings.append(
            f"{table.place}: --ranks {user_ranks} in place of {listed}, which the output lists"
        )
    groups = table.stated.groups
    if listed and groups > 1:
        table.warnings.append(
            f"{table.place}: {groups} groups of {listed} ranks ran at the same time (NCCL_TESTS_SPLIT): "
            "bandwidths are those of one group"
        )
    elif listed and launched and listed < launched:
        table.warnings.append(
            f"{table.place}: {listed} ranks are listed and the command line starts {launched}: without MPI "
            "each process measures alone"
        )


def _ranks(table: _Table, kind: Kind) -> int:
    """Return the stated ranks, or else the one number that fits.

    Raises:
        MeasuredError: No number is stated, and none or several fit.
    """
    _warn_of_ranks(table)
    if table.ranks is not None:
        return table.ranks
    span = table.evidence.ranks_of(kind)
    if span is not None and span[0] == span[1]:
        table.warnings.append(
            f"{table.place}: taken as {span[0]} ranks, which alone fit {kind.program}; "
            "the output does not say it: --ranks does"
        )
        return span[0]
    expected = 'lines "#  Rank  0 ... on HOST device ..." before the table'
    fitting = Fit(kind, *span) if span and kind.factor != "1" else None
    others = [] if span else fits(table.evidence)
    hint = f"say it: {fitting}" if fitting else f"these fit: {options_of(others)}" if others else RANKS_HINT
    raise table.document.error(
        table.stated.line, f"a table of {kind.program} of unknown ranks", expected, hint
    )


def _require_fit(table: _Table, kind: Kind, ranks: int) -> None:
    """Refuse a table whose bandwidths or counts do not follow from collective and ranks."""
    misfit, lead = table.evidence.misfit(kind, ranks), table.evidence.lead_against(kind, ranks)
    if misfit is not None and not misfit.has_rate(kind, ranks):
        raise _wrong_rate(table, misfit, kind, ranks)
    if misfit is not None:
        printed = f"busbw {misfit.texts[1]} ({misfit.placement})"
        factor = factor_of(kind.factor, ranks) / factor_of(kind.algorithm_factor, ranks)
        factor_text = f"{factor:.4g} times algbw, of {kind.program} of {ranks:,} ranks"
        expected = f"{_about(misfit.bus(kind, ranks))}, {factor_text}"
        raise table.document.error(misfit.line, printed, expected, _hint(table, kind, ranks))
    if lead is not None:
        printed = f"{lead.count:,} elements of {lead.type_name} in {lead.size_bytes:,} bytes"
        part = f"1/{ranks} of them" if kind.has_shares else "all of them"
        expected = f"{part}, as {kind.program} of {ranks:,} ranks has"
        raise table.document.error(lead.line, printed, expected, _hint(table, kind, ranks))


def _wrong_rate(table: _Table, misfit: Print, kind: Kind | None, ranks: int) -> Exception:
    printed = f"algbw {misfit.texts[0]} ({misfit.placement})"
    expected = f"{_about(misfit.rate(kind, ranks))}, which size and time make"
    return table.document.error(misfit.line, printed, expected, ROW_HINT)


def _about(interval: Interval) -> str:
    """Return the text of the expected number."""
    if math.isinf(interval.high):
        return f"{interval.low:.4g} or more"
    middle = (interval.low + interval.high) / 2
    return f"{middle:.2f}" if middle >= 1 else f"{middle:.3g}"


def _hint(table: _Table, kind: Kind, ranks: int) -> str:
    """Return the hint of an error: the collectives that fit the table, or that most rows fit this one."""
    matches = fits(table.evidence, ranks)
    if matches:
        return f"what is printed fits {options_of(matches)}"
    others = _without_misfits(table.evidence, kind, ranks)
    if others.is_fit(kind, ranks) and 2 * len(others.prints) > len(table.evidence.prints):
        return f"the other rows fit {kind.program}; {ROW_HINT}"
    return f"no collective of nccl-tests fits the table; {ROW_HINT}"


def _without_misfits(evidence: Evidence, kind: Kind, ranks: int) -> Evidence:
    """Return the evidence without the rows that do not fit a collective."""
    misfit_lines = {row.line for row in evidence.prints if Evidence([row], []).misfit(kind, ranks)}
    misfit_lines |= {row.line for row in evidence.leads if Evidence([], [row]).lead_against(kind, ranks)}
    return Evidence(
        [row for row in evidence.prints if row.line not in misfit_lines],
        [row for row in evidence.leads if row.line not in misfit_lines],
    )
