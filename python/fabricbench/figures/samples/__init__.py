"""Figures of quantities sampled during a trial."""
