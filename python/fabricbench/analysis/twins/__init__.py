"""Compares a measured trial with its twin, the simulated prediction; fits endpoints to measurements."""

from fabricbench.analysis.twins.causes import Cause, SlowPair
from fabricbench.analysis.twins.trend import Trend
from fabricbench.analysis.twins.twin import Side, Twin, twin_of, with_trend

__all__ = ["Cause", "Side", "SlowPair", "Trend", "Twin", "twin_of", "with_trend"]
