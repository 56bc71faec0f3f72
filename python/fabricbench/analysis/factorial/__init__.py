"""Factorial analysis: effects of parameters with confidence intervals, variance explained, Pareto front."""
