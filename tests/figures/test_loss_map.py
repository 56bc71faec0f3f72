"""The colour scale of a map of losses fits them."""

from __future__ import annotations

import pytest

from fabricbench.figures.links.loss_map import scale_end


@pytest.mark.parametrize(
    ("losses", "end"),
    [([], 0.05), ([0.0, 0.01], 0.05), ([0.02, 0.071], 0.1), ([0.5, 0.33], 0.5), ([0.04, 1.0], 0.05)],
)
def test_the_scale_ends_at_the_largest_loss_of_a_job_that_does_not_stop(
    losses: list[float], end: float
) -> None:
    assert scale_end(losses) == pytest.approx(end)
