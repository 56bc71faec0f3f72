"""What show and the report say of real hosts: facts, counters, and times that clocks do not resolve."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.fake_backend import FakeBackend
from tests.support.samples import run_trial, trial_facts

from fabricbench.backend.host_counters import batch_of
from fabricbench.metrics import BY_NAME
from fabricbench.report.documents.hosts import host_tables
from fabricbench.report.documents.table_cells import value_text
from fabricbench.report.html.sections.hosts_and_ports import hosts_section
from fabricbench.report.terminal.text_table import joined
from fabricbench.results.hosts import clock_error_ms, hosts_of, known_above_ms
from fabricbench.results.job_reports import stored_reports
from fabricbench.store import Trial, Workspace


def host(name: str, error_ns: int) -> dict[str, Any]:
    return {
        "host": name,
        "facts": {"kernel": "Linux 6.18", "mtu_bytes": "4200"},
        "settings": {"verify": True},
        "endpoint": {"start_skew_ns": 2_000},
        "clock_offset_ns": 10_000,
        "clock_drift_ns": -3_000,
        "clock_error_ns": error_ns,
    }


def row(name: str, vendor_name: str, after: int, neutral: str | None = None) -> dict[str, Any]:
    told = {"host": name, "device": "mlx5_0/1", "source": "hw_counters", "vendor_name": vendor_name}
    known = {"unit": "events", "meaning": "One for each burst."} if neutral else {}
    return told | {"name": neutral, "unit": None, "meaning": None} | known | {"before": 1, "after": after}


ROWS = [
    row("h0", "out_of_sequence", 5, "loss_bursts"),
    row("h0", "of_tomorrow", 9),
    row("h1", "out_of_sequence", 1, "loss_bursts"),
]


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    """A trial of two hosts with clocks known to 100 and 300 us, the second of which counted nothing."""
    workspace = Workspace.open(tmp_path / "workspace", create=True)
    observed = {**trial_facts().observed, "counters": {"at": "device", "unmeasured": []}}
    facts = replace(trial_facts(), observed=observed)

    class Counting(FakeBackend):
        def run(self, planned: Any, observer: Any, *, threads: int | None) -> Any:
            observer.rows("counters", batch_of(ROWS))
            result = super().run(planned, observer, threads=threads)
            return replace(
                result, engine={**result.engine, "hosts": [host("h0", 100_000), host("h1", 300_000)]}
            )

    run_trial(workspace, facts, Counting())
    return workspace.find(facts.id)


def test_counters_that_changed_come_from_the_table(trial: Trial) -> None:
    first, second = hosts_of(trial)
    assert [each["counter"] for each in first["counters"]] == ["loss_bursts", None]
    assert first["counters"][0] == {
        "counter": "loss_bursts",
        "device": "mlx5_0/1",
        "source": "hw_counters",
        "vendor_name": "out_of_sequence",
        "unit": "events",
        "meaning": "One for each burst.",
        "before": 1,
        "after": 5,
    }
    assert second["counters"] == []


def test_counters_of_an_earlier_record_are_beside_the_facts(trial: Trial) -> None:
    facts = replace(trial.facts, observed={"chunks": trial.facts.observed["chunks"]})
    kept = [host("h0", 1) | {"counters": [{"counter": "rx_bytes"}]}]
    earlier = replace(trial, facts=facts, engine={"hosts": kept})
    assert hosts_of(earlier) == kept


def test_show_and_report_have_facts_and_known_counters(trial: Trial) -> None:
    text = joined(host_tables(trial), colour=False, with_captions=True)
    assert "verify True" in text
    assert "Times of two hosts are known to each other to 400.0 us." in text
    assert "out_of_sequence: One for each burst." in text
    assert "of_tomorrow" not in text
    section = hosts_section(trial)
    assert section is not None
    hosts, counters = section.parts
    assert [len(part.rows) for part in (hosts, counters)] == [2, 1]  # type: ignore[union-attr]


def test_it_is_told_which_times_are_those_of_adapters_and_how_sure_they_are(trial: Trial) -> None:
    first, second = host("h0", 100_000), host("h1", 300_000)
    stamps = {"completion_stamps": 1_200, "completion_stamps_refused": 0, "completion_clock_error_ns": 400}
    first["endpoint"] |= stamps
    second["endpoint"] |= stamps | {"completion_stamps_refused": 300}
    known = replace(trial, engine={"hosts": [first, second]})
    text = joined(host_tables(known), colour=False, with_captions=True)
    assert "Times of two hosts are known to each other to 400.8 us." in text
    assert "Chunks of h0 end when its adapter says, on its host's clock to 0.4 us. Chunks of h1" in text
    assert "to 0.4 us, but for 300 of 1,500 whose time stamps could not be right." in text


def test_a_time_below_the_error_of_the_clocks_is_told_as_that(trial: Trial) -> None:
    (job, *_) = stored_reports(trial)
    time, rate = BY_NAME["completion_time_ms"], BY_NAME["busbw_gb_per_s"]
    known_ms = job.summary.value(time.name)
    assert known_ms
    assert clock_error_ms(trial) == 0.4

    def told(error_ms: float) -> list[str]:
        hosts = [host(name, round(error_ms * 5e5)) for name in ("h0", "h1")]
        unsure = replace(trial, engine={"hosts": hosts})
        return [value_text(unsure, job.summary, metric) for metric in (time, rate)]

    exact = replace(trial, engine={})
    assert told(0.9 * known_ms) == [value_text(exact, job.summary, metric) for metric in (time, rate)]
    below, no_rate = told(2 * known_ms)
    assert below.startswith("<")
    assert float(below[1:].replace(",", "")) == pytest.approx(2 * known_ms, rel=0.01)
    assert no_rate == "-"
    assert known_above_ms(exact, job.summary, time.name) is None
