"""Factorial analysis of cells with repeats: effects with confidence, and fractions of the variance."""
