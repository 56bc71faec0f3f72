"""Figures of a campaign: what its factors do to a metric, and its settings beside each other."""
