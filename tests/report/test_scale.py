"""A run of 1,000 ranks: a million chunks. The file stays small and says what it leaves out."""

import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from tests.report import synthetic
from tests.report.stored import store_run

from fabricbench.figures.chunks.progress import progress_plot
from fabricbench.figures.chunks.timeline import timeline_plot
from fabricbench.figures.results.fct import FctSample, fct_plot
from fabricbench.report.html.run_page import write_report

Builder = Callable[[int, int], pl.DataFrame]
LIMIT_BYTES = 15_000_000


@pytest.mark.slow
@pytest.mark.parametrize("collective", ["all-to-all", "all-reduce"])
def test_a_thousand_ranks_fit_into_a_small_file(tmp_path: Path, collective: str) -> None:
    trials = store_run(
        tmp_path / "workspace", sizes=[2**30], ranks=1000, shape=(32, 32, 16), collective=collective
    )
    size = write_report(trials, trials[0], tmp_path / "report.html")
    assert size < LIMIT_BYTES
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", (tmp_path / "report.html").read_text())
    assert sum("Reduced:" in caption for caption in captions) >= 4


@pytest.mark.parametrize("make", [synthetic.all_to_all_chunks, synthetic.ring_chunks])
def test_a_hundred_ranks_are_reduced_and_the_captions_say_so(make: Builder) -> None:
    chunks = make(100, 2**24)
    end_ps = int(str(chunks["completed_ps"].max()))
    timeline = timeline_plot(chunks.lazy(), end_ps)
    assert timeline is not None
    assert timeline.reduced
    assert len(timeline.figure.data[0].z) == 100
    assert "A row is one sending rank" in timeline.caption
    distribution = fct_plot([FctSample("16 MB", chunks["fct_ps"], {})])
    assert distribution is not None
    assert "Reduced: curves with more chunks show 600 points" in distribution.caption


def test_progress_ends_at_all_chunks_and_never_falls() -> None:
    chunks = synthetic.all_to_all_chunks(300, 2**24)
    plot = progress_plot(chunks.lazy(), int(str(chunks["completed_ps"].max())))
    assert plot is not None
    rows = plot.figure.data[0].z
    assert len(rows) == 100
    assert "300 sending ranks are drawn in 100 rows" in plot.caption
    assert all(list(row) == sorted(row) for row in rows)
    assert {row[-1] for row in rows} == {100}
