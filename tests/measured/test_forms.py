"""Outputs in many forms, by the files of `forms`: what is imported of each, or why it is refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from fabricbench.importing import MeasuredError, Options, Source, UserFacts, import_results
from fabricbench.store import Trial, Workspace

FORMS = Path(__file__).parent / "forms"
_LISTS = tuple(FORMS / each / "imports.yaml" for each in (".", "more", "third"))
IMPORTS: list[dict[str, Any]] = [
    {**case, "folder": path.parent} for path in _LISTS for case in YAML(typ="safe").load(path)
]
_ROUNDED = 2e-3
"""Share by which a rate differs from the printed one, as times are rounded."""


def _id(case: dict[str, Any]) -> str:
    return " ".join(str(case[name]) for name in ("file", "benchmark", "ranks_given") if name in case)


def _size(trial: Trial) -> int:
    return int(trial.results[0]["data_size_bytes"])


@pytest.mark.parametrize("case", IMPORTS, ids=_id)
def test_a_form_is_read_as_the_tool_means_it(case: dict[str, Any], tmp_path: Path) -> None:
    source = Source(case["file"], (case["folder"] / case["file"]).read_bytes())
    options = Options(user_facts=UserFacts(case.get("ranks_given"), case.get("benchmark", "")))
    store = Workspace.open(tmp_path / "workspace", create=True)
    if "refused" in case:
        with pytest.raises(MeasuredError) as raised:
            import_results(store, source, options)
        assert case["refused"] in str(raised.value)
        assert raised.value.hint
        assert not list(store.trials())
        return
    found = import_results(store, source, options)
    runs = Counter(trial.facts.plan for trial in found.trials)
    assert runs == case.get("runs", runs)
    assert len(found.trials) == case.get("results", sum(runs.values()))
    assert len(runs) == case.get("names", len(runs))
    ranks = case["ranks"]
    for trial in found.trials:
        expected = ranks[trial.facts.plan] if isinstance(ranks, dict) else ranks
        assert trial.results[0]["ranks"] == expected
    assert sum(trial.status == "incomplete" for trial in found.trials) == case.get("incomplete", 0)
    for row in case["rows"]:
        _require_row(found.trials, row)
    for part in case.get("warns", ()):
        assert any(part in warning for warning in found.warnings), (part, found.warnings)


def _require_row(trials: Any, row: list[Any]) -> None:
    run, placement, size, time_us, algbw, busbw, *iteration = row
    of_run = [trial for trial in trials if trial.facts.plan == run and placement in ("", trial.facts.variant)]
    matches = [trial for trial in of_run if _size(trial) == size]
    matches = [trial for trial in matches if not iteration or trial.facts.iteration == iteration[0]]
    assert len(matches) == 1, [(_size(trial), trial.facts.variant) for trial in of_run]
    found = matches[0].results[0]
    time = found["completion_time_ms"]
    if time_us is None:
        assert time is None
    else:
        assert time * 1e3 == pytest.approx(time_us, rel=5e-4)
    for name, value in (("algbw_gb_per_s", algbw), ("busbw_gb_per_s", busbw)):
        assert found[name] == (None if value is None else pytest.approx(value, rel=_ROUNDED)), name
