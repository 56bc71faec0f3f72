"""Comparison of jobs with other trials, repeats, published results and acceptance criteria."""
