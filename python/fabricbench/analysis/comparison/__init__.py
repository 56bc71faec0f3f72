"""Compares jobs with those of other trials, with repeats, published results and acceptance criteria."""
